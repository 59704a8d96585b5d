"""The base class of a program's classes.

Python's `copy` and numpy ask an object itself for methods such as `__deepcopy__` and `__array_interface__`, and trust
the answers. So the attributes of an object may not answer for them, nor may `__getattr__` (`special_methods.py`).
"""

from __future__ import annotations

from types import MethodType

from gradtrace.annotations import Any, Callable
from gradtrace.lang.words import words

PROTOCOLS = words("""__array__ __array_function__ __array_interface__ __array_namespace__ __array_priority__
    __array_struct__ __array_ufunc__ __array_wrap__ __copy__ __cuda_array_interface__ __deepcopy__ __dlpack__
    __dlpack_device__ __getstate__ __reduce__ __reduce_ex__ __setstate__""")


def is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def is_public(name: str) -> bool:
    return not name.startswith("_")


class Inherited:
    """A special attribute that only a base class can have: an instance's own attribute does not replace it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return getattr(super(ProgramObject, owner if instance is None else instance), self.name)

    def __set__(self, instance: Any, value: Any) -> None:
        raise AttributeError(f"'{self.name}' cannot be set")


class Fixed(Inherited):
    """A method that an instance's own attribute does not replace."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.name = function.__name__
        self.function = function

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self.function if instance is None else MethodType(self.function, instance)


class ProgramObject:
    """The base class of a program's classes in place of `object`."""

    __slots__ = ()


for _name in PROTOCOLS:
    setattr(ProgramObject, _name, Inherited(_name))
