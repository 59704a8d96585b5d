"""numpy's float64 and int64 numbers in programs: Python numbers with numpy's text, arithmetic and methods.

They derive from float and int, so they are accepted wherever a number is. A float before an int64 computes the result
itself: 2.0 * np.int64(3) is a Python float. `real` returns numpy's own number, which programs never hold.
"""

from __future__ import annotations

import operator

from gradtrace.annotations import Any, AnyFunction, Callable
from gradtrace.engine.data.lazy import np
from gradtrace.lang.words import words

# Methods that give what numpy's number gives.
METHODS = words("""all any argmax argmin astype clip conj conjugate copy cumsum flatten item max mean min prod ravel
    repeat reshape round squeeze std sum tolist transpose var""")
ATTRIBUTES = METHODS | words("T dtype imag itemsize nbytes ndim real shape size")
OPERATORS = words("add divmod floordiv mod mul pow sub truediv")
INTEGER_OPERATORS = OPERATORS | words("and lshift or rshift xor")
PLAIN = frozenset({bool, int, float})
Wrap = AnyFunction  # a result of numpy as a program has it


class Float64(float):
    """The programs' version of numpy.float64."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"np.float64({float.__repr__(self)})"

    def __str__(self) -> str:
        return float.__repr__(self)


class Int64(int):
    """The programs' version of numpy.int64."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"np.int64({int.__repr__(self)})"

    def __str__(self) -> str:
        return int.__repr__(self)


KINDS = (Float64, Int64)
Float64.__name__ = Float64.__qualname__ = "float64"
Int64.__name__ = Int64.__qualname__ = "int64"


def real(value: Any) -> Any:
    """Return numpy's number for a Float64 or Int64, any other value unchanged."""
    kind = type(value)
    return np.float64(value) if kind is Float64 else np.int64(value) if kind is Int64 else value


def complete(wrap: Wrap) -> None:
    """Add numpy's operators and attributes to both classes; `wrap` converts their results for programs."""
    add_attributes(Float64, OPERATORS, wrap)
    add_attributes(Int64, INTEGER_OPERATORS | {"invert"}, wrap)


def add_attributes(kind: Any, operators: frozenset[str], wrap: Wrap) -> None:
    kind.__module__ = "numpy"
    for name in operators - {"invert"}:
        apply = divmod if name == "divmod" else getattr(operator, f"{name}_" if name in ("and", "or") else name)
        setattr(kind, f"__{name}__", binary(apply, wrap))
        setattr(kind, f"__r{name}__", reflected(apply, wrap))
    for name in operators & {"invert"} | {"abs", "neg", "pos"}:
        setattr(kind, f"__{name}__", unary(getattr(operator, name), wrap))
    for name in ATTRIBUTES:
        # The library takes a number that has a dtype for one of numpy's own, so the gate gives this one.
        setattr(kind, "_dtype" if name == "dtype" else name, property(attribute(name, wrap)))
    python = kind.__base__
    kind.__round__ = rounded(wrap, python)
    kind.__copy__ = lambda self: self
    kind.__deepcopy__ = lambda self, memo: self
    kind.__reduce__ = lambda self: (python, (python(self),))


def binary(apply: Callable[[Any, Any], Any], wrap: Wrap) -> Callable[[Any, Any], Any]:
    def apply_operator(self: Any, other: Any) -> Any:
        if type(other) in PLAIN or type(other) in KINDS:
            return wrap(apply(real(self), real(other)))
        return NotImplemented

    return apply_operator


def reflected(apply: Callable[[Any, Any], Any], wrap: Wrap) -> Callable[[Any, Any], Any]:
    def apply_operator(self: Any, other: Any) -> Any:
        return wrap(apply(other, real(self))) if type(other) in PLAIN else NotImplemented

    return apply_operator


def unary(apply: AnyFunction, wrap: Wrap) -> AnyFunction:
    return lambda self: wrap(apply(real(self)))


def rounded(wrap: Wrap, python: Any) -> AnyFunction:
    def __round__(self: Any, ndigits: Any = None) -> Any:
        return round(python(self)) if ndigits is None else wrap(round(real(self), ndigits))

    return __round__


def attribute(name: str, wrap: Wrap) -> AnyFunction:
    """Return the getter of a property: the value of an attribute, or a method whose result is wrapped."""
    if name == "item" or name == "tolist":
        return lambda self: lambda *index: self.__class__.__base__(self)
    if name not in METHODS:
        return lambda self: wrap(getattr(real(self), name))
    return lambda self: wrap_method(getattr(real(self), name), name)


wrap_method: Any = None  # set by arrays.py, as arguments are converted there
