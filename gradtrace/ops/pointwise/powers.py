"""Powers: of two tensors, and of a tensor and a number."""

from __future__ import annotations

import math

from gradtrace.annotations import Any
from gradtrace.engine.calls import call
from gradtrace.engine.data.dtypes import get_default_dtype, python_number
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import XP, Operand
from gradtrace.engine.operators.op import arith_op, d, elementwise_op, records
from gradtrace.ops import scalars
from gradtrace.ops.api import not_a_tensor, public
from gradtrace.ops.pointwise.arithmetic import (
    inplace_method,
    is_number,
    power_kernel,
    power_scalar_kernel,
)


def pow_scalar_grad(xp: XP, g: Operand, out: object, self: Operand, exponent: float) -> Operand:
    # At exponent 0 the gradient is 0 everywhere, even where self ** -1 is inf.
    if exponent == 0:
        return xp.zeros_like(g)
    return g * (exponent * xp.pow_scalar(self, exponent - 1))


def pow_base_grad(xp: XP, g: Operand, out: object, self: Operand, exponent: Operand) -> Operand:
    return xp.where(exponent == 0, xp.zeros_like(g), g * (exponent * xp.pow(self, exponent - 1)))


def pow_exponent_grad(
    xp: XP, g: Operand, out: Operand, self: Operand, exponent: Operand
) -> Operand:
    flat = xp.logical_and(self == 0, exponent >= 0)
    return g * xp.where(flat, xp.zeros_like(out), out * xp.log(self))


def pow_of_scalar_grad(xp: XP, g: Operand, out: Operand, exponent: Operand, base: float) -> Operand:
    if base == 0:
        # 0 ** x is constant for x >= 0 and has slope -inf below.
        return g * xp.where(exponent >= 0, xp.zeros_like(out), out * -float("inf"))
    log = float("nan") if base < 0 else math.log(base)
    return g * (out * log)


# fmt: off
pow_scalar = elementwise_op("pow_scalar(self; exponent)", power_scalar_kernel, "self**exponent", aten="pow_.Scalar",
    scalar=scalars.power_of, node="PowBackward0",
    self=d("self", pow_scalar_grad))
pow_record = arith_op("pow(self, exponent)", power_kernel, "self**exponent", commutative=False, sign="**",
    aten="pow_.Tensor", symbolic=True, scalar=scalars.power, node="PowBackward1", unsupported_dtypes="b pow",
    self=d("self exponent", pow_base_grad), exponent=d("self exponent out", pow_exponent_grad))
pow_of_scalar = elementwise_op("pow_of_scalar(exponent; base)",
    lambda exponent, base:
        power_kernel(np.asarray(base, exponent.dtype if exponent.dtype.kind == "f" else None), exponent),
    "base**exponent", public="pow", reversed_operands=True,
    scalar=lambda exponent, base: scalars.power(base, exponent), node="PowBackward2",
    exponent=d("exponent out", pow_of_scalar_grad))
# fmt: on


# ---- the public names


@public("pow")
def power(input: Tensor | float, exponent: Tensor | float) -> Tensor:
    """Return input ** exponent; one of them may be a number (torch.pow)."""
    if not isinstance(input, Tensor):
        if not isinstance(exponent, Tensor):
            raise not_a_tensor("pow", "input", 1, input)
        return reflected_power(exponent, python_number(input))
    if isinstance(exponent, Tensor):
        return power_of_tensors(input, exponent)
    return power_number(input, python_number(exponent))


power_of_tensors = call.binary(pow_record)


def power_number(input: Tensor, exponent: float) -> Tensor:
    if not input.is_floating_point() and isinstance(exponent, float):
        input = records["cast"](input, get_default_dtype().np)
    if input.dtype.category == 0 and not isinstance(exponent, bool):
        input = records["cast"](input, np.dtype("int64"))
    if input.dtype.category == 1 and exponent < 0:
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    return power_of_number(input, exponent)


power_of_number = call.with_number(pow_scalar)


def reflected_power(exponent: Tensor, base: float) -> Tensor:
    if not exponent.is_floating_point():
        wanted = None if isinstance(base, int) else get_default_dtype().np
        return pow_record(Tensor._wrap(np.asarray(base, wanted)), exponent)
    return number_to_power(exponent, base)


number_to_power = call.with_number(pow_of_scalar)


def _power(a: Tensor, b: Any) -> Any:
    if a._fast_spec is not None and type(b) in (float, int):
        return power_of_number(a, b)
    b = python_number(b)
    return power(a, b) if is_number(b) or isinstance(b, Tensor) else NotImplemented


def _rpower(a: Tensor, b: Any) -> Any:
    b = python_number(b)
    return reflected_power(a, b) if is_number(b) else NotImplemented


inplace_method("pow_", lambda other: (pow_record if isinstance(other, Tensor) else pow_scalar, ()))
for _name, _function in (
    ("__pow__", _power),
    ("__rpow__", _rpower),
    ("__ipow__", lambda a, b: a.pow_(b)),
):
    setattr(Tensor, _name, _function)
