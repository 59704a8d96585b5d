"""The questions in the order of seriousness: what `why` asks a run, with a name and without one."""

from __future__ import annotations

from gradtrace.analysis.answer import Answer, Facts, is_finite
from gradtrace.analysis.causes import order
from gradtrace.analysis.causes.cause import Cause, Question
from gradtrace.analysis.why import explain
from gradtrace.analysis.words import brief
from gradtrace.trace.record import TensorRecord

QUESTIONS = (
    Question(
        order.not_finite,
        (
            ("nan in data", "a tensor was given, or written, with NaN"),
            ("0 / 0", "a division of 0 by 0"),
            ("0 * inf", "0 times an infinity that was given"),
            ("empty softmax", "a softmax over a row of -inf alone"),
            ("spread of one", "the standard deviation or variance of one element"),
            ("mean of nothing", "a mean over no element"),
            ("out of domain", "an argument that the operator has no value for"),
            ("not finite", "a value or a derivative that is infinite, or NaN for another reason"),
        ),
    ),
)


def found(facts: Facts) -> list[Cause]:
    """The causes in a run, most serious first, each code once."""
    causes: dict[str, Cause] = {}
    for question in QUESTIONS:
        cause = question.ask(facts)
        if cause is not None:
            causes.setdefault(cause.code, cause)
    return list(causes.values())


def about(facts: Facts, record: TensorRecord, causes: list[Cause]) -> Answer:
    """Why a tensor's gradient is what it is: a cause in the run that is about it, else what is found from it alone."""
    name, grad = record.label, record.grad
    if grad is None:
        return explain(facts, record)
    if not is_finite(grad):
        bad = next((c for c in causes if c.status == "nan"), None)
        if bad is not None and (grad.has_nan or " is nan" not in bad.what):
            return bad.answer(name, f"{name}.grad is {brief(grad)}", "nan", grad)
        return explain(facts, record)
    own = explain(facts, record)
    if own.cause not in PLAIN:
        return own
    for cause in causes:
        if cause.tensors is None or facts.flow.tensor(record.id) in cause.tensors:
            what = f"{name}.grad is {brief(grad)}, but {cause.what}" if cause.what else f"{name}.grad is {brief(grad)}"
            return cause.answer(name, what, own.status, grad)
    return own


PLAIN = ("backward", "accumulated")  # an answer that knows of nothing wrong, or only of what it sees of one tensor
