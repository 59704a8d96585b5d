"""Find learning rates that a scheduler makes 0, and schedulers that are stepped before the
optimiser.
"""

from __future__ import annotations

from gradtrace.analysis.cause import Cause
from gradtrace.analysis.facts import Facts
from gradtrace.analysis.terms import assigned_name
from gradtrace.trace.labels import called_by
from gradtrace.trace.record import OptimiserRecord, ScheduleRecord


def schedule_of(facts: Facts, optimiser: OptimiserRecord) -> ScheduleRecord | None:
    """Return the schedule of an optimiser's learning rates; of one that a library has made, its
    name and place are those of the program's own call.
    """
    number = facts.trace.optimisers.index(optimiser)
    schedule = next((s for s in facts.trace.schedules if s.optimiser == number), None)
    leads = facts.trace.leads
    place = next((own for inner, own in leads if schedule and inner == schedule.span), None)
    call = next(iter(facts.text.calls_at(place)), None)
    if schedule is None or call is None:
        return schedule
    return schedule._replace(kind=called_by(facts.text.cut(call)), span=place)


def rate_at(optimiser: OptimiserRecord, step: int) -> float | None:
    """Return the learning rate of an optimiser's step, from 1."""
    return next((rate for first, rate in reversed(optimiser.rates) if first <= step), None)


def zero_rate(facts: Facts) -> Cause | None:
    """Find steps with lr=0, at the start or at the end of a run, of an optimiser that was made with
    another one.
    """
    for optimiser in facts.trace.optimisers:
        ends = [first - 1 for first, _ in optimiser.rates[1:]] + [optimiser.steps]
        for (first, rate), last in zip(optimiser.rates, ends, strict=False):
            # a warm-up starts with one step of 0
            if (
                rate == 0
                and optimiser.lr
                and last > first
                and (first == 1 or last == optimiser.steps)
            ):
                return without_rate(facts, optimiser, first, last)
    return None


def without_rate(facts: Facts, optimiser: OptimiserRecord, first: int, last: int) -> Cause:
    schedule = schedule_of(facts, optimiser)
    total = optimiser.steps
    origin = facts.at(f"the optimiser is made with lr={optimiser.lr:g}", optimiser.span)
    evidence = [origin, facts.at("its steps are taken here", optimiser.step_span)]
    by = f"after it was made with lr={optimiser.lr:g}{facts.at_line(optimiser.span)}"
    if schedule is not None:
        evidence.insert(1, facts.at("this sets the learning rate of each step", schedule.span))
        by = f"which {schedule.kind}{facts.at_line(schedule.span)} sets"
    fix = "a schedule that is above 0 in the first steps: / in place of //, fewer steps of warm-up"
    if schedule is not None and first == 1 and not schedule.steps:
        name = assigned_name(facts, schedule.span) or "schedule"
        by += f" before its first step, and {name}.step() did not run"
        fix = f"{name}.step() after the optimiser's step{facts.at_line(optimiser.step_span)}"
    if first > 1:
        fix = (
            f"give the schedule the number of all steps, {total} or more: it is stepped once for "
            "each, not each epoch"
        )
    return Cause(
        "zero rate",
        f"{'all' if last - first + 1 == total else f'steps {first} to {last} of'} {total} steps of "
        f"the optimiser{facts.at_line(optimiser.span)} are made with lr=0, {by}",
        evidence,
        (
            fix,
            "or print it in the loop: "
            f"{assigned_name(facts, optimiser.span) or 'optimizer'}.param_groups[0]['lr']",
        ),
        symptom="nothing is updated" if first == 1 and last == total else "",
        tensors=facts.held_by(optimiser),
    )
