"""Find tensors in optimisers that get no gradient or only zeros, and gradients that were used as constants."""

from __future__ import annotations

from gradtrace.analysis import places
from gradtrace.analysis.answer import Answer, Facts, is_zero
from gradtrace.analysis.causes.cause import Cause, at_line, code_at, named, plain, stores
from gradtrace.analysis.flow import reachable_functions
from gradtrace.analysis.why import explain
from gradtrace.annotations import Any
from gradtrace.lang import syntax as ast
from gradtrace.lazy_names import words
from gradtrace.trace.record import PassRecord, Span, TensorRecord

# What explains a gradient that is None as a mistake, most serious first.
CUTS = (
    *words("copied detach detach_ .data no_grad inference_mode set_grad_enabled item tolist numpy"),
    *("comparison", "integer", "index", "late", "gave None", "rebound", "hidden leaf", "no derivative"),
)


def held(facts: Facts) -> list[TensorRecord]:
    """Return the tensors that optimisers with at least one step hold, each once."""
    ids = [facts.flow.tensor(i) for one in facts.trace.optimisers for i in one.tensors]
    return [facts.trace.tensors[i] for i in dict.fromkeys(ids)]


def without_gradient(facts: Facts) -> Cause | None:
    """Find tensors that an optimiser holds and that never get a gradient, since they are cut off from the loss."""
    if facts.trace.failure is not None or not facts.storing:
        return None
    visits = facts.stored
    lacking = [t for t in held(facts) if t.id not in visits]
    if lacking and len(lacking) == len(held(facts)) and not any(t.requires_grad for t in lacking):
        return None
    for record in lacking:
        own = explain(facts, record)
        if own.cause in CUTS:
            return as_cause(facts, own, lacking)
    return None


def only_zeros(facts: Facts) -> Cause | None:
    """Find tensors that an optimiser holds and whose gradients are all 0."""
    zero = []
    for leaf, visits in facts.stored.items():
        if all(is_zero(v.grad_after) for v in visits):
            zero.append(facts.trace.tensors[leaf])
    known = {t.id for t in held(facts)}
    zero = [t for t in zero if t.id in known]
    if not zero or facts.trace.failure is not None:
        return None
    shown = sorted(
        (t for t in zero if is_zero(t.grad)), key=lambda t: -len(t.value.shape if t.value is not None else ())
    )
    own = explain(facts, shown[0]) if shown else None
    if own is None or (own.cause == "cancelled" and len(zero) < len(known)):
        return None  # a bias whose gradients cancel out is usual where two outputs are compared
    return as_cause(facts, own, zero)


def never_used(facts: Facts) -> Cause | None:
    """Find a layer whose parameters an optimiser holds, and that no operation of the run reads."""
    if facts.trace.failure is not None or not facts.storing:
        return None
    lacking = [t for t in held(facts) if t.requires_grad and t.id not in facts.stored and not facts.used(t.id)]
    for record in lacking:
        layer = record.label.rpartition(".")[0]
        own = [t for t in held(facts) if t.label.startswith(f"{layer}.")]
        if not layer or any(t not in lacking for t in own):
            continue
        made = layer_made(facts, layer)
        head = None if made is None else places.head_of(made)
        what = f"self.{layer.rpartition('.')[2]}" if made is not None else layer
        cause = as_cause(facts, explain(facts, record), own)
        evidence = [] if head is None else [facts.at("the layer is made here", head)]
        return cause._replace(
            code="unused layer",
            because=f"{what}{at_line(head)} is never used: no operation reads its parameters",
            span=head or cause.span,
            evidence=(*evidence, *cause.evidence),
            fix=(f"call {what} in forward", f"or leave it out, or freeze it: {layer}.requires_grad_(False)"),
        )
    return None


def layer_made(facts: Facts, layer: str) -> Any:
    """Return the statement `self.head = ...` that made the layer "model.head" or "model.heads.0", if there is only
    one.
    """
    for part in reversed(layer.split(".")[1:]):
        found = [
            s
            for s in facts.text.simple
            if isinstance(s, ast.Assign) and any(facts.text.cut(t) == f"self.{part}" for t in s.targets)
        ]
        if len(found) == 1:
            return found[0]
    return None


def as_cause(facts: Facts, own: Answer, records: list[TensorRecord]) -> Cause:
    """Return a tensor's answer as a cause of the run."""
    what, _, because = own.sentence.partition(": ")
    names = [named(facts, t.id) for t in records]
    if len(names) > 1:
        what += f", and {len(names) - 1} more like it"
    span: Span | None = next((e.span for e in own.evidence if e.span is not None), None)
    return Cause(
        own.cause,
        what,
        because.removesuffix("."),
        span,
        own.evidence,
        own.advice,
        frozenset(t.id for t in records),
        own.status,
    )


# ---- gradients as constants


def constant_gradient(facts: Facts) -> Cause | None:
    """Find a result of autograd.grad without create_graph that is used in a loss that is differentiated."""
    if all(one.stores or one.create_graph for one in facts.trace.passes):
        return None
    ends = {i for one in facts.trace.passes for i in one.roots}
    given = [t for t in facts.trace.tensors if t.operation is None and not t.requires_grad]
    for one in facts.trace.passes:
        if one.stores or one.create_graph or one.error:
            continue
        for name, record in gradients_of(facts, one, given):
            root = reached(facts, record, ends)
            if root is not None:
                return constant_cause(facts, one, name, record, root)
    return None


def gradients_of(facts: Facts, one: PassRecord, given: list[TensorRecord]) -> list[tuple[str, TensorRecord]]:
    """Return the tensors that a call of autograd.grad returned, by the names that its statement binds."""
    statement = facts.text.statement(one.span)
    names = set() if statement is None else stores(statement)
    found = []
    for record in given if names else ():
        base = plain(record.label).partition("[")[0]
        if base in names and any(reader >= one.after for reader in facts.flow.readers.get(record.id, ())):
            found.append((base, record))
    return found


def reached(facts: Facts, record: TensorRecord, ends: set[int]) -> int | None:
    """Return the first root that a tensor's data flows into on a path along which gradients flow back."""
    waiting, seen = [record.id], {record.id}
    while waiting:
        for reader in facts.flow.readers.get(waiting.pop(), ()):
            for out in facts.trace.operations[reader].outputs:
                t = facts.trace.tensors[out]
                if out in seen or (t.is_leaf and t.requires_grad):
                    continue
                if out in ends and t.requires_grad:
                    return out
                if cut_there(facts, reader):
                    continue
                seen.add(out)
                waiting.append(out)
    return None


def cut_there(facts: Facts, operation: int) -> bool:
    """Whether the program cuts gradients on purpose at an operation: by detach() or under no_grad."""
    record = facts.trace.operations[operation]
    return record.name == "detach" or not record.grad_enabled


def constant_cause(facts: Facts, one: PassRecord, name: str, record: TensorRecord, root: int) -> Cause:
    call = code_at(facts, one.span)
    fix = f"{call.removesuffix(')')}, create_graph=True)" if call.endswith(")") else "pass create_graph=True"
    behind = reachable_functions(facts.trace, one.roots)
    leaves = frozenset(facts.flow.tensor(t.id) for t in facts.trace.tensors if t.is_leaf and t.function in behind)
    reader = min(facts.flow.readers[record.id])
    end = named(facts, root)
    return Cause(
        "no create_graph",
        f"{end} has no derivative through {name}",
        f"autograd.grad{at_line(one.span)} was called without create_graph=True, so {name} is a constant in {end}",
        one.span,
        (
            facts.at(f"{name} is a gradient, numbers without history", one.span),
            facts.at(f"{end} is computed with it from here on", facts.trace.operations[reader].span),
        ),
        (fix,),
        leaves,
    )
