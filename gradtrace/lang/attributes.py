"""The one gate for attributes: what a program may read, by exact type.

Names with a leading underscore are refused but for the few listed; the types of the library offer their public names;
Python's own types the methods listed here. Everything else is an AttributeError with Python's words.
"""

from __future__ import annotations

from typing import Any

from gradtrace.errors import UnsupportedError

_TEXT = """capitalize casefold center count endswith expandtabs find index isalnum isalpha isdigit isidentifier islower
isnumeric isspace istitle isupper join ljust lower lstrip partition removeprefix removesuffix replace rfind rindex rjust
rpartition rsplit rstrip split splitlines startswith strip swapcase title upper zfill format"""
BY_TYPE: dict[type, frozenset[str]] = {
    str: frozenset(_TEXT.split()),
    int: frozenset({"bit_length", "real", "imag", "numerator", "denominator"}),
    bool: frozenset(),
    float: frozenset({"is_integer", "hex", "real", "imag"}),
    list: frozenset(["append", "clear", "copy", "count", "extend", "index", "insert", "pop", "remove", "reverse", "sort"]),
    tuple: frozenset({"count", "index"}),
    dict: frozenset(["clear", "copy", "get", "items", "keys", "pop", "popitem", "setdefault", "update", "values"]),
    set: frozenset(["add", "clear", "copy", "difference", "difference_update", "discard", "intersection", "intersection_update", "isdisjoint", "issubset", "issuperset", "pop", "remove", "symmetric_difference", "union", "update"]),
    frozenset: frozenset(["copy", "difference", "intersection", "isdisjoint", "issubset", "issuperset", "union"]),
    slice: frozenset({"start", "stop", "step"}),
    range: frozenset({"start", "stop", "step", "count", "index"}),
    type(None): frozenset(),
}
LISTED = frozenset({"_version", "_base", "_is_view", "_sequence_nr", "_parameters", "_buffers", "_modules"})
DUNDERS = frozenset({"__name__", "__class__", "__doc__", "__init__", "__call__", "__len__", "__getitem__"})


def allowed(value: Any, name: str) -> bool:
    listed = BY_TYPE.get(type(value))
    if listed is not None:
        return name in listed or name in ("__class__", "__doc__")
    if name.startswith("_"):
        if name in DUNDERS or name in LISTED or name.startswith("_saved_"):
            return True
        return own_private(value, name)
    return True


def own_private(value: Any, name: str) -> bool:
    """`self._x` of a user's own class: a single underscore, set by the program."""
    if name.startswith("__"):
        return hasattr(type(value), "_user_class") and name in vars(type(value))
    return hasattr(type(value), "_user_class") or name in getattr(value, "__dict__", {})


def get(value: Any, name: str) -> Any:
    """value.name through the gate."""
    if not allowed(value, name):
        raise refusal(value, name)
    if name == "__class__":
        return type(value)
    if name == "format" and type(value) is str:
        from gradtrace.lang.strings import formatter

        return formatter(value)
    if name == "numpy" and type(value).__name__ in ("Tensor", "Parameter"):
        from gradtrace.lang.arrays import Array

        return lambda: Array(value.numpy())
    return getattr(value, name)


def refusal(value: Any, name: str) -> Exception:
    if name.startswith("__") and hasattr(type(value), name):
        return UnsupportedError(f"the attribute '{name}' is not offered", "the language keeps Python's inner parts away")
    return AttributeError(f"'{type(value).__name__}' object has no attribute '{name}'")


def put(target: Any, name: str, value: Any) -> None:
    """target.name = value through the gate: own instances, tensors' settable parts, ctx objects."""
    if isinstance(target, Frozen) or type(target) in BY_TYPE:
        raise AttributeError(f"'{type(target).__name__}' object attribute '{name}' is read-only")
    if name.startswith("__"):
        raise UnsupportedError(f"the attribute '{name}' cannot be set", "the language keeps Python's inner parts away")
    if isinstance(target, type) and not hasattr(target, "_user_class"):
        raise AttributeError(f"type object '{target.__name__}' is read-only")
    setattr(target, name, value)


def remove(target: Any, name: str) -> None:
    if isinstance(target, Frozen) or name.startswith("__"):
        raise AttributeError(name)
    delattr(target, name)


class Frozen:
    """Base of what the tool provides and no program may change."""

    __slots__ = ()
