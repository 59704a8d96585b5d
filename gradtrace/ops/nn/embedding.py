"""Embedding lookup: table rows by index, and bags of rows."""

from __future__ import annotations

from gradtrace.annotations import Any
from gradtrace.engine.inplace import change_data
from gradtrace.engine.lazy import np
from gradtrace.engine.op import d, op
from gradtrace.engine.tensor import Tensor
from gradtrace.engine.types import XP, Array, NumpyDtype, Operand, Shape
from gradtrace.ops.api import public


def embedding_weights(indices: Array, padding: int, by_frequency: bool, dtype: NumpyDtype) -> Array:
    """Return the gradient weight of each lookup: 0 for padding, and divided by the row's count if `by_frequency`."""
    factor = (indices != padding).astype(dtype)
    if by_frequency:
        _, inverse, counts = np.unique(indices, return_inverse=True, return_counts=True)
        factor /= counts[inverse].reshape(indices.shape).astype(dtype)
    result: Array = factor[..., None]
    return result


def scatter_rows(g: Array, shape: Shape, indices: Array) -> Array:
    out = np.zeros(shape, g.dtype)
    np.add.at(out, indices, g)
    return out


def embedding_grad(xp: XP, g: Operand, weight: Operand, indices: Array, padding: int, by_frequency: bool) -> Operand:
    factor = embedding_weights(indices, padding, by_frequency, weight.dtype)
    if bool((factor != 1).any()):
        g = xp.times_array(g, factor)
    return xp.scatter_rows(g, tuple(weight.shape), indices)


embedding_record = op(
    "embedding(weight; indices, padding, by_frequency)",
    lambda w, indices, *_: w[indices],
    kind="gather",
    zero="padding",
    node="EmbeddingBackward0",
    weight=d("~weight indices", lambda xp, g, out, weight, *rest: embedding_grad(xp, g, weight, *rest)),
)
scatter_rows_record = op(
    "scatter_rows(g; shape, indices)",
    scatter_rows,
    kind="gather",
    node="EmbeddingDenseBackwardBackward0",
    g=d("", lambda xp, gg, out, g, shape, indices: xp.index(gg, (indices,))),
)


def checked_indices(input: Tensor, rows: int) -> Array:
    if input.dtype.is_floating_point or input.dtype.name == "bool":
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"torch.{input.dtype.scalar_type}Tensor instead (while checking arguments for embedding)"
        )
    indices: Array = input.array
    if indices.size and (int(indices.min()) < 0 or int(indices.max()) >= rows):
        raise IndexError("index out of range in self")
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


@public("embedding", forms="n")
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Look up rows of `weight` (V, D) at the indices `input` (...): (..., D) (torch.nn.functional.embedding)."""
    if not weight.ndim and weight.requires_grad:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    padding = padding_row(padding_idx, weight.shape[0])
    indices = checked_indices(input, weight.shape[0])
    if max_norm is not None:
        renormalise(weight, indices, max_norm, norm_type)
    return embedding_record(weight, indices, padding, scale_grad_by_freq)


@public("embedding_bag", forms="n")
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

    Bags are the rows of a 2-d `input`, or slices of a 1-d one that start at `offsets`. Padding is ignored.
    """
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum or mean")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got "
            f"mode='{mode}'). Please open a feature request on GitHub."
        )
    rows = embedding(input.reshape(-1), weight, padding_idx, max_norm, norm_type, scale_grad_by_freq)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.reshape(-1, 1)
    kept = checked_indices(input.reshape(-1), weight.shape[0]) != padding_row(padding_idx, weight.shape[0])
    bags = []
    for start, stop in bag_bounds(input, offsets, include_last_offset):
        used = Tensor._wrap(start + np.flatnonzero(kept[start:stop]))
        part = rows[used]
        if not len(used):
            bags.append(rows.new_zeros((weight.shape[1],)))
        elif mode == "max":
            bags.append(part.amax(0))
        else:
            bags.append(part.sum(0) if mode == "sum" else part.mean(0))
    return stacked(bags, weight)


def stacked(bags: list[Any], weight: Tensor) -> Tensor:
    from gradtrace.ops.shape.join import stack

    return stack(tuple(bags), 0) if bags else weight.new_zeros((0, weight.shape[1]))


def bag_bounds(input: Tensor, offsets: Tensor | None, include_last: bool) -> list[tuple[int, int]]:
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
                f"sequences. However, found offsets of type {type(offsets)}"
            )
        n = input.shape[1]
        return [(i * n, (i + 1) * n) for i in range(input.shape[0])]
    if input.ndim != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}")
    if offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    starts = offsets.tolist()
    ends = starts[1:] + ([] if include_last else [input.shape[0]])
    return list(zip(starts, ends, strict=False))
