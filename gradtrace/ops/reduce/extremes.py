"""Reductions that select elements: max, min, median, mode, and the cumulative extremes.

Without `dim`, tied extremes share the gradient evenly; with `dim`, the element whose index is
returned gets all of it. amax, amin and aminmax share the gradient within each reduced group.
"""

from __future__ import annotations

import math

from gradtrace import ops
from gradtrace.annotations import Any, Sequence
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.state import state
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import XP, Array, Ints, Kernel, Operand
from gradtrace.engine.operators.op import Op, d, gather_op, reduction_op, scan_op
from gradtrace.ops.api import functions, is_int
from gradtrace.ops.arguments import add_parts, kept_shape, one_dim, some_dims, torch_function
from gradtrace.ops.index.records import NO_GRAD
from gradtrace.ops.reduce.sums import broadcast_back, fold
from gradtrace.ops.results import Result, result_type, values_and_indices

Pair = tuple[Any, Any]


# ---- kernels


def chosen(a: Array, index: Array, dim: int, keepdim: bool) -> Pair:
    """Return the values at `index` along `dim`, and `index`; both without `dim` unless keepdim."""
    if not a.ndim:
        return a.copy(), index
    values = np.take_along_axis(a, index, axis=dim)
    return (values, index) if keepdim else (values.squeeze(dim), index.squeeze(dim))


def extreme_along(search: str) -> Kernel:
    def kernel(a: Array, dim: int, keepdim: bool) -> Pair:
        return chosen(
            a,
            getattr(np, search)(a, axis=dim if a.ndim else None, keepdims=a.ndim > 0),
            dim,
            keepdim,
        )

    return kernel


def middle_order(a: Array, ignore_nan: bool) -> Array:
    """Return the index of the lower median along the last axis (keepdim), or of a nan unless
    `ignore_nan`.
    """
    n = a.shape[-1]
    order = np.argsort(a, axis=-1, kind="stable")
    if a.dtype.kind != "f":
        return order[..., (n - 1) // 2][..., None]
    nans = np.count_nonzero(np.isnan(a), axis=-1, keepdims=True)
    if ignore_nan:
        return np.take_along_axis(order, (np.maximum(n - nans, 1) - 1) // 2, axis=-1)
    middle = np.full_like(nans, (n - 1) // 2)
    return np.take_along_axis(order, np.where(nans > 0, n - nans, middle), axis=-1)


def median_along(ignore_nan: bool) -> Kernel:
    def kernel(a: Array, dim: int, keepdim: bool) -> Pair:
        if not a.ndim:
            return a.copy(), np.zeros((), np.int64)
        index = np.moveaxis(middle_order(np.moveaxis(a, dim, -1), ignore_nan), -1, dim)
        return chosen(a, index, dim, keepdim)

    return kernel


def median_of_all(ignore_nan: bool) -> Kernel:
    def kernel(a: Array) -> Array:
        flat = a.reshape(-1)
        if not flat.size:
            return np.asarray(math.nan).astype(a.dtype)
        return flat[middle_order(flat, ignore_nan)][0]

    return kernel


def mode_along(a: Array, dim: int, keepdim: bool) -> Pair:
    if not a.ndim:
        return a.copy(), np.zeros((), np.int64)
    moved = np.moveaxis(a, dim, -1)
    order = np.argsort(moved, axis=-1, kind="stable")
    ordered = np.take_along_axis(moved, order, axis=-1)
    place = np.arange(moved.shape[-1])
    starts = np.ones(ordered.shape, bool)
    starts[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
    run = place - np.maximum.accumulate(np.where(starts, place, 0), axis=-1)
    index = np.take_along_axis(order, np.argmax(run, axis=-1, keepdims=True), axis=-1)
    return chosen(a, np.moveaxis(index, -1, dim), dim, keepdim)


def running_extreme(ufunc: str) -> Kernel:
    def kernel(a: Array, dim: int) -> Pair:
        if not a.ndim:
            return a.copy(), np.zeros((), np.int64)
        values = getattr(np, ufunc).accumulate(a, axis=dim)
        here = np.arange(a.shape[dim]).reshape([-1 if i == dim else 1 for i in range(a.ndim)])
        # A later equal value, or a later nan, takes over.
        taken = (a == values) | (a != a)
        return values, np.maximum.accumulate(np.where(taken, here, 0), axis=dim)

    return kernel


def lowest_and_highest(a: Array, dims: Ints | None, keepdim: bool) -> Pair:
    return fold("minimum", a, dims, keepdim), fold("maximum", a, dims, keepdim)


# ---- rules


def even_grad(xp: XP, g: Operand, out: Operand, self: Operand) -> Operand:
    """Share the gradient among all elements that equal the result, or among the nans if the result
    is nan.
    """
    if not state.planning:
        hit = self != self if bool(out != out) else self == out
    else:  # a plan must not depend on values
        hit = xp.where(out != out, self != self, self == out)
    weights = xp.where(hit, xp.ones_like(self), xp.zeros_like(self))
    return xp.fill_where(None, g / xp.sum(weights), hit)


def group_grad(
    xp: XP, g: Operand, out: Operand, self: Operand, dims: Ints | None, keepdim: bool
) -> Operand:
    """Share the gradient as `even_grad`, within each reduced group; a group whose result is nan
    gets nan.
    """
    hit = self == broadcast_back(xp, out, self.shape, dims, keepdim)
    weights = xp.where(hit, xp.ones_like(self), xp.zeros_like(self))
    if dims is not None and not keepdim:
        g = xp.reshape(g, kept_shape(self.shape, dims))
    return g / xp.sum_dim(weights, dims, True) * weights


def index_grad(
    xp: XP,
    g: Operand,
    out: object,
    self: Operand,
    index: Operand,
    dim: int,
    keepdim: bool = True,
    placing: str = "gather_place",
) -> Operand:
    """Return zeros with the gradient at the selected elements."""
    if not self.ndim:
        return g
    if not keepdim:
        g = xp.unsqueeze(g, dim)
        index = xp.unsqueeze(index, dim)
    return getattr(xp, placing)(None, g, tuple(self.shape), dim, index)


def aminmax_grad(
    xp: XP,
    g: Sequence[Operand | None],
    out: Sequence[Operand],
    self: Operand,
    dims: Ints | None,
    keepdim: bool,
) -> Operand:
    parts = [
        group_grad(xp, gi, oi, self, dims, keepdim)
        for gi, oi in zip(g, out, strict=True)
        if gi is not None
    ]
    return add_parts(parts)


# fmt: off
fill_where = gather_op("fill_where(onto, value; mask)",
    lambda onto, value, mask: np.where(mask, value, 0).astype(value.dtype), "where(mask, value, 0)",
    node="MaskedFillBackward1", onto=NO_GRAD,
    value=d("", lambda xp, g, out, onto, value, mask: xp.sum(xp.where(mask, g, xp.zeros_like(g)))))
# fmt: on


def _of_all(name: str, kernel: str | Kernel, formula: str, node: str | None = None) -> Op:
    return reduction_op(f"{name}(self)", kernel, formula, zero="choice", node=node,
        self=d("self out", even_grad))  # fmt: skip


def _along(name: str, kernel: Kernel, formula: str, node: str | None = None) -> Op:
    return reduction_op(f"{name}(self; dim, keepdim)", kernel, formula, zero="choice", node=node,
        outputs=2, differentiable=(0,), undefined_grad="none",
        self=d("~self out1", lambda xp, g, out, self, dim, keepdim:
            index_grad(xp, g[0], out, self, out[1], dim, keepdim, "order_place")))  # fmt: skip


def _in_groups(name: str, ufunc: str, formula: str) -> Op:
    return reduction_op(f"{name}(self; dim, keepdim)", lambda a, dims, keepdim: fold(ufunc, a, dims, keepdim), formula,
        zero="choice",
        self=d("self out", group_grad))  # fmt: skip


def _running(name: str, ufunc: str, formula: str) -> Op:
    return scan_op(f"{name}(self; dim)", running_extreme(ufunc), formula, outputs=2, c_order=True,
        differentiable=(0,), undefined_grad="none",
        self=d("self out1", lambda xp, g, out, self, dim: index_grad(xp, g[0], out, self, out[1], dim)))  # fmt: skip


max_all = _of_all("max", lambda a: fold("maximum", a, None), "max[i](self[i])", "MaxBackward1")
min_all = _of_all("min", lambda a: fold("minimum", a, None), "min[i](self[i])", "MinBackward1")
median_all = _of_all("median", median_of_all(False), "sort(self)[(n - 1) // 2]")
# fmt: off
nanmedian_all = _of_all("nanmedian", median_of_all(True), "sort(z)[(n - 1) // 2]; z = self[not isnan(self)]")
max_dim = _along("max_dim", extreme_along("argmax"), "max[i](self[..., i, ...]), argmax[i](self[..., i, ...])",
    "MaxBackward0")
min_dim = _along("min_dim", extreme_along("argmin"), "min[i](self[..., i, ...]), argmin[i](self[..., i, ...])",
    "MinBackward0")
median_dim = _along("median_dim", median_along(False), "sort[i](self[..., i, ...])[(n - 1) // 2]", "MedianBackward1")
nanmedian_dim = _along("nanmedian_dim", median_along(True),
    "sort[i](self[..., i, ...])[(n - 1) // 2]; not isnan(self[..., i, ...])", "NanmedianBackward1")
mode = _along("mode", mode_along, "argmax[v](sum[i](1 if self[..., i, ...] == v else 0))")
amax = _in_groups("amax", "maximum", "max[i](self[..., i, ...])")
amin = _in_groups("amin", "minimum", "min[i](self[..., i, ...])")
aminmax = reduction_op("aminmax(self; dim, keepdim)", lowest_and_highest,
    "min[i](self[..., i, ...]), max[i](self[..., i, ...])", outputs=2, undefined_grad="none",
    self=d("self out", aminmax_grad))
cummax = _running("cummax", "maximum", "out[..., i, ...] = max[k, 0, i](self[..., k, ...])")
cummin = _running("cummin", "minimum", "out[..., i, ...] = min[k, 0, i](self[..., k, ...])")
argmax = reduction_op("argmax(self; dim, keepdim)", lambda a, dim, keepdim: np.argmax(a, axis=dim, keepdims=keepdim),
    "argmax[i](self[..., i, ...])")
argmin = reduction_op("argmin(self; dim, keepdim)", lambda a, dim, keepdim: np.argmin(a, axis=dim, keepdims=keepdim),
    "argmin[i](self[..., i, ...])")
# fmt: on


# ---- the public names


def need_elements(
    name: str, input: Tensor, dims: Ints | None = None, kind: type[Exception] = RuntimeError
) -> None:
    """Raise an error if a reduction without an identity, such as max, is over no elements."""
    for dim in () if dims is None else dims:
        if input.ndim and input.shape[dim] == 0:
            raise IndexError(f"{name}: Expected reduction dim {dim} to have non-zero size.")
    if dims is None and not input.numel():
        hint = "" if kind is IndexError else " Specify the reduction dim with the 'dim' argument."
        raise kind(f"{name}: Expected reduction dim to be specified for input.numel() == 0.{hint}")


def _max_or_min(name: str, of_all: Op, along: Op, pairwise: str) -> None:
    def function(
        input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None
    ) -> Any:
        other = dim if isinstance(dim, Tensor) else other
        if other is not None:
            return ops.find(functions, pairwise)(input, other)
        if dim is None:
            need_elements(f"{name}()", input)
            return of_all(input)
        if isinstance(dim, (tuple, list, float, str)):
            mismatch = (
                "      didn't match because some of the arguments have invalid types: "
                f"(!{type(dim).__name__}!)\n"
            )
            raise TypeError(
                f"{name}() received an invalid combination of arguments - got ({type(dim).__name__}), but expected one "
                f"of:\n * ()\n{mismatch} * (Tensor other)\n{mismatch} * (int dim, bool keepdim = False)\n"
            )
        axis = one_dim(name, dim, input.ndim)
        need_elements(f"{name}()", input, (axis,))
        return values_and_indices(name, along(input, axis, keepdim))

    function.__doc__ = f"""torch.{name}: of all elements; with `dim` (values, indices); with a tensor, {pairwise}."""
    torch_function(name)(function)


_max_or_min("max", max_all, max_dim, "maximum")
_max_or_min("min", min_all, min_dim, "minimum")


def _median(name: str, of_all: Op, along: Op) -> None:
    def function(input: Tensor, dim: Any = None, keepdim: bool = False) -> Any:
        if input.dtype.name == "bool":
            kernel = "median_cpu" if dim is None else "median_out"
            raise NotImplementedError(f"\"{kernel}\" not implemented for 'Bool'")
        if dim is None:
            return of_all(input)
        axis = one_dim(name, dim, input.ndim)
        need_elements("median()", input, (axis,))
        return values_and_indices(name, along(input, axis, keepdim))

    function.__doc__ = (
        f"The lower of the two middle values; with `dim` (values, indices) (torch.{name})."
    )
    torch_function(name)(function)


_median("median", median_all, median_dim)
_median("nanmedian", nanmedian_all, nanmedian_dim)


@torch_function("mode")
def most_frequent(input: Tensor, dim: int = -1, keepdim: bool = False) -> Result:
    """Most frequent value along `dim`, the smallest on ties, and an index of it (torch.mode)."""
    axis = one_dim("mode", dim, input.ndim)
    need_elements("mode()", input, (axis,))
    return values_and_indices("mode", mode(input, axis, keepdim))


def _group_extreme(name: str, record: Op) -> None:
    def function(input: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
        dims = some_dims(name, dim, input.ndim)
        need_elements(f"{name}()", input, None if dim is None or dim == () else dims)
        return record(input, dims, keepdim)

    function.__doc__ = (
        f"The extreme over `dim` (all by default); ties share the gradient (torch.{name})."
    )
    torch_function(name)(function)


_group_extreme("amax", amax)
_group_extreme("amin", amin)


@torch_function("aminmax")
def both_extremes(input: Tensor, *, dim: int | None = None, keepdim: bool = False) -> Result:
    """Minimum and maximum of all elements or along one `dim`; ties share the gradient
    (torch.aminmax).
    """
    if dim is None and not input.numel():
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
        )
    axis = None if dim is None else one_dim("aminmax", dim, input.ndim)
    need_elements("aminmax", input, () if axis is None else (axis,))
    dims = tuple(range(input.ndim)) if axis is None or not input.ndim else (axis,)
    return result_type("aminmax", "min", "max")(aminmax(input, dims, keepdim))


def _arg_extreme(name: str, record: Op) -> None:
    def function(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
        if input.dtype.name == "bool":
            raise RuntimeError(f"{name}(): does not support bool input")
        axis = None if dim is None else one_dim(name, dim, input.ndim)
        need_elements(f"{name}()", input, None if axis is None else (axis,), IndexError)
        return record(input, axis if input.ndim else None, keepdim)

    function.__doc__ = (
        f"Index of the first extreme, int64; nan counts as the extreme (torch.{name})."
    )
    torch_function(name)(function)


_arg_extreme("argmax", argmax)
_arg_extreme("argmin", argmin)


def _cumulative(name: str, record: Op) -> None:
    def function(input: Tensor, dim: Any) -> Any:
        if not input.ndim and is_int(dim) and dim not in (-1, 0):
            raise IndexError(f"{name}(): Expected reduction dim -1 or 0 for scalar but got {dim}")
        return values_and_indices(name, record(input, one_dim(name, dim, input.ndim)))

    function.__doc__ = f"Cumulative extreme along `dim`: (values, indices), with the last index on ties (torch.{name})."
    torch_function(name)(function)


_cumulative("cummax", cummax)
_cumulative("cummin", cummin)
