"""Distances and similarities of vectors, and losses based on them."""

from __future__ import annotations

from gradtrace.annotations import Any, Callable, Sequence
from gradtrace.engine.data import dtypes
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.state import state
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import XP, Array, Operand
from gradtrace.engine.operators.op import contraction_op, d, reduction_op
from gradtrace.ops.api import check_dim, public
from gradtrace.ops.fused import not_differentiable
from gradtrace.ops.linalg.vector_norm import distance_grad, norm_grad, norm_kernel
from gradtrace.ops.nn.loss import reduced, reduction_named
from gradtrace.ops.numbers import add_number
from gradtrace.ops.pointwise.arithmetic import number_minus
from gradtrace.ops.shape.expansion import broadcast_tensors

# fmt: off
norm_of = reduction_op("norm_of(self; p, dims, keepdim)", norm_kernel, "sum[i](abs(self[..., i, ...])**p)**(1 / p)",
    node="NormBackward1", promote="float",
    self=d("self out", norm_grad))
trilinear = contraction_op("trilinear(a, weight, b)",
    lambda a, w, b: np.einsum("ni,oij,nj->no", a, w, b, optimize=True),
    "out[n, o] = sum[i, j](a[n, i] * weight[o, i, j] * b[n, j])", zero="product", a="bilinear_rows(grad, weight, b)",
    weight="outer_sum(grad, a, b)",
    b=d("a weight", lambda xp, g, out, a, weight, b: xp.bilinear_rows(g, xp.transpose(weight, 1, 2), a)))
# sum_oj g[n,o] w[o,i,j] b[n,j], and sum_n g[n,o] a[n,i] b[n,j]: derivatives of trilinear and of
# each other.
bilinear_rows = contraction_op("bilinear_rows(g, weight, b)",
    lambda g, w, b: np.einsum("no,oij,nj->ni", g, w, b, optimize=True),
    "out[n, i] = sum[o, j](g[n, o] * weight[o, i, j] * b[n, j])", node="TrilinearBackward0",
    g="trilinear(grad, weight, b)", weight="outer_sum(g, grad, b)",
    b=d("g weight", lambda xp, h, out, g, weight, b: xp.bilinear_rows(g, xp.transpose(weight, 1, 2), h)))
outer_sum = contraction_op("outer_sum(g, a, b)", lambda g, a, b: np.einsum("no,ni,nj->oij", g, a, b, optimize=True),
    "out[o, i, j] = sum[n](g[n, o] * a[n, i] * b[n, j])", node="TrilinearBackward0", g="trilinear(a, grad, b)",
    a="bilinear_rows(g, grad, b)",
    b=d("g a", lambda xp, h, out, g, a, b: xp.bilinear_rows(g, xp.transpose(h, 1, 2), a)))
# fmt: on


@public(forms="n")
def normalize(
    input: Tensor,
    p: float = 2.0,
    dim: int | Sequence[int] = 1,
    eps: float = 1e-12,
    out: Tensor | None = None,
) -> Tensor:
    """input / max(norm(input, p, dim), eps) (torch.nn.functional.normalize)."""
    return input / input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)


@public(forms="fn")
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """Cosine similarity of vectors along dim, with norms of at least eps
    (torch.nn.functional.cosine_similarity).
    """
    common = dtypes.result_type((x1._data, True), (x2._data, True))
    if not common.is_floating_point:
        raise RuntimeError(
            f"expected common dtype to be floating point, yet common dtype is {common.scalar_type}"
        )
    x1 = x1.to(common)
    x2 = x2.to(common)
    if tuple(x1.shape) != tuple(x2.shape):
        x1, x2 = broadcast_tensors(x1, x2)
    dim = check_dim(dim, x1.ndim)

    def length(x: Tensor) -> Tensor:
        norm = x.norm(2, dim, keepdim=True).clone()
        # PyTorch applies the lower bound to the data: it changes the value, not the derivative.
        if state.planning:
            return norm + (norm.clamp(min=eps) - norm).detach()
        norm.data.clamp_(min=eps)
        return norm

    first = length(x1)
    second = length(x2)
    return (x1 / first * (x2 / second)).sum(dim)


@public(forms="fn")
def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """norm(x1 - x2 + eps, p) over the last dim (torch.nn.functional.pairwise_distance)."""
    difference = add_number(x1 - x2, eps)
    return norm_of(difference, float(p), (max(x1.ndim, x2.ndim) - 1,), keepdim)


@public(forms="fn")
def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """Distances between all pairs of rows (N, M), in shape (N (N - 1) / 2)
    (torch.nn.functional.pdist).
    """
    if input.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    first, second = np.triu_indices(input.shape[0], 1)
    return pdist_record(input, float(p), first, second)


def pdist_grad(
    xp: XP, g: Operand, x: Operand, out: Operand, p: float, first: Array, second: Array
) -> Operand:
    difference = xp.index(x, (first,)) - xp.index(x, (second,))
    share = distance_grad(xp, g, difference, out, p)
    shape = tuple(x.shape)
    return xp.index_place(None, share, shape, (first,)) - xp.index_place(
        None, share, shape, (second,)
    )


# fmt: off
pdist_record = contraction_op("pdist(self; p, first, second)",
    lambda x, p, i, j: norm_kernel(x[i] - x[j], p, (1,), False),
    "out[i, j] = sum[k](abs(self[i, k] - self[j, k])**p)**(1 / p); i < j",
    self="pdist_backward(grad, self, out, p, first, second)")
# fmt: on
not_differentiable(
    "pdist_backward(g, self, pdist; p, first, second)", pdist_grad, kind="contraction"
)


@public(forms="fn")
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return input1^T weight[o] input2 + bias for each output o (torch.nn.functional.bilinear)."""
    if input1.ndim != input2.ndim:
        raise RuntimeError(
            f"bilinear(): input dimensions do not match: got {input1.ndim} and {input2.ndim}"
        )
    if input1.shape[-1] != weight.shape[1]:
        raise RuntimeError(
            f"bilinear(): input1 size does not match weight size: got {input1.shape[-1]} but expected {weight.shape[1]}"
        )
    if input2.shape[-1] != weight.shape[2]:
        raise RuntimeError(
            f"bilinear(): input2 size does not match weight size: got {input2.shape[-1]} but expected {weight.shape[2]}"
        )
    operands = {
        "input1": input1,
        "input2": input2,
        "weight": weight,
        **({} if bias is None else {"bias": bias}),
    }
    if len({t.dtype for t in operands.values()}) > 1:
        kinds = ", ".join(f"{name}: {t.dtype.cpp_name}" for name, t in operands.items())
        raise RuntimeError(f"All tensors must have the same dtype, got {kinds}")
    flat = trilinear(
        input1.reshape(-1, weight.shape[1]), weight, input2.reshape(-1, weight.shape[2])
    )
    out = flat.view(*input1.shape[:-1], weight.shape[0])
    return out if bias is None else out + bias


@public(forms="fn")
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """1 - cos where target is 1, max(0, cos - margin) where it is -1
    (torch.nn.functional.cosine_embedding_loss).
    """
    reduction = reduction_named(reduction, size_average, reduce)
    dim = target.ndim
    if dim and (input1.ndim != 2 or input2.ndim != 2):
        raise RuntimeError(
            f"1D target tensor expects 2D input tensors, but found inputs with sizes {list(input1.shape)} and "
            f"{list(input2.shape)}."
        )
    tiny = 9.999999960041972e-13  # 1e-12 as PyTorch has it, a float32
    across = (input1 * input2).sum(dim)
    sizes = ((input1 * input1).sum(dim) + tiny) * ((input2 * input2).sum(dim) + tiny)
    cosine = across / sizes.sqrt()
    zeros = cosine.new_zeros(tuple(cosine.shape))
    near = number_minus(1, cosine).where(target.eq(1), zeros)
    far = (cosine - margin).clamp_min(0).where(target.eq(-1), zeros)
    return reduced(near + far, reduction)


@public(forms="fn")
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, margin + d(anchor, positive) - d(anchor, negative))
    (torch.nn.functional.triplet_margin_loss).
    """
    reduction = reduction_named(reduction, size_average, reduce)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    near = pairwise_distance(anchor, positive, p, eps)
    far = pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = far.minimum(pairwise_distance(positive, negative, p, eps))
    return reduced((add_number(near, margin) - far).clamp_min(0), reduction)


@public(forms="n")
def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[..., Any] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """triplet_margin_loss with a custom distance function
    (torch.nn.functional.triplet_margin_with_distance_loss).
    """
    reduction = reduction_named(reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    distance = distance_function or pairwise_distance
    near = distance(anchor, positive)
    far = distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    return reduced((near + margin - far).clamp_min(0), reduction)
