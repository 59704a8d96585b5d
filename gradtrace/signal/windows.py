"""torch.signal.windows: window functions of M points, 1 at the middle; symmetric, or periodic with
`sym=False`.

https://pytorch.org/docs/stable/signal.html. Each is computed in PyTorch's steps, in the dtype asked
for. ValueError for a negative M, for dtypes other than float32 and float64, and for parameters out
of range.
"""

from __future__ import annotations

import math

from gradtrace.annotations import Any, Callable
from gradtrace.engine.data import dtypes
from gradtrace.engine.data.tensor import Tensor
from gradtrace.ops import api, find

__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann",
    "kaiser", "nuttall",
]  # fmt: skip


def operator(name: str) -> Any:
    """Return the function `torch.NAME`."""
    return find(api.functions, name)


class Points:
    """The length and dtype of a window, and whether it requires grad."""

    def __init__(
        self,
        name: str,
        M: Any,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: bool = False,
    ) -> None:
        dtype = dtypes.get_default_dtype() if dtype is None else dtype
        if not isinstance(M, int):
            raise TypeError(f"{name}: the window length M must be an int, not {type(M).__name__}")
        if M < 0:
            raise ValueError(f"{name} requires non-negative window length, got M={M}")
        if dtype not in (dtypes.float32, dtypes.float64):
            raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
        self.count = M
        self.options = {"dtype": dtype, "device": device, "requires_grad": requires_grad}

    def between(self, start: float, end: float) -> Tensor:
        """Return equally spaced numbers from `start` to `end`, one for each point."""
        return operator("linspace")(start, end, self.count, **self.options)

    def filled(self, name: str) -> Tensor:
        """Return the result of `torch.NAME`, such as "ones", one number for each point."""
        return operator(name)((self.count,), **self.options)


def span(M: int, sym: bool) -> int:
    """Return the number of steps between the ends of a window. With `sym=False` the window is one
    period, which has one step more.
    """
    return M if not sym and M > 1 else M - 1


def exponential(
    M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, **options: Any
) -> Tensor:
    """exp(-abs(n - center) / tau) (torch.signal.windows.exponential)."""
    points = Points("exponential", M, **options)
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    if not M:
        return points.filled("empty")
    if center is None:
        center = span(M, sym) / 2.0
    constant = 1 / tau
    exponents = points.between(-center * constant, (-center + (M - 1)) * constant)
    return operator("exp")(-exponents.abs())


def cosine(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """sin(pi (n + 1/2) / M) (torch.signal.windows.cosine)."""
    points = Points("cosine", M, **options)
    if not M:
        return points.filled("empty")
    constant = math.pi / (span(M, sym) + 1)
    return operator("sin")(points.between(0.5 * constant, (0.5 + (M - 1)) * constant))


def gaussian(M: int, *, std: float = 1.0, sym: bool = True, **options: Any) -> Tensor:
    """exp(-(n / std)^2 / 2), n counted from the middle (torch.signal.windows.gaussian)."""
    points = Points("gaussian", M, **options)
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    if not M:
        return points.filled("empty")
    start = -span(M, sym) / 2.0
    constant = 1 / (std * math.sqrt(2))
    return operator("exp")(-(points.between(start * constant, (start + (M - 1)) * constant) ** 2))


def kaiser(M: int, *, beta: float = 12.0, sym: bool = True, **options: Any) -> Tensor:
    """i0(beta sqrt(1 - (n / half)^2)) / i0(beta), n counted from the middle
    (torch.signal.windows.kaiser).
    """
    points = Points("kaiser", M, **options)
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    if M < 2:
        return points.filled("ones" if M else "empty")
    i0 = operator("i0")
    dtype = points.options["dtype"]
    width = operator("tensor")(beta, dtype=dtype)
    constant = 2.0 * width / span(M, sym)
    end = operator("minimum")(width, -width + (M - 1) * constant)
    k = points.between(-width.item(), end.item())
    return i0(operator("sqrt")(width * width - operator("pow")(k, 2))) / i0(width)


def bartlett(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """A triangle that is 0 at its ends (torch.signal.windows.bartlett)."""
    points = Points("bartlett", M, **options)
    if M < 2:
        return points.filled("ones" if M else "empty")
    return 1 - points.between(-1, -1 + (M - 1) * (2 / span(M, sym))).abs()


def general_cosine(M: int, *, a: Any, sym: bool = True, **options: Any) -> Tensor:
    """a[0] - a[1] cos(t) + a[2] cos(2 t) - ..., t from 0 to 2 pi
    (torch.signal.windows.general_cosine).
    """
    points = Points("general_cosine", M, **options)
    if M < 2:
        return points.filled("ones" if M else "empty")
    if not isinstance(a, (list, tuple)):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    k = points.between(0, (M - 1) * (2 * math.pi / span(M, sym)))
    weights = operator("tensor")([(-1) ** i * w for i, w in enumerate(a)], **points.options)
    i = operator("arange")(len(a), **points.options)
    return (weights.unsqueeze(-1) * operator("cos")(i.unsqueeze(-1) * k)).sum(0)


def general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True, **options: Any) -> Tensor:
    """alpha - (1 - alpha) cos(t) (torch.signal.windows.general_hamming)."""
    return general_cosine(M, a=[alpha, 1.0 - alpha], sym=sym, **options)


def _cosine_window(name: str, *weights: float) -> Callable[..., Tensor]:
    """Return the window function NAME: `general_cosine` with fixed coefficients."""

    def window(M: int, *, sym: bool = True, **options: Any) -> Tensor:
        return general_cosine(M, a=list(weights), sym=sym, **options)

    window.__name__ = window.__qualname__ = name
    window.__doc__ = (
        f"general_cosine with the coefficients {weights} (torch.signal.windows.{name})."
    )
    return window


hamming = _cosine_window("hamming", 0.54, 1.0 - 0.54)
hann = _cosine_window("hann", 0.5, 0.5)
blackman = _cosine_window("blackman", 0.42, 0.5, 0.08)
nuttall = _cosine_window("nuttall", 0.3635819, 0.4891775, 0.1365995, 0.0106411)
