"""The operators' reference, from their records: signature, forms, derivatives as they are written, kinks, an example.

A derivative's text is that of its rule in the source, in terms of `g` (the gradient that comes in), `out` (the result)
and the arguments' names. Kinks and the example are found by running the operator.
"""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from gradtrace import ops
from gradtrace.analysis.examples import example
from gradtrace.engine.op import Op, records
from gradtrace.engine.tensor import Tensor
from gradtrace.trace.finite import JUMP, KINK, judge

FORMS = {
    "f": "torch.{}",
    "m": "Tensor.{}",
    "n": "torch.nn.functional.{}",
    "l": "torch.linalg.{}",
    "s": "torch.special.{}",
}
POINTS = (0.0, 1.0, -1.0, 0.5, -0.5, 3.0, -3.0, 6.0)  # where kinks of the usual functions lie


class Kink(NamedTuple):
    """A point without a derivative, the slopes at its sides, and the derivative that is given there."""

    at: float
    jump: bool
    left: float
    right: float
    given: float


class Operator(NamedTuple):
    """One name. `record` is "" for a function that is composed of others."""

    name: str
    forms: tuple[str, ...]
    record: str
    signature: str
    grad_fn: str
    derivatives: tuple[tuple[str, str], ...]  # argument, text
    kinks: tuple[Kink, ...]
    example: str  # an expression with x (and w), "" without a short one
    answer: str  # what it gives
    formula: str = ""  # what it computes of its arguments, in Python's notation


def names() -> list[str]:
    """Every public name of an operator."""
    ops.load()
    return sorted(name for name in ops.api.catalogue if not name.startswith("_"))


def operator(name: str) -> Operator:
    """What there is to say of one name. KeyError if there is none."""
    ops.load()
    known = ops.api.catalogue[name][1]
    record = records.get(known) if known else records.get(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = Operator(name, forms_of(name), "", "", "", (), kinks(name), *example(name))
    if record is None:
        return found._replace(formula=f"{name}(...)")
    return found._replace(
        formula=formula(record),
        record=record.name,
        signature=signature(record),
        grad_fn=record.node or "",
        derivatives=derivatives(record),
    )


def forms_of(name: str) -> tuple[str, ...]:
    """Where the name stands."""
    tables = {
        "f": ops.api.functions,
        "m": vars(Tensor),
        "n": ops.api.functional,
        "l": ops.api.linalg,
        "s": ops.api.special,
    }
    found = tuple(FORMS[form].format(name) for form, table in tables.items() if name in table)
    return (*found, f"Tensor.{name}_ (in place)") if hasattr(Tensor, name + "_") else found


def signature(record: Op) -> str:
    plain = f"; {', '.join(record.plain_names)}" if record.plain_names else ""
    return f"{record.name}({', '.join(record.tensor_names)}{plain})"


# ---- derivatives


@cache
def rules() -> dict[str, dict[str, str]]:
    """By record and argument the text of its rule, read from the source of the operator families."""
    found: dict[str, dict[str, str]] = {}
    for name, module in sorted(sys.modules.items()):
        if name.startswith(("gradtrace.ops.", "gradtrace.engine.inplace")) and module.__file__ is not None:
            for record, derivative in written(Path(module.__file__)):
                found.setdefault(record, {}).update(derivative)
    return found


def written(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """The calls of `op("name(...)", ..., argument=d(needs, rule))` in a file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call) or getattr(node.func, "id", "") != "op" or not node.args:
            continue
        first = node.args[0]
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            found = {
                k.arg: rule_text(k.value.args[1])
                for k in node.keywords
                if k.arg and isinstance(k.value, ast.Call) and getattr(k.value.func, "id", "") == "d"
            }
            given = next((k.value for k in node.keywords if k.arg == SYMBOLIC), None)
            if given is not None:
                found[SYMBOLIC] = symbolic_text(given, first.value)
            yield first.value.partition("(")[0], found


def rule_text(rule: ast.expr) -> str:
    """The body of a lambda; the name of a function."""
    text = ast.unparse(rule.body) if isinstance(rule, ast.Lambda) else f"{ast.unparse(rule)}(...)"
    return text.replace("xp.", "").replace("(xp, ", "(")


def derivatives(record: Op) -> tuple[tuple[str, str], ...]:
    known = rules().get(record.name, {})
    return tuple(
        (name.lstrip("*"), known[name.lstrip("*")])
        for name in (*record.tensor_names, "joint")
        if name.lstrip("*") in known
    )


SYMBOLIC = "symbolic"  # beside the derivatives, what the result is in functions of mathematics


def formula(record: Op) -> str:
    """What a record computes: in functions of mathematics where it says so, else a call of it."""
    return rules().get(record.name, {}).get(SYMBOLIC) or signature(record).replace("; ", ", ").replace("*", "")


def symbolic_text(node: ast.expr, signature: str) -> str:
    """The text of a record's `symbolic`: of a lambda its body, with the record's own names; of a name, its call."""
    operands = [one.strip().lstrip("*") for one in signature.partition("(")[2].rstrip(")").split(";")[0].split(",")]
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return f"{node.value}({', '.join(operands)})"
    if not isinstance(node, ast.Lambda):
        return ""
    module, *names = (argument.arg for argument in node.args.args)
    return ast.unparse(Renamed(dict(zip(names, operands, strict=False)), module).visit(node.body))


class Renamed(ast.NodeTransformer):
    """Puts the record's names for a lambda's, and leaves out the module that its functions come from."""

    def __init__(self, names: dict[str, str], module: str) -> None:
        self.names = names
        self.module = module

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Name(self.names.get(node.id, node.id), node.ctx)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if isinstance(node.value, ast.Name) and node.value.id == self.module:
            return ast.Name(node.attr, node.ctx)
        return ast.Attribute(self.visit(node.value), node.attr, node.ctx)


# ---- by running it


def function(name: str) -> Callable[..., Any] | None:
    for table in (ops.api.functions, ops.api.functional, ops.api.special):
        if name in table:
            found: Callable[..., Any] = table[name]
            return found
    return None


def slope(call: Callable[..., Any], x: float) -> tuple[float, float]:
    """Value and derivative at a point; ValueError if there is none."""
    t = Tensor._wrap(x).requires_grad_()
    y = call(t)
    if not isinstance(y, Tensor) or y.numel() != 1 or not y.requires_grad:
        raise ValueError
    y.backward()
    assert t._x is not None and t._x.grad is not None
    return float(y.item()), float(t._x.grad.item())


def kinks(name: str) -> tuple[Kink, ...]:
    """Where a function of one number has no derivative, among the usual places."""
    call = function(name)
    found = []
    for x in POINTS if call is not None else ():
        try:
            _, given = slope(call, x)  # type: ignore[arg-type]

            def f(by: float, x: float = x) -> float:
                return float(call(Tensor._wrap(x + by)).item())  # type: ignore[misc]

            judged = judge(f, given, x)
        except Exception:  # not a function of one number, or not defined there
            continue
        if judged.verdict in (KINK, JUMP):
            found.append(Kink(x, judged.verdict == JUMP, judged.left, judged.right, given))
    return tuple(found)
