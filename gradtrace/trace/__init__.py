"""The immutable record of a run: a `Trace`, which `gradtrace.trace.capture.capture` makes.

Only the records load with the package; capturing needs the engine, which is loaded by then.

The package can be called, too: `gradtrace.trace(matrix)` is the sum of the diagonal, as `torch.trace` is.
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
    "CONSTANT",
    "DATA",
    "FAILED",
    "KINDS",
    "LEAF",
    "NONLEAF",
    "RESULT",
    "BackwardStep",
    "Begun",
    "Change",
    "Escape",
    "Failure",
    "FunctionEdge",
    "FunctionRecord",
    "HookRun",
    "Operand",
    "Operation",
    "PassRecord",
    "SavedRecord",
    "ScopeRecord",
    "Span",
    "TensorRecord",
    "Trace",
    "TrainingStep",
    "Value",
]


class _Callable(ModuleType):
    """One name, two things: this package, and PyTorch's function."""

    def __call__(self, input: Any) -> Any:
        return ops.find(ops.api.functions, "trace")(input)


sys.modules[__name__].__class__ = _Callable
