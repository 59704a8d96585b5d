"""Arithmetic and comparison: the operators behind Python's operator symbols.

A record lists its signature and kernel, then for each argument what its derivative needs and the rule.
"""

from __future__ import annotations

import math
import operator as py

from gradtrace.annotations import Any, Callable
from gradtrace.engine import call
from gradtrace.engine.dtypes import get_default_dtype, python_number
from gradtrace.engine.inplace import inplace
from gradtrace.engine.lazy import np
from gradtrace.engine.op import Op, d, op, records
from gradtrace.engine.select import select, where_kept
from gradtrace.engine.state import state
from gradtrace.engine.tensor import Tensor
from gradtrace.engine.types import XP, NumpyDtype, Operand
from gradtrace.ops import (
    numbers,  # noqa: F401 - the records that `number=` names
    scalars,
)
from gradtrace.ops.api import NOT_GIVEN, binary, expose, named, not_a_tensor, operator, public, unary
from gradtrace.ops.pointwise.arithmetic_kernels import (
    first_extreme,
    floor_division,
    is_bool,
    minus_scaled,
    negate,
    plus_scaled,
    power_kernel,
    power_scalar_kernel,
    python_remainder,
    refuse_bools,
    reversed_subtract,
    rounded_division,
    scaled,
    truncated_remainder,
)


def pow_scalar_grad(xp: XP, g: Operand, self: Operand, exponent: float) -> Operand:
    # At exponent 0 the gradient is 0 everywhere, even where self ** -1 is inf.
    if exponent == 0:
        return xp.zeros_like(g)
    return g * (exponent * xp.pow_scalar(self, exponent - 1))


def pow_base_grad(xp: XP, g: Operand, self: Operand, exponent: Operand) -> Operand:
    return xp.where(exponent == 0, xp.zeros_like(g), g * (exponent * xp.pow(self, exponent - 1)))


def pow_exponent_grad(xp: XP, g: Operand, self: Operand, exponent: Operand, out: Operand) -> Operand:
    flat = xp.logical_and(self == 0, exponent >= 0)
    return g * xp.where(flat, xp.zeros_like(out), out * xp.log(self))


ARITH = {"promote": "arith"}

add = op(
    "add(self, other)",
    "add",
    formula="self + other",
    kind="elementwise",
    commutative=True,
    sign="+",
    aten="add_.Tensor",
    symbolic=lambda s, a, b, alpha=1: a + alpha * b,
    scalar=py.add,
    node="AddBackward0",
    number="add_number",
    **ARITH,
    self=d("", lambda xp, g, out, self, other: g),
    other=d("", lambda xp, g, out, self, other: g),
)
add_scaled = op(
    "add_scaled(self, other; alpha)",
    lambda a, b, alpha: plus_scaled(a, b, alpha),
    formula="self + alpha * other",
    kind="elementwise",
    aten="add_.Tensor",
    scalar=lambda a, b, alpha: a + b * alpha,
    node="AddBackward0",
    **ARITH,
    self=d("", lambda xp, g, out, self, other, alpha: g),
    other=d("", lambda xp, g, out, self, other, alpha: g * alpha),
)
sub = op(
    "sub(self, other)",
    "subtract",
    formula="self - other",
    kind="elementwise",
    commutative=False,
    sign="-",
    aten="sub_.Tensor",
    symbolic=lambda s, a, b, alpha=1: a - alpha * b,
    unsupported_dtypes=refuse_bools,
    scalar=py.sub,
    node="SubBackward0",
    number="sub_number",
    **ARITH,
    self=d("", lambda xp, g, out, self, other: g),
    other=d("", lambda xp, g, out, self, other: -g),
)
sub_scaled = op(
    "sub_scaled(self, other; alpha)",
    lambda a, b, alpha: minus_scaled(a, b, alpha),
    formula="self - alpha * other",
    kind="elementwise",
    aten="sub_.Tensor",
    unsupported_dtypes=refuse_bools,
    scalar=lambda a, b, alpha: a - b * alpha,
    node="SubBackward0",
    **ARITH,
    self=d("", lambda xp, g, out, self, other, alpha: g),
    other=d("", lambda xp, g, out, self, other, alpha: -g * alpha),
)
rsub_scalar = op(
    "rsub_scalar(self, other)",
    reversed_subtract,
    formula="other - self",
    kind="elementwise",
    public="sub",
    reversed_operands=True,
    scalar=lambda a, b: b - a,
    node="RsubBackward1",
    **ARITH,
    unsupported_dtypes=refuse_bools,
    self=d("", lambda xp, g, out, self, other: -g),
)
rsub_tensor = op(
    "rsub(self, other; alpha)",
    lambda a, b, alpha: np.subtract(b, scaled(a, alpha)),
    formula="other - alpha * self",
    kind="elementwise",
    node="RsubBackward0",
    unsupported_dtypes=refuse_bools,
    **ARITH,
    self=d("", lambda xp, g, out, self, other, alpha: -g * alpha),
    other=d("", lambda xp, g, out, self, other, alpha: g),
)
# A number operand counts as a tensor in the rule, which therefore multiplies by name and not by `*`.
mul = op(
    "mul(self, other)",
    "multiply",
    formula="self * other",
    kind="elementwise",
    commutative=True,
    sign="*",
    zero="mask",
    aten="mul_.Tensor",
    symbolic=lambda s, a, b: a * b,
    scalar=py.mul,
    node="MulBackward0",
    number="mul_number",
    **ARITH,
    self=d("other", lambda xp, g, out, self, other: g * other, lambda xp, g, out, self, other: xp.mul(g, other)),
    other=d("self", lambda xp, g, out, self, other: g * self),
)
div = op(
    "div(self, other)",
    "true_divide",
    formula="self / other",
    kind="elementwise",
    commutative=False,
    sign="/",
    aten="div_.Tensor",
    symbolic=lambda s, a, b: a / b,
    scalar=py.truediv,
    node="DivBackward0",
    number="div_number",
    promote="float",
    self=d("other", lambda xp, g, out, self, other: g / other, lambda xp, g, out, self, other: xp.div(g, other)),
    other=d("self other", lambda xp, g, out, self, other: -g * ((self / other) / other)),
)


def as_tensor(number: float, x: Tensor) -> Tensor:
    """Convert the number to a 0-d tensor of x's dtype."""
    return Tensor._wrap(np.asarray(number, x.dtype.np))


def number_minus(number: float, x: Tensor) -> Tensor:
    """Return number - x with the number as a tensor, as in PyTorch's composed functions and rules."""
    return sub(as_tensor(number, x), x)


div_mode = op(
    "div_mode(self, other; mode)",
    rounded_division,
    formula="floor(self / other) if mode == 'floor' else trunc(self / other)",
    kind="elementwise",
    public="div",
    aten="div_.Tensor_mode",
    scalar=scalars.div_mode,
    node="DivBackward2",
    **ARITH,
    unsupported_dtypes=lambda raws: no_rounding_of_bools(raws),
    self=d("other", lambda xp, g, out, self, other, mode: xp.zeros_like(g)),
    other=d("self other", lambda xp, g, out, self, other, mode: xp.zeros_like(g)),
)
# With rounding_mode=None the division is the same, but its node has another name.
div_none = op(
    "div_none(self, other)",
    "true_divide",
    formula="self / other",
    kind="elementwise",
    scalar=py.truediv,
    node="DivBackward2",
    promote="float",
    self=d("other", lambda xp, g, out, self, other: g / other),
    other=d("self other", lambda xp, g, out, self, other: -g * ((self / other) / other)),
)
floor_divide = op(
    "floor_divide(self, other)",
    floor_division,
    formula="floor(self / other)",
    kind="elementwise",
    commutative=False,
    sign="//",
    zero="flat",
    undefined=True,
    unsupported_dtypes=("b", "div_floor_cpu"),
    **ARITH,
)
neg = op(
    "neg(self)",
    negate,
    formula="-self",
    kind="elementwise",
    symbolic=lambda s, a: -a,
    scalar=py.neg,
    node="NegBackward0",
    promote="arith",
    self=d("", lambda xp, g, out, self: -g),
)
pow_scalar = op(
    "pow_scalar(self; exponent)",
    power_scalar_kernel,
    formula="self**exponent",
    kind="elementwise",
    aten="pow_.Scalar",
    scalar=scalars.power_of,
    node="PowBackward0",
    self=d("self", lambda xp, g, out, self, exponent: pow_scalar_grad(xp, g, self, exponent)),
)
pow_record = op(
    "pow(self, exponent)",
    power_kernel,
    formula="self**exponent",
    kind="elementwise",
    commutative=False,
    sign="**",
    aten="pow_.Tensor",
    symbolic=lambda s, a, b: a**b,
    scalar=scalars.power,
    node="PowBackward1",
    **ARITH,
    unsupported_dtypes=("b", "pow"),
    self=d("self exponent", lambda xp, g, out, self, exponent: pow_base_grad(xp, g, self, exponent)),
    exponent=d("self exponent out", lambda xp, g, out, self, exponent: pow_exponent_grad(xp, g, self, exponent, out)),
)
pow_of_scalar = op(
    "pow_of_scalar(exponent; base)",
    lambda exponent, base: power_kernel(
        np.asarray(base, exponent.dtype if exponent.dtype.kind == "f" else None), exponent
    ),
    formula="base**exponent",
    kind="elementwise",
    public="pow",
    reversed_operands=True,
    scalar=lambda exponent, base: scalars.power(base, exponent),
    node="PowBackward2",
    exponent=d("exponent out", lambda xp, g, out, exponent, base: pow_of_scalar_grad(xp, g, out, exponent, base)),
)
remainder = op(
    "remainder(self, other)",
    python_remainder,
    formula="self - other * floor(self / other)",
    kind="elementwise",
    commutative=False,
    sign="%",
    scalar=scalars.remainder,
    node="RemainderBackward1",
    **ARITH,
    unsupported_dtypes=("b", "remainder_cpu"),
    self=d("", lambda xp, g, out, self, other: g),
    other=d("self other", lambda xp, g, out, self, other: -g * xp.div_mode(self, other, "floor")),
)
remainder_scalar = op(
    "remainder_scalar(self, other)",
    python_remainder,
    formula="self - other * floor(self / other)",
    kind="elementwise",
    scalar=scalars.remainder,
    node="RemainderBackward0",
    **ARITH,
    self=d("", lambda xp, g, out, self, other: g),
)
remainder_of_number = op(
    "remainder_of_number(self, other)",
    lambda a, b: python_remainder(np.asarray(b, a.dtype if a.dtype.kind == "f" else None), a),
    formula="other - self * floor(other / self)",
    kind="elementwise",
    scalar=lambda a, b: scalars.remainder(b, a),
    undefined="remainder",
    **ARITH,
)
fmod = op(
    "fmod(self, other)",
    truncated_remainder,
    formula="self - other * trunc(self / other)",
    kind="elementwise",
    scalar=math.fmod,
    node="FmodBackward1",
    unsupported_dtypes=("b", "fmod_cpu"),
    **ARITH,
    self=d("", lambda xp, g, out, self, other: g),
    other=d(
        "self other",
        lambda xp, g, out, self, other: -g * xp.trunc(self / other),
        lambda xp, g, out, self, other: -g * xp.div_mode(self, other, "trunc"),
    ),
)
fmod_scalar = op(
    "fmod_scalar(self, other)",
    truncated_remainder,
    formula="self - other * trunc(self / other)",
    kind="elementwise",
    scalar=math.fmod,
    node="FmodBackward0",
    **ARITH,
    self=d("", lambda xp, g, out, self, other: g),
)
maximum = op(
    "maximum(self, other)",
    lambda a, b: np.maximum(b, a),
    formula="where(self > other, self, other)",
    kind="elementwise",
    zero="choice",
    scalar=scalars.maximum,  # of equal values numpy takes b
    node="MaximumBackward0",
    **ARITH,
    self=d("self other", lambda xp, g, out, self, other: extreme_grad(xp, g, self, other, self < other)),
    other=d("self other", lambda xp, g, out, self, other: extreme_grad(xp, g, other, self, self > other)),
)
minimum = op(
    "minimum(self, other)",
    lambda a, b: np.minimum(b, a),
    formula="where(self < other, self, other)",
    kind="elementwise",
    zero="choice",
    scalar=scalars.minimum,  # of equal values numpy takes b
    node="MinimumBackward0",
    **ARITH,
    self=d("self other", lambda xp, g, out, self, other: extreme_grad(xp, g, self, other, self > other)),
    other=d("self other", lambda xp, g, out, self, other: extreme_grad(xp, g, other, self, self < other)),
)
fmax = op(
    "fmax(self, other)",
    lambda a, b: first_extreme(np.greater_equal, a, b),
    formula="where(isnan(other) | (self >= other), self, other)",
    kind="elementwise",
    zero="choice",
    node="FmaxBackward0",
    **ARITH,
    self=d(
        "self other", lambda xp, g, out, self, other: xp.zeroed(g, xp.logical_not(first_wins(xp, self >= other, other)))
    ),
    other=d("self other", lambda xp, g, out, self, other: xp.zeroed(g, first_wins(xp, self >= other, other))),
)
fmin = op(
    "fmin(self, other)",
    lambda a, b: first_extreme(np.less_equal, a, b),
    formula="where(isnan(other) | (self <= other), self, other)",
    kind="elementwise",
    zero="choice",
    node="FminBackward0",
    **ARITH,
    self=d(
        "self other", lambda xp, g, out, self, other: xp.zeroed(g, xp.logical_not(first_wins(xp, self <= other, other)))
    ),
    other=d("self other", lambda xp, g, out, self, other: xp.zeroed(g, first_wins(xp, self <= other, other))),
)
where = op(
    "where(condition, self, other)",
    select,
    formula="where(condition, self, other)",
    kind="elementwise",
    zero="branch",
    scalar=scalars.where,
    node="WhereBackward0",
    self=d("condition", lambda xp, g, out, condition, self, other: xp.where(condition, g, xp.zeros_like(g))),
    other=d("condition", lambda xp, g, out, condition, self, other: xp.where(condition, xp.zeros_like(g), g)),
)
# masked_fill with 0, for use in rules.
zeroed = op(
    "zeroed(self; mask)",
    lambda a, mask: where_kept(np.logical_not(mask), a),
    formula="where(mask, 0, self)",
    kind="elementwise",
    zero="mask",
    public="masked_fill",
    scalar=lambda a, mask: 0.0 if mask else a,
    node="MaskedFillBackward0",
    self=d("mask", lambda xp, g, out, self, mask: xp.zeroed(g, mask)),
)
zeros_like = op("zeros_like(self)", "zeros_like", formula="0", kind="fill", constant=0.0, scalar=lambda x: 0.0)
ones_like = op("ones_like(self)", "ones_like", formula="1", kind="fill", constant=1.0, scalar=lambda x: 1.0)


def pow_of_scalar_grad(xp: XP, g: Operand, out: Operand, exponent: Operand, base: float) -> Operand:
    if base == 0:
        # 0 ** x is constant for x >= 0 and has slope -inf below.
        return g * xp.where(exponent >= 0, xp.zeros_like(out), out * -float("inf"))
    log = float("nan") if base < 0 else math.log(base)
    return g * (out * log)


def extreme_grad(xp: XP, g: Operand, mine: Operand, other: Operand, loses: Operand) -> Operand:
    """Split the gradient evenly on ties; if either side is nan, both get the full gradient."""
    return xp.zeroed(xp.where(mine == other, g / 2, g), loses)


def first_wins(xp: XP, wins: Operand, other: Operand) -> Operand:
    return xp.logical_or(wins, other != other)


# ---- the public names


@public("add")
def torch_add(input: Tensor | float, other: Tensor | float, *, alpha: float = NOT_GIVEN) -> Tensor:
    """Return input + alpha * other, broadcast (torch.add)."""
    require_tensor("add", input, other)
    if alpha is NOT_GIVEN:
        return add(input, other)
    check_alpha(input, other, alpha)
    return add(input, other) if alpha == 1 else add_scaled(input, other, alpha)


@public("sub", "subtract")
def torch_sub(input: Tensor | float, other: Tensor | float, *, alpha: float = NOT_GIVEN) -> Tensor:
    """Return input - alpha * other, broadcast (torch.sub)."""
    require_tensor("sub", input, other)
    if alpha is NOT_GIVEN:
        return sub(input, other)
    refuse_bools([t._data if isinstance(t, Tensor) else t for t in (input, other)])
    check_alpha(input, other, alpha)
    return sub(input, other) if alpha == 1 else sub_scaled(input, other, alpha)


@public("rsub", forms="f")
def rsub(input: Tensor, other: Tensor | float, *, alpha: float = 1) -> Tensor:
    """Return other - alpha * input (torch.rsub)."""
    require_tensor("rsub", input, other)
    if isinstance(other, Tensor):
        return rsub_tensor(input, other, alpha)
    return rsub_scalar(input, other) if alpha == 1 else rsub_scalar(mul(input, alpha), other)


@public("div", "divide")
def torch_div(input: Tensor | float, other: Tensor | float, *, rounding_mode: str | None = NOT_GIVEN) -> Tensor:
    """Return input / other, broadcast; `rounding_mode` is None, "trunc" or "floor" (torch.div)."""
    require_tensor("div", input, other)
    if rounding_mode is NOT_GIVEN:
        return div(input, other)
    if rounding_mode is None:
        return div_none(input, other)
    if rounding_mode not in ("trunc", "floor"):
        raise RuntimeError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'"
        )
    return div_mode(input, other, rounding_mode)


@public("pow")
def power(input: Tensor | float, exponent: Tensor | float) -> Tensor:
    """Return input ** exponent; one of them may be a number (torch.pow)."""
    if not isinstance(input, Tensor):
        if not isinstance(exponent, Tensor):
            raise not_a_tensor("pow", "input", 1, input)
        return reflected_power(exponent, python_number(input))
    if isinstance(exponent, Tensor):
        out: Tensor = power_of_tensors(input, exponent)
        return out
    return power_number(input, python_number(exponent))


power_of_tensors = call.binary(pow_record)


def power_number(input: Tensor, exponent: float) -> Tensor:
    if not input.is_floating_point() and isinstance(exponent, float):
        input = records["cast"](input, get_default_dtype().np)
    if input.dtype.category == 0 and not isinstance(exponent, bool):
        input = records["cast"](input, np.dtype("int64"))
    if input.dtype.category == 1 and exponent < 0:
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    out: Tensor = power_of_number(input, exponent)
    return out


power_of_number = call.with_number(pow_scalar)


def reflected_power(exponent: Tensor, base: float) -> Tensor:
    if not exponent.is_floating_point():
        return (
            pow_record(Tensor._wrap(np.asarray(base)), exponent)
            if isinstance(base, int)
            else pow_record(Tensor._wrap(np.asarray(base, dtype=_default_np())), exponent)
        )
    out: Tensor = number_to_power(exponent, base)
    return out


number_to_power = call.with_number(pow_of_scalar)


def _default_np() -> NumpyDtype:
    out: NumpyDtype = get_default_dtype().np
    return out


def no_rounding_of_bools(raws: list[Any]) -> None:
    if all(type(raw) is bool or is_bool(raw) for raw in raws[:2]):
        raise NotImplementedError(f"\"div_{raws[2]}_cpu\" not implemented for 'Bool'")


def check_alpha(input: Tensor | float, other: Tensor | float, alpha: float) -> None:
    """Raise RuntimeError for an alpha that the result's dtype cannot hold."""
    category = max(t.dtype.category for t in (input, other) if isinstance(t, Tensor))
    if isinstance(alpha, bool) and category != 0:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if isinstance(alpha, float) and category < 2 and not isinstance(other, float):
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")


def require_tensor(name: str, input: object, other: object) -> None:
    if not isinstance(input, Tensor):
        raise not_a_tensor(name, "input", 1, input)
    if not isinstance(other, (Tensor, int, float)) and not isinstance(python_number(other), (int, float)):
        raise not_a_tensor(name, "other", 2, other)


def _tensor_or_number(with_tensor: Op, with_number: Op, name: str) -> Callable[..., Tensor]:
    def function(input: Tensor, other: Tensor | float) -> Tensor:
        if name == "remainder" and _number(input) and isinstance(other, Tensor):
            return remainder_of_number(other, input)
        require_tensor(name, input, other)
        other = python_number(other)
        out: Tensor = with_tensor(input, other) if isinstance(other, Tensor) else with_number(input, other)
        return out

    return expose(named(function, name, f"Elementwise {name} (torch.{name})."), name)


rem = _tensor_or_number(remainder, remainder_scalar, "remainder")
_tensor_or_number(fmod, fmod_scalar, "fmod")
binary(mul, "multiply")


@public("true_divide")
def true_divide(input: Tensor | float, other: Tensor | float) -> Tensor:
    """Return input / other, broadcast (torch.true_divide)."""
    require_tensor("true_divide", input, other)
    return div(input, other)


for record in (maximum, minimum, fmax, fmin):
    binary(record, forms="fm", numbers=False)
binary(floor_divide)


def _inplace_method(name: str, choose: Callable[..., Any]) -> None:
    def method(self: Tensor, other: Tensor | float, **options: Any) -> Tensor:
        record, rest = choose(other, **options)
        return inplace(record, self, other, *rest)

    setattr(Tensor, name, named(method, name))


_inplace_method("add_", lambda other, alpha=1: (add, ()) if alpha == 1 else (add_scaled, (alpha,)))
_inplace_method("sub_", lambda other, alpha=1: (sub, ()) if alpha == 1 else (sub_scaled, (alpha,)))
Tensor.subtract_ = Tensor.sub_  # type: ignore[assignment, method-assign]
_inplace_method(
    "div_",
    lambda other, rounding_mode=NOT_GIVEN: (
        (div, ())
        if rounding_mode is NOT_GIVEN
        else (div_none, ())
        if rounding_mode is None
        else (div_mode, (rounding_mode,))
    ),
)
Tensor.divide_ = Tensor.true_divide_ = Tensor.div_  # type: ignore[assignment, method-assign]
_inplace_method("pow_", lambda other: (pow_record if isinstance(other, Tensor) else pow_scalar, ()))
_inplace_method("remainder_", lambda other: (remainder if isinstance(other, Tensor) else remainder_scalar, ()))
_inplace_method("fmod_", lambda other: (fmod if isinstance(other, Tensor) else fmod_scalar, ()))

operator("add", add, reflected=True, inplace_too=True)
operator("sub", sub, inplace_too=True)
operator("mul", mul, reflected=True, inplace_too=True)
operator("truediv", div, inplace_too=True)
operator("floordiv", floor_divide, reflected=True, inplace_too=True)


subtracted_from = call.binary(rsub_scalar)


def _number(b: object) -> bool:
    return isinstance(b, (int, float))


def _rsub(a: Tensor, b: Any) -> Any:
    b = python_number(b)
    if state.in_rule and _number(b):
        return number_minus(b, a)
    return subtracted_from(a, b) if _number(b) else NotImplemented


def _rtruediv(a: Tensor, b: Any) -> Any:
    # As PyTorch: scalar / tensor is reciprocal, then mul; inside its own functions not so.
    b = python_number(b)
    if state.in_rule and _number(b):
        return div(as_tensor(b, a), a)
    return a.reciprocal() * b if _number(b) else NotImplemented


def _power(a: Tensor, b: Any) -> Any:
    if a._fast_spec is not None and type(b) in (float, int):
        return power_of_number(a, b)
    b = python_number(b)
    return power(a, b) if _number(b) or isinstance(b, Tensor) else NotImplemented


def _rpower(a: Tensor, b: Any) -> Any:
    b = python_number(b)
    return reflected_power(a, b) if _number(b) else NotImplemented


def _mod(a: Tensor, b: Any) -> Any:
    b = python_number(b)
    return rem(a, b) if _number(b) or isinstance(b, Tensor) else NotImplemented


def _rmod(a: Tensor, b: Any) -> Any:
    b = python_number(b)
    return remainder_of_number(a, b) if _number(b) else NotImplemented


def _rfloordiv(a: Tensor, b: Any) -> Any:
    b = python_number(b)
    return floor_divide(b, a) if _number(b) else NotImplemented


_DUNDERS: dict[str, Any] = {
    "__radd__": Tensor.__add__,
    "__rmul__": Tensor.__mul__,
    "__rsub__": _rsub,
    "__rtruediv__": _rtruediv,
    "__rdiv__": _rtruediv,
    "__pow__": _power,
    "__rpow__": _rpower,
    "__mod__": _mod,
    "__rmod__": _rmod,
    "__rfloordiv__": _rfloordiv,
    "__neg__": unary(neg, "negative"),
    "__pos__": lambda a: a,
    "__ipow__": lambda a, b: a.pow_(b),
    "__imod__": lambda a, b: a.remainder_(b),
    "__hash__": Tensor.__hash__,
}
for _name, _function in _DUNDERS.items():
    setattr(Tensor, _name, _function)
