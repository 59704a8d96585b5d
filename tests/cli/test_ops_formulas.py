"""The formula of each operator: it is there, it is mathematics, and what it computes is what the operator computes."""

import ast
import math

import pytest

import gradtrace
import gradtrace.nn.modules.rnn
import gradtrace.nn.utils.packing
from gradtrace import ops
from gradtrace.analysis import operators
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.operators.op import records
from gradtrace.views.operators import equation

ops.load()

# Records without a formula: why.
NO_FORMULA = {
    "nextafter": "the next number that the dtype can hold",
    "mkldnn_rnn_layer": "the name that PyTorch's LSTM has in a graph; its steps have formulas",
}
# Public names that compute nothing from elements.
NOT_COMPUTED = {
    "Generator get_rng_state initial_seed manual_seed seed set_rng_state": "the state of the random numbers",
    "as_tensor asarray from_numpy frombuffer new new_tensor scalar_tensor tensor": "a tensor of given data",
    "empty empty_like empty_strided new_empty new_empty_strided": "memory without values",
    "resize resize_ resize_as_ set_": "the memory of a tensor",
    "cpu cuda data_ptr storage storage_offset untyped_storage": "where the memory is",
    "broadcast_shapes is_inference is_same_size is_set_to is_tensor numel": "shapes, sizes and modes",
    "can_cast is_floating_point promote_types result_type": "dtypes",
    "sparse_coo_tensor spmm to_dense to_sparse": "matrices in another layout",
    "adjoint": "the last two dims exchanged: mT, of real numbers",
    "conj conj_physical real resolve_conj resolve_neg": "the real tensor itself",
    "pca_lowrank svd_lowrank": "an approximation of the svd, by random numbers",
    "is_nonzero": "the truth value of one element",
}
BACKWARD = ("_back", "_backward")  # the gradients of other records: sum[i](g[i] * d[self](out[i]))

# The functions of the notation that a program has under no name, or only for tensors.
PRELUDE = """
import math
import torch
from torch import *
import torch.nn.functional as F
abs, inf, nan, pi = torch.abs, torch.inf, torch.nan, torch.tensor(torch.pi, dtype=torch.float64)
def as_tensor(x): return x if isinstance(x, torch.Tensor) else torch.tensor(x, dtype=torch.float64)
def sqrt(x): return as_tensor(x) ** 0.5
def log(x): return torch.log(as_tensor(x))
def exp(x): return torch.exp(as_tensor(x))
def copysign(x, y): return torch.copysign(as_tensor(x), y)
def max(a, b): return torch.maximum(as_tensor(a), as_tensor(b))
def min(a, b): return torch.minimum(as_tensor(a), as_tensor(b))
def floor(x): return torch.floor(as_tensor(x))
def trunc(x): return torch.trunc(as_tensor(x))
def isnan(x): return torch.isnan(as_tensor(x))
def erf(x): return torch.special.erf(as_tensor(x))
i0, i1 = torch.special.i0, torch.special.i1
"""
# What stands for the plain arguments, and operands that the points do not suit.
PLAIN = {
    **{
        "alpha": 1.5,
        "value": 0.75,
        "lambd": 0.4,
        "slope": 0.1,
        "low": -0.5,
        "high": 0.7,
        "threshold": 0.2,
        "beta": 2.0,
    },
    **{
        "min": -0.3,
        "max": 0.6,
        "scale": 1.1,
        "input_scale": 0.9,
        "weight": 0.3,
        "exponent": 2.0,
        "base": 1.7,
        "p": 2,
    },
    **{
        "nan": 9.0,
        "posinf": 8.0,
        "neginf": -8.0,
        "decimals": 1,
        "approximate": "none",
        "mode": "floor",
        "eps": 1e-3,
    },
    **{
        "other": 1.25,
        "number": 1.3,
        "np_dtype": None,
        "mask": True,
        "condition": True,
        "slopes": 0.3,
        "array": 2.0,
    },
}
POINTS = ((0.3, 0.8), (-0.45, 0.25), (0.9, -0.7), (-2.5, 1.5), (3.5, -1.25), (1.5, 2.5))
INTEGERS = ((6, 4), (7, 2), (-5, 3))
TAKES_INTEGERS = ("bitwise", "gcd", "lcm")
NOT_TRIED = {
    **{
        "cast": "the dtype",
        "where_mixed": "the dtype",
        "where": "the condition is a mask",
        "point": "of the engine",
    },
    **{"div_mode": "see floor_divide", "copy": "its first operand is empty memory"},
}


def shipped():
    """The records of gradtrace itself: other tests make some of their own."""
    ours = ("gradtrace", "numpy", "builtins", "_operator")
    return [
        one
        for one in records.values()
        if (getattr(one._kernel, "__module__", "") or "numpy").startswith(ours)
    ]


def tried():
    """The elementwise records whose formula is one value of functions that a program has."""
    for record in shipped():
        if not record.formula and not isinstance(record.symbolic, str):
            continue
        formula = operators.formula(record)
        is_value = (
            "[" not in formula
            and "gamma(" not in formula
            and equation(formula).startswith("out = ")
        )
        if (
            record.kind == "elementwise"
            and is_value
            and record.name not in {**NOT_TRIED, **NO_FORMULA}
        ):
            yield record


def test_every_record_has_a_formula():
    without = {
        one.name for one in shipped() if not one.formula and not isinstance(one.symbolic, str)
    }
    gradients = {name for name in without if name.endswith(BACKWARD)}
    public = {record for _, record in ops.api.catalogue.values()} | set(ops.api.catalogue)
    assert without - gradients == set(NO_FORMULA)
    assert not gradients & public


def test_every_public_name_has_a_formula():
    excused = {name for names in NOT_COMPUTED for name in names.split()}
    without = set()
    for name in operators.names():
        record = records.get(ops.api.catalogue[name][1] or name)
        if record is None and not operators.composed_formula(name):
            without.add(name)
    assert without == excused


@pytest.mark.parametrize("name", ["analysis", "records"])
def test_every_formula_is_mathematics(name):
    from gradtrace.analysis.formulas import FORMULAS

    texts = (
        FORMULAS.values()
        if name == "analysis"
        else [one.formula for one in shipped() if one.formula]
    )
    for text in texts:
        for part in equation(text).split(";"):
            for side in part.split(" ~ "):
                ast.parse(side.strip())


def points_of(name):
    return INTEGERS if name.startswith(TAKES_INTEGERS) else POINTS


def test_a_formula_computes_what_its_operator_does(answer, tmp_path):
    lines, expected = [PRELUDE], []
    for record in tried():
        names = (*record.bare_names, *record.plain_names)
        formula, *where = operators.formula(record).split(";")
        lines.append(f"def formula_of_{record.name}({', '.join(names)}):")
        lines += [f"    {one.strip()}" for one in where] + [f"    return {formula}"]
        for operands in points_of(record.name):
            given = [operands[i % 2] for i in range(record.arity)]
            tensors = [
                Tensor._wrap(x) if isinstance(x, float) else gradtrace.tensor(x) for x in given
            ]
            plain = [PLAIN[one] for one in record.plain_names]
            expected.append((record.name, (*given, *plain), float(record(*tensors, *plain).item())))
            shown = [f"as_tensor({x})" if isinstance(x, float) else f"tensor({x})" for x in given]
            shown += [
                f"as_tensor({x})"
                if isinstance(x, float)
                else "tensor(True)"
                if x is True
                else repr(x)
                for x in plain
            ]
            lines.append(f"print(as_tensor(formula_of_{record.name}({', '.join(shown)})).item())")
    program = tmp_path / "formulas.py"
    program.write_text("\n".join(lines))
    found = [float(line) for line in answer("run", str(program)).splitlines()]
    wrong = [
        f"{name}{args}: {value}, not {right}"
        for value, (name, args, right) in zip(found, expected, strict=True)
        if not (
            math.isclose(value, right, rel_tol=1e-7, abs_tol=1e-12)
            or (value != value and right != right)
        )
    ]
    assert len(expected) > 500 and not wrong, "\n".join(wrong)
