"""Loops and choices as steps of a plan: `while_loop` and `cond`, whose parts are plans of their own.

A step's arguments are (parts, values): the parts are plans, the values Refs. Every part takes the same values: for
`while_loop` the loop's variables and then what the parts use of the graph outside; for `cond` the predicate first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradtrace.engine.lazy import np
from gradtrace.static.plan import Step

WHILE, COND = "while_loop", "cond"


def program_of(step: Step) -> Callable[..., tuple[Any, ...]] | None:
    """A function of the step's values that gives its results; None for an ordinary step."""
    if step.op not in (WHILE, COND):
        return None
    from gradtrace.static.arrays import ArrayProgram

    parts = [ArrayProgram(part) for part in step.args[0]]
    return loop(parts, len(step.out)) if step.op == WHILE else choice(parts)


def loop(parts: list[Any], variables: int) -> Callable[..., tuple[Any, ...]]:
    """Runs the body as long as the condition holds."""
    condition, body = parts

    def run(*values: Any) -> tuple[Any, ...]:
        state, outside = values[:variables], values[variables:]
        while bool(np.all(condition(*state, *outside)[0])):
            state = body(*state, *outside)
        return tuple(map(np.asarray, state))

    return run


def choice(parts: list[Any]) -> Callable[..., tuple[Any, ...]]:
    """Runs one of the two branches."""
    yes, no = parts

    def run(predicate: Any, *values: Any) -> tuple[Any, ...]:
        found: tuple[Any, ...] = (yes if bool(predicate) else no)(*values)
        return found

    return run
