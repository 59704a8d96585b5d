"""The `out=` argument of operators, which writes a result into an existing tensor."""

from __future__ import annotations

from gradtrace.annotations import Any
from gradtrace.engine.calls.inplace import change_data
from gradtrace.engine.data.state import state
from gradtrace.engine.data.tensor import Tensor
from gradtrace.ops.shape.memory import resize_


def into(out: Any, name: str, result: Any, args: tuple[Any, ...]) -> Any:
    """Write `result`, computed by the function `name`, into `out`, a tensor or a tuple of tensors;
    return `out`.

    Raises RuntimeError if a gradient is required, or if the dtype cannot hold the result.
    """
    if state.grad_enabled and any(isinstance(a, Tensor) and a.requires_grad for a in (*args, out)):
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
            "arguments requires grad."
        )
    if isinstance(result, tuple):
        for destination, value in zip(out, result, strict=True):
            write_result(destination, value)
        return type(result)(out) if hasattr(result, "_item_names") else tuple(out)
    write_result(out, result)
    return out


def write_result(out: object, result: Tensor) -> None:
    if not isinstance(out, Tensor):
        raise TypeError(f"argument 'out' must be Tensor, not {type(out).__name__}")
    if result.dtype.category > out.dtype.category:
        raise RuntimeError(
            f"result type {result.dtype.scalar_type} can't be cast to the desired output type {out.dtype.scalar_type}"
        )
    if out.shape != result.shape:
        resize_(out, *result.shape)
    change_data(out, result.shared())
