"""Sums, differences, products and quotients: the operators behind Python's + - * / //.

A record lists its signature and kernel, then for each argument what its derivative needs and the rule.
"""

from __future__ import annotations

import operator as py

from gradtrace.annotations import Any, Callable
from gradtrace.engine import call
from gradtrace.engine.dtypes import python_number
from gradtrace.engine.inplace import inplace
from gradtrace.engine.lazy import np
from gradtrace.engine.op import d, op
from gradtrace.engine.state import state
from gradtrace.engine.tensor import Tensor
from gradtrace.ops import (
    numbers,  # noqa: F401 - the records that `number=` names
    scalars,
)
from gradtrace.ops.api import NOT_GIVEN, binary, named, not_a_tensor, operator, public, unary
from gradtrace.ops.pointwise.arithmetic_kernels import (
    floor_division,
    is_bool,
    minus_scaled,
    negate,
    plus_scaled,
    refuse_bools,
    reversed_subtract,
    rounded_division,
    scaled,
)

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
    """Convert a number to a 0-d tensor of x's dtype."""
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


binary(mul, "multiply")


@public("true_divide")
def true_divide(input: Tensor | float, other: Tensor | float) -> Tensor:
    """Return input / other, broadcast (torch.true_divide)."""
    require_tensor("true_divide", input, other)
    return div(input, other)


binary(floor_divide)


def inplace_method(name: str, choose: Callable[..., Any]) -> None:
    def method(self: Tensor, other: Tensor | float, **options: Any) -> Tensor:
        record, rest = choose(other, **options)
        return inplace(record, self, other, *rest)

    setattr(Tensor, name, named(method, name))


inplace_method("add_", lambda other, alpha=1: (add, ()) if alpha == 1 else (add_scaled, (alpha,)))
inplace_method("sub_", lambda other, alpha=1: (sub, ()) if alpha == 1 else (sub_scaled, (alpha,)))
Tensor.subtract_ = Tensor.sub_  # type: ignore[assignment, method-assign]
inplace_method(
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
    return a.reciprocal() * b if is_number(b) else NotImplemented


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
