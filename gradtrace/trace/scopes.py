"""The scopes that operators were called in, as records: modules by their path, functions, loops and
their iterations.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Iterable, Mapping
from gradtrace.engine import Tensor
from gradtrace.engine.data.state import Scope
from gradtrace.trace.frame_variables import FunctionVariables, is_module
from gradtrace.trace.labels import Texts
from gradtrace.trace.names import Library, Names
from gradtrace.trace.record import ScopeRecord


class Scopes:
    """The table of the scopes' ids and records, in the order of first use, outer scopes first."""

    def __init__(
        self,
        source: Texts,
        env: Mapping[str, Any],
        functions: Iterable[FunctionVariables] = (),
    ) -> None:
        self.source = source
        self.env = env
        self.functions = functions
        self.records: list[ScopeRecord] = []
        self._ids: dict[int, int | None] = {}
        self._paths: dict[int, str] | None = None

    def number(self, scope: Scope | None) -> int | None:
        """Return the id of a scope's record; None outside of every scope."""
        if scope is None:
            return None
        if id(scope) in self._ids:
            return self._ids[id(scope)]
        chain = []
        at: Scope | None = scope
        while at is not None and id(at) not in self._ids:
            chain.append(at)
            at = at.parent
        outer = None if at is None else self._ids[id(at)]
        for inner in reversed(chain):
            outer = self._ids[id(inner)] = (
                outer if self._is_idle(inner) else self._add(inner, outer)
            )
        return outer

    def called_modules(self, call: Any) -> list[tuple[int, str]]:
        """Return the modules that the call's expression called and that contain the call: numbers
        and names, innermost first.
        """
        modules = []
        at = call.scope
        while at is not None and at.origin == call.origin:
            if at.kind == "module":
                modules.append((id(at), self._named(at)[0]))
            at = at.parent
        return modules

    def is_inside(self, number: int, call: Any) -> bool:
        """Whether a call was made in the call of a module that has this number."""
        at = call.scope
        while at is not None and id(at) != number:
            at = at.parent
        return at is not None

    def module_of(self, call: Any) -> str:
        """Return the name of the innermost module that a call was made in, or its class; "" outside
        of modules.
        """
        return self.innermost(call, "module")

    def function_of(self, call: Any) -> str:
        """Return the name of the innermost function of the program that a call was made in; ""
        outside of functions.
        """
        return self.innermost(call, "function")

    def innermost(self, call: Any, kind: str) -> str:
        """Return the name of the innermost scope of a kind that a call was made in, or ""."""
        at = call.scope
        while at is not None and at.kind != kind:
            at = at.parent
        return "" if at is None else self._named(at)[0]

    def module_name(self, holder: Any) -> str:
        """Return the name of the module that a scope or a hook is about, or its class."""
        return self._path(holder.subject) or type(holder.subject).__name__

    def _is_idle(self, scope: Scope) -> bool:
        """Whether a scope says nothing new: a module's own `forward`."""
        within = scope.parent
        called = scope.kind == "function" and within is not None and within.kind == "module"
        return called and str(scope.subject).endswith(".forward")

    def _add(self, scope: Scope, parent: int | None) -> int:
        name, detail = self._named(scope)
        turn = scope.count if scope.kind == "pass" else None
        span = self.source.span(scope.subject if scope.kind in ("loop", "pass") else scope.origin)
        mode = scope.training if type(scope.training) is bool else None
        self.records.append(
            ScopeRecord(len(self.records), parent, scope.kind, name, detail, turn, span, mode)
        )
        return len(self.records) - 1

    def _named(self, scope: Scope) -> tuple[str, str]:
        """A scope's name, and what a module is an instance of."""
        if scope.kind in ("loop", "pass"):
            return self.source.excerpt(scope.subject), ""
        if scope.kind == "module":
            return self.module_name(scope), type(scope.subject).__name__
        return str(scope.subject).replace(".<locals>", ""), ""

    def _path(self, module: Any) -> str:
        """Where a variable holds a module: "net.layers.0"; "" if none does."""
        if self._paths is None:
            self._paths = {}
            for variables in (self.env, *(held.variables for held in self.functions)):
                self._paths = Names(variables, LIBRARY).paths() | self._paths
        return self._paths.get(id(module), "")


def is_tensor(value: Any) -> bool:
    return issubclass(type(value), Tensor)


LIBRARY = Library(is_tensor, is_module)
