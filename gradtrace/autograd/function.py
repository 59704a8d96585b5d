"""The public names of torch.autograd.function, for `from gradtrace.autograd.function import
once_differentiable`.
"""

from gradtrace.engine.calls.function import (
    BackwardCFunction,
    Function,
    FunctionCtx,
    FunctionMeta,
    InplaceFunction,
    once_differentiable,
)

__all__ = [
    "BackwardCFunction",
    "Function",
    "FunctionCtx",
    "FunctionMeta",
    "InplaceFunction",
    "once_differentiable",
]
