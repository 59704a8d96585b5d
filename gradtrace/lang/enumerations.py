"""Enumerations of programs: real enum classes, made from the body of a program's class statement.

A program uses the classes of the module `enum` only as bases. Calling one, or an enumeration without members, does not
make another enumeration as in Python: class statements make all classes of programs.
"""

from __future__ import annotations

import enum

from gradtrace.annotations import Any
from gradtrace.lang.attributes import Gate, is_enum
from gradtrace.lang.values import Sealed

BASES = {name: getattr(enum, name) for name in ("Enum", "IntEnum", "StrEnum", "Flag", "IntFlag")}
ADOPTION = ".adoption"  # not a name that a program can write
MIXED = (int, str, float)  # built-in types that may stand before Enum among the bases


class EnumBase(Sealed):
    """`Enum`, `IntEnum`, `StrEnum`, `Flag` or `IntFlag`, as a base class."""

    __slots__ = ("__name__", "_kind")
    __name__: str
    _kind: Any

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "__name__", name)
        object.__setattr__(self, "_kind", BASES[name])

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


class EnumOfProgram(enum.EnumType):
    """The metaclass of a program's enumerations, whose call only finds a member by its value."""

    def __call__(cls: Any, *values: Any, **options: Any) -> Any:
        values = values or tuple(options.pop("value", ()) for _ in options.keys() & {"value"})
        if options or not values or (len(values) > 1 and not cls._member_map_):
            raise TypeError(f"{cls.__name__}() takes the value of a member: write a class statement for an enumeration")
        return cls.__new__(cls, values[0] if len(values) == 1 else values)


class Adoption:
    """A member of a new enumeration that makes the class known to the gate before its members are created."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self

    def __set_name__(self, owner: type, name: str) -> None:
        self.gate.adopt(owner)


def make_enum(name: str, parents: tuple[type, ...], members: dict[str, Any], gate: Gate) -> type:
    """Return the enumeration that a class statement makes of the members in its body."""
    prepared = EnumOfProgram.__prepare__(name, parents)
    prepared[ADOPTION] = Adoption(gate)
    for key, value in members.items():
        if not (key == "__doc__" and value is None) and key != "__annotations__":
            prepared[key] = value
    ignored = prepared.get("_ignore_", ())
    if ADOPTION in ignored or not all(type(one) is str for one in ignored):
        raise TypeError("_ignore_ must be names of the class body")
    made = EnumOfProgram(name, parents, prepared)
    type.__delattr__(made, ADOPTION)
    return made
