"""Laws of single elements: each value that is computed is kept, chosen for its own size, and
compared in the form that a loss wants.
"""

from __future__ import annotations

from math import prod

from gradtrace.analysis.cause import Cause
from gradtrace.analysis.facts import Facts
from gradtrace.analysis.ledger.book import Ledger
from gradtrace.analysis.terms import lowest, named, own_span, unit
from gradtrace.annotations import Iterator
from gradtrace.engine.data.lazy import np
from gradtrace.engine.operators.tables import function_table
from gradtrace.trace.record import Operation, TensorId

WRITING = ("index_put_", "copy_")
ADDING = function_table("analysis.laws.elements.ADDING", ("add", "add_", "sub", "sub_"))
LEAST = function_table("analysis.laws.elements.LEAST", ("min", "amin"))
MOST = function_table("analysis.laws.elements.MOST", ("max", "amax"))
NORMS = ("norm", "vector_norm", "linalg_vector_norm")
ON_THE_WAY = function_table(
    "analysis.laws.elements.ON_THE_WAY", ("sub", "add", "mul", "div", "pow", "square", "relu")
)


def rows_add_up(ledger: Ledger) -> Iterator[Cause]:
    """Rows that are added to the same place by an assignment all count: `x[i] += y` keeps one of
    those with equal indices.
    """
    facts = ledger.facts
    for put in reversed(facts.calls_of(WRITING)):
        for indices in indices_read_again(facts, put):
            value = facts.tensors[indices].value
            if value is None or not value.is_whole or not value.dtype.startswith("int"):
                continue
            count = value.data.size
            different = len(np.unique(value.data))
            if different == count:
                continue
            target = named(facts, facts.tensors[put.tensors[0]].first)
            index = named(facts, indices)
            span = own_span(facts, put)
            yield Cause(
                "rows lost",
                f"{index} has {different} different of {count} indices, and {target}[{index}] += "
                f"...{facts.at_line(span)} keeps one row of those that are equal",
                (facts.at("an assignment does not add rows with equal indices", span),),
                (f"{target}.index_add_(0, {index}, ...), which adds all rows",),
                symptom=f"{count - different} of {count} rows are lost",
            )
            return


def indices_read_again(facts: Facts, put: Operation) -> Iterator[TensorId]:
    """Yield the indices at which an operation writes a sum with what it has read there."""
    for written in put.tensors[1:]:
        addition = facts.maker(written)
        if addition is None or addition.name not in ADDING:
            continue
        read = facts.maker(addition.tensors[0])
        first = facts.tensors[put.tensors[0]].first
        if read is None or read.name != "index":
            continue
        # of several indices, or beside a slice, a row is not what one index names
        if facts.tensors[read.tensors[0]].first != first or read.constants:
            continue
        if len(read.tensors) == 2 and len(put.tensors) == 3:
            yield from set(read.tensors[1:]).intersection(put.tensors[1:])


def extremes_unmasked(ledger: Ledger) -> Iterator[Cause]:
    """A minimum is not of the zeros by which a mask leaves elements out."""
    facts = ledger.facts
    for pick in reversed(facts.calls_of((*LEAST, *MOST))):
        product = facts.maker(pick.tensors[0]) if pick.tensors else None
        picked = facts.tensors[pick.outputs[0]].value if pick.outputs else None
        if product is None or product.name != "mul" or picked is None or not picked.shape:
            continue
        if not picked.is_whole or np.any(picked.elements):
            continue
        values = [facts.tensors[t].value for t in product.tensors]
        mask = next((v for v in values if v is not None and v.dtype == "bool"), None)
        masked = next((v for v in values if v is not None and v.dtype != "bool"), None)
        if mask is None or masked is None or not mask.is_whole or not masked.is_whole:
            continue
        if mask.shape != masked.shape or np.all(mask.elements):
            continue
        chosen = masked.elements[mask.elements]
        is_outside = (chosen > 0) if pick.name in LEAST else (chosen < 0)
        if not chosen.size or not is_outside.all():
            continue
        name = "minimum" if pick.name in LEAST else "maximum"
        span = own_span(facts, pick)
        fill = "inf" if pick.name in LEAST else "-inf"
        yield Cause(
            "masked extreme",
            f"every {name} of {unit(facts, product)} is one of the zeros that the mask puts there",
            (facts.at(f"all {picked.numel} results are 0", span),),
            (f"masked_fill(~mask, float('{fill}')) before it, in place of the product",),
            symptom=f"{named(facts, pick.outputs[0])}{facts.at_line(span)} is 0 everywhere",
        )
        return


def norms_of_rows(ledger: Ledger) -> Iterator[Cause]:
    """A mean is of more than one number: a norm over all samples has no mean (a remark)."""
    facts = ledger.facts
    for mean in reversed(facts.calls_of(("mean",))):
        if not mean.tensors or facts.tensors[mean.tensors[0]].shape:
            continue
        norm = facts.maker(mean.tensors[0])
        while norm is not None and norm.name in ON_THE_WAY:
            norm = facts.maker(norm.tensors[0]) if norm.tensors else None
        if norm is None or norm.name not in NORMS:
            continue
        operand = facts.tensors[norm.tensors[0]]
        shape = operand.shape
        has_dim = any("dim" in text for text in norm.constants)
        if has_dim or operand.is_parameter or len(shape) < 2 or shape[0] < 2:
            continue
        span = own_span(facts, norm)
        place = facts.at_line(own_span(facts, mean))
        yield Cause(
            "one norm",
            f"{mean.text}{place} is of one number: {unit(facts, norm)} is over all {prod(shape)} "
            f"elements of {shape}",
            (facts.at("no dim is given: one norm of all rows", span),),
        )
        return


def divergences_in_range(ledger: Ledger) -> Iterator[Cause]:
    """The target of kl_div is probabilities, or log_target says that it is logarithms."""
    facts = ledger.facts
    for loss in reversed(facts.calls_of(("kl_div",))):
        operands = facts.operands(loss)
        if len(operands) < 2 or loss.option("log_target") == "True":
            continue
        target, value = operands[1]
        low = lowest(value)
        if low is not None and low < -1e-3:
            span = own_span(facts, loss)
            divergence = facts.tensors[loss.outputs[0]].value if loss.outputs else None
            is_number = divergence is not None and divergence.all_finite
            fault = "no divergence" if is_number else "not finite"
            yield Cause(
                "logarithms as target",
                f"its target, {named(facts, target.id)}, goes down to {low:.3g}: probabilities are "
                "not below 0, and their logarithms need log_target=True",
                (facts.at("kl_div takes the target's logarithm itself", span),),
                ("log_target=True, or softmax in place of log_softmax for the target",),
                symptom=f"kl_div{facts.at_line(span)} is {fault}",
            )
            return


def sequences_fit(ledger: Ledger) -> Iterator[Cause]:
    """A sequence of ctc_loss has as many frames as labels; zero_infinity hides that it has not."""
    facts = ledger.facts
    short = list(short_sequences(facts))
    if short and short[-1][1] == short[-1][2]:
        yield of_short(facts, *short[-1])


def sequences_count(ledger: Ledger) -> Iterator[Cause]:
    """The same of some sequences (a remark)."""
    facts = ledger.facts
    short = [entry for entry in short_sequences(facts) if entry[1] < entry[2]]
    if short:
        yield of_short(facts, *short[-1])


def short_sequences(facts: Facts) -> Iterator[tuple[Operation, int, int]]:
    """Yield the calls of ctc_loss with zero_infinity=True in which sequences have fewer frames than
    labels, with the number of these and of all.
    """
    for loss in facts.calls_of(("ctc_loss", "_ctc_loss")):
        if loss.option("zero_infinity") != "True":
            continue
        lengths = [v.data for _, v in facts.operands(loss) if len(v.shape) == 1 and v.is_whole][-2:]
        if len(lengths) == 2 and lengths[0].shape == lengths[1].shape:
            count = int((lengths[0] < lengths[1]).sum())
            if count:
                yield loss, count, lengths[0].size


def of_short(facts: Facts, loss: Operation, count: int, total: int) -> Cause:
    span = own_span(facts, loss)
    verb = "have" if count > 1 else "has"
    return Cause(
        "frames missing",
        f"{count} of {total} sequences {verb} fewer frames than labels in "
        f"ctc_loss{facts.at_line(span)}, and zero_infinity=True makes their losses 0",
        (facts.at("the lengths come in here", span),),
        ("check the lengths of the inputs: frames after the layers that shorten them",),
        symptom="no gradient comes from them",
    )
