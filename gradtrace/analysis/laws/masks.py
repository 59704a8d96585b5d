"""Laws of masks: a mask leaves the tokens, and hides what fills them up."""

from __future__ import annotations

from gradtrace.analysis.cause import Cause
from gradtrace.analysis.facts import Facts
from gradtrace.analysis.ledger.book import Ledger
from gradtrace.analysis.terms import is_comparison, named, numbers_in, operator, own_span
from gradtrace.annotations import Iterator
from gradtrace.engine.data.lazy import np
from gradtrace.engine.operators.tables import function_table
from gradtrace.trace.record import Operation, TensorId, Value

ATTENTION = function_table("analysis.laws.masks.ATTENTION", ("scaled_dot_product_attention",))
FILLING = function_table("analysis.laws.masks.FILLING", ("masked_fill",))
HIDING = -1e4  # what is filled in hides a score from softmax
MANY = 3  # numbers of tokens
MOST = 64  # operations between a comparison and the attention


def tokens_attended(ledger: Ledger) -> Iterator[Cause]:
    """Attention sees the tokens and not the padding (a remark)."""
    facts = ledger.facts
    tokens = {i for lookup in facts.calls_of(("embedding",)) for i in lookup.tensors}
    seen: set[TensorId] = set()  # the layers of a model share a mask
    for attention, masking, mask in masked(facts):
        if not mask.is_measured or masking in seen:
            continue
        seen.add(masking)
        for comparison in comparisons_behind(facts, masking, tokens):
            hidden, left = hidden_tokens(facts, comparison, mask, fills(attention)) or ([], [])
            if len(left) == 1 and len(hidden) >= MANY:
                ids = named(facts, comparison.tensors[0])
                yield Cause(
                    "mask inverted",
                    f"the mask of {attention.name}{facts.at_line(own_span(facts, attention))} "
                    f"hides {len(hidden)} tokens of {ids} and leaves {left[0]} alone: it comes "
                    f"from {comparison.name}{facts.at_line(own_span(facts, comparison))}",
                    (facts.at("the mask is made here", comparison.span),),
                )
                return


def masked(facts: Facts) -> Iterator[tuple[Operation, TensorId, Value]]:
    """Yield the attentions and fillings with a mask, the mask and its value."""
    for operation in facts.calls_of((*ATTENTION, *FILLING, "masked_fill_")):
        for i in operation.tensors[1:2] if fills(operation) else operation.tensors[3:4]:
            mask = facts.tensors[i].value
            if mask is not None:
                yield operation, i, mask


def fills(operation: Operation) -> bool:
    """Whether an operation's mask is true where it hides, as a masked_fill's is."""
    return operation.name not in ATTENTION


def comparisons_behind(facts: Facts, mask: TensorId, tokens: set[TensorId]) -> Iterator[Operation]:
    """Yield the comparisons of tokens with a number that a mask is made of."""
    waiting = [mask]
    seen: set[int] = set()
    while waiting and len(seen) < MOST:
        maker = facts.maker(waiting.pop())
        if maker is None or maker.id in seen:
            continue
        seen.add(maker.id)
        if is_comparison(maker.name) and len(maker.tensors) == 1 and numbers_in(maker):
            if maker.tensors[0] in tokens:
                yield maker
        else:
            waiting += maker.tensors


def hidden_tokens(
    facts: Facts, comparison: Operation, mask: Value, hides_true: bool
) -> tuple[list[int], list[int]] | None:
    """Return which tokens a mask hides and which it leaves, if it is the comparison's, repeated for
    heads and rows; else None.
    """
    tokens = facts.tensors[comparison.tensors[0]].value
    compared = facts.tensors[comparison.outputs[0]].value
    if tokens is None or compared is None or not (tokens.is_whole and compared.is_whole):
        return None
    if mask.dtype == "bool":
        hidden = mask.numel - mask.summary.zeros if hides_true else mask.summary.zeros
    else:
        hidden = mask.summary.inf
    repeats, rest = divmod(mask.numel, tokens.numel)
    true = int(compared.data.sum())
    counts = {repeats * true: compared.data, repeats * (tokens.numel - true): ~compared.data}
    if rest or len(counts) < 2 or hidden not in counts:
        return None
    is_hidden = counts[hidden]
    return np.unique(tokens.data[is_hidden]).tolist(), np.unique(tokens.data[~is_hidden]).tolist()


def past_attended(ledger: Ledger) -> Iterator[Cause]:
    """A causal mask hides what comes after a token, not what comes before it (a remark)."""
    facts = ledger.facts
    for attention, _, mask in masked(facts):
        if not mask.is_whole or len(mask.shape) < 2:
            continue
        if fills(attention) and not hides_scores(facts, attention):
            continue
        rows, columns = mask.shape[-2:]
        if rows != columns or rows < MANY:
            continue
        part = mask.data.reshape(-1, rows, columns)
        if mask.dtype == "bool":
            hidden = part if fills(attention) else ~part
        else:
            hidden = part == -np.inf
        if any((hidden == np.tri(rows, k=k, dtype=bool)).all() for k in (0, -1)):
            yield Cause(
                "mask turned over",
                f"the mask of {attention.name}{facts.at_line(own_span(facts, attention))} hides "
                "from each token what comes before it, and leaves what comes after",
                (facts.at("attention is computed here", own_span(facts, attention)),),
            )
            return


def hides_scores(facts: Facts, filling: Operation) -> bool:
    """Whether a masked_fill takes scores out of a softmax."""
    if not any(fill <= HIDING for fill in numbers_in(filling)):
        return False
    return (
        facts.reader_after(filling, lambda o: operator(o) in (*ATTENTION, "softmax"), 6, 4)
        is not None
    )
