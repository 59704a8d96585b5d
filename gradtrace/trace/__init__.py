"""What happened in a run, as an immutable record: a `Trace`, which `gradtrace.trace.capture.capture` makes.

Only the records load with the package; whoever captures has the engine loaded anyway.
"""

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
