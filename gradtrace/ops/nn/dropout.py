"""Dropout of elements and of whole channels, and alpha dropout, which preserves mean and variance.

The masks are drawn by `Tensor.bernoulli_`. During training, kept elements are scaled by 1 / (1 -
p).
"""

from __future__ import annotations

from gradtrace.annotations import Callable
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import Array
from gradtrace.ops.api import expose, named, public
from gradtrace.ops.arguments import require_float
from gradtrace.ops.random import distributions
from gradtrace.ops.random.generator import sample
from gradtrace.ops.random.sampling import empty_like, in_memory_order

# selu's limit at -inf, -scale * alpha: the value that alpha dropout fills in.
ALPHA = -1.7580993408473766


def check_probability(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def mask(input: Tensor, p: float, channels: bool) -> Array:
    """Return 1 with probability 1 - p, else 0, for each element or for each index of the first two
    dims.
    """
    like = empty_like(input, None)
    if channels:
        like = np.empty(input.shape[:2] + (1,) * (input.ndim - 2), like.dtype)
    kept = sample(None, like.size, lambda stream: distributions.bernoulli(stream, 1 - p, like.size))
    return in_memory_order(kept.astype(like.dtype), like)


def times(input: Tensor, factor: Array, inplace: bool) -> Tensor:
    scale = Tensor._wrap(factor)
    return input.mul_(scale) if inplace else input * scale


def drop(
    input: Tensor,
    p: float,
    training: bool,
    inplace: bool,
    channels: bool = False,
    alpha: bool = False,
) -> Tensor:
    """Return dropout, or `alpha` dropout: a (x * mask + ALPHA (1 - mask)) + b
    (https://arxiv.org/abs/1706.02515).
    """
    check_probability(p)
    if not training or p == 0 or input.numel() == 0:
        return input
    if not alpha:
        require_float(input, "result type Float can't be cast to the desired output type {}")
    if p == 1:
        return times(input, np.zeros((), input.dtype.np), inplace)
    kept = mask(input, p, channels)
    if alpha:
        return kept_or_alpha(input, kept, p, inplace)
    wider = np.float32 if kept.dtype.itemsize == 2 else kept.dtype.type
    np.divide(kept, wider(1 - p), out=kept, casting="same_kind")
    return times(input, kept, inplace)


def kept_or_alpha(input: Tensor, kept: Array, p: float, inplace: bool) -> Tensor:
    a = 1.0 / ((ALPHA * ALPHA * p + 1) * (1 - p)) ** 0.5
    added = (kept - 1) * (-ALPHA * a) + (-ALPHA * a * p)
    scaled = times(input, kept * kept.dtype.type(a), inplace)
    shift = Tensor._wrap(added.astype(input.dtype.np))
    return scaled.add_(shift) if inplace else scaled + shift


@public(forms="n")
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero elements with probability p and scale the others by 1 / (1 - p)
    (torch.nn.functional.dropout).
    """
    return drop(input, p, training, inplace)


def dropout_function(input: Tensor, p: float, train: bool) -> Tensor:
    """dropout with every argument required (torch.dropout)."""
    return drop(input, p, train, False)


public("dropout", forms="f")(dropout_function)


def _channels(name: str, low: int, high: int) -> Callable[..., Tensor]:
    def function(
        input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
    ) -> Tensor:
        if not low <= input.ndim <= high and name == "dropout1d":
            raise RuntimeError(
                f"{name}: Expected 2D or 3D input, but received a {input.ndim}D input. Note that {name} "
                "exists to provide channel-wise dropout on inputs with 1 spatial dimension, a channel "
                "dimension, and an optional batch dimension (i.e. 2D or 3D inputs)."
            )
        check_probability(p)
        alone = input.ndim == low  # without a batch, dim 0 holds the channels
        batch = input.unsqueeze(0) if alone and name != "dropout2d" else input
        out = drop(batch, p, training, inplace, channels=True)
        return out.squeeze(0) if batch is not input else out

    doc = f"Zero whole channels with probability p (torch.nn.functional.{name})."
    return expose(named(function, name, doc), forms="n")


for _name, _low, _high in (("dropout1d", 2, 3), ("dropout2d", 3, 4), ("dropout3d", 4, 5)):
    _channels(_name, _low, _high)


@public(forms="n")
def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Dropout that preserves the mean and variance of selu outputs
    (torch.nn.functional.alpha_dropout).
    """
    return drop(input, p, training, inplace, alpha=True)


@public(forms="n")
def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Alpha dropout of whole channels (torch.nn.functional.feature_alpha_dropout)."""
    return drop(input, p, training, inplace, channels=True, alpha=True)


@public(forms="n")
def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """Sample the Gumbel-softmax distribution (https://arxiv.org/abs/1611.01144), one-hot if
    `hard`.
    """
    like = np.empty(logits.shape, logits.dtype.np)
    numbers = sample(
        None, like.size, lambda stream: distributions.exponential(stream, like.size, 1.0)
    )
    like[...] = numbers.reshape(like.shape)
    noise = -Tensor._wrap(like).log()
    soft: Tensor = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    one_hot = soft.new_zeros(tuple(logits.shape)).scatter_(dim, index, 1.0)
    return one_hot - soft.detach() + soft
