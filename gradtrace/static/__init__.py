"""Define, then run: plans made once and run many times, static graphs and their sessions.

plan = optimise(trace(f, {"x": 2.0, "w": 1.0}))     steps of values and gradients, from one run on examples
run = program(plan)                                 code for it: floats, or arrays in blocks
run(2.0, 1.0)                                       (6.0, 2.0, 5.0), and again with other numbers

with Graph().as_default() as graph:                 the graph put together by hand, with loops and choices in it
    x = placeholder("float32", (), "x")
    y = x * x
    slope, = gradients(y, [x])
Session(graph=graph).run([y, slope], {x: 3.0})      [9.0, 6.0]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gradtrace.static.plan import Plan

HOMES = {
    "trace": "record",
    "optimise": "passes",
    "Plan": "plan",
    "Step": "plan",
    "Value": "plan",
    "Ref": "plan",
    "RowProgram": "rows",
    "ArrayProgram": "arrays",
    "ScalarProgram": "scalars",
    "Graph": "graph",
    "constant": "graph",
    "placeholder": "graph",
    "Session": "session",
    "Variable": "variables",
    "while_loop": "loops",
    "cond": "loops",
    "gradients": "derive",
}
__all__ = [*HOMES, "program"]


def program(plan: Plan, threads: int = 1) -> Any:
    """A callable of the plan's inputs in its order: on floats where all values are float64 scalars, else on arrays."""
    from gradtrace.static.scalars import ScalarProgram, is_scalar

    if is_scalar(plan):
        return ScalarProgram(plan)
    from gradtrace.static.arrays import ArrayProgram

    return ArrayProgram(plan, threads)


def __getattr__(name: str) -> Any:
    if name in HOMES:
        from importlib import import_module

        return getattr(import_module(f"gradtrace.static.{HOMES[name]}"), name)
    raise AttributeError(f"module 'gradtrace.static' has no attribute '{name}'")
