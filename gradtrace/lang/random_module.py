"""The module `random` of programs: each run has its own generators, with Python's random numbers for each seed."""

from __future__ import annotations

from random import Random

from gradtrace.annotations import Any
from gradtrace.lang.budget import Meter
from gradtrace.lang.values import Frozen
from gradtrace.lang.words import Names, words
from gradtrace.ops.random.repeated import unseeded

METHODS = words("""betavariate choice expovariate gauss getstate normalvariate randint random randrange sample seed
    setstate shuffle triangular uniform""")
OWN = words("choices getrandbits")


class Source(Frozen):
    """A generator of random numbers: the module's own, or a `random.Random` that the program creates."""

    __slots__ = ("_meter", "_random")

    def __init__(self, meter: Meter, *seed: Any) -> None:
        self._meter = meter
        self._random = Random(*(seed if seed and seed[0] is not None else [unseeded()]))

    def choices(self, population: Any, weights: Any = None, *, cum_weights: Any = None, k: int = 1) -> Any:
        self._meter.count_steps(max(int(k), 0))
        return self._random.choices(population, weights, cum_weights=cum_weights, k=k)

    def getrandbits(self, k: int) -> int:
        self._meter.reserve_integer(int(k))
        return self._random.getrandbits(k)

    def __getattr__(self, name: str) -> Any:
        if name not in METHODS:
            raise AttributeError(f"'Random' object has no attribute '{name}'")
        return getattr(self._random, name)

    def __repr__(self) -> str:
        return f"<random.Random object at {id(self):#x}>"


Source.__name__ = Source.__qualname__ = "Random"
Source.__module__ = "random"


def find_names(meter: Meter) -> Names:
    """Return the functions of the run's own generator; programs do not affect each other or the library."""
    own = Source(meter)

    def make(*seed: Any) -> Source:
        if any(type(one) not in (int, float, str, type(None)) for one in seed):
            raise TypeError("The only supported seed types are: None, int, float, and str.")
        return Source(meter, *seed)

    return {"Random": make, "*": lambda name: getattr(own, name)}
