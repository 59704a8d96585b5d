"""Explain shapes that do not fit, by the place where each of them was made."""

from __future__ import annotations

import re

from gradtrace.analysis.answer import Evidence, Facts
from gradtrace.analysis.causes.cause import Cause, at_line, made_at, named, operator
from gradtrace.analysis.causes.scene import tensors_at
from gradtrace.annotations import Any
from gradtrace.engine.tables import function_table
from gradtrace.trace.record import Failure, Operation, TensorRecord

SHAPES = re.compile(r"\((\d+(?:x\d+)+) and (\d+(?:x\d+)+)\)")
SIZES = re.compile(r"size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\)")
BATCHES = re.compile(r"input batch_size \((\d+)\) to match target batch_size \((\d+)\)")
RESHAPES = function_table(
    "analysis.causes.shapes.RESHAPES",
    ("view", "reshape", "flatten", "squeeze", "unsqueeze", "permute", "transpose", "t", "cat", "stack", "expand"),
)


def latest_of_shape(facts: Facts, shape: tuple[int, ...]) -> TensorRecord | None:
    return next((t for t in reversed(facts.trace.tensors) if t.value is not None and t.value.shape == shape), None)


def reshaped_by(facts: Facts, record: TensorRecord) -> Operation | None:
    """Return the operation that gave a tensor its shape, a few operations before; None if it was created in this
    shape.
    """
    for _ in range(4):
        if record.operation is None:
            return None
        operation = facts.trace.operations[record.operation]
        if operator(operation) in RESHAPES:
            return operation
        before = [facts.trace.tensors[o.tensor] for o in operation.inputs if o.tensor is not None]
        same = [
            t
            for t in before
            if t.value is not None and record.value is not None and t.value.shape == record.value.shape
        ]
        if not same:
            return None
        record = same[0]
    return None


def wrong_shape(facts: Facts, failure: Failure) -> Cause | None:
    """Explain two tensors whose shapes do not fit: which they are, and where each got its shape."""
    product = SHAPES.search(failure.message)
    if product is not None:
        shapes = [tuple(map(int, text.split("x"))) for text in product.groups()]
        pair = [latest_of_shape(facts, shape) for shape in shapes]
        return of_product(facts, pair[0], pair[1], shapes) if pair[0] is not None else None
    sizes = SIZES.search(failure.message) or BATCHES.search(failure.message)
    if sizes is None:
        return None
    numbers = {int(x) for x in sizes.groups()}
    found = [t for t in tensors_at(facts, failure) if t.value is not None and numbers & set(t.value.shape)]
    found = [t for t in found if not t.is_leaf or not t.requires_grad][:3] or found[:3]
    if len(found) < 2:
        return None
    evidence = [shape_evidence(facts, t) for t in found]
    shaped = next((o for t in found if (o := reshaped_by(facts, t)) is not None), None)
    span = shaped.span if shaped is not None else made_at(facts, found[-1])
    told = " and ".join(f"{named(facts, t.id)} has the shape {t.value.shape if t.value else ()}" for t in found[:2])
    made = f", made by {operator(shaped)}{at_line(shaped.span)}" if shaped is not None else at_made(facts, found)
    return Cause(
        "wrong shape",
        "the program failed",
        f"{told}{made}, which do not fit together",
        span,
        tuple(evidence),
        (f"give them one shape where they are made{at_line(span)}: view, unsqueeze(1), or the other size",),
        None,
        "failed",
        named(facts, found[0].id),
    )


def at_made(facts: Facts, records: list[TensorRecord]) -> str:
    lines = [span.where for t in records[:2] if (span := made_at(facts, t)) is not None]
    return f" (made on lines {' and '.join(lines)})" if len(lines) == 2 else ""


def shape_evidence(facts: Facts, record: TensorRecord) -> Evidence:
    operation = reshaped_by(facts, record)
    span = operation.span if operation is not None else made_at(facts, record)
    shape = record.value.shape if record.value is not None else ()
    return facts.at(f"{named(facts, record.id)} gets the shape {shape} here", span)


def of_product(facts: Facts, left: Any, right: TensorRecord | None, shapes: list[Any]) -> Cause:
    """Explain a failed matrix product of a layer's input and its weight."""
    operation = reshaped_by(facts, left)
    span = operation.span if operation is not None else made_at(facts, left)
    name = named(facts, left.id)
    width, wanted = shapes[0][-1], shapes[1][0]
    evidence = [facts.at(f"{name} has the shape {shapes[0]}", span)]
    layer = weight_behind(facts, right)
    begun = None if layer is None else next((b.span for b in facts.trace.begun if b.tensor == layer.id), None)
    if layer is not None:
        owner = named(facts, layer.id).removesuffix(".weight")
        evidence.append(facts.at(f"{owner} takes {wanted} features", begun))
        taker = f"{owner}, made{at_line(begun)}, takes {wanted}"
    else:
        taker = f"the other matrix has {wanted} rows, shape {shapes[1]}"
        if right is not None:
            evidence.append(shape_evidence(facts, right))
    fix = [f"nn.Linear({width}, ...) in place of nn.Linear({wanted}, ...){at_line(begun)}"] if layer is not None else []
    before = None
    if operation is not None:
        tensor = next((o.tensor for o in operation.inputs if o.tensor is not None), None)
        before = None if tensor is None else facts.trace.tensors[tensor].value
    if before is not None and before.shape and before.numel == wanted * before.shape[0]:
        fix.insert(0, f"x = x.flatten(1){at_line(span)}: then it has {wanted} features for each sample")
    elif layer is None and right is not None and shapes[0][-1] == shapes[1][-1]:
        fix.insert(0, f"transpose the second: {name} @ {named(facts, right.id)}.t()")
    return Cause(
        "wrong shape",
        "the program failed",
        f"{name}{at_line(span)} has the shape {shapes[0]}, so {width} features for each row, and {taker}",
        span,
        tuple(evidence),
        tuple(fix) or ("look at the sizes of both",),
        None,
        "failed",
        name,
    )


def weight_behind(facts: Facts, record: TensorRecord | None) -> TensorRecord | None:
    """Return the parameter that a transposed weight is a view of."""
    if record is None or record.operation is None:
        return record if record is not None and record.is_parameter else None
    tensor = next((o.tensor for o in facts.trace.operations[record.operation].inputs if o.tensor is not None), None)
    source = None if tensor is None else facts.trace.tensors[tensor]
    return source if source is not None and source.is_parameter else None
