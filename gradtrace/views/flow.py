"""The gradient of every tensor in a backward pass, kept or not, and the local derivative on every edge.

gradients(trace)                         {tensor id: Value}, of the last pass that reached it
derivatives(trace)                       {(operation id, operand's place): Value}
norm(value)                              the Euclidean length of a gradient
"""

from __future__ import annotations

from gradtrace.trace.record import BackwardStep, Operation, Trace, Value


def gradients(trace: Trace) -> dict[int, Value]:
    """The gradient of each tensor: what is kept in `.grad`, else what was seen to arrive at its function."""
    found: dict[int, Value] = {}
    for step in trace.steps:
        outputs = trace.functions[step.function].outputs
        for tensor, value in zip(outputs, step.upstream, strict=False):
            if value is not None:
                found[tensor] = value
    found.update((tensor.id, tensor.grad) for tensor in trace.tensors if tensor.grad is not None)
    return found


def last_steps(trace: Trace) -> dict[int, BackwardStep]:
    """For each function its last visit."""
    return {step.function: step for step in trace.steps}


def derivatives(trace: Trace) -> dict[tuple[int, int], Value]:
    """The local derivatives, where they are numbers or go element by element."""
    steps = last_steps(trace)
    found: dict[tuple[int, int], Value] = {}
    for operation in trace.operations:
        step = None if operation.function is None else steps.get(operation.function)
        for operand in operation.inputs if step is not None else ():
            if step is None or operand.edge is None or operand.edge >= len(step.local):
                continue
            value = step.local[operand.edge]
            if value is not None:
                found[operation.id, operand.position] = value
    return found


def factor(trace: Trace, operation: Operation, position: int) -> str:
    """The local derivative in names, where it is one: of a * b by a, it is b."""
    if operation.name != "mul" or len(operation.inputs) != 2:
        return ""
    others = [o for o in operation.inputs if o.position != position]
    return others[0].text if others[0].tensor is None else trace.tensors[others[0].tensor].label


def norm(value: Value) -> float:
    """The Euclidean length of a gradient; NaN or infinity if it holds such."""
    return value.norm
