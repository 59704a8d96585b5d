"""The part of numpy that PyTorch scripts use: arrays, elementwise functions, reductions, linear algebra, random.

The functions apply numpy's to the ndarrays of the program's Arrays. Each run has its own `np.random`, and generators
that the program creates.
"""

from __future__ import annotations

import math
import operator

from gradtrace.annotations import Any, AnyFunction, Callable
from gradtrace.engine.data import text
from gradtrace.engine.data.lazy import np
from gradtrace.lang import wall
from gradtrace.lang.arrays import (
    Array,
    DType,
    NumberClass,
    from_numpy,
    to_numpy,
    to_numpy_argument,
    wrap_function,
)
from gradtrace.lang.attributes import Gate
from gradtrace.lang.budget import Meter
from gradtrace.lang.iteration import metered
from gradtrace.lang.text_arrays import TextArray
from gradtrace.lang.values import Frozen, named
from gradtrace.lang.words import Names, refuse_unknown, words
from gradtrace.ops.random.repeated import unseeded

DTYPES = {
    **{name: name for name in words("float16 float32 float64 int8 int16 int32 int64 uint8")},
    "bool_": "bool",
    "double": "float64",
    "single": "float32",
}
CONSTANTS = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan, "newaxis": None}
MAKERS = words("arange empty eye full linspace ones zeros")
FUNCTIONS = words("""abs absolute add all allclose amax amin any append arccos arccosh arcsin arcsinh arctan arctan2
    arctanh argmax argmin argpartition argsort argwhere array array_equal array_split asarray around ascontiguousarray
    atleast_1d atleast_2d atleast_3d average bincount bitwise_and bitwise_or bitwise_xor broadcast_to cbrt ceil clip
    column_stack concatenate convolve copy copysign corrcoef correlate cos cosh count_nonzero cov cross cumprod cumsum
    deg2rad degrees delete diag diagonal diff digitize divide dot dsplit dstack ediff1d einsum empty_like equal exp
    exp2 expand_dims expm1 fabs fix flatnonzero flip fliplr flipud float_power floor floor_divide fmax fmin fmod
    full_like geomspace gradient greater greater_equal heaviside histogram hsplit hstack hypot identity inner insert
    interp intersect1d isclose isfinite isin isinf isnan isscalar kron less less_equal log log10 log1p log2 logaddexp
    logical_and logical_not logical_or logical_xor logspace matmul max maximum mean median meshgrid min minimum mod
    moveaxis multiply nan_to_num nanargmax nanargmin nanmax nanmean nanmin nanstd nansum nanvar ndim negative
    nextafter nonzero not_equal ones_like outer pad partition percentile polyder polyfit polyint polyval power prod
    ptp quantile rad2deg radians ravel ravel_multi_index reciprocal remainder repeat reshape rint roll rollaxis roots
    rot90 round searchsorted setdiff1d shape sign signbit sin sinc sinh size sort split sqrt square squeeze stack std
    subtract sum swapaxes take take_along_axis tan tanh tensordot tile trace transpose trapezoid tril tril_indices
    triu triu_indices true_divide trunc union1d unique unravel_index vander var vdot vsplit vstack where
    zeros_like""")
LINALG = words("""cholesky cond det eig eigh eigvals eigvalsh inv lstsq matrix_power matrix_rank norm pinv qr slogdet
    solve svd""")
TESTING = words("""assert_allclose assert_almost_equal assert_array_almost_equal assert_array_equal assert_array_less
    assert_equal""")
CLASSES = words("floating generic inexact integer number signedinteger unsignedinteger")
OWN = CLASSES | words("""__version__ array2string c_ finfo genfromtxt get_printoptions iinfo issubdtype load loadtxt
    mgrid ndarray ndindex ogrid r_ save savetxt set_printoptions vectorize""")
DISTRIBUTIONS = words("""beta binomial chisquare choice dirichlet exponential f gamma geometric gumbel hypergeometric
    laplace logistic lognormal logseries multinomial multivariate_normal negative_binomial normal pareto permutation
    poisson power rayleigh standard_cauchy standard_exponential standard_gamma standard_normal standard_t triangular
    uniform vonmises wald weibull zipf""")
LEGACY = DISTRIBUTIONS | words("rand randint randn random random_sample seed")
SAME_AS: dict[str, str] = {
    "ranf": "random_sample",
    "sample": "random_sample",
}  # names of the module alone, not of a RandomState
MODERN = DISTRIBUTIONS | words("integers permuted random")
RANDOM = LEGACY | words("ranf sample shuffle RandomState default_rng get_state set_state")
NAMES = {
    "numpy": frozenset(DTYPES) | frozenset(CONSTANTS) | MAKERS | FUNCTIONS | OWN,
    "numpy.random": RANDOM,
    "numpy.testing": TESTING,
    "numpy.linalg": LINALG,
}


def array_names(meter: Meter, gate: Gate) -> Names:
    """Return the names of `numpy` and their values; "*" maps to a function that finds all other names."""
    return {
        **CONSTANTS,
        **{name: DType(kind) for name, kind in DTYPES.items()},
        "ndarray": gate.type_name(Array),
        "array": lambda data, *args, **how: array_of(data, args, how, meter),
        **{name: file_function(name, meter) for name in words("genfromtxt load loadtxt save savetxt")},
        "__version__": np.__version__,
        "c_": Joined("c_"),
        "r_": Joined("r_"),
        "mgrid": Joined("mgrid", meter),
        "ogrid": Joined("ogrid", meter),
        **{name: NumberClass(name) for name in CLASSES},
        "issubdtype": issubdtype,
        "finfo": limits_of(np.finfo, "bits eps max min resolution smallest_normal tiny"),
        "iinfo": limits_of(np.iinfo, "bits max min"),
        "ndindex": lambda *shape: ndindex(meter, *shape),
        "vectorize": vectorize,
        "set_printoptions": set_printoptions,
        "get_printoptions": get_printoptions,
        "array2string": array2string,
        "*": lambda name: reserving(name, meter) if name in MAKERS else wrap_function(getattr(np, name), name),
    }


def array_of(data: Any, args: Any, how: Any, meter: Meter) -> Any:
    """Implement np.array, also of a flat list of strings of less than 256 characters."""
    flat = type(data) in (list, tuple) and bool(data) and not args and not how
    if flat and all(type(one) is str and len(one) < 256 for one in data):
        return TextArray(data, meter)
    return wrap_function(np.array, "array")(data, *args, **how)


def reserving(name: str, meter: Meter) -> AnyFunction:
    """Wrap a function that allocates an array, so that its memory is first reserved in the budget."""
    make = wrap_function(getattr(np, name), name)

    def call(*args: Any, **kwargs: Any) -> Any:
        for value in (*args, *kwargs.values()):
            to_numpy_argument(value, True)  # refuses an object, which is not to be asked for its size
        meter.reserve(8 * count_elements(name, args, kwargs))
        return make(*args, **kwargs)

    return named(call, name)


def count_elements(name: str, args: Any, kwargs: Any) -> int:
    """Return the number of elements that a function of MAKERS will allocate; 0 for invalid arguments."""
    args = [plain_number(a) for a in args]
    numbers = [a for a in (*args, *kwargs.values()) if isinstance(a, (int, float))]
    if name == "arange":
        low, high, step = ((0, *args, 1) if len(args) == 1 else (*args, 1, 1))[:3]
        valid = all(isinstance(a, (int, float)) for a in (low, high, step)) and step
        return max(0, int((float(high) - float(low)) / float(step))) if valid else 0
    if name == "linspace":
        return int(kwargs.get("num", args[2] if len(args) > 2 else 50))
    if name == "eye":
        return int(math.prod((*numbers[:2], *numbers[:1])[:2]))
    shape = kwargs.get("shape", args[0] if args else 0)
    sizes = shape if isinstance(shape, (list, tuple)) else (shape,)
    return math.prod(int(size) for size in map(plain_number, sizes) if isinstance(size, int))


def plain_number(value: Any) -> Any:
    """Return the number in a 0-d Array, any other value unchanged."""
    return value.item() if type(value) is Array and not value.ndim else value


def file_function(name: str, meter: Meter) -> AnyFunction:
    def call(*args: Any, **how: Any) -> Any:
        from gradtrace.lang.array_files import numpy_names

        return numpy_names(meter)[name](*args, **how)

    return named(call, name)


def linalg_names() -> Names:
    return {"*": lambda name: wrap_function(getattr(np.linalg, name), name)}


def testing_names() -> Names:
    with wall.lowered():  # its first import reads files
        from numpy import testing
    return {"*": lambda name: wrap_function(getattr(testing, name), name)}


class Joined(Frozen):
    """`np.c_` and `np.r_`, which join arrays by indexing."""

    __slots__ = ("_meter", "_name")

    def __init__(self, name: str, meter: Meter | None = None) -> None:
        self._name, self._meter = name, meter

    def __getitem__(self, key: Any) -> Any:
        keys = tuple(map(part_of_join, key if type(key) is tuple else (key,)))
        if self._meter is not None:  # a grid over the ranges
            sizes = [count_elements("arange", (k.start or 0, k.stop, k.step or 1), {}) for k in keys]
            self._meter.reserve(8 * (math.prod(sizes) * len(sizes) if self._name == "mgrid" else sum(sizes)))
        return from_numpy(getattr(np, self._name)[keys if len(keys) > 1 else keys[0]])


def issubdtype(arg1: Any, arg2: Any) -> bool:
    """Implement np.issubdtype for a dtype and a dtype or class of numbers."""
    name = arg1.name if type(arg1) is DType else np.dtype(to_numpy_argument(arg1, False)).name
    if type(arg2) is NumberClass:
        return arg2.has(name)
    return bool(np.issubdtype(np.dtype(name), to_numpy_argument(arg2, False)))


def part_of_join(key: Any) -> Any:
    if type(key) is slice:
        return slice(*map(to_numpy, (key.start, key.stop, key.step)))
    return to_numpy(key)


class Limits(Frozen):
    """The result of np.finfo or np.iinfo."""

    def __init__(self, found: Any, names: str) -> None:
        self.__dict__.update({name: from_numpy(getattr(found, name)) for name in names.split()})


def limits_of(function: Any, names: str) -> Callable[[Any], Limits]:
    def call(type: Any) -> Limits:
        return Limits(function(to_numpy_argument(type, False)), names)

    return named(call, function.__name__)


def ndindex(meter: Meter, *shape: Any) -> Any:
    """Implement np.ndindex: the index tuples of an array of this shape."""
    sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
    return metered(np.ndindex(*map(operator.index, sizes)), meter)


def vectorize(pyfunc: AnyFunction) -> AnyFunction:
    """Implement np.vectorize: apply a function of numbers to each element of arrays that broadcast."""

    def call(*args: Any) -> Any:
        arrays = np.broadcast_arrays(*map(to_numpy, args))
        results = [to_numpy(pyfunc(*map(from_numpy, items))) for items in zip(*(a.flat for a in arrays), strict=True)]
        return from_numpy(np.array(results).reshape(arrays[0].shape))

    return call


POSITIONAL = ("precision", "threshold", "edgeitems", "linewidth", "suppress", "nanstr", "infstr")
PRINTED = words("floatmode sign").union(POSITIONAL)


def set_printoptions(*values: Any, **named: Any) -> None:
    """Implement np.set_printoptions for the arrays of this run."""
    if len(values) > len(POSITIONAL):
        raise TypeError(f"set_printoptions() takes at most {len(POSITIONAL)} positional arguments")
    given = {name: value for name, value in {**dict(zip(POSITIONAL, values)), **named}.items() if value is not None}
    refuse_unknown("set_printoptions", given, " ".join(PRINTED))
    for name, value in given.items():
        if type(value) not in (int, float, bool, str):
            raise TypeError(f"{name} must be a number or a word, not {type(value).__name__}")
    with np.printoptions(**given):  # checks them
        pass
    text.numpy_options.update(given)


def get_printoptions() -> Names:
    """Implement np.get_printoptions, without `formatter`."""
    return {name: value for name, value in text.array_options().items() if name in PRINTED}


def array2string(a: Any, **options: Any) -> str:
    """Implement np.array2string; its options are numbers and strings."""
    named = {name: to_numpy_argument(value, True) for name, value in options.items()}
    with np.printoptions(**text.array_options()):
        return str(np.array2string(np.asarray(to_numpy(a)), **named))


# ---- numpy.random


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
        return unseeded() if seed is None else int.__int__(seed)
    raise TypeError(f"a seed must be an int, not {type(seed).__name__}")


def random_names() -> Names:
    """Return the names of one run's `np.random` and their values; "*" maps to a function for all other names."""
    source = np.random.RandomState(unseeded())

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
        "*": lambda name: wrap_function(getattr(source, str(SAME_AS.get(name, name))), name),
    }


def make_shuffle(source: Any) -> Callable[[Any], None]:
    def call(x: Any) -> None:
        if type(x) not in (Array, list):
            raise TypeError(f"x must be an array or a list, not {type(x).__name__}")
        source.shuffle(x._array if type(x) is Array else x)

    return named(call, "shuffle")
