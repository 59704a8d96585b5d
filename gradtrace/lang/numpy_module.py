"""The part of numpy that PyTorch scripts use: arrays, elementwise functions, reductions, random numbers.

The functions apply numpy's to the ndarrays of the program's Arrays. `np.random` is a generator that belongs to the run
and produces numpy's stream for a seed.
"""

from __future__ import annotations

import math

from gradtrace.annotations import Any, Callable
from gradtrace.engine.lazy import np
from gradtrace.lang.arrays import Array, DType, to_numpy, wrap_function
from gradtrace.lang.budget import Meter
from gradtrace.lang.values import TypeName
from gradtrace.lang.words import words

DTYPES = {
    "float16": "float16",
    "float32": "float32",
    "float64": "float64",
    "int8": "int8",
    "int16": "int16",
    "int32": "int32",
    "int64": "int64",
    "uint8": "uint8",
    "bool_": "bool",
    "double": "float64",
    "single": "float32",
}
CONSTANTS = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan, "newaxis": None}
MAKERS = words("arange eye full linspace ones zeros")
FUNCTIONS = words("""abs absolute add all allclose amax amin any arccos arcsin arctan arctan2 argmax argmin argsort
    array array_equal asarray around atleast_1d atleast_2d broadcast_to ceil clip column_stack concatenate copy
    cos cosh cross cumprod cumsum deg2rad diag diff divide dot einsum equal exp expand_dims expm1
    flip floor full_like greater hstack hypot identity isclose isfinite isinf isnan less log log10 log1p
    log2 logical_and logical_not logical_or logspace matmul max maximum mean median meshgrid min minimum mod
    multiply negative nonzero ones_like outer power prod ravel reciprocal repeat reshape roll round sign sin
    sinh size sort split sqrt square squeeze stack std subtract sum swapaxes tan tanh tensordot tile trace
    transpose tril triu unique var vstack where zeros_like""")
RANDOM = words("""choice exponential normal permutation rand randint randn random random_sample seed shuffle
    standard_normal uniform""")
LINALG = words("det eigvalsh inv matrix_rank norm solve")
NAMES = {
    "numpy": frozenset(DTYPES) | frozenset(CONSTANTS) | MAKERS | FUNCTIONS | {"ndarray", "save"},
    "numpy.random": RANDOM,
    "numpy.linalg": LINALG,
}


def find_names(module: str, meter: Meter) -> dict[str, Any]:
    """Return the names of a module in one run; "*" maps to a function for names that are not in the table."""
    if module == "numpy.random":
        source = np.random.RandomState()
        return {"shuffle": make_shuffle(source), "*": lambda name: wrap_function(getattr(source, name), name)}
    if module == "numpy.linalg":
        return {"*": lambda name: wrap_function(getattr(np.linalg, name), name)}
    fixed = {
        **CONSTANTS,
        **{name: DType(kind) for name, kind in DTYPES.items()},
        "ndarray": TypeName(Array),
        "save": saver(meter),
    }
    return {
        **fixed,
        "*": lambda name: reserving(name, meter) if name in MAKERS else wrap_function(getattr(np, name), name),
    }


def reserving(name: str, meter: Meter) -> Callable[..., Any]:
    """Wrap a function that allocates an array to reserve its memory first."""
    make = wrap_function(getattr(np, name), name)

    def call(*args: Any, **kwargs: Any) -> Any:
        meter.reserve(8 * count_elements(name, args, kwargs))
        return make(*args, **kwargs)

    call.__name__ = call.__qualname__ = name
    return call


def count_elements(name: str, args: Any, kwargs: Any) -> int:
    """Return the number of elements that a function of MAKERS will allocate; 0 for invalid arguments."""
    numbers = [a for a in (*args, *kwargs.values()) if type(a) in (int, float)]
    if name == "arange":
        low, high, step = ((0, *args, 1) if len(args) == 1 else (*args, 1, 1))[:3]
        valid = all(type(a) in (int, float) for a in (low, high, step)) and step
        return max(0, int((high - low) / step)) if valid else 0
    if name == "linspace":
        return int(kwargs.get("num", args[2] if len(args) > 2 else 50))
    if name == "eye":
        return int(math.prod((*numbers[:2], *numbers[:1])[:2]))
    shape = kwargs.get("shape", args[0] if args else 0)
    sizes = shape if isinstance(shape, (list, tuple)) else (shape,)
    return math.prod(size for size in sizes if type(size) is int)


def saver(meter: Meter) -> Callable[[str, Any], None]:
    """Return np.save restricted to the folder of --allow-write."""

    def save(file: str, arr: Any) -> None:
        if type(file) is not str:
            raise TypeError(f"expected str, not {type(file).__name__}")
        from gradtrace.lang import permission

        array = np.asarray(to_numpy(arr))
        header = {"descr": array.dtype.str, "fortran_order": False, "shape": array.shape}
        with permission.create(file if file.endswith(".npy") else file + ".npy", meter) as out:
            np.lib.format.write_array_header_1_0(out, header)
            out.write(array.tobytes())

    return save


def make_shuffle(source: Any) -> Callable[[Any], None]:
    def call(x: Any) -> None:
        source.shuffle(x._array if type(x) is Array else x)

    call.__name__ = call.__qualname__ = "shuffle"
    return call
