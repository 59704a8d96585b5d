"""Find gradients that vanish or explode on a long path, with the factor of each layer or step."""

from __future__ import annotations

from math import isfinite, log10

from gradtrace.analysis.answer import Evidence, Facts, is_zero
from gradtrace.analysis.causes.cause import Cause, at_line, named, operator
from gradtrace.annotations import NamedTuple
from gradtrace.trace.record import BackwardStep, Span, Value

TINY, HUGE = 1e-8, 1e8  # norms of gradients that are asked about
SPAN = 1e6  # by how much a gradient shrinks or grows on the way
OFTEN = 5  # times that an operator stands on the way


class Stretch(NamedTuple):
    """The share of one operator in a path: its number of steps, and the product of their factors (as a logarithm)."""

    name: str
    times: int
    log: float  # the decimal logarithm of the factor
    span: Span | None

    @property
    def each(self) -> float:
        return float(10 ** (self.log / self.times))


def vanishing_or_exploding(facts: Facts) -> Cause | None:
    """Find a gradient that is tiny or huge after a long path of similar factors."""
    worst: tuple[float, int, BackwardStep] | None = None
    for leaf, visits in facts.stored.items():
        last = visits[-1]
        for step in (visits[0], last):
            after = step.grad_after
            norm = 0.0 if after is None or is_zero(after) or not after.is_measured else after.norm
            if norm == 0 or not isfinite(norm) or TINY < norm < HUGE:
                continue
            if worst is None or abs(log10(norm)) > abs(log10(worst[0])):
                worst = (norm, leaf, step)
    return None if worst is None else along_the_way(facts, *worst)


def along_the_way(facts: Facts, norm: float, leaf: int, step: BackwardStep) -> Cause | None:
    way = way_to(facts, step)
    if len(way) < OFTEN:
        return None
    start = size(way[-1].upstream[0] if way[-1].upstream else None) or 1.0
    total = norm / start
    parts = stretches(facts, step, way)
    sign = 1 if total > 1 else -1
    parts = [p for p in parts if p.times >= OFTEN and p.log * sign > 0]
    if (not total < 1 / SPAN and not total > SPAN) or not parts:
        return None
    main = max(parts, key=lambda p: p.log * sign)
    second = [p for p in parts if p is not main and p.log * sign > 2]
    name = named(facts, leaf)
    vanishes = total < 1
    verbs = "vanishes: it shrinks" if vanishes else "explodes: it grows"
    others = "".join(f", and {p.name}{at_line(p.span)} by about {p.each:.2g}" for p in second[:1])
    evidence = [
        facts.at(f"it starts as {start:.3g} at {named_root(facts, way)}", facts.trace.passes[step.number].span),
        *[
            facts.at(f"{p.name}: {p.times} times, each by about {p.each:.2g}, together by {10**p.log:.1e}", p.span)
            for p in (main, *second[:2])
        ],
        Evidence(f"and arrives in {name}.grad with the norm {norm:.3g}"),
    ]
    return Cause(
        "vanishes" if vanishes else "explodes",
        f"{name}.grad is {norm:.2g}",
        f"the gradient {verbs} from {start:.2g} to {norm:.2g} through {main.name}{at_line(main.span)}, {main.times} "
        f"times a factor of about {main.each:.2g}{others}",
        main.span,
        tuple(evidence),
        shrink_fixes(main, name) if vanishes else grow_fixes(main, name),
        leaves_like(facts, norm),
        "gradient",
    )


def shrink_fixes(main: Stretch, name: str) -> tuple[str, ...]:
    if main.name in ("sigmoid", "tanh"):
        return (
            f"nn.ReLU() in place of {main.name}, whose derivative is at most {0.25 if main.name == 'sigmoid' else 1}",
            "or residual connections: x = x + layer(x); or nn.LayerNorm between the layers",
        )
    return (
        "start from larger factors: nn.init.xavier_uniform_, nn.init.orthogonal_",
        "or shorten the path: residual connections, a gated cell (nn.LSTM, nn.GRU), truncated steps",
    )


def grow_fixes(main: Stretch, name: str) -> tuple[str, ...]:
    return (
        "torch.nn.utils.clip_grad_norm_(parameters, 1.0) before the step",
        "or start from smaller factors: nn.init.orthogonal_, weights times 0.5; or fewer steps at a time",
    )


def leaves_like(facts: Facts, norm: float) -> frozenset[int]:
    """Return the leaves whose gradients are too small or too large by a similar factor."""
    found = []
    for leaf, visits in facts.stored.items():
        after = visits[-1].grad_after
        own = 0.0 if after is None else after.norm
        if own and (own < TINY if norm < 1 else own > HUGE):
            found.append(leaf)
    return frozenset(found)


def named_root(facts: Facts, way: list[BackwardStep]) -> str:
    outputs = facts.trace.functions[way[-1].function].outputs
    return named(facts, outputs[0]) if outputs else "the root"


def size(value: Value | None) -> float:
    return 0.0 if value is None else value.norm


def way_to(facts: Facts, step: BackwardStep) -> list[BackwardStep]:
    """Return the steps that a leaf's gradient came through, from the leaf to the root; of several contributions, the
    largest.
    """
    found: list[BackwardStep] = []
    seen: set[int] = set()
    at = step
    while at.function not in seen:
        seen.add(at.function)
        parts = facts.arrivals.at(at)
        if not parts:
            break
        largest = max(size(part.part.value) for part in parts)
        near = [part.sender for part in parts if size(part.part.value) >= 0.1 * largest]
        if not near:  # not a number
            break
        at = min(near, key=lambda one: one.function)  # the longest way, where several are as large
        found.append(at)
    return found


def stretches(facts: Facts, leaf: BackwardStep, way: list[BackwardStep]) -> list[Stretch]:
    """Return the factors of a path to a leaf, by operator and line: the norm of the gradient sent over that
    received.
    """
    found: dict[tuple[str, int], list[float]] = {}
    spans: dict[tuple[str, int], Span | None] = {}
    after = leaf
    for one in way:
        function = facts.trace.functions[one.function]
        operation = facts.arrivals.operations.get(function.id)
        name = operator(operation) if operation is not None else function.name
        got = size(one.upstream[0] if one.upstream else None)
        sent = size(after.upstream[0]) if after.upstream else 0.0
        if got and sent and isfinite(got) and isfinite(sent):
            key = (name, function.span.line if function.span is not None else 0)
            found.setdefault(key, []).append(log10(sent / got))
            spans[key] = function.span
        after = one
    return [Stretch(key[0], len(logs), sum(logs), spans[key]) for key, logs in found.items()]
