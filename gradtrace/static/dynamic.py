"""Execute a recorded plan dynamically: call the operators on tensors, then backward, at each run.

The static programs are compared with this baseline: the same operators, without the cost of parsing
a program.
"""

from __future__ import annotations

from typing import Any

from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.operators.op import records
from gradtrace.engine.reverse.gradients import grad
from gradtrace.static.plan import FORWARD, Plan, replaced


class DynamicProgram:
    """A program that calls the operators of a plan's forward steps, then backward. `built` and
    `runs` are counters.
    """

    def __init__(self, recorded: Plan, wanted: list[str]) -> None:
        self.plan = recorded
        self.steps = [step for step in recorded.steps if step.phase == FORWARD]
        self.root = recorded.outputs[0][1]
        self.wanted = wanted
        self.built = 0
        self.runs = 0

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        """Return the value and the gradients as raw data."""
        tensors: dict[int, Any] = {
            number: Tensor._wrap(value.constant)
            for number, value in enumerate(self.plan.values)
            if value.is_constant
        }
        leaves = []
        for (name, number), raw in zip(self.plan.inputs, inputs, strict=True):
            tensors[number] = Tensor._wrap(raw)
            if name in self.wanted:
                leaves.append(tensors[number].requires_grad_())
        for step in self.steps:
            out = records[step.op](*replaced(step.args, tensors.__getitem__))
            results = out if isinstance(out, tuple) else (out,)
            tensors.update(zip(step.out, results, strict=True))
        self.built += 1
        self.runs += 1
        y = tensors[self.root]
        if not y.requires_grad or not leaves:
            return (y._data,)
        grads = grad(y if y.numel() == 1 else y.sum(), leaves, materialize_grads=True)
        return (y._data, *(g._data for g in grads))
