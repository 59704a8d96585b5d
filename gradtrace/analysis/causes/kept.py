"""Find results that keep the graph of every step of a loop: averages and sums that are computed with history."""

from __future__ import annotations

from gradtrace.analysis import places
from gradtrace.analysis.cause import Cause
from gradtrace.analysis.facts import Facts
from gradtrace.annotations import Any
from gradtrace.program import syntax as ast
from gradtrace.trace.record import Operation

STEPS = 3  # over which a result has come to keep its history


def kept_history(facts: Facts) -> Cause | None:
    """Find a statement that reads its own result of the step before, with history, step after step."""
    if facts.trace.failure is not None:
        return None
    lengths: dict[int, tuple[int, int]] = {}  # by tensor: in which step it was made, how many steps are behind it
    longest: tuple[int, Operation] | None = None
    for step in facts.trace.training:
        for operation in facts.operations[slice(*step.operations)]:
            if operation.span is None or operation.span.file or not operation.grad_enabled:
                continue
            histories = [length(facts, lengths, i, operation, step.number) for i in operation.tensors]
            behind = max([1, *histories])
            for out in operation.outputs:
                if facts.tensors[out].requires_grad and not facts.tensors[out].is_leaf:
                    lengths[out] = step.number, behind
                    if behind >= max(STEPS, longest[0] if longest else 0) and step is facts.trace.training[-1]:
                        longest = behind, operation
    return None if longest is None else of_line(facts, *longest)


def length(facts: Facts, lengths: dict[int, tuple[int, int]], tensor: int, reader: Operation, step: int) -> int:
    """Return over how many steps a tensor has its history, if the reader's own statement made it; else 0."""
    maker = facts.maker(tensor)
    if maker is None or tensor not in lengths or maker.span is None or reader.span is None:
        return 0
    if facts.text.statement(maker.span) is not facts.text.statement(reader.span):
        return 0
    start, behind = lengths[tensor]
    return behind + (start != step)


def of_line(facts: Facts, steps: int, operation: Operation) -> Cause | None:
    statement: Any = facts.text.statement(operation.span)
    if not isinstance(statement, (ast.Assign, ast.AugAssign)):
        return None
    target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
    name, head = facts.text.cut(target), places.head_of(statement)
    fixes = [f"compute it without history: with torch.no_grad(): {facts.text.cut(statement)}"]
    if isinstance(statement, ast.AugAssign) and isinstance(statement.value, ast.Name):
        fixes = [f"{name} += {facts.text.cut(statement.value)}.item(), or .detach() to keep a tensor"]
    return Cause(
        "kept history",
        f"line {head.line} computes {name} from {name} of the step before, with its history: the graphs of {steps} "
        "steps are kept, and memory grows with each",
        (facts.at(f"{name} requires grad and refers to the steps before", head),),
        tuple(fixes),
    )
