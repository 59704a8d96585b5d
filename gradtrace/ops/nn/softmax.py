"""softmax, log_softmax, softmin and logsumexp, shifted by the maximum to avoid overflow."""

from __future__ import annotations

import warnings

from gradtrace.annotations import Callable, Sequence
from gradtrace.engine.data import dtypes
from gradtrace.engine.data.dtypes import as_dtype
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import Array, Ints
from gradtrace.engine.operators.op import OneResult, d, normalization_op, reduction_op
from gradtrace.engine.operators.rounding import in_float64
from gradtrace.ops.api import expose
from gradtrace.ops.arguments import one_dim, some_dims, torch_function
from gradtrace.ops.create.factories import cast
from gradtrace.ops.reduce.sums import add_up, broadcast_back, fold

exp = in_float64("exp")
log = in_float64("log")


def log_sum_exp(a: Array, dims: Ints, keepdim: bool) -> Array:
    a = np.asarray(a)
    if not a.size:
        return np.log(fold("add", a, dims, keepdim))
    top = fold("maximum", a, dims, True)
    top = np.where(np.isinf(top), np.zeros_like(top), top)
    out = np.log(add_up(np.exp(a - top), dims, True)) + top
    return out if keepdim else out.reshape([n for i, n in enumerate(a.shape) if i not in dims])


def softmax_kernel(a: Array, dims: Ints) -> Array:
    if not a.size:
        return a.copy()
    out = np.asarray(a - fold("maximum", a, dims, True))
    np.exp(out, out=out)
    out /= fold("add", out, dims, True)
    return out


def log_softmax_kernel(a: Array, dims: Ints) -> Array:
    if not a.size:
        return a.copy()
    out = a - np.maximum.reduce(a, dims, keepdims=True)
    out -= log(np.add.reduce(exp(np.asarray(out)), dims, keepdims=True))
    return out


def softmax_grad(g: Array, result: Array, dims: Ints) -> Array:
    product = np.asarray(g * result)
    return result * (g - add_up(product, dims, True))


def log_softmax_grad(g: Array, result: Array, dims: Ints) -> Array:
    return g - np.exp(result) * add_up(np.asarray(g), dims, True)


# fmt: off
logsumexp = reduction_op("logsumexp(self; dim, keepdim)", log_sum_exp, "log(sum[i](exp(self[..., i, ...])))",
    promote="float",
    self=d("self out", lambda xp, g, out, self, dim, keepdim: broadcast_back(xp, g, self.shape, dim, keepdim)
        * xp.exp(self - broadcast_back(xp, out, self.shape, dim, keepdim))))
softmax = normalization_op("softmax(self; dim)", softmax_kernel,
    "out[..., i, ...] = exp(self[..., i, ...]) / sum[k](exp(self[..., k, ...]))", zero="saturated",
    c_order=True, self="softmax_backward(grad, out, dim)")
softmax_backward = normalization_op("softmax_backward(g, result; dim)", softmax_grad,
    "out[..., i, ...] = result[..., i, ...] * (g[..., i, ...] - sum[k](g[..., k, ...] * result[..., k, ...]))",
    node="SoftmaxBackwardDataBackward0", g="softmax_backward(grad, result, dim)",
    result=d("g result", lambda xp, gg, out, g, result, dim:
        g * gg - xp.sum_dim(result * g, dim, True) * gg - g * xp.sum_dim(result * gg, dim, True)))
log_softmax = normalization_op("log_softmax(self; dim)", log_softmax_kernel,
    "out[..., i, ...] = self[..., i, ...] - log(sum[k](exp(self[..., k, ...])))", zero="saturated",
    c_order=True, self="log_softmax_backward(grad, out, dim)")
log_softmax_backward = normalization_op("log_softmax_backward(g, result; dim)", log_softmax_grad,
    "out[..., i, ...] = g[..., i, ...] - exp(result[..., i, ...]) * sum[k](g[..., k, ...])",
    node="LogSoftmaxBackwardDataBackward0",
    g=d("result", lambda xp, gg, out, g, result, dim: gg - xp.sum_dim(gg * xp.exp(result), dim, True)),
    result=d("g result", lambda xp, gg, out, g, result, dim: -xp.sum_dim(g, dim, True) * xp.exp(result) * gg))
# fmt: on


# ---- the public names


@torch_function("logsumexp", forms="fms")
def torch_logsumexp(input: Tensor, dim: int | Sequence[int], keepdim: bool = False) -> Tensor:
    """Return log(sum(exp(input))) over `dim` without overflow (torch.logsumexp)."""
    return logsumexp(input, some_dims("logsumexp", dim, input.ndim), keepdim)


def _normalised(name: str, record: OneResult) -> Callable[..., Tensor]:
    def function(input: Tensor, dim: int, dtype: dtypes.dtype | None = None) -> Tensor:
        axis = one_dim(name, dim, input.ndim)
        have = input.dtype
        wanted = as_dtype(dtype) or have
        if wanted is not have:
            input = cast(input, wanted.np)
        if not wanted.is_floating_point:
            last = "lastdim_" if axis == max(input.ndim - 1, 0) else ""
            raise NotImplementedError(
                f"\"{name}_{last}kernel_impl\" not implemented for '{input.dtype.scalar_type}'"
            )
        return record.call(input, (axis,) if input.ndim else ())

    function.__doc__ = f"{name} over `dim`, after a cast to `dtype` (torch.{name})."
    return torch_function(name, forms="fms")(function)


soft = _normalised("softmax", softmax)
log_soft = _normalised("log_softmax", log_softmax)


def implicit_dim(name: str, ndim: int) -> int:
    """Return the dim that `functional.softmax` and similar use by default, with PyTorch's
    warning.
    """
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        UserWarning,
        stacklevel=3,
    )
    return 0 if ndim in (0, 1, 3) else 1


def _functional(name: str, base: Callable[..., Tensor], sign: int) -> None:
    def function(
        input: Tensor,
        dim: int | None = None,
        _stacklevel: int = 3,
        dtype: dtypes.dtype | None = None,
    ) -> Tensor:
        if dim is None:
            dim = implicit_dim(name, input.ndim)
        one_dim(base.__name__, dim, input.ndim, 1)
        return base(input if sign > 0 else -input, dim, dtype=dtype)

    function.__name__ = name
    function.__doc__ = f"torch.nn.functional.{name}; without `dim` the legacy implicit dim."
    expose(function, name, forms="n")


_functional("softmax", soft, 1)
_functional("log_softmax", log_soft, 1)
_functional("softmin", soft, -1)
