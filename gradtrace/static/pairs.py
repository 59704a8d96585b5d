"""Fuse steps whose results one kernel computes together: erf(v), and the exp(-(v * v)) of its derivative.

    a = erf(v)                      a, d = erf_and_bell(v)
    b = mul(v, v)
    c = neg(b)
    d = exp(c)

The kernel of erf computes d on its way by the same operations, so both results stay bitwise equal.
"""

from __future__ import annotations

from gradtrace.static.passes import drop
from gradtrace.static.plan import Plan, Ref, Step

ERF_AND_BELL = "erf_and_bell"


def fuse_pairs(plan: Plan) -> Plan:
    """Return the plan with each pair of erf(v) and a later exp(-(v * v)) fused into one step."""
    maker = {number: step for step in plan.steps for number in step.out}
    erfs = {
        step.args[0]: position
        for position, step in enumerate(plan.steps)
        if step.op == "erf" and plan.values[step.out[0]].dtype == "float64"
    }
    steps: list[Step | None] = list(plan.steps)
    for position, step in enumerate(plan.steps):
        place = erfs.get(squared(step, maker), position)
        before = steps[place]
        if place < position and before is not None and before.op == "erf":
            steps[place] = before._replace(op=ERF_AND_BELL, out=(*before.out, *step.out))
            steps[position] = None
    if None not in steps:
        return plan
    return drop(plan._replace(steps=tuple(step for step in steps if step is not None)))[0]


def squared(step: Step, maker: dict[int, Step]) -> Ref | None:
    """Return v if the step is exp(-(v * v))."""
    for name in ("exp", "neg"):
        if step.op != name or type(step.args[0]) is not Ref or step.args[0].number not in maker:
            return None
        step = maker[step.args[0].number]
    same = step.op == "mul" and type(step.args[0]) is Ref and step.args[0] == step.args[1]
    return step.args[0] if same else None
