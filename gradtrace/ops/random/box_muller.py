"""float32 normal numbers with the bits of PyTorch's vectorised CPU kernel: the Box-Muller transform on blocks of 16.

The logarithm, sine and cosine are the polynomials of the Cephes library (https://www.netlib.org/cephes, `logf`, `sinf`,
`cosf`) in the order of operations of PyTorch's AVX2 kernel, whose compiler fuses each product with the sum after it. A
fused multiply-add is computed here in float64, whose second rounding differs in less than one of 10^8 cases.
"""

from __future__ import annotations

import math

from gradtrace.annotations import TYPE_CHECKING
from gradtrace.engine.lazy import np

if TYPE_CHECKING:
    from gradtrace.engine.types import Array

BLOCK = 2048  # rows of 16 numbers: what a step works on stays in the cache
# Cephes' coefficients, from the highest power down.
LOGARITHM = (
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
    2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
)  # fmt: skip
COSINE = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
SINE = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
LOG_2_LOW, LOG_2_HIGH = -2.12194440e-4, 0.693359375
# pi / 4 in three parts, so that a small multiple of the first two is exact.
QUARTER_PI = (0.78515625, 2.4187564849853515625e-4, 3.77489497744594108e-8)


def normal_blocks(uniform: Array) -> Array:
    """Convert n uniform float32 numbers to n standard normal ones; n is a multiple of 16.

    In each row of 16, the first 8 numbers give radii and the last 8 give angles.
    """
    rows = uniform.reshape(-1, 2, 8)
    result = np.empty_like(rows)
    for start in range(0, len(rows), BLOCK):
        part = rows[start : start + BLOCK]
        radius = log((np.float32(1) - part[:, 0]).reshape(-1))
        radius *= np.float32(-2)
        np.sqrt(radius, out=radius)
        sine, cosine = sine_and_cosine((part[:, 1] * np.float32(2 * math.pi)).reshape(-1))
        result[start : start + BLOCK, 0] = (radius * cosine).reshape(-1, 8)
        result[start : start + BLOCK, 1] = (radius * sine).reshape(-1, 8)
    return result.reshape(-1)


def polynomial(coefficients: tuple[float, ...], x: Array, scratch: Array, result: Array) -> None:
    """Fill float32 `result` with a polynomial of float32 numbers, given as float64 `x`, rounding after each step."""
    first, *middle, last = (float(np.float32(c)) for c in coefficients)
    np.multiply(x, first, out=scratch)
    for coefficient in middle:
        scratch += coefficient
        result[...] = scratch
        scratch[...] = result
        scratch *= x
    scratch += last
    result[...] = scratch


def log(x: Array) -> Array:
    """Return the natural logarithm of float32 numbers in (0, 1], each at least 2 ** -24."""
    bits = x.view(np.int32)
    exponent = ((bits >> 23) - 126).astype(np.float32)
    mantissa = ((bits & 0x7FFFFF) | 0x3F000000).view(np.float32)
    small = mantissa < np.float32(math.sqrt(0.5))
    exponent -= small
    t = mantissa - np.float32(1)
    t += mantissa * small
    square = t * t
    wide = t.astype(np.float64)
    scratch, result = np.empty_like(wide), np.empty_like(t)
    polynomial(LOGARITHM, wide, scratch, result)
    result *= t
    np.multiply(result, square, out=scratch, dtype=np.float64)
    scratch += exponent * np.float32(LOG_2_LOW)
    result[...] = scratch
    square *= np.float32(0.5)
    result -= square
    t += result
    exponent *= np.float32(LOG_2_HIGH)  # exact
    t += exponent
    return t


def sine_and_cosine(x: Array) -> tuple[Array, Array]:
    """Return the sine and cosine of float32 angles from 0 to 2 pi."""
    octant = (x * np.float32(4 / math.pi)).astype(np.int32)
    octant += 1
    octant &= ~1
    turns = octant.astype(np.float32)
    first, second, third = map(np.float32, QUARTER_PI)
    rest = x - turns * first  # this product and the next one are exact
    rest -= turns * second
    scratch = turns.astype(np.float64)
    scratch *= -np.float64(third)
    scratch += rest
    rest[...] = scratch
    square = rest * rest
    wide = square.astype(np.float64)
    cosine, sine = np.empty_like(rest), np.empty_like(rest)
    polynomial(COSINE, wide, scratch, cosine)
    cosine *= square
    np.multiply(cosine, wide, out=scratch)
    scratch -= square * np.float32(0.5)
    cosine[...] = scratch
    cosine += np.float32(1)
    polynomial(SINE, wide, scratch, sine)
    sine *= square
    np.multiply(sine, rest, out=scratch, dtype=np.float64)
    scratch += rest
    sine[...] = scratch
    swapped = (octant & 2) != 0
    return (
        with_sign(np.where(swapped, cosine, sine), octant & 4),
        with_sign(np.where(swapped, sine, cosine), ~(octant - 2) & 4),
    )


def with_sign(x: Array, bit: Array) -> Array:
    """Negate float32 numbers in place where the integer `bit`, 0 or 4, is 4."""
    x.view(np.int32)[...] ^= bit << 29
    return x
