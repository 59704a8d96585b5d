"""The reference of operators, from their records: signature, forms, derivatives as they are
written, kinks.

A derivative is the text of its rule in the source, in terms of `g` (the incoming gradient), `out`
(the result) and the arguments' names. Kinks are found by running the operator.
"""

from __future__ import annotations

import ast
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from gradtrace import ops
from gradtrace.analysis.formulas import FORMULAS
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.operators.op import Op, records
from gradtrace.random import fork_rng, manual_seed
from gradtrace.trace.finite import JUMP, KINK, judge

FORMS = {
    "f": "torch.{}",
    "m": "Tensor.{}",
    "n": "torch.nn.functional.{}",
    "l": "torch.linalg.{}",
    "s": "torch.special.{}",
}
GRADIENT = re.compile(r"\bgrad\b")  # the incoming gradient in a rule that is the text of a call
SEED = 1  # of the random numbers that every call draws
POINTS = (0.0, 1.0, -1.0, 0.5, -0.5, 3.0, -3.0, 6.0)  # where kinks of the usual functions lie


class Kink(NamedTuple):
    """A point without a derivative, the slopes on both sides, and the derivative that the operator
    gives there.
    """

    at: float
    jump: bool
    left: float
    right: float
    given: float


class Operator(NamedTuple):
    """The description of one operator name. `record` is "" for a function that is composed of
    others.
    """

    name: str
    forms: tuple[str, ...]
    record: str
    signature: str
    grad_fn: str
    derivatives: tuple[tuple[str, str], ...]  # argument, text
    kinks: tuple[Kink, ...]
    formula: str = ""  # what it computes of its arguments, in the notation of `formulas.py`


def names() -> list[str]:
    """Return every public name of an operator."""
    ops.load()
    return sorted(name for name in ops.api.catalogue if not name.startswith("_"))


def operator(name: str) -> Operator:
    """Return the description of one operator. KeyError for an unknown name."""
    ops.load()
    record_name = ops.api.catalogue[name][1]
    record = records.get(record_name) if record_name else records.get(name)
    with warnings.catch_warnings(), fork_rng():
        warnings.simplefilter("ignore")
        description = Operator(name, forms_of(name), "", "", "", (), kinks(name))
    if record is None:
        return description._replace(formula=composed_formula(name))
    return description._replace(
        formula=formula(record),
        record=record.name,
        signature=signature(record),
        grad_fn=record.node or "",
        derivatives=derivatives(record),
    )


def forms_of(name: str) -> tuple[str, ...]:
    """Return the forms of an operator: function, method, in-place method and so on."""
    tables = {
        "f": ops.api.functions,
        "m": vars(Tensor),
        "n": ops.api.functional,
        "l": ops.api.linalg,
        "s": ops.api.special,
    }
    forms = tuple(FORMS[form].format(name) for form, table in tables.items() if name in table)
    return (*forms, f"Tensor.{name}_ (in place)") if hasattr(Tensor, name + "_") else forms


def signature(record: Op) -> str:
    plain = f"; {', '.join(record.plain_names)}" if record.plain_names else ""
    return f"{record.name}({', '.join(record.tensor_names)}{plain})"


# ---- derivatives


@cache
def rules() -> dict[str, dict[str, str]]:
    """Return the text of each rule, by record and argument, read from the source of the operator
    families.
    """
    by_record: dict[str, dict[str, str]] = {}
    for name, module in sorted(sys.modules.items()):
        if (
            name.startswith(("gradtrace.ops.", "gradtrace.engine.calls.inplace"))
            and module.__file__ is not None
        ):
            for record, derivative in written(Path(module.__file__)):
                by_record.setdefault(record, {}).update(derivative)
    return by_record


def written(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the records `kind_op("name(...)", ..., argument=d(needs, rule))` of a file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if (
            not isinstance(node, ast.Call)
            or not getattr(node.func, "id", "").endswith("op")
            or not node.args
        ):
            continue
        first = node.args[0]
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            name = first.value.partition("(")[0]
            names = getattr(records.get(name), "bare_names", ())
            yield (
                name,
                {
                    k.arg: rule_text(rule_of(k.value))
                    for k in node.keywords
                    if k.arg and is_rule(k, names)
                },
            )


def is_rule(keyword: ast.keyword, names: Sequence[str]) -> bool:
    """Whether a keyword of a record is a derivative: d(NEEDS, RULE), or for an argument the text of
    a call.
    """
    value = keyword.value
    if isinstance(value, ast.Call):
        return getattr(value.func, "id", "") == "d"
    return keyword.arg in names and isinstance(value, ast.Constant) and isinstance(value.value, str)


def rule_of(value: ast.expr) -> ast.expr:
    return value.args[1] if isinstance(value, ast.Call) else value


def rule_text(rule: ast.expr) -> str:
    """Return the body of a lambda, the text of a call, or the name of a function."""
    if isinstance(rule, ast.Constant):
        return GRADIENT.sub("g", str(rule.value))
    text = ast.unparse(rule.body) if isinstance(rule, ast.Lambda) else f"{ast.unparse(rule)}(...)"
    return text.replace("xp.", "").replace("(xp, ", "(")


def derivatives(record: Op) -> tuple[tuple[str, str], ...]:
    texts = rules().get(record.name, {})
    names = [name.lstrip("*") for name in (*record.tensor_names, "joint")]
    return tuple((name, of_elements(texts[name])) for name in names if name in texts)


class Substitution(ast.NodeTransformer):
    """Replaces names by expressions."""

    def __init__(self, values: dict[str, ast.expr]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.values.get(node.id, node)


def of_elements(rule: str) -> str:
    """Return the formula of a backward operator that a rule only calls, with the call's arguments;
    else the rule.

    Backward operators have no public name, so their name tells a reader nothing. An element of the
    derivative is `grad[i]` there.
    """
    call = ast.parse(rule.removesuffix("(...)"), mode="eval").body
    if (
        not isinstance(call, ast.Call)
        or not isinstance(call.func, ast.Name)
        or call.func.id in ops.api.catalogue
    ):
        return rule
    called = records.get(call.func.id)
    if called is None or not called.formula or call.keywords or "np." in rule:
        return rule
    parameters = (*called.tensor_names, *called.plain_names)
    values = dict(zip(parameters, call.args, strict=False)) | {"out": ast.Name("grad")}
    parts = called.formula.split("; ")
    return "; ".join(
        ast.unparse(Substitution(values).visit(ast.parse(part).body[0])) for part in parts
    )


def composed_formula(name: str) -> str:
    """Return the formula of a function without a record; "" for one that is not computed from
    elements.

    An in-place form has the formula of its function, and the copy of a view that of the view.
    """
    base = name.removesuffix("_copy").removesuffix("_")
    if name in FORMULAS or base == name:
        return FORMULAS.get(name, "")
    return operator(base).formula if base in ops.api.catalogue else FORMULAS.get(base, "")


def formula(record: Op) -> str:
    """Return a record's formula, in the notation of `formulas.py`; if it has none, a call of the
    operator.
    """
    if record.formula or not isinstance(record.symbolic, str):
        return record.formula or signature(record).replace("; ", ", ").replace("*", "")
    return f"{record.symbolic}({', '.join(record.tensor_names)})"


# ---- by running it


def function(name: str) -> Callable[..., Any] | None:
    for table in (ops.api.functions, ops.api.functional, ops.api.special):
        if name in table:
            return table[name]
    return None


def slope(call: Callable[..., Any], x: float) -> tuple[float, float]:
    """Return the value and the derivative at a point; ValueError without a derivative."""
    manual_seed(SEED)
    t = Tensor._wrap(x).requires_grad_()
    y = call(t)
    if not isinstance(y, Tensor) or y.numel() != 1 or not y.requires_grad:
        raise ValueError
    y.backward()
    assert t._x is not None and t._x.grad is not None
    return float(y.item()), float(t._x.grad.item())


def kinks(name: str) -> tuple[Kink, ...]:
    """Return the points, among some usual ones, at which a function of one number has no
    derivative.

    Every call draws the same random numbers: the difference of two draws is not a slope.
    """
    call = function(name)
    points = []
    for x in POINTS if call is not None else ():
        try:
            _, analytic = slope(call, x)  # type: ignore[arg-type]

            def f(by: float, x: float = x) -> float:
                manual_seed(SEED)
                return float(call(Tensor._wrap(x + by)).item())  # type: ignore[misc]

            judged = judge(f, analytic, x)
        except Exception:  # not a function of one number, or not defined there
            continue
        if judged.verdict in (KINK, JUMP):
            points.append(Kink(x, judged.verdict == JUMP, judged.left, judged.right, analytic))
    return tuple(points)
