"""The scopes that operators were called in, as records: modules by their path, functions, loops and their
iterations.
"""

from __future__ import annotations

import sys

from gradtrace.annotations import Any, Iterable, Iterator, Mapping
from gradtrace.engine.data.observers import Scope
from gradtrace.trace.holders import held_by, registered
from gradtrace.trace.ident import ident
from gradtrace.trace.labels import Texts
from gradtrace.trace.record import ScopeRecord


class Scopes:
    """The table of the scopes' ids and records, in the order of first use, outer scopes first."""

    def __init__(self, source: Texts, env: Mapping[str, Any]) -> None:
        self.source = source
        self.env = env
        self.records: list[ScopeRecord] = []
        self._ids: dict[int, int | None] = {}
        self._paths: dict[int, str] | None = None

    def number(self, scope: Scope | None) -> int | None:
        """Return the id of a scope's record; None outside of every scope."""
        if scope is None:
            return None
        if ident(scope) in self._ids:
            return self._ids[ident(scope)]
        chain = []
        at: Scope | None = scope
        while at is not None and ident(at) not in self._ids:
            chain.append(at)
            at = at.parent
        outer = None if at is None else self._ids[ident(at)]
        for one in reversed(chain):
            outer = self._ids[ident(one)] = outer if self._is_idle(one) else self._add(one, outer)
        return outer

    def called_modules(self, call: Any) -> list[tuple[int, str]]:
        """Return the modules that the call's expression called and that contain the call: numbers and names, innermost
        first.
        """
        found = []
        at = call.scope
        while at is not None and at.origin == call.origin:
            if at.kind == "module":
                found.append((ident(at), self._named(at)[0]))
            at = at.parent
        return found

    def module_of(self, call: Any) -> str:
        """Return the name of the innermost module that a call was made in, or its class; "" outside of modules."""
        at = call.scope
        while at is not None and at.kind != "module":
            at = at.parent
        return "" if at is None else self._named(at)[0]

    def _is_idle(self, scope: Scope) -> bool:
        """Whether a scope says nothing new: a module's own `forward`."""
        within = scope.parent
        called = scope.kind == "function" and within is not None and within.kind == "module"
        return called and str(scope.what).endswith(".forward")

    def _add(self, scope: Scope, parent: int | None) -> int:
        name, detail = self._named(scope)
        turn = scope.count if scope.kind == "pass" else None
        span = self.source.span(scope.what if scope.kind in ("loop", "pass") else scope.origin)
        self.records.append(ScopeRecord(len(self.records), parent, scope.kind, name, detail, turn, span))
        return len(self.records) - 1

    def _named(self, scope: Scope) -> tuple[str, str]:
        """A scope's name, and what a module is an instance of."""
        if scope.kind in ("loop", "pass"):
            return self.source.excerpt(scope.what), ""
        if scope.kind == "module":
            kind = type(scope.what).__name__
            return self._path(scope.what) or kind, kind
        return str(scope.what).replace(".<locals>", ""), ""

    def _path(self, module: Any) -> str:
        """Where a variable holds a module: "net.layers.0"; "" if none does."""
        if self._paths is None:
            self._paths = {}
            for path, found in modules_in(self.env):
                self._paths.setdefault(ident(found), path)
        return self._paths.get(ident(module), "")


def modules_in(env: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    """Return the modules that variables hold, and the modules inside them, by their paths; then those in lists, dicts
    and plain objects.
    """
    for name, value in env.items():
        yield from modules_below(name, value)
    seen: set[int] = set()
    for path, module, _ in held_by(env.items(), is_module):
        yield from modules_below(path, module, seen)


def modules_below(path: str, value: Any, seen: set[int] | None = None) -> Iterator[tuple[str, Any]]:
    """Yield a module and the modules inside it, each once, with their paths, except for those `seen` before; nothing
    for any other value.

    Methods of the program are not called, as `named_modules` would be if a class of the program has one.
    """
    waiting = [(path, value)] if is_module(value) else []
    seen = set() if seen is None else seen
    while waiting:
        path, module = waiting.pop()
        if ident(module) not in seen:
            seen.add(ident(module))
            yield path, module
            parts = registered(module, "_modules").items()
            inner = [(f"{path}.{key}", part) for key, part in parts if part is not None]
            waiting += reversed(inner)


def is_module(value: Any) -> bool:
    """Whether a value is an nn.Module. Without one, nn need not have been imported."""
    loaded = sys.modules.get("gradtrace.nn.modules.module")
    return loaded is not None and issubclass(type(value), loaded.Module)
