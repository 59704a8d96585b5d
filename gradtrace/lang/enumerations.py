"""Enumerations of programs: real enum classes, made from the body of a program's class statement.

A program uses the classes of the module `enum` only as bases. Calling one is refused, since it could make a class that
the attribute gate does not know.
"""

from __future__ import annotations

import enum

from gradtrace.annotations import Any
from gradtrace.lang.values import Frozen
from gradtrace.lang.words import words

BASES = {name: getattr(enum, name) for name in ("Enum", "IntEnum", "StrEnum", "Flag", "IntFlag")}
MIXED = (int, str, float)  # built-in types that may stand before Enum among the bases
SPECIAL = words("_missing_ _generate_next_value_ _ignore_ _order_")  # names that a body may define for Enum


class EnumBase(Frozen):
    """`Enum`, `IntEnum`, `StrEnum`, `Flag` or `IntFlag`, as a base class."""

    __slots__ = ("__name__", "_kind")

    def __init__(self, name: str) -> None:
        self.__name__ = name
        self._kind = BASES[name]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"{self.__name__}() is not available in gradtrace scripts: write a class statement")

    def __repr__(self) -> str:
        return repr(self._kind)


def find_names() -> dict[str, Any]:
    """Return the names of the module `enum` and their values."""
    return {**{name: EnumBase(name) for name in BASES}, "auto": enum.auto, "unique": unique}


def unique(cls: Any) -> Any:
    if not is_enum(cls):
        raise TypeError("unique() takes an enumeration")
    return enum.unique(cls)


def is_enum(cls: Any) -> bool:
    return isinstance(cls, enum.EnumMeta)


def make_enum(name: str, parents: tuple[type, ...], members: dict[str, Any]) -> type:
    """Return the enumeration that a class statement makes of the members in its body."""
    meta: Any = type(parents[-1])
    prepared = meta.__prepare__(name, parents)
    for key, value in members.items():
        if not (key == "__doc__" and value is None) and key != "__annotations__":
            prepared[key] = value
    made: type = meta(name, parents, prepared)
    return made
