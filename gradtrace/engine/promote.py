"""Type promotion of the operands of an operator, as its record says."""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any
from gradtrace.engine import dtypes
from gradtrace.engine.lazy import np
from gradtrace.engine.tensor import Tensor

if TYPE_CHECKING:
    from gradtrace.engine.op import Op
    from gradtrace.engine.types import Array


def promote(operator: Op, args: tuple[Any, ...], raws: list[Any]) -> list[Any]:
    """Return the raw arguments with the tensor arguments cast to their common dtype, as the record's `promote` says.

    "arith" and "compare": the common dtype; "float": integers become the default float too.
    """
    first = raws[0]
    n = operator.arity
    if n == 2:
        second = raws[1]
        same = getattr(first, "dtype", 1) is getattr(second, "dtype", 2)
        floats = same and first.dtype.kind == "f"
        if floats or (same and operator.promote != "float"):
            return raws
        number = type(second) in (float, int) and not isinstance(args[1], Tensor)
        if number and getattr(first, "dtype", None) is not None and first.dtype.kind == "f":
            return raws
    elif n == 1 and type(first) is not bool and (type(first) is float or first.dtype.kind == "f"):
        return raws
    operands = [(r, isinstance(args[i], Tensor)) for i, r in enumerate(raws[:n]) if r is not None]
    common = dtypes.result_type(*operands)
    if operator.promote == "float" and common.category != dtypes.FLOAT:
        common = dtypes.get_default_dtype()
    return [cast_operand(r, common, isinstance(args[i], Tensor)) if i < n else r for i, r in enumerate(raws)]


def cast_operand(raw: Any, common: dtypes.dtype, is_tensor: bool) -> Array | None:
    if raw is None:
        return None
    if not is_tensor or type(raw) in (float, bool):
        return np.asarray(raw).astype(common.np)
    array: Array = raw if raw.dtype is common.np else raw.astype(common.np)
    return array
