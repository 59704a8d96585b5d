"""Embedding lookup: table rows by index, and bags of rows."""

from __future__ import annotations

from gradtrace.annotations import Any
from gradtrace.engine.calls.inplace import change_data
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import XP, Array, Operand, Shape
from gradtrace.engine.operators.op import d, gather_op
from gradtrace.engine.reverse.saved import watch
from gradtrace.ops.api import public
from gradtrace.ops.index.records import add_at


def embedding_rows(
    g: Array, shape: Shape, indices: Array, padding: int, by_frequency: bool
) -> Array:
    """Add up the gradients of each row's lookups, divided by their number if `by_frequency`; skip
    those of padding.
    """
    kept = indices != padding
    if not kept.all():
        g = g[kept]
        indices = indices[kept]
    if by_frequency:
        _, inverse, counts = np.unique(indices, return_inverse=True, return_counts=True)
        g = g / counts[inverse].reshape(indices.shape).astype(g.dtype)[..., None]
    return add_at(shape, indices, g)


def looked_up_again(xp: XP, gg: Operand, indices: Array, padding: int) -> Operand:
    """Return the rows of gg, 0 for padding; as in PyTorch, the second derivative ignores
    by_frequency.
    """
    rows = xp.index(gg, (indices,))
    is_padding = (indices == padding)[..., None]
    return xp.zeroed(rows, is_padding) if is_padding.any() else rows


# fmt: off
embedding_record = gather_op("embedding(weight; indices, padding, by_frequency)", lambda w, indices, *_: w[indices],
    "out[i, j] = weight[indices[i], j]", zero="padding",
    weight=d("~weight indices", "embedding_rows(grad, weight.shape, indices, padding, by_frequency)"))
embedding_rows_record = gather_op("embedding_rows(g; shape, indices, padding, by_frequency)", embedding_rows,
    "out[v, j] = sum[i](g[i, j] if indices[i] == v else 0)", node="EmbeddingDenseBackwardBackward0",
    g=d("indices", lambda xp, gg, out, g, shape, indices, padding, by_frequency:
        looked_up_again(xp, gg, indices, padding)))
# fmt: on


def sum_of_bags(
    weight: Array,
    factors: Array | None,
    index: Array,
    bag: Array,
    share: Array,
    frequency: Array | None,
    count: int,
) -> Array:
    """Return the sum of each bag's rows, each row multiplied by its share and factor; a share of 0
    drops the row.
    """
    kept = share != 0
    if not kept.all():
        index = index[kept]
        bag = bag[kept]
        share = share[kept]
        factors = None if factors is None else factors[kept]
    rows = weight[index] * share[:, None]
    return add_at(
        (count, weight.shape[1]), bag, rows if factors is None else rows * factors[:, None]
    )


def bag_rows_grad(
    xp: XP, g: Operand, out: object, weight: Operand, factors: Operand | None, *bags: Any
) -> Operand:
    index, bag, share, frequency, _ = bags
    rows = xp.times_array(
        xp.index(g, (bag,)), (share if frequency is None else share / frequency)[:, None]
    )
    if factors is not None:
        rows = rows * xp.unsqueeze(factors, 1)
    return xp.embedding_rows(rows, tuple(weight.shape), np.where(share == 0, -1, index), -1, False)


def bag_factors_grad(
    xp: XP, g: Operand, out: object, weight: Operand, factors: Operand, *bags: Any
) -> Operand:
    index, bag, share, *_ = bags
    products = xp.index(g, (bag,)) * xp.index(weight, (index,))
    dropped = share == 0
    return xp.sum_dim(xp.zeroed(products, dropped[:, None]) if dropped.any() else products, (1,))


def largest_places(weight: Array, index: Array, bag: Array, count: int) -> Array:
    """Return, for each bag and column, the flat position in `weight` of the largest element; -1 for
    an empty bag.
    """
    columns = np.arange(weight.shape[1])
    places = np.full((count, weight.shape[1]), -1)
    for row, b in zip(index.tolist(), bag.tolist(), strict=True):
        best = places[b]
        is_larger = (best < 0) | (weight[row] > weight.reshape(-1)[best])
        best[is_larger] = row * weight.shape[1] + columns[is_larger]
    return places


def max_of_bags(weight: Array, index: Array, bag: Array, count: int) -> Array:
    places = largest_places(weight, index, bag, count)
    return np.where(places < 0, weight.dtype.type(0), weight.reshape(-1)[places])


def max_of_bags_grad(
    xp: XP, g: Operand, out: object, weight: Operand, index: Array, bag: Array, count: int
) -> Operand:
    raw: Any = weight.own_array() if isinstance(weight, Tensor) else weight
    places = largest_places(raw, index, bag, count)
    masked_gradient = xp.times_array(g, (places >= 0).astype(raw.dtype))
    return xp.place_flat(masked_gradient, np.maximum(places, 0), tuple(weight.shape))


# fmt: off
embedding_bag_sum = gather_op("embedding_bag_sum(weight, factors; index, bag, share, frequency, count)", sum_of_bags,
    "out[b, j] = sum[i](factors[i] * weight[index[i], j] if bag[i] == b else 0)", zero="padding",
    node="EmbeddingBagBackward0",
    weight=d("~weight factors", bag_rows_grad),
    factors=d("weight", bag_factors_grad))
embedding_bag_max = gather_op("embedding_bag_max(weight; index, bag, count)", max_of_bags,
    "out[b, j] = max[i](weight[index[i], j] if bag[i] == b else -inf)", zero="choice", node="EmbeddingBagBackward0",
    weight=d("weight", max_of_bags_grad))
# fmt: on


def checked_indices(input: Tensor, rows: int, name: str = "embedding") -> Array:
    if input.dtype.is_floating_point or input.dtype.name == "bool":
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"torch.{input.dtype.scalar_type}Tensor instead (while checking arguments for {name})"
        )
    indices: Array = input.array
    wrong = indices[(indices < 0) | (indices >= rows)]
    if wrong.size and name == "embedding":
        raise IndexError("index out of range in self")
    if wrong.size:
        raise RuntimeError(
            f"{name}: Expected idx >= 0 && idx < num_embeddings but found idx to be {wrong[0]}"
        )
    return indices


def padding_row(padding_idx: int | None, rows: int) -> int:
    """Normalise the padding index to be non-negative; -1 for none."""
    if padding_idx is None:
        return -1
    if padding_idx > 0 and padding_idx >= rows:
        raise AssertionError("Padding_idx must be within num_embeddings")
    if padding_idx < -rows:
        raise AssertionError("Padding_idx must be within num_embeddings")
    return padding_idx % rows


def renormalise(weight: Tensor, indices: Array, max_norm: float, norm_type: float) -> None:
    """Scale down in place the looked-up rows whose norm exceeds max_norm."""
    rows = np.unique(indices)
    table = weight.array
    norms = np.linalg.norm(table[rows], norm_type, axis=-1, keepdims=True)
    scaled = np.where(norms > max_norm, table[rows] * (max_norm / (norms + 1e-7)), table[rows])
    fresh = table.copy()
    fresh[rows] = scaled
    change_data(weight, fresh)


@public(forms="n")
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Look up rows of `weight` (V, D) at the indices `input` (...): (..., D)
    (torch.nn.functional.embedding).
    """
    if not weight.ndim and weight.requires_grad:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    padding = padding_row(padding_idx, weight.shape[0])
    indices = checked_indices(input, weight.shape[0])
    if max_norm is not None:
        renormalise(weight, indices, max_norm, norm_type)
    return embedding_record(weight, input, padding, scale_grad_by_freq)


@public(forms="n")
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Sums, means or maxima of bags of rows (torch.nn.functional.embedding_bag).

    Bags are the rows of a 2-d `input`, or slices of a 1-d one that start at `offsets`. Padding is
    ignored.
    """
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum or mean")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got "
            f"mode='{mode}'). Please open a feature request on GitHub."
        )
    if per_sample_weights is not None and per_sample_weights.shape != input.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must have the "
            f"same shape as the input ({input.shape})"
        )
    starts, stop = bag_starts(input, offsets, include_last_offset)
    if weight.ndim != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.ndim}")
    rows = weight.shape[0]
    if padding_idx is not None and not -rows <= padding_idx < rows:
        raise RuntimeError(
            f"padding_idx must be within the number of embeddings, {-rows} through {rows - 1}, but got {padding_idx}"
        )
    if per_sample_weights is not None and per_sample_weights.dtype is not weight.dtype:
        kinds = (f"torch.{t.dtype.scalar_type}Tensor" for t in (weight, per_sample_weights))
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 "
            f"'per_sample_weights'; but type {' does not equal '.join(kinds)} (while checking arguments for "
            "embedding_bag)"
        )
    index = checked_indices(input, rows, "embedding_bag").reshape(-1)
    read = input.reshape(-1), offsets
    kept = index != padding_row(padding_idx, rows)
    if max_norm is not None:
        renormalise(weight, index, max_norm, norm_type)
    bag = np.searchsorted(starts, np.arange(len(index)), side="right") - 1
    inside = kept & (np.arange(len(index)) < stop)
    if mode == "max":
        return watch(embedding_bag_max(weight, index[inside], bag[inside], len(starts)), *read)
    share = inside.astype(weight.dtype.np)
    if mode == "mean":
        sizes = np.bincount(bag, inside, len(starts))
        share /= np.maximum(sizes, 1)[bag].astype(share.dtype)
    factors = None if per_sample_weights is None else per_sample_weights.reshape(-1)
    frequency = np.bincount(index)[index] if scale_grad_by_freq else None
    return watch(
        embedding_bag_sum(weight, factors, index, bag, share, frequency, len(starts)), *read
    )


def bag_starts(input: Tensor, offsets: Tensor | None, include_last: bool) -> tuple[Array, int]:
    """Return the start of each bag in the flat indices, and the end of the last bag."""
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
                f"sequences. However, found offsets of type {type(offsets)}"
            )
        return np.arange(input.shape[0]) * input.shape[1], input.numel()
    if input.ndim != 1:
        raise ValueError(
            f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}"
        )
    if offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if offsets.ndim != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    starts: Array = offsets.array
    if include_last and not starts.size:
        raise RuntimeError("include_last_offset: number of offset should be at least 1")
    if starts.size and starts[0] != 0:
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, "
            f"got {starts[0]}"
        )
    if starts.size and starts[-1] > input.shape[0]:
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length {input.shape[0]} but got offsets[-1] of {starts[-1]}"
        )
    return (starts[:-1], int(starts[-1])) if include_last else (starts, input.shape[0])
