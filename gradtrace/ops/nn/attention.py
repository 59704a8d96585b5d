"""Scaled dot product attention (Vaswani et al., https://arxiv.org/abs/1706.03762).

PyTorch has two implementations, which differ in the graph: batches of heads (4-d inputs) use a
fused kernel with one node; other inputs are composed of products and a softmax.
"""

from __future__ import annotations

import math

from gradtrace.annotations import Any, Sequence
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import XP, Array, Operand
from gradtrace.engine.operators.namespace import ARRAY
from gradtrace.engine.operators.op import contraction_op, d, normalization_op, records
from gradtrace.ops.api import public
from gradtrace.ops.arguments import require_float
from gradtrace.ops.nn.softmax import softmax_kernel
from gradtrace.ops.numbers import mul_number


def safe_softmax_kernel(a: Array, dim: int) -> Array:
    """Return the softmax over the last dim; a row of only -inf gives zeros."""
    empty = (a == -np.inf).all(axis=dim, keepdims=True)
    return np.where(
        empty, np.zeros_like(a), softmax_kernel(np.where(empty, np.zeros_like(a), a), (dim,))
    )


# fmt: off
safe_softmax = normalization_op("safe_softmax(self; dim)", safe_softmax_kernel,
    "out[..., i, ...] = exp(self[..., i, ...]) / sum[k](exp(self[..., k, ...]))",
    self=d("out", lambda xp, g, out, self, dim: xp.softmax_backward(g, out, (dim,))))
# fmt: on


def weights_kernel(q: Array, k: Array, mask: Array | None, scale: float) -> Array:
    scores = np.matmul(q, np.swapaxes(k, -1, -2)) * q.dtype.type(scale)
    return safe_softmax_kernel(scores if mask is None else scores + mask, scores.ndim - 1)


def attention_kernel(q: Array, k: Array, v: Array, mask: Array | None, scale: float) -> Array:
    return np.matmul(weights_kernel(q, k, mask, scale), v)


def attention_grad(
    xp: XP,
    wanted: Sequence[bool],
    g: Any,
    out: Any,
    q: Any,
    k: Any,
    v: Any,
    mask: Operand | None,
    scale: float,
) -> tuple[Operand | None, ...]:
    """Return the gradients of query, key and value; the matrices are multiplied as one batch."""
    heads, (rows, columns) = tuple(q.shape[:-2]), (q.shape[-2], k.shape[-2])
    n = math.prod(heads)

    def batch(x: Operand) -> Operand:
        return xp.reshape(x, (n, x.shape[-2], x.shape[-1]))

    def transposed(x: Operand) -> Operand:
        return xp.transpose(x, 1, 2)

    g = batch(g)
    q = batch(q)
    k = batch(k)
    v = batch(v)
    scores = xp.reshape(xp.bmm(q, transposed(k)) * scale, (*heads, rows, columns))
    if mask is not None:
        scores = scores + mask
    p = batch(xp.safe_softmax(scores, len(heads) + 1))
    of_p = xp.bmm(g, transposed(v))
    of_scores = p * (of_p - xp.sum_dim(of_p * p, (2,), True)) * scale
    result = (xp.bmm(of_scores, k), xp.bmm(transposed(of_scores), q), xp.bmm(transposed(p), g))
    return tuple(
        xp.reshape(x, (*heads, *x.shape[1:])) if w else None
        for x, w in zip(result, wanted, strict=True)
    )


def attention_traced(
    xp: XP,
    wanted: Sequence[bool],
    g: Operand,
    out: Operand,
    q: Operand,
    k: Operand,
    v: Operand,
    *rest: Any,
) -> list[Any]:
    result = records["_scaled_dot_product_flash_attention_for_cpu_backward"](g, q, k, v, out, *rest)
    return [f if asked else None for f, asked in zip(result, wanted, strict=True)]


# fmt: off
fused = contraction_op("scaled_dot_product_attention(query, key, value; mask, scale)", attention_kernel,
    "out[i] = sum[j](softmax[j](scale * (query[i] @ key[j]) + mask[i, j]) * value[j])",
    node="ScaledDotProductFlashAttentionForCpuBackward0",
    joint=d("query key value mask out", attention_grad, attention_traced))
# PyTorch's fused kernel has no second derivative.
contraction_op("_scaled_dot_product_flash_attention_for_cpu_backward(g, query, key, value, out; mask, scale)",
    lambda g, q, k, v, out, *rest: tuple(attention_grad(ARRAY, (True,) * 3, g, None, q, k, v, *rest)), outputs=3,
    undefined=True)
# fmt: on


def additive_mask(mask: Tensor | None, causal: bool, query: Tensor, key: Tensor) -> Tensor | None:
    """Convert a mask to a term added to the scores: 0 to keep, -inf to mask out; None for no
    mask.
    """
    if causal:
        if mask is not None:
            raise RuntimeError(
                "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True"
            )
        kept = np.tril(np.ones((query.shape[-2], key.shape[-2]), bool))
    elif mask is None:
        return None
    elif mask.dtype.name != "bool":
        if mask.dtype is not query.dtype:
            raise RuntimeError(
                f"Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
                f"{mask.dtype.c_name} and  query.dtype: {query.dtype.c_name} instead."
            )
        return mask
    else:
        kept = mask.array
    return Tensor._wrap(np.where(kept, 0.0, -np.inf).astype(query.dtype.np))


def check(query: Tensor, key: Tensor, value: Tensor) -> None:
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{query.ndim} key.dim: {key.ndim} and value.dim: {value.ndim} instead."
        )
    if query.dtype is not key.dtype or query.dtype is not value.dtype:
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{query.dtype.c_name} key.dtype: {key.dtype.c_name} and value.dtype: {value.dtype.c_name} instead."
        )


@public(forms="n")
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(query key^T * scale + mask) value, over the last two dims.

    `query` (..., L, E), `key` (..., S, E) and `value` (..., S, Ev) give (..., L, Ev); a bool mask
    is True for keys to keep (torch.nn.functional.scaled_dot_product_attention).
    """
    check(query, key, value)
    require_float(query, "expected scalar type Float but found {}")
    if enable_gqa:
        key = key.repeat_interleave(query.shape[-3] // key.shape[-3], -3)
        value = value.repeat_interleave(query.shape[-3] // value.shape[-3], -3)
    mask = additive_mask(attn_mask, is_causal, query, key)
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    alike = (
        query.ndim == key.ndim == value.ndim == 4
        and query.shape[-1] == key.shape[-1] == value.shape[-1]
    )
    same_heads = alike and query.shape[:2] == key.shape[:2] == value.shape[:2]
    if same_heads and dropout_p == 0 and (mask is None or not mask.requires_grad):
        return fused(query, key, value, mask, factor)
    return composed(query, key, value, mask, factor, dropout_p)


def composed(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float, dropout_p: float
) -> Tensor:
    # Each side gets the root of the scale, as in PyTorch, to keep float16 in range.
    root = math.sqrt(abs(scale))
    scores = mul_number(query, root if scale >= 0 else -root) @ mul_number(
        key.transpose(-2, -1), root
    )
    if mask is not None:
        scores = scores + mask
    weights = safe_softmax(scores, scores.ndim - 1)
    if dropout_p:
        from gradtrace.ops.nn.dropout import drop

        weights = drop(weights, dropout_p, True, False)
    return weights @ value
