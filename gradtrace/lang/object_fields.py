"""The attributes of a program's objects: none is a special name, such as `__array_interface__`, that is not offered.

numpy, copy and others ask any object that they meet for special attributes, on the instance too, and believe what it
answers: `__array_interface__` may name any address of the process. So a program cannot set one, neither by name nor in
an object's `__dict__`, and its `__getattr__` is not asked for one.
"""

from __future__ import annotations

from gradtrace.annotations import Any
from gradtrace.lang.values import ProgramFunction

REFUSED = "the special name '{}' is not available in gradtrace scripts"


def is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def is_public(name: str) -> bool:
    return not name.startswith("_")


def checked_name(name: Any) -> str:
    """Return the name of an attribute that a program sets; raise AttributeError for a special name."""
    if type(name) is not str:
        raise TypeError(f"attribute name must be string, not '{type(name).__name__}'")
    if is_dunder(name):
        raise AttributeError(REFUSED.format(name))
    return name


class Fields(dict[str, Any]):
    """The `__dict__` of a program's object, once the program has read it: its keys are checked."""

    __slots__ = ()

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(checked_name(name), value)

    def setdefault(self, name: str, default: Any = None) -> Any:
        return super().setdefault(checked_name(name), default)

    def update(self, *others: Any, **values: Any) -> None:
        given = dict(*others, **values)
        for name in given:
            checked_name(name)
        super().update(given)

    def __ior__(self, other: Any) -> Fields:  # type: ignore[override,misc]
        self.update(other)
        return self

    def copy(self) -> dict[str, Any]:
        return dict(self)


Fields.__name__ = Fields.__qualname__ = "dict"


def fields_of(value: Any) -> Fields:
    """Return the `__dict__` of a program's object, from now on a Fields."""
    if type(value.__dict__) is not Fields:
        value.__dict__ = Fields(value.__dict__)
    fields: Fields = value.__dict__
    return fields


def without_special_names(find: Any, offered: frozenset[str]) -> ProgramFunction:
    """Return the `__getattr__` of a program's class, which is asked for no special names but those `offered`."""
    if type(find) is not ProgramFunction:
        raise TypeError(f"__getattr__ must be a function of the program, not {type(find).__name__}")

    def call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if len(args) == 2 and type(args[1]) is str and is_dunder(args[1]) and args[1] not in offered:
            raise AttributeError(f"'{type(args[0]).__name__}' object has no attribute '{args[1]}'")
        return find._call(args, kwargs)

    return ProgramFunction("__getattr__", find.__qualname__, find.__doc__, call)


class Attributes:
    """Base class of objects that only hold attributes: `argparse.Namespace`, `types.SimpleNamespace`."""

    def __init__(self, **values: Any) -> None:
        for name in values:
            checked_name(name)
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name if name == "__dict__" else checked_name(name), value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{key}={value!r}' for key, value in self.__dict__.items())})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]

    def __contains__(self, key: object) -> bool:
        return key in self.__dict__

    def __reduce__(self) -> Any:
        raise TypeError(f"cannot pickle '{type(self).__name__}' object")

    def __copy__(self) -> Any:
        return type(self)(**self.__dict__)

    def __deepcopy__(self, memo: Any) -> Any:
        from copy import deepcopy

        return type(self)(**{key: deepcopy(value, memo) for key, value in self.__dict__.items()})
