"""Random number generators: torch.Generator, the default generator, its seed and its state.

A run that is repeated in another dtype gets the numbers that its first run drew (`RepeatedDraws`).
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any, Callable, NamedTuple
from gradtrace.engine.data.describe import CPU, check_device, device
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.state import state
from gradtrace.engine.data.tensor import Tensor
from gradtrace.ops.api import public
from gradtrace.ops.random.stream import SIZE, Stream

if TYPE_CHECKING:
    from gradtrace.engine.data.types import Array

DEFAULT_SEED = 67280421310721


class Generator:
    """An independent source of random numbers (torch.Generator), which gives PyTorch's numbers for
    the same seed.
    """

    def __init__(self, device: object = "cpu") -> None:
        check_device(device)
        self._seed = DEFAULT_SEED
        self._source: Stream | None = None

    @property
    def source(self) -> Stream:
        if self._source is None:
            self._source = Stream(self._seed)
        return self._source

    @property
    def device(self) -> device:
        return CPU

    def manual_seed(self, seed: int) -> Generator:
        """Seed the generator and return it; 2**64 is added to a negative one. Raise ValueError
        outside 64 bits.
        """
        seed = int(seed)
        if not -(2**63) <= seed < 2**64:
            raise ValueError("Overflow when unpacking long long")
        self._seed = seed % 2**64
        self._source = None
        return self

    def initial_seed(self) -> int:
        return self._seed

    def seed(self) -> int:
        """Seed the generator from the operating system and return the seed."""
        import secrets

        self.manual_seed(secrets.randbits(64))
        return self._seed

    def get_state(self) -> Tensor:
        """Return the state as a tensor of bytes for `set_state`, laid out as PyTorch's."""
        return Tensor._wrap(self.source.pack(self._seed))

    def set_state(self, new_state: Tensor) -> None:
        """Restore a state from `get_state`; TypeError if it is not a tensor of bytes, RuntimeError
        for a wrong size.
        """
        if not isinstance(new_state, Tensor) or new_state.own_array().dtype != np.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        raw = new_state.own_array()
        if raw.size != SIZE:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {SIZE} but found the input RNG state size to be {raw.size}"
            )
        self._seed, self._source = Stream.unpack(raw)

    def clone_state(self) -> Generator:
        """Return a new generator in the same state."""
        clone = Generator()
        clone.set_state(self.get_state())
        return clone


default_generator = Generator()
default_generator.seed()


def draw(generator: Generator | None) -> Stream:
    """Return the stream to draw from; raise RuntimeError in a vmap whose `randomness` is
    "error".
    """
    if state.refused_draws is not None:
        raise RuntimeError(state.refused_draws)
    return (generator or default_generator).source


def sample(generator: Generator | None, size: int, numbers: Callable[[Stream], Array]) -> Array:
    """Return `numbers(stream)`, of this size; while a run is repeated, the numbers that its first
    run drew here.
    """
    stream = draw(generator)
    return numbers(stream) if state.draws is None else state.draws.numbers(stream, size, numbers)


@public(forms="f")
def manual_seed(seed: int) -> Generator:
    """Seed the default generator and return it (torch.manual_seed)."""
    return default_generator.manual_seed(seed)


@public(forms="f")
def seed() -> int:
    """Seed the default generator from the operating system (torch.seed)."""
    return default_generator.seed()


@public(forms="f")
def initial_seed() -> int:
    """Return the seed of the default generator (torch.initial_seed)."""
    return default_generator.initial_seed()


@public(forms="f")
def get_rng_state() -> Tensor:
    """Return the state of the default generator as bytes for `set_rng_state`
    (torch.get_rng_state).
    """
    return default_generator.get_state()


@public(forms="f")
def set_rng_state(new_state: Tensor) -> None:
    """Restore the state of the default generator from `get_rng_state` (torch.set_rng_state)."""
    default_generator.set_state(new_state)


public("Generator", forms="f")(Generator)


class Draw(NamedTuple):
    """The numbers of one draw, and the state of the stream after it."""

    numbers: Array
    words: Any
    next_normal: float | None


class RepeatedDraws:
    """The draws of the first run that has this as `state.draws`, in order, and of which the next
    run is to come.

    PyTorch draws other numbers for float64 than for float32, so a repetition gets those of the
    first run, cast.
    """

    def __init__(self) -> None:
        self.draws: list[Draw] = []
        self.place = 0

    def rewind(self, place: int = 0) -> None:
        """Begin a repetition at a draw of the first run."""
        self.place = place

    def numbers(self, stream: Stream, size: int, draw: Callable[[Stream], Array]) -> Array:
        """Return the numbers of the next draw; those of `draw(stream)` in the first run, or where
        the run differs.
        """
        place = self.place
        self.place += 1
        if place < len(self.draws) and self.draws[place].numbers.size == size:
            earlier = self.draws[place]
            stream.words.set_state(earlier.words)
            stream.next_normal = earlier.next_normal
            return earlier.numbers.copy()
        numbers = draw(stream)
        if place == len(self.draws):
            self.draws.append(
                Draw(numbers.copy(), stream.words.get_state(legacy=False), stream.next_normal)
            )
        return numbers
