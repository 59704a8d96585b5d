"""Norms of vectors and matrices, and dist and renorm, which build on them.

At 0 the gradient of every norm is 0. An infinity norm shares its gradient evenly among the elements
of largest magnitude.
"""

from __future__ import annotations

import math

from gradtrace.annotations import Any
from gradtrace.engine.data import dtypes
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import XP, Array, Dims, Ints, NumpyDtype, Operand
from gradtrace.engine.operators.op import d, normalization_op, reduction_op
from gradtrace.engine.operators.rounding import dot_product
from gradtrace.ops import find
from gradtrace.ops.api import Choice, is_int, linalg
from gradtrace.ops.arguments import (
    count,
    in_both_forms,
    one_dim,
    require_float,
    some_dims,
    torch_function,
)
from gradtrace.ops.pointwise.arithmetic import refuse_bools
from gradtrace.ops.reduce.sums import add_up, fold, numpy_dtype, with_dims

NOT_FLOAT = "linalg.vector_norm: Expected a floating point or complex tensor as input. Got {}"
INFINITIES = {"inf": math.inf, "-inf": -math.inf}


def norm_kernel(
    a: Array, p: float, dims: Ints | None, keepdim: bool, dtype: NumpyDtype | None = None
) -> Array:
    if dtype is not None:
        a = a.astype(dtype)
    if p == 2 and a.dtype.itemsize >= 4:
        if dims is None and a.flags.c_contiguous:
            flat = a.reshape(-1)
            return np.sqrt(dot_product(flat, flat))
        return np.sqrt(add_up(a * a, dims, keepdim))
    wide = np.abs(a, dtype=np.float32) if a.dtype.itemsize == 2 else np.abs(a)
    if p == math.inf:
        out = fold("maximum", wide, dims, keepdim)
    elif p == -math.inf:
        out = fold("minimum", wide, dims, keepdim)
    elif p == 0:
        out = add_up((wide != 0).astype(wide.dtype), dims, keepdim)
    elif p == 1:
        out = add_up(wide, dims, keepdim)
    else:
        out = np.power(add_up(np.power(wide, p), dims, keepdim), 1 / p)
    return out.astype(a.dtype)


def restore_dims(xp: XP, x: Operand, self: Operand, dims: Ints | None, keepdim: bool) -> Operand:
    """Restore the reduced dims of a norm, or of its gradient, so that it broadcasts against the
    input.
    """
    return x if dims is None or keepdim else with_dims(xp, x, self.shape, dims)


def norm_grad(
    xp: XP,
    g: Operand,
    out: Operand,
    self: Operand,
    p: float,
    dims: Ints | None,
    keepdim: bool,
    *_: object,
) -> Operand | None:
    """Return the gradient of a norm, None for p = 0; `where` masks zeros, at which a factor may be
    inf or nan.
    """
    if p == 0:
        return None
    g = restore_dims(xp, g, self, dims, keepdim)
    norm = restore_dims(xp, out, self, dims, keepdim)
    if p == 2:
        return g * xp.zeroed(self / norm, norm == 0)
    zero = xp.zeros_like(self)
    if p == 1:
        return xp.sgn(self) * g
    if math.isinf(p):
        hit = xp.logical_or(xp.abs(self) == norm, xp.logical_and(self != self, norm != norm))
        weights = xp.where(hit, xp.ones_like(self), zero)
        many = xp.sum(weights) if dims is None else xp.sum_dim(weights, dims, True)
        return xp.sgn(self) * xp.where(hit, g / many, zero)
    if p < 1:
        at_zero = self == 0
        size = xp.abs(xp.where(at_zero, xp.ones_like(self), self))
        steep = xp.where(at_zero, zero, xp.pow_scalar(size, p - 1))
        return xp.sgn(self) * steep * g * xp.pow_scalar(norm, 1 - p)
    if p < 2:
        part = xp.sgn(self) * xp.pow_scalar(xp.abs(self), p - 1)
    else:
        part = self * xp.pow_scalar(xp.abs(self), p - 2)
    return part * xp.zeroed(g / xp.pow_scalar(norm, p - 1), norm == 0)


def distance_grad(xp: XP, g: Operand, away: Operand, out: Operand, p: float) -> Operand:
    """Return the gradient of the differences `away` (..., M), whose p-norms (...) are the
    distances.

    For p = 0 it is 0; for p = inf each of the largest elements gets the full gradient.
    """
    if p == 0:
        return xp.zeros_like(away)
    if not math.isinf(p):
        result = norm_grad(xp, g, out, away, p, (away.ndim - 1,), False)
        assert result is not None
        return result
    largest = xp.abs(away) == xp.unsqueeze(out, out.ndim)
    return xp.sign(away) * xp.where(largest, xp.unsqueeze(g, g.ndim), xp.zeros_like(away))


def renorm_scale(xp: XP, norm: Operand, maxnorm: float) -> Operand:
    return xp.where(norm > maxnorm, maxnorm / (norm + 1e-7), xp.ones_like(norm))


def renorm_kernel(a: Array, p: float, dim: int, maxnorm: float) -> Array:
    norm = norm_kernel(a, p, tuple(i for i in range(a.ndim) if i != dim), True)
    return a * np.where(norm > maxnorm, maxnorm / (norm + 1e-7), np.ones_like(norm)).astype(a.dtype)


def renorm_grad(
    xp: XP, g: Operand, out: object, self: Operand, p: float, dim: int, maxnorm: float
) -> Operand:
    dims = tuple(i for i in range(self.ndim) if i != dim)
    norm = xp.vector_norm(self, p, dims, True)
    inner = xp.sum_dim(g * self, dims, True)
    slope = xp.where(
        norm > maxnorm, inner * (-maxnorm / ((norm + 1e-7) * (norm + 1e-7))), xp.zeros_like(norm)
    )
    of_norm = norm_grad(xp, slope, norm, self, p, dims, True)
    return g * renorm_scale(xp, norm, maxnorm) + xp.where(norm > maxnorm, of_norm, xp.zeros_like(g))


def dist_grad(
    xp: XP, g: Operand, out: Operand, self: Operand, other: Operand, p: float, sign: int
) -> Operand | None:
    part = norm_grad(xp, g, out, self - other, p, None, False)
    return part if part is None or sign > 0 else -part


# fmt: off
vector_norm = reduction_op("vector_norm(self; ord, dim, keepdim, dtype)", norm_kernel,
    "sum[i](abs(self[..., i, ...])**ord)**(1 / ord)", node="LinalgVectorNormBackward0",
    self=d("self out", norm_grad))
dist = reduction_op("dist(self, other; p)", lambda a, b, p: norm_kernel(a - b, p, None, False),
    "sum[i](abs(self[i] - other[i])**p)**(1 / p)", promote="arith",
    self=d("self other out", lambda xp, g, out, self, other, p: dist_grad(xp, g, out, self, other, p, 1)),
    other=d("self other out", lambda xp, g, out, self, other, p: dist_grad(xp, g, out, self, other, p, -1)))
renorm = normalization_op("renorm(self; p, dim, maxnorm)", renorm_kernel,
    "out[..., i, ...] = self[..., i, ...] * min(1, maxnorm / norm(self[..., i, ...], p))", c_order=True,
    self=d("self", renorm_grad))
# fmt: on


# ---- the public names


@torch_function("vector_norm", forms="l")
def norm_of_vector(
    input: Tensor,
    ord: float | str = 2,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
) -> Tensor:
    """(sum of abs(x) ** ord) ** (1 / ord); ord 0 counts non-zeros, inf and -inf give max and min
    (torch.linalg).
    """
    if isinstance(ord, (str, Tensor)) or ord is None:
        raise TypeError(
            f"linalg_vector_norm(): argument 'ord' (position 2) must be Number, not {type(ord).__name__}"
        )
    require_float(input, NOT_FLOAT)
    dtype = dtypes.as_dtype(dtype)
    if dtype is not None and not dtype.is_floating_point:
        raise RuntimeError(
            f"linalg.vector_norm: dtype should be floating point or complex, but got {dtype.scalar_type}"
        )
    dims = None if dim is None else some_dims("vector_norm", dim, input.ndim)
    if not count(input.shape, dims) and (ord < 0 or ord == math.inf):
        raise RuntimeError(
            f"linalg.vector_norm cannot compute the {ord:g} norm on an empty tensor because the operation does not "
            "have an identity"
        )
    if dims is None and keepdim:
        dims = tuple(range(input.ndim))
    return vector_norm(input, float(ord), dims, keepdim, numpy_dtype(input, dtype))


def check_matrix_dims(input: Tensor, dim: Any) -> tuple[int, int]:
    if not isinstance(dim, (tuple, list)) or len(dim) != 2:
        shown = " ".join(map(str, dim)) if isinstance(dim, (tuple, list)) else dim
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {shown}")
    first, second = (one_dim("matrix_norm", axis, input.ndim) for axis in dim)
    if first == second:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({dim[0]}, {dim[1]})")
    return first, second


@torch_function("matrix_norm", forms="l")
def norm_of_matrix(
    input: Tensor,
    ord: float | str = "fro",
    dim: int | tuple[int, ...] = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
) -> Tensor:
    """Norm of matrices over two dims: "fro", "nuc", inf, -inf, 1, -1, 2, -2
    (torch.linalg.matrix_norm).
    """
    size = ord if isinstance(ord, str) else abs(ord)
    if size not in ("fro", "nuc", 1, 2, math.inf):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    if input.ndim < 2:
        raise RuntimeError(
            "linalg.matrix_norm: The input tensor A must have at least 2 dimensions."
        )
    dims = check_matrix_dims(input, dim)
    if ord == "fro":
        return norm_of_vector(input, 2, dims, keepdim, dtype=dtype)
    if size not in ("nuc", 2):
        column, row = dims if size == 1 else dims[::-1]
        sums = norm_of_vector(input, 1, column, keepdim, dtype=dtype)
        return extreme(sums, ord, row - (not keepdim and row > column), keepdim)
    if dtype is not None:
        input = input.to(dtype)
    values = find(linalg, "svdvals")(
        input.permute([i for i in range(input.ndim) if i not in dims] + list(dims))
    )
    last = values.ndim - 1
    out = values.sum(-1, keepdim=keepdim) if ord == "nuc" else extreme(values, ord, last, keepdim)
    if not keepdim:
        return out
    batch = [i for i in range(input.ndim) if i not in dims]
    order = [*batch, *dims]
    return out.unsqueeze(-1).permute([order.index(i) for i in range(input.ndim)])


def extreme(values: Tensor, ord: Any, dim: int, keepdim: bool) -> Tensor:
    return values.amax(dim, keepdim) if ord > 0 else values.amin(dim, keepdim)


@torch_function("norm", forms="l")
def linalg_norm(
    input: Tensor,
    ord: float | str | None = None,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: dtypes.dtype | None = None,
) -> Tensor:
    """Vector or matrix norm, depending on `ord` and `dim` (torch.linalg.norm)."""
    if ord is None:
        return norm_of_vector(input, 2, dim, keepdim, dtype=dtype)
    if dim is None and input.ndim not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {input.ndim}D."
        )
    of_matrix = isinstance(ord, str) or (
        input.ndim == 2 if dim is None else not is_int(dim) and len(dim) == 2
    )
    if of_matrix:
        if dim is None:
            dim = (0, 1) if input.ndim == 2 else (-2, -1)
        return norm_of_matrix(input, ord, dim, keepdim, dtype=dtype)
    return norm_of_vector(input, ord, dim, keepdim, dtype=dtype)


@torch_function()
def norm(
    input: Tensor,
    p: float | str | None = "fro",
    dim: Dims = None,
    keepdim: bool = False,
    out: Tensor | None = None,
    dtype: dtypes.dtype | None = None,
) -> Tensor:
    """Norm of all elements or over `dim`, with p = 2 by default (torch.norm)."""
    if p == "fro" and (dim is None or is_int(dim) or len(dim) <= 2):
        return norm_of_vector(input, 2, dim, keepdim, dtype=dtype)
    if isinstance(p, str):
        if dim is None:
            whole = tuple(range(input.ndim))
        else:
            whole = (dim,) if is_int(dim) else dim
        return norm_of_matrix(input, INFINITIES.get(p, p), whole, keepdim, dtype=dtype)
    return norm_of_vector(input, 2.0 if p is None else p, dim, keepdim, dtype=dtype)


@torch_function("dist")
def distance(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """p-norm of input - other (torch.dist)."""
    refuse_bools([input._data, other._data])
    if not (input.is_floating_point() or other.is_floating_point()):
        kind = max(input.dtype, other.dtype, key=lambda dtype: dtype.category).scalar_type
        raise RuntimeError(
            f"norm(): input dtype should be either floating point or complex. Got {kind} instead."
        )
    return dist(input, other, float(p))


@in_both_forms("renorm")
def choose_renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Choice:
    """Scale down the slices along `dim` whose p-norm exceeds maxnorm (torch.renorm)."""
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm:g}")
    if input.ndim < 2:
        raise RuntimeError(
            f"renorm: input needs at least 2 dimensions, got {input.ndim} dimensions"
        )
    require_float(input, NOT_FLOAT)
    return renorm, (input, float(p), one_dim("renorm", dim, input.ndim), float(maxnorm))
