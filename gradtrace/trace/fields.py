"""The types of all fields of a trace's records, by which `trace/columns.py` writes, reads and checks a file.

`FIELDS` has the type of each field. `check` tests whether the ids in a trace that was read are consistent.
"""

from __future__ import annotations

from math import isfinite

from gradtrace.annotations import Any, Iterable
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

INT, INDEX, TEXT, BOOL, NUMBER, VALUE, GROUP = "int", "index", "text", "bool", "number", "value", "group"
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
        *(Maybe(Failure), Many(each=TrainingStep), Many(each=Many(TEXT, TEXT)), INT),
        *(Many(each=OptimiserRecord), Many(each=FunctionCheck)),
        *(TEXT, Many(each=TEXT), Maybe(INT)),
    ),
}


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
