"""Classification losses over class indices or probabilities: nll_loss and cross_entropy."""

from __future__ import annotations

from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import XP, Array, Operand
from gradtrace.engine.operators.op import ZERO_GRAD, OneResult, d, loss_op
from gradtrace.ops.api import check_tensors, public
from gradtrace.ops.arguments import require_float
from gradtrace.ops.nn.loss import reduction_named
from gradtrace.ops.nn.loss_arguments import check_class_weight, check_targets
from gradtrace.ops.numbers import div_number

# ---- negative log likelihood


def picked(target: Array, ignore: int) -> tuple[tuple[Array, ...], Array]:
    """Return the index of each target's class in an input (N, C, ...), and a mask of the targets
    not ignored.
    """
    valid = target != ignore
    index = np.where(valid, target, 0)
    places: list[Array] = list(np.indices(target.shape))
    return (places[0], index, *places[1:]), valid


def class_weights(
    x: Array, target: Array, weight: Array | None, ignore: int
) -> tuple[tuple[Array, ...], Array]:
    index, valid = picked(target, ignore)
    w = np.ones(target.shape, x.dtype) if weight is None else weight[index[1]]
    return index, np.where(valid, w, 0).astype(x.dtype)


def nll_kernel(x: Array, target: Array, weight: Array | None, reduction: str, ignore: int) -> Array:
    if x.ndim == 1:
        return nll_kernel(
            x[None], target.reshape(1), weight, "sum" if reduction == "none" else reduction, ignore
        )
    if is_plain(x, target, weight, ignore):
        losses = -x[np.arange(target.size), target]
        if reduction == "none":
            return losses
        total = np.add.reduce(losses)
        return total if reduction == "sum" else total / x.dtype.type(target.size)
    index, w = class_weights(x, target, weight, ignore)
    losses = np.where(w == 0, np.zeros_like(w), -x[index] * w) if weight is None else -x[index] * w
    if reduction == "none":
        return losses
    total = losses.sum(dtype=x.dtype)
    return total if reduction == "sum" else total / w.sum(dtype=x.dtype)


def nll_factor(x: Array, target: Array, weight: Array | None, reduction: str, ignore: int) -> Array:
    """Return the derivative of each loss (or of their sum or mean) with respect to x, in the shape
    of x.
    """
    if x.ndim == 1:
        return nll_factor(x[None], target.reshape(1), weight, reduction, ignore)[0]
    index, w = class_weights(x, target, weight, ignore)
    out = np.zeros(x.shape, x.dtype)
    total = w.sum(dtype=x.dtype)
    # 0 - w avoids -0.0
    out[index] = 0 - w if reduction != "mean" else 0 - w / (total if total != 0 else 1)
    return out


def is_plain(x: Array, target: Array, weight: Array | None, ignore: int) -> bool:
    """Return whether the fast path applies: x is (N, C), without class weights or ignored
    targets.
    """
    if weight is not None or x.ndim != 2 or not target.size or x.dtype.itemsize == 2:
        return False
    return bool(target.item(target.argmin()) >= 0) if ignore < 0 else ignore not in target


def nll_grad(
    g: Array, x: Array, target: Array, weight: Array | None, reduction: str, ignore: int
) -> Array:
    if is_plain(x, target, weight, ignore):
        out = np.zeros(x.shape, x.dtype)
        unit = x.dtype.type(1)
        rate = -unit / x.dtype.type(target.size) if reduction == "mean" else -unit
        out[np.arange(target.size), target] = g * rate
        return out
    factor = nll_factor(x, target, weight, reduction, ignore)
    return (g[:, None] if reduction == "none" and x.ndim > 1 else g) * factor


def nll_double_backward(
    xp: XP,
    gg: Operand,
    out: object,
    g: object,
    like: Operand,
    target: Array,
    weight: Array | None,
    reduction: str,
    ignore: int,
) -> Operand:
    """Return the gradient of `nll_grad` with respect to its argument `g`, in which it is linear."""
    products = xp.times_array(
        gg, nll_factor(np.empty(like.shape, like.dtype), target, weight, reduction, ignore)
    )
    return (
        xp.sum_dim(products, (1,))
        if reduction == "none" and len(gg.shape) > 1
        else xp.sum(products)
    )


def _nll(name: str, formula: str) -> OneResult:
    backward = f"{name}_backward"
    loss_op(f"{backward}(g, self; target, weight, reduction, ignore)", nll_grad,
        g=d("~self", nll_double_backward),
        self=ZERO_GRAD)  # fmt: skip
    return loss_op(f"{name}(self; target, weight, reduction, ignore)", nll_kernel, formula,
        self=d("self target weight",
            lambda xp, g, out, self, *rest: getattr(xp, backward)(g, self, *rest)))  # fmt: skip


nll_record = _nll("nll_loss", "reduction[n](-weight[target[n]] * self[n, target[n]])")
nll2d_record = _nll(
    "nll_loss2d", "reduction[n, x](-weight[target[n, x]] * self[n, target[n, x], x])"
)


@public(forms="n")
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Negative log likelihood of classes (torch.nn.functional.nll_loss).

    `input` has shape (C), (N, C) or (N, C, d1, ...); `target` holds class indices, in the same
    shape without C.
    """
    reduction = reduction_named(reduction, size_average, reduce)
    check_tensors("nll_loss_nd", input=input, target=target)
    return loss_of_classes(input, target, weight, ignore_index, reduction)


def loss_of_classes(
    input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str
) -> Tensor:
    """Return the loss for log-probabilities and class indices."""
    check_targets(input, target, weight, ignore_index)
    dims = input.ndim
    record = nll_record if dims <= 2 else nll2d_record
    classes = target
    if dims not in (1, 2, 4):
        # As in PyTorch, inputs with more dims than (N, C) are reshaped to (N, C, H, W) first.
        n = input.shape[0]
        c = input.shape[1]
        input = input.reshape(n, c, 1, -1) if input.numel() else input
        classes = target.reshape(n, 1, -1)
    result: Tensor = record.call(input, classes, weight, reduction, ignore_index)
    apart = reduction == "none" and dims > 1 and result.shape != target.shape
    return result.view(*target.shape) if apart else result


@public(forms="n")
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Cross entropy of logits and class indices or class probabilities
    (torch.nn.functional.cross_entropy).

    `input` has shape (C), (N, C) or (N, C, d1, ...); `target` has that shape without C (indices) or
    with it (floats).
    """
    reduction = reduction_named(reduction, size_average, reduce)
    check_tensors("cross_entropy_loss", input=input, target=target)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    dim = 0 if input.ndim == 1 else 1
    if target.ndim == input.ndim and target.shape == input.shape:
        check_probabilities(target, ignore_index)
        check_class_weight(weight, input.shape[dim], "cross_entropy: ")
        return probabilities(
            input.log_softmax(dim), target, weight, reduction, label_smoothing, dim
        )
    logs = input.log_softmax(dim)
    if label_smoothing:
        return smoothed(logs, target, weight, reduction, ignore_index, label_smoothing, dim)
    return loss_of_classes(logs, target, weight, ignore_index, reduction)


def check_probabilities(target: Tensor, ignore: int) -> None:
    require_float(
        target, "Expected floating point type for target with class probabilities, got {}"
    )
    if ignore >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")


def probabilities(
    logs: Tensor, target: Tensor, weight: Tensor | None, reduction: str, smoothing: float, dim: int
) -> Tensor:
    classes = logs.shape[dim]
    if smoothing:
        target = target * (1 - smoothing) + smoothing / classes
    product = logs * target
    if weight is not None:
        product = product * weight.reshape(*(classes if i == dim else 1 for i in range(logs.ndim)))
    if reduction == "none":
        return -product.sum(dim)
    total = -product.sum()
    return div_number(total, logs.numel() / classes) if reduction == "mean" else total


def smoothed(
    logs: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: str,
    ignore: int,
    smoothing: float,
    dim: int,
) -> Tensor:
    """Return (1 - smoothing) times the loss of the target plus smoothing / C times the loss of each
    class.
    """
    classes = logs.shape[dim]
    hard = nll_loss(logs, target, weight, None, ignore, None, reduction)
    weights = (
        None
        if weight is None
        else weight.reshape(*(classes if i == dim else 1 for i in range(logs.ndim)))
    )
    every = -(logs if weights is None else logs * weights).sum(dim)
    ignored = target == ignore
    every = every.masked_fill(ignored, 0.0)
    if reduction == "sum":
        every = every.sum()
    elif reduction == "mean":
        if weight is None:
            every = every.sum() / float((~ignored).sum().shared())
        else:
            used = weight.array[np.where(ignored.array, 0, target.array)]
            every = every.sum() / float(np.where(ignored.array, 0, used).sum())
    return hard * (1 - smoothing) + every * (smoothing / classes)
