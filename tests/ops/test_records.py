"""What the records say of operators is true, and every table keyed by operators names ones that exist."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradtrace as torch
from gradtrace import ops, static
from gradtrace.analysis.symbolic import of_record
from gradtrace.batch.mapper import RowMap
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.operators import op as op_module
from gradtrace.engine.operators.op import KINDS, Op, records
from gradtrace.engine.operators.tables import function_tables, record_tables
from gradtrace.program.names import MATHEMATICS
from gradtrace.static import kernels
from gradtrace.trace.local import local_derivatives

PACKAGE = Path(torch.__file__).parent


def load_everything() -> None:
    """Imports every module, so that each table and each record is there."""
    for module in pkgutil.walk_packages([str(PACKAGE)], "gradtrace."):
        if not module.name.endswith("__main__"):
            try:
                importlib.import_module(module.name)
            except ImportError:  # an optional dependency
                continue


load_everything()
# Records that tests of this process made are not among them.
ELEMENTWISE = sorted(name for name, record in records.items() if record.kind == "elementwise")
SHAPE = (4, 3)


# ---- tables


@pytest.mark.parametrize("place", sorted(record_tables))
def test_tables_of_records_name_records(place: str) -> None:
    assert set(record_tables[place]) - set(records) == set()


@pytest.mark.parametrize("place", [*sorted(function_tables), "lang.names"])
def test_tables_of_functions_name_functions(place: str) -> None:
    # The last one is on the way of a scalar expression, which loads no module that it does not need.
    known = {"lang.names": MATHEMATICS, **function_tables}[place]
    public = {
        name
        for table in ("functions", "methods", "functional", "linalg", "special")
        for name in names_in(table)
    }
    assert {name for name in set(known) - public if not hasattr(Tensor, name)} == set()


def test_names_of_kernels_name_records() -> None:
    assert set(getattr(op_module, "UFUNCS", ())) <= set(records)


def names_in(table: str) -> set[str]:
    return set(getattr(ops.api, table))


def strings(node: ast.AST) -> list[str]:
    """The strings that a literal is made of: a set's or a tuple's items, a dict's keys, the words of a text."""
    if isinstance(node, ast.Dict):
        return [
            k.value for k in node.keys if isinstance(k, ast.Constant) and isinstance(k.value, str)
        ]
    if isinstance(node, (ast.Set, ast.List, ast.Tuple)):
        return [
            e.value for e in node.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)
        ]
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value.split()
    return []


# Tables of other names: of public functions and methods, of modules' contents, of what a program may call.
OTHER_NAMES = (
    "program",
    "cli",
    "ops/signatures.py",
    "static/graph.py",
    "torch",
    "static/tf1",
)
REDUCTIONS = {
    "sum",
    "mean",
    "prod",
    "max",
    "min",
    "amax",
    "amin",
}  # also words for an option `reduce`


def test_every_table_of_records_is_registered() -> None:
    """A literal of the names of records stands within `record_table(...)`, or is one of the names of something else."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE).as_posix()
        if place.startswith(OTHER_NAMES):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        registered = {
            id(part)
            for call in ast.walk(tree)
            if isinstance(call, ast.Call)
            and getattr(call.func, "id", "") in ("record_table", "function_table")
            for part in ast.walk(call)
        }
        for node in ast.walk(tree):
            names = strings(node)
            known = sum(name in records for name in names)
            if (
                known >= 3
                and known >= 0.6 * len(names)
                and not REDUCTIONS.issuperset(names)
                and id(node) not in registered
            ):
                found.append(f"{place}:{node.lineno} {' '.join(names)[:60]}")  # type: ignore[attr-defined]
    assert not found, "\n".join(found)


# ---- samples of arguments

# Plain arguments of elementwise operators by name. A record with another name needs a line here.
MASK = np.array(
    [[True, False, True], [False, False, True], [True, True, False], [False, True, False]]
)
PLAIN: dict[str, Any] = {
    "alpha": 0.5,
    "approximate": "none",
    "array": np.linspace(0.5, 2, 12).reshape(SHAPE),
    "base": 2.0,
    "beta": 1.0,
    "decimals": 1,
    "eps": 1e-3,
    "exponent": 3.0,
    "high": 0.7,
    "input_scale": 1.0,
    "lambd": 0.6,
    "low": 0.3,
    "mask": MASK,
    "max": 0.8,
    "min": 0.2,
    "mode": "floor",
    "n": 1,
    "nan": 0.0,
    "neginf": -1.0,
    "np_dtype": np.dtype("float64"),
    "number": 2.0,
    "other": 2.0,
    "p": 2,
    "posinf": 1.0,
    "scale": 1.0,
    "slope": 0.1,
    "slopes": np.linspace(0.1, 0.3, 12).reshape(SHAPE),
    "threshold": 0.4,
    "value": 0.5,
    "weight": 0.25,
}
INTEGERS = {"bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "gcd", "lcm"}
INTEGERS |= {"bitwise_left_shift", "bitwise_right_shift"}
ABOVE = {"acosh": 1.0, "zeta": 1.0}  # what is added to the operands, for a function's domain


def samples(record: Op) -> tuple[list[Any], list[Any]]:
    """Operands of one shape within the domain of nearly every function, and plain arguments."""
    rng = np.random.default_rng(7)
    arrays = [
        rng.uniform(0.1, 0.9, SHAPE) + ABOVE.get(record.name, 0.0) for _ in range(record.arity)
    ]
    if record.name in INTEGERS:
        arrays = [rng.integers(1, 5, SHAPE) for _ in arrays]
    if record.tensor_names[0] == "condition":
        arrays[0] = MASK
    return arrays, [PLAIN[name] for name in record.plain_names]


def row_of(plain: list[Any], i: Any) -> list[Any]:
    """The plain arguments with arrays' rows."""
    return [p[i] if isinstance(p, np.ndarray) else p for p in plain]


def outputs(result: Any) -> list[Any]:
    return [t.numpy() for t in (result if isinstance(result, tuple) else (result,))]


def same(found: Any, wanted: Any, exactly: bool = False) -> None:
    for a, b in zip(found, wanted, strict=True):
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_allclose(a, b, *((0, 0) if exactly else (1e-13, 1e-15)))


# ---- elementwise


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elements_do_not_see_each_other(name: str) -> None:
    record = records[name]
    arrays, plain = samples(record)
    whole = outputs(record(*map(torch.tensor, arrays), *plain))
    for i in np.ndindex(SHAPE):
        one = outputs(record(*(torch.tensor(a[i].reshape(1)) for a in arrays), *row_of(plain, i)))
        same([o[0] for o in one], [w[i] for w in whole])


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_plans_and_rows_take_elementwise_operators(name: str) -> None:
    record = records[name]
    arrays, plain = samples(record)
    inputs = {f"x{i}": a for i, a in enumerate(arrays)}

    def run(**tensors: Any) -> Any:
        out = record(*tensors.values(), *plain)
        return out[0] if isinstance(out, tuple) else out

    plan = static.trace(run, inputs, order=0)
    steps = [step for step in plan.steps if step.op == name]
    assert len(steps) == 1 and kernels.is_elementwise(steps[0])
    assert (kernels.instructions(steps[0], plan) is None) == (record.outputs > 1)
    wanted = run(**{k: torch.tensor(a) for k, a in inputs.items()}).numpy()
    same(static.PlanProgram(static.optimise(plan))(*arrays), [wanted])
    rows = {k: np.stack([a, a[::-1]]) for k, a in inputs.items()}
    backwards = [p[::-1] if isinstance(p, np.ndarray) else p for p in plain]
    other = outputs(record(*(torch.tensor(a[::-1].copy()) for a in arrays), *backwards))[0]
    found = RowMap(plan)(rows, 2)["y"]
    same([found[0]], [wanted])
    if not any(isinstance(p, np.ndarray) for p in plain):
        same([found[1]], [other])


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_local_derivatives_of_elementwise_operators(name: str) -> None:
    """One number for each element: what one call of the rules with ones gives, against single elements."""
    record = records[name]
    arrays, plain = samples(record)
    if record.outputs > 1 or not record.has_gradient or name in INTEGERS:
        pytest.skip("no derivative for each element")
    leaves = [torch.tensor(a).requires_grad_(a.dtype.kind == "f") for a in arrays]
    out = record(*leaves, *plain)
    found = local_derivatives(out.grad_fn)
    for k, local in enumerate(found):
        if local is None:
            continue
        assert local.shape in (SHAPE, ())
        i = (1, 2)
        single = [torch.tensor(np.array(a[i])).requires_grad_(a.dtype.kind == "f") for a in arrays]
        (want,) = torch.autograd.grad(
            record(*single, *row_of(plain, i)), [single[k]], allow_unused=True
        )
        same([np.broadcast_to(local.data, SHAPE)[i]], [0.0 if want is None else want.numpy()])


# ---- the other fields


def with_field(field: str) -> list[str]:
    return sorted(name for name, record in records.items() if getattr(record, field))


def test_every_record_has_a_kind() -> None:
    assert {record.kind for record in records.values()} == set(KINDS)


def test_views_are_views() -> None:
    assert {record.kind for record in records.values() if record.view} == {"view", "elementwise"}
    assert [
        name for name, record in records.items() if record.view and record.kind == "elementwise"
    ] == ["alias"]


@pytest.mark.parametrize("name", with_field("identity"))
def test_identities(name: str) -> None:
    record = records[name]
    x = torch.tensor(np.linspace(0, 1, 12).reshape(SHAPE))
    plain = [{"shape": SHAPE, "np_dtype": np.dtype("float64")}[n] for n in record.plain_names]
    operands = [x if n == record.identity else None for n in record.tensor_names]
    assert record.identity in record.tensor_names
    assert np.array_equal(record(*operands, *plain).numpy(), x.numpy())


@pytest.mark.parametrize("name", sorted(n for n, r in records.items() if r.constant is not None))
def test_constants(name: str) -> None:
    record = records[name]
    assert (
        record.kind == "fill"
        and (record(torch.tensor([-1.0, np.nan])).numpy() == record.constant).all()
    )


@pytest.mark.parametrize("name", sorted(n for n, r in records.items() if r.commutative))
def test_commutative_operators_give_the_same_bits(name: str) -> None:
    special = np.array([0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 1e308, 5e-324])
    a, b = map(torch.tensor, np.meshgrid(special, special))
    one, other = (outputs(records[name](*pair))[0] for pair in ((a, b), (b, a)))
    real = one == one  # the sign of a NaN does not count
    assert (one[real].tobytes(), np.isnan(one).tolist()) == (
        other[real].tobytes(),
        np.isnan(other).tolist(),
    )


@pytest.mark.parametrize("name", with_field("sign"))
def test_signs_are_what_python_writes(name: str) -> None:
    record = records[name]
    shapes = {
        "mm": ((2, 3), (3, 2)),
        "matmul": ((2, 3), (3, 2)),
        "mv": ((2, 3), (3,)),
        "bmm": ((1, 2, 3), (1, 3, 2)),
    }
    whole = name.startswith("bitwise")
    a, b = (np.arange(1, 1 + np.prod(s)).reshape(s) for s in shapes.get(name, ((4,), (4,))))
    a, b = (x if whole else x * 0.75 for x in (a, b[::-1].copy()))
    tree = ast.parse(f"a {record.sign} b", mode="eval")
    want = eval(compile(tree, "sign", "eval"), {"a": a, "b": b})
    np.testing.assert_allclose(record(torch.tensor(a), torch.tensor(b)).numpy(), want)


@pytest.mark.parametrize("name", sorted(n for n, r in records.items() if r.symbolic is not None))
def test_symbolic_formulas_are_the_operators(name: str) -> None:
    sympy = pytest.importorskip("sympy")
    record = records[name]
    formula = of_record(record)
    assert formula is not None
    numbers = [0.3, 0.6][: record.arity]
    plain = {"beta": 1.0, "threshold": 20.0, "dtype": None}
    found = record(
        *(torch.tensor(x, dtype=torch.float64) for x in numbers),
        *(plain[n] for n in record.plain_names),
    )
    assert float(formula(sympy, *map(sympy.Float, numbers))) == pytest.approx(
        found.item(), rel=1e-12
    )


def test_in_place_words() -> None:
    words = {word for record in records.values() for word in record.overlap.split()}
    assert words == {"idempotent", "reads", "number"}
    assert all(records[n].kind == "elementwise" for n in with_field("reversed_operands"))


def test_public_names_are_public() -> None:
    public = set().union(*map(names_in, ("functions", "methods", "functional")))
    for name in with_field("public"):
        assert records[name].public in public or hasattr(Tensor, records[name].public + "_")
