"""Margin losses for rankings, classes and labels."""

from __future__ import annotations

from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import Array, Shape
from gradtrace.engine.operators.op import d, loss_op
from gradtrace.ops.api import check_tensors, public
from gradtrace.ops.arguments import need_float
from gradtrace.ops.nn.loss import reduce_array, reduced, reduction_named
from gradtrace.ops.numbers import add_number
from gradtrace.ops.pointwise.arithmetic import number_minus


@public(forms="fn")
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, -target (input1 - input2) + margin) (torch.nn.functional.margin_ranking_loss)."""
    reduction = reduction_named(reduction, size_average, reduce)
    if not input1.ndim == input2.ndim == target.ndim:
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.shape}, input2: {input2.shape}, target: {target.shape} "
        )
    return reduced(add_number(-target * (input1 - input2), margin).clamp_min(0), reduction)


@public(forms="fn")
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """input where target is 1, max(0, margin - input) where it is -1
    (torch.nn.functional.hinge_embedding_loss).
    """
    reduction = reduction_named(reduction, size_average, reduce)
    check_tensors("hinge_embedding_loss", input=input, target=target)
    zeros = input.new_zeros(tuple(input.shape))
    far = number_minus(margin, input).clamp_min(0).where(target.ne(1), zeros)
    near = input.where(target.ne(-1), zeros)
    return reduced(far + near, reduction)


@public(forms="n")
def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Mean over classes of the binary cross entropy of logits
    (torch.nn.functional.multilabel_soft_margin_loss).
    """
    from gradtrace.ops.nn.activation import logsigmoid

    reduction = reduction_named(reduction, size_average, reduce)
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    dim = input.ndim - 1
    return reduced(loss.sum(dim) / input.shape[dim], reduction)


# ---- over classes: one pass computes values and slopes, as PyTorch's kernels have no second derivative either


def multi_margin_parts(
    x: Array, target: Array, p: int, margin: float, weight: Array | None
) -> tuple[Array, Array]:
    """Return the loss of each row of x (N, C), and its derivative."""
    shape = x.shape
    x = np.atleast_2d(x)
    target = target.reshape(-1)
    rows = np.arange(x.shape[0])
    z = margin - x[rows, target][:, None] + x
    z[rows, target] = 0
    active = z > 0
    factor = 1 if weight is None else weight[target][:, None]
    losses = np.where(active, z if p == 1 else z * z, 0) * factor / x.shape[1]
    slope = np.where(active, 1 if p == 1 else 2 * z, 0) * factor / x.shape[1]
    slope[rows, target] = 0 - slope.sum(1)
    return losses.sum(1).astype(x.dtype), slope.astype(x.dtype).reshape(shape)


def multilabel_parts(x: Array, target: Array) -> tuple[Array, Array]:
    """Return each row's loss and its derivative; the labels of a row are those before the first
    -1.
    """
    shape = x.shape
    x = np.atleast_2d(x)
    target = np.atleast_2d(target)
    losses = np.zeros(x.shape[0], x.dtype)
    slopes = np.zeros_like(x)
    for n, row in enumerate(target):
        end = np.flatnonzero(row < 0)
        labels = row[: end[0]] if end.size else row
        others = np.setdiff1d(np.arange(x.shape[1]), labels)
        z = 1 - x[n, labels][:, None] + x[n, others][None]
        active = z > 0
        losses[n] = z[active].sum() / x.shape[1]
        np.add.at(slopes[n], labels, -active.sum(1) / x.shape[1])
        slopes[n, others] += active.sum(0) / x.shape[1]
    return losses, slopes.reshape(shape)


def rows_grad(g: Array, slope: Array, reduction: str) -> Array:
    if reduction == "none":
        return g.reshape(-1, *(1,) * (slope.ndim - 1)) * slope
    samples = len(slope) if slope.ndim > 1 else 1
    return g * (slope if reduction != "mean" else slope / slope.dtype.type(samples))


def reduced_rows(losses: Array, target_shape: Shape, reduction: str) -> Array:
    """Reduce the losses of the samples; with reduction "none" return them in the target's shape."""
    return (
        losses.reshape(target_shape)
        if reduction == "none"
        else reduce_array(losses, None, reduction)
    )


# fmt: off
multi_margin = loss_op("multi_margin_loss(self; target, p, margin, weight, reduction)",
    lambda x, target, p, margin, weight, reduction:
        reduced_rows(multi_margin_parts(x, target, p, margin, weight)[0], target.shape, reduction),
    "reduction[n](sum[j](max(0, margin - self[n, y] + self[n, j])**p) / C); y = target[n]; j != y",
    unsupported_dtypes="bi multi_margin_loss_cpu_kernel",
    self=d("self target weight", "multi_margin_loss_backward(grad, self, target, p, margin, weight, reduction)"))
loss_op("multi_margin_loss_backward(g, self; target, p, margin, weight, reduction)",
    lambda g, x, target, p, margin, weight, reduction:
        rows_grad(g, multi_margin_parts(x, target, p, margin, weight)[1], reduction), undefined=True)
multilabel_margin = loss_op("multilabel_margin_loss(self; target, reduction)",
    lambda x, target, reduction: reduced_rows(multilabel_parts(x, target)[0], x.shape[:-1], reduction),
    "reduction[n](sum[j, k](max(0, 1 - (self[n, target[n, j]] - self[n, k]))) / C); k not in target[n]",
    self=d("self target", "multilabel_margin_loss_backward(grad, self, target, reduction)"))
loss_op("multilabel_margin_loss_backward(g, self; target, reduction)",
    lambda g, x, target, reduction: rows_grad(g, multilabel_parts(x, target)[1], reduction), undefined=True)
# fmt: on


@public(forms="n")
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Mean over classes of max(0, margin - x[y] + x[i])^p
    (torch.nn.functional.multi_margin_loss).
    """
    reduction = reduction_named(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    labels = target.array
    if labels.size and (labels.min() < 0 or labels.max() >= (input.shape[-1] if input.ndim else 1)):
        raise RuntimeError("target out of range")
    return multi_margin(input, target, p, margin, weight, reduction)


@public(forms="n")
def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Hinge loss of each label of a row against every other class
    (torch.nn.functional.multilabel_margin_loss).
    """
    reduction = reduction_named(reduction, size_average, reduce)
    check_tensors("multilabel_margin_loss", input=input, target=target)
    if tuple(target.shape) != tuple(input.shape):
        raise RuntimeError(
            f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}"
        )
    need_float(input, "multilabel_margin_loss_forward_out_frame")
    if target.dtype.name != "int64":
        raise RuntimeError(f"expected scalar type Long but found {target.dtype.scalar_type}")
    labels = target.array
    if labels.size and (
        labels.min() < -1 or labels.max() >= (input.shape[-1] if input.ndim else 1)
    ):
        raise RuntimeError("Expected target value to be in range [-1, nclasses)")
    return multilabel_margin(input, target, reduction)
