"""The fields of a trace's records as JSON: what `trace/file.py` writes and reads.

Each record is a list of its fields. `FIELDS` has the type of each, by which a file is checked when it is read.
"""

from __future__ import annotations

from math import isfinite

from gradtrace.annotations import Any, Callable, Iterable
from gradtrace.engine.summary import BINS, Summary
from gradtrace.trace.record import (
    BackwardStep,
    Begun,
    Change,
    Escape,
    Failure,
    FunctionCheck,
    FunctionEdge,
    FunctionRecord,
    HookRun,
    Operand,
    Operation,
    OptimiserRecord,
    PassRecord,
    SavedRecord,
    ScopeRecord,
    Span,
    TensorRecord,
    Trace,
    TrainingStep,
)
from gradtrace.trace.values import Value

INT, INDEX, TEXT, BOOL, NUMBER, VALUE, GROUP = "int", "index", "text", "bool", "number", "value", "group"
SPECIAL = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
NUMBERS = {"float16": float, "bfloat16": float, "float32": float, "float64": float, "bool": bool}  # others are int
STORED = {"bfloat16": "float32"}  # the dtype of the array in the file, where numpy has no such dtype


class Damaged(Exception):
    """What a file has is not what a record has."""


class Maybe:
    """A field that may be None."""

    def __init__(self, of: Any) -> None:
        self.of = of


class Many:
    """A field that is a tuple; of these fields in their order, or of any number of one kind."""

    def __init__(self, *of: Any, each: Any = None) -> None:
        self.of = of
        self.each = each


SPAN = Maybe(Span)
VALUES = Many(each=Maybe(VALUE))
INTS = Many(each=INT)
FIELDS: dict[type, tuple[Any, ...]] = {
    Span: (INT, INT, INT, INT, TEXT),
    TensorRecord: (
        *(INT, Maybe(TEXT), TEXT, TEXT, Maybe(TEXT), Maybe(TEXT), Maybe(INT), BOOL, BOOL, BOOL, BOOL, BOOL),
        *(Maybe(VALUE), Maybe(VALUE), Maybe(TEXT), TEXT, SPAN, Many(each=TEXT), Maybe(INT), INT, BOOL, INT),
        *(BOOL, BOOL, Maybe(NUMBER), TEXT),
    ),
    Operand: (Maybe(INT), TEXT, INT, TEXT, Maybe(INT)),
    Operation: (*(INT, TEXT, TEXT, Many(each=Operand), INTS, Maybe(TEXT), Maybe(INT), SPAN, TEXT, Maybe(INT), BOOL),),
    SavedRecord: (TEXT, Maybe(INT), TEXT),
    FunctionRecord: (INT, TEXT, INT, INTS, Maybe(INT), Many(each=SavedRecord), BOOL, SPAN),
    FunctionEdge: (INT, INT, INT, INT),
    ScopeRecord: (INT, Maybe(INT), TEXT, TEXT, TEXT, Maybe(INT), SPAN),
    HookRun: (TEXT, TEXT, Maybe(VALUE), Maybe(VALUE), BOOL),
    BackwardStep: (
        *(INT, INT, VALUES, VALUES, VALUES, BOOL, VALUES, Many(each=HookRun), Maybe(VALUE), Maybe(VALUE), BOOL, INT),
        VALUES,
    ),
    PassRecord: (INT, INTS, Many(each=VALUE), INT, BOOL, BOOL, Maybe(INTS), BOOL, TEXT, SPAN, INT),
    Escape: (TEXT, Maybe(INT), INT, SPAN, TEXT, Maybe(INT)),
    Change: (TEXT, GROUP, BOOL, INT, INT, Maybe(INT), BOOL, SPAN, TEXT),
    Begun: (INT, INT, SPAN),
    Failure: (TEXT, TEXT, SPAN, SPAN, Maybe(INT)),
    OptimiserRecord: (TEXT, INTS, INT, Maybe(NUMBER), SPAN, INT, INT, SPAN),
    FunctionCheck: (TEXT, TEXT, TEXT, SPAN, INT, INT, NUMBER, NUMBER),
    TrainingStep: (INT, Many(INT, INT), Many(INT, INT), INTS, SPAN),
    Trace: (
        *(TEXT, TEXT, Many(each=TensorRecord), Many(each=Operation), Many(each=FunctionRecord)),
        *(Many(each=FunctionEdge), INTS, INTS, INT, Many(each=Many(TEXT, INT)), Many(each=ScopeRecord)),
        *(Many(each=BackwardStep), Many(each=PassRecord), Many(each=Escape), Many(each=Change), Many(each=Begun)),
        *(Maybe(Failure), Many(each=TrainingStep), Many(each=Many(TEXT, TEXT)), INT, TEXT, Many(each=TEXT), Maybe(INT)),
        *(Many(each=OptimiserRecord), Many(each=FunctionCheck)),
    ),
}


# ---- writing


class Encoder:
    """Records as lists; values and long tuples of ids become numbers in tables, each once."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.groups: list[list[int]] = []
        self.arrays: list[Any] = []
        self._known: dict[Any, int] = {}
        self._groups: dict[int, int] = {}
        self._alive: list[Any] = []

    def record(self, record: Any) -> list[Any]:
        return [self.field(kind, one) for kind, one in zip(FIELDS[type(record)], record, strict=True)]

    def field(self, kind: Any, one: Any) -> Any:
        if one is None or kind in (INT, TEXT, BOOL):
            return one
        if isinstance(kind, Maybe):
            return self.field(kind.of, one)
        if isinstance(kind, Many):
            if kind.each in (INT, TEXT):
                return list(one)
            return [self.field(kind.each or kind.of[i], item) for i, item in enumerate(one)]
        if kind is VALUE:
            return self.value(one)
        if kind is NUMBER:
            return number(one)
        if kind is GROUP:
            return self.group(one)
        return self.record(one)

    def group(self, ids: tuple[int, ...]) -> int:
        known = self._groups.get(id(ids))
        if known is None:
            known = self._groups[id(ids)] = len(self.groups)
            self.groups.append(list(ids))
            self._alive.append(ids)
        return known

    def value(self, value: Value) -> int:
        key = self.key(value)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = len(self.values)
            self._alive.append(value)
            self.values.append(self.written(value))
        return known

    def key(self, value: Value) -> Any:
        if value.kept is not None:
            return "summary", value.kept
        if not value.shape:
            return value.dtype, repr(value.elements)
        where = value.elements.__array_interface__
        return where["data"][0], value.shape, value.elements.strides, value.dtype

    def written(self, value: Value) -> list[Any]:
        if value.kept is not None:
            s = value.kept
            ends = [number(x) for x in (s.minimum, s.maximum, s.mean, s.absolute, s.norm)]
            return [list(value.shape), value.dtype, None, [*ends, s.zeros, s.nan, s.inf, list(s.histogram), s.device]]
        if not value.shape:
            return [[], value.dtype, number(value.elements), None]
        self.arrays.append(value.elements)
        return [list(value.shape), value.dtype, len(self.arrays) - 1, None]


def number(x: Any) -> Any:
    """A number as strict JSON holds it."""
    if isinstance(x, float) and not isfinite(x):
        return "NaN" if x != x else "Infinity" if x > 0 else "-Infinity"
    return x


# ---- reading


class Decoder:
    """Lists as records, each field checked. `read_array(number)` gives an array of the file."""

    def __init__(self, read_array: Callable[[int], Value]) -> None:
        self.read_array = read_array
        self.values: list[Value] = []
        self.groups: list[tuple[int, ...]] = []
        self.readers: dict[Any, Callable[[Any], Any]] = {
            INT: integer,
            TEXT: text,
            BOOL: boolean,
            NUMBER: real,
            VALUE: lambda one: item(self.values, one),
            GROUP: lambda one: item(self.groups, one),
        }

    def reader(self, kind: Any) -> Callable[[Any], Any]:
        """The function that reads a field of this kind."""
        known = self.readers.get(kind)
        if known is not None:
            return known
        if isinstance(kind, Maybe):
            inner = self.reader(kind.of)
            found: Callable[[Any], Any] = lambda one: None if one is None else inner(one)
        elif isinstance(kind, Many):
            found = self.sequence(kind.each) if kind.each is not None else self.fixed(kind.of)
        else:
            found = self.maker(kind)
        self.readers[kind] = found
        return found

    def sequence(self, kind: Any) -> Callable[[Any], Any]:
        inner = self.reader(kind)
        return lambda one: tuple([inner(each) for each in listed(one)])

    def fixed(self, kinds: Iterable[Any]) -> Callable[[Any], Any]:
        readers = [self.reader(kind) for kind in kinds]

        def read(one: Any) -> Any:
            if len(listed(one)) != len(readers):
                raise Damaged("a record has another number of fields")
            return tuple([reader(each) for reader, each in zip(readers, one, strict=True)])

        return read

    def maker(self, kind: Any) -> Callable[[Any], Any]:
        read = self.fixed(FIELDS[kind])
        return lambda one: kind(*read(one))

    def value_of(self, one: Any) -> Value:
        if len(listed(one)) != 4:
            raise Damaged("a value is damaged")
        raw_shape, dtype, data, summary = one
        shape = self.sequence(INT)(raw_shape)
        text(dtype)
        if summary is not None:
            return self.summary_of(shape, dtype, listed(summary))
        if shape:
            value = self.read_array(integer(data))
            if (value.shape, value.dtype) != (shape, STORED.get(dtype, dtype)):
                raise Damaged("a value is not of its array's shape and type")
            return value._replace(dtype=dtype)
        kind = NUMBERS.get(dtype, int)
        plain = real(data) if kind is float else boolean(data) if kind is bool else whole(data)
        return Value((), dtype, float(plain) if kind is float else plain, None)

    def summary_of(self, shape: tuple[int, ...], dtype: str, parts: list[Any]) -> Value:
        if len(parts) != 10 or len(listed(parts[8])) not in (0, 1, BINS):
            raise Damaged("a summary is damaged")
        low, high, mean = (None if x is None else real(x) for x in parts[:3])
        absolute, norm, zeros = real(parts[3]), real(parts[4]), integer(parts[5])
        nan, inf, bins = integer(parts[6]), integer(parts[7]), tuple(map(integer, parts[8]))
        kept = Summary(shape, dtype, text(parts[9]), low, high, mean, absolute, norm, zeros, nan, inf, bins)
        return Value(shape, dtype, None, kept)

    def trace(self, one: Any) -> Trace:
        trace: Trace = self.reader(Trace)(one)
        check(trace)
        return trace


def listed(one: Any) -> list[Any]:
    if type(one) is not list:
        raise Damaged("a list is missing")
    return one


def mapped(one: Any) -> dict[str, Any]:
    if type(one) is not dict:
        raise Damaged("an object is missing")
    return one


def item(table: list[Any], one: Any) -> Any:
    if integer(one) >= len(table):
        raise Damaged("a number is out of range")
    return table[one]


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
    """Damaged unless every id is an index, every reference is in range, and scopes are nested."""
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
