"""Losses of torch.nn.functional that compare an input with a target elementwise.

PyTorch computes each of them, with its reduction, in one kernel with one grad_fn. `weighted_loss`
makes such a record from a kernel for the elements and from rules `rule(xp, g, n, *operands)`, where
n is what the mean divides by. Most have a separate backward operator too, which the graph of a
gradient shows.
"""

from __future__ import annotations

import math
import warnings

from gradtrace.annotations import Any, Callable
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.state import state
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import XP, Array, Operand
from gradtrace.engine.operators.op import Derivative, OneResult, Op, d, loss_op
from gradtrace.ops.api import check_tensors, public
from gradtrace.ops.create.factories import cast
from gradtrace.ops.fused import fused
from gradtrace.ops.nn.loss_arguments import check_castable, check_has_size
from gradtrace.ops.shape.expansion import broadcast_tensors

REDUCTIONS = ("none", "mean", "sum")


def reduction_named(
    reduction: str, size_average: bool | None = None, reduce: bool | None = None
) -> str:
    """Return the reduction, which the two legacy arguments override; raise ValueError for an
    unknown one.
    """
    if size_average is not None or reduce is not None:
        return legacy_reduction(size_average, reduce)
    if reduction == "elementwise_mean":
        warnings.warn(
            "reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.",
            stacklevel=3,
        )
        return "mean"
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def legacy_reduction(size_average: bool | None, reduce: bool | None) -> str:
    """Return the reduction that the two legacy arguments mean, with PyTorch's warning."""
    if reduce is False:
        reduction = "none"
    else:
        reduction = "sum" if size_average is False else "mean"
    warnings.warn(
        f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.",
        stacklevel=3,
    )
    return reduction


def reduce_array(losses: Array, weight: Array | None, reduction: str) -> Array:
    if weight is not None:
        losses = losses * weight
    if reduction == "none":
        return losses
    if reduction == "sum":
        return losses.sum(dtype=losses.dtype)
    # mean() warns for an empty array
    return losses.mean() if losses.size else np.asarray(np.nan, losses.dtype)


def weighted_loss(
    signature: str,
    elementwise: Callable[..., Any],
    formula: str,
    needs: str,
    kernel_name: str,
    node: str | None = None,
    backward: Op | None = None,
    **rules: Callable[..., Any],
) -> OneResult:
    """Return a record "NAME(operands; weight, reduction)" of the losses `each(*operands)`, weighted
    and reduced.

    `backward` is the record for the gradient of the first operand.
    """
    name, _, operands = signature.rstrip(")").partition("(")
    n = len(operands.split(","))

    def kernel(*args: Any) -> Array:
        return reduce_array(elementwise(*args[:n]), *args[n:])

    def of_reduced(rule: Callable[..., Any], backward: Op | None) -> Derivative:
        def reduced_rule(xp: XP, g: Operand, out: object, *args: Any) -> Operand:
            weight, reduction = args[n:]
            count = max(math.prod(args[0].shape), 1) if reduction == "mean" else 1
            result = rule(xp, g, count, *args[:n])
            return result if weight is None else xp.times_array(result, weight)

        traced = None if backward is None else lambda xp, g, out, *args: backward(g, *args)
        return d(f"{needs} weight", reduced_rule, traced)

    first = next(iter(rules))
    derivatives = {
        argument: of_reduced(rule, backward if argument == first else None)
        for argument, rule in rules.items()
    }
    return loss_op(f"{name}({operands}; weight, reduction)", kernel, formula, node=node, promote="arith",
        unsupported_dtypes=f"bi {kernel_name}", **derivatives)  # fmt: skip


def huber_slope(xp: XP, x: Operand, bound: float) -> Operand:
    """Clamp x to [-bound, bound]."""
    return xp.where(xp.abs(x) >= bound, xp.sign(x) * bound, x)  # nan passes through


def soft_margin_slope(xp: XP, g: Operand, x: Operand, y: Operand, n: float) -> Operand:
    z = xp.exp(-y * x)
    return -y * (z / (1 + z)) * g / n


def bounded(
    name: str, kernel_name: str, kernel: Callable[..., Any], slope: Callable[..., Any], formula: str
) -> OneResult:
    """Return a record "NAME(self, target; bound, reduction)" of a loss of |self - target| with a
    bound.
    """

    def rule(xp: XP, g: Operand, a: Operand, b: Operand, bound: float, reduction: str) -> Operand:
        norm = 1 / max(math.prod(a.shape), 1) if reduction == "mean" else 1
        return slope(xp, a - b, bound) * norm * g

    backward = fused(f"{name}_backward(g, self, target; bound, reduction)", rule, kind="loss")
    return loss_op(f"{name}(self, target; bound, reduction)",
        lambda a, b, bound, reduction: reduce_array(kernel(np.abs(a - b), bound).astype(a.dtype), None, reduction),
        formula, promote="arith", unsupported_dtypes=f"bi {kernel_name}",
        self=d("self target", lambda xp, g, out, self, target, *rest: rule(xp, g, self, target, *rest),
            lambda xp, g, out, self, target, *rest: backward(g, self, target, *rest)),
        target=d("self target", lambda xp, g, out, self, target, *rest: rule(xp, g, target, self, *rest),
            lambda xp, g, out, self, target, *rest: backward(g, target, self, *rest)))  # fmt: skip


# fmt: off
mse = bounded("mse_loss", "mse_cpu", lambda z, _: z * z, lambda xp, x, _: 2 * x,
    "reduction[i]((self[i] - target[i])**2)")
soft_margin = loss_op("soft_margin_loss(self, target; reduction)",
    lambda a, y, reduction: reduce_array(np.log(1 + np.exp(-y * a)), None, reduction),
    "reduction[i](log(1 + exp(-target[i] * self[i])))", promote="arith", unsupported_dtypes="bi log_vml_cpu",
    self=d("self target", lambda xp, g, out, self, target, reduction:
        xp.soft_margin_loss_backward(g, self, target, math.prod(self.shape) if reduction == "mean" else 1)))
fused("soft_margin_loss_backward(g, self, target; n)", soft_margin_slope, kind="loss", nondifferentiable=("target",),
    formula="-target * g / (n * (1 + exp(target * self)))")
smooth_l1 = bounded("smooth_l1_loss", "smooth_l1_cpu",
    lambda z, beta: np.where(z < beta, 0.5 * z * z / beta, z - 0.5 * beta),
    lambda xp, x, beta: xp.where(xp.abs(x) >= beta, xp.sign(x), x / beta),
    "reduction[i](z**2 / (2 * bound) if z < bound else z - bound / 2); z = abs(self[i] - target[i])")
huber = bounded("huber_loss", "huber_cpu",
    lambda z, delta: np.where(z <= delta, 0.5 * z * z, delta * (z - 0.5 * delta)), huber_slope,
    "reduction[i](z**2 / 2 if z <= bound else bound * (z - bound / 2)); z = abs(self[i] - target[i])")
# fmt: on


def same_shape(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Broadcast input and target to one shape, with PyTorch's warning if their shapes differ."""
    check_has_size(target, input)
    if tuple(input.shape) == tuple(target.shape):
        return input, target
    warnings.warn(
        f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will "
        "likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
        UserWarning,
        stacklevel=3,
    )
    input, target = broadcast_tensors(input, target)
    return input, target


def reduced(losses: Tensor, reduction: str) -> Tensor:
    """Reduce the elements of a loss that is composed of operators: "mean", "sum" or "none"."""
    if reduction == "mean":
        return losses.mean()
    return losses.sum() if reduction == "sum" else losses


def reduced_by_weight(losses: Tensor, weight: Tensor, reduction: str) -> Tensor:
    """Multiply by weights and reduce; the mean is over the weights."""
    losses = losses * weight
    return losses.sum() / weight.sum() if reduction == "mean" else reduced(losses, reduction)


def in_dtype_of(input: Tensor, target: Tensor) -> Tensor:
    """Return the target in the input's dtype, which the result has; raise RuntimeError if they
    promote to another.
    """
    check_castable(input, target)
    return target if target.dtype is input.dtype else cast(target, input.dtype.np)


@public(forms="n")
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Mean (or sum, or elements) of (input - target)^2 (torch.nn.functional.mse_loss)."""
    input, target = same_shape(input, target)
    reduction = reduction_named(reduction, size_average, reduce)
    if weight is None:
        return mse(input, target, 0.0, reduction)
    return reduced_by_weight(mse(input, target, 0.0, "none"), weight, reduction)


@public(forms="n")
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Mean (or sum, or elements) of |input - target| (torch.nn.functional.l1_loss)."""
    input, target = same_shape(input, target)
    reduction = reduction_named(reduction, size_average, reduce)
    losses = (input - target).abs()
    return (
        reduced(losses, reduction)
        if weight is None
        else reduced_by_weight(losses, weight, reduction)
    )


@public(forms="n")
def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Squared error below beta, absolute error above (torch.nn.functional.smooth_l1_loss)."""
    input, target = same_shape(input, target)
    reduction = reduction_named(reduction, size_average, reduce)
    if beta == 0:
        return l1_loss(input, target, reduction=reduction)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    return smooth_l1(input, target, float(beta), reduction)


@public(forms="n")
def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """Squared error below delta, delta times the absolute error above
    (torch.nn.functional.huber_loss).
    """
    input, target = same_shape(input, target)
    reduction = reduction_named(reduction)
    target = in_dtype_of(input, target)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    if weight is None:
        return huber(input, target, float(delta), reduction)
    return reduced_by_weight(huber(input, target, float(delta), "none"), weight, reduction)


@public(forms="n")
def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """log(1 + exp(-target * input)) (torch.nn.functional.soft_margin_loss)."""
    reduction = reduction_named(reduction, size_average, reduce)
    check_tensors("soft_margin_loss", input=input, target=target)
    if target.requires_grad and state.grad_enabled:
        raise RuntimeError(
            "The function 'soft_margin_loss' is not differentiable with respect to argument 'target'. This input "
            "cannot have requires_grad True."
        )
    target = in_dtype_of(input, target)
    return soft_margin(input, target, reduction)


@public(forms="n")
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """target * (log target - input) (torch.nn.functional.kl_div); `input` holds
    log-probabilities.
    """
    check_tensors("kl_div", input=input, target=target)
    if not (input.is_floating_point() and target.is_floating_point()):
        raise RuntimeError("kl_div: Integral inputs not supported.")
    if reduction == "batchmean":
        return kl_div(input, target, reduction="sum", log_target=log_target) / input.shape[0]
    reduction = reduction_named(reduction, size_average, reduce)
    if log_target:
        return reduced(target.exp() * (target - input), reduction)
    # computed first: the order of gradient accumulation shows in the graph
    product = target * input
    return reduced(target.xlogy(target) - product, reduction)


@public(forms="fn")
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Negative log likelihood of a Poisson distribution (torch.nn.functional.poisson_nll_loss)."""
    reduction = reduction_named(reduction, size_average, reduce)
    check_tensors("poisson_nll_loss", input=input, target=target)
    if log_input:
        product = target * input
        loss = input.exp() - product
    else:
        loss = input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return reduced(loss, reduction)


@public(forms="n")
def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Any,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """Negative log likelihood of a Gaussian of variance `var` >= eps
    (torch.nn.functional.gaussian_nll_loss).
    """
    reduction = reduction_named(reduction)
    if isinstance(var, (int, float)):
        var = input.new_full(tuple(input.shape), float(var)) if var >= 0 else var
    if isinstance(var, (int, float)) or bool((var < 0).any()):
        raise ValueError("var has negative entry/entries")
    if tuple(var.shape) != tuple(input.shape):
        if tuple(input.shape[:-1]) == tuple(var.shape):
            var = var.unsqueeze(-1)
        elif not (tuple(input.shape[:-1]) == tuple(var.shape[:-1]) and var.shape[-1] == 1):
            raise ValueError("var is of incorrect size")
    var = var.clone()
    var.data.clamp_(min=eps)
    loss = 0.5 * (var.log() + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return reduced(loss, reduction)
