"""A plan for one row, as a function of columns."""

from __future__ import annotations

from typing import Any

from gradtrace.engine.lazy import np
from gradtrace.static.plan import Plan
from gradtrace.static.rows import RowProgram


class RowMap:
    """Maps columns to the plan's outputs, row by row. `constants` are the inputs that all rows share.

    A call takes the other inputs as arrays of one length and of the plan's row shapes and dtypes, and gives an array
    for each output, whose rows are what a run on that row alone gives. Reductions are within the row.
    """

    def __init__(self, plan: Plan, constants: dict[str, Any] | None = None, block: int = 0) -> None:
        self.plan = plan
        self.constants = constants or {}
        self.labels = [label for label, _ in plan.outputs]
        numbers = tuple(number for _, number in plan.inputs)
        self.program = RowProgram(plan, numbers, tuple(number for _, number in plan.outputs), block)

    def __call__(self, columns: dict[str, Any], rows: int, threads: int = 1) -> dict[str, Any]:
        inputs = []
        for name, number in self.plan.inputs:
            value = self.plan.values[number]
            if name in columns:
                inputs.append(np.ascontiguousarray(columns[name], value.dtype))
            else:
                inputs.append(np.broadcast_to(np.asarray(self.constants[name], value.dtype), (rows, *value.shape)))
        outs = [np.empty((rows, *self.plan.values[n].shape), self.plan.values[n].dtype) for _, n in self.plan.outputs]
        self.program.run(inputs, [], outs, threads)
        return dict(zip(self.labels, outs, strict=True))
