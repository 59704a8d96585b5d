"""A run as a sequence of moments: the graph grows statement by statement, then gradients flow back.

    story(trace) -> tuple of Moment

The page's player and the animation show it. In forward, a moment has the results of one statement;
in backward, one visit of a function, in the engine's order. Where a program calls backward in
between, the moments alternate in the same way.
"""

from __future__ import annotations

from gradtrace.annotations import NamedTuple
from gradtrace.trace.record import Operation, Trace

LEAVES = "leaves"
FORWARD = "forward"
BACKWARD = "backward"
DONE = "done"


class Moment(NamedTuple):
    """The changes of one moment: some operations and their tensors, or one backward step."""

    kind: str
    line: int | None = None
    text: str = ""
    operations: tuple[int, ...] = ()
    tensors: tuple[int, ...] = ()
    step: int | None = None  # in trace.steps


def story(trace: Trace) -> tuple[Moment, ...]:
    """Return all moments; those of backward only if the run was watched."""
    seen = {t.id for t in trace.tensors if t.operation is None and t.kind != "constant"}
    moments = [Moment(LEAVES, tensors=tuple(sorted(seen)))]
    waiting = list(reversed(list(enumerate(trace.steps))))
    start = 0
    # an expression: step by step
    single = all(same_statement(trace, 0, i) for i in range(len(trace.operations)))
    while start < len(trace.operations):
        take_backward(moments, waiting, trace, start)
        end = start + 1
        stop = waiting[-1][1].after if waiting else len(trace.operations)
        while (
            not single
            and end < min(len(trace.operations), stop)
            and same_statement(trace, start, end)
        ):
            end += 1
        moments.append(forward(trace, trace.operations[start:end], seen, single))
        start = end
    take_backward(moments, waiting, trace, len(trace.operations))
    return (*moments, Moment(DONE))


def take_backward(
    moments: list[Moment], waiting: list[tuple[int, object]], trace: Trace, ran: int
) -> None:
    """Append the backward steps that ran before the operation with index `ran`."""
    while waiting:
        number = waiting[-1][0]
        step = trace.steps[number]
        if step.after > ran:
            return
        waiting.pop()
        if step.ran:
            span = trace.functions[step.function].span
            moments.append(Moment(BACKWARD, None if span is None else span.line, step=number))


def same_statement(trace: Trace, first: int, second: int) -> bool:
    left = trace.operations[first]
    right = trace.operations[second]
    return (
        left.scope == right.scope
        and left.span is not None
        and right.span is not None
        and left.span.line == right.span.line
    )


def forward(
    trace: Trace, operations: tuple[Operation, ...], seen: set[int], single: bool
) -> Moment:
    tensors: list[int] = []
    for operation in operations:
        tensors += [
            o.tensor for o in operation.inputs if o.tensor is not None and o.tensor not in seen
        ]
        tensors += operation.outputs
        seen.update(tensors)
    span = operations[-1].span
    return Moment(
        FORWARD,
        None if span is None else span.line,
        statement(trace, operations, single),
        tuple(o.id for o in operations),
        tuple(dict.fromkeys(tensors)),
    )


def statement(trace: Trace, operations: tuple[Operation, ...], single: bool) -> str:
    """Return the source line of the operations; if the program is a `single` expression, the text
    of the operation.
    """
    span = operations[-1].span
    if single and operations[-1].text:
        return operations[-1].text
    lines = trace.text_of(span).split("\n")
    if span is None or not 0 < span.line <= len(lines):
        return ", ".join(operation.label for operation in operations)
    return lines[span.line - 1].strip()
