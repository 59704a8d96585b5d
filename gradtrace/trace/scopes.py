"""The scopes that operators were called in, as records: modules by their path, functions, loops and their
iterations.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Iterable, Mapping
from gradtrace.engine.ident import ident
from gradtrace.engine.watch import Scope
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
    """Return the modules that variables hold, and the modules inside them, by their paths."""
    for name, value in env.items():
        if getattr(type(value), "named_modules", None) is not None:
            for path, module in value.named_modules():
                yield (f"{name}.{path}" if path else name), module
