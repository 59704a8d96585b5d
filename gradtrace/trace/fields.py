"""The types of the fields of a trace's records, by which `trace/columns.py` writes, reads and checks a file.

`FIELDS` has the type of each field, by its annotation. `check` tests whether the ids in a trace that was read are
consistent.
"""

from __future__ import annotations

from math import isfinite

from gradtrace.annotations import Any, Iterable
from gradtrace.trace import precision, record
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
        return getattr(record, annotation, None) or getattr(precision, annotation)
    inner = annotation[len("tuple[") : -1]
    if inner.endswith(", ..."):
        return Many(each=type_of(inner.removesuffix(", ...")))
    return Many(*map(type_of, inner.split(", ")))


class Fields(dict[type, tuple[Any, ...]]):
    """The types of the fields of each kind of record, read from its annotations at the first use."""

    def __missing__(self, kind: type) -> tuple[Any, ...]:
        self[kind] = types = tuple(map(type_of, kind.__annotations__.values()))
        return types


FIELDS = Fields()
# How many fields the records have in a file that does not say it: those of version 0.2.0.
COUNTS = {
    "Trace": 25, "TensorRecord": 26, "Span": 5, "Operation": 11, "Operand": 5, "FunctionRecord": 8, "SavedRecord": 3,
    "FunctionEdge": 4, "ScopeRecord": 7, "BackwardStep": 13, "HookRun": 5, "PassRecord": 11, "Escape": 6, "Change": 9,
    "Begun": 3, "Failure": 5, "TrainingStep": 5, "OptimiserRecord": 8, "FunctionCheck": 8,
}  # fmt: skip


def counts() -> dict[str, int]:
    """Return how many fields each kind of record has."""
    kinds = [kind for part in (record, precision) for kind in vars(part).values()]
    homes = (record.__name__, precision.__name__)
    return {kind.__name__: len(kind._fields) for kind in kinds if hasattr(kind, "_fields") and kind.__module__ in homes}


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
        if any(entry.id != i for i, entry in enumerate(part)):
            raise Damaged("its ids are not in order")
    within(tensors, trace.roots, trace.outputs, (i for _, i in trace.names))
    written = {id(c.tensors): c.tensors for c in trace.changes}  # thousands of changes share a tuple of thousands
    within(tensors, (b.tensor for b in trace.begun), *written.values())
    within(tensors, (i for e in trace.escapes for i in (e.tensor, e.out)))
    within(tensors, (i for p in trace.passes for i in (*p.roots, *(p.inputs or ()))))
    within(operations, (c.operation for c in trace.changes))
    within(
        tensors,
        (i for optimiser in trace.optimisers for i in optimiser.tensors),
        (buffer.tensor for buffer in trace.buffers),
    )
    results = {(o.id, i) for o in trace.operations for i in o.outputs}
    for t in trace.tensors:
        within(functions, (t.function,))
        within(operations, (t.operation,))
        within(t.id + 1, (t.first,))
        if t.operation is not None and (t.operation, t.id) not in results:
            raise Damaged("a tensor is not a result of its operation")
    for o in trace.operations:
        within(tensors, (i.tensor for i in o.inputs), o.outputs)
        within(functions, (o.function,))
        within(len(trace.scopes), (o.scope,))
        if not o.outputs:
            raise Damaged("an operation has no result")
    check_graph(trace, tensors, functions)
    check_words(trace)
    if any(s.parent is not None and s.parent >= s.id for s in trace.scopes):
        raise Damaged("its scopes are not nested")
    if any(p.number != i or len(p.vectors) < len(p.roots) for i, p in enumerate(trace.passes)):
        raise Damaged("its passes are not in order")
    for step in trace.training:
        within(operations + 1, step.operations)
        within(tensors, step.roots)
    if trace.failure is not None:
        within(operations, (trace.failure.operation,))
    if trace.precision is not None:
        check_precision(trace.precision, tensors, operations, len(trace.passes))


def check_words(trace: Trace) -> None:
    """Raise Damaged unless each word that code depends on is one of those that a recorder writes."""
    words = (
        (record.KINDS, {tensor.kind for tensor in trace.tensors}),
        (record.SCOPES, {scope.kind for scope in trace.scopes}),
        (record.HOOKS, {hook.kind for step in trace.steps for hook in step.hooks}),
    )
    for allowed, used in words:
        if not used <= set(allowed):
            raise Damaged("a word is damaged")


def check_precision(found: precision.Precision, tensors: int, operations: int, passes: int) -> None:
    for row in found.measured:
        within(operations, (row.operation,))
        within(passes, (row.passed,))
        within(tensors, (row.tensor,), (source.tensor for source in row.sources))
    within(tensors, (update.tensor for update in found.updates), *(step.tensors for step in found.scales))
    within(operations, (call.operation for call in found.unmeasured), *(step.operations for step in found.scales))


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
