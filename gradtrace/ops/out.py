"""The `out=` of operators: a result written into a tensor that is there already."""

from __future__ import annotations

from gradtrace.annotations import Any
from gradtrace.engine.inplace import change_data
from gradtrace.engine.state import state
from gradtrace.engine.tensor import Tensor
from gradtrace.ops.shape.memory import resize_


def into(out: Any, name: str, result: Any, args: tuple[Any, ...]) -> Any:
    """Write the result of `name` into `out`, a tensor or a tuple of tensors, and return `out`.

    RuntimeError where a gradient would be asked for, or where the dtype does not take the result.
    """
    if state.grad_enabled and any(isinstance(a, Tensor) and a.requires_grad for a in (*args, out)):
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
            "arguments requires grad."
        )
    if isinstance(result, tuple):
        for one, value in zip(out, result, strict=True):
            put(one, value)
        return type(result)(out) if hasattr(result, "_fields") else tuple(out)
    put(out, result)
    return out


def put(out: object, result: Tensor) -> None:
    if not isinstance(out, Tensor):
        raise TypeError(f"argument 'out' must be Tensor, not {type(out).__name__}")
    if result.dtype.category > out.dtype.category:
        raise RuntimeError(
            f"result type {result.dtype.scalar_type} can't be cast to the desired output type {out.dtype.scalar_type}"
        )
    if out.shape != result.shape:
        resize_(out, *result.shape)
    change_data(out, result.shared())
