"""Normalisation: batch, layer, group, instance and root mean square norm.

Batch, layer and group normalisation share one computation: the input is reshaped to `seen`, mean
and variance are taken over the dims `over`, and the weight and bias have the input's dims except
`others`.
"""

from __future__ import annotations

from gradtrace import ops
from gradtrace.annotations import Any, Callable, Iterable, Sequence
from gradtrace.engine.calls.inplace import write
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import XP, Array, Ints, Operand, Rule
from gradtrace.engine.operators.op import SeveralResults, d, normalization_op
from gradtrace.engine.reverse.saved import watch
from gradtrace.ops.api import functions
from gradtrace.ops.arguments import count, kept_shape, need_float, torch_function
from gradtrace.ops.create.factories import cast, clone
from gradtrace.ops.fused import fused
from gradtrace.ops.nn.layer_norm_arguments import (
    check_batch,
    check_batch_sizes,
    check_group,
    check_layer,
    check_more_than_one,
    check_same_dtype,
)
from gradtrace.ops.nn.layer_norm_backward import (
    batch_input_grad,
    is_short,
    layer_input_grad,
    moments,
)
from gradtrace.ops.nn.pad import pad
from gradtrace.ops.nn.patches import widen_half
from gradtrace.ops.nn.pool import average_pools
from gradtrace.ops.nn.pool_arguments import check_tensor
from gradtrace.ops.reduce.sums import average

# ---- kernels


def affine(a: Array, weight: Array | None, bias: Array | None, others: Ints) -> None:
    """Scale and shift in place; the weight and bias have all dims of `a` except `others`."""
    if weight is not None:
        a *= weight.reshape(kept_shape(a.shape, others))
    if bias is not None:
        a += bias.reshape(kept_shape(a.shape, others))


def normalise_kernel(
    a: Array,
    weight: Array | None,
    bias: Array | None,
    seen: Ints,
    over: Ints,
    others: Ints,
    eps: float,
) -> tuple[Array, Array, Array]:
    """Normalise, scale and shift; return the result, the mean and the variance."""
    x = widen_half(a).reshape(seen)
    if is_short(x, over):
        mean, var = moments(x, over)
        away = x - mean
    else:
        mean = average(x, over, True)
        away = x - mean
        var = average(away * away, over, True)
    away *= 1 / np.sqrt(var + x.dtype.type(eps))
    out = away.reshape(a.shape)
    affine(out, weight, bias, others)
    return out.astype(a.dtype, copy=False), mean, var


def running_stats_kernel(
    a: Array, weight: Array | None, bias: Array | None, mean: Array, var: Array, eps: float
) -> Array:
    others = (0, *range(2, a.ndim))
    shape = kept_shape(a.shape, others)
    x = widen_half(a)
    out = (x - mean.reshape(shape)) * (1 / np.sqrt(var + var.dtype.type(eps))).reshape(shape)
    affine(out, weight, bias, others)
    return out.astype(a.dtype, copy=False)


# ---- rules


def normalise_grads(
    xp: XP,
    wanted: Sequence[bool],
    g: Operand,
    input: Operand,
    weight: Operand | None,
    stats: Any,
    seen: Ints,
    over: Ints,
    others: Ints,
    eps: float,
) -> list[Any]:
    """Return the wanted gradients from the saved mean and variance; without `stats` recompute
    these, differentiably.
    """
    x = xp.reshape(input, seen)
    if stats is None:
        away = x - xp.mean_dim(x, over, True)
        inverse = xp.rsqrt(xp.mean_dim(away * away, over, True) + eps)
    else:
        away = x - stats[0]
        inverse = xp.rsqrt(stats[1] + stats[1].dtype.type(eps))
    normal = away * inverse
    grads: list[Any] = [None, None, None]
    if wanted[0]:
        share = g if weight is None else g * xp.reshape(weight, kept_shape(g.shape, others))
        share = xp.reshape(share, seen)
        slope = xp.mean_dim(share * normal, over, True)
        grads[0] = xp.reshape(
            (share - xp.mean_dim(share, over, True) - normal * slope) * inverse, tuple(g.shape)
        )
    affine_grads(xp, wanted, g, lambda: xp.reshape(normal, tuple(g.shape)), others, grads)
    return grads


def affine_grads(
    xp: XP,
    wanted: Sequence[bool],
    g: Operand,
    normal: Callable[[], Operand],
    others: Ints,
    grads: list[Any],
) -> None:
    if wanted[1]:
        grads[1] = xp.sum_dim(g * normal(), others) if others else g * normal()
    if wanted[2]:
        grads[2] = xp.sum_dim(g, others) if others else g


def running_stats_grads(
    xp: XP,
    g: Operand,
    input: Operand,
    weight: Operand | None,
    _: object,
    __: object,
    mean: Operand,
    var: Operand,
    wanted: Sequence[bool],
    eps: float,
) -> list[Any]:
    others = (0, *range(2, g.ndim))
    shape = kept_shape(g.shape, others)
    inverse = xp.reshape(xp.rsqrt(var + eps), shape)
    grads: list[Any] = [None, None, None]
    if wanted[0]:
        grads[0] = g * inverse if weight is None else g * (inverse * xp.reshape(weight, shape))
    affine_grads(xp, wanted, g, lambda: (input - xp.reshape(mean, shape)) * inverse, others, grads)
    return grads


def select_wanted(wanted: Sequence[bool], grads: Iterable[Operand | None]) -> list[Any]:
    return [g if asked else None for g, asked in zip(grads, wanted, strict=False)]


def normalise_record(
    name: str, needs: str, traced: Rule | None = None, exact: Callable[..., Array] | None = None
) -> SeveralResults:
    """Return a record of normalisation; `exact` of `layer_norm_backward` computes the input's
    gradient in float32.
    """

    def rule(
        xp: XP,
        wanted: Sequence[bool],
        g: Any,
        out: Any,
        input: Any,
        weight: Any,
        bias: object,
        *rest: Any,
    ) -> list[Any]:
        if exact is None or input.dtype != np.float32 or not wanted[0]:
            return normalise_grads(xp, wanted, g[0], input, weight, out[1:], *rest)
        result = normalise_grads(xp, (False, *wanted[1:]), g[0], input, weight, out[1:], *rest)
        _, over, others, eps = rest
        inverse = 1 / np.sqrt(out[2] + out[2].dtype.type(eps))
        wide_weight = None if weight is None else weight.reshape(kept_shape(input.shape, others))
        result[0] = exact(g[0], input, wide_weight, out[1], inverse, over)
        return result

    return normalization_op(f"{name}(input, weight, bias; seen, over, others, eps)", normalise_kernel,
        "weight * (input - mean) / sqrt(var + eps) + bias", outputs=3, differentiable=(0,), undefined_grad="none",
        public=name.removeprefix("native_"), joint=d(needs, rule, traced))  # fmt: skip


# Backward records: PyTorch passes mean and inverse deviation, here they are recomputed from the
# input.
# fmt: off
batch_backward = fused("native_batch_norm_backward(g, input, weight, mean, inverse; wanted, seen, over, others, eps)",
    lambda xp, g, input, weight, _, __, wanted, *rest: normalise_grads(xp, wanted, g, input, weight, None, *rest),
    kind="normalization", outputs=3)
fixed_backward = fused("batch_norm_fixed_backward(g, input, weight, _, __; mean, var, wanted, eps)",
    running_stats_grads, node="NativeBatchNormBackwardBackward0",
    kind="normalization", outputs=3)
layer_backward = fused(
    "native_layer_norm_backward(g, input, mean, inverse, weight, bias; wanted, seen, over, others, eps)",
    lambda xp, g, input, _, __, weight, bias, wanted, *rest:
        normalise_grads(xp, wanted, g, input, weight, None, *rest), kind="normalization", outputs=3)
batch_normal = normalise_record("native_batch_norm", "input weight out1 out2",
    lambda xp, wanted, g, out, input, weight, bias, *rest:
        select_wanted(wanted, batch_backward(g[0], input, weight, None, None, wanted, *rest)),
    batch_input_grad)
layer_normal = normalise_record("native_layer_norm", "input weight bias out1 out2",
    lambda xp, wanted, g, out, input, weight, bias, *rest:
        select_wanted(wanted, layer_backward(g[0], input, None, None, weight, bias, wanted, *rest)),
    layer_input_grad)
group_normal = normalise_record("native_group_norm", "input weight out1 out2",
    lambda xp, wanted, g, out, input, weight, bias, *rest:
        normalise_grads(xp, wanted, g[0], input, weight, None, *rest))
batch_fixed = normalization_op("batch_norm_fixed(input, weight, bias, mean, var; eps)", running_stats_kernel,
    "weight * (input - mean) / sqrt(var + eps) + bias", node="NativeBatchNormBackward0", public="batch_norm",
    nondifferentiable=("mean", "var"),
    joint=d("input weight mean var", lambda xp, wanted, g, out, input, weight, bias, mean, var, eps:
        [*running_stats_grads(xp, g, input, weight, None, None, mean, var, wanted, eps), None, None],
        lambda xp, wanted, g, out, input, weight, bias, mean, var, eps: [*select_wanted(
            wanted, fixed_backward(g, input, weight, None, None, mean, var, wanted, eps)), None, None]))
# fmt: on


# ---- batch norm


@torch_function(forms="n")
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise each channel to mean 0 and variance 1, over the batch or by the running statistics
    (F.batch_norm).

    input is (N, C, ...). In training, running statistics are updated in place with the unbiased
    variance. Raises ValueError for one value per channel in training, RuntimeError for statistics
    or weights of another size.
    """
    if training:
        check_batch_sizes(input)
        if eps <= 0:
            raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    elif eps < 0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
    return normalise_batch(input, weight, bias, running_mean, running_var, training, momentum, eps)[
        0
    ]


def normalise_batch(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Any, Any, Any]:
    """Return the result and, in training, the mean and variance of each channel."""
    check_tensor("batch_norm", input)
    check_batch(input, weight, bias, running_mean, running_var, training)
    if not input.numel():
        return empty_batch(input, weight, bias), None, None
    if not training:
        return batch_fixed(input, weight, bias, running_mean, running_var, eps), None, None
    others = (0, *range(2, input.ndim))
    out, mean, var = batch_normal(input, weight, bias, tuple(input.shape), others, others, eps)
    n = count(input.shape, others)
    for running, new in (
        (running_mean, mean.array),
        (running_var, var.array * (n / max(n - 1, 1))),
    ):
        if running is not None:
            old = running.shared()
            write(running, (momentum * new.reshape(-1) + (1 - momentum) * old).astype(old.dtype))
    return watch(out, running_mean, running_var), mean, var


def empty_batch(input: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    out: Any = clone(input)
    if weight is not None:
        out = out * weight[0]
    return out if bias is None else out + bias[0]


@torch_function("batch_norm", forms="f")
def torch_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = False,
) -> Tensor:
    """functional.batch_norm with its arguments in another order (torch.batch_norm)."""
    return normalise_batch(input, weight, bias, running_mean, running_var, training, momentum, eps)[
        0
    ]


@torch_function(forms="f")
def native_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Any, Any, Any]:
    """batch_norm that also returns the mean and inverse deviation of each channel
    (torch.native_batch_norm).
    """
    out, mean, var = normalise_batch(
        input, weight, bias, running_mean, running_var, training, momentum, eps
    )
    if mean is None:
        return (
            out,
            ops.find(functions, "empty")(0, dtype=input.dtype),
            ops.find(functions, "empty")(0, dtype=input.dtype),
        )
    return out, mean.reshape(-1), (var + eps).rsqrt().reshape(-1)


@torch_function(forms="n")
def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise each channel of each sample separately (torch.nn.functional.instance_norm).

    Raises ValueError for one value per channel, RuntimeError without statistics to use.
    """
    if use_input_stats:
        check_more_than_one(input)
    return torch_instance_norm(
        input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, False
    )


@torch_function("instance_norm", forms="f")
def torch_instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = False,
) -> Tensor:
    """functional.instance_norm with its arguments in another order (torch.instance_norm)."""
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError(
            "Expected running_mean and running_var to be defined when use_input_stats is false"
        )
    samples = input.shape[0]
    channels = input.shape[1]
    w, b, mean, var = (
        None if t is None else t.repeat(samples) for t in (weight, bias, running_mean, running_var)
    )
    flat = input.contiguous().view(1, samples * channels, *input.shape[2:])
    out, _, _ = normalise_batch(flat, w, b, mean, var, use_input_stats, momentum, eps)
    for running, new in ((running_mean, mean), (running_var, var)):
        if running is not None and new is not None:
            running.detach().copy_(new.view(samples, channels).mean(0))
    return out.view(*input.shape)


# ---- layer norm and group norm


def normalise_layer(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
) -> tuple[Any, Any, Any]:
    shape = check_layer("layer_norm", input, normalized_shape, weight, bias)
    check_same_dtype(input, weight, bias)
    need_float(input, "LayerNormKernelImpl")
    lead = input.ndim - len(shape)
    over = tuple(range(lead, input.ndim))
    return layer_normal(input, weight, bias, tuple(input.shape), over, tuple(range(lead)), eps)


@torch_function(forms="fn")
def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Tensor:
    """Normalise the last dims, normalized_shape, to mean 0 and variance 1; then scale and shift
    (F.layer_norm).

    Raises RuntimeError if the shapes do not match.
    """
    return normalise_layer(input, normalized_shape, weight, bias, eps)[0]


@torch_function(forms="f")
def native_layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
) -> tuple[Any, Any, Any]:
    """layer_norm that also returns the means and inverse deviations (torch.native_layer_norm)."""
    out, mean, var = normalise_layer(input, normalized_shape, weight, bias, eps)
    return out, mean, (var + eps).rsqrt()


@torch_function(forms="fn")
def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Tensor:
    """Normalise groups of channels of each sample to mean 0 and variance 1 (F.group_norm).

    input is (N, C, ...), weight and bias (C). Raises RuntimeError if num_groups does not divide C.
    """
    check_group(input, num_groups, weight, bias)
    check_same_dtype(input, weight, bias)
    need_float(input, "GroupNormKernelImpl")
    group_size = count(input.shape[1:]) // num_groups
    seen = (input.shape[0], num_groups, group_size)
    return group_normal(input, weight, bias, seen, (2,), (0, *range(2, input.ndim)), eps)[0]


# ---- composed


@torch_function(forms="fn")
def rms_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """Divide input by its root mean square over the last dims, then scale by weight (F.rms_norm).

    eps defaults to the machine epsilon of the dtype. Raises RuntimeError if the shapes do not
    match.
    """
    shape = check_layer("rms_norm", input, normalized_shape, weight, None)
    need_float(input, "rms_norm")
    dtype = input.dtype
    x: Any = cast(input, np.dtype(np.float32)) if dtype.np.itemsize == 2 else input
    if eps is None:
        eps = float(np.finfo(x.dtype.np).eps)
    square = x.pow(2).mean(tuple(range(x.ndim - len(shape), x.ndim)), keepdim=True)
    out = x * square.add_(eps).rsqrt()
    if weight is not None:
        out = out * weight
    return out if out.dtype is dtype else cast(out, dtype.np)


@torch_function(forms="n")
def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """Divide input by a power of the mean square of `size` neighbouring channels
    (F.local_response_norm).
    """
    if input.ndim < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality                          input (got {input.ndim} dimensions)"
        )
    if not input.numel():
        return input
    around = (size // 2, (size - 1) // 2)
    square: Any = input.mul(input)
    if input.ndim == 3:
        square = pad(square.unsqueeze(1), (0, 0, *around))
        square = average_pools[2](square, (size, 1), stride=1).squeeze(1)
    else:
        square = square.view(input.shape[0], 1, input.shape[1], input.shape[2], -1)
        square = pad(square, (0, 0, 0, 0, *around))
        square = average_pools[3](square, (size, 1, 1), stride=1).squeeze(1).view(*input.shape)
    return input / square.mul(alpha).add(k).pow(beta)
