"""Out-of-place writes by index: scatter_reduce, index_fill, index_copy, index_reduce,
masked_scatter, put.
"""

from __future__ import annotations

from gradtrace.engine.calls.function import delayed_error
from gradtrace.engine.data import dtypes
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import XP, Array, NumpyDtype, Operand, Shape
from gradtrace.engine.operators.broadcast import broadcast
from gradtrace.engine.operators.op import Derivative, d, gather_op
from gradtrace.engine.operators.rounding import fitting
from gradtrace.ops.api import Choice, check_dim, public
from gradtrace.ops.arguments import in_both_forms
from gradtrace.ops.index.gathering import gathered
from gradtrace.ops.index.index_checks import (
    copied_index,
    filled_index,
    flat_positions,
    scatter_index,
    source_for,
)
from gradtrace.ops.index.records import along, grid, written
from gradtrace.ops.shape.expansion import broadcast_shapes

SEVERAL_ZEROS = {
    name: f"{name}(): Double backward is unsupported for {of} when >1 zeros in {of} are scattered to the same position "
    "in self"
    for name, of in (("scatter_reduce", "src"), ("index_reduce", "source"))
}
UFUNC = {"sum": "add", "mean": "add", "prod": "multiply", "amax": "maximum", "amin": "minimum"}


def neutral(reduce: str, dtype: NumpyDtype) -> float:
    """Return the neutral element of a reduction: the start value where `include_self` is False."""
    if reduce in ("sum", "mean"):
        return 0
    if reduce == "prod":
        return 1
    info = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
    if dtype.kind == "f":
        return -np.inf if reduce == "amax" else np.inf
    return info.min if reduce == "amax" else info.max


def write_counts(
    shape: Shape, dim: int, index: Array, include_self: bool, dtype: NumpyDtype
) -> Array:
    """Return how many values are reduced into each element, at least 1."""
    n = np.full(shape, 1 if include_self else 0, dtype)
    np.add.at(n, grid(index, dim), 1)
    return np.maximum(n, 1)


def scatter_reduce_kernel(
    a: Array, src: Array, dim: int, index: Array, reduce: str, include_self: bool
) -> Array:
    out = np.array(a)
    where = grid(index, dim)
    if not include_self:
        out[where] = neutral(reduce, out.dtype)
    getattr(np, UFUNC[reduce]).at(out, where, src[tuple(slice(0, n) for n in index.shape)])
    if reduce == "mean":
        n = write_counts(out.shape, dim, index, include_self, out.dtype)
        out = out / n if out.dtype.kind == "f" else out // n
    return out


def spread(index: Array, dim: int, shape: Shape) -> Array:
    """Return the index of scatter_reduce for that of index_reduce; `shape` is the source's."""
    sizes = [-1 if i == dim else 1 for i in range(len(shape))]
    return np.broadcast_to(index.reshape(sizes), tuple(shape))


def index_reduce_kernel(
    a: Array, src: Array, dim: int, index: Array, reduce: str, include_self: bool
) -> Array:
    return scatter_reduce_kernel(a, src, dim, spread(index, dim, src.shape), reduce, include_self)


def one_where(xp: XP, condition: Operand, like: Operand) -> Operand:
    return xp.where(condition, xp.ones_like(like), xp.zeros_like(like))


def reduce_grads(
    xp: XP,
    g: Operand,
    out: Operand,
    a: Operand,
    src: Operand,
    dim: int,
    index: Array,
    reduce: str,
    own: bool,
    name: str,
) -> tuple[Operand, Operand]:
    """Return the gradients of a and src, following PyTorch's scatter_reduce_backward
    (FunctionsManual.cpp).
    """
    if name == "index_reduce":
        index = spread(index, dim, tuple(src.shape))
    if reduce == "sum":
        of_a = g
        of_src = xp.gather(g, dim, index)
    elif reduce == "mean":
        share = xp.times_array(
            g, 1 / write_counts(tuple(g.shape), dim, index, own, np.dtype(np.float64))
        )
        of_a = share
        of_src = xp.gather(share, dim, index)
    elif reduce == "prod":
        of_a, of_src = prod_grads(xp, g, out, a, src, dim, index, own, name)
    else:
        a_hit = one_where(xp, a == out, a)
        src_hit = one_where(xp, src == xp.gather(out, dim, index), src)
        share = g / xp.scatter_add(a_hit, src_hit, dim, index)
        of_a = a_hit * share
        of_src = src_hit * xp.gather(share, dim, index)
    if not own:
        of_a = xp.scatter_value(of_a, dim, index, 0.0)
    return of_a, of_src


def prod_grads(
    xp: XP,
    g: Operand,
    out: Operand,
    a: Operand,
    src: Operand,
    dim: int,
    index: Array,
    own: bool,
    name: str,
) -> tuple[Operand, Operand]:
    """Return the gradients of a and src for "prod": by division, or a separate product where one
    factor is zero.

    If several factors are zero, differentiating the gradient of src again raises RuntimeError: it
    would be wrong.
    """
    filled = xp.where(a == 0, xp.ones_like(a), a)
    of_a = g * xp.scatter_reduce(filled, src, dim, index, "prod", own) / filled
    zero = src == 0
    how_many = xp.gather(
        xp.scatter_add(xp.zeros_like(a), one_where(xp, zero, src), dim, index), dim, index
    )
    single = xp.logical_and(zero, how_many == 1)
    without = xp.scatter_reduce(
        a, xp.where(single, xp.ones_like(src), src), dim, index, "prod", own
    )
    divided = xp.gather(g * out, dim, index) / xp.where(zero, xp.ones_like(src), src)
    of_src = xp.where(single, xp.gather(g * without, dim, index), divided)
    if isinstance(of_src, Tensor) and bool(xp.logical_and(zero, how_many > 1).any()):
        (of_src,) = delayed_error(SEVERAL_ZEROS[name], (of_src,))
    return of_a, of_src


def fill_at(a: Array, value: Array | float, dim: int, index: Array) -> Array:
    return written(a, along(dim, index.reshape(-1)) if a.ndim else ..., value)


def distinct(index: Array, shape: Shape, dim: int) -> Array:
    """Return the distinct indices, made non-negative."""
    return np.unique(index % (shape[dim] if shape else 1)) if index.size else index


def reduced(name: str) -> Derivative:
    """Return the derivative of scatter_reduce or index_reduce."""
    return d(
        "self src index out",
        lambda xp, wanted, g, out, self, src, dim, index, reduce, own: [
            x if w else None
            for x, w in zip(
                reduce_grads(xp, g, out, self, src, dim, index, reduce, own, name),
                wanted,
                strict=True,
            )
        ],
    )


def masked_scatter_kernel(a: Array, source: Array, mask: Array) -> Array:
    a, mask = np.broadcast_arrays(a, mask)
    out = np.array(a)
    out[mask] = source.reshape(-1)[: int(mask.sum())]
    return out


def as_source(xp: XP, taken: Operand, shape: Shape) -> Operand:
    """Return the gradient of masked_scatter's source: that of the elements taken, then zeros for
    the others.
    """
    return xp.reshape(xp.fit(taken, (int(np.prod(shape)),)), shape)


def put_kernel(a: Array, source: Array, index: Array, accumulate: bool) -> Array:
    flat = written(a.reshape(-1), index, source.reshape(index.shape), "add" if accumulate else "")
    return flat.reshape(a.shape)


# fmt: off
scatter_reduce_record = gather_op("scatter_reduce(self, src; dim, index, reduce, include_self)", scatter_reduce_kernel,
    "out[..., index[..., i, ...], ...] = reduce(self[..., index[..., i, ...], ...], src[..., i, ...])",
    overlap="reads", joint=reduced("scatter_reduce"))
index_reduce_record = gather_op("index_reduce(self, src; dim, index, reduce, include_self)", index_reduce_kernel,
    "out[..., index[i], ...] = reduce(self[..., index[i], ...], src[..., i, ...])", joint=reduced("index_reduce"))
index_fill_record = gather_op("index_fill(self; dim, index, value)",
    lambda a, dim, index, value: fill_at(a, fitting(value, a.dtype), dim, index), "out[..., index[i], ...] = value",
    overlap="idempotent", self=d("index", "index_fill(grad, dim, index, 0)"))
index_fill_tensor = gather_op("index_fill_tensor(self, value; dim, index)", fill_at, "out[..., index[i], ...] = value",
    overlap="idempotent", node="IndexFillBackward1", self=d("index", "index_fill(grad, dim, index, 0)"),
    value=d("index", lambda xp, g, out, self, value, dim, index:
        xp.index_select(g, dim, distinct(index, tuple(g.shape), dim))))
index_copy_record = gather_op("index_copy(self, source; dim, index)", fill_at,
    "out[..., index[i], ...] = source[..., i, ...]",
    overlap="reads", self=d("index", "index_fill(grad, dim, index, 0)"),
    source=d("index", "index_select(grad, dim, index)"))
masked_scatter_record = gather_op("masked_scatter(self, source; mask)", masked_scatter_kernel,
    "out[mask] = source; out[not mask] = self[not mask]",
    self=d("mask", lambda xp, g, out, self, source, mask: xp.where(mask, xp.zeros_like(g), g)),
    source=d("~source mask", lambda xp, g, out, self, source, mask:
        as_source(xp, xp.index(g, (np.broadcast_to(mask, tuple(g.shape)),)), tuple(source.shape))))
put_record = gather_op("put(self, source; index, accumulate)", put_kernel,
    "out[index[i]] = self[index[i]] + source[i] if accumulate else source[i]", overlap="reads",
    self=d("index", lambda xp, g, out, self, source, index, accumulate:
        g if accumulate else xp.put(g, xp.zeros_like(xp.take_flat(g, index)), index, False)),
    source=d("~source index", lambda xp, g, out, self, source, index, accumulate:
        xp.reshape(xp.take_flat(g, index), tuple(source.shape))))
# fmt: on


# ---- public names


@in_both_forms("scatter_reduce")
def choose_scatter_reduce(
    input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Choice:
    """Reduce the values of src into the elements that index selects (torch.scatter_reduce)."""
    if reduce not in UFUNC:
        raise RuntimeError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
        )
    dim = check_dim(dim, input.ndim)
    index = scatter_index(input, dim, index, src)
    src = source_for(index, src) if index.numel() else src
    return scatter_reduce_record, (input, src, dim, index, reduce, include_self)


@in_both_forms("index_fill")
def choose_index_fill(input: Tensor, dim: int, index: Tensor, value: Tensor | float) -> Choice:
    """Return a copy with a value at the given indices (torch.index_fill)."""
    if isinstance(value, Tensor):
        if value.ndim:
            raise RuntimeError(
                "index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                f"{value.ndim} dimension(s)."
            )
        dim = check_dim(dim, input.ndim)
        return index_fill_tensor, (input, value, dim, filled_index(input, dim, index))
    dim = check_dim(dim, input.ndim)
    return index_fill_record, (input, dim, filled_index(input, dim, index), value)


@in_both_forms("index_copy")
def choose_index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Choice:
    """Return a copy with slices of source at the indices (torch.index_copy)."""
    dim = check_dim(dim, input.ndim)
    return index_copy_record, (input, source, dim, copied_index(input, dim, index, source))


@in_both_forms("index_reduce")
def choose_index_reduce(
    input: Tensor,
    dim: int,
    index: Tensor,
    source: Tensor,
    reduce: str,
    *,
    include_self: bool = True,
) -> Choice:
    """Reduce slices of source into the given indices (torch.index_reduce)."""
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(
            f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}."
        )
    dim = check_dim(dim, input.ndim)
    return index_reduce_record, (input, source, dim, index, reduce, include_self)


@in_both_forms("masked_scatter")
def choose_masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Choice:
    """Return a copy with the elements of source, in order, where the mask is True
    (torch.masked_scatter).
    """
    if mask.dtype.name != "bool":
        raise RuntimeError(
            f"masked_scatter_ only supports boolean masks, but got mask with dtype {mask.dtype.scalar_type}"
        )
    if input.dtype is not source.dtype:
        raise RuntimeError(
            "masked_scatter: expected self and source to have same dtypes but got"
            f"{input.dtype.scalar_type} and {source.dtype.scalar_type}"
        )
    full = np.broadcast_to(mask.array, broadcast(tuple(mask.shape), tuple(input.shape)))
    if int(full.sum()) > source.numel():
        raise RuntimeError("Number of elements of source < number of ones in mask")
    return masked_scatter_record, (input, source, mask)


@in_both_forms("put")
def choose_put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Choice:
    """Return a copy with source at positions of the flattened tensor (Tensor.put)."""
    if input.dtype is not source.dtype:
        raise RuntimeError(
            "put_(): self and source expected to have the same dtype, but got self.dtype = "
            f"{input.dtype.scalar_type} and source.dtype = {source.dtype.scalar_type}"
        )
    positions = flat_positions("put_", input, index)
    if positions.numel() != source.numel():
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source.numel()}, index.numel() = {positions.numel()}"
        )
    return put_record, (input, source, positions, accumulate)


@public()
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """Select the entries at `indices` along dim, with shapes broadcast (torch.take_along_dim)."""
    if dim is not None and indices.dtype is not dtypes.int64:
        raise RuntimeError(
            f"torch.take_along_dim(): dtype of indices should be Long but got {indices.dtype.scalar_type}"
        )
    if dim is not None and input.ndim != indices.ndim:
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{input.ndim} dimensions for input, and {indices.ndim} dimensions for indices"
        )
    if dim is None:
        # As in PyTorch, negative indices are not counted from the end here.
        return gathered(input.view(-1), 0, indices.view(-1))
    dim = check_dim(dim, input.ndim)

    def without(shape: Shape) -> list[int]:
        return [1 if i == dim else n for i, n in enumerate(shape)]

    common = list(broadcast_shapes(without(input.shape), without(indices.shape)))
    wide = [input.shape[i] if i == dim else n for i, n in enumerate(common)]
    index = [indices.shape[i] if i == dim else n for i, n in enumerate(common)]
    return gathered(
        input.expand(wide),
        dim,
        non_negative(indices.expand(index), input.shape[dim] if input.ndim else 1),
    )


def non_negative(indices: Tensor, n: int) -> Tensor:
    """Return the indices with those from -n to -1 counted from the end."""
    array = indices.shared()
    return Tensor._wrap(np.where((array < 0) & (array >= -n), array + n, array))
