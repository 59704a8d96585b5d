"""A run as the language makes it, in its simplest form: plain Python, one source span per statement."""

from __future__ import annotations

import ast
from types import SimpleNamespace
from typing import Any

import gradtrace
from gradtrace.engine.data.state import state
from gradtrace.trace.capture import capture
from gradtrace.trace.keeper import Keeper
from gradtrace.trace.record import Span, Trace


def leaf(x: Any, **options: Any) -> Any:
    return gradtrace.tensor(x, **{"dtype": gradtrace.float64, "requires_grad": True, **options})


def run(text: str, **inputs: Any) -> SimpleNamespace:
    """Executes `text`; the root is the value of its last assignment or expression statement."""
    records: list[Any] = []
    spans: list[Span | None] = [None]
    env = {"torch": gradtrace, **inputs}
    root = None
    keeper = Keeper(records)
    state.set(recorder=lambda *call: records.append(call), keeper=keeper)
    try:
        for statement in ast.parse(text).body:
            part = getattr(statement, "value", None) or statement
            spans.append(Span(part.lineno, part.col_offset, part.end_lineno, part.end_col_offset))
            state.origin = len(spans) - 1
            exec(compile(ast.Module([statement], []), "text", "exec"), env)
            if isinstance(statement, ast.Assign):
                root = env[statement.targets[0].id]
    finally:
        state.set(recorder=None, origin=0, keeper=None)
    bound = {
        name: value for name, value in env.items() if not name.startswith("__") and name != "torch"
    }
    program = SimpleNamespace(source=SimpleNamespace(text=text, name="text"))
    return SimpleNamespace(
        program=program,
        env=bound,
        root=root,
        outputs=(),
        records=records,
        spans=spans,
        inputs=inputs,
        keeper=keeper,
    )


def trace(text: str, *, backward: bool = True, **inputs: Any) -> Trace:
    """Runs, goes backward from the root and captures."""
    done = run(text, **inputs)
    if backward:
        done.root.backward()
    return capture(done, [done.root], int(backward))
