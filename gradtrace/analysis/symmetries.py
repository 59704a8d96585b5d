"""Recognise gradients that are 0 but for rounding because the result does not depend on a bias or a
factor: the bias of attention's keys (softmax), of a layer before a normalisation, a factor before
one.
"""

from __future__ import annotations

from math import hypot, isfinite

from gradtrace.analysis.facts import Facts
from gradtrace.analysis.terms import operator, unit
from gradtrace.annotations import NamedTuple
from gradtrace.engine.data.lazy import np
from gradtrace.engine.operators.tables import function_table
from gradtrace.lazy_names import words
from gradtrace.trace.operands import record_of
from gradtrace.trace.record import BackwardStep, Operation, TensorRecord

ROUNDING = 1e-5  # what is left of a sum that cancels out in float32, by the norm of its terms
FAR = 12  # operations from a parameter to the one that does not see it
# Operators whose result is the same after a constant was added to the whole row or channel that
# they normalise.
UNSHIFTED = function_table(
    "analysis.symmetries.UNSHIFTED",
    words(
        "softmax log_softmax cross_entropy scaled_dot_product_attention batch_norm layer_norm "
        "group_norm instance_norm"
    ),
)
ATTENDING = function_table(
    "analysis.symmetries.ATTENDING", ("softmax", "scaled_dot_product_attention")
)
# Likewise after a multiplication of the row by a constant, but for their eps.
UNSCALED = function_table(
    "analysis.symmetries.UNSCALED", words("batch_norm layer_norm group_norm instance_norm rms_norm")
)
LINEAR = function_table(
    "analysis.symmetries.LINEAR",
    words(
        "add sub mul div linear addmm einsum bmm baddbmm conv1d conv2d conv3d "
        "masked_fill chunk split contiguous unflatten"
    ),
)
ADDING = function_table(
    "analysis.symmetries.ADDING", words("add sub linear addmm baddbmm conv1d conv2d conv3d")
)


class Cancellation(NamedTuple):
    """Contributions to a gradient that cancel out: `change` of what they belong to does not change
    the result of the operation `unseen`, if that is known.
    """

    change: str
    unseen: Operation | None

    def clause(self, facts: Facts, rounding: str = "") -> str:
        because = f"its contributions cancel out{rounding}"
        if self.unseen is None:
            return because
        return (
            f"{because}, since {self.change} before {unit(facts, self.unseen)} does not change "
            "its result"
        )


def cancellation(facts: Facts, record: TensorRecord) -> Cancellation | None:
    """Return why the contributions to a parameter's gradient cancel out; None if they do not."""
    visits = facts.visits_of(record)
    left = visits[-1].grad_after if visits else None
    if left is None or not left.is_measured or left.numel > max(record.shape, default=1):
        return None
    if any(hook.changed for hook in visits[-1].hooks):
        return None
    senders = [arrival.sender for arrival in facts.arrivals.at(visits[-1])]
    readers = [
        reader for sender in senders if (reader := reader_of(facts, record, sender)) is not None
    ]
    if not readers or len(readers) < len(senders):
        return None
    adds = all(operator(reader) in ADDING for reader in readers)
    terms = [
        norm
        for pair in zip(senders, readers, strict=True)
        for norm in term_of(facts, record, *pair)
    ]
    size = hypot(*terms)
    if len(terms) < len(senders) or not size or not isfinite(size) or left.norm > ROUNDING * size:
        # terms that are 0 do not cancel, and what a NaN or an infinity leaves is as large as they
        # are
        return None
    if not adds and not left.norm:
        return None  # a product that is exactly 0 may be one of zeros
    unseen = next_unseen(facts, readers[-1], UNSHIFTED if adds else UNSCALED)
    return Cancellation("a constant that is added" if adds else "a factor", unseen)


def keys_cancel(facts: Facts, record: TensorRecord) -> str:
    """Return what to say of a bias of queries, keys and values in one, of which the keys' part has
    a gradient that cancels out; "" for any other parameter.
    """
    visits = facts.visits_of(record)
    left = visits[-1].grad_after if visits and len(record.shape) == 1 else None
    if left is None or not left.is_whole or not left.all_finite or not left.numel or left.numel % 3:
        return ""
    count = left.numel
    queries, keys, values = (
        float(np.linalg.norm(part)) for part in np.split(np.ravel(left.data), 3)
    )
    if not keys <= ROUNDING * values or not queries > 10 * keys:
        return ""
    readers = [
        reader_of(facts, record, arrival.sender) for arrival in facts.arrivals.at(visits[-1])
    ]
    if len(readers) != 1 or readers[0] is None or operator(readers[0]) not in ADDING:
        return ""
    unseen = next_unseen(facts, readers[0], ATTENDING)
    if unseen is None:
        return ""
    return (
        f"; elements {count // 3} to {2 * count // 3 - 1}, the part of the keys, cancel out, but "
        f"for rounding, since a constant that is added to the keys before {unit(facts, unseen)} "
        "does not change its result"
    )


def reader_of(facts: Facts, record: TensorRecord, sender: BackwardStep) -> Operation | None:
    """Return the operation that read a parameter, whose derivative sent a gradient to it."""
    operation = facts.arrivals.operations.get(sender.function)
    if operation is not None:
        return operation
    # of several functions
    whole = [o for o in facts.readers(record.id) if o.grad_enabled and operator(o) in ADDING]
    return whole[-1] if whole else None


def term_of(
    facts: Facts, record: TensorRecord, sender: BackwardStep, reader: Operation
) -> list[float]:
    """Return the norm of what was summed to a gradient; [] if its parameter is not added or
    multiplied by elements.
    """
    value = sender.gradient
    if value is None or not value.is_measured or value.numel < 2:
        return []
    if operator(reader) in ADDING:
        return [value.norm]
    others = [
        v.norm for t, v in facts.operands(reader) if t.first != record.first and v.is_measured
    ]
    return [value.norm * others[0]] if operator(reader) == "mul" and len(others) == 1 else []


def next_unseen(facts: Facts, reader: Operation, wanted: tuple[str, ...]) -> Operation | None:
    """Return the first of the wanted operations behind a reader, past those that are linear in what
    they read.
    """
    waiting = [reader]
    seen = {reader.id}
    for _ in range(FAR):
        following = [
            o
            for operation in waiting
            for i in operation.outputs
            for o in facts.readers(i)[:4]
            if o.id not in seen
        ]
        target = next((o for o in following if operator(o) in wanted), None)
        if target is not None:
            return target
        seen.update(o.id for o in following)
        waiting = [o for o in following if is_linear(operator(o))]
    return None


def is_linear(name: str) -> bool:
    """Whether a constant that is added to an operand adds one to the result."""
    record = record_of(name)
    return name in LINEAR or (record is not None and record.kind in ("view", "contraction"))
