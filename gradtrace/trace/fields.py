"""The types of the fields of a trace's records, by which `trace/columns.py` writes, reads and checks a file.

`FIELDS` has the type of each field, by its annotation. `check` tests whether the ids in a trace that was read are
consistent.
"""

from __future__ import annotations

from math import isfinite

from gradtrace.annotations import Any, Iterable
from gradtrace.trace import record
from gradtrace.trace.record import Trace

INT, TEXT, BOOL, NUMBER, VALUE, GROUP = "int", "str", "bool", "float", "Value", "Group"
PLAIN = {kind: kind for kind in (INT, TEXT, BOOL, NUMBER, VALUE, GROUP)}
SPECIAL = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


class Damaged(Exception):
    """Raised if the content of a file does not match the fields of a record."""


class Maybe:
    """The type of a field that may be None."""

    def __init__(self, of: Any) -> None:
        self.of = of


class Many:
    """The type of a field that is a tuple: of fixed fields (`of`), or of any number of items of one type (`each`)."""

    def __init__(self, *of: Any, each: Any = None) -> None:
        self.of = of
        self.each = each


def type_of(annotation: str) -> Any:
    """Return the type that an annotation of `trace/record.py` says: "int", "Span | None", "tuple[int, ...]"."""
    inner = annotation.removesuffix(" | None")
    if inner != annotation:
        return Maybe(type_of(inner))
    if annotation in PLAIN:
        return PLAIN[annotation]
    if not annotation.startswith("tuple["):
        return getattr(record, annotation)
    inner = annotation[len("tuple[") : -1]
    if inner.endswith(", ..."):
        return Many(each=type_of(inner.removesuffix(", ...")))
    return Many(*map(type_of, inner.split(", ")))


class Fields(dict[type, tuple[Any, ...]]):
    """The types of the fields of each kind of record, read from its annotations at the first use."""

    def __missing__(self, kind: type) -> tuple[Any, ...]:
        self[kind] = found = tuple(map(type_of, kind.__annotations__.values()))
        return found


FIELDS = Fields()


# ---- parts of a JSON document


def number(x: Any) -> Any:
    """Return a number as strict JSON holds it: NaN and infinities as strings."""
    if isinstance(x, float) and not isfinite(x):
        return "NaN" if x != x else "Infinity" if x > 0 else "-Infinity"
    return x


def listed(one: Any) -> list[Any]:
    if type(one) is not list:
        raise Damaged("a list is missing")
    return one


def mapped(one: Any) -> dict[str, Any]:
    if type(one) is not dict:
        raise Damaged("an object is missing")
    return one


def integer(one: Any) -> int:
    if type(one) is not int or not 0 <= one < 1 << 53:
        raise Damaged("a number is damaged")
    return one


def whole(one: Any) -> int:
    if type(one) is not int or abs(one) >= 1 << 64:
        raise Damaged("a number is damaged")
    return one


def text(one: Any) -> str:
    if type(one) is not str:
        raise Damaged("a text is damaged")
    return one


def boolean(one: Any) -> bool:
    if type(one) is not bool:
        raise Damaged("a flag is damaged")
    return one


def real(one: Any) -> Any:
    if type(one) is str and one in SPECIAL:
        return SPECIAL[one]
    if (type(one) is not float and type(one) is not int) or abs(one) > 1.8e308:
        raise Damaged("a number is damaged")
    return one


def one_of(one: Any, among: Iterable[str]) -> str:
    if one not in tuple(among):
        raise Damaged("a word is damaged")
    return str(one)


# ---- ids


def check(trace: Trace) -> None:
    """Raise Damaged unless every id is an index, every reference is in range, and scopes are nested."""
    tensors, operations, functions = len(trace.tensors), len(trace.operations), len(trace.functions)
    parts: tuple[Any, ...] = (trace.tensors, trace.operations, trace.functions, trace.scopes)
    for part in parts:
        if any(one.id != i for i, one in enumerate(part)):
            raise Damaged("its ids are not in order")
    within(tensors, trace.roots, trace.outputs, (i for _, i in trace.names))
    within(tensors, (i for b in trace.begun for i in (b.tensor,)), (i for c in trace.changes for i in c.tensors))
    within(tensors, (i for e in trace.escapes for i in (e.tensor, e.out)))
    within(tensors, (i for p in trace.passes for i in (*p.roots, *(p.inputs or ()))))
    within(operations, (c.operation for c in trace.changes))
    within(tensors, (i for one in trace.optimisers for i in one.tensors))
    for t in trace.tensors:
        within(functions, (t.function,))
        within(operations, (t.operation,))
        within(t.id + 1, (t.first,))
        if t.operation is not None and t.id not in trace.operations[t.operation].outputs:
            raise Damaged("a tensor is not a result of its operation")
    for o in trace.operations:
        within(tensors, (i.tensor for i in o.inputs), o.outputs)
        within(functions, (o.function,))
        within(len(trace.scopes), (o.scope,))
        if not o.outputs:
            raise Damaged("an operation has no result")
    check_graph(trace, tensors, functions)
    if any(s.parent is not None and s.parent >= s.id for s in trace.scopes):
        raise Damaged("its scopes are not nested")
    if any(p.number != i or len(p.vectors) < len(p.roots) for i, p in enumerate(trace.passes)):
        raise Damaged("its passes are not in order")
    for step in trace.training:
        within(operations + 1, step.operations)
        within(tensors, step.roots)
    if trace.failure is not None:
        within(operations, (trace.failure.operation,))


def check_graph(trace: Trace, tensors: int, functions: int) -> None:
    for f in trace.functions:
        within(tensors, f.outputs, (f.variable,), (s.tensor for s in f.saved))
    for e in trace.function_edges:
        within(functions, (e.source, e.target))
    for step in trace.steps:
        within(functions, (step.function,))
        within(len(trace.passes), (step.number,))
    if any(a.number > b.number for a, b in zip(trace.steps, trace.steps[1:], strict=False)):
        raise Damaged("its steps are not in order")


def within(count: int, *parts: Iterable[int | None]) -> None:
    if any(i is not None and i >= count for part in parts for i in part):
        raise Damaged("a number is out of range")
