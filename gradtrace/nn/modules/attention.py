"""MultiheadAttention: projections, scaled dot products of heads, softmax, output projection.

Internally sequences come first: (L, N, E).
https://pytorch.org/docs/stable/generated/torch.nn.MultiheadAttention.html
"""

from __future__ import annotations

import math
from typing import Any

from gradtrace.engine.data.tensor import Tensor
from gradtrace.nn import functional as F
from gradtrace.nn import init
from gradtrace.nn.modules.linear import Linear
from gradtrace.nn.modules.module import Module
from gradtrace.nn.modules.utils import add_parameter, function, new_parameter, store


class NonDynamicallyQuantizableLinear(Linear):
    """A Linear with the name that PyTorch shows for the output projection."""


def additive_mask(mask: Tensor | None, name: str, dtype: Any) -> Tensor | None:
    """Convert a mask to a term added to the scores: a boolean one becomes 0 and -inf."""
    if mask is None or mask.is_floating_point():
        return mask
    if mask.dtype.name != "bool":
        raise AssertionError(f"only bool and floating types of {name} are supported")
    return function("zeros")(*mask.shape, dtype=dtype).masked_fill(mask, float("-inf"))


class MultiheadAttention(Module):
    """Attention of `num_heads` heads over queries, keys and values; (L, N, E), or (N, L, E) with
    batch_first.

    Returns the output and (unless need_weights is False) the attention weights, averaged over the
    heads.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and "
                f"num_heads={num_heads} instead"
            )
        super().__init__()
        store(self, locals(), "embed_dim num_heads dropout batch_first add_zero_attn")
        self.kdim = kdim if kdim is not None else embed_dim
        self.vdim = vdim if vdim is not None else embed_dim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        self._register_projections(device, dtype)
        add_parameter(self, "in_proj_bias", 3 * embed_dim if bias else None, device, dtype)
        self.out_proj = NonDynamicallyQuantizableLinear(
            embed_dim, embed_dim, bias=bias, device=device, dtype=dtype
        )
        self.bias_k = new_parameter((1, 1, embed_dim), device, dtype) if add_bias_kv else None
        self.bias_v = new_parameter((1, 1, embed_dim), device, dtype) if add_bias_kv else None
        self._reset_parameters()

    def _register_projections(self, device: Any, dtype: Any) -> None:
        e = self.embed_dim
        same = self._qkv_same_embed_dim
        if same:
            self.in_proj_weight = new_parameter((3 * e, e), device, dtype)
        for name, width in (
            ("q_proj_weight", e),
            ("k_proj_weight", self.kdim),
            ("v_proj_weight", self.vdim),
        ):
            add_parameter(self, name, None if same else (e, width), device, dtype)
        if not same:
            self.register_parameter("in_proj_weight", None)

    def _reset_parameters(self) -> None:
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            if getattr(self, name) is not None:
                init.xavier_uniform_(getattr(self, name))
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        batched = _check_dims(query, key, value, key_padding_mask, attn_mask)
        key_padding_mask = additive_mask(key_padding_mask, "key_padding_mask", query.dtype)
        attn_mask = additive_mask(attn_mask, "attn_mask", query.dtype)
        if is_causal and attn_mask is None:
            raise RuntimeError(
                "Need attn_mask if specifying the is_causal hint. You may use the Transformer "
                "module method `generate_square_subsequent_mask` to create this mask."
            )
        if batched and self.batch_first:
            query, key, value = (t.transpose(1, 0) for t in (query, key, value))
        if not batched:
            query, key, value = (t.unsqueeze(1) for t in (query, key, value))
            key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
        output, weights = self._attend(query, key, value, key_padding_mask, attn_mask, need_weights)
        if weights is not None and average_attn_weights:
            weights = weights.mean(dim=1)
        if not batched:
            return output.squeeze(1), None if weights is None else weights.squeeze(0)
        return (output.transpose(1, 0) if self.batch_first else output), weights

    def _attend(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None,
        attn_mask: Tensor | None,
        need_weights: bool,
    ) -> tuple[Tensor, Any]:
        """Return the output and the weights of each head, None unless they are needed.

        As in PyTorch, one function attends where they are not: there a row that is masked out whole
        gives zeros, where it gives NaN with weights.
        """
        length, batch, embed = query.shape
        if embed != self.embed_dim:
            raise AssertionError(
                f"was expecting embedding dimension of {self.embed_dim}, but got {embed}"
            )
        _check_lengths(key, value, self._qkv_same_embed_dim)
        q, k, v = self._project(query, key, value)
        mask = self._score_mask(attn_mask, length, key.shape[0], batch)
        k, v, mask, key_padding_mask = self._extend(k, v, mask, key_padding_mask)
        source = k.shape[0]
        heads = batch * self.num_heads
        q, k, v = (t.reshape(t.shape[0], heads, self.head_dim).transpose(0, 1) for t in (q, k, v))
        if key_padding_mask is not None:
            padding = key_padding_mask.view(batch, 1, 1, source).expand(-1, self.num_heads, -1, -1)
            padding = padding.reshape(heads, 1, source)
            mask = padding if mask is None else mask + padding
        dropout = self.dropout if self.training else 0.0
        if not need_weights:
            q, k, v = (t.view(batch, self.num_heads, t.shape[1], self.head_dim) for t in (q, k, v))
            if mask is not None:
                mask = (
                    mask.unsqueeze(0)
                    if mask.shape[0] == 1
                    else mask.view(batch, self.num_heads, -1, source)
                )
            output = (
                F.scaled_dot_product_attention(q, k, v, mask, dropout)
                .permute(2, 0, 1, 3)
                .contiguous()
            )
            return self._project_out(output, length, batch), None
        scores = (q * math.sqrt(1.0 / self.head_dim)) @ k.transpose(-2, -1)
        weights = F.softmax(scores if mask is None else mask + scores, dim=-1)
        if dropout > 0:
            weights = F.dropout(weights, p=dropout)
        output = (weights @ v).transpose(0, 1)
        return self._project_out(output, length, batch), weights.view(
            batch, self.num_heads, length, source
        )

    def _project_out(self, output: Tensor, length: int, batch: int) -> Tensor:
        rows = output.reshape(length * batch, self.embed_dim)
        return F.linear(rows, self.out_proj.weight, self.out_proj.bias).view(
            length, batch, self.embed_dim
        )

    def _project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, ...]:
        if self._qkv_same_embed_dim:
            weights = self.in_proj_weight.chunk(3)
        else:
            weights = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        biases = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
        return tuple(
            F.linear(t, w, b) for t, w, b in zip((query, key, value), weights, biases, strict=True)
        )

    def _score_mask(
        self, mask: Tensor | None, length: int, source: int, batch: int
    ) -> Tensor | None:
        if mask is None:
            return None
        shapes = {2: (length, source), 3: (batch * self.num_heads, length, source)}
        if tuple(mask.shape) != shapes[mask.dim()]:
            raise RuntimeError(
                f"The shape of the {mask.dim()}D attn_mask is {mask.shape}, but should be "
                f"{shapes[mask.dim()]}."
            )
        return mask.unsqueeze(0) if mask.dim() == 2 else mask

    def _extend(
        self, k: Tensor, v: Tensor, mask: Tensor | None, key_padding_mask: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
        """Append the learned key and value and the zero ones, if enabled, and extend the masks
        accordingly.
        """
        cat = function("cat")
        batch = k.shape[1]
        extra = []
        if self.bias_k is not None and self.bias_v is not None:
            extra.append((self.bias_k.repeat(1, batch, 1), self.bias_v.repeat(1, batch, 1)))
        if self.add_zero_attn:
            zeros = function("zeros")(1, batch, self.embed_dim, dtype=k.dtype)
            extra.append((zeros, zeros))
        for more_k, more_v in extra:
            k = cat([k, more_k])
            v = cat([v, more_v])
            mask = None if mask is None else F.pad(mask, (0, 1))
            key_padding_mask = None if key_padding_mask is None else F.pad(key_padding_mask, (0, 1))
        return k, v, mask, key_padding_mask


def _check_dims(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_padding_mask: Tensor | None,
    attn_mask: Tensor | None,
) -> bool:
    """Return whether the input is batched; raise AssertionError if the numbers of dimensions do not
    match.
    """
    n = query.dim()
    if n not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {n}-D query tensor"
        )
    kind = "batched (3-D)" if n == 3 else "unbatched (2-D)"
    if key.dim() != n or value.dim() != n:
        raise AssertionError(
            f"For {kind} `query`, expected `key` and `value` to be {n}-D but found {key.dim()}-D "
            f"and {value.dim()}-D tensors respectively"
        )
    if key_padding_mask is not None and key_padding_mask.dim() != n - 1:
        raise AssertionError(
            f"For {kind} `query`, expected `key_padding_mask` to be `None` or {n - 1}-D but found "
            f"{key_padding_mask.dim()}-D tensor instead"
        )
    if attn_mask is not None and attn_mask.dim() not in (2, 3):
        raise AssertionError(
            f"For {kind} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found "
            f"{attn_mask.dim()}-D tensor instead"
        )
    return n == 3


def _check_lengths(key: Tensor, value: Tensor, same_width: bool) -> None:
    if same_width:
        if key.shape != value.shape:
            raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
    elif key.shape[:2] != value.shape[:2]:
        raise AssertionError(
            f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}"
        )
