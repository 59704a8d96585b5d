"""The dtypes of an operator's operands: promotion of mixed dtypes, and PyTorch's errors for
unsupported dtypes.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any
from gradtrace.engine.data import dtypes
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.operators.broadcast import refuse_mismatch
from gradtrace.engine.operators.rounding import widened

if TYPE_CHECKING:
    from gradtrace.annotations import Sequence
    from gradtrace.engine.data.types import Array
    from gradtrace.engine.operators.op import Op

# PyTorch's names of kernels, for the dtypes that they refuse, where they are not the operators'
# names.
KERNEL_NAMES = {"bitwise_left_shift": "lshift", "bitwise_right_shift": "rshift"}


def promote(operator: Op, args: tuple[Any, ...], raws: list[Any]) -> list[Any]:
    """Return the raw arguments with the tensor arguments cast to their common dtype, as the
    record's `promote` says.

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
            if operator.exact_number and first.dtype == np.float16:
                return [first, np.float32(second), *raws[2:]]
            return raws
    elif n == 1 and type(first) is not bool and (type(first) is float or first.dtype.kind == "f"):
        return raws
    operands = [(r, isinstance(args[i], Tensor)) for i, r in enumerate(raws[:n]) if r is not None]
    common = dtypes.result_type(*operands)
    if operator.promote == "float" and common.category != dtypes.FLOAT:
        common = dtypes.get_default_dtype()
    cast = [
        cast_operand(r, common, isinstance(args[i], Tensor)) if i < n else r
        for i, r in enumerate(raws)
    ]
    if operator.exact_number and common is dtypes.float16 and np.ndim(raws[1]) == 0:
        cast[1] = np.float32(raws[1])
    return cast


def rounded_once(raw: Any, raws: list[Any]) -> Any:
    """Return the result of a kernel in float16, if `promote` gave it a number in float32."""
    return raw.astype(np.float16) if np.float32 in map(type, raws[:2]) else raw


def operands_kept(record: Op, operands: Sequence[Any], raw: Any) -> list[Any]:
    """Return what a node keeps of its operands: beside float16 a number in float32, which the rules
    compute in.
    """
    kept = list(operands)
    if record.exact_number and type(raw) not in (float, bool) and raw.dtype == np.float16:
        kept[:2] = [
            np.float32(operand) if type(operand) in (float, int) else operand
            for operand in kept[:2]
        ]
    return kept


def cast_operand(raw: Any, common: dtypes.dtype, is_tensor: bool) -> Array | None:
    if raw is None:
        return None
    if not is_tensor or type(raw) in (float, bool):
        return np.asarray(raw).astype(common.np)
    return raw if raw.dtype is common.np else widened(raw, common.np)


def raise_as_pytorch(record: Op, raws: list[Any], error: Exception) -> None:
    """Raise PyTorch's error if the shapes do not broadcast, or numpy's function does not take the
    dtypes.
    """
    if isinstance(error, ValueError) and "broadcast" in str(error):
        refuse_mismatch(raws[: record.arity])
    if isinstance(error, TypeError) and str(error).startswith("ufunc"):
        name = KERNEL_NAMES.get(record.name, record.name)
        kind = dtypes.of_raw(raws[0]).scalar_type
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{kind}'") from None


def refuse_dtype(record: Op, raws: list[Any]) -> None:
    """Raise PyTorch's error if the operands have a dtype that its kernel does not support."""
    if not isinstance(record.unsupported_dtypes, tuple):
        record.unsupported_dtypes(raws)  # type: ignore[misc]
        return
    kinds, kernel = record.unsupported_dtypes
    raw = raws[0]
    kind = kind_of(raw)
    if record.promote is not None and record.arity > 1:
        kind = max((kind_of(r) for r in raws[: record.arity] if r is not None), key="bif".find)
    if kind not in kinds:
        return
    if " " in kernel:
        raise RuntimeError(kernel)
    raise NotImplementedError(
        f"\"{kernel}\" not implemented for '{dtypes.of_raw(raw).scalar_type}'"
    )


def kind_of(raw: Any) -> str:
    """Return the kind of the dtype of raw data, as numpy's letter: b, i or f."""
    if type(raw) is bool:
        kind = "b"
    elif type(raw) is int:
        kind = "i"
    else:
        kind = raw.dtype.kind if hasattr(raw, "dtype") else "f"
    return "i" if kind == "u" else kind
