"""The statements at the place where a program failed, and the tensors that they name."""

from __future__ import annotations

from gradtrace.analysis.facts import Facts
from gradtrace.analysis.terms import named, scopes_of
from gradtrace.annotations import Any
from gradtrace.program import syntax as ast
from gradtrace.trace.record import Failure, Span, TensorRecord


def statements(facts: Facts, failure: Failure) -> list[Any]:
    """Return the statement that failed, then the statements whose calls it ran in."""
    spans: list[Span | None] = [failure.span]
    for operation in facts.operations[-1:]:
        spans += [s.span for s in scopes_of(facts, operation) if s.kind in ("module", "function")]
    around = dict.fromkeys(map(facts.text.statement, spans))
    return [s for s in around if s is not None and not hasattr(s, "body")]


def tensors_at(facts: Facts, failure: Failure) -> list[TensorRecord]:
    """Return the tensors at the place of the failure: variables, and results of expressions."""
    tensors: dict[int, TensorRecord] = {}
    for statement in statements(facts, failure):
        texts = {facts.text.cut(n) for n in ast.walk(statement) if isinstance(n, ast.expr)}
        for record in reversed(facts.tensors):
            if named(facts, record.id) in texts or record.name in texts:
                tensors.setdefault(record.first, record)
    return list(tensors.values())
