"""PyTorch's distributions: each function draws n numbers from a stream, in the order of PyTorch's
CPU kernels.

A kernel that PyTorch computes one element at a time calls the C library's functions, which Python's
`math` calls too. Arrays above EXACT elements use numpy's, whose float64 results may differ in the
last place.
"""

from __future__ import annotations

import math

from gradtrace.annotations import TYPE_CHECKING
from gradtrace.engine.data.lazy import np

if TYPE_CHECKING:
    from gradtrace.engine.data.types import Array, NumpyDtype
    from gradtrace.ops.random.stream import Stream

# ---- float32 normal numbers with the bits of PyTorch's vectorised kernel: the Box-Muller transform on blocks of 16
#
# The logarithm, sine and cosine are the polynomials of the Cephes library
# (https://www.netlib.org/cephes, `logf`, `sinf`, `cosf`) in the order of operations of PyTorch's
# AVX2 kernel, whose compiler fuses each product with the sum after it. A fused multiply-add is
# computed here in float64, whose second rounding differs in less than one of 10^8 cases.

BLOCK = 2048  # rows of 16 numbers: what a step works on stays in the cache
# Cephes' coefficients, from the highest power down.
LOGARITHM = (
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
    2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
)  # fmt: skip
COSINE = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
SINE = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
LOG_2_LOW = -2.12194440e-4
LOG_2_HIGH = 0.693359375
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
    """Fill float32 `result` with a polynomial of float32 numbers, given as float64 `x`, rounding
    after each step.
    """
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
    scratch = np.empty_like(wide)
    result = np.empty_like(t)
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
    cosine = np.empty_like(rest)
    sine = np.empty_like(rest)
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


EXACT = 2**16  # elements
FEW_SWAPS = 200  # of a permutation, for which a loop is the fastest
VECTORISED = 16  # elements from which normal numbers are made in blocks
WIDE_RANGE = 2**28  # numbers in a range from which an integer takes two words
SPLIT = 134217729.0  # 2**27 + 1, which splits a float64 into two halves


def each(name: str, x: Array) -> Array:
    """Apply the function `name` of the C library to each element of a float64 array."""
    if x.size <= EXACT:
        try:
            return np.fromiter(map(getattr(math, name), x.tolist()), np.float64, x.size)
        except (OverflowError, ValueError):  # Python reports a pole or an overflow as an error
            pass
    return getattr(np, name)(x)


def fused(x: Array, factor: float, addend: float) -> Array:
    """Return x * factor + addend, rounded once, for a float array x; `factor` and `addend` are cast
    to its dtype.
    """
    kind = x.dtype.type
    factor = float(kind(factor))
    addend = float(kind(addend))
    if kind is np.float32:
        total: Array = x * np.float64(factor)
        total += addend
        return total.astype(np.float32)
    product = x * factor
    if addend == 0 or not max(abs(factor), abs(addend)) < 2.0**900:
        return product + addend
    total = product + addend
    part = total - product
    # What the sum lost, and what the product lost (Dekker), each exactly.
    lost = (product - (total - part)) + (addend - part)
    shifted = x * SPLIT
    high = shifted - (shifted - x)
    low = x - high
    factor_high = factor * SPLIT - (factor * SPLIT - factor)
    factor_low = factor - factor_high
    error = (
        (high * factor_high - product) + high * factor_low + low * factor_high
    ) + low * factor_low
    return total + (lost + error)


# ---- uniform numbers and integers


def uniform(stream: Stream, n: int, kind: NumpyDtype, low: float = 0.0, high: float = 1.0) -> Array:
    """Return numbers uniform in [low, high)."""
    numbers = stream.uniform64(n) if kind.itemsize == 8 else stream.uniform32(n)
    if (low, high) == (0, 1) and kind.itemsize > 2:
        return numbers
    start = numbers.dtype.type(low)
    numbers = fused(numbers, numbers.dtype.type(high) - start, start).astype(kind, copy=False)
    numbers[numbers == kind.type(high)] = kind.type(low)
    return numbers


def integers(stream: Stream, n: int, low: int, high: int) -> Array:
    """Return int64 numbers in [low, high)."""
    span = high - low
    if span < WIDE_RANGE:
        numbers = (stream.uint32(n) % np.uint32(span)).astype(np.int64)
    else:
        numbers = (stream.uint64(n) % np.uint64(span)).astype(np.int64)
    numbers += low
    return numbers


def all_integers(stream: Stream, n: int, kind: NumpyDtype) -> Array:
    """Return integers from 0 to the dtype's largest, or to 2 ** digits, up to which a float dtype
    is exact.
    """
    bits = stream.uint64(n) if kind.itemsize == 8 else stream.uint32(n)
    if kind.kind == "f":
        bits %= bits.dtype.type(2 ** (np.finfo(kind).nmant + 1) + 1)
    else:
        bits &= bits.dtype.type(1 if kind.kind == "b" else np.iinfo(kind).max)
    return bits.astype(kind)


def permutation(stream: Stream, n: int) -> Array:
    """Return 0 .. n-1 in random order, by the Fisher-Yates shuffle."""
    steps = np.arange(max(n - 1, 0))
    targets = stream.uint32(steps.size) % (n - steps) + steps
    if n > FEW_SWAPS:
        return swapped(targets, steps)
    order = list(range(n))
    for i, j in enumerate(targets.tolist()):
        order[i], order[j] = order[j], order[i]
    return np.array(order, np.int64)


def swapped(targets: Array, steps: Array) -> Array:
    """Return 0 .. n-1 after swapping places i and targets[i] >= i for i = 0 .. n-2, without a loop.

    Step i moves the number at place targets[i] to place i, where it stays. Place t still holds the
    number t unless an earlier step had the target t. The latest such step j moved there the number
    that place j held before step j.
    """
    n = steps.size + 1
    both = (targets << 32) | steps
    both.sort()
    target = both >> 32
    step = both & 0xFFFF_FFFF
    again = np.flatnonzero(target[1:] == target[:-1])
    earlier = np.full(n - 1, -1)  # the latest earlier step with the same target
    earlier[step[again + 1]] = step[again]
    latest = np.full(n, -1)  # the latest step aiming at a place
    latest[target] = step
    # the latest step aiming at i, before step i
    before = np.where(latest[:-1] == steps, earlier, latest[:-1])
    # the number at place i before step i, by following such steps
    held = np.where(before < 0, steps, before)
    while not np.array_equal(held, further := held[held]):
        held = further
    order = np.empty(n, np.int64)
    order[:-1] = np.where(earlier < 0, targets, held[earlier])
    order[-1] = n - 1 if latest[-1] < 0 else held[latest[-1]]
    return order


# ---- normal numbers


def normal(
    stream: Stream, n: int, kind: NumpyDtype, mean: float, std: float, contiguous: bool
) -> Array:
    """Return normal numbers: in blocks of 16 for a contiguous tensor of at least 16 elements, else
    pair by pair.
    """
    if n < VECTORISED or not contiguous:
        pairs = normal_pairs(stream, n)
        return (pairs if (mean, std) == (0, 1) else fused(pairs, std, mean)).astype(kind)
    wide = kind.itemsize == 8
    blocks, rest = divmod(n, VECTORISED)
    drawn = n if kind.itemsize > 2 else n - rest
    words = drawn + (VECTORISED if rest else 0)
    bits = stream.uniform64(words) if wide else stream.uniform32(words)
    # Of a length that is not a multiple of 16, the last 16 numbers are made again, from new uniform
    # ones.
    whole = np.concatenate((bits[: blocks * VECTORISED], bits[drawn:])) if rest else bits
    samples = normal_blocks64(whole) if wide else normal_blocks(whole)
    samples = samples if (mean, std) == (0, 1) else fused(samples, std, mean)
    if rest:
        samples = np.concatenate((samples[: n - VECTORISED], samples[-VECTORISED:]))
    return samples.astype(kind, copy=False)


def normal_blocks64(uniform: Array) -> Array:
    """Convert n uniform float64 numbers to standard normal ones; in each row of 16, 8 give radii
    and 8 give angles.
    """
    rows = uniform.reshape(-1, 2, 8)
    radius = np.sqrt(-2 * each("log", 1 - rows[:, 0].reshape(-1)))
    angle = 2 * math.pi * rows[:, 1].reshape(-1)
    result = np.empty_like(rows)
    result[:, 0] = (radius * each("cos", angle)).reshape(-1, 8)
    result[:, 1] = (radius * each("sin", angle)).reshape(-1, 8)
    return result.reshape(-1)


def normal_pairs(stream: Stream, n: int) -> Array:
    """Return n standard normal float64 numbers, made in pairs; the stream keeps an unused second
    number.
    """
    kept = [] if stream.next_normal is None or not n else [stream.next_normal]
    count = (n - len(kept) + 1) // 2
    if kept or count:
        stream.next_normal = None
    result = np.empty(len(kept) + 2 * count)
    result[: len(kept)] = kept
    angle, length = stream.uniform64(2 * count).reshape(count, 2).T
    radius = np.sqrt(-2 * each("log1p", -length))
    angle = 2 * math.pi * angle
    result[len(kept) :: 2] = radius * each("cos", angle)
    result[len(kept) + 1 :: 2] = radius * each("sin", angle)
    if result.size > n:
        stream.next_normal = float(result[n])
    return result[:n]


# ---- further distributions


def bernoulli(stream: Stream, p: float, n: int) -> Array:
    """Return True with probability p."""
    return stream.bits53(n) < math.ceil(p * 2**53)


def exponential(stream: Stream, n: int, rate: float) -> Array:
    return (-1.0 / rate) * each("log1p", -stream.uniform64(n))


def geometric(stream: Stream, n: int, p: float) -> Array:
    return np.ceil(each("log", stream.uniform64(n)) / math.log1p(-p))


def log_normal(stream: Stream, n: int, mean: float, std: float) -> Array:
    return each("exp", fused(normal_pairs(stream, n), std, mean))


def cauchy(stream: Stream, n: int, median: float, sigma: float) -> Array:
    return fused(each("tan", math.pi * (stream.uniform64(n) - 0.5)), sigma, median)
