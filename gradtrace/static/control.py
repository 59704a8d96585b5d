"""Loops as steps of a plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradtrace.engine.data.lazy import np
from gradtrace.static.plan import WHILE, Step


def program_of(step: Step) -> Callable[..., tuple[Any, ...]] | None:
    """Return a function from a loop's values to the last values of its variables; None if the step is not a loop."""
    if step.op != WHILE:
        return None
    from gradtrace.static.arrays import ArrayProgram

    condition, body = map(ArrayProgram, step.args[0])
    count = len(step.out)

    def run_loop(*values: Any) -> tuple[Any, ...]:
        variables, outside = values[:count], values[count:]
        while condition(*variables, *outside)[0]:
            variables = body(*variables, *outside)
        return tuple(map(np.asarray, variables))

    return run_loop
