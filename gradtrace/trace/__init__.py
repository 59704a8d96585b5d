"""The immutable record of a run: a `Trace`, which `gradtrace.trace.capture.capture` makes.

Importing this package loads only the record classes, not the engine.

The package can also be called: `gradtrace.trace(matrix)` returns the sum of the diagonal, as
`torch.trace` does.
"""

from __future__ import annotations

import sys
from types import ModuleType

from gradtrace import ops
from gradtrace.annotations import Any
from gradtrace.trace.record import (
    CONSTANT,
    DATA,
    FAILED,
    KINDS,
    LEAF,
    NONLEAF,
    RESULT,
    BackwardStep,
    Begun,
    Change,
    Escape,
    Failure,
    FunctionEdge,
    FunctionRecord,
    HookRun,
    Operand,
    Operation,
    PassRecord,
    SavedRecord,
    ScopeRecord,
    Span,
    TensorRecord,
    Trace,
    TrainingStep,
    Value,
)

__all__ = [
    "CONSTANT", "DATA", "FAILED", "KINDS", "LEAF", "NONLEAF", "RESULT", "BackwardStep", "Begun", "Change", "Escape",
    "Failure", "FunctionEdge", "FunctionRecord", "HookRun", "Operand", "Operation", "PassRecord", "SavedRecord",
    "ScopeRecord", "Span", "TensorRecord", "Trace", "TrainingStep", "Value",
]  # fmt: skip


class _Callable(ModuleType):
    """One name, two things: this package, and PyTorch's function."""

    def __call__(self, input: Any) -> Any:
        return ops.find(ops.api.functions, "trace")(input)


sys.modules[__name__].__class__ = _Callable
