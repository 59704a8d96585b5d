"""Inputs and weights of each output of a resampling along one dim.

A table is (index, weights), both of shape (taps, outputs). It is computed in the dtype that PyTorch
uses, so that positions on the border between two inputs round the same way.
"""

from __future__ import annotations

import math

from gradtrace.annotations import Any, Callable
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.types import Array, NumpyDtype

Table = tuple[Any, Any]


def source_spacing(n: int, out: int, corners: bool, scale: float | None) -> float:
    """Return the distance, in input elements, between the source positions of neighbouring
    outputs.
    """
    if corners:
        return (n - 1) / (out - 1) if out > 1 else 0.0
    return 1 / scale if scale is not None and scale > 0 else n / out


def nearest(n: int, out: int, corners: bool, scale: float | None, dtype: NumpyDtype) -> Table:
    return picked(n, out, scale, 0.0)


def nearest_exact(n: int, out: int, corners: bool, scale: float | None, dtype: NumpyDtype) -> Table:
    return picked(n, out, scale, 0.5)


def picked(n: int, out: int, scale: float | None, centre: float) -> Table:
    source = (np.arange(out, dtype=np.float32) + np.float32(centre)) * np.float32(
        source_spacing(n, out, False, scale)
    )
    index = np.minimum(np.floor(source).astype(np.int64), n - 1)
    return index[None], np.ones((1, out))


def sources(n: int, out: int, corners: bool, scale: float | None, dtype: NumpyDtype) -> Array:
    outputs = np.arange(out, dtype=dtype)
    width = dtype.type(source_spacing(n, out, corners, scale))
    return width * outputs if corners else width * (outputs + dtype.type(0.5)) - dtype.type(0.5)


def linear(n: int, out: int, corners: bool, scale: float | None, dtype: NumpyDtype) -> Table:
    source = np.maximum(sources(n, out, corners, scale, dtype), 0)
    low = np.minimum(np.floor(source).astype(np.int64), n - 1)
    part = np.clip(source - low, 0, 1)
    return np.stack([low, np.minimum(low + 1, n - 1)]), np.stack([1 - part, part])


def cubic(n: int, out: int, corners: bool, scale: float | None, dtype: NumpyDtype) -> Table:
    source = sources(n, out, corners, scale, dtype)
    low = np.floor(source).astype(np.int64)
    index = np.clip(low + np.arange(-1, 3)[:, None], 0, n - 1)
    return index, np.stack(cubic_weights(source - low))


def cubic_weights(t: Any, a: float = -0.75) -> list[Any]:
    """Return the weights of the four inputs around a source at t after the second one (Keys'
    convolution).
    """
    near = cubic_near
    far = cubic_far
    return [far(t + 1, a), near(t, a), near(1 - t, a), far(2 - t, a)]


def cubic_near(x: Any, a: float) -> Any:
    return ((a + 2) * x - (a + 3)) * x * x + 1


def cubic_far(x: Any, a: float) -> Any:
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a


# ---- with antialiasing: the filter is widened by the scale


def triangle(x: Array) -> Array:
    return np.maximum(1 - np.abs(x), 0)


def keys(x: Array) -> Array:
    x = np.abs(x)
    return np.where(x < 1, cubic_near(x, -0.5), np.where(x < 2, cubic_far(x, -0.5), 0))


def lanczos(x: Array) -> Array:
    return np.where(np.abs(x) < 3, np.sinc(x) * np.sinc(x / 3), 0)


def smoothed(weight: Callable[[Any], Any], radius: int) -> Callable[..., Table]:
    def table(n: int, out: int, corners: bool, scale: float | None, dtype: NumpyDtype) -> Table:
        width = source_spacing(n, out, corners, scale)
        reach = radius * width if width >= 1 else float(radius)
        shrink = 1 / width if width >= 1 else 1.0
        centre = width * (np.arange(out) + 0.5)
        first = np.maximum((centre - reach + 0.5).astype(np.int64), 0)
        count = np.minimum((centre + reach + 0.5).astype(np.int64), n) - first
        taps = np.arange(math.ceil(reach) * 2 + 1)[:, None]
        weights = np.where(taps < count, weight((taps + first - centre + 0.5) * shrink), 0)
        index = np.clip(taps + first, 0, np.maximum(first + count - 1, 0))
        return index, (weights / weights.sum(0)).astype(dtype)

    return table


TABLES: dict[str, Callable[..., Table]] = {
    "nearest": nearest,
    "nearest_exact": nearest_exact,
    "linear": linear,
    "cubic": cubic,
    "linear_aa": smoothed(triangle, 1),
    "cubic_aa": smoothed(keys, 2),
    "lanczos_aa": smoothed(lanczos, 3),
}
