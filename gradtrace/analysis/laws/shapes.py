"""Laws of shapes: tensors that are computed together have the same elements."""

from __future__ import annotations

from itertools import zip_longest
from math import prod

from gradtrace.analysis import places
from gradtrace.analysis.cause import Cause
from gradtrace.analysis.facts import Facts
from gradtrace.analysis.ledger.book import Ledger
from gradtrace.analysis.terms import (
    code_of,
    enclosed,
    made_at,
    made_by,
    named,
    operator,
    own_span,
    unit,
)
from gradtrace.annotations import Any, Iterator
from gradtrace.engine.operators.tables import function_table
from gradtrace.trace.labels import called_by, dotted
from gradtrace.trace.operands import record_of
from gradtrace.trace.record import Operation, TensorRecord, Value

Pair = tuple[TensorRecord, Value]
LOSSES = function_table(
    "analysis.laws.shapes.LOSSES", ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
)
EXPANDED = function_table("analysis.laws.shapes.EXPANDED", ("expand", "broadcast_tensors"))
RESHAPED = (
    "index",
    *function_table("analysis.laws.shapes.RESHAPED", ("unsqueeze", "view", "reshape")),
)
VIEWS = (*RESHAPED, *EXPANDED, "t", "transpose", "permute", "T", "mT", "unsqueeze_")


def losses_match(ledger: Ledger) -> Iterator[Cause]:
    """A loss compares a prediction with a target of the same shape. A difference of a prediction of
    the shape (n, 1) and a given target of the shape (n,) is a loss too.
    """
    facts = ledger.facts
    for operation, pair in unlike_pairs(facts):
        if not is_of_rows(pair):
            yield unlike(facts, operation, pair)


def targets_complete(ledger: Ledger) -> Iterator[Cause]:
    """There is a target for each prediction (a remark): one for each row may be meant."""
    facts = ledger.facts
    for operation, pair in unlike_pairs(facts):
        if is_of_rows(pair):
            first, second = (f"{named(facts, t.id)} {value.shape}" for t, value in pair)
            yield Cause(
                "one target a row",
                f"{unit(facts, operation)} compares {first} with {second}: each row has one target",
                (facts.at("they are compared here", operation.span),),
            )


def unlike_pairs(facts: Facts) -> Iterator[tuple[Operation, list[Pair]]]:
    """Yield losses of a prediction and a target of unlike shapes, the first of each line."""
    seen = set()
    for operation in facts.calls_of((*LOSSES, "sub")):
        pair = [unexpanded(facts, operand) for operand in facts.operands(operation)[:2]]
        if operation.span in seen or len(pair) < 2 or pair[0][1].shape == pair[1][1].shape:
            continue
        seen.add(operation.span)
        if operator(operation) in LOSSES or is_difference(facts, pair):
            yield operation, pair


def is_of_rows(pair: list[Pair]) -> bool:
    """Whether the shapes are like (n, k) of a prediction and (n, 1) of a constant target."""
    (prediction, wide), (target, narrow) = sorted(pair, key=lambda p: -p[0].requires_grad)
    return (
        prediction.requires_grad
        and not target.requires_grad
        and len(wide.shape) == len(narrow.shape) > 1
        and wide.shape[:-1] == narrow.shape[:-1]
        and narrow.shape[-1] == 1
    )


def unexpanded(facts: Facts, pair: Pair) -> Pair:
    """Return the tensor before the loss expanded it to a common shape."""
    maker = made_by(facts, pair[0].id, EXPANDED)
    before = [] if maker is None else facts.operands(maker)
    if maker is None or not before:
        return pair
    if len(maker.outputs) < len(before):  # an operand that has the common shape stays as it is
        before = [operand for operand in before if operand[1].shape != pair[1].shape] or before
    return before[maker.outputs.index(pair[0].id) % len(before)]


def is_difference(facts: Facts, pair: list[Pair]) -> bool:
    """Whether these are a prediction and a target of the shapes (n, 1) and (n,), not reshaped."""
    short, long = sorted((value.shape for _, value in pair), key=len)
    if len(short) != 1 or long != (short[0], 1) or short[0] == 1:
        return False
    reshaped = any(made_by(facts, record.id, RESHAPED) for record, _ in pair)
    return sum(record.requires_grad for record, _ in pair) == 1 and not reshaped


def unlike(facts: Facts, operation: Operation, pair: list[Pair]) -> Cause:
    grown = [source for record, _ in pair if (source := growth_behind(facts, record)) is not None]
    names = [named(facts, record.id) for record, _ in pair]
    shapes = [value.shape for _, value in pair]
    evidence = [
        facts.at(f"{name} has the shape {shape}", made_at(facts, record))
        for (record, _), name, shape in zip(pair, names, shapes, strict=True)
    ]
    because = (
        f"{unit(facts, operation)} compares {names[0]} of shape {shapes[0]} with {names[1]} of "
        f"shape {shapes[1]}: they broadcast to {broadcast_shape(*shapes)}, so that elements "
        "are compared which do not belong together"
    )
    if grown:
        because += f"; {grown[0]}"
    return Cause(
        "broadcast",
        because,
        (*evidence, facts.at("they are compared here", operation.span)),
        (advice(names, shapes),),
    )


def broadcast_shape(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    pairs = zip_longest(reversed(a), reversed(b), fillvalue=1)
    return tuple(max(pair) for pair in pairs)[::-1]


def advice(names: list[str], shapes: list[tuple[int, ...]]) -> str:
    """Return how to make two shapes one."""
    short, long = sorted(zip(shapes, names, strict=True), key=lambda pair: len(pair[0]))
    if len(short[0]) == 1 and long[0] == (*short[0], 1):
        code = [enclosed(code_of(name)) or "..." for _, name in (long, short)]
        return f"{code[0]}.squeeze(1), or {code[1]}.unsqueeze(1): both of one shape"
    return "make both of one shape before: squeeze, unsqueeze, or a sum over the same dim"


def growth_behind(facts: Facts, record: TensorRecord) -> str | None:
    """Return the broadcast that made an operand, or one of its makers, larger than what it was
    computed from.
    """
    maker = facts.maker(record.id)
    for _ in range(6):
        text = None if maker is None else broadcast_in(facts, maker)
        if maker is None or text is not None:
            return text
        maker = facts.maker(next(iter(maker.tensors), None))
    return None


def broadcast_in(facts: Facts, operation: Operation) -> str | None:
    """Return in words the broadcast of an elementwise operation whose result is larger than each
    operand; None for any other.
    """
    record = record_of(operation.name)
    operands = facts.operands(operation)
    if record is None or record.kind != "elementwise" or len(operands) != 2:
        return None
    value = facts.tensors[operation.outputs[0]].value if operation.outputs else None
    if value is None or any(operand.numel >= value.numel for _, operand in operands):
        return None
    first, second = [operand for _, operand in operands]
    return (
        f"{named(facts, operation.outputs[0])}{facts.at_line(operation.span)} is {value.shape}, "
        f"made from {first.shape} and {second.shape} by broadcasting"
    )


def element_by_element(ledger: Ledger) -> Iterator[Cause]:
    """The result of an elementwise operation is as large as one of its operands (a remark).

    A dimension that the program has inserted, or a transposed operand, is meant to broadcast.
    """
    facts = ledger.facts
    for operation in facts.last_of_each_line:
        text = broadcast_in(facts, operation)
        operands = facts.operands(operation) if text is not None else []
        if text is None or any(made_by(facts, record.id, VIEWS) for record, _ in operands):
            continue
        if not any(record.requires_grad for record, _ in operands):
            continue
        yield Cause("broadcast result", text, (facts.at("here", operation.span),))


VIEW_CALLS = ("view", "reshape", "view_as", "reshape_as")


def views_keep_order(ledger: Ledger) -> Iterator[Cause]:
    """A view that exchanges the sizes of two dimensions is a transpose (a remark)."""
    facts = ledger.facts
    seen = set()
    for operation in facts.calls_of(("view", "reshape")):
        span = own_span(facts, operation)
        if not operation.tensors or not operation.outputs or span is None or span in seen:
            continue
        before = facts.tensors[operation.tensors[0]].shape
        after = facts.tensors[operation.outputs[0]].shape
        if span.file or not exchanges(before, after):
            continue
        # inside of a layer of a library the program has not chosen the view
        if called_by(operation.text) not in VIEW_CALLS:
            continue
        seen.add(span)
        yield Cause(
            "order kept",
            f"{operation.name}{facts.at_line(span)} makes {after} of {before} and keeps the order "
            "of the numbers, which a transpose would change",
            (facts.at("here", span),),
        )


def exchanges(before: tuple[int, ...], after: tuple[int, ...]) -> bool:
    """Whether the sizes of a view are those before with two neighbours exchanged; the second may be
    a product: (b, c, h, w) to (b, h * w, c).
    """
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    first, *rest = before[start:] or (1,)
    if len(after) < start + 2 or after[start + 1] != first or first < 2:
        return False
    merged = after[start]
    left = tuple(after[start + 2 :])
    count = len(rest) - len(left)
    # (32, 12, 32) to (384, 32) also joins the first two
    joined = prod((first, *rest[: count - 1])) == merged and rest[count - 1 :] == [first, *left]
    return (
        merged > 1
        and count > 0
        and not joined
        and tuple(rest[count:]) == left
        and prod(rest[:count]) == merged
    )


SOFTMAX = function_table("analysis.laws.shapes.SOFTMAX", ("softmax", "log_softmax"))
WITHIN = (*SOFTMAX, "norm", "vector_norm")
REDUCED = function_table("analysis.laws.shapes.REDUCED", ("mean", "sum", "amax", "max"))


def samples_apart(ledger: Ledger) -> Iterator[Cause]:
    """A normalisation or a softmax is taken within a sample, not over the batch (a remark)."""
    facts = ledger.facts
    seen = set()
    for operation in facts.calls_of(WITHIN):
        span = own_span(facts, operation)
        record = facts.tensors[operation.tensors[0]] if operation.tensors else None
        if record is None or record.is_leaf or span is None or span.file or span in seen:
            continue
        is_norm = operator(operation) not in SOFTMAX
        if is_norm and operation.option("keepdim") != "True":
            continue
        if operation.option("dim") != "0" or len(record.shape) < 2 or record.shape[0] < 2:
            continue
        seen.add(span)
        name = called_by(operation.text) or operation.name
        yield Cause(
            "over the batch",
            f"{name}{facts.at_line(span)} is taken over dim 0 of {record.shape}",
            (facts.at("here", span),),
        )


def dims_told_apart(ledger: Ledger) -> Iterator[Cause]:
    """A reduction over the first of two dims that are equally long may be meant for the other (a
    remark).
    """
    facts = ledger.facts
    for operation in facts.last_of_each_line:
        record = facts.tensors[operation.tensors[0]] if operation.tensors else None
        if record is None or record.is_leaf or operation.name not in REDUCED:
            continue
        if operation.option("dim") not in ("0", "(0,)", "[0]") or len(record.shape) < 3:
            continue
        if record.requires_grad and record.shape[0] == record.shape[1] > 1:
            yield Cause(
                "dims alike",
                f"{operation.name}{facts.at_line(operation.span)} is taken over dim 0 of "
                f"{record.shape}, of which dim 1 is as long",
                (facts.at("here", operation.span),),
            )


RECURRENT = ("gru", "lstm", "rnn_tanh", "rnn_relu")


def samples_first(ledger: Ledger) -> Iterator[Cause]:
    """A layer of sequences takes the dim of the samples for samples, not for time (a remark)."""
    facts = ledger.facts
    rows = target_rows(facts)
    for operation in facts.calls_of((*RECURRENT, "scaled_dot_product_attention")):
        shape = time_first(facts, operation)
        if shape is None or shape[0] == shape[1] or len(rows) != 1 or shape[0] not in rows:
            continue
        name = "attention" if operation.name not in RECURRENT else operation.name
        yield Cause(
            "time for samples",
            f"{name}{facts.at_line(own_span(facts, operation))} takes dim 0 of {shape} for time, "
            f"{shape[0]} steps of {shape[1]} samples, and the loss has {shape[0]} targets: "
            "batch_first=True makes it the samples",
            (facts.at("dim 0 is time here", own_span(facts, operation)),),
        )
        return


def time_first(facts: Facts, operation: Operation) -> tuple[int, ...] | None:
    """Return the shape of what a layer reads as (time, samples, features); None if it reads it
    otherwise. An attention in nn.MultiheadAttention has the times in its last dim but one.
    """
    if operation.name in RECURRENT:
        shape = facts.tensors[operation.tensors[0]].shape
        is_time_first = operation.inputs[-1].text == "False"
        return shape if is_time_first and len(shape) == 3 else None
    read = facts.tensors[operation.tensors[0]].shape
    projections = (
        facts.tensors[o.tensors[0]].shape
        for o in facts.calls_of(("linear",))
        if o.scope == operation.scope and o.id < operation.id
    )
    shape = next(projections, ())
    if len(read) != 4 or len(shape) != 3 or shape[:2] != (read[2], read[0]):
        return None
    return shape


def channels_first(ledger: Ledger) -> Iterator[Cause]:
    """A convolution of images takes their channels for channels (a remark)."""
    facts = ledger.facts
    for operation in facts.calls_of(("conv2d", "convolution")):
        record = facts.tensors[operation.tensors[0]]
        shape = record.shape
        if record.requires_grad or len(shape) != 4 or shape[1] != shape[2]:
            continue
        if shape[3] in COLOURS and shape[1] > max(COLOURS):
            yield Cause(
                "channels last",
                f"{unit(facts, operation)} takes dim 1 of {shape} for the channels: the last one, "
                f"{shape[3]}, may be meant",
                (facts.at("the images are read here", operation.span),),
            )
            return


COLOURS = (1, 3, 4)  # channels of an image
LAYERS = ("linear", "addmm", "conv1d", "conv2d", "conv3d", "convolution")


def samples_differ(ledger: Ledger) -> Iterator[Cause]:
    """The samples of a batch are not all the same (a remark)."""
    facts = ledger.facts
    rows = target_rows(facts)
    alike: dict[int | None, tuple[TensorRecord, Operation]] = {}
    for operation in facts.calls_of(LAYERS):
        operands = (facts.tensors[i] for i in operation.tensors)
        record = next((t for t in operands if not t.requires_grad and len(t.shape) > 1), None)
        if record is None or not operation.grad_enabled:
            continue
        if not is_one_row(record.value) or record.shape[0] not in rows:
            return
        alike[facts.step_number(operation)] = record, operation
    if len(alike) > 1 and None not in alike and not facts.calls_of(("embedding",)):
        record, operation = list(alike.values())[-1]
        yield Cause(
            "samples alike",
            f"the {record.shape[0]} samples of {named(facts, record.id)}, which "
            f"{unit(facts, operation)} reads, are equal, in each of {len(alike)} steps",
            (facts.at("they are read here", operation.span),),
        )


def target_rows(facts: Facts) -> set[int]:
    """Return how many rows the targets of the losses have."""
    losses = facts.calls_of((*LOSSES, "cross_entropy", "nll_loss"))
    pairs = (facts.operands(loss)[1:2] for loss in losses)
    return {value.shape[0] for pair in pairs for _, value in pair if value.shape}


def is_one_row(value: Value | None) -> bool:
    """Whether all rows are known to be equal, and are not one number throughout."""
    if value is None or not value.is_whole or not value.numel or not value.is_float:
        return False
    if value.shape[0] < 2:
        return False
    rows = value.data
    return bool((rows == rows[:1]).all()) and bool((rows != rows.flat[0]).any())


def axes_in_order(ledger: Ledger) -> Iterator[Cause]:
    """Axes that einops joins are split in the same order (a remark)."""
    facts = ledger.facts
    calls = [c for c in facts.text.calls if dotted(c.func).rpartition(".")[2] in EINOPS]
    patterns = [(call, *pattern_of(call)) for call in sorted(calls, key=places.starts)]
    joined = {
        frozenset(axes): (axes, call) for call, _, right in patterns for axes in groups_of(right)
    }
    for call, left, _ in patterns:
        for axes in groups_of(left):
            before, join = joined.get(frozenset(axes), (axes, call))
            if before != axes:
                place = places.span_of(call)
                yield Cause(
                    "axes exchanged",
                    f"{facts.text.cut(call)}{facts.at_line(place)} splits what was joined as "
                    f"({' '.join(before)}){facts.at_line(places.span_of(join))} as "
                    f"({' '.join(axes)}): the elements change places",
                    (facts.at("split here", place),),
                )


EINOPS = ("rearrange", "reduce", "repeat", "Rearrange")


def pattern_of(call: Any) -> tuple[str, str]:
    """Return the two sides of the pattern in a call of einops: "b h d -> (b h) d"."""
    texts = (getattr(argument, "value", None) for argument in call.args)
    left, _, right = next((t for t in texts if type(t) is str and "->" in t), "").partition("->")
    return left, right


def groups_of(pattern: str) -> list[list[str]]:
    """Return the axes of each group of a pattern of einops: "(b h) t d" has ["b", "h"]."""
    return [part.partition(")")[0].split() for part in pattern.split("(")[1:]]
