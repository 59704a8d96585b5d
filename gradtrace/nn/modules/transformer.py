"""The Transformer: encoder and decoder layers of attention and feed-forward blocks, and stacks of
them.

https://pytorch.org/docs/stable/generated/torch.nn.Transformer.html. Outputs are those of PyTorch
without its fast path.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from gradtrace.engine.data.tensor import Tensor
from gradtrace.lazy_names import words
from gradtrace.nn import functional as F
from gradtrace.nn import init
from gradtrace.nn.modules.attention import MultiheadAttention
from gradtrace.nn.modules.container import ModuleList
from gradtrace.nn.modules.dropout import Dropout
from gradtrace.nn.modules.linear import Linear
from gradtrace.nn.modules.module import Module
from gradtrace.nn.modules.normalization import LayerNorm
from gradtrace.nn.modules.utils import function, store

Activation = Callable[[Tensor], Tensor]
LAYER_OPTIONS = words("""d_model nhead dim_feedforward dropout activation layer_norm_eps batch_first norm_first bias
    device dtype""")


def _activation(name: str | Activation) -> Activation:
    if not isinstance(name, str):
        return name
    if name not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {name}")
    return getattr(F, name)


def _clones(module: Module, count: int) -> ModuleList:
    return ModuleList([deepcopy(module) for _ in range(count)])


class _Layer(Module):
    """Base class of encoder and decoder layers: self-attention, feed-forward, norms; `blocks`
    counts the residuals.
    """

    blocks = 0

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Activation = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        options: dict[str, Any] = {"bias": bias, "device": device, "dtype": dtype}
        for name in ("self_attn", "multihead_attn")[: self.blocks - 1]:
            setattr(
                self,
                name,
                MultiheadAttention(d_model, nhead, dropout, batch_first=batch_first, **options),
            )
        self.linear1 = Linear(d_model, dim_feedforward, **options)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **options)
        self.norm_first = norm_first
        for i in range(1, self.blocks + 1):
            setattr(self, f"norm{i}", LayerNorm(d_model, eps=layer_norm_eps, **options))
        for i in range(1, self.blocks + 1):
            setattr(self, f"dropout{i}", Dropout(dropout))
        self.activation = _activation(activation)

    def _residual(self, x: Tensor, number: int, block: Activation) -> Tensor:
        """Add the block with its dropout to x, with the norm before or after."""
        norm: Activation = getattr(self, f"norm{number}")
        dropout: Activation = getattr(self, f"dropout{number}")
        if self.norm_first:
            return x + dropout(block(norm(x)))
        return norm(x + dropout(block(x)))

    def _feed_forward(self, x: Tensor) -> Tensor:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))

    def _attend(
        self, attention: Module, x: Tensor, source: Tensor, mask: Any, padding: Any, causal: bool
    ) -> Tensor:
        return attention(
            x,
            source,
            source,
            attn_mask=mask,
            key_padding_mask=padding,
            need_weights=False,
            is_causal=causal,
        )[0]


class TransformerEncoderLayer(_Layer):
    """Self-attention and feed-forward, each with a residual and a norm."""

    blocks = 2

    def forward(
        self,
        src: Tensor,
        src_mask: Any = None,
        src_key_padding_mask: Any = None,
        is_causal: bool = False,
    ) -> Tensor:
        def attend(x: Tensor) -> Tensor:
            return self._attend(self.self_attn, x, x, src_mask, src_key_padding_mask, is_causal)

        return self._residual(self._residual(src, 1, attend), 2, self._feed_forward)


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to the memory and feed-forward, each with a residual and a norm."""

    blocks = 3

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        def attend(x: Tensor) -> Tensor:
            return self._attend(self.self_attn, x, x, tgt_mask, tgt_key_padding_mask, tgt_is_causal)

        def remember(x: Tensor) -> Tensor:
            return self._attend(
                self.multihead_attn,
                x,
                memory,
                memory_mask,
                memory_key_padding_mask,
                memory_is_causal,
            )

        x = self._residual(self._residual(tgt, 1, attend), 2, remember)
        return self._residual(x, 3, self._feed_forward)


class TransformerEncoder(Module):
    """`num_layers` copies of an encoder layer, then `norm`."""

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _clones(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        src: Tensor,
        mask: Any = None,
        src_key_padding_mask: Any = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        for layer in self.layers:
            src = layer(
                src,
                src_mask=mask,
                is_causal=bool(is_causal),
                src_key_padding_mask=src_key_padding_mask,
            )
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    """`num_layers` copies of a decoder layer, then `norm`."""

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _clones(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(self, tgt: Tensor, memory: Tensor, **masks: Any) -> Tensor:
        masks["tgt_is_causal"] = bool(masks.get("tgt_is_causal"))
        for layer in self.layers:
            tgt = layer(tgt, memory, **masks)
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder and a decoder: src (S, N, E) and tgt (T, N, E) to (T, N, E)."""

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Activation = "relu",
        custom_encoder: Module | None = None,
        custom_decoder: Module | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        arguments = locals()
        options = {name: arguments[name] for name in LAYER_OPTIONS}

        def norm() -> Module:
            return LayerNorm(d_model, eps=layer_norm_eps, bias=bias, device=device, dtype=dtype)

        self.encoder = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(**options), num_encoder_layers, norm()
        )
        self.decoder = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(**options), num_decoder_layers, norm()
        )
        for param in self.parameters():
            if param.dim() > 1:
                init.xavier_uniform_(param)
        store(self, arguments, "d_model nhead batch_first")

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Any = None,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        src_key_padding_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        batch_dim = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(batch_dim) != tgt.size(batch_dim):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(
            src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal
        )
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """Return a (sz, sz) mask with -inf above the diagonal: no position attends to a later
        one.
        """
        full = function("full")((sz, sz), float("-inf"), device=device, dtype=dtype)
        return function("triu")(full, diagonal=1)
