"""The parts of Python's standard modules that a program may import; NAMES lists every name.

Each run has its own `random` generator; `sys` has only streams and constants, `time` only clocks and sleep;
`itertools` counts the items that it yields, `operator` and `math` respect the budget, and the names of `typing` are
placeholders.
"""

from __future__ import annotations

import sys
import time
from importlib import import_module as real_import

from gradtrace.annotations import Any, Callable
from gradtrace.lang import hash_cost, hosted, numpy_module, typing_names, wall
from gradtrace.lang.attributes import Gate
from gradtrace.lang.budget import Meter, exceeded
from gradtrace.lang.builtins import Streams, exit_program
from gradtrace.lang.iteration import depth_of, limit_depth, metered, with_name
from gradtrace.lang.values import Frozen, ProgramFunction
from gradtrace.lang.words import words

NAMES: dict[str, frozenset[str]] = {
    "__future__": words("annotations"),
    "collections": words("Counter OrderedDict defaultdict deque namedtuple"),
    "copy": words("copy deepcopy"),
    "functools": words("cache lru_cache partial reduce wraps"),
    "itertools": words("""accumulate chain combinations combinations_with_replacement compress count cycle dropwhile
        filterfalse groupby islice pairwise permutations product repeat starmap takewhile zip_longest"""),
    "math": words("""acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees dist e erf erfc exp
        exp2 expm1 fabs factorial floor fmod frexp fsum gamma gcd hypot inf isclose isfinite isinf isnan isqrt lcm ldexp
        lgamma log log10 log1p log2 modf nan nextafter perm pi pow prod radians remainder sin sinh sqrt tan tanh tau
        trunc ulp"""),
    "operator": words("add and_ eq floordiv ge gt itemgetter le lt matmul mod mul ne neg not_ or_ pow sub truediv xor"),
    "random": words("""betavariate choice choices expovariate gauss getrandbits normalvariate randint random randrange
        sample seed shuffle triangular uniform"""),
    "sys": words("argv exit float_info maxsize stderr stdout version"),
    "time": words("monotonic perf_counter process_time sleep time"),
    "typing": typing_names.NAMES,
    **numpy_module.NAMES,
    **hosted.NAMES,
    "warnings": words("catch_warnings filterwarnings resetwarnings simplefilter warn"),
}
# Modules whose real functions are used, except for those in Python.names_of.
AS_THEY_ARE = words("collections copy functools math")


class Python:
    """Python's modules in one run. `where` returns the current file and line."""

    def __init__(
        self,
        gate: Gate,
        meter: Meter,
        streams: Streams,
        operators: Callable[[str], Any],
        where: Callable[[], tuple[str, int]],
        host: Callable[[str], dict[str, Any]],
    ) -> None:
        self.host = host
        self.gate = gate
        self.meter = meter
        self.streams = streams
        self.operators = operators
        self.where = where
        self.parts: dict[str, Any] = {}

    def find(self, module: str, name: str) -> Any:
        """Return a listed name of a listed module; raise AttributeError for any other."""
        if name not in NAMES[module]:
            raise AttributeError(name)
        if module not in self.parts:
            self.parts[module] = self.names_of(module)
        part = self.parts[module]
        if name in part:
            return part[name]
        if module in AS_THEY_ARE:
            return getattr(real_import(module), name)
        return part["*"](name)

    def names_of(self, module: str) -> dict[str, Any]:
        """Return the reimplemented names of a module; "*" maps to a function for names that are not in the table."""
        if module in hosted.NAMES:
            return self.host(module)
        if module == "functools":
            hash_cost.HASHING_TYPES.add(type(real_import(module).cache(wraps)))
            return {"wraps": wraps}
        if module == "collections":
            collections = real_import(module)
            hash_cost.HASHING_CLASSES.update((collections.Counter, collections.OrderedDict, collections.defaultdict))
            late = (collections.Counter, collections.OrderedDict, collections.defaultdict, collections.deque)
            self.gate.special.update(hash_cost.charging_methods(self.meter, late))
            return {"namedtuple": self.namedtuple}
        if module == "math":
            return {name: self.whole_number(name) for name in ("factorial", "comb", "perm")}
        if module == "itertools":
            return {"chain": Chain(self.meter), "*": self.iterator}
        if module == "random":
            return self.random()
        if module == "time":
            return {"sleep": self.sleep, "*": lambda name: getattr(real_import("time"), name)}
        if module == "sys":
            return self.sys()
        if module == "warnings":
            from gradtrace.lang.warnings import names

            return names(self.where)
        if module in numpy_module.NAMES:
            return numpy_module.find_names(module, self.meter)
        if module == "operator":
            return {"*": lambda name: self.operators(name) or getattr(real_import("operator"), name)}
        return {"*": typing_names.form} if module == "typing" else {"annotations": None}

    # ---- reimplemented functions

    def namedtuple(self, typename: str, field_names: Any, *, rename: bool = False, defaults: Any = None) -> Any:
        """collections.namedtuple; the class is registered as the program's own."""
        real = real_import("collections").namedtuple
        with wall.lowered():  # it compiles generated text after checking the names
            names_of = real(typename, field_names, rename=rename, defaults=defaults, module="__main__")
        self.gate.adopt(names_of)
        return names_of

    def whole_number(self, name: str) -> Callable[..., int]:
        """Return factorial, comb or perm, whose results have about n * log2(n) bits."""
        real, meter = getattr(real_import("math"), name), self.meter

        def call(n: Any, *k: Any) -> int:
            if type(n) is int and n > 64:
                meter.reserve_integer(n.bit_length() * min(n, *(x for x in k if type(x) is int), n))
            result: int = real(n, *k)
            return result

        return with_name(call, name)

    def iterator(self, name: str) -> Callable[..., Any]:
        real, meter = getattr(real_import("itertools"), name), self.meter

        def call(*args: Any, **kwargs: Any) -> Any:
            return limit_depth(metered(real(*args, **kwargs), meter), max(map(depth_of, args), default=0))

        return with_name(call, name)

    def random(self) -> dict[str, Any]:
        """Return the functions of this run's generator, so that programs do not affect each other or the library."""
        own, meter = real_import("random").Random(), self.meter

        def choices(population: Any, weights: Any = None, *, cum_weights: Any = None, k: int = 1) -> Any:
            meter.count_steps(max(int(k), 0))
            return own.choices(population, weights, cum_weights=cum_weights, k=k)

        def getrandbits(k: int) -> int:
            meter.reserve_integer(int(k))
            bits: int = own.getrandbits(k)
            return bits

        return {"choices": choices, "getrandbits": getrandbits, "*": lambda name: getattr(own, name)}

    def sleep(self, seconds: float) -> None:
        if time.monotonic() + seconds > self.meter.deadline:
            limit = self.meter.budget.seconds
            raise exceeded("seconds", f"the program would sleep longer than its time limit of {limit:g} s")
        time.sleep(seconds)

    def sys(self) -> dict[str, Any]:
        return {
            "argv": [self.where()[0]],
            "exit": exit_program,
            "float_info": sys.float_info,
            "maxsize": sys.maxsize,
            "stdout": self.streams.stdout,
            "stderr": self.streams.stderr,
            "version": sys.version,
        }


class Chain(Frozen):
    """itertools.chain, with from_iterable."""

    __slots__ = ("_meter",)

    def __init__(self, meter: Meter) -> None:
        self._meter = meter

    def __call__(self, *iterables: Any) -> Any:
        names_of = metered(real_import("itertools").chain(*iterables), self._meter)
        return limit_depth(names_of, max(map(depth_of, iterables), default=0))

    def from_iterable(self, iterables: Any) -> Any:
        names_of = metered(real_import("itertools").chain.from_iterable(iterables), self._meter)
        return limit_depth(names_of, depth_of(iterables))


def wraps(wrapped: Any, assigned: Any = None, updated: Any = None) -> Callable[[Any], Any]:
    """functools.wraps, which changes only functions of the program."""

    def decorate(function: Any) -> Any:
        if type(function) is not ProgramFunction:
            return function
        for name in ("__name__", "__qualname__", "__doc__"):
            if isinstance(value := getattr(wrapped, name, None), str):
                setattr(function, name, value)
        if type(wrapped) is ProgramFunction:
            own = {k: v for k, v in vars(wrapped).items() if not k.startswith("__")}
            vars(function).update(own)
        vars(function)["__wrapped__"] = wrapped
        return function

    return decorate
