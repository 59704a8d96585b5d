"""Find a method that is named and not called: `loss.backward` without parentheses."""

from __future__ import annotations

from gradtrace.analysis import history, places
from gradtrace.analysis.cause import Cause
from gradtrace.analysis.facts import Facts
from gradtrace.analysis.rewrites import with_statement

METHODS = ("backward", "step", "zero_grad")


def not_called(facts: Facts) -> Cause | None:
    """Explain a statement that names backward, step or zero_grad without its parentheses."""
    statement = places.uncalled(facts.text, METHODS)
    if statement is None:
        return None
    text, head = facts.text.cut(statement), places.head_of(statement)
    because = f"line {head.line} names {text} without parentheses, so it is not called"
    evidence = [facts.at("this only looks the method up", head)]
    advice: tuple[str, ...] = (with_statement(facts, statement, f"{text}()", f"{text}(){facts.at_line(head)}"),)
    root = facts.variable(text.removesuffix(".backward"))
    if root is not None and not root.requires_grad:
        cause = history.no_history(facts, root)
        because += f"; and {root.label} does not require grad: {cause.because}"
        evidence, advice = [*evidence, *cause.evidence], (*cause.advice, *advice)
    return Cause("not called", because, evidence, advice)
