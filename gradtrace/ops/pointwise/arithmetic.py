"""Sums, differences, products and quotients: the operators behind Python's + - * / //.

A record lists its signature and kernel, then for each argument what its derivative needs and the
rule.
"""

from __future__ import annotations

import _operator as py  # operator takes 0.4 ms to import

from gradtrace.annotations import Any, Callable
from gradtrace.engine.calls import call
from gradtrace.engine.calls.inplace import inplace
from gradtrace.engine.data.dtypes import python_number
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.state import state
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import Array, Raw
from gradtrace.engine.operators.op import PASS_ON, arith_op, d, float_op
from gradtrace.engine.operators.rounding import fitting, multiply_add, power_once
from gradtrace.ops import (
    numbers,  # noqa: F401 - the records that `number=` names
    scalars,
)
from gradtrace.ops.api import (
    NOT_GIVEN,
    Choice,
    binary,
    check_operand,
    first_number,
    named,
    not_a_tensor,
    operator,
    public,
    unary,
)
from gradtrace.ops.public_call import public_call

# ---- kernels for arrays, where numpy's functions differ from PyTorch's kernels

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
    if a.dtype.kind != "f":
        return np.add(a, scaled(b, alpha))
    return multiply_add(a, float(a.dtype.type(fitting(alpha, a.dtype))), b)


def minus_scaled(a: Array, b: Array, alpha: float) -> Array:
    return plus_scaled(a, b, -alpha) if a.dtype.kind == "f" else np.subtract(a, scaled(b, alpha))


def scaled(b: Array, alpha: float) -> Array:
    return np.logical_and(b, alpha) if is_bool(b) else np.multiply(b, alpha)


def negate(a: Raw) -> Array:
    """Negate; raise RuntimeError for bools. The attribute `ufunc` names numpy's function (see
    rounding.in_float64).
    """
    if is_bool(a) or type(a) is bool:
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use "
            "the `~` or `logical_not()` operator instead."
        )
    return np.negative(a)


negate.ufunc = "negative"  # type: ignore[attr-defined]


def power_kernel(a: Raw, b: Raw) -> Array:
    a = np.asarray(a)
    b = np.asarray(b)
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
    if a.dtype.itemsize == 2:
        fitting(exponent, a.dtype)
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


def reversed_subtract(a: Array, minuend: Raw) -> Array:
    return np.subtract(minuend, a)


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


# ---- records

# fmt: off
add = arith_op("add(self, other)", "add", "self + other", commutative=True, sign="+", aten="add_.Tensor",
    symbolic=lambda s, a, b, alpha=1: a + alpha * b, scalar=py.add, number="add_number",
    self=PASS_ON, other=PASS_ON)
add_scaled = arith_op("add_scaled(self, other; alpha)", lambda a, b, alpha: plus_scaled(a, b, alpha),
    "self + alpha * other", aten="add_.Tensor", scalar=lambda a, b, alpha: a + b * alpha, node="AddBackward0",
    self=PASS_ON,
    other=d("", lambda xp, g, out, self, other, alpha: g * alpha))
sub = arith_op("sub(self, other)", "subtract", "self - other", commutative=False, sign="-", aten="sub_.Tensor",
    symbolic=lambda s, a, b, alpha=1: a - alpha * b, unsupported_dtypes=refuse_bools, scalar=py.sub,
    number="sub_number",
    self=PASS_ON, other=d("", lambda xp, g, out, self, other: -g))
sub_scaled = arith_op("sub_scaled(self, other; alpha)", lambda a, b, alpha: minus_scaled(a, b, alpha),
    "self - alpha * other", aten="sub_.Tensor", unsupported_dtypes=refuse_bools,
    scalar=lambda a, b, alpha: a - b * alpha, node="SubBackward0",
    self=PASS_ON,
    other=d("", lambda xp, g, out, self, other, alpha: -g * alpha))
rsub_scalar = arith_op("rsub_scalar(self, other)", reversed_subtract, "other - self", public="sub",
    reversed_operands=True, scalar=lambda a, b: b - a, node="RsubBackward1", unsupported_dtypes=refuse_bools,
    self=d("", lambda xp, g, out, self, other: -g))
rsub_tensor = arith_op("rsub(self, other; alpha)", lambda a, b, alpha: minus_scaled(b, a, alpha),
    "other - alpha * self", unsupported_dtypes=refuse_bools,
    self=d("", lambda xp, g, out, self, other, alpha: -g * alpha),
    other=PASS_ON)
# A number operand counts as a tensor in the rule, which therefore multiplies by name and not by
# `*`.
mul = arith_op("mul(self, other)", "multiply", "self * other", commutative=True, sign="*", zero="mask",
    aten="mul_.Tensor", symbolic=True, scalar=py.mul, number="mul_number", exact_number=True,
    self=d("other", lambda xp, g, out, self, other: g * other, lambda xp, g, out, self, other: xp.mul(g, other)),
    other=d("self", lambda xp, g, out, self, other: g * self))
div = float_op("div(self, other)", "true_divide", "self / other", commutative=False, sign="/", aten="div_.Tensor",
    symbolic=True, scalar=py.truediv, number="div_number", exact_number=True,
    self=d("other", lambda xp, g, out, self, other: g / other, lambda xp, g, out, self, other: xp.div(g, other)),
    other=d("self other", lambda xp, g, out, self, other: -g * ((self / other) / other)))
# fmt: on


def as_tensor(number: float, x: Tensor) -> Tensor:
    """Convert a number to a 0-d tensor of x's dtype."""
    return Tensor._wrap(np.asarray(number, x.dtype.np))


def number_minus(number: float, x: Tensor) -> Tensor:
    """Return number - x with the number as a tensor, as in PyTorch's composed functions and
    rules.
    """
    return sub(as_tensor(number, x), x)


def no_rounding_of_bools(raws: list[Any]) -> None:
    if all(type(raw) is bool or is_bool(raw) for raw in raws[:2]):
        raise NotImplementedError(f"\"div_{raws[2]}_cpu\" not implemented for 'Bool'")


# fmt: off
div_mode = arith_op("div_mode(self, other; mode)", rounded_division,
    "floor(self / other) if mode == 'floor' else trunc(self / other)", public="div", aten="div_.Tensor_mode",
    scalar=scalars.div_mode, node="DivBackward2", exact_number=True, unsupported_dtypes=no_rounding_of_bools,
    self=d("other", "zeros_like(grad)"), other=d("self other", "zeros_like(grad)"))
# With rounding_mode=None the division is the same, but its node has another name.
div_none = float_op("div_none(self, other)", "true_divide", "self / other", scalar=py.truediv, node="DivBackward2",
    exact_number=True,
    self=d("other", lambda xp, g, out, self, other: g / other),
    other=d("self other", lambda xp, g, out, self, other: -g * ((self / other) / other)))
floor_divide = arith_op("floor_divide(self, other)", floor_division, "floor(self / other)", commutative=False,
    sign="//", zero="flat", undefined=True, exact_number=True, unsupported_dtypes="b div_floor_cpu")
neg = arith_op("neg(self)", negate, "-self", symbolic=True, scalar=py.neg, self=d("", lambda xp, g, out, self: -g))
# fmt: on
# ---- the public names


@public("add")
def torch_add(input: Tensor | float, other: Tensor | float, *, alpha: float = NOT_GIVEN) -> Tensor:
    """Return input + alpha * other, broadcast (torch.add)."""
    input = first_operand("add", input, other)
    if alpha is NOT_GIVEN:
        return add(input, other)
    input = input if isinstance(input, Tensor) else first_number("add", input, 0)
    check_alpha(input, other, alpha)
    return add(input, other) if alpha == 1 else add_scaled(input, other, alpha)


@public("sub", "subtract")
def torch_sub(input: Tensor | float, other: Tensor | float, *, alpha: float = NOT_GIVEN) -> Tensor:
    """Return input - alpha * other, broadcast (torch.sub)."""
    input = first_operand("sub", input, other)
    if alpha is NOT_GIVEN:
        return sub(input, other)
    input = input if isinstance(input, Tensor) else first_number("sub", input, 0)
    refuse_bools([t._data if isinstance(t, Tensor) else t for t in (input, other)])
    check_alpha(input, other, alpha)
    return sub(input, other) if alpha == 1 else sub_scaled(input, other, alpha)


@public(forms="f")
def rsub(input: Tensor, other: Tensor | float, *, alpha: float = 1) -> Tensor:
    """Return other - alpha * input (torch.rsub)."""
    require_tensor("rsub", input, other)
    if isinstance(other, Tensor):
        return rsub_tensor(input, other, alpha)
    return rsub_scalar(input, other) if alpha == 1 else rsub_scalar(mul(input, alpha), other)


@public("div", "divide")
def torch_div(
    input: Tensor | float, other: Tensor | float, *, rounding_mode: str | None = NOT_GIVEN
) -> Tensor:
    """Return input / other, broadcast; `rounding_mode` is None, "trunc" or "floor" (torch.div)."""
    input = first_operand("div", input, other)
    if rounding_mode is NOT_GIVEN:
        return div(input, other)
    record, rest = rounded_div(rounding_mode)
    return record(input, other, *rest)


def rounded_div(mode: str | None) -> Choice:
    """Return the record of a division with a rounding mode, and its further arguments."""
    if mode is NOT_GIVEN or mode is None:
        return div if mode is NOT_GIVEN else div_none, ()
    if mode not in ("trunc", "floor"):
        raise RuntimeError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{mode}'"
        )
    return div_mode, (mode,)


def check_alpha(input: Tensor | float, other: Tensor | float, alpha: float) -> None:
    """Raise RuntimeError for an alpha that the result's dtype cannot hold."""
    category = max(t.dtype.category for t in (input, other) if isinstance(t, Tensor))
    if isinstance(alpha, bool) and category != 0:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if isinstance(alpha, float) and category < 2 and not isinstance(other, float):
        raise RuntimeError(
            "For integral input tensors, argument alpha must not be a floating point number."
        )


def first_operand(name: str, input: Any, other: object) -> Any:
    """Return the first operand of a function that takes numbers for both; raise TypeError for
    anything else.
    """
    if not isinstance(input, Tensor):
        return first_number(name, input, other)
    require_tensor(name, input, other)
    return input


def require_tensor(name: str, input: object, other: object) -> None:
    if not isinstance(input, Tensor):
        raise not_a_tensor(name, "input", 1, input)
    check_operand(name, other)


binary(mul, "multiply", two_numbers=True)
binary(div, name="true_divide", forms="fm", two_numbers=True)
binary(floor_divide, two_numbers=True)


def inplace_method(name: str, choose: Callable[..., Any]) -> None:
    def method(self: Tensor, other: Tensor | float, **options: Any) -> Tensor:
        record, rest = choose(other, **options)
        return inplace(record, self, other, *rest)

    setattr(Tensor, name, public_call(named(method, name), "m", name))


inplace_method("add_", lambda other, alpha=1: (add, ()) if alpha == 1 else (add_scaled, (alpha,)))
inplace_method("sub_", lambda other, alpha=1: (sub, ()) if alpha == 1 else (sub_scaled, (alpha,)))
Tensor.subtract_ = Tensor.sub_  # type: ignore[assignment, method-assign]
inplace_method("div_", lambda other, rounding_mode=NOT_GIVEN: rounded_div(rounding_mode))
Tensor.divide_ = Tensor.true_divide_ = Tensor.div_  # type: ignore[assignment, method-assign]
operator("add", add, reflected=True, inplace_too=True)
operator("sub", sub, inplace_too=True)
operator("mul", mul, reflected=True, inplace_too=True)
operator("truediv", div, inplace_too=True)
operator("floordiv", floor_divide, reflected=True, inplace_too=True)


subtracted_from = call.binary(rsub_scalar)


def is_number(b: object) -> bool:
    return isinstance(b, (int, float))


def _rsub(a: Tensor, b: Any) -> Any:
    b = python_number(b)
    if state.in_rule and is_number(b):
        return number_minus(b, a)
    return subtracted_from(a, b) if is_number(b) else NotImplemented


def _rtruediv(a: Tensor, b: Any) -> Any:
    # As PyTorch: scalar / tensor is reciprocal, then mul; inside its own functions not so.
    b = python_number(b)
    if state.in_rule and is_number(b):
        return div(as_tensor(b, a), a)
    return a.reciprocal() * b if is_number(b) or type(b).__name__ == "ndarray" else NotImplemented


def _rfloordiv(a: Tensor, b: Any) -> Any:
    b = python_number(b)
    return floor_divide(b, a) if is_number(b) else NotImplemented


_DUNDERS: dict[str, Any] = {
    "__radd__": Tensor.__add__,
    "__rmul__": Tensor.__mul__,
    "__rsub__": _rsub,
    "__rtruediv__": _rtruediv,
    "__rdiv__": _rtruediv,
    "__rfloordiv__": _rfloordiv,
    "__neg__": unary(neg, "negative"),
    "__pos__": lambda a: a,
    "__hash__": Tensor.__hash__,
}
for _name, _function in _DUNDERS.items():
    setattr(Tensor, _name, _function)
