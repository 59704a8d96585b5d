"""The types of the fields of a trace's records, by which `trace/columns.py` writes, reads and
checks a file.

`FIELDS` has the type of each field, by its annotation. `check` tests whether the ids in a trace
that was read are consistent.
"""

from __future__ import annotations

from itertools import chain
from math import isfinite

from gradtrace.annotations import Any, Iterable, Sequence
from gradtrace.trace import precision, record
from gradtrace.trace.record import Trace

INT = "int"
TEXT = "str"
BOOL = "bool"
NUMBER = "float"
VALUE = "Value"
GROUP = "Group"
TENSOR = "TensorId"
OPERATION = "OperationId"
FUNCTION = "FunctionId"
SCOPE = "ScopeId"
PASS = "PassId"
OPTIMISER = "OptimiserId"
IDS = (TENSOR, OPERATION, FUNCTION, SCOPE, PASS, OPTIMISER)
INTEGERS = (INT, *IDS, "OperationCount", "StepCount")
NUMBERING = (*INTEGERS[1:], GROUP)  # what a window has other numbers for
PLAIN = (*INTEGERS, TEXT, BOOL, NUMBER, VALUE, GROUP)
SPECIAL_TEXTS = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
SPECIAL = {text: float(number) for number, text in SPECIAL_TEXTS.items()}


class Damaged(Exception):
    """Raised if the content of a file does not match the fields of a record."""


class Maybe:
    """The type of a field that may be None."""

    def __init__(self, of: Any) -> None:
        self.of = of


class Many:
    """The type of a field that is a tuple: of fixed fields (`of`), or of any number of items of one
    type (`item`).
    """

    def __init__(self, *of: Any, item: Any = None) -> None:
        self.of = of
        self.item = item


def type_of(annotation: str) -> Any:
    """Return the type that an annotation of `trace/record.py` says: "int", "Span | None",
    "tuple[int, ...]".
    """
    inner = annotation.removesuffix(" | None")
    if inner != annotation:
        return Maybe(type_of(inner))
    if annotation in PLAIN:
        return annotation
    if not annotation.startswith("tuple["):
        return getattr(record, annotation, None) or getattr(precision, annotation)
    inner = annotation[len("tuple[") : -1]
    if inner.endswith(", ..."):
        return Many(item=type_of(inner.removesuffix(", ...")))
    return Many(*map(type_of, inner.split(", ")))


class Fields(dict[type, tuple[Any, ...]]):
    """The types of the fields of each kind of record, read from its annotations at the first
    use.
    """

    def __missing__(self, kind: type) -> tuple[Any, ...]:
        self[kind] = types = tuple(map(type_of, kind.__annotations__.values()))
        return types


class NumberedFields(dict[type, tuple[tuple[str, Any], ...]]):
    """The names and types of those fields of each kind of record that hold ids or counts, also in
    other records.
    """

    def __missing__(self, kind: type) -> tuple[tuple[str, Any], ...]:
        names = kind.__annotations__
        pairs = zip(names, FIELDS[kind], strict=True)
        self[kind] = fields = tuple((name, field) for name, field in pairs if is_numbered(field))
        return fields


def is_numbered(kind: Any) -> bool:
    """Whether a field of this type holds ids or counts."""
    if isinstance(kind, Maybe):
        return is_numbered(kind.of)
    if isinstance(kind, Many):
        return any(map(is_numbered, kind.of or (kind.item,)))
    return kind in NUMBERING or (kind not in PLAIN and bool(NUMBERED_FIELDS[kind]))


FIELDS = Fields()
NUMBERED_FIELDS = NumberedFields()
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
    return {
        kind.__name__: len(kind._fields)
        for kind in kinds
        if hasattr(kind, "_fields") and kind.__module__ in homes
    }


# ---- parts of a JSON document


def number(x: Any) -> Any:
    """Return a number as strict JSON holds it: NaN and infinities as strings."""
    return SPECIAL_TEXTS[str(x)] if isinstance(x, float) and not isfinite(x) else x


def listed(value: Any) -> list[Any]:
    if type(value) is not list:
        raise Damaged("a list is missing")
    return value


def mapped(value: Any) -> dict[str, Any]:
    if type(value) is not dict:
        raise Damaged("an object is missing")
    return value


def integer(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 53:
        raise Damaged("a number is damaged")
    return value


def whole(value: Any) -> int:
    if type(value) is not int or abs(value) >= 1 << 64:
        raise Damaged("a number is damaged")
    return value


def text(value: Any) -> str:
    if type(value) is not str:
        raise Damaged("a text is damaged")
    return value


def boolean(value: Any) -> bool:
    if type(value) is not bool:
        raise Damaged("a flag is damaged")
    return value


def real(value: Any) -> Any:
    if type(value) is str and value in SPECIAL:
        return SPECIAL[value]
    if (type(value) is not float and type(value) is not int) or abs(value) > 1.8e308:
        raise Damaged("a number is damaged")
    return value


def one_of(value: Any, among: Iterable[str]) -> str:
    if value not in tuple(among):
        raise Damaged("a word is damaged")
    return str(value)


# ---- ids


def check(trace: Trace) -> None:
    """Raise Damaged unless every id is an index, every reference is in range, and scopes are
    nested.
    """
    numbered: tuple[Any, ...] = (trace.tensors, trace.operations, trace.functions, trace.scopes)
    for records in numbered:
        if any(entry.id != i for i, entry in enumerate(records)):
            raise Damaged("its ids are not in order")
    if any(p.number != i or len(p.vectors) < len(p.roots) for i, p in enumerate(trace.passes)):
        raise Damaged("its passes are not in order")
    largest: dict[str, int] = {}
    note_largest(Trace, [trace], largest)
    for kind, records in zip(IDS, (*numbered, trace.passes, trace.optimisers), strict=True):
        if largest.get(kind, -1) >= len(records):
            raise Damaged("a number is out of range")
    if any(max(step.operations) > len(trace.operations) for step in trace.training):
        raise Damaged("a number is out of range")
    check_results(trace)
    check_words(trace)
    if any(s.parent is not None and s.parent >= s.id for s in trace.scopes):
        raise Damaged("its scopes are not nested")
    if any(a.number > b.number for a, b in zip(trace.steps, trace.steps[1:], strict=False)):
        raise Damaged("its steps are not in order")


def note_largest(kind: Any, items: Sequence[Any], largest: dict[str, int]) -> None:
    """Note the largest id of each kind among the contents of fields of this type."""
    if isinstance(kind, Maybe):
        note_largest(kind.of, [entry for entry in items if entry is not None], largest)
    elif kind == GROUP:  # thousands of changes share a tuple of thousands
        different = {id(ids): ids for ids in items}
        note_largest(TENSOR, list(chain.from_iterable(different.values())), largest)
    elif kind in INTEGERS:
        largest[kind] = max(largest.get(kind, -1), max(items, default=-1))
    elif not isinstance(kind, Many):
        for name, field in NUMBERED_FIELDS[kind]:
            note_largest(field, [getattr(record, name) for record in items], largest)
    elif kind.item is not None:
        note_largest(kind.item, list(chain.from_iterable(items)), largest)
    else:
        for place, field in enumerate(kind.of):
            if is_numbered(field):
                note_largest(field, [row[place] for row in items], largest)


def check_results(trace: Trace) -> None:
    """Raise Damaged unless operations have results, and tensors say which of these they are."""
    results = {(operation.id, i) for operation in trace.operations for i in operation.outputs}
    for t in trace.tensors:
        if t.first > t.id:
            raise Damaged("a number is out of range")
        if t.operation is not None and (t.operation, t.id) not in results:
            raise Damaged("a tensor is not a result of its operation")
    if not all(operation.outputs for operation in trace.operations):
        raise Damaged("an operation has no result")


def check_words(trace: Trace) -> None:
    """Raise Damaged unless each word that code depends on is one of those that a recorder
    writes.
    """
    words = (
        (record.KINDS, {tensor.kind for tensor in trace.tensors}),
        (record.SCOPES, {scope.kind for scope in trace.scopes}),
        (record.HOOKS, {hook.kind for step in trace.steps for hook in step.hooks}),
        (record.REGISTERED, {hook.kind for hook in trace.hooks}),
    )
    for allowed, used in words:
        if not used <= set(allowed):
            raise Damaged("a word is damaged")
