"""Sets, counts and indices: unique, histograms, search in sorted values, index tables, the k-th
value.
"""

from __future__ import annotations

import math

from gradtrace.annotations import Any, Callable, Sequence
from gradtrace.engine.data import dtypes
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import Array
from gradtrace.engine.operators.op import d, gather_op
from gradtrace.engine.reverse.saved import watch
from gradtrace.ops.api import check_dim, public
from gradtrace.ops.arguments import need_float
from gradtrace.ops.create.factories import finish, np_of
from gradtrace.ops.fused import no_derivative
from gradtrace.ops.index.records import take_entries
from gradtrace.ops.reduce.sorting import order_of
from gradtrace.ops.results import Result, result_type, values_and_indices

# fmt: off
kth = gather_op("kthvalue(self; dim, index)",
    lambda a, dim, index: take_entries(a, index, dim).squeeze(dim if a.ndim else ()), "sort(self[..., i, ...])[k - 1]",
    zero="choice",
    self=d("~self index", lambda xp, g, out, self, dim, index:
        xp.gather_place(None, xp.unsqueeze(g, dim) if index.ndim else g, tuple(self.shape), dim, index)))
# fmt: on


def wrap(array: Array) -> Tensor:
    return Tensor._wrap(np.asarray(array))


def raw_of(value: Any) -> Any:
    return value.array if isinstance(value, Tensor) else value


@public()
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Result:
    """Return the k-th smallest value along a dim and its index (torch.kthvalue)."""
    dim = check_dim(dim, input.ndim)
    n = input.shape[dim] if input.ndim else 1
    if input.dtype is dtypes.bool_:
        raise NotImplementedError("\"kthvalue_cpu\" not implemented for 'Bool'")
    if not 1 <= k <= n:
        raise RuntimeError("kthvalue(): selected number k out of range for dimension " + str(dim))
    if not input.ndim:
        place = wrap(np.zeros((), np.int64))
        return values_and_indices("kthvalue", (kth(input, dim, place), place))
    index = np.take(order_of(input.array, dim, False), [k - 1], dim)
    indices = wrap(index.squeeze(dim))
    values = watch(kth(input, dim, index), indices)
    pair = (values.unsqueeze(dim), indices.unsqueeze(dim)) if keepdim else (values, indices)
    return values_and_indices("kthvalue", pair)


# fmt: off
unique_record = gather_op("unique2(self; values)", lambda a, values: values,
    "out[i] < out[i + 1]; {out[i]} == {self[j]}", self=d("", no_derivative("_unique2")))


unique_consecutive_record = gather_op("unique_consecutive(self; values)", lambda a, values: values,
    "out[i] != out[i + 1]; {out[i]} == {self[j]}", self=d("", no_derivative("unique_consecutive")))
# fmt: on


@public()
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Tensor | tuple[Tensor, ...]:
    """Sorted distinct elements (or slices of a dim), with inverse indices and counts if requested
    (torch.unique).
    """
    axis = None if dim is None else dim_of_slices(input, dim)
    values, inverse, counts = np.unique(
        input.array, return_inverse=True, return_counts=True, axis=axis
    )
    inverse = inverse.reshape(input.shape if axis is None else (-1,))
    return with_positions(
        unique_record(input, values), (return_inverse, inverse), (return_counts, counts)
    )


def with_positions(values: Tensor, *order: tuple[bool, Array]) -> Tensor | tuple[Tensor, ...]:
    """Return the values, in a tuple with the arrays of integers that are asked for."""
    positions = tuple(wrap(array.astype(np.int64, copy=False)) for asked, array in order if asked)
    return (values, *positions) if positions else values


def dim_of_slices(input: Tensor, dim: int) -> int:
    """Normalise the dim to be non-negative; raise an error if slices along it are empty, or there
    are none.
    """
    if not input.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    dim = check_dim(dim, input.ndim)
    if input.shape[dim] and not input.numel():
        raise RuntimeError(
            "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied"
        )
    return dim


@public()
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Tensor | tuple[Tensor, ...]:
    """Drop consecutive duplicates of elements (or slices of a dim) (torch.unique_consecutive)."""
    axis = 0 if dim is None else dim_of_slices(input, dim)
    array = input.array.reshape(-1) if dim is None else np.moveaxis(input.array, axis, 0)
    rows = array.reshape(len(array), math.prod(array.shape[1:]))
    starts = np.ones(len(array), bool)
    starts[1:] = (rows[1:] != rows[:-1]).any(1)
    values = unique_consecutive_record(
        input, np.ascontiguousarray(np.moveaxis(array[starts], 0, axis))
    )
    inverse = (np.cumsum(starts) - 1).reshape(input.shape if dim is None else (-1,))
    counts = np.diff(np.flatnonzero(starts), append=len(array))
    return with_positions(values, (return_inverse, inverse), (return_counts, counts))


@public()
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """Count the occurrences of each non-negative integer (torch.bincount)."""
    if input.dtype.category != dtypes.INTEGER:
        raise NotImplementedError(
            f"\"bincount_cpu\" not implemented for '{input.dtype.scalar_type}'"
        )
    if input.ndim != 1 or (input.numel() and int(input.array.min()) < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if weights is None:
        return wrap(np.bincount(input.array, None, minlength))
    if not input.numel():
        return wrap(np.zeros(minlength, np.int64))
    if weights.ndim != 1 or weights.numel() != input.numel():
        raise RuntimeError("weights should be 1-d and have the same length as input")
    counts = np.bincount(input.array, weights.array, minlength)
    return wrap(counts.astype(np.float32 if weights.dtype is dtypes.float32 else np.float64))


def bounds_of(array: Array, low: float, high: float) -> tuple[float, float]:
    if low == high == 0 and array.size:
        low = float(array.min())
        high = float(array.max())
    if low == high:
        low = low - 1
        high = high + 1
    if low > high:
        raise RuntimeError("torch.histc: max must be larger than min")
    return low, high


@public()
def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """Histogram with equal bins between min and max, by default the data's range (torch.histc)."""
    if bins <= 0:
        raise RuntimeError("bins must be > 0")
    counts, _ = np.histogram(input.array, bins, bounds_of(input.array, min, max))
    return wrap(counts.astype(input.dtype.np))


@public()
def histogram(
    input: Tensor,
    bins: int | Tensor,
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Result:
    """Histogram: counts (or densities) and the bin edges (torch.histogram)."""
    need_float(input, "histogramdd")
    edges = (
        raw_of(bins)
        if isinstance(bins, Tensor)
        else np.linspace(*limits_of(input.array, range, 0), bins + 1)
    )
    counts, _ = np.histogram(
        input.array, edges.astype(input.dtype.np), weights=raw_of(weight), density=density
    )
    kind = input.dtype.np
    return result_type("histogram", "hist", "bin_edges")(
        (wrap(counts.astype(kind)), wrap(edges.astype(kind)))
    )


@public(forms="f")
def histogramdd(
    input: Tensor,
    bins: int | Sequence[int | Tensor],
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Result:
    """Histogram of rows (..., D) in D-dimensional bins: counts (or densities) and bin edges
    (torch.histogramdd).
    """
    if input.ndim < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    need_float(input, "histogramdd")
    points = input.array.reshape(-1, input.shape[-1])
    edges = edges_of(points, bins, range)
    if weight is not None and tuple(weight.shape) != tuple(input.shape[:-1]):
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor "
            f"excluding its innermost dimension, but got input with shape {list(input.shape)} and weight with shape "
            f"{list(weight.shape)}"
        )
    weights = None if weight is None else weight.array.reshape(-1)
    counts, _ = np.histogramdd(points, edges, weights=weights, density=density)
    kind = input.dtype.np
    return result_type("histogramdd", "hist", "bin_edges")(
        (wrap(counts.astype(kind)), tuple(wrap(e.astype(kind)) for e in edges))
    )


def edges_of(
    points: Array, bins: int | Sequence[int | Tensor], limits: Sequence[float] | None
) -> list[Array]:
    """Return the bin edges of each dim, from one bin count, one count per dim, or the edges."""
    count = points.shape[1]
    several = [bins] * count if isinstance(bins, int) else list(bins)
    if len(several) != count:
        raise RuntimeError(
            "histogramdd: The size of bins must be equal to the innermost dimension of the input."
        )
    if any(isinstance(edges, Tensor) for edges in several):
        return [raw_of(edges) for edges in several]
    if limits is not None and len(limits) != 2 * count:
        raise RuntimeError(
            f"torch.histogramdd: for a {count}-dimensional histogram range should have {2 * count} elements, but got "
            f"{len(limits)}"
        )
    for dim, n in enumerate(several):
        if n <= 0:
            raise RuntimeError(
                f"torch.histogram(): bins must be > 0, but got {n} for dimension {dim}"
            )
    pairs = [None] * count if limits is None else list(zip(limits[::2], limits[1::2], strict=True))
    return [
        np.linspace(*limits_of(points[:, i], pair, i), n + 1).astype(points.dtype)
        for i, (n, pair) in enumerate(zip(several, pairs, strict=True))
    ]


def limits_of(values: Array, limits: Sequence[float] | None, dim: int) -> tuple[float, float]:
    """Return the given outer edges, else the minimum and maximum of the values; equal ones are
    moved 1/2 outward.
    """
    if limits is not None:
        low, high = (float(v) for v in limits)
    else:
        low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)
    if not (np.isfinite(low) and np.isfinite(high)):
        raise RuntimeError(
            f"torch.histogramdd: dimension {dim}'s range [{low:g}, {high:g}] is not finite"
        )
    if low > high:
        raise RuntimeError(
            f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} for dimension {dim}"
        )
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def search(boundaries: Tensor, values: Tensor | float, right: bool, out_int32: bool) -> Tensor:
    side: Any = "right" if right else "left"
    sorted_values = raw_of(boundaries)
    at = np.asarray(raw_of(values))
    if sorted_values.ndim == 1:
        result = np.searchsorted(sorted_values, at, side)
    else:
        count = math.prod(at.shape[:-1])
        rows = zip(
            sorted_values.reshape(count, sorted_values.shape[-1]),
            at.reshape(count, at.shape[-1]),
            strict=True,
        )
        parts = [np.searchsorted(r, v, side) for r, v in rows]
        result = np.concatenate(parts or [at]).reshape(at.shape)
    return wrap(np.asarray(result).astype(np.int32 if out_int32 else np.int64))


@public(forms="f")
def searchsorted(
    sorted_sequence: Tensor,
    input: Tensor | float,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """Index at which each value would be inserted into the sorted last dim (torch.searchsorted)."""
    if side not in (None, "left", "right"):
        raise RuntimeError(
            f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}"
        )
    if right and side == "left":
        raise RuntimeError(
            "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True"
        )
    check_boundaries(sorted_sequence, input)
    if sorter is not None:
        check_sorter(sorted_sequence, sorter)
        sorted_sequence = wrap(np.take_along_axis(sorted_sequence.array, sorter.array, -1))
    return search(sorted_sequence, input, right or side == "right", out_int32)


def check_boundaries(boundaries: Tensor, values: Tensor | float) -> None:
    """Raise RuntimeError unless each row of values has its own sorted row, or there is only one
    row.
    """
    if not boundaries.ndim:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should have positive dimension, but got 0 dimension"
        )
    if boundaries.ndim == 1:
        return
    if not isinstance(values, Tensor) or not values.ndim:
        raise RuntimeError(
            "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, but we got "
            f"boundaries tensor dim({boundaries.ndim}) and input value's dim(0) numel(1)"
        )
    if tuple(values.shape[:-1]) != tuple(boundaries.shape[:-1]):
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
            f"tensor and input value tensor must match, but we got boundaries tensor {list(boundaries.shape)} and "
            f"input value tensor {list(values.shape)}"
        )


def check_sorter(boundaries: Tensor, sorter: Tensor) -> None:
    if tuple(sorter.shape) != tuple(boundaries.shape):
        raise RuntimeError(
            "torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor "
            f"{list(boundaries.shape)}and got sorter tensor {list(sorter.shape)}"
        )
    if sorter.dtype is not dtypes.int64:
        raise RuntimeError(
            f"torch.searchsorted(): sorter must be a tensor of long dtype but got dtype {sorter.dtype.scalar_type}"
        )
    array = sorter.shared()
    if array.size and (int(array.min()) < 0 or int(array.max()) >= boundaries.shape[-1]):
        raise RuntimeError("torch.searchsorted(): sorter index out of range")


@public(forms="f")
def bucketize(
    input: Tensor | float, boundaries: Tensor, *, out_int32: bool = False, right: bool = False
) -> Tensor:
    """Index of the bucket of each value between sorted boundaries (torch.bucketize)."""
    if boundaries.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    return search(boundaries, input, right, out_int32)


@public(forms="f")
def isin(
    elements: Tensor | float,
    test_elements: Tensor | float,
    *,
    assume_unique: bool = False,
    invert: bool = False,
) -> Tensor:
    """Test which elements are among the test elements (torch.isin)."""
    return wrap(np.isin(raw_of(elements), raw_of(test_elements), assume_unique, invert))


def _triangle(name: str, indices: Callable[[int, int, int], tuple[Array, Array]]) -> None:
    def function(
        row: int,
        col: int,
        offset: int = 0,
        *,
        dtype: dtypes.dtype | None = None,
        device: object = None,
    ) -> Tensor:
        positions = np.stack(indices(row, offset, col))
        return finish(positions.astype(np_of(dtype, dtypes.int64)), place=device)

    function.__doc__ = f"Row and column indices of the triangle, as a 2 x N tensor (torch.{name})."
    public(name, forms="f")(function)


_triangle("tril_indices", lambda n, k, m: np.tril_indices(n, k, m))
_triangle("triu_indices", lambda n, k, m: np.triu_indices(n, k, m))


@public(forms="f")
def unravel_index(indices: Tensor, shape: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Convert flat indices to a tuple of one index tensor for each dim (torch.unravel_index)."""
    return tuple(
        wrap(i)
        for i in np.unravel_index(
            indices.array, (shape,) if isinstance(shape, int) else tuple(shape)
        )
    )


@public()
def argwhere(input: Tensor) -> Tensor:
    """Indices of the non-zero elements, one row for each (torch.argwhere)."""
    return wrap(np.argwhere(input.array))


@public()
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """argwhere truncated or padded to `size` rows (torch.nonzero_static)."""
    result = np.full((size, input.ndim), fill_value, np.int64)
    rows = np.argwhere(input.array)[:size]
    result[: len(rows)] = rows
    return wrap(result)
