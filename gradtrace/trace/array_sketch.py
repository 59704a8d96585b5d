"""A sketch and a checksum of an array: what two records need to be compared without the elements.

`sketch_of` returns 64 sums of the elements, each element with a random sign of its place (a
CountSketch: Charikar, Chen and Farach-Colton, 2002). It is linear, and the length of a sketch
estimates the norm of the array: the standard deviation is 9 %. So the sketches of two arrays tell
how far the arrays are apart.

    lane(i)   = i % 1005
    sign(i)   = s(i % 64320) * s(64320 + 1005 * (i // 64320) + lane(i))
    bucket(i) = b if b < 64 else b - 64, where b = lane(i) % 67
    s(k)      = 1 or -1: bit k % 64, counted from the lowest, of mixed(k // 64)
    mixed(k)  = the output of splitmix64 (Steele, Lea and Flood, 2014) for the state (k + 1) *
              0x9E3779B97F4A7C15

i is the index of an element in row-major order, whatever its order in memory. The widths are odd,
so that the elements of one column or of one row spread over all buckets. Sums are computed in the
dtype of the array (float32 for dtypes with fewer bits, float64 for integers of 32 bits and more)
over at most 64 elements, and in float64 beyond. NaN and infinities count as 0; a sum beyond the
range of float64 is its largest number.

`checksum_of` returns 64 bits that depend on every bit of the elements and on its place. The bytes
in row-major order are 64-bit words, the last one filled with zeros; all arithmetic is modulo 2 **
64.

    fold(x)    = x ^ (x >> 32)
    odd(k)     = mixed(k) | 1
    sums[lane] = the sum of word(i) * odd(i // 335) over each i but the last with i % 335 == lane
    checksum   = the sum of fold(sums[lane]) * odd(lane), plus fold(last word) * odd(335), plus
               words * odd(336)

Arrays of one dtype and shape with equal checksums are equal to the bit, with a chance of error of
some 2 ** -33.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING
from gradtrace.engine.data.lazy import np

if TYPE_CHECKING:
    from gradtrace.engine.data.types import Array

BUCKETS = 64
LANES = 1005  # 15 rows of 67
FOLDED = 67
RUN = 64  # elements that are added in the dtype of the array
BLOCK = LANES * RUN
WORD_LANES = 335
GOLDEN = 0x9E3779B97F4A7C15
MASK = (1 << 64) - 1
LARGEST = float.fromhex("0x1.fffffffffffffp+1023")
SCALE = 2.0**80
_signs: dict[str, Array] = {}
_odds: list[Array] = []


def mixed(count: int) -> Array:
    """Return the first `count` outputs of splitmix64 for the state 0."""
    x = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(GOLDEN)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def signs(count: int, dtype: str) -> Array:
    """Return the first `count` signs, as 1 and -1; they are kept."""
    table = _signs.get(dtype)
    if table is None or table.size < count:
        words = -(-max(count, BLOCK + 16 * LANES) // 64)
        bits = np.unpackbits(mixed(words).astype("<u8").view(np.uint8), bitorder="little")
        table = _signs[dtype] = bits.astype(dtype) * 2 - 1
    return table[:count]


def odds(count: int) -> Array:
    """Return the first `count` odd multipliers; they are kept."""
    if not _odds or _odds[0].size < count:
        _odds[:] = [mixed(max(count, 1024)) | np.uint64(1)]
    return _odds[0][:count]


def sketch_of(array: Array) -> tuple[float, ...]:
    """Return the sketch of an array: 64 sums of its finite elements with random signs."""
    flat = np.ascontiguousarray(array).reshape(-1)
    if flat.dtype not in (np.float32, np.float64):
        flat = flat.astype(np.float32 if flat.dtype.itemsize < 4 else np.float64)
    with np.errstate(all="ignore"):
        buckets = folded(lanes_of(flat))
        if not np.isfinite(np.add.reduce(buckets)):
            buckets = folded(
                lanes_of(np.where(np.isfinite(flat), flat, 0).astype(np.float64) / SCALE)
            )
            buckets = np.clip(buckets, -LARGEST / SCALE, LARGEST / SCALE) * SCALE
    return tuple(buckets.tolist())


def lanes_of(flat: Array) -> Array:
    """Return the sums of each lane, in float64."""
    blocks, rest = divmod(flat.size, BLOCK)
    rows, tail = divmod(rest, LANES)
    table = signs(BLOCK + LANES * (blocks + 1), flat.dtype.name)
    by_place = table[:BLOCK].reshape(RUN, LANES)
    by_block = table[BLOCK:].reshape(blocks + 1, LANES)
    start = flat.size - rest
    last = flat[start : start + rows * LANES].reshape(rows, LANES)
    sums = np.einsum("ij,ij->j", last, by_place[:rows])
    if tail:
        sums[:tail] += flat[flat.size - tail :] * by_place[rows, :tail]
    lanes: Array = np.multiply(sums, by_block[blocks], dtype=np.float64)
    if blocks:
        whole = np.einsum("kij,ij->kj", flat[:start].reshape(blocks, RUN, LANES), by_place)
        lanes += np.einsum(
            "kj,kj->j", whole.astype(np.float64), by_block[:blocks].astype(np.float64)
        )
    return lanes


def folded(lanes: Array) -> Array:
    """Return the sums of each bucket from those of each lane."""
    sums: Array = np.add.reduce(lanes.reshape(-1, FOLDED), 0)
    sums[: FOLDED - BUCKETS] += sums[BUCKETS:]
    return sums[:BUCKETS]


def checksum_of(array: Array) -> int:
    """Return a checksum of the bits of an array."""
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    count = max(-(-flat.size // 8), 1)
    last = int.from_bytes(flat[8 * count - 8 :].tobytes(), "little")
    words = flat[: 8 * count - 8].view(np.dtype("<u8"))
    rows, rest = divmod(words.size, WORD_LANES)
    odd = odds(max(rows + 1, WORD_LANES + 2))
    sums = np.einsum("i,ij->j", odd[:rows], words[: rows * WORD_LANES].reshape(rows, WORD_LANES))
    if rest:
        sums[:rest] += words[rows * WORD_LANES :] * odd[rows]
    sums ^= sums >> np.uint64(32)
    checksum = int(sums.dot(odd[:WORD_LANES])) + (last ^ last >> 32) * int(odd[WORD_LANES])
    return (checksum + count * int(odd[WORD_LANES + 1])) & MASK
