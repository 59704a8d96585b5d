"""sin and cos of large float64 arrays, faster than numpy's, which call the C library for each
element.

The argument is reduced to [-pi/4, pi/4] (Cody and Waite: pi/2 in three parts whose products with a
small integer are exact). There both polynomials are evaluated with fdlibm's coefficients, in
blocks, so that intermediate results stay in the cache. Each result differs from numpy's by at most
one unit in the last place. Arguments above 6,400, infinities and nan are left to numpy.
https://www.netlib.org/fdlibm/k_sin.c

One block gives both functions, so a forward that needs a gradient keeps the other one, which is the
derivative up to a sign (`with_slope`); `reverse/blocks.py` uses it if the argument still has the
fingerprint that it had.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Callable
from gradtrace.engine.data.lazy import np
from gradtrace.engine.operators.rounding import ROW, dot_product

if TYPE_CHECKING:
    from gradtrace.engine.data.tensor import Tensor
    from gradtrace.engine.data.types import Array

BLOCK = 16384
TWO_OVER_PI = 0.6366197723675814
# pi/2 in parts, the first two of 41 bits: their products with whole numbers below MOST are exact.
PI_PARTS = tuple(
    map(float.fromhex, ("0x1.921fb54442000p+0", "0x1.a308d31319000p-41", "0x1.145c06e0e6895p-82"))
)
# Adding this constant leaves the nearest integer of a number in the last bits.
ROUNDING = 1.5 * 2.0**52
MOST = 2.0**12  # quarters of a turn
SIN = (
    1.58969099521155010221e-10,
    -2.50507602534068634195e-08,
    2.75573137070700676789e-06,
    -1.98412698298579493134e-04,
    8.33333333332248946124e-03,
    -1.66666666666666324348e-01,
)
COS = (
    -1.13596475577881948265e-11,
    2.08757232129817482790e-09,
    -2.75573143513906633035e-07,
    2.48015872894767294178e-05,
    -1.38888888888741095749e-03,
    4.16666666666666019037e-02,
    -0.5,
    1.0,
)
SIGN = -(2**63)

# Buffers not in use; a call takes one and puts it back, so two threads never share one.
spare: list[Array] = []
# Where the derivative of an array's sine or cosine is wanted, by the array's id.
wanted: dict[int, Array] = {}


def sin(x: Array) -> Array:
    """Return np.sin(x) for a float64 array."""
    if not x.flags.c_contiguous:
        return np.sin(x)
    out = np.empty_like(x)
    by_blocks(x, out, wanted.pop(id(x), None))
    return out


def cos(x: Array) -> Array:
    """Return np.cos(x) for a float64 array."""
    if not x.flags.c_contiguous:
        return np.cos(x)
    out = np.empty_like(x)
    slope = wanted.pop(id(x), None)
    by_blocks(x, slope, out)
    if slope is not None:
        np.negative(slope, slope)
    return out


def with_slope(call: Callable[..., Tensor], input: Tensor) -> Tensor:
    """Call sin or cos on a large array, and keep the derivative on the result's node."""
    x = input._data
    slope = wanted[id(x)] = np.empty_like(x)
    try:
        out = call(input)
    finally:
        unused = wanted.pop(id(x), None)
    if unused is None and out._fn is not None:
        out._fn.ensure_extras().slope = (slope, fingerprint(x))
    return out


def fingerprint(x: Array) -> float:
    """Return a weighted sum of an array, which shows whether it was written to, but for changes
    lost in rounding.
    """
    flat = x.reshape(-1)
    whole = x.size // ROW * ROW
    columns = np.sin(np.arange(1.0, ROW + 1))
    rows = np.cos(np.arange(1.0, whole // ROW + 1))
    sums = np.vecdot(flat[:whole].reshape(-1, ROW), columns)
    return float(dot_product(rows, sums) + dot_product(columns[: x.size - whole], flat[whole:]))


def by_blocks(x: Array, sine: Array | None, cosine: Array | None) -> None:
    """Write the sine of `x` into `sine` and its cosine into `cosine`, if these are not None."""
    flat = x.reshape(-1)
    to_sine = None if sine is None else sine.reshape(-1)
    to_cosine = None if cosine is None else cosine.reshape(-1)
    rows = spare.pop() if spare else buffers()
    try:
        for start in range(0, flat.size, BLOCK):
            block = flat[start : start + BLOCK]
            here = slice(start, start + block.size)
            t, z, p, unused = rows[:, : block.size]
            s = unused if to_sine is None else to_sine[here]
            c = unused if to_cosine is None else to_cosine[here]
            far = one_block(block, s, c, t, z, p)
            if far is not None:
                s[far], c[far] = np.sin(block[far]), np.cos(block[far])
    finally:
        spare.append(rows)


def buffers() -> Array:
    """Return four buffers, each aligned to a cache line: numpy's loops are 25 % faster on aligned
    data.
    """
    raw = np.empty(4 * BLOCK * 8 + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + 4 * BLOCK * 8].view(np.float64).reshape(4, BLOCK)


def one_block(x: Array, s: Array, c: Array, t: Array, z: Array, p: Array) -> Array | None:
    """Write sin(x) into s and cos(x) into c. Return the mask of elements too large for this method,
    or None.

    `t`, `z` and `p` are buffers.
    """
    multiply = np.multiply
    add = np.add
    subtract = np.subtract
    xor = np.bitwise_xor
    also = np.bitwise_and
    s_bits, c_bits, t_bits, z_bits, p_bits = (row.view(np.int64) for row in (s, c, t, z, p))
    multiply(x, TWO_OVER_PI, t)
    add(t, ROUNDING, t)  # its last two bits are the number of the quadrant
    subtract(t, ROUNDING, z)
    # Both comparisons are false if an element is nan.
    far: Array | None = None if z.max() < MOST and z.min() > -MOST else ~(np.abs(z) < MOST)
    # The reduced argument in s, and the rounding error of s in p.
    multiply(z, PI_PARTS[0], c)
    subtract(x, c, c)
    multiply(z, PI_PARTS[1], p)
    subtract(c, p, s)
    subtract(c, s, c)
    subtract(c, p, p)
    multiply(z, PI_PARTS[2], c)
    subtract(p, c, p)
    multiply(s, s, z)
    multiply(z, SIN[0], c)
    for coefficient in SIN[1:]:
        add(c, coefficient, c)
        multiply(c, z, c)
    multiply(c, s, c)
    add(c, p, c)
    add(s, c, s)
    multiply(z, COS[0], c)
    for coefficient in COS[1:-1]:
        add(c, coefficient, c)
        multiply(c, z, c)
    add(c, COS[-1], c)
    if not z.min() > 0:  # zeros have lost their sign
        np.copyto(s, x, where=x == 0)
    # In odd quadrants sine and cosine are exchanged.
    np.left_shift(t_bits, 63, p_bits)
    np.right_shift(p_bits, 63, p_bits)
    xor(s_bits, c_bits, z_bits)
    also(z_bits, p_bits, z_bits)
    xor(s_bits, z_bits, s_bits)
    xor(c_bits, z_bits, c_bits)
    # The sine is negative in the third and fourth, the cosine in the second and third.
    np.left_shift(t_bits, 62, z_bits)
    also(z_bits, SIGN, z_bits)
    xor(s_bits, z_bits, s_bits)
    also(p_bits, SIGN, p_bits)
    xor(z_bits, p_bits, z_bits)
    xor(c_bits, z_bits, c_bits)
    return far
