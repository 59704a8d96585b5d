"""The gradient of every tensor in a backward pass, kept or not, and the local derivative on every
edge.

gradients(trace)                         {tensor id: Value}, of the last pass that reached it
hooks(trace)                             {tensor id: [HookRun]}, those that changed its gradient in
                                         the last pass
derivatives(trace)                       {(operation id, operand's position): Value}
"""

from __future__ import annotations

from gradtrace.trace.record import BackwardStep, HookRun, Operation, Trace, Value


def gradients(trace: Trace) -> dict[int, Value]:
    """Return the gradient of each tensor: its `.grad`, else the gradient that its function
    received.
    """
    flowed: dict[int, Value] = {}
    for step in trace.steps:
        outputs = trace.functions[step.function].outputs
        for tensor, value in zip(outputs, step.upstream, strict=False):
            if value is not None:
                flowed[tensor] = value
    flowed.update((tensor.id, tensor.grad) for tensor in trace.tensors if tensor.grad is not None)
    return flowed


def hooks(trace: Trace) -> dict[int, list[HookRun]]:
    """Return the hooks that changed a tensor's gradient in the last pass that reached it."""
    by_tensor: dict[int, list[HookRun]] = {}
    for step in last_steps(trace).values():
        changed = [hook for hook in step.hooks if hook.changed]
        function = trace.functions[step.function]
        for tensor in function.outputs if function.variable is None else (function.variable,):
            if changed:
                by_tensor[tensor] = changed
    return by_tensor


def last_steps(trace: Trace) -> dict[int, BackwardStep]:
    """Return the last visit of each function."""
    return {step.function: step for step in trace.steps}


def derivatives(trace: Trace) -> dict[tuple[int, int], Value]:
    """Return the local derivatives that are single numbers or elementwise."""
    steps = last_steps(trace)
    slopes: dict[tuple[int, int], Value] = {}
    for operation in trace.operations:
        step = None if operation.function is None else steps.get(operation.function)
        for operand in operation.inputs if step is not None else ():
            if step is None or operand.edge is None or operand.edge >= len(step.local):
                continue
            value = step.local[operand.edge]
            if value is not None:
                slopes[operation.id, operand.position] = value
    return slopes


def factor(trace: Trace, operation: Operation, position: int) -> str:
    """Return the local derivative as a name if it is one: for a * b by a, it is b."""
    if operation.name != "mul" or len(operation.inputs) != 2:
        return ""
    others = [o for o in operation.inputs if o.position != position]
    return others[0].text if others[0].tensor is None else trace.tensors[others[0].tensor].label
