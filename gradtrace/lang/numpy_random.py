"""The module `numpy.random` of programs: the run's generator, and generators that the program creates."""

from __future__ import annotations

from gradtrace.annotations import Any, Callable
from gradtrace.engine.lazy import np
from gradtrace.lang.arrays import Array, wrap_function
from gradtrace.lang.values import Frozen, named
from gradtrace.lang.words import Names, words

DISTRIBUTIONS = words("""beta binomial chisquare choice dirichlet exponential f gamma geometric gumbel hypergeometric
    laplace logistic lognormal logseries multinomial multivariate_normal negative_binomial normal pareto permutation
    poisson power rayleigh standard_cauchy standard_exponential standard_gamma standard_normal standard_t triangular
    uniform vonmises wald weibull zipf""")
LEGACY = DISTRIBUTIONS | words("rand randint randn random random_sample seed")
MODERN = DISTRIBUTIONS | words("integers permuted random")
NAMES = LEGACY | words("shuffle RandomState default_rng get_state set_state")


class State(Frozen):
    """The result of `np.random.get_state`, for `np.random.set_state`."""

    __slots__ = ("_state",)

    def __init__(self, state: Any) -> None:
        self._state = state


class Source(Frozen):
    """A numpy generator, as made by `np.random.RandomState(seed)` or `np.random.default_rng(seed)`."""

    __slots__ = ("_methods", "_source")
    __module__ = "numpy.random"

    def __init__(self, source: Any, methods: frozenset[str]) -> None:
        self._source, self._methods = source, methods

    def __getattr__(self, name: str) -> Any:
        if name == "shuffle":
            return make_shuffle(self._source)
        if name not in self._methods:
            raise AttributeError(f"'{type(self._source).__name__}' object has no attribute '{name}'")
        return wrap_function(getattr(self._source, name), name)

    def __repr__(self) -> str:
        return f"{type(self._source).__name__}({self._source._bit_generator.__class__.__name__})"


Source.__name__ = Source.__qualname__ = "Generator"


def random_state(seed: Any = None) -> Source:
    """Implement np.random.RandomState."""
    return Source(np.random.RandomState(checked_seed(seed)), LEGACY)


def default_rng(seed: Any = None) -> Source:
    """Implement np.random.default_rng."""
    return Source(np.random.default_rng(checked_seed(seed)), MODERN)


def checked_seed(seed: Any) -> Any:
    if seed is None or issubclass(type(seed), int):
        return seed if seed is None else int.__int__(seed)
    raise TypeError(f"a seed must be an int, not {type(seed).__name__}")


def find_names() -> Names:
    """Return the names of one run's `np.random` and their values; "*" maps to a function for all other names."""
    source = np.random.RandomState()

    def get_state() -> State:
        return State(source.get_state(legacy=False))

    def set_state(state: State) -> None:
        if type(state) is not State:
            raise TypeError("set_state takes what get_state returned")
        source.set_state(state._state)

    return {
        "shuffle": make_shuffle(source),
        "RandomState": named(lambda *args, **kwargs: random_state(*args, **kwargs), "RandomState"),
        "default_rng": default_rng,
        "get_state": get_state,
        "set_state": set_state,
        "*": lambda name: wrap_function(getattr(source, name), name),
    }


def make_shuffle(source: Any) -> Callable[[Any], None]:
    def call(x: Any) -> None:
        if type(x) not in (Array, list):
            raise TypeError(f"x must be an array or a list, not {type(x).__name__}")
        source.shuffle(x._array if type(x) is Array else x)

    return named(call, "shuffle")
