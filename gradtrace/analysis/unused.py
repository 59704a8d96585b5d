"""Parameters without a gradient in a model that several processes train: which, and the line that
would use them.
"""

from __future__ import annotations

from gradtrace.analysis import places
from gradtrace.analysis.cause import Cause, Evidence
from gradtrace.analysis.facts import Facts
from gradtrace.analysis.words import folded
from gradtrace.annotations import Iterator, Sequence
from gradtrace.program import syntax as ast
from gradtrace.trace.record import Failure, TensorRecord

ENDED = "Expected to have finished reduction in the prior iteration"  # how DDP's error begins
STATIC = "static_graph"


def parameters_of(facts: Facts) -> list[TensorRecord]:
    """Return the parameters that require grad, by their last versions."""
    return [t for t in facts.trace.named if t.is_parameter and t.requires_grad]


def unused_in_last_pass(facts: Facts) -> list[TensorRecord]:
    """Return the parameters to which the last pass that ended brought no gradient."""
    ended = [pass_.number for pass_ in facts.storing if not pass_.error]
    if not ended:
        return []
    return [t for t in parameters_of(facts) if ended[-1] not in passes_with(facts, t)]


def passes_with(facts: Facts, t: TensorRecord) -> set[int]:
    """Return the numbers of the passes that stored a gradient in a leaf."""
    return {step.number for step in facts.stored.get(facts.flow.tensor(t.id), ())}


def unused_under_ddp(facts: Facts, failure: Failure) -> Cause | None:
    """Explain DDP's error that a reduction was not finished."""
    lacking = unused_in_last_pass(facts)
    return unused_cause(facts, lacking, failure) if lacking else None


def unused_cause(
    facts: Facts, lacking: list[TensorRecord], failure: Failure, where: str = "in the last pass"
) -> Cause:
    """Return which parameters lack a gradient, since when, and the lines that would use them."""
    labels = [t.label for t in lacking]
    earlier = sorted(set().union(*(passes_with(facts, t) for t in lacking)))
    before = f", but in pass {earlier[-1] + 1} it did" if earlier else ""
    because = f"its forward did not use {them(labels)}{before}, and DDP waits for every gradient"
    advice = remedies(labels)
    if STATIC in failure.message:
        advice = (*advice, "leave static_graph=True out: the graph is not the same in each pass")
    sentence = f"{folded(labels, 'parameters')} got no gradient {where}"
    explained = frozenset(t.id for t in lacking)
    return Cause(
        "unused under DDP",
        because,
        tuple(would_use(facts, labels[0])),
        advice,
        sentence,
        tensors=explained,
    )


def them(labels: Sequence[str]) -> str:
    return "them" if len(labels) > 1 else "it"


def remedies(labels: Sequence[str]) -> tuple[str, ...]:
    return (
        f"use {them(labels)} in forward on every rank, or freeze {them(labels)} with "
        "requires_grad_(False)",
        "DistributedDataParallel(..., find_unused_parameters=True), which looks for unused ones in "
        "each pass",
    )


def would_use(facts: Facts, label: str) -> Iterator[Evidence]:
    """Yield the lines that call the module of a parameter, which did not run in the last pass."""
    module = label.rpartition(".")[0].rpartition(".")[2]
    for node in ast.walk(facts.text.tree):
        if isinstance(node, ast.Call) and facts.text.cut(node.func) == f"self.{module}":
            yield facts.at(f"{module} would be used here", places.span_of(node))
