"""Find tensors in optimisers that get no gradient or only zeros, and gradients that were used as
constants.
"""

from __future__ import annotations

from gradtrace.analysis import places
from gradtrace.analysis.cause import Cause
from gradtrace.analysis.facts import Facts, is_zero, loss_of
from gradtrace.analysis.history import without_recomputing
from gradtrace.analysis.symmetries import cancellation
from gradtrace.analysis.terms import code_at, named, plain, scopes_of, stores
from gradtrace.analysis.why import explain
from gradtrace.analysis.zeros import is_trained, zero_factor
from gradtrace.annotations import Any
from gradtrace.lazy_names import words
from gradtrace.program import syntax as ast
from gradtrace.trace.functions import reachable_functions
from gradtrace.trace.record import PassRecord, TensorRecord

# What explains a gradient that is None as a mistake, most serious first.
CUTS = (
    *words("copied detach detach_ .data no_grad inference_mode set_grad_enabled item tolist numpy"),
    *(
        "comparison",
        "integer",
        "index",
        "late",
        "gave None",
        "rebound",
        "hidden leaf",
        "no derivative",
        "no create_graph",
    ),
)


def without_gradient(facts: Facts) -> Cause | None:
    """Find tensors that an optimiser holds and that never get a gradient, since they are cut off
    from the loss.
    """
    lacking = without_stored(facts)
    if len(lacking) == len(facts.optimised) and not any(t.requires_grad for t in lacking):
        return None
    for record in lacking:
        cause = explain(facts, record)
        if cause.code in CUTS:
            return of_several(cause, lacking)
    return None


def without_stored(facts: Facts) -> list[TensorRecord]:
    """Return the tensors of optimisers in which no pass has stored a gradient, in a run that did
    not fail.
    """
    if facts.trace.failure is not None or not facts.storing:
        return []
    return [facts.tensors[i] for i in facts.optimised if i not in facts.stored]


def only_zeros(facts: Facts) -> Cause | None:
    """Find tensors that an optimiser holds and whose gradients are all 0, also only from some step
    on if it is so for all of them.
    """
    held = {leaf: visits for leaf, visits in facts.stored.items() if leaf in facts.optimised}
    is_stuck = all(
        is_zero(v.grad_after) for visits in held.values() for v in visits[-2:]
    ) and not ends_at_zero(facts)
    zero = [
        facts.tensors[leaf]
        for leaf, visits in held.items()
        if is_stuck or all(is_zero(v.grad_after) for v in visits)
    ]
    zero = [t for t in zero if cancellation(facts, t) is None and not is_zero_at_first(facts, t)]
    shown = min((t for t in zero if is_zero(t.grad)), key=lambda t: -len(t.shape), default=None)
    if shown is None or facts.trace.failure is not None:
        return None
    cause = explain(facts, shown)
    if cause.code == "cancelled" and len(zero) < len(facts.optimised):
        return None  # a bias whose gradients cancel out is usual where two outputs are compared
    return of_several(cause, zero)


def is_zero_at_first(facts: Facts, record: TensorRecord) -> bool:
    """Whether a gradient is 0 by design, as in LoRA: the first update of the factor that starts at
    0 ends it.
    """
    factor = zero_factor(facts, record)
    return factor is not None and is_trained(facts, factor)


def ends_at_zero(facts: Facts) -> bool:
    """Whether the last step has no loss, or one of 0, which is the end of a margin's training."""
    return not facts.trace.training or not loss_of(facts.trace, facts.trace.training[-1])


def never_used(facts: Facts) -> Cause | None:
    """Find a layer whose parameters an optimiser holds, and that no operation which leads to a loss
    reads.
    """
    lacking = [t for t in without_stored(facts) if t.requires_grad and not is_called(facts, t)]
    hidden = without_recomputing(facts, facts.roots, "") if lacking else None
    if hidden is not None:
        text = (
            f"{len(lacking)} parameters have no gradient"
            if len(lacking) > 1
            else f"{lacking[0].label}.grad is None"
        )
        reads = f"reads {'them' if len(lacking) > 1 else 'it'}"
        because = (
            f"no recorded operation that leads to {facts.root_names()} {reads}, and "
            f"{hidden.because}"
        )
        return hidden._replace(
            symptom=text, because=because, tensors=frozenset(t.id for t in lacking)
        )
    for record in lacking:
        layer = record.label.rpartition(".")[0]
        own = [t for i in facts.optimised if (t := facts.tensors[i]).label.startswith(f"{layer}.")]
        if (
            not layer
            or any(t not in lacking for t in own)
            or is_one_of_several(facts, layer, lacking)
        ):
            continue
        assignment = layer_made(facts, layer)
        head = None if assignment is None else places.head_of(assignment)
        last = layer.rpartition(".")[2]
        text = (
            f"self.{last}"
            if assignment is not None and f"self.{last}" in facts.text.cut(assignment)
            else layer
        )
        cause = of_several(explain(facts, record), own)
        evidence = [] if head is None else [facts.at("the layer is made here", head)]
        unused = "is never used: no operation reads its parameters"
        if any(facts.readers(t.id) for t in own):
            roots = facts.root_names()
            unused = (
                f"is not used for {roots}: no operation that leads to {roots} reads its parameters"
            )
        use = f"call {text} in forward"
        if assignment is None:
            use = (
                f"look for what leaves {text} out of its module's forward: an adapter that is "
                "switched off, an option"
            )
        return cause._replace(
            code="unused layer",
            because=f"{text}{facts.at_line(head)} {unused}",
            evidence=[*evidence, *cause.evidence],
            advice=(use, f"or leave it out, or freeze it: {layer}.requires_grad_(False)"),
        )
    return None


def is_called(facts: Facts, record: TensorRecord) -> bool:
    """Whether a module reads a parameter, or a loss depends on it; a norm that is printed is
    neither.
    """
    readers = facts.readers(record.id)
    if any(scope.kind == "module" for reader in readers for scope in scopes_of(facts, reader)):
        return True
    reached = facts.flow.after([record.id]) if readers else set()
    return not reached.isdisjoint(root for pass_ in facts.storing for root in pass_.roots)


def is_one_of_several(facts: Facts, layer: str, lacking: list[TensorRecord]) -> bool:
    """Whether others of the same list are used: an expert to which a router sends nothing is not an
    error.
    """
    parent, _, last = layer.rpartition(".")
    others = (facts.tensors[i] for i in facts.optimised)
    return last.isdigit() and any(
        t.label.startswith(f"{parent}.") and t not in lacking for t in others
    )


def layer_made(facts: Facts, layer: str) -> Any:
    """Return the statement `self.head = ...` that made the layer "model.head" or "model.heads.0",
    if there is only one.
    """
    assignments = [s for s in facts.text.simple if isinstance(s, ast.Assign)]
    for part in reversed(layer.split(".")[1:]):
        candidates = [
            s for s in assignments if any(facts.text.cut(t) == f"self.{part}" for t in s.targets)
        ]
        if len(candidates) == 1:
            return candidates[0]
    return None


def of_several(cause: Cause, records: list[TensorRecord]) -> Cause:
    """Return the explanation of one tensor as a cause of the run, for all tensors that it applies
    to.
    """
    more = f", and {len(records) - 1} more like it" if len(records) > 1 else ""
    return cause._replace(
        symptom=cause.symptom + more, name="", value=None, tensors=frozenset(t.id for t in records)
    )


# ---- gradients as constants


def constant_gradient(facts: Facts) -> Cause | None:
    """Find a result of autograd.grad without create_graph that is used in a loss that is
    differentiated.
    """
    for pass_ in facts.passes:
        if pass_.stores or pass_.create_graph or pass_.error:
            continue
        for name, record in gradients_of(facts, pass_):
            root = reached(facts, record)
            if root is not None:
                return constant_cause(facts, pass_, name, record, root)
    return None


def gradients_of(facts: Facts, pass_: PassRecord) -> list[tuple[str, TensorRecord]]:
    """Return the tensors that a call of autograd.grad returned, by the names that its statement
    binds.
    """
    statement = facts.text.statement(pass_.span)
    names = set() if statement is None else stores(statement)
    call = next(
        (o for o in facts.calls_of(("grad",)) if o.id >= pass_.after and o.span == pass_.span), None
    )
    results = () if call is None else call.outputs
    together = ", ".join(sorted(names))
    gradients = []
    for t in facts.tensors if names else ():
        base = plain(t.label).partition("[")[0]
        name = together if t.id in results and base not in names else base
        is_gradient = t.id in results or (t.operation is None and base in names)
        if (
            is_gradient
            and not t.requires_grad
            and any(o.id >= pass_.after for o in facts.readers(t.id))
        ):
            gradients.append((name, t))
    return gradients


def reached(facts: Facts, record: TensorRecord) -> int | None:
    """Return the first root that a tensor's data flows into on a path along which gradients flow
    back.
    """
    waiting = [record.id]
    seen = {record.id}
    while waiting:
        for reader in facts.readers(waiting.pop()):
            for out in reader.outputs:
                t = facts.tensors[out]
                if out in seen or (t.is_leaf and t.requires_grad):
                    continue
                if out in facts.begins and t.requires_grad:
                    return out
                if reader.name == "detach" or not reader.grad_enabled:
                    continue  # the program cuts gradients there on purpose
                seen.add(out)
                waiting.append(out)
    return None


def constant_cause(
    facts: Facts, pass_: PassRecord, name: str, record: TensorRecord, root: int
) -> Cause:
    call = code_at(facts, pass_.span)
    fix = (
        f"{call.removesuffix(')')}, create_graph=True)"
        if call.endswith(")")
        else "pass create_graph=True"
    )
    behind = reachable_functions(facts.trace, pass_.roots)
    end = named(facts, root)
    return Cause(
        "no create_graph",
        f"autograd.grad{facts.at_line(pass_.span)} was called without create_graph=True, so {name} "
        f"is a constant in {end}",
        (
            facts.at(f"{name} is a gradient, numbers without history", pass_.span),
            facts.at(f"{end} is computed with it from here on", facts.readers(record.id)[0].span),
        ),
        (fix,),
        symptom=f"{end} has no derivative through {name}",
        tensors=frozenset(
            facts.flow.tensor(t.id) for t in facts.tensors if t.is_leaf and t.function in behind
        ),
    )
