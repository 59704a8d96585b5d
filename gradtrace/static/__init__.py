"""Plans, which are traced once and executed many times, and static graphs with sessions.

plan = optimise(trace(f, {"x": 2.0, "w": 1.0}))     steps of values and gradients, from one run on
examples
run = PlanProgram(plan)                             the plan as a function
run(2.0, 1.0)                                       (6.0, 2.0, 5.0); can be called with other
                                                    numbers

with Graph().as_default() as graph:                 a graph built by hand, with loops
    x = placeholder("float32", (), "x")
    y = x * x
    slope, = gradients(y, [x])
Session(graph=graph).run([y, slope], {x: 3.0})      [9.0, 6.0]
"""

from __future__ import annotations

from gradtrace.lazy_names import attach, homes

HOMES = homes(
    __name__,
    {
        "record": "trace",
        "passes": "optimise",
        "plan": "Plan Step PlanValue Ref",
        "executor": "PlanProgram",
        "rows": "RowProgram",
        "graph": "Graph constant placeholder",
        "session": "Session",
        "loops": "while_loop",
        "derive": "gradients",
    },
)
__all__ = list(HOMES)

__getattr__, __dir__ = attach(__name__, HOMES)
