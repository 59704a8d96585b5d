"""Find tensors whose values a result was computed with as Python numbers, on paths where no gradient comes back."""

from __future__ import annotations

from gradtrace.analysis.facts import Facts
from gradtrace.analysis.flow import NUMBERS
from gradtrace.analysis.rewrites import expression, place
from gradtrace.annotations import Any, Iterator, NamedTuple
from gradtrace.program import syntax as ast
from gradtrace.trace.record import Escape, Operation


class LeftNumber(NamedTuple):
    """A tensor's value that became a number, and the operation that computes with it; `operand` is its text there."""

    escape: Escape
    tensor: int
    operation: Operation
    operand: Any


def left_numbers(facts: Facts) -> list[LeftNumber]:
    """Return the numbers of tensors that require grad which the roots of the last pass were computed with."""
    taken: dict[Any, tuple[Escape, int]] = {}
    for record in facts.trace.escapes:
        is_own = record.how in NUMBERS and record.span is not None and not record.span.file
        if is_own and record.tensor is not None and facts.tensors[record.tensor].requires_grad:
            taken[record.span] = record, record.tensor
    if not taken:
        return []
    into = facts.flow.before(facts.roots)
    operations = {o.span: o for o in facts.operations if o.constants and o.span and not into.isdisjoint(o.outputs)}
    numbers = [(operation, operand) for operation in operations.values() for operand in constants(facts, operation)]
    return [
        LeftNumber(escape, tensor, operation, operand)
        for escape, tensor in taken.values()
        for operation, operand in numbers
        if operation.id >= escape.after and is_read(facts, escape, operand)
    ]


def constants(facts: Facts, operation: Operation) -> Iterator[Any]:
    """Yield the operands of an operation's text that no other operation made."""
    node = expression(facts, operation.span)
    operands = getattr(node, "args", ())
    if isinstance(node, ast.BinOp):
        operands = [node.left, node.right]
    elif isinstance(node, ast.Compare):
        operands = [node.left, *node.comparators]
    spans = {facts.tensors[i].span for i in operation.tensors}
    for operand in operands:
        if not any(span is not None and place(operand) == span[:4] for span in spans):
            yield operand


def is_read(facts: Facts, escape: Escape, operand: Any) -> bool:
    """Whether a piece of text has the number of an escape: its call, or a variable that was bound to it."""
    assert escape.span is not None
    parts = list(ast.walk(operand))
    if any(isinstance(n, ast.expr) and place(n) == escape.span[:4] for n in parts):
        return True
    statement = facts.text.statement(escape.span)
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
        return False
    name = statement.targets[0].id
    if facts.variable(name) is not None:  # it holds a tensor, not a number
        return False
    return len(facts.text.assignments(name)) == 1 and any(isinstance(n, ast.Name) and n.id == name for n in parts)
