"""The names of `warnings` that programs have in another form. At its end a run restores all filters."""

from __future__ import annotations

import warnings as real

from gradtrace.annotations import Any, Callable


def find_names(where: Callable[[], tuple[str, int]]) -> dict[str, Any]:
    """Return these names and their values; `where` returns the file and line that warns."""
    registry: dict[Any, Any] = {}

    def warn(message: Any, category: Any = UserWarning, stacklevel: int = 1, source: Any = None) -> None:
        if isinstance(message, Warning):
            category = type(message)
        if not (isinstance(category, type) and issubclass(category, Warning)):
            raise TypeError(f"category must be a Warning subclass, not '{type(category).__name__}'")
        file, line = where()
        real.warn_explicit(message, category, file, line, registry=registry)

    def catch_warnings(*, record: bool = False) -> Any:
        return real.catch_warnings(record=record)

    return {"catch_warnings": catch_warnings, "warn": warn}
