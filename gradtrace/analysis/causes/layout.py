"""Find tensors whose dimensions are mistaken for each other: by a view, or by an attention's
softmax.
"""

from __future__ import annotations

from gradtrace.analysis.cause import Cause
from gradtrace.analysis.causes.silent import dimension, written_dimension
from gradtrace.analysis.facts import Facts
from gradtrace.analysis.terms import code_of, enclosed, named, operator, unit
from gradtrace.engine.operators.tables import function_table
from gradtrace.lazy_names import words
from gradtrace.trace.record import Operation

Shape = tuple[int, ...]
VIEWS = function_table("analysis.causes.layout.VIEWS", ("view", "reshape"))
PADDED = function_table(
    "analysis.causes.layout.PADDED", ("cat", "concat", "pad", "constant_pad_nd")
)
PARTS = ("index", "slice", *function_table("analysis.causes.layout.PARTS", ("select", "narrow")))
PRODUCTS = function_table("analysis.causes.layout.PRODUCTS", ("matmul", "bmm", "mm", "baddbmm"))
SEQUENCES = (
    *words("gru lstm rnn_tanh rnn_relu"),
    *function_table(
        "analysis.causes.layout.SEQUENCES",
        words("cumsum cumprod scaled_dot_product_attention conv1d"),
    ),
)
SAME = (
    "unsafe_view",
    *function_table("analysis.causes.layout.SAME", ("view", "expand", "dropout")),
)
LINEAR = function_table("analysis.causes.layout.LINEAR", ("linear", "addmm", "mm", "matmul"))
SCORES = function_table(
    "analysis.causes.layout.SCORES", ("div", "mul", "add", "sub", "masked_fill", "tanh")
)


def exchanged(facts: Facts) -> Cause | None:
    """Find a view that gives the shape of a transposed tensor, with the numbers in their old
    order.
    """
    for operation in facts.calls_of(VIEWS):
        before, after = (
            facts.tensors[(*ids, 0)[0]] for ids in (operation.tensors, operation.outputs)
        )
        if not after.requires_grad or not operation.tensors:
            continue
        dims = exchanges(facts, operation, before.shape, after.shape)
        dims = dims or split_early(facts, operation, before.shape, after.shape)
        if dims is None or is_shift(facts, operation):
            continue
        a, b = dims
        name = named(facts, operation.tensors[0])
        mixed = f"row i of the result is not column i of {name}"
        fix = (
            f"{enclosed(code_of(name)) or '...'}.transpose({a}, {b}), if the two dimensions are "
            "to change places"
        )
        if len(after.shape) > len(before.shape):
            straight = (*after.shape[:a], after.shape[b], after.shape[a], *after.shape[b + 1 :])
            mixed = "a head gets pieces of several rows"
            fix = f"{operator(operation)}{straight} and then transpose({a}, {b})"
        return Cause(
            "view for transpose",
            f"{unit(facts, operation)} gives {after.shape} of {before.shape} and keeps the order "
            f"of the numbers in memory, which transpose() would change: {mixed}",
            (
                facts.at(
                    f"{name} has the shape {before.shape}; a view only cuts it up in another way",
                    operation.span,
                ),
            ),
            (fix,),
        )
    return None


def exchanges(
    facts: Facts, operation: Operation, before: Shape, after: Shape
) -> tuple[int, int] | None:
    """Return (0, 1) if a view exchanges the sizes of the first two dimensions and an operation then
    tells one position there from another. A view that only groups rows, and one that a later view
    undoes, are no mistake.
    """
    dims = swapped(before, after)
    if (
        dims is None
        or facts.reader_after(operation, lambda reader: tells_positions(facts, reader), 4, 4)
        is None
    ):
        return None

    def undoes(view: Operation) -> bool:
        return operator(view) in VIEWS and facts.tensors[view.outputs[0]].shape[:2] == before[:2]

    return None if facts.reader_after(operation, undoes, 12, 4) is not None else dims


def tells_positions(facts: Facts, operation: Operation) -> bool:
    """Whether an operation treats the positions along a dimension as a sequence, or takes one of
    them.
    """
    if operator(operation) not in PRODUCTS:
        return operator(operation) in (*SEQUENCES, *PARTS)
    return all(len(facts.tensors[i].shape) > 2 for i in operation.tensors)


def swapped(before: Shape, after: Shape) -> tuple[int, int] | None:
    """Return (0, 1) if a view exchanges the sizes of the first two dimensions, and keeps the
    others.
    """
    if (
        len(before) < 3
        or before == after
        or before[2:] != after[2:]
        or min(before[:2], default=0) < 2
    ):
        return None
    return (0, 1) if before[:2] == after[1::-1] else None


def split_early(
    facts: Facts, operation: Operation, before: Shape, after: Shape
) -> tuple[int, int] | None:
    """Return (1, 2) if a view of (batch, time, width) gives (batch, heads, time, width / heads) for
    a product.
    """
    if (
        len(before) != 3
        or len(after) != 4
        or before[0] != after[0]
        or before[1] != after[2]
        or 1 in after[1:]
    ):
        return None
    if before[1] == after[1] or after[1] * after[3] != before[2]:
        return None
    is_product = (*PRODUCTS, "scaled_dot_product_attention")
    user = facts.reader_after(operation, lambda reader: operator(reader) in is_product, 4, 3)
    return None if user is None else (1, 2)


def is_shift(facts: Facts, operation: Operation) -> bool:
    """Whether a view is part of the relative shift of Transformer-XL, which pads, views and cuts on
    purpose.
    """
    maker = facts.maker(operation.tensors[0])
    cut = [o for o in facts.readers(operation.outputs[0]) if operator(o) in PARTS]
    return bool(cut) or (maker is not None and operator(maker) in PADDED)


def over_the_queries(facts: Facts) -> Cause | None:
    """Find a softmax of attention scores over the queries, whose result a product sums over the
    keys.
    """
    for operation in facts.calls_of(("softmax",)):
        dim = dimension(operation)
        shape = facts.tensors[operation.outputs[0]].shape
        if dim is None or len(shape) < 2 or dim % len(shape) != len(shape) - 2 or shape[-1] < 2:
            continue
        product = product_of(facts, operation.outputs[0])
        if product is None or not is_scores(facts, operation):
            continue
        queries, keys = shape[-2:]
        said, place = written_dimension(facts, operation)
        return Cause(
            "softmax over the queries",
            f"{unit(facts, operation)} is taken over dim={said}, the {queries} queries, and "
            f"{unit(facts, product)} sums over the {keys} keys: the weights of a query do not add "
            "up to 1",
            (
                facts.at(
                    f"{named(facts, operation.outputs[0])} has the shape {shape}: queries, keys",
                    operation.span,
                ),
                facts.at("each row is multiplied with the values here", product.span),
            ),
            (f"dim=-1 in place of dim={said}{facts.at_line(place)}",),
        )
    return None


def over_the_rows(facts: Facts) -> Cause | None:
    """Find a softmax over the rows of a linear layer's result, as a router's, whose columns a sum
    weights.
    """
    for operation in facts.calls_of(("softmax",)):
        dim = dimension(operation)
        shape = facts.tensors[operation.outputs[0]].shape
        maker = facts.maker(next(iter(operation.tensors), None))
        if (
            dim is None
            or len(shape) != 2
            or dim % 2
            or 1 in shape
            or maker is None
            or operator(maker) not in LINEAR
        ):
            continue
        total = weighted_sum(facts, operation.outputs[0], shape)
        if total is None or facts.reader_after(total, adds_rows, 3, 4) is not None:
            continue
        said, place = written_dimension(facts, operation)
        return Cause(
            "softmax over the batch",
            f"{unit(facts, operation)} is taken over dim={said}, the {shape[0]} rows, and "
            f"{unit(facts, total)} adds up what the {shape[1]} columns weight: the weights of a "
            "row do not add up to 1",
            (
                facts.at(
                    f"{named(facts, operation.outputs[0])} has the shape {shape}, a row for each "
                    "sample",
                    operation.span,
                ),
                facts.at("what each row weights is added up here", total.span),
            ),
            (f"dim=-1 in place of dim={said}{facts.at_line(place)}",),
        )
    return None


def adds_rows(operation: Operation) -> bool:
    return operator(operation) in ("sum", "mean") and dimension(operation) == 0


def weighted_sum(facts: Facts, tensor: int, shape: Shape) -> Operation | None:
    """Return the sum over the columns of a table of weights, after they were multiplied with
    something.
    """
    column: int | None = None  # where the weights' columns are, counted from the last dimension
    for _ in range(6):
        reader = next(iter(facts.readers(tensor)), None)
        if reader is None or len(reader.outputs) != 1:
            return None
        result = facts.tensors[reader.outputs[0]].shape
        if operator(reader) == "sum" and column is not None:
            dim = dimension(reader)
            return (
                reader
                if dim is not None and dim % len(facts.tensors[tensor].shape) == column
                else None
            )
        if operator(reader) == "mul" and len(reader.tensors) == 2 and column is None:
            own = facts.tensors[tensor].shape
            column = len(result) - len(own) + max(i for i, size in enumerate(own) if size != 1)
        elif tuple(size for size in result if size != 1) != shape or column is not None:
            return None
        tensor = reader.outputs[0]
    return None


def product_of(facts: Facts, tensor: int) -> Operation | None:
    """Return the product whose left factor is a tensor, up to a view and a dropout."""
    for _ in range(4):
        reader = next(iter(facts.readers(tensor)), None)
        if (
            reader is None
            or reader.tensors[0] != tensor
            or operator(reader) not in (*PRODUCTS, *SAME)
        ):
            return None
        if operator(reader) in PRODUCTS:
            return reader
        tensor = reader.outputs[0]
    return None


def is_scores(facts: Facts, operation: Operation) -> bool:
    """Whether a softmax is of a product, up to a scale, a mask and a bias."""
    tensor: int | None = next(iter(operation.tensors), None)
    for _ in range(8):
        maker = facts.maker(tensor)
        if maker is None or operator(maker) in PRODUCTS:
            return maker is not None
        if operator(maker) not in (*SCORES, *SAME):
            return False
        tensor = next(iter(maker.tensors), None)
    return False
