"""Records of indexing: `x[...]`, `x[...] = v`, and the functions that gather by index tensors.

Basic indices (ints, slices, None, Ellipsis) are views, applied one at a time as in PyTorch, so the
last one is the grad_fn. Lists, integer tensors and masks copy (IndexBackward0).
"""

from __future__ import annotations

from gradtrace.annotations import Any
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.types import Array, Kernel, Shape
from gradtrace.engine.operators.op import PASS_ON, d, gather_op, structural_op, view_op
from gradtrace.engine.operators.strided_view import empty_in_order_of


def along(dim: int, item: Any) -> tuple[Any, ...]:
    return (slice(None),) * dim + (item,)


def place_along(g: Array, shape: Shape, dim: int, item: Array | slice | int) -> Array:
    """Return zeros of `shape` with `g` at the positions that `item` selects along `dim`."""
    out = np.zeros(shape, g.dtype)
    out[along(dim, item)] = g
    return out


def take_entries(a: Array, index_array: Array, dim: int) -> Array:
    """Gather the entries at `index_array` along `dim`; a 0-d array counts as one entry."""
    if not index_array.size:
        return np.zeros(index_array.shape, a.dtype)
    if not index_array.ndim and a.ndim:
        return np.array(a[index_array])
    return (
        np.take_along_axis(a, index_array, dim)
        if a.ndim
        else np.array(np.broadcast_to(a, index_array.shape))
    )


def take_slices(a: Array, dim: int, index_array: Array) -> Array:
    """Select the slices at a 1-d index along `dim`; return a 0-d array unchanged."""
    return np.take(a, np.atleast_1d(index_array), dim) if a.ndim else np.array(a)


# The derivative of an operand that holds only zeros; PyTorch's graph has a node for it.
NO_GRAD = d("", lambda *_: None)


def add_at(shape: Shape, indices: Any, g: Array) -> Array:
    """Return zeros of `shape` with the elements of `g` added at an index."""
    if not len(shape):
        return np.asarray(g.sum(dtype=g.dtype))
    out = np.zeros(shape, g.dtype)
    np.add.at(out, indices, g)
    return out


def index_kernel(a: Array, indices: tuple[Any, ...]) -> Array:
    """Return `a[indices]` with the order of dims in memory that PyTorch gives it."""
    selected = a[indices]
    if not isinstance(selected, np.ndarray) or is_in_order(a, indices, selected):
        return selected
    laid = empty_in_order_of(
        selected.shape, selected.dtype, operand_strides(a, indices, selected.shape)
    )
    if laid.strides == selected.strides:
        return selected
    laid[...] = selected
    return laid


def is_in_order(a: Array, indices: tuple[Any, ...], entries: Array) -> bool:
    """Return whether one index in front picks whole entries in row-major order, as most do: then
    both orders agree.
    """
    return (
        len(indices) == 1
        and a.flags.c_contiguous
        and indices[0].flags.c_contiguous
        and 1 not in entries.shape
    )


def operand_strides(a: Array, indices: tuple[Any, ...], shape: Shape) -> list[Shape]:
    """Return the strides of `a` and of each index in the result's dims; 0 where they are broadcast
    to its shape.
    """
    kept: list[int] = []
    arrays: list[Array] = []
    places = []
    dim = 0
    for place, item in enumerate((*indices, *[slice(None)] * a.ndim)):
        if dim >= a.ndim:
            break
        if isinstance(item, slice):
            kept.append(a.strides[dim])
            dim += 1
        else:
            arrays += np.nonzero(item) if item.dtype == bool else [item]
            places.append(place)
            dim += item.ndim if item.dtype == bool else 1
    before = places[0] if places[-1] - places[0] == len(places) - 1 else 0
    strides = [(*kept[:before], *(0,) * (len(shape) - len(kept)), *kept[before:])]
    for array in np.broadcast_arrays(*arrays):
        placed = array.reshape((1,) * before + array.shape + (1,) * (len(kept) - before))
        strides.append(
            tuple(step if n == m else 0 for step, n, m in zip(placed.strides, placed.shape, shape))
        )
    return strides


def written(a: Array, where: Any, values: Any, ufunc: str = "") -> Array:
    """Return a copy of `a` with values at an index; a ufunc ("add") combines them, one by one, with
    what is there.
    """
    out = np.array(a)
    if ufunc:
        getattr(np, ufunc).at(out, where, values)
    else:
        out[where] = values
    return out


def put_kernel(a: Array, values: Array, indices: tuple[Any, ...], accumulate: bool) -> Array:
    target = a[indices].shape
    try:
        values = np.broadcast_to(values, target)
    except ValueError:
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to indexing result of "
            f"shape {list(target)}"
        ) from None
    return written(a, indices, values, "add" if accumulate else "")


def fit_kernel(a: Array, shape: Shape) -> Array:
    """Crop to `shape`, or pad with zeros at the end."""
    if a.shape == tuple(shape):
        return a
    out = np.zeros(shape, a.dtype)
    common = tuple(slice(0, min(n, m)) for n, m in zip(a.shape, shape, strict=True))
    out[common] = a[common]
    return out


def grid(index_array: Array, dim: int) -> tuple[Any, ...]:
    """Return index arrays g for which a[g] gathers from a at `index_array` along `dim`, as
    torch.gather does.
    """
    full = list(np.ogrid[tuple(slice(0, n) for n in index_array.shape)]) if index_array.ndim else []
    if full:
        full[dim] = index_array
    return tuple(full)


def scatter_kernel(a: Array, src: Array, dim: int, index_array: Array, ufunc: str = "") -> Array:
    return written(
        a, grid(index_array, dim), src[tuple(slice(0, n) for n in index_array.shape)], ufunc
    )


# With the Ellipsis numpy returns a view even of a single element, not a scalar.
# fmt: off
select = view_op("select(self; dim, index)", lambda a, dim, index: a[(*along(dim, index), ...)],
    "out = self[..., index, ...]", zero="index", self="select_place(grad, self.shape, dim, index)")
select_place = structural_op("select_place(self; shape, dim, index)", place_along,
    "out[..., i, ...] = self if i == index else 0",
    node="SelectBackwardBackward0", self="select(grad, dim, index)")
slice_record = view_op("slice(self; dim, start, stop, step)",
    lambda a, dim, start, stop, step: a[along(dim, slice(start, stop, step))],
    "out[..., i, ...] = self[..., start + step * i, ...]", zero="index",
    self="slice_place(grad, self.shape, dim, start, stop, step)")
slice_place = structural_op("slice_place(self; shape, dim, start, stop, step)",
    lambda g, shape, dim, start, stop, step: place_along(g, shape, dim, slice(start, stop, step)),
    "out[..., start + step * i, ...] = self[..., i, ...]", node="SliceBackwardBackward0",
    self="slice(grad, dim, start, stop, step)")
index = gather_op("index(self; indices)", index_kernel, "out[i] = self[indices[i]]", zero="index",
    self=d("~self indices", "index_place(None, grad, self.shape, indices)"))
index_place = gather_op("index_place(onto, values; shape, indices)",
    lambda onto, g, shape, indices: add_at(shape, indices, g), "out[j] = sum[i](values[i] if indices[i] == j else 0)",
    node="IndexPutImplBackward0",
    onto=NO_GRAD, values=d("indices", "index(grad, indices)"))
index_rows = gather_op("index_rows(onto, source; shape, dim, index)",
    lambda onto, g, shape, dim, index: add_at(shape, along(dim, np.atleast_1d(index)), g),
    "out[..., j, ...] = sum[i](source[..., i, ...] if index[i] == j else 0)", node="IndexAddBackward0",
    onto=NO_GRAD, source=d("index", "index_select(grad, dim, index)"))
index_put = gather_op("index_put(self, values; indices, accumulate)",
    put_kernel,
    "out[indices[i]] = self[indices[i]] + values[i] if accumulate else values[i]", overlap="idempotent reads",
    self=d("indices", lambda xp, g, out, self, values, indices, accumulate:
        g if accumulate else xp.index_put(g, xp.zeros_like(xp.index(g, indices)), indices, False)),
    values=d("indices", "index(grad, indices)"))
gather = gather_op("gather(self; dim, index)", lambda a, dim, index: take_entries(narrowed(a, index, dim), index, dim),
    "out[..., i, ...] = self[..., index[..., i, ...], ...]", zero="index",
    self=d("self index", "gather_place(None, grad, self.shape, dim, index)"))
# fmt: on


def put_entries(onto: object, g: Array, shape: Shape, dim: int, index_array: Array) -> Array:
    """Return zeros of `shape` with the entries of `g` at `index_array` along `dim`, where each
    position occurs once.
    """
    out = np.zeros(shape, g.dtype)
    out[grid(index_array, dim)] = g
    return out


def _place(name: str, node: str, kernel: Kernel) -> None:
    gather_op(f"{name}(onto, src; shape, dim, index)", kernel,
        "out[..., j, ...] = sum[i](src[..., i, ...] if index[..., i, ...] == j else 0)", node=node,
        onto=NO_GRAD,
        src=d("index", lambda xp, g, out, onto, src, shape, dim, index: xp.gather(g, dim, index)))  # fmt: skip


_place("gather_place", "ScatterAddBackward0",
    lambda onto, g, shape, dim, index: add_at(shape, grid(index, dim), g))  # fmt: skip
_place("order_place", "ScatterBackward0", put_entries)
# fmt: off
scatter = gather_op("scatter(self, src; dim, index)", scatter_kernel,
    "out[..., index[..., i, ...], ...] = src[..., i, ...]", overlap="reads", c_order=True,
    self=d("index", "scatter_value(grad, dim, index, 0.0)"), src=d("index", "gather(grad, dim, index)"))
scatter_value = gather_op("scatter_value(self; dim, index, value)",
    lambda a, dim, index, value: written(a, grid(index, dim), value),
    "out[..., index[..., i, ...], ...] = value", c_order=True, node="ScatterBackward1",
    self=d("index", "scatter_value(grad, dim, index, 0.0)"))
scatter_add = gather_op("scatter_add(self, src; dim, index)",
    lambda a, src, dim, index: scatter_kernel(a, src, dim, index, "add"),
    "out[..., j, ...] = self[..., j, ...] + sum[i](src[..., i, ...] if index[..., i, ...] == j else 0)",
    overlap="reads", c_order=True, self=PASS_ON, src=d("index", "gather(grad, dim, index)"))
fit = structural_op("fit(self; shape)", fit_kernel, "out[i] = self[i] if i < n else 0",
    node="SliceBackward0", self="fit(grad, self.shape)")
index_select = gather_op("index_select(self; dim, index)", take_slices,
    "out[..., i, ...] = self[..., index[i], ...]", zero="index",
    self=d("~self index", "index_rows(None, grad, self.shape, dim, index)"))
# fmt: on


def narrowed(a: Array, index_array: Array, dim: int) -> Array:
    """Return `a` cropped to the sizes of the index in all dims except `dim`."""
    if a.ndim == 0 or not index_array.size:  # an empty index may have any number of dims
        return a
    bounds = tuple(
        slice(None) if i == dim else slice(0, n) for i, n in enumerate(index_array.shape)
    )
    return a[bounds]
