"""Random number generators: torch.Generator, the default generator, its seed and its state."""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING
from gradtrace.engine.lazy import np
from gradtrace.engine.state import state
from gradtrace.engine.tensor import Tensor
from gradtrace.ops.api import public

if TYPE_CHECKING:
    from numpy.random import Generator as NumpyGenerator

STATE_SIZES = (16, 16, 1, 4, 9)  # bytes of each part of a generator's state


class Generator:
    """An independent source of random numbers (torch.Generator)."""

    def __init__(self, device: object = "cpu") -> None:
        self._seed = 67280421310721
        self._source: NumpyGenerator | None = None

    @property
    def source(self) -> NumpyGenerator:
        if self._source is None:
            self._source = np.random.Generator(np.random.PCG64(self._seed % 2**64))
        return self._source

    def manual_seed(self, seed: int) -> Generator:
        """Seed the generator and return it."""
        self._seed, self._source = int(seed), None
        return self

    def initial_seed(self) -> int:
        return self._seed

    def seed(self) -> int:
        """Seed the generator from the operating system and return the seed."""
        import secrets

        self.manual_seed(secrets.randbits(63))
        return self._seed

    def get_state(self) -> Tensor:
        """Return the state of the stream as a tensor of bytes for `set_state`."""
        state = self.source.bit_generator.state
        counted = (state["state"]["state"], state["state"]["inc"], state["has_uint32"], state["uinteger"], self._seed)
        raw = b"".join(int(n).to_bytes(size, "little") for n, size in zip(counted, STATE_SIZES, strict=True))
        return Tensor._wrap(np.frombuffer(raw, np.uint8).copy())

    def set_state(self, new_state: Tensor) -> None:
        """Restore a state from `get_state`; TypeError if it is not a tensor of bytes, RuntimeError for a wrong size."""
        if not isinstance(new_state, Tensor) or new_state.own_array().dtype != np.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        raw = new_state.own_array().tobytes()
        if len(raw) != sum(STATE_SIZES):
            raise RuntimeError("RNG state is wrong size")
        numbers = []
        for size in STATE_SIZES:
            numbers.append(int.from_bytes(raw[:size], "little"))
            raw = raw[size:]
        value, inc, has_uint32, uinteger, self._seed = numbers
        source = np.random.Generator(np.random.PCG64(0))
        source.bit_generator.state = {
            "bit_generator": "PCG64",
            "state": {"state": value, "inc": inc},
            "has_uint32": has_uint32 & 1,
            "uinteger": uinteger,
        }
        self._source = source


default_generator = Generator()
default_generator.seed()


def draw(generator: Generator | None) -> NumpyGenerator:
    """Return the numpy generator to draw from; raise RuntimeError in a vmap whose `randomness` is "error"."""
    if state.batching is not None:
        state.batching.allow_random()
    return (generator or default_generator).source


@public("manual_seed", forms="f")
def manual_seed(seed: int) -> Generator:
    """Seed the default generator and return it (torch.manual_seed)."""
    return default_generator.manual_seed(seed)


@public("seed", forms="f")
def seed() -> int:
    """Seed the default generator from the operating system (torch.seed)."""
    return default_generator.seed()


@public("initial_seed", forms="f")
def initial_seed() -> int:
    """Return the seed of the default generator (torch.initial_seed)."""
    return default_generator.initial_seed()


@public("get_rng_state", forms="f")
def get_rng_state() -> Tensor:
    """Return the state of the default generator as bytes for `set_rng_state` (torch.get_rng_state)."""
    return default_generator.get_state()


@public("set_rng_state", forms="f")
def set_rng_state(new_state: Tensor) -> None:
    """Restore the state of the default generator from `get_rng_state` (torch.set_rng_state)."""
    default_generator.set_state(new_state)


public("Generator", forms="f")(Generator)
