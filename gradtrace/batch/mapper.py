"""Run a plan for one row on columns of many rows."""

from __future__ import annotations

from sys import getrefcount, version_info
from typing import Any

from gradtrace.engine.data.lazy import np
from gradtrace.static.plan import Plan
from gradtrace.static.rows import RowProgram

# getrefcount of an array in a list inside a loop over it; since 3.14 Python borrows some
# references.
FREE = 3 if version_info < (3, 14) else 0


class RowMap:
    """A function from columns to the plan's outputs for each row. `constants` are the inputs shared
    by all rows.

    A call takes the other inputs as arrays of one length, with the plan's row shapes and dtypes,
    and returns an array for each output. Each row equals the result of running the plan on this row
    alone.
    """

    def __init__(self, plan: Plan, constants: dict[str, Any] | None = None, block: int = 0) -> None:
        self.plan = plan
        self.constants = constants or {}
        self.last: list[Any] = []
        self.labels = [label for label, _ in plan.outputs]
        self.numbers = list(dict.fromkeys(number for _, number in plan.outputs))
        self.program = RowProgram(plan, block)

    def __call__(self, columns: dict[str, Any], rows: int, threads: int = 1) -> dict[str, Any]:
        inputs = []
        for name, number in self.plan.inputs:
            value = self.plan.values[number]
            if name in columns:
                inputs.append(np.ascontiguousarray(columns[name], value.dtype))
            else:
                inputs.append(
                    np.broadcast_to(
                        np.asarray(self.constants[name], value.dtype), (rows, *value.shape)
                    )
                )
        outs = self.outputs(rows)
        self.program.run(inputs, outs, threads)
        return {label: outs[self.numbers.index(number)] for label, number in self.plan.outputs}

    def outputs(self, rows: int) -> list[Any]:
        """Return arrays for the results: those of the last call if nothing refers to them, since
        allocation is slow.
        """
        last = self.last
        self.last = []
        if len(last) != len(self.numbers) or any(
            len(a) != rows or getrefcount(a) > FREE for a in last
        ):
            last = [
                np.empty((rows, *self.plan.values[n].shape), self.plan.values[n].dtype)
                for n in self.numbers
            ]
        self.last = last
        return list(last)
