"""Loops and conditionals as steps of a plan, whose parts are plans themselves.

A step's arguments are (parts, values): the parts are plans, the values Refs.

    while_loop    (condition, body)            the variables, then the outer values that the parts use
    while_grad    (condition, body, its vjp)   the same, then the gradients of the last state's floating variables; a
                                               third argument has the numbers of variables and of floating variables
    cond          (branch, branch)             the predicate, then the operands of both branches

`while_grad` keeps the state before every iteration, so its memory grows with the number of iterations. It takes about
three times as long as the loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradtrace.engine.data.lazy import np
from gradtrace.static.plan import Step

WHILE, WHILE_GRAD, COND = "while_loop", "while_grad", "cond"


def program_of(step: Step) -> Callable[..., tuple[Any, ...]] | None:
    """Return a function from a step's values to its results; None if the step is not a loop or conditional."""
    if step.op not in (WHILE, WHILE_GRAD, COND):
        return None
    from gradtrace.static.arrays import ArrayProgram

    parts = [ArrayProgram(part) for part in step.args[0]]
    if step.op == WHILE_GRAD:
        return loop_grad(parts, *step.args[2])
    return loop(parts, len(step.out)) if step.op == WHILE else choice(parts)


def loop(parts: list[Any], variables: int) -> Callable[..., tuple[Any, ...]]:
    """Return a function that runs the body while the condition holds."""
    condition, body = parts

    def run_loop(*values: Any) -> tuple[Any, ...]:
        state, outside = values[:variables], values[variables:]
        while goes_on(condition, body, state, outside):
            state = body(*state, *outside)
        return tuple(map(np.asarray, state))

    return run_loop


def goes_on(condition: Any, body: Any, state: Any, outside: Any) -> bool:
    """Return whether the loop has another iteration."""
    return bool(condition(*state, *outside)[0])


def loop_grad(parts: list[Any], variables: int, floats: int) -> Callable[..., tuple[Any, ...]]:
    """Return a function that runs the loop, keeps every state, and backpropagates through the iterations."""
    condition, body, gradient = parts

    def run_loop_backward(*values: Any) -> tuple[Any, ...]:
        end = len(values) - floats
        state, outside, slopes = values[:variables], values[variables:end], values[end:]
        states = []
        while goes_on(condition, body, state, outside):
            states.append(state)
            state = body(*state, *outside)
        totals: list[Any] = []
        for state in reversed(states):
            grads = gradient(*state, *outside, *slopes)
            slopes, more = grads[:floats], grads[floats:]
            totals = [a + b for a, b in zip(totals, more, strict=True)] if totals else list(more)
        if not states:  # without iterations gradients pass through, and nothing outside was used
            totals = [np.zeros(np.shape(v), np.asarray(v).dtype) for v in outside if np.asarray(v).dtype.kind == "f"]
        return tuple(map(np.asarray, (*slopes, *totals)))

    return run_loop_backward


def choice(parts: list[Any]) -> Callable[..., tuple[Any, ...]]:
    """Return a function that runs one of the two branches, selected by its first argument."""
    yes, no = parts

    def run_branch(predicate: Any, *values: Any) -> tuple[Any, ...]:
        return (yes if bool(predicate) else no)(*values)

    return run_branch
