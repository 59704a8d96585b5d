"""torch.hann_window and similar: window functions of a given length, periodic by default. See also
`signal.windows`.
"""

from __future__ import annotations

import math

from gradtrace.annotations import Any, Callable
from gradtrace.engine.data import dtypes
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import Array
from gradtrace.ops.api import expose, named
from gradtrace.ops.create.factories import finish
from gradtrace.ops.special.bessel import i_plain


def hann(steps: Array, n: int) -> Array:
    return hamming(steps, n, 0.5, 0.5)


def hamming(steps: Array, n: int, alpha: float = 0.54, beta: float = 0.46) -> Array:
    return np.cos(steps * steps.dtype.type(2 * math.pi / (n - 1))) * -beta + alpha


def blackman(steps: Array, n: int) -> Array:
    t = steps * steps.dtype.type(math.pi / (n - 1))
    return np.cos(t * 4) * 0.08 - np.cos(t * 2) * 0.5 + 0.42


def bartlett(steps: Array, n: int) -> Array:
    rise = steps * steps.dtype.type(2 / (n - 1))
    return np.where(np.arange(n) > (n - 1) // 2, 2 - rise, rise)


def kaiser(steps: Array, n: int, beta: float = 12.0) -> Array:
    middle = (n - 1) / 2
    height = beta * np.sqrt(np.maximum(1 - ((steps - middle) / middle) ** 2, 0))
    return i_plain(height.astype(np.float64), 0) / i_plain(np.array([float(beta)]), 0)


def _expose(name: str, shape: Callable[..., Any]) -> None:
    def window(
        window_length: int,
        periodic: bool | None = None,
        *numbers: float,
        dtype: dtypes.dtype | None = None,
        layout: object = None,
        device: object = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
        **named: float,
    ) -> Tensor:
        if not isinstance(window_length, int):
            raise TypeError(
                f"{name}(): argument 'window_length' (position 1) must be int, not {type(window_length).__name__}"
            )
        if window_length < 0:
            raise RuntimeError(
                f"{name} requires non-negative window_length, got window_length={window_length}"
            )
        if named and periodic is None:
            names = ", ".join(named)
            raise TypeError(
                f"{name}() received an invalid combination of arguments: {names} without periodic"
            )
        dtype = dtypes.as_dtype(dtype) or dtypes.get_default_dtype()
        if not dtype.is_floating_point:
            raise RuntimeError(f"{name} expects floating point dtypes, got: {dtype}")
        n = window_length if periodic is False else window_length + 1
        points = (
            np.ones(window_length)
            if window_length < 2
            else shape(np.arange(n, dtype=dtype.np), n, *numbers, **named)[:window_length]
        )
        return finish(points.astype(dtype.np), requires_grad, device)

    doc = f"Window function of `window_length` points, periodic or else symmetric (torch.{name})."
    expose(named(window, name, doc), forms="f")


for _shape in (hann, hamming, blackman, bartlett, kaiser):
    _expose(f"{_shape.__name__}_window", _shape)
