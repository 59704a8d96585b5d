"""Find which values that are not finite matter: a mask's -inf that a softmax turns into 0 is not an
error.
"""

from __future__ import annotations

from gradtrace.analysis.terms import has_nan
from gradtrace.engine.operators.tables import function_table
from gradtrace.trace.operands import record_of
from gradtrace.trace.record import Trace

# What these return is whatever the memory held before.
UNINITIALISED = function_table(
    "analysis.lasting.UNINITIALISED", ("empty", "empty_like", "new_empty")
)


def lasting(trace: Trace) -> frozenset[int]:
    """Return the tensors whose values are bad: NaN, or an infinity that reaches the start of a
    pass, a result of the program, or a NaN. Other infinities end where an operation makes finite
    numbers of them.
    """
    ends = ends_of(trace)
    blank = uninitialised(trace)
    bad = {t.id for t in trace.tensors if t.id not in blank and has_nan(t.value)}
    for operation in reversed(trace.operations):
        if any(i in bad or i in ends for i in operation.outputs if not is_finite(trace, i)):
            bad.update(operation.outputs)
            bad.update(i for i in operation.tensors if i not in blank and not is_finite(trace, i))
    return frozenset(bad)


def ends_of(trace: Trace) -> frozenset[int]:
    """Return the tensors at which passes began, and the results of the program."""
    begun = (i for pass_ in trace.passes for i in pass_.roots)
    return frozenset((*trace.roots, *trace.outputs, *begun))


def uninitialised(trace: Trace) -> set[int]:
    """Return the tensors that may hold what was in their memory before: those that `empty` made,
    and views of them.
    """
    first: set[int] = set()  # first versions
    for operation in trace.operations:
        record = record_of(operation.name) if first else None
        views = operation.tensors if record is not None and record.kind == "view" else ()
        if operation.name in UNINITIALISED or any(trace.tensors[i].first in first for i in views):
            first.update(trace.tensors[i].first for i in operation.outputs)
    return {t.id for t in trace.tensors if t.first in first} if first else first


def is_finite(trace: Trace, tensor: int) -> bool:
    value = trace.tensors[tensor].value
    return value is None or not value.is_float or value.all_finite
