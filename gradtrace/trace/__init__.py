"""What happened in a run, as an immutable record: `capture(run, roots)` gives a `Trace`."""

from __future__ import annotations

from gradtrace.trace.record import (
    CONSTANT,
    DATA,
    KINDS,
    LEAF,
    NONLEAF,
    RESULT,
    FunctionEdge,
    FunctionRecord,
    Operand,
    Operation,
    Saved,
    Span,
    TensorRecord,
    Trace,
    Value,
)

__all__ = [
    "CONSTANT",
    "DATA",
    "KINDS",
    "LEAF",
    "NONLEAF",
    "RESULT",
    "FunctionEdge",
    "FunctionRecord",
    "Operand",
    "Operation",
    "Saved",
    "Span",
    "TensorRecord",
    "Trace",
    "Value",
]
