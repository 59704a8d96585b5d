"""Frames and scopes: where the compiled program keeps its variables, and how names find them."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from gradtrace.errors import UnknownNameError
from gradtrace.lang.budget import Meter
from gradtrace.lang.source import Source, Span, span_of


class Frame:
    """The variables of one call, and the frame it was defined in."""

    __slots__ = ("first", "owner", "parent", "result", "vars")

    def __init__(self, parent: Frame | None) -> None:
        self.vars: dict[str, Any] = {}
        self.parent = parent
        self.result: Any = None
        self.first: Any = None
        self.owner: Any = None


class Unit:
    """The compile-time side of one scope: which names are its own, and what all scopes share."""

    def __init__(self, source: Source, meter: Meter, spans: list[Span], lookup: Callable[[str], Any], names: set[str],
                 parent: Unit | None = None, kind: str = "module") -> None:
        self.source, self.meter, self.spans, self.lookup = source, meter, spans, lookup
        self.names, self.parent, self.kind = names, parent, kind
        self.outer: dict[str, int] = {}  # global and nonlocal declarations

    def child(self, names: set[str], comprehension: bool = False, kind: str = "function") -> Unit:
        return Unit(self.source, self.meter, self.spans, self.lookup, names, self,
                    "comprehension" if comprehension else kind)

    def declare(self, target: ast.AST) -> None:
        self.names |= {n.id for n in ast.walk(target) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}

    def origin(self, node: Any) -> int:
        self.spans.append(span_of(node))
        return len(self.spans) - 1

    def depth_of(self, name: str) -> int | None:
        """How many frames up a name lives; None for a built-in or an unknown one."""
        unit: Unit | None = self
        depth = 0
        while unit is not None:
            if name in unit.names and (unit is self or unit.kind != "class"):
                return depth + unit.outer[name] if name in unit.outer else depth
            unit, depth = unit.parent, depth + 1
        return None

    def load(self, name: str, span: Span) -> Callable[[Frame], Any]:
        depth = self.depth_of(name)
        if depth is None:
            return self.free(name, span)
        missing = self.free(name, span)
        if depth == 0:
            def local(f: Frame) -> Any:
                try:
                    return f.vars[name]
                except KeyError:
                    return missing(f)
            return local

        def outer(f: Frame) -> Any:
            frame: Any = f
            for _ in range(depth):
                frame = frame.parent
            try:
                return frame.vars[name]
            except KeyError:
                return missing(f)

        return outer

    def free(self, name: str, span: Span) -> Callable[[Frame], Any]:
        def run(f: Frame) -> Any:
            frame: Any = f
            while frame.parent is not None:
                frame = frame.parent
            if name in frame.vars:
                return frame.vars[name]
            try:
                return self.lookup(name)
            except KeyError:
                if self.depth_of(name) is not None and self.kind == "function" and name in self.names:
                    raise UnboundLocalError(
                        f"cannot access local variable '{name}' where it is not associated with a value") from None
                raise self.unknown(name, span) from None

        return run

    def unknown(self, name: str, span: Span) -> Exception:
        import difflib

        from gradtrace.lang.builtins import BUILTINS
        from gradtrace.lang.names import CONSTANTS, MATHEMATICS

        known = [*BUILTINS, *MATHEMATICS, *CONSTANTS, *self.names]
        close = difflib.get_close_matches(name, known, 1)
        hint = f"did you mean '{close[0]}'?" if close else "assign it before it is used"
        error = NameError(f"name '{name}' is not defined")
        error.gradtrace = UnknownNameError(str(error), hint, self.source.place(span))  # type: ignore[attr-defined]
        return error

    def store(self, name: str) -> Callable[[Frame, Any], None]:
        unit: Unit = self
        up = 0
        while unit.kind == "comprehension" and name not in unit.names and unit.parent is not None:
            unit, up = unit.parent, up + 1
        up += unit.outer.get(name, 0)
        if up == 0:
            def local(f: Frame, value: Any) -> None:
                f.vars[name] = value
            return local

        def outer(f: Frame, value: Any) -> None:
            frame: Any = f
            for _ in range(up):
                frame = frame.parent
            frame.vars[name] = value

        return outer

    def bare_super(self, f: Frame) -> Any:
        frame: Any = f
        while frame is not None and frame.owner is None:
            frame = frame.parent
        if frame is None:
            raise RuntimeError("super(): no arguments")
        return super(frame.owner, frame.first)
