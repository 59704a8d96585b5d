"""Python's built-in names, those that a program may have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradtrace.lang import attributes

_EXCEPTIONS = (
    ArithmeticError, AssertionError, AttributeError, Exception, FloatingPointError, IndexError, KeyError, LookupError,
    MemoryError, NameError, NotImplementedError, OverflowError, RecursionError, RuntimeError, StopIteration, TypeError,
    UnboundLocalError, ValueError, ZeroDivisionError, Warning, UserWarning, DeprecationWarning, RuntimeWarning,
)


def type_of(value: Any, *rest: Any) -> Any:
    if rest:
        raise TypeError("type() takes 1 argument here")
    return type(value)


def has(value: Any, name: str) -> bool:
    try:
        attributes.get(value, name)
    except Exception:
        return False
    return True


def fetch(value: Any, name: str, *default: Any) -> Any:
    if type(name) is not str:
        raise TypeError("attribute name must be string")
    try:
        return attributes.get(value, name)
    except AttributeError:
        if default:
            return default[0]
        raise


BUILTINS: dict[str, Any] = {
    "abs": abs, "all": all, "any": any, "bool": bool, "callable": callable, "chr": chr, "dict": dict, "divmod": divmod,
    "enumerate": enumerate, "filter": filter, "float": float, "format": format, "frozenset": frozenset,
    "hash": hash, "id": id, "int": int, "isinstance": isinstance, "issubclass": issubclass, "iter": iter, "len": len,
    "list": list, "map": map, "max": max, "min": min, "next": next, "object": object, "ord": ord, "pow": pow,
    "property": property, "range": range, "repr": repr, "reversed": reversed, "round": round, "set": set,
    "slice": slice, "sorted": sorted, "staticmethod": staticmethod, "classmethod": classmethod, "str": str,
    "sum": sum, "super": super, "tuple": tuple, "zip": zip, "type": type_of, "hasattr": has, "getattr": fetch,
    "setattr": attributes.put, "print": None, "NotImplemented": NotImplemented, "__name__": "__main__",
    **{e.__name__: e for e in _EXCEPTIONS},
}


def printer(stdout: Any, meter: Any) -> Callable[..., None]:
    """print, to the run's output, counted."""

    def write(*values: Any, sep: str | None = " ", end: str | None = "\n", file: Any = None, flush: bool = False) -> None:
        text = (" " if sep is None else sep).join([str(v) for v in values]) + ("\n" if end is None else end)
        meter.wrote(len(text))
        stdout.write(text)
        if flush:
            stdout.flush()

    return write
