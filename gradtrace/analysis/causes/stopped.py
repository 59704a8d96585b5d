"""Find a step of an optimiser that is so large that most gradients are 0 afterwards."""

from __future__ import annotations

from itertools import pairwise

from gradtrace.analysis.cause import Cause, Evidence
from gradtrace.analysis.causes.cuts import of_several
from gradtrace.analysis.causes.loops import layers_of, smaller, updated
from gradtrace.analysis.causes.rates import rate_at
from gradtrace.analysis.facts import Facts, is_zero, loss_of
from gradtrace.analysis.terms import named
from gradtrace.analysis.why import explain

LARGER = 10  # by how much a step makes a layer larger
LEAST = 2  # steps after it with gradients of 0
FLAT = ("dead relu", "saturated")  # the reasons of a gradient of 0 that large numbers have


def stopped(facts: Facts) -> Cause | None:
    """Find the step after which most gradients of an optimiser are 0, if a step has made one of their layers larger."""
    training, optimiser = facts.trace.training, updated(facts)
    if optimiser is None or optimiser.steps != len(training) or facts.trace.failure is not None or has_fallen(facts):
        return None
    ends = last_steps(facts, set(map(facts.flow.tensor, optimiser.tensors)))
    end = sorted(ends.values())[len(ends) // 2] if ends else 0
    dead = sorted((facts.tensors[leaf] for leaf, last in ends.items() if last == end), key=lambda t: -len(t.shape))
    if not 0 < end <= training[-1].number - LEAST or 2 * len(dead) <= len(ends):
        return None
    names = {named(facts, t.id).rpartition(".")[0] or named(facts, t.id) for t in dead}
    sizes = {name: norms for name, norms in layers_of(facts, optimiser).items() if name in names}
    growths = [
        (after / before, name, step)
        for name, norms in sizes.items()
        for step, (before, after) in enumerate(pairwise(norms[: end + 1]), 1)
        if before > 0
    ]
    growth, layer, step = max(growths, default=(0.0, "", 0))
    rate, cause = rate_at(optimiser, step), explain(facts, dead[0])
    if not growth >= LARGER or rate is None or cause.code not in FLAT:
        return None
    before, after = sizes[layer][step - 1 : step + 1]
    evidence = [
        facts.at(f"the steps are made with lr={rate:g}", optimiser.span),
        Evidence(f"the norm of {layer} is {before:.3g} before step {step}, {after:.3g} after it"),
    ]
    return of_several(facts, cause, dead)._replace(
        code="stopped",
        because=f"{cause.because}; it is 0 since step {end}, and step {step} with "
        f"lr={rate:g}{facts.at_line(optimiser.span)} made {layer} {growth:.2g} times as large",
        evidence=[*evidence, *cause.evidence],
        advice=(f"{smaller(rate, growth)}{facts.at_line(optimiser.span)}", *cause.advice),
    )


def has_fallen(facts: Facts) -> bool:
    """Whether the last loss is below the first one: gradients of 0 may be the end of a margin's training."""
    first, last = (loss_of(facts.trace, facts.trace.training[end]) for end in (0, -1))
    return first is None or last is None or last < first


def last_steps(facts: Facts, leaves: set[int]) -> dict[int, int]:
    """Return the last step in which each leaf's gradient was not 0, of leaves that got one in every step."""
    steps = {number: step.number for step in facts.trace.training for number in range(*step.passes)}
    by_leaf = {}
    for leaf in leaves:
        visits = [(steps.get(visit.number, 0), visit) for visit in facts.stored.get(leaf, ())]
        if {number for number, _ in visits} == set(steps.values()):
            by_leaf[leaf] = max((number for number, visit in visits if not is_zero(visit.grad_after)), default=0)
    return by_leaf
