"""Reductions by adding and multiplying: sum, mean, prod, var, std and related; any, all,
count_nonzero; trace.

In a record `dims` is a tuple of non-negative dims, () for a 0-d tensor. A form without `dim` is a
separate record if PyTorch gives its grad_fn another name.
"""

from __future__ import annotations

import math
import warnings

from gradtrace.annotations import Any, Callable, Sequence
from gradtrace.engine.data import dtypes
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.state import state
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import XP, Array, Dims, Ints, Kernel, NumpyDtype, Operand, Shape
from gradtrace.engine.operators.op import Op, d, reduction_op, structural_op
from gradtrace.ops.api import NOT_GIVEN, is_int
from gradtrace.ops.arguments import (
    add_parts,
    count,
    kept_shape,
    one_dim,
    require_float,
    some_dims,
    torch_function,
)

DEGREES_WARNING = (
    "{}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor (input numel "
    "divided by output numel)."
)


FEW = 256  # elements

# ---- kernels


def fold(
    ufunc: str, a: Array, dims: Ints | None, keepdim: bool = False, dtype: Any = None
) -> Array:
    """Apply the method `reduce` of numpy's function `ufunc` over `dims`."""
    return getattr(np, ufunc).reduce(a, axis=dims, dtype=dtype, keepdims=keepdim)


def add_up(
    a: Array, dims: Ints | None = None, keepdim: bool = False, dtype: NumpyDtype | None = None
) -> Array:
    """Return the sum in `dtype`; the default is int64 for bools and integers."""
    wanted = dtype or (a.dtype if a.dtype.kind == "f" else np.dtype(np.int64))
    if a.ndim == 0:
        return np.asarray(np.add(a, 0, dtype=wanted))
    out = fold("add", a, dims, keepdim, accumulator(a, dims, wanted))
    return out if out.dtype is wanted else out.astype(wanted)


def accumulator(a: Array, dims: Ints | None, wanted: NumpyDtype) -> Any:
    """Return the dtype to sum in: float64 for long float32 sums that numpy does not sum
    pairwise.
    """
    if wanted.itemsize == 2 and wanted.kind == "f":
        return np.float32
    if (
        wanted.itemsize == 4
        and dims is not None
        and a.ndim - 1 not in dims
        and count(a.shape, dims) > 1024
    ):
        return np.float64
    return wanted


def reduce_float(a: object, dtype: object = None) -> float:
    """Sum or mean of a single float; raise ValueError for cases that need an array."""
    if type(a) is not float or dtype is not None:
        raise ValueError
    return a + 0.0  # a sum of -0.0 is 0.0, as if it were added to 0


def average(
    a: Array, dims: Ints | None = None, keepdim: bool = False, dtype: NumpyDtype | None = None
) -> Array:
    wanted = dtype or a.dtype
    wide = np.dtype(np.float32) if wanted.itemsize == 2 else wanted
    out = add_up(a, dims, keepdim, wide) / wide.type(count(a.shape, dims))
    return out if out.dtype is wanted else out.astype(wanted)


def multiply_up(
    a: Array, dims: Ints | None = None, keepdim: bool = False, dtype: NumpyDtype | None = None
) -> Array:
    wanted = dtype or (a.dtype if a.dtype.kind == "f" else np.dtype(np.int64))
    return fold("multiply", a, dims, keepdim, wanted)


def variance(a: Array, dims: Ints | None, correction: float, keepdim: bool) -> Array:
    wide = a.astype(np.float32) if a.dtype.itemsize == 2 else a
    away = wide - average(wide, dims, True)
    freedom = max(count(a.shape, dims) - correction, 0)
    total = add_up(away * away, dims, keepdim)
    return (total / total.dtype.type(freedom)).astype(a.dtype)


def deviation(a: Array, dims: Ints | None, correction: float, keepdim: bool) -> Array:
    return np.sqrt(variance(a, dims, correction, keepdim))


def with_average(spread_kernel: Kernel) -> Kernel:
    return lambda a, dims, correction, keepdim: (
        spread_kernel(a, dims, correction, keepdim),
        average(a, dims, keepdim),
    )


def logical(ufunc: str) -> Kernel:
    def kernel(a: Array, dims: tuple[int, ...] | None = None, keepdim: bool = False) -> Array:
        out = fold(ufunc, a, dims, keepdim)
        return out.astype(a.dtype) if a.dtype == np.uint8 else out

    return kernel


# ---- rules


def broadcast_back(
    xp: XP, g: Any, shape: Shape, dims: Ints | None = None, keepdim: bool = False
) -> Operand:
    """Broadcast the gradient of a reduction to the shape of its input.

    The result is a view, except for few elements, where writing one number is faster than numpy's
    broadcasting.
    """
    if dims is not None and not keepdim:
        g = with_dims(xp, g, shape, dims)
    if type(g) is float:
        if not shape:
            return g  # type: ignore[return-value]  # a float is an operand too
        if count(shape) <= FEW:
            return np.full(shape, g)
    return xp.expand(g, tuple(shape))


def with_dims(xp: XP, g: Operand, shape: Shape, dims: Ints) -> Operand:
    """Restore the reduced dims with size 1; on Tensors one by one, so that the graph is
    PyTorch's.
    """
    if not isinstance(g, Tensor):
        return xp.reshape(g, kept_shape(shape, dims))
    for dim in sorted(dims):
        g = xp.unsqueeze(g, dim)
    return g


def broadcast_mean(
    xp: XP, g: Operand, n: int, shape: Shape, dims: Ints | None = None, keepdim: bool = False
) -> Operand:
    """Broadcast back and divide by the count `n`: arrays are divided first, Tensors last, as in
    PyTorch's graph.
    """
    if isinstance(g, Tensor):
        return broadcast_back(xp, g, shape, dims, keepdim) / n
    return broadcast_back(xp, xp.div(g, n), shape, dims, keepdim)


def prod_grad(
    xp: XP,
    g: Operand,
    out: Operand,
    self: Operand,
    dims: Ints | None = None,
    keepdim: bool = False,
    *_: object,
) -> Operand:
    """Return the gradient of prod, the product of the other factors: out / self unless a factor may
    be zero.
    """
    if not self.ndim:
        return g
    if not state.planning and not bool((self == 0).any()):
        if dims is None or keepdim:
            return g * (out / self)
        return with_dims(xp, g, self.shape, dims) * (with_dims(xp, out, self.shape, dims) / self)
    if dims is None:
        flat = xp.reshape(self, (count(self.shape),))
        return g * xp.reshape(product_of_others(xp, flat, 0), tuple(self.shape))
    return broadcast_back(xp, g, self.shape, dims, keepdim) * product_of_others(xp, self, dims[0])


def product_of_others(xp: XP, x: Operand, dim: int) -> Operand:
    """Return, for each element, the product of all other elements along `dim`, without division."""
    before = xp.cumprod(xp.shift(x, dim, 1, 1), dim)
    after = xp.flip(xp.cumprod(xp.flip(xp.shift(x, dim, -1, 1), (dim,)), dim), (dim,))
    return before * after


def var_grad(
    xp: XP,
    g: Operand,
    out: object,
    self: Operand,
    dims: Ints | None,
    correction: float,
    keepdim: bool,
) -> Operand:
    n = count(self.shape, dims)
    away = self - (xp.mean(self) if dims is None else xp.mean_dim(self, dims, True))
    if dims is None and n - correction <= 0:
        nan = xp.where(away == 0, xp.ones_like(away) * math.nan, xp.ones_like(away) * math.inf)
        return g * nan
    factor = 2 / (n - correction) if n != correction else math.inf
    if dims is not None and not keepdim:
        g = with_dims(xp, g, self.shape, dims)
    return g * factor * away


def std_grad(
    xp: XP,
    g: Operand,
    out: Operand,
    self: Operand,
    dims: Ints | None,
    correction: float,
    keepdim: bool,
) -> Operand:
    # A select, because a constant row gives g / 0; its gradient is 0.
    of_variance = xp.zeroed(g / (out * 2), out == 0)
    return var_grad(xp, of_variance, out, self, dims, correction, keepdim)


def pair_grad(
    xp: XP,
    g: Sequence[Operand | None],
    self: Operand,
    dims: Ints | None,
    keepdim: bool,
    of_first: Callable[[Operand], Operand],
) -> Operand:
    """Return the gradient of (var, mean) or (std, mean); either gradient may be None."""
    parts = [] if g[0] is None else [of_first(g[0])]
    if g[1] is not None:
        parts.append(broadcast_mean(xp, g[1], count(self.shape, dims), self.shape, dims, keepdim))
    return add_parts(parts)


# fmt: off
sum_all = reduction_op("sum(self; dtype)", lambda a, dtype=None: add_up(a, None, False, dtype), "sum[i](self[i])",
    symbolic=lambda s, a, *_: a, scalar=reduce_float,
    self=d("~self", lambda xp, g, out, self, dtype=None: broadcast_back(xp, g, self.shape)))
sum_dim = reduction_op("sum_dim(self; dim, keepdim, dtype)", add_up, "sum[i](self[..., i, ...])",
    node="SumBackward1",
    self=d("~self", lambda xp, g, out, self, dim, keepdim=False, dtype=None:
        broadcast_back(xp, g, self.shape, dim, keepdim)))
mean_all = reduction_op("mean(self; dtype)", lambda a, dtype=None: average(a, None, False, dtype),
    "sum[i](self[i]) / n", symbolic=lambda s, a, *_: a, scalar=reduce_float,
    self=d("~self", lambda xp, g, out, self, dtype=None: broadcast_mean(xp, g, count(self.shape), self.shape)))
mean_dim = reduction_op("mean_dim(self; dim, keepdim, dtype)", average, "sum[i](self[..., i, ...]) / n",
    node="MeanBackward1",
    self=d("~self", lambda xp, g, out, self, dim, keepdim=False, dtype=None:
        broadcast_mean(xp, g, count(self.shape, dim), self.shape, dim, keepdim)))
prod_all = reduction_op("prod(self; dtype)", lambda a, dtype=None: multiply_up(a, None, False, dtype),
    "prod[i](self[i])", self=d("self out", lambda xp, g, out, self, dtype=None: prod_grad(xp, g, out, self)))
prod_dim = reduction_op("prod_dim(self; dim, keepdim, dtype)", multiply_up, "prod[i](self[..., i, ...])",
    node="ProdBackward1",
    self=d("self out", prod_grad))
var = reduction_op("var(self; dim, correction, keepdim)", variance,
    "sum[i]((self[..., i, ...] - mean)**2) / (n - correction)",
    self=d("self", var_grad))
std = reduction_op("std(self; dim, correction, keepdim)", deviation,
    "sqrt(sum[i]((self[..., i, ...] - mean)**2) / (n - correction))",
    self=d("self out", std_grad))
var_mean = reduction_op("var_mean(self; dim, correction, keepdim)", with_average(variance),
    "sum[i]((self[..., i, ...] - mean)**2) / (n - correction), mean", outputs=2, undefined_grad="none",
    self=d("self", lambda xp, g, out, self, dim, correction, keepdim:
        pair_grad(xp, g, self, dim, keepdim, lambda first: var_grad(xp, first, out, self, dim, correction, keepdim))))
std_mean = reduction_op("std_mean(self; dim, correction, keepdim)", with_average(deviation),
    "sqrt(sum[i]((self[..., i, ...] - mean)**2) / (n - correction)), mean", outputs=2,
    undefined_grad="none",
    self=d("self out0", lambda xp, g, out, self, dim, correction, keepdim: pair_grad(xp, g, self, dim, keepdim,
        lambda first: std_grad(xp, first, out[0], self, dim, correction, keepdim))))
nansum = reduction_op("nansum(self; dim, keepdim, dtype)",
    lambda a, dim=None, keepdim=False, dtype=None:
        add_up(np.where(np.isnan(a), a.dtype.type(0), a), dim, keepdim, dtype),
    "sum[i](0 if isnan(self[..., i, ...]) else self[..., i, ...])",
    self=d("self", lambda xp, g, out, self, dim=None, keepdim=False, dtype=None:
        broadcast_back(xp, g, self.shape, dim, keepdim) * (self == self)))
any_record = reduction_op("any(self; dim, keepdim)", logical("logical_or"), "any[i](self[..., i, ...])")
all_record = reduction_op("all(self; dim, keepdim)", logical("logical_and"), "all[i](self[..., i, ...])")
count_nonzero = reduction_op("count_nonzero(self; dim)", lambda a, dim: np.count_nonzero(a, axis=dim or None),
    "sum[i](1 if self[..., i, ...] != 0 else 0)")
trace = reduction_op("trace(self)", lambda a: add_up(np.diagonal(a)), "sum[i](self[i, i])",
    unsupported_dtypes="b trace", self="on_diagonal(grad, self.shape)")
on_diagonal = structural_op("on_diagonal(self; shape)", lambda a, shape: np.eye(*shape, dtype=a.dtype) * a,
    "out[i, j] = self if i == j else 0", node="TraceBackward0", self="trace(grad)")
# fmt: on


# ---- the public names


def numpy_dtype(input: Tensor, dtype: dtypes.dtype | None) -> NumpyDtype | None:
    """Return the numpy dtype of a result; raise RuntimeError for an integer result if the input
    requires grad.
    """
    wanted = dtypes.as_dtype(dtype)
    if wanted is None:
        return None
    if input.requires_grad and not wanted.is_floating_point:
        raise RuntimeError(f"Autograd not support dtype: {wanted.scalar_type}")
    return wanted.np


@torch_function("sum")
def summed(
    input: Tensor,
    dim: Dims = NOT_GIVEN,
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
) -> Tensor:
    """Sum all elements, or over `dim`; integers and bools give int64 (torch.sum)."""
    kind = numpy_dtype(input, dtype)
    if dim is NOT_GIVEN:
        return sum_all(input, kind)
    return sum_dim(input, some_dims("sum", dim, input.ndim), keepdim, kind)


@torch_function("mean")
def averaged(
    input: Tensor,
    dim: Dims = NOT_GIVEN,
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
) -> Tensor:
    """Mean of all elements, or over `dim`; RuntimeError for integers without a floating `dtype`
    (torch.mean).
    """
    wanted = dtypes.as_dtype(dtype)
    source, got = ("Input", input.dtype) if wanted is None else ("Optional", wanted)
    if not got.is_floating_point:
        raise RuntimeError(
            f"mean(): could not infer output dtype. {source} dtype must be either a floating point or complex dtype. "
            f"Got: {got.scalar_type}"
        )
    kind = numpy_dtype(input, dtype)
    if dim is NOT_GIVEN:
        return mean_all(input, kind)
    return mean_dim(input, some_dims("mean", dim, input.ndim), keepdim, kind)


@torch_function("prod")
def product(
    input: Tensor,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
) -> Tensor:
    """Product of all elements, or over one `dim`, with a correct gradient for zero factors
    (torch.prod).
    """
    kind = numpy_dtype(input, dtype)
    if dim is None:
        return prod_all(input, kind)
    axis = one_dim("prod", dim, input.ndim)
    return prod_dim(input, (axis,) if input.ndim else (), keepdim, kind)


def _spread_measure(name: str, record: Op) -> None:
    def function(
        input: Tensor,
        dim: Any = None,
        unbiased: bool | None = None,
        keepdim: bool = False,
        *,
        correction: float | None = None,
    ) -> Tensor | tuple[Tensor, ...]:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        kind = "std and var only" if name in ("std", "var") else f"{name} only"
        require_float(input, kind + " support floating point and complex dtypes")
        if correction is None:
            correction = 1 if unbiased is None or unbiased else 0
        dims = None if dim is None else some_dims(name, dim, input.ndim)
        if count(input.shape, dims) <= correction:
            warnings.warn(DEGREES_WARNING.format(name), UserWarning, stacklevel=3)
        return record(input, dims, correction, keepdim)

    function.__doc__ = f"torch.{name} of all elements, or over `dim`; the divisor is n - correction (1 by default)."
    torch_function(name, forms="fm" if name in ("std", "var") else "f")(function)


for _name, _record in (("var", var), ("std", std), ("var_mean", var_mean), ("std_mean", std_mean)):
    _spread_measure(_name, _record)


@torch_function("nansum")
def sum_without_nan(
    input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None
) -> Tensor:
    """Sum with nan counted as 0 (torch.nansum)."""
    dims = None if dim is None else some_dims("nansum", dim, input.ndim)
    kind = numpy_dtype(input, dtype)
    if not input.is_floating_point():
        return sum_all(input, kind) if dims is None else sum_dim(input, dims, keepdim, kind)
    return nansum(input, dims, keepdim, kind)


@torch_function("nanmean")
def mean_without_nan(
    input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: dtypes.dtype | None = None
) -> Tensor:
    """Mean of the elements that are not nan (torch.nanmean)."""
    require_float(
        input, "nanmean(): expected input to have floating point or complex dtype but got {}"
    )
    valid = input.detach().isnan().logical_not().sum(dim, keepdim=keepdim)  # type: ignore[arg-type]
    return sum_without_nan(input, dim, keepdim, dtype=dtype) / valid


def _logical(name: str, record: Op) -> None:
    def function(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
        if dim is not None and not is_int(dim) and not len(dim):  # unlike for sums, () is not a dim
            return input.bool()
        return record(input, None if dim is None else some_dims(name, dim, input.ndim), keepdim)

    function.__doc__ = (
        f"Whether {name} of the elements are true, over all or over `dim` (torch.{name})."
    )
    torch_function(name)(function)


_logical("any", any_record)
_logical("all", all_record)


@torch_function("count_nonzero")
def torch_count_nonzero(input: Tensor, dim: Dims = None) -> Tensor:
    """Number of elements that are not 0, int64 (torch.count_nonzero)."""
    return count_nonzero(input, some_dims("count_nonzero", dim, input.ndim))


@torch_function("trace")
def torch_trace(input: Tensor) -> Tensor:
    """Sum of the diagonal of a matrix (torch.trace)."""
    if input.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.ndim}")
    if input.dtype is dtypes.bool_:
        raise NotImplementedError("\"trace\" not implemented for 'Bool'")
    return trace(input)


@torch_function(forms="m")
def sum_to_size(input: Tensor, *size: Any) -> Tensor:
    """Sum to the sizes `size`, which broadcast to this tensor's shape (Tensor.sum_to_size)."""
    wanted = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else size
    lead = input.ndim - len(wanted)
    if lead < 0 or any(n not in (1, input.shape[lead + i]) for i, n in enumerate(wanted)):
        raise RuntimeError(
            f"size {{{list(wanted)}}} is not expandable to size {{{list(input.shape)}}}."
        )
    dims = (
        *range(lead),
        *(i + lead for i, n in enumerate(wanted) if n == 1 and input.shape[i + lead] != 1),
    )
    if dims:
        input = sum_dim(input, dims, True, None)
    return input.view(wanted) if lead else input
