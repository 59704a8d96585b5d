"""Arithmetic kernels for arrays, where numpy's functions differ from PyTorch's kernels."""

from __future__ import annotations

from gradtrace.annotations import Any, Callable
from gradtrace.engine.lazy import np
from gradtrace.engine.rounding import multiply_add, power_once
from gradtrace.engine.types import Array, Raw

NO_BOOL = (
    "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the "
    "`~` or `logical_not()` operator instead."
)


def is_bool(a: object) -> bool:
    return hasattr(a, "dtype") and a.dtype.kind == "b"


def refuse_bools(raws: list[Any]) -> None:
    """Raise RuntimeError if bools are subtracted, whether tensors or Python bools."""
    bools = sum(type(raw) is bool or is_bool(raw) for raw in raws[:2])
    if bools == 2:
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
            "operator instead."
        )
    if bools:
        raise RuntimeError(NO_BOOL)


def plus_scaled(a: Array, b: Array, alpha: float) -> Array:
    return multiply_add(a, float(alpha), b) if a.dtype.kind == "f" else np.add(a, scaled(b, alpha))


def minus_scaled(a: Array, b: Array, alpha: float) -> Array:
    return multiply_add(a, -float(alpha), b) if a.dtype.kind == "f" else np.subtract(a, scaled(b, alpha))


def scaled(b: Array, alpha: float) -> Array:
    return np.logical_and(b, alpha) if b.dtype.kind == "b" else np.multiply(b, alpha)


def negate(a: Raw) -> Array:
    """Negate; raise RuntimeError for bools. The attribute `ufunc` names numpy's function (see rounding.in_float64)."""
    if is_bool(a) or type(a) is bool:
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use "
            "the `~` or `logical_not()` operator instead."
        )
    return np.negative(a)


negate.ufunc = "negative"  # type: ignore[attr-defined]


def power_kernel(a: Raw, b: Raw) -> Array:
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype.kind in "iu" and b.dtype.kind in "iu" and bool((b < 0).any()):
        return integer_power(a, b)
    if a.dtype.kind == "f" and b.ndim == 0 and b == 2:
        return a * a
    return power_once(a, b)


def integer_power(a: Array, b: Array) -> Array:
    """Raise integers to powers; a negative exponent gives 0 unless the base is 1 or -1."""
    out = np.power(a, np.abs(b))
    return np.where((b < 0) & (np.abs(a) != 1), 0, out).astype(out.dtype)


def power_scalar_kernel(a: Array, exponent: float) -> Array:
    if a.dtype.kind == "b" and type(exponent) is bool:
        return np.logical_or(a, not exponent)
    if exponent == 2:
        return a * a
    if exponent == 1:
        return +a
    if exponent == 0.5 and a.dtype.kind == "f":
        # np.power(-0.0, 0.5) is 0, but sqrt keeps the sign; PyTorch uses sqrt here.
        return np.sqrt(a)
    if exponent == -0.5 and a.dtype.kind == "f":
        return 1 / np.sqrt(a)
    if exponent == 3 and a.dtype.kind == "f":
        return a * a * a
    if exponent == -2 and a.dtype.kind == "f":
        return 1 / (a * a)
    return power_kernel(a, np.asarray(exponent).astype(a.dtype))


def reversed_subtract(a: Array, other: Raw) -> Array:
    return np.subtract(other, a)


def arrays(a: Raw, b: Raw) -> tuple[Array, Array]:
    """Convert the operands to arrays; a Python number takes the array's dtype."""
    a = np.asarray(a)
    return a, np.asarray(b, a.dtype) if isinstance(b, (int, float)) else np.asarray(b)


def first_extreme(reaches: Callable[..., Array], a: Array, b: Array) -> Array:
    """Return `a` where `reaches(a, b)` holds or b is nan, else `b`; `a` also for equal zeros."""
    return np.where(reaches(a, b) | (b != b), a, b)


def divided(a: Raw, b: Raw) -> tuple[Array, Array]:
    """Convert the operands to arrays; raise RuntimeError if integers are divided by zero."""
    a, b = arrays(a, b)
    if a.dtype.kind in "iu" and a.size and bool((b == 0).any()):
        raise RuntimeError("ZeroDivisionError")
    return a, b


def python_remainder(a: Raw, b: Raw) -> Array:
    a, b = divided(a, b)
    if a.dtype.kind != "f" and b.dtype.kind != "f":
        return np.remainder(a, b)
    r = np.fmod(a, b)  # a zero keeps the sign of a; np.remainder would give it the sign of b
    return np.where((r != 0) & ((r < 0) != (b < 0)), r + b, r)


def truncated_remainder(a: Raw, b: Raw) -> Array:
    a, b = arrays(a, b)
    if a.dtype.kind in "iu" and bool((b == 0).any()):
        raise RuntimeError("ZeroDivisionError")
    return np.fmod(a, b)


def floor_division(a: Raw, b: Raw) -> Array:
    a, b = divided(a, b)
    if a.dtype.kind == "f":
        # np.floor_divide gives nan for x // 0 where PyTorch gives inf.
        return np.where(b == 0, a / b, np.floor_divide(a, b)).astype(a.dtype)
    return np.floor_divide(a, b)


def rounded_division(a: Raw, b: Raw, mode: str) -> Array:
    if mode == "floor":
        return floor_division(a, b)
    a, b = arrays(a, b)
    if a.dtype.kind == "f":
        return np.trunc(a / b)
    if a.size and bool((b == 0).any()):
        raise RuntimeError("ZeroDivisionError")
    quotient = np.abs(a) // np.abs(b)
    return (np.sign(a) * np.sign(b) * quotient).astype(a.dtype)
