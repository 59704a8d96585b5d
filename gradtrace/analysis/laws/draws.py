"""Laws of random draws: each step draws numbers of its own, and a recomputation draws the same
again.
"""

from __future__ import annotations

from gradtrace.analysis import places
from gradtrace.analysis.cause import Cause
from gradtrace.analysis.facts import Facts, parsed
from gradtrace.analysis.laws.results import beginning
from gradtrace.analysis.laws.shapes import LOSSES
from gradtrace.analysis.ledger.book import Ledger
from gradtrace.analysis.places import Text
from gradtrace.analysis.terms import (
    is_dropout,
    lowest,
    made_at,
    named,
    operator,
    plain,
    spans_of,
    unit,
)
from gradtrace.annotations import Any, Iterator
from gradtrace.lazy_names import words
from gradtrace.program import syntax as ast
from gradtrace.trace.labels import dotted
from gradtrace.trace.record import Span, TensorRecord

DRAWS = words(
    "rand randn randint randperm normal bernoulli multinomial rand_like randn_like sample rsample"
)
FEW = 8  # elements that may be equal by chance


def recomputed_alike(ledger: Ledger) -> Iterator[Cause]:
    """A checkpoint that draws random numbers keeps their state for its recomputation."""
    facts = ledger.facts
    for call in facts.text.calls:
        if facts.text.cut(call.func).rpartition(".")[2] != "checkpoint":
            continue
        flag = next((k for k in call.keywords if k.arg == "preserve_rng_state"), None)
        if not isinstance(flag, ast.keyword) or facts.text.cut(flag.value) != "False":
            continue
        place = places.span_of(call)
        draw = next(
            (
                o
                for o in facts.operations
                if is_dropout(facts.trace, o)
                and any(is_within(span, place) for span in spans_of(facts, o))
            ),
            None,
        )
        if draw is not None:
            yield Cause(
                "recomputed otherwise",
                f"backward computes {facts.text.cut(call.args[0])} again{facts.at_line(place)}, "
                f"and {unit(facts, draw)} draws other numbers then: preserve_rng_state=False",
                (
                    facts.at("the state of the random numbers is not kept here", place),
                    facts.at("these numbers are drawn again in backward", draw.span),
                ),
                ("leave preserve_rng_state=False out",),
            )


def is_within(span: Span | None, outer: Span) -> bool:
    return span is not None and not span.file and outer.line <= span.line <= outer.end_line


def drawn_again(ledger: Ledger) -> Iterator[Cause]:
    """The same line draws other numbers in the next step (a remark)."""
    facts = ledger.facts
    drawn: dict[tuple[int, int], list[TensorRecord]] = {}
    for t in facts.tensors:
        value = t.value
        if t.version or value is None or not value.is_measured:
            continue
        if value.numel < FEW or not value.is_float:
            continue
        place = made_at(facts, t) if t.operation is None or is_random(t.op) else None
        if place is not None and not place.file and is_drawn(facts, t, place):
            drawn.setdefault((place.line, place.column), []).append(t)
    for tensors in drawn.values():
        first, *others = tensors
        if others and all(t.value == first.value for t in others):
            place = made_at(facts, first)
            yield Cause(
                "repeated draw",
                f"{named(facts, first.id)}{facts.at_line(place)} is drawn {len(tensors)} times and "
                "holds the same numbers each time, as if the seed were set before each",
                (facts.at("the same numbers each time", place),),
            )


def is_random(op: str | None) -> bool:
    return op is not None and op.rstrip("_") in DRAWS


def is_drawn(facts: Facts, t: TensorRecord, place: Span) -> bool:
    """Whether a tensor is what a call of a function that draws random numbers gave."""
    call: Any = parsed(plain(t.label))
    if not isinstance(call, ast.Call):
        call = getattr(facts.text.statement(place), "value", None)
    return isinstance(call, ast.Call) and dotted(call.func).rpartition(".")[2] in DRAWS


def drawn_once(ledger: Ledger) -> Iterator[Cause]:
    """What one part of a step draws, the other part knows (a remark)."""
    yield from samples_observed(ledger)
    yield from integers_shared(ledger)
    yield from orders_shared(ledger)


def samples_observed(ledger: Ledger) -> Iterator[Cause]:
    """A log-probability is of the sample that the program goes on with."""
    text = ledger.facts.text
    for function in text.functions:
        calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
        drawn = [call for call in calls if text.cut(call.func).endswith(".sample")]
        for call in calls:
            sample = call.args[0] if call.args else None
            if sample in drawn and text.cut(call.func).endswith(".log_prob"):
                first = next((d for d in drawn if text.cut(d) == text.cut(sample)), sample)
                if first is not sample:
                    yield drawn_apart(ledger.facts, first, sample)
                    return


def integers_shared(ledger: Ledger) -> Iterator[Cause]:
    """Two calls in different statements draw no integers as arguments, such as a time step."""
    text = ledger.facts.text
    drawing = {f.name for f in text.functions if any(map(is_integer_draw, returned(f)))}
    for function in text.functions:
        draws: dict[str, Any] = {}
        for statement in function.body:
            for call in ast.walk(statement):
                for draw in getattr(call, "args", ()) if isinstance(call, ast.Call) else ():
                    if is_integer_draw(draw) or called_by(draw) in drawing:
                        first = draws.setdefault(text.cut(draw), draw)
                        if first.lineno != draw.lineno:
                            yield drawn_apart(ledger.facts, first, draw)
                            return


def orders_shared(ledger: Ledger) -> Iterator[Cause]:
    """Inputs and targets are put into one random order."""
    facts = ledger.facts
    text = facts.text
    blocks = [*text.functions, *(s for s in text.statements if isinstance(s, (ast.For, ast.While)))]
    for block in sorted(blocks, key=places.starts, reverse=True):  # the innermost first
        if facts.lines.isdisjoint(places.lines_of(block)) or is_seeded(text, block):
            continue
        draws: dict[str, Any] = {}
        for call in sorted(filter(is_permutation, ast.walk(block)), key=places.starts):
            first = draws.setdefault(text.cut(call), call)
            if first is not call and not are_apart(block, first, call):
                yield drawn_apart(facts, first, call)
                return


def is_seeded(text: Text, block: Any) -> bool:
    """Whether a block sets the seed, so that its draws may be the same."""
    calls = (node for node in ast.walk(block) if isinstance(node, ast.Call))
    return any("seed" in text.cut(call.func) for call in calls)


def are_apart(block: Any, first: Any, second: Any) -> bool:
    """Whether two calls are in different branches of one condition."""
    for node in ast.walk(block):
        if isinstance(node, ast.If):
            branches = [[n for s in body for n in ast.walk(s)] for body in (node.body, node.orelse)]
            if first in branches[0] and second in branches[1]:
                return True
    return False


def is_permutation(node: Any) -> bool:
    return isinstance(node, ast.Call) and called_by(node).rpartition(".")[2] == "randperm"


def returned(function: Any) -> list[Any]:
    return [s.value for s in function.body if isinstance(s, ast.Return)]


def called_by(node: Any) -> str:
    return dotted(getattr(node, "func", None))


def is_integer_draw(node: Any) -> bool:
    return called_by(node).rpartition(".")[2] == "randint"


def drawn_apart(facts: Facts, first: Any, second: Any) -> Cause:
    """Return a remark about two calls with one text that draw different numbers."""
    places_of = [places.span_of(node) for node in (first, second)]
    lines = dict.fromkeys(map(facts.at_line, places_of))
    where = " and".join(lines) if len(lines) > 1 else f" twice{next(iter(lines))}"
    return Cause(
        "drawn apart",
        f"{facts.text.cut(first)} draws{where}, other numbers each time",
        tuple(facts.at("drawn here", place) for place in places_of),
    )


def noise_shared(ledger: Ledger) -> Iterator[Cause]:
    """A prediction is made from the noise that is its target (a remark)."""
    facts = ledger.facts
    for loss in reversed(facts.calls_of(LOSSES)):
        pair = [t for t, _ in facts.operands(loss)[:2]]
        if len(pair) < 2 or not pair[0].requires_grad or pair[1].requires_grad:
            continue
        place = made_at(facts, pair[1])
        if place is None or place.file or not is_drawn(facts, pair[1], place):
            continue
        if pair[1].id not in facts.flow.before([pair[0].id]):
            yield Cause(
                "unrelated noise",
                f"{named(facts, pair[1].id)}, the target of {unit(facts, loss)}, is drawn"
                f"{facts.at_line(place)} and not part of what the prediction is made from",
                (facts.at("drawn here", place), facts.at("compared here", loss.span)),
            )
        return


def scales_positive(ledger: Ledger) -> Iterator[Cause]:
    """What scales normal noise that is added to a mean is positive (a remark)."""
    facts = ledger.facts
    for operation in facts.last_of_each_line:
        ends = [facts.tensors[i] for i in operation.tensors]
        if operator(operation) != "mul" or len(ends) != 2 or not operation.outputs:
            continue
        noise = next((t for t in ends if is_noise(facts, t)), None)
        scale = next((t for t in ends if t is not noise), None)
        if noise is None or scale is None or scale.value is None or not scale.value.is_measured:
            continue
        low = lowest(scale.value)
        if not scale.requires_grad or beginning(facts, scale).is_leaf or low is None or low >= 0:
            continue
        readers = [reader for i in operation.outputs for reader in facts.readers(i)]
        # noise that is proportional to what it is added to has no scale of its own
        is_mean = all(r.name in ("add", "add_") and scale.id not in r.tensors for r in readers)
        if readers and is_mean:
            yield Cause(
                "negative scale",
                f"{named(facts, scale.id)}, which scales the noise{facts.at_line(operation.span)}, "
                f"goes down to {low:.3g}: a standard deviation is positive",
                (facts.at("the noise is scaled here", operation.span),),
            )
            return


def is_noise(facts: Facts, t: TensorRecord) -> bool:
    """Whether a tensor is what a call of randn_like gave, also one that a variable holds."""
    call = parsed(plain(t.label))
    bound = facts.text.assignments(t.name) if t.name else []
    values = [call, *(getattr(statement, "value", None) for statement in bound)]
    return any(called_by(value).rpartition(".")[2] == "randn_like" for value in values)
