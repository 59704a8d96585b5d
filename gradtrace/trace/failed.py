"""Add the failed operation to a trace: what the program was about to compute, from which tensors,
and the error.

    trace = with_failure(trace)       # of a trace whose `failure` is set

The recorder does not see a call that raises, so the operation is made from the source text at the
place of the failure: its operands are the variables in that text, its result is a record of the
kind FAILED. Where backward failed in the derivative of a recorded operation, `failure.operation` is
that operation, and nothing is added.
"""

from __future__ import annotations

from gradtrace.annotations import Any
from gradtrace.program import syntax as ast
from gradtrace.trace.labels import cut_text, dotted
from gradtrace.trace.record import FAILED, Operand, Operation, TensorRecord, Trace


def with_failure(trace: Trace) -> Trace:
    """Return the trace with the operation that failed, whose id is `failure.operation`."""
    failure = trace.failure
    if failure is None:
        return trace
    if failure.forward is not None:
        for operation in trace.operations:
            if starts(operation.span, failure.forward):
                return trace._replace(failure=failure._replace(operation=operation.id))
    text = cut_text(trace.text_of(failure.span), failure.span) or failure.kind
    used = operands(trace, text)
    number = len(trace.operations)
    tensor_id = len(trace.tensors)
    inputs = tuple(Operand(i, "", place) for place, i in enumerate(used))
    operation = Operation(
        number, "failed", failure.kind, inputs, (tensor_id,), None, None, failure.span, text
    )
    result = TensorRecord(
        tensor_id,
        None,
        text,
        FAILED,
        "failed",
        None,
        None,
        is_leaf=False,
        requires_grad=False,
        retains_grad=False,
        is_output=True,
        is_parameter=False,
        value=None,
        grad=None,
        grad_fn_of_grad=None,
        grad_note=f"{failure.kind}: {failure.message}" if failure.message else failure.kind,
        span=failure.span,
        operation=number,
        first=tensor_id,
    )
    return trace._replace(
        tensors=(*trace.tensors, result),
        operations=(*trace.operations, operation),
        failure=failure._replace(operation=number),
    )


def starts(span: Any, at: Any) -> bool:
    """Whether a span, which may be None, starts at a place in the program."""
    return span is not None and (span.file, span.line, span.column) == (at.file, at.line, at.column)


def operands(trace: Trace, text: str) -> list[int]:
    """Return the tensors of the variables in a source text, in its order."""
    try:
        tree = ast.parse(text.strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    ids = dict(trace.names)
    names = [dotted(node) for node in ast.walk(tree)]
    return list(dict.fromkeys(ids[name] for name in names if name in ids))
