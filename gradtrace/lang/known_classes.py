"""Tables by class, also for classes whose modules may not be imported yet.

A key "module:name" is the place of a class, and stands for the class that this module has there once it is imported.
Tables are searched by the class itself, never by the names that a class gives itself, since any class can have them.
"""

from __future__ import annotations

import sys

from gradtrace.annotations import Any


class ByClass:
    """A table by class; `places` maps places to entries, `known` classes to entries."""

    def __init__(self, places: dict[str, Any], known: dict[type, Any] | None = None) -> None:
        self.waiting = dict(places)
        self.known = dict(known or {})

    def get(self, kind: type) -> Any:
        """Return the entry of a class, or None."""
        entry = self.known.get(kind)
        if entry is None and self.waiting:
            self.resolve()
            entry = self.known.get(kind)
        return entry

    def resolve(self) -> None:
        """Find the classes whose modules have been imported since the last call."""
        for place in list(self.waiting):
            kind = class_at(place)
            if kind is not None:
                self.known[kind] = self.waiting.pop(place)


def class_at(place: str) -> type | None:
    """Return the class at a place; None if its module is not imported."""
    module, _, name = place.partition(":")
    found = vars(sys.modules[module]).get(name) if module in sys.modules else None
    return found if isinstance(found, type) else None


def is_defined_in(kind: type, packages: tuple[str, ...]) -> bool:
    """Whether one of the library's modules, whose names begin with `packages`, has this class under its name.

    The module that a class names is only where to look: the class must be there.
    """
    module, name = kind.__module__, kind.__name__
    if type(module) is not str or not f"{module}.".startswith(packages):
        return False
    return class_at(f"{module}:{name}") is kind


def defining_class(classes: tuple[type, ...], name: str) -> type | None:
    """Return the first of the classes that defines the attribute `name`, or None."""
    for kind in classes:
        if name in vars(kind):
            return kind
    return None
