"""Plans, which are traced once and executed many times, and static graphs with sessions.

plan = optimise(trace(f, {"x": 2.0, "w": 1.0}))     steps of values and gradients, from one run on examples
run = program(plan)                                 compiled: on floats, or on arrays in blocks
run(2.0, 1.0)                                       (6.0, 2.0, 5.0); can be called with other numbers

with Graph().as_default() as graph:                 a graph built by hand, with loops
    x = placeholder("float32", (), "x")
    y = x * x
    slope, = gradients(y, [x])
Session(graph=graph).run([y, slope], {x: 3.0})      [9.0, 6.0]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradtrace.lazy_names import attach, homes

if TYPE_CHECKING:
    from gradtrace.static.plan import Plan

HOMES = homes(
    __name__,
    {
        "record": "trace",
        "passes": "optimise",
        "plan": "Plan Step PlanValue Ref",
        "rows": "RowProgram",
        "arrays": "ArrayProgram",
        "scalars": "ScalarProgram",
        "graph": "Graph constant placeholder",
        "session": "Session",
        "loops": "while_loop",
        "derive": "gradients",
    },
)
__all__ = [*HOMES, "program"]

__getattr__, __dir__ = attach(__name__, HOMES, listed=("program",))


def program(plan: Plan, threads: int = 1) -> Any:
    """Compile a plan to a function of its inputs: of floats if all values are float64 scalars, else of arrays."""
    from gradtrace.static.scalars import ScalarProgram, is_scalar

    if is_scalar(plan):
        return ScalarProgram(plan)
    from gradtrace.static.arrays import ArrayProgram

    return ArrayProgram(plan, threads)
