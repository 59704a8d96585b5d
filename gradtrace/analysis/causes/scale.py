"""Find gradients that vanish or explode on a long path, with the factor of each layer or step."""

from __future__ import annotations

from itertools import pairwise
from math import isfinite, log10

from gradtrace.analysis.cause import Cause, Evidence
from gradtrace.analysis.facts import Facts, is_zero
from gradtrace.analysis.ledger.book import ledger_of
from gradtrace.analysis.symmetries import cancellation
from gradtrace.analysis.terms import named, operator
from gradtrace.analysis.updates import update_of
from gradtrace.annotations import NamedTuple
from gradtrace.trace.record import BackwardStep, Span, Value

TINY, HUGE = 1e-8, 1e8  # norms of gradients that are asked about
SPAN = 1e6  # by how much a gradient shrinks or grows on the way
OFTEN = 5  # times that an operator stands on the way
USUAL = 1e-4  # by how much of its norm an update that trains a parameter changes it
LIKE = 0.05  # the decimal logarithm of a factor that a reader would not call 1


class Stretch(NamedTuple):
    """The share of one operator in a path: its number of steps, and the product of their factors
    (as a logarithm).
    """

    name: str
    times: int
    log: float  # the decimal logarithm of the factor
    span: Span | None

    @property
    def factor(self) -> float:
        return float(10 ** (self.log / self.times))


def vanishing_or_exploding(facts: Facts) -> Cause | None:
    """Find a gradient that is tiny or huge after a long path of similar factors."""
    worst: tuple[float, int, BackwardStep] | None = None
    trained: frozenset[int] | None = None
    for leaf, visits in facts.stored.items():
        for step in (visits[0], visits[-1]):
            after = step.grad_after
            norm = 0.0 if after is None or is_zero(after) or not after.is_measured else after.norm
            if norm == 0 or not isfinite(norm) or TINY < norm < HUGE:
                continue
            if norm < 1:
                trained = usually_updated(facts) if trained is None else trained
                if leaf in trained or cancellation(facts, facts.tensors[leaf]) is not None:
                    break
            if worst is None or abs(log10(norm)) > abs(log10(worst[0])):
                worst = (norm, leaf, step)
    return None if worst is None else along_the_way(facts, *worst)


def usually_updated(facts: Facts) -> frozenset[int]:
    """Return the leaves that an update changed by an ordinary share, as Adam's do
    however small the gradient is.
    """
    held = [entry for entry in ledger_of(facts).parameters.values() if entry.holders]
    shares = {  # a later version that an operation made is an initialisation, not an update
        entry.leaf: [
            update_of(t, entry.versions)
            for t, later in pairwise(entry.versions)
            if later.operation is None
        ]
        for entry in held
    }
    return frozenset(
        leaf
        for leaf, updates in shares.items()
        if any(x is not None and x > USUAL for x in updates)
    )


def along_the_way(facts: Facts, norm: float, leaf: int, step: BackwardStep) -> Cause | None:
    way = way_to(facts, step)
    if len(way) < OFTEN:
        return None
    start = received(way[-1]) or 1.0
    total = norm / start
    vanishes = total < 1
    sign = 1 if total > 1 else -1
    parts = [p for p in stretches(facts, step, way) if p.times >= OFTEN and p.log * sign > 0]
    if not (total < 1 / SPAN or total > SPAN) or not parts:
        return None
    main = max(parts, key=lambda p: p.log * sign)
    if main.log * sign < 0.5 * abs(log10(total)) or abs(log10(main.factor)) < LIKE:
        return None  # one factor, or a sum that cancels out, did it: no long way of like factors
    second = [p for p in parts if p is not main and p.log * sign > 2]
    name = named(facts, leaf)
    verbs = "vanishes: it shrinks" if vanishes else "explodes: it grows"
    others = "".join(
        f", and {p.name}{facts.at_line(p.span)} by about {p.factor:.2g}" for p in second[:1]
    )
    evidence = [
        facts.at(
            f"it starts as {start:.3g} at {named_root(facts, way)}", facts.passes[step.number].span
        ),
        *[
            facts.at(
                f"{p.name}: {p.times} times, each by about {p.factor:.2g}, together by "
                f"{10**p.log:.1e}",
                p.span,
            )
            for p in (main, *second[:2])
        ],
        Evidence(f"and arrives in {name}.grad with the norm {norm:.3g}"),
    ]
    return Cause(
        "vanishes" if vanishes else "explodes",
        f"the gradient {verbs} from {start:.2g} to {norm:.2g} through "
        f"{main.name}{facts.at_line(main.span)}, {main.times} times a factor of about "
        f"{main.factor:.2g}{others}",
        evidence,
        shrink_fixes(main) if vanishes else grow_fixes(facts),
        symptom=f"{name}.grad is {norm:.2g}",
        tensors=leaves_like(facts, norm),
        status="gradient",
    )


def shrink_fixes(main: Stretch) -> tuple[str, ...]:
    if main.name in ("sigmoid", "tanh"):
        return (
            f"nn.ReLU() in place of {main.name}, whose derivative is at most "
            f"{0.25 if main.name == 'sigmoid' else 1}",
            "or residual connections: x = x + layer(x); or nn.LayerNorm between the layers",
        )
    return (
        "start from larger factors: nn.init.xavier_uniform_, nn.init.orthogonal_",
        "or shorten the path: residual connections, a gated cell (nn.LSTM, nn.GRU), truncated "
        "steps",
    )


def grow_fixes(facts: Facts) -> tuple[str, ...]:
    is_clipped = "clip_grad_norm_(" in facts.trace.source_text
    return (
        "" if is_clipped else "torch.nn.utils.clip_grad_norm_(parameters, 1.0) before the step",
        "or start from smaller factors: nn.init.orthogonal_, weights times 0.5; or fewer steps at "
        "a time",
    )


def leaves_like(facts: Facts, norm: float) -> frozenset[int]:
    """Return the leaves whose gradients are too small or too large by a similar factor."""
    norms = {leaf: size(visits[-1].grad_after) for leaf, visits in facts.stored.items()}
    return frozenset(
        leaf for leaf, own in norms.items() if own and (own < TINY if norm < 1 else own > HUGE)
    )


def named_root(facts: Facts, way: list[BackwardStep]) -> str:
    outputs = facts.functions[way[-1].function].outputs
    return named(facts, outputs[0]) if outputs else "the root"


def size(value: Value | None) -> float:
    return 0.0 if value is None else value.norm


def received(step: BackwardStep) -> float:
    return size(step.upstream[0]) if step.upstream else 0.0


def way_to(facts: Facts, step: BackwardStep) -> list[BackwardStep]:
    """Return the steps that a leaf's gradient came through, from the leaf to the root; of several
    contributions, the largest.
    """
    way: list[BackwardStep] = []
    seen: set[int] = set()
    at = step
    while at.function not in seen:
        seen.add(at.function)
        sizes = [(arrival.sender, size(arrival.part.value)) for arrival in facts.arrivals.at(at)]
        largest = max((norm for _, norm in sizes), default=0.0)
        near = [sender for sender, norm in sizes if norm >= 0.1 * largest]
        if not near:  # nothing arrived, or it is not a number
            break
        # the longest way, where several are as large
        at = min(near, key=lambda sender: sender.function)
        way.append(at)
    return way


def stretches(facts: Facts, leaf: BackwardStep, way: list[BackwardStep]) -> list[Stretch]:
    """Return the factors of a path to a leaf, by operator and line: the norm of the gradient sent
    over that received.
    """
    logs: dict[tuple[str, int], list[float]] = {}
    spans: dict[tuple[str, int], Span | None] = {}
    for after, step in zip((leaf, *way), way, strict=False):
        function = facts.functions[step.function]
        operation = facts.arrivals.operations.get(function.id)
        got = received(step)
        sent = received(after)
        if got and sent and isfinite(got) and isfinite(sent):
            name = operator(operation) if operation is not None else function.name
            key = (name, function.span.line if function.span is not None else 0)
            logs.setdefault(key, []).append(log10(sent / got))
            spans[key] = function.span
    return [
        Stretch(key[0], len(factors), sum(factors), spans[key]) for key, factors in logs.items()
    ]
