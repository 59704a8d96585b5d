"""Explain a tensor's gradient: None, zero, NaN, or a number.

    answer = why(trace, trace.tensor("w").id)

The run must have been watched and captured with `everything`. The possible causes are tried in order, and the first one
that applies is the answer.
"""

from __future__ import annotations

from gradtrace.analysis import copies, history, numbers, zeros
from gradtrace.analysis.answer import Answer, Evidence, Facts, is_finite, is_zero
from gradtrace.analysis.flow import Cut, reachable_functions
from gradtrace.analysis.words import brief
from gradtrace.trace.record import TensorRecord, Trace


def why(trace: Trace, tensor: int) -> Answer:
    """Return the status of one tensor's gradient, with its evidence."""
    return explain(Facts(trace), trace.tensors[tensor])


def explain(facts: Facts, record: TensorRecord) -> Answer:
    if record.grad is not None:
        if not is_finite(record.grad):
            return numbers.not_finite(facts, record)
        return zeros.zero(facts, record) if is_zero(record.grad) else numbers.filled(facts, record)
    for cause in (cleared, overwritten, without_grad, never_called, not_retained, left_out, stopped, unreached):
        found = cause(facts, record)
        if found is not None:
            return found
    return answer(record, "unknown", "backward has not come to it", [facts.origin(record)])


def answer(record: TensorRecord, cause: str, because: str, evidence: list[Evidence], *advice: str) -> Answer:
    """Return the answer about a gradient that is None."""
    return Answer(record.label, "none", cause, f"{record.label}.grad is None: {because}.", tuple(evidence), advice)


# ---- causes


def cleared(facts: Facts, record: TensorRecord) -> Answer | None:
    """Explain a gradient that was set to None after backward had stored it."""
    last = next((c for c in reversed(facts.trace.changes) if c.of_grad and record.id in facts.held(c)), None)
    if last is None or last.how != "cleared":
        return None
    before, after = facts.trace.steps[: last.after_steps], facts.trace.steps[last.after_steps :]
    stored = [s for s in before if s.function == record.function and s.grad_after is not None]
    if not stored or any(s.function == record.function for s in after):
        return None
    evidence = [
        facts.origin(record),
        *[facts.backward(one) for one in facts.storing[-1:]],
        facts.at("the gradient is set to None", last.span),
    ]
    return answer(
        record,
        "cleared",
        f"it was set to None{facts.line(last.span)}, after backward had filled it",
        evidence,
        "read .grad before zero_grad() (or before it is set to None)",
        "zero_grad(set_to_none=False) leaves zeros instead",
    )


def overwritten(facts: Facts, record: TensorRecord) -> Answer | None:
    """Explain a version of a tensor that was overwritten."""
    if record.grad_note != "overwritten in place":
        return None
    return answer(
        record,
        "overwritten",
        "an in-place operation has made a later version of this tensor",
        [facts.origin(record)],
        "ask for the tensor by its name",
    )


def without_grad(facts: Facts, record: TensorRecord) -> Answer | None:
    """Explain a tensor that does not require grad."""
    if record.requires_grad:
        return None
    found = history.no_history(facts, record)
    return answer(record, found.cause, found.because, found.evidence, *found.advice)


def never_called(facts: Facts, record: TensorRecord) -> Answer | None:
    """Explain a run in which no pass stored gradients."""
    if facts.storing:
        return None
    evidence = [facts.origin(record)]
    failure = facts.trace.failure
    if facts.trace.passes:
        evidence += [facts.backward(one) for one in facts.trace.passes[-1:]]
        return answer(
            record,
            "autograd.grad",
            "autograd.grad returns gradients, it stores none in .grad",
            evidence,
            "take the gradient from what autograd.grad returns",
            "or call backward() instead",
        )
    if failure is not None:
        evidence.append(facts.at(f"the program ends here by {failure.kind}: {failure.message}", failure.span))
        ran = ".backward(" in facts.text.line(failure.span)
        when = "backward failed before it stored a gradient" if ran else "the program failed before backward was called"
        return answer(record, "never called", when, evidence, "fix the error first")
    return answer(record, "never called", "backward was not called", evidence, f"call {facts.root_names()}.backward()")


def not_retained(facts: Facts, record: TensorRecord) -> Answer | None:
    """Explain a tensor that backward reached without keeping its gradient, since it is not a leaf."""
    visits = facts.visits_of(record)
    if record.is_leaf or record.retains_grad or not visits:
        return None
    evidence = [facts.origin(record), facts.backward(facts.storing[-1])]
    passing = next((v for v in visits[-1].upstream if v is not None), None)
    if passing is not None:
        evidence.append(Evidence(f"the gradient that passed through it was {brief(passing)}"))
    hidden = history.hidden_leaf(facts, record)
    if hidden is not None:
        return answer(record, hidden.cause, hidden.because, [*hidden.evidence, *evidence[1:]], *hidden.advice)
    return answer(
        record,
        "non-leaf",
        "it is a non-leaf, and backward keeps gradients only for leaf tensors",
        evidence,
        f"call {record.name or 'its'}.retain_grad() before backward (--retain-grad {record.name or 'NAME'})",
        "or read it in a hook (register_hook)",
    )


def left_out(facts: Facts, record: TensorRecord) -> Answer | None:
    """Explain a tensor that was not among the chosen inputs of any pass."""
    for_others = [one for one in facts.storing if one.inputs is not None and record.id not in one.inputs]
    if len(for_others) != len(facts.storing) or record.function is None:
        return None
    if not any(record.function in reachable_functions(facts.trace, one.roots) for one in for_others):
        return None
    only = ", ".join(facts.label(i) for i in for_others[-1].inputs or ())
    return answer(
        record,
        "inputs=",
        f"backward(inputs=) accumulated into {only} alone",
        [facts.origin(record), facts.backward(for_others[-1])],
        f"add {record.label} to inputs=, or leave inputs= out",
    )


def stopped(facts: Facts, record: TensorRecord) -> Answer | None:
    """Explain a gradient that did not reach a tensor on its path: a pass failed, or a Function returned None."""
    paths = [one for one in facts.storing if record.function in reachable_functions(facts.trace, one.roots)]
    if not paths or record.function is None:
        return None
    last = paths[-1]
    if last.error:
        return answer(
            record,
            "failed",
            f"backward failed before it came to {record.label}",
            [facts.origin(record), facts.at(last.error, last.span)],
            "fix the error first",
        )
    silent = history.gave_none(facts, record, last.number)
    evidence = [facts.origin(record), *([silent[1]] if silent else []), facts.backward(last)]
    if silent is not None:
        return answer(
            record,
            "gave None",
            f"{silent[0]} returned None for the way that leads to it",
            evidence,
            f"return a gradient from {silent[0]}'s backward for that input",
        )
    return answer(record, "no gradient", "no gradient came along the paths that lead to it", evidence)


def avoidable(facts: Facts, cuts: list[Cut]) -> Cut:
    """Return the first cut that a program could avoid; an argmax or a comparison has no derivative in any case."""
    for cut in cuts if len(cuts) > 1 else ():
        if history.describe(facts, cut).cause not in ("integer", "comparison", "no derivative"):
            return cut
    return cuts[0]


def unreached(facts: Facts, record: TensorRecord) -> Answer | None:
    """Explain a tensor that is on no path to a root: it is cut off, or not used at all."""
    made, run = facts.origin(record), facts.backward(facts.storing[-1])
    roots = facts.root_names()
    into = facts.flow.before(facts.roots)
    cuts = [cut for cut in facts.flow.cuts_after(record.id) if cut.result in into]
    if cuts:
        found = history.describe(facts, avoidable(facts, cuts))
        return answer(
            record,
            found.cause,
            f"{roots} depends on it only through {found.because}",
            [made, *found.evidence, run],
            *found.advice,
        )
    reached = facts.flow.after([record.id])
    if not reached & into:
        gone = copies.rewrapped(facts, reached) or copies.left_as_number(facts, reached)
        if gone is not None:
            return answer(record, gone.cause, gone.because, [made, *gone.evidence, run], *gone.advice)
    replaced = history.rebound(facts, record)
    if replaced is not None:
        return answer(record, replaced.cause, replaced.because, [*replaced.evidence, run], *replaced.advice)
    uses = facts.used(record.id)
    if not uses:
        return answer(
            record,
            "unused",
            f"nothing was computed from it, so {roots} does not depend on it",
            [made, run],
            f"use {record.label} in the computation of {roots}",
        )
    ends = [cut for cut in facts.flow.cuts_after(record.id) if cut.operation is not None]
    if ends:
        found = history.describe(facts, ends[0])
    if ends and found.cause in ("integer", "comparison"):
        because = f"what is computed from it ends at {found.because}, and {roots} does not depend on it otherwise"
        return answer(record, found.cause, because, [made, *found.evidence, run], *found.advice)
    return answer(
        record,
        "not on a path",
        f"what was computed from it is not part of {roots}",
        [made, *uses[:3], run],
        f"let {roots} depend on {facts.label(max(reached))}, or call backward from there",
    )
