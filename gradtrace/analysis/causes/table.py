"""The order in which `why` asks the questions about a run or about one name, most serious first."""

from __future__ import annotations

from gradtrace.analysis.cause import Cause
from gradtrace.analysis.causes import (
    carried,
    cuts,
    divergence,
    holders,
    layout,
    loops,
    not_finite,
    objectives,
    partial,
    rates,
    scale,
    silent,
    sums,
)
from gradtrace.analysis.facts import Facts, is_finite
from gradtrace.analysis.laws.table import ANSWERS, LATE, Law
from gradtrace.analysis.ledger.book import ledger_of
from gradtrace.analysis.spelling import spelled
from gradtrace.analysis.terms import own_span
from gradtrace.analysis.why import explain
from gradtrace.analysis.words import brief
from gradtrace.annotations import Callable, NamedTuple
from gradtrace.trace.record import TensorRecord


class Question(NamedTuple):
    """A function that looks for causes in a trace, with the codes of the causes that it can find.

    Each code has a sentence for the documentation. If a cause with one of the codes `unless` was
    found already, the function is not called, since that cause would explain its result.
    """

    ask: Callable[[Facts], Cause | None]
    codes: dict[str, str]
    unless: tuple[str, ...] = ()


def of_law(law: Law) -> Question:
    """Return the question whether a run breaks a law; one that failed was not over."""

    def ask(facts: Facts) -> Cause | None:
        if facts.trace.failure is not None:
            return None
        return next(law.check(ledger_of(facts)), None)

    return Question(ask, law.codes, law.unless)


QUESTIONS = (
    Question(
        loops.not_called, {"not called": "backward, step or zero_grad without its parentheses"}
    ),
    Question(loops.rebound, {"rebound": "a parameter's name is bound to the result of its update"}),
    Question(
        sums.other_loss,
        {"another loss": "a step that also uses the gradients of another optimiser's loss"},
    ),
    Question(
        loops.never_cleared,
        {"accumulated": "gradients are never cleared between steps"},
        unless=("another loss",),
    ),
    *map(of_law, ANSWERS),
    Question(
        sums.scaled_step, {"scaled step": "a step with gradients that still have the loss scale"}
    ),
    Question(
        divergence.diverges,
        {
            "diverges": "the loss grows from step to step",
            "ascent": "an update that adds the gradient",
        },
        unless=("clips nothing", "scaled step"),
    ),
    Question(
        not_finite.not_finite,
        {
            "nan in data": "a tensor was given, or written, with NaN",
            "inf in data": "a tensor was given, or written, with an infinity",
            "0 / 0": "a division of 0 by 0",
            "0 * inf": "0 times an infinity that was given",
            "empty softmax": "a softmax over a row of -inf alone",
            "spread of one": "the standard deviation or variance of one element",
            "mean of nothing": "a mean over no element",
            "gradient overflow": "a gradient beyond what float16 holds, and what made it so large",
            "not finite": (
                "a value or a derivative outside of an operator's domain, or that is infinite"
            ),
        },
        unless=("diverges", "scaled step"),
    ),
    Question(
        holders.not_held,
        {
            "plain container": "layers or parameters in a plain list or dict of a module",
            "stale optimiser": "an optimiser that was made before a tensor was replaced",
            "other tensors": (
                "an optimiser that holds copies, or tensors that the loss does not depend on"
            ),
        },
        unless=("cleared early",),
    ),
    Question(
        loops.no_step,
        {"no step": "an optimiser that never takes a step, or with lr=0"},
        unless=("plain container",),
    ),
    Question(
        rates.zero_rate,
        {"zero rate": "steps with lr=0, which a scheduler sets"},
        unless=("no step",),
    ),
    Question(
        sums.clipped,
        {
            "clipped to 0": "clip_grad_norm_ with a largest norm of 0, or next to 0",
            "clipped while scaled": "clip_grad_norm_ of gradients that still have the loss scale",
        },
    ),
    Question(
        cuts.constant_gradient, {"no create_graph": "a gradient without history, used in a loss"}
    ),
    Question(
        cuts.without_gradient,
        {},
        unless=("cleared early", "other tensors", "stale optimiser", "no step", "copied"),
    ),
    Question(
        silent.constant_sum, {"constant sum": "a softmax that is summed over its own dimension"}
    ),
    Question(
        divergence.stopped,
        {"stopped": "a step so large that gradients are 0 after it"},
        unless=("cleared early", "diverges", "not finite", "gradient overflow", "constant sum"),
    ),
    Question(
        cuts.only_zeros,
        {},
        unless=("cleared early", "not finite", "gradient overflow", "constant sum", "stopped"),
    ),
    Question(
        silent.wrong_backward,
        {"wrong backward": "a Function whose backward is not the derivative of forward"},
    ),
    Question(
        silent.wrong_softmax,
        {
            "softmax twice": "a softmax or sigmoid of what is one already",
            "no logarithm": "a loss of log-probabilities that gets something else",
        },
    ),
    Question(
        silent.over_the_batch,
        {"softmax over the batch": "a softmax over the samples, not the classes"},
    ),
    Question(layout.over_the_rows, {}),
    Question(
        layout.over_the_queries,
        {"softmax over the queries": "an attention's softmax over the queries"},
    ),
    Question(
        layout.exchanged,
        {"view for transpose": "a view that gives the shape of a transposed tensor"},
    ),
    Question(
        objectives.exchanged_kl,
        {"kl exchanged": "kl_div with a constant input and what is trained as its target"},
    ),
    Question(objectives.negative_kl, {"negative kl": "a KL divergence that lost its minus sign"}),
    Question(
        objectives.large_inputs,
        {"large inputs": "data so large that they saturate a sigmoid or tanh"},
    ),
    Question(
        objectives.one_class,
        {"one class in a batch": "batches whose labels are of one class each"},
    ),
    Question(
        partial.partial_cut,
        {"partial cut": "a gradient that lacks a path, cut by item() or detach()"},
    ),
    Question(
        carried.kept_history,
        {"kept history": "an average or a sum that keeps the graph of every step"},
    ),
    Question(
        sums.undivided,
        {"undivided": "gradients of micro-batches that are added up, not averaged"},
    ),
    Question(
        scale.vanishing_or_exploding,
        {
            "vanishes": "a gradient that shrinks on a long way of like factors",
            "explodes": "a gradient that grows on a long way of like factors",
        },
        unless=("diverges", "not finite", "gradient overflow", "nan in data", "constant sum"),
    ),
    *map(of_law, LATE),
    Question(
        cuts.never_used,
        {"unused layer": "a layer that an optimiser holds and that nothing uses"},
        unless=("plain container", "stale optimiser", "other tensors", "no step", "cleared early"),
    ),
)


def causes_in(facts: Facts) -> list[Cause]:
    """Return the causes in a run, most serious first, each code once."""
    causes: dict[str, Cause] = {}
    for question in QUESTIONS:
        cause = None if causes.keys() & set(question.unless) else question.ask(facts)
        if cause is not None:
            causes.setdefault(cause.code, spelled(facts, with_own_line(facts, cause)))
    return list(causes.values())


def with_own_line(facts: Facts, cause: Cause) -> Cause:
    """Return a cause in a library with the line of the program that leads there."""
    spans = [evidence.span for evidence in cause.evidence if evidence.span is not None]
    if not spans or not all(span.file for span in spans):
        return cause
    place = next(
        (own_span(facts, o) for o in reversed(facts.operations) if o.span == spans[-1]), None
    )
    if place is None or place.file:
        return cause
    return cause._replace(evidence=[facts.at("this line leads there", place), *cause.evidence])


def about(facts: Facts, record: TensorRecord, causes: list[Cause]) -> Cause:
    """Explain a tensor's gradient by a cause in the run that applies to it, else by the tensor
    itself.
    """
    name = record.label
    grad = record.grad
    own = spelled(facts, explain(facts, record))
    mine = [c for c in causes if c.tensors is None or facts.flow.tensor(record.id) in c.tensors]
    if grad is None:
        better = (
            next((c for c in mine if c.tensors is not None), None) if own.code in VAGUE else None
        )
        return own if better is None else better.about(record, own.status, "None")
    if not is_finite(grad):
        bad = next((c for c in causes if c.status == "nan"), None)
        if bad is not None and (grad.has_nan or bad.kind != "nan"):
            return bad.about(record, "nan", brief(grad))
        return own
    cause = mine[0] if mine else own
    if own.code == "zeroed" and cause.status == "nan":
        return cause.about(record, "zero", "zeroed")._replace(
            symptom=f"{name}.grad was zeroed, but {cause.symptom}"
        )
    if own.code not in PLAIN or not mine:
        return own
    symptom = f", but {cause.symptom}" if cause.symptom and cause.status != "gradient" else ""
    return cause.about(record, own.status, brief(grad) + symptom)


def is_left(facts: Facts, record: TensorRecord, own: Cause, causes: list[Cause]) -> bool:
    """Whether a tensor needs an answer of its own: a leaf without a gradient that no cause
    explains.
    """
    if own.status == "gradient" or not record.is_leaf or not record.requires_grad:
        return False
    leaf = facts.flow.tensor(record.id)
    return not any(
        c.tensors is None or leaf in c.tensors or (c.code, c.because) == (own.code, own.because)
        for c in causes
    )


# why a gradient is None, but not what for
VAGUE = ("not on a path", "unused", "no gradient", "cleared")
# an answer that knows of nothing wrong, or only of what it sees of one tensor
PLAIN = ("backward", "accumulated")
