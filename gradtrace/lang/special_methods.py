"""Checks of the special methods that a program gives its classes, at each call."""

from __future__ import annotations

from gradtrace.annotations import Any
from gradtrace.engine.data.state import state
from gradtrace.lang.allowed import MAGIC
from gradtrace.lang.objects import is_dunder
from gradtrace.lang.values import in_place_of

DATA = (bool, int, float, str, tuple, list, dict, type(None))


def checked_method(name: str, method: Any) -> Any:
    """Return a special method of a program for its class; `__new__` and `__getattr__` are checked when called."""
    if not callable(method) or name not in ("__getattr__", "__new__"):
        return method

    def ask(args: Any, kwargs: Any) -> Any:
        wanted = args[-1] if args else None
        if type(wanted) is str and is_dunder(wanted) and wanted not in MAGIC:
            raise AttributeError(f"'{type(args[0]).__name__}' object has no attribute '{wanted}'")
        return method(*args, **kwargs)

    def create(args: Any, kwargs: Any) -> Any:
        made = method(*args, **kwargs)
        if type(made) not in DATA and type(made) not in (state.classes or ()):
            raise TypeError(f"__new__() must return an object of the program, not '{type(made).__name__}'")
        return made

    return in_place_of(method, ask if name == "__getattr__" else create, name)
