"""The difference of two values that have the same part in two runs."""

from __future__ import annotations

from functools import partial

from gradtrace.annotations import Callable, Iterator
from gradtrace.trace import sketches
from gradtrace.trace.values import Value

INFINITY = float("inf")
Layout = Callable[["Value | None"], "Value | None"]


def relative(a: Value | None, b: Value | None) -> float | None:
    """Return |a - b| / max(|a|, |b|), as Euclidean lengths; infinity for another shape, or NaN and
    infinity at other places; None if it is not known. Single numbers are compared without numpy.
    """
    if a is None or b is None:
        return None
    if squeezed(a.shape) != squeezed(b.shape):
        return INFINITY
    if a.is_whole and b.is_whole and not a.shape and not b.shape:
        return of_numbers(float(a.elements), float(b.elements))
    if a.is_whole and b.is_whole and a.shape == b.shape and bool((a.elements == b.elements).all()):
        return 0.0
    return sketches.relative_difference(a, b)


def least(a: Value | None, b: Value | None) -> float | None:
    """Return what the relative difference is at least, by the statistics of two values; None if
    they are not known.
    """
    return (
        None
        if a is None or b is None or squeezed(a.shape) != squeezed(b.shape)
        else sketches.least_difference(a, b)
    )


def turned(value: Value | None) -> Value | None:
    """Return a matrix transposed; of one that was not kept whole, what statistics know of it."""
    if value is None or len(value.shape) != 2:
        return value
    if value.is_whole:
        return Value(value.shape[::-1], value.dtype, value.elements.T)
    kept = value.summary._replace(sketch=None, checksum=None)
    return Value(value.shape[::-1], value.dtype, None, kept)


def reshaped(shape: tuple[int, ...], value: Value | None) -> Value | None:
    """Return a value with its elements in another shape, in the same order."""
    if value is None:
        return None
    elements = value.elements.reshape(shape) if value.is_whole else None
    return value._replace(shape=shape, elements=elements)


def layouts(first: Value | None, second: Value | None) -> Iterator[Layout]:
    """Yield the functions that give a value the shape of another one by transposing and reshaping
    it.
    """
    if first is None or second is None or first.numel != second.numel:
        return
    shape = second.shape
    if len(first.shape) == 2 and shape == first.shape[::-1]:
        yield turned
    if not shape or squeezed(first.shape) == squeezed(shape):
        return
    yield partial(reshaped, shape)
    if len(shape) == 2:
        yield lambda value: turned(reshaped(shape[::-1], value))


def squeezed(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return a shape without its dims of size 1, which do not change the elements or their
    order.
    """
    return tuple(n for n in shape if n != 1)


def of_numbers(a: float, b: float) -> float:
    if a == b or (a != a and b != b):
        return 0.0
    gap = abs(a - b)
    return gap / max(abs(a), abs(b)) if gap < INFINITY else INFINITY


def equal_bits(a: Value | None, b: Value | None) -> bool | None:
    """Whether two values are equal to the bit, in dtype and shape too; None if it is not known."""
    if a is None or b is None:
        return a is b
    return a == b if a.is_whole and b.is_whole else sketches.equal_bits(a, b)
