"""Track the function, loop and iteration in which an operator is called while a run is recorded (`state.scope`).

Only compilers of a recorded run add these wrappers, so other runs have no overhead.
"""

from __future__ import annotations

from gradtrace.annotations import Any
from gradtrace.engine.data.observers import Scope
from gradtrace.engine.data.state import state
from gradtrace.lang.unit import Code, Frame, Unit
from gradtrace.program import syntax as ast
from gradtrace.program.source import Span


def in_scope(kind: str, what: Any, code: Code) -> Code:
    """Wrap `code` to open a new scope for each execution."""

    def execute(f: Frame) -> Any:
        outer = state.scope
        state.scope = Scope(outer, kind, what)
        try:
            return code(f)
        finally:
            state.scope = outer

    return execute


def in_pass_scope(body: Code) -> Code:
    """Wrap a loop's body to open a new scope for each iteration."""

    def execute(f: Frame) -> Any:
        loop = state.scope
        state.scope = Scope(loop, "pass", loop.what, loop.count)
        loop.count += 1
        try:
            return body(f)
        finally:
            state.scope = loop

    return execute


def header(node: ast.For | ast.While, unit: Unit) -> int:
    """Return the origin of a loop's first line: `for i in range(3)`, `while x < 2`."""
    end = node.iter if isinstance(node, ast.For) else node.test
    span = Span(node.lineno, node.col_offset, end.end_lineno or node.lineno, end.end_col_offset or 0)
    unit.machine.spans.append(span._replace(file=unit.machine.file))
    return len(unit.machine.spans) - 1
