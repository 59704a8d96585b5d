"""Which operations ran in which floating dtype, and which one's short dtype adds most to the
results' errors.
"""

from __future__ import annotations

from gradtrace.analysis.precision.flow import NOT_FINITE, ROUNDING, Errors
from gradtrace.analysis.terms import plain
from gradtrace.analysis.words import at_line
from gradtrace.annotations import Any, NamedTuple
from gradtrace.trace.precision import Measured
from gradtrace.trace.record import Operation, Trace

LEAST = 0.01  # the part of an error from which it is said what adds it
ALIKE = 0.9  # from which quotient on two such parts, which are estimates, are called alike


class DtypeUse(NamedTuple):
    """The forward operations whose results have one dtype."""

    dtype: str
    results: int
    operations: tuple[str, ...]  # their names with how often they ran, the most frequent first
    modules: tuple[str, ...]  # where they ran, in the order of the run


def dtypes_used(trace: Trace) -> tuple[DtypeUse, ...]:
    """Return the uses of the floating dtypes of a measured run, the shortest first; () if there is
    only one.
    """
    assert trace.precision is not None
    by_dtype: dict[str, dict[str, set[int]]] = {}
    results: dict[str, int] = {}
    modules: dict[str, dict[str, None]] = {}
    rows = [row for row in trace.precision.measured if row.dtype in ROUNDING]
    for row in rows:
        if row.operation is not None and row.passed is None:
            operation = trace.operations[row.operation]
            by_dtype.setdefault(row.dtype, {}).setdefault(operation.name, set()).add(operation.id)
            results[row.dtype] = results.get(row.dtype, 0) + 1
            if module := module_of(trace, operation):
                modules.setdefault(row.dtype, {})[module] = None
    if len(by_dtype) < 2:
        return ()
    return tuple(
        DtypeUse(
            dtype,
            results[dtype],
            tuple(
                f"{name} ×{len(ran)}" if len(ran) > 1 else name
                for name, ran in sorted(by_dtype[dtype].items(), key=lambda x: -len(x[1]))
            ),
            tuple(modules.get(dtype, ())),
        )
        for dtype in sorted(by_dtype, key=lambda dtype: -ROUNDING[dtype])
    )


def largest_parts(errors: Errors, targets: list[int]) -> tuple[str, ...]:
    """Return a sentence for the least precise value and gradient: which operation in a short dtype
    adds most to it.
    """
    said = []
    for of_gradient in (False, True):
        rows = [i for i in targets if (errors.rows[i].passed is not None) == of_gradient]
        rows = [i for i in rows if 0 < errors.relative(i) < NOT_FINITE and not errors.is_vague(i)]
        if rows:
            said.append(largest_part(errors, max(rows, key=errors.relative)))
    return tuple(sentence for sentence in said if sentence)


def largest_part(errors: Errors, target: int) -> str:
    """Return which operation in a short dtype adds most to a result's error; "" if none does."""
    widest = min(ROUNDING[row.dtype] for row in errors.rows if row.dtype in ROUNDING)
    parts: dict[Any, float] = {}
    first: dict[Any, Measured] = {}
    for i, weight in errors.weights(target).items():
        row = errors.rows[i]
        if row.operation is not None and ROUNDING[row.dtype] > widest:
            place = (
                errors.place(i),
                row.dtype,
                module_of(errors.trace, errors.trace.operations[row.operation]),
            )
            parts[place] = parts.get(place, 0.0) + weight * errors.added_part(i)
            first.setdefault(place, row)
    if not parts:
        return ""
    worst = max(parts, key=lambda place: parts[place])
    row = first[worst]
    trace = errors.trace
    if parts[worst] < LEAST:
        return ""
    end = errors.rows[target]
    alike = [
        done_by(trace, first[rival])
        for rival in parts
        if rival != worst and parts[rival] >= ALIKE * parts[worst]
    ]
    others = "no other operation in a short type adds as much"
    if alike:
        others = (
            f"{alike[0]} adds about as much"
            if len(alike) == 1
            else f"{len(alike)} others add about as much"
        )
    name = plain(trace.tensors[end.tensor].label) + (".grad" if end.passed is not None else "")
    return (
        f"Of the error of {name}, {min(parts[worst], 1.0):.0%} is added by {done_by(trace, row)}, "
        f"which has its result in {row.dtype}: {others}."
    )


def done_by(trace: Trace, row: Measured) -> str:
    """Return which operation made a row, in which module and line."""
    assert row.operation is not None
    operation = trace.operations[row.operation]
    module = module_of(trace, operation)
    back = " backward" * (row.passed is not None)
    return f"{operation.name}{back}" + f" in {module}" * bool(module) + at_line(operation.span)


def module_of(trace: Trace, operation: Operation) -> str:
    """Return the name of the module that called an operation; "" if none did."""
    return plain(trace.module_around(operation.scope))
