"""PyTorch's CPU stream of random bits: MT19937 seeded by `init_genrand`, and uniform numbers
computed from it.

numpy's RandomState has the same generator and returns whole arrays of words
(https://doi.org/10.1145/272991.272995).
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING
from gradtrace.engine.data.lazy import np

if TYPE_CHECKING:
    from numpy.random import MT19937, RandomState

    from gradtrace.engine.data.types import Array

WORDS = 624  # of the state, 32 bits each
SMALL = 4096  # words up to which the way of the fewest calls is the fastest
LOW_BITS = 0xFFFF_FFFF
# Bytes of the state as PyTorch lays it out: seed, left, seeded, next, 624 words of 8 bytes, 3
# doubles of which the second is the kept normal number, a flag for it with padding, and a float32
# number with a flag that is never used.
LAYOUT = "<u8,<i4,<i4,<u8,(624,)<u8,<f8,<f8,<f8,<i4,<i4,<f4,<i4"
SIZE = 5056  # bytes


class Stream:
    """The numbers that follow one seed.

    `next_normal` is the unused second number of a pair of normal numbers, or None.
    """

    __slots__ = ("bits", "next_normal", "words")

    def __init__(self, seed: int) -> None:
        self.bits: MT19937 = np.random.MT19937(0)
        # the same generator with further methods
        self.words: RandomState = np.random.RandomState(self.bits)
        self.words.seed(seed & LOW_BITS)
        self.next_normal: float | None = None

    def uint32(self, n: int) -> Array:
        """Return n random uint32 numbers, one word each."""
        if n < SMALL:
            return self.bits.random_raw(n).astype(np.uint32)
        return self.words.randint(0, 2**32, n, np.uint32)

    def uint64(self, n: int, mask: int = 2**64 - 1) -> Array:
        """Return n random uint64 numbers, two words each (the first is the upper half), masked by
        `mask`.
        """
        words = self.bits.random_raw(2 * n)
        numbers: Array = words[::2] & np.uint64(mask >> 32)
        numbers <<= np.uint64(32)
        numbers |= words[1::2]
        return numbers

    def uniform32(self, n: int) -> Array:
        """Return float32 numbers in [0, 1) with 24 bits, one word each."""
        bits = self.uint32(n)
        bits &= np.uint32(0xFFFFFF)
        numbers: Array = bits.astype(np.float32)
        numbers *= np.float32(2**-24)
        return numbers

    def uniform64(self, n: int) -> Array:
        """Return float64 numbers in [0, 1) with 53 bits, two words each."""
        numbers: Array = self.bits53(n).astype(np.float64)
        numbers *= 2.0**-53
        return numbers

    def bits53(self, n: int) -> Array:
        """Return `uniform64` times 2 ** 53, as integers."""
        return self.uint64(n, 2**53 - 1)

    def position(self) -> tuple[bytes, int, float | None]:
        """Return the state that determines the next numbers, as a value to compare."""
        state = self.words.get_state(legacy=False)["state"]
        return state["key"].tobytes(), state["pos"], self.next_normal

    def pack(self, seed: int) -> Array:
        """Return the state as bytes in the layout of PyTorch's `get_state`; `seed` is part of
        it.
        """
        state = self.words.get_state(legacy=False)["state"]
        key = state["key"]
        position = state["pos"]
        # A stream that nobody has drawn from still holds the words that the seed made, the first of
        # them its low bits.
        fresh = position == WORDS and key[0] == seed & LOW_BITS
        packed = np.zeros((), LAYOUT)
        packed["f0"] = seed
        packed["f2"] = 1
        packed["f4"] = key
        packed["f1"], packed["f3"] = (1, 0) if fresh else (WORDS + 1 - position, position)
        if self.next_normal is not None:
            packed["f6"] = self.next_normal
            packed["f8"] = 1
        return np.frombuffer(packed.tobytes(), np.uint8).copy()

    @classmethod
    def unpack(cls, raw: Array) -> tuple[int, Stream]:
        """Return the seed and the stream of a packed state; raise RuntimeError if it is not the
        state of an MT19937.
        """
        packed = np.frombuffer(raw.tobytes(), LAYOUT)[0]
        left = int(packed["f1"])
        after = int(packed["f3"])
        if not packed["f2"] or not 0 < left <= WORDS or after > WORDS:
            raise RuntimeError("Invalid mt19937 state")
        stream = cls(0)
        key = (packed["f4"] & np.uint64(LOW_BITS)).astype(np.uint32)
        position = WORDS if left == 1 else min(after, WORDS)
        stream.words.set_state({"bit_generator": "MT19937", "state": {"key": key, "pos": position}})
        if packed["f8"]:
            stream.next_normal = float(packed["f6"])
        return int(packed["f0"]), stream
