"""Comparisons, logical and bitwise operators, whose results have no gradient."""

from __future__ import annotations

import _operator as py  # operator takes 0.4 ms to import

from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.operators.op import arith_op, elementwise_op
from gradtrace.lazy_names import words
from gradtrace.ops.api import binary, operator, unary

# fmt: off
eq = elementwise_op("eq(self, other)", "equal", "1 if self == other else 0", commutative=True, sign="==", scalar=py.eq,
    promote="compare")
ne = elementwise_op("ne(self, other)", "not_equal", "1 if self != other else 0", commutative=True, sign="!=",
    scalar=py.ne, promote="compare")
lt = elementwise_op("lt(self, other)", "less", "1 if self < other else 0", commutative=False, sign="<", scalar=py.lt,
    promote="compare")
le = elementwise_op("le(self, other)", "less_equal", "1 if self <= other else 0", commutative=False, sign="<=",
    scalar=py.le, promote="compare")
gt = elementwise_op("gt(self, other)", "greater", "1 if self > other else 0", commutative=False, sign=">",
    scalar=py.gt, promote="compare")
ge = elementwise_op("ge(self, other)", "greater_equal", "1 if self >= other else 0", commutative=False, sign=">=",
    scalar=py.ge, promote="compare")
logical_and = elementwise_op("logical_and(self, other)", "logical_and", "1 if self != 0 and other != 0 else 0",
    scalar=lambda a, b: bool(a) and bool(b))
logical_or = elementwise_op("logical_or(self, other)", "logical_or", "1 if self != 0 or other != 0 else 0",
    scalar=lambda a, b: bool(a) or bool(b))
logical_xor = elementwise_op("logical_xor(self, other)", "logical_xor", "1 if (self != 0) != (other != 0) else 0",
    scalar=lambda a, b: bool(a) != bool(b))
logical_not = elementwise_op("logical_not(self)", "logical_not", "1 if self == 0 else 0", scalar=lambda a: not a)
bitwise_and = arith_op("bitwise_and(self, other)", "bitwise_and", "self & other", sign="&",
    unsupported_dtypes="f bitwise_and_cpu")
bitwise_or = arith_op("bitwise_or(self, other)", "bitwise_or", "self | other", sign="|",
    unsupported_dtypes="f bitwise_or_cpu")
bitwise_xor = arith_op("bitwise_xor(self, other)", "bitwise_xor", "self ^ other", sign="^",
    unsupported_dtypes="f bitwise_xor_cpu")
bitwise_not = elementwise_op("bitwise_not(self)", "invert", "-self - 1", unsupported_dtypes="f bitwise_not_cpu")
bitwise_left_shift = arith_op("bitwise_left_shift(self, other)", "left_shift", "self * 2**other", sign="<<",
    unsupported_dtypes="bf lshift_cpu")
bitwise_right_shift = arith_op("bitwise_right_shift(self, other)", "right_shift", "floor(self / 2**other)", sign=">>",
    unsupported_dtypes="bf rshift_cpu")
# fmt: on

binary(eq, "eq")
for _record, _alias in zip(
    (ne, lt, le, gt, ge), words("not_equal less less_equal greater greater_equal"), strict=True
):
    binary(_record, _alias)
for _record in (logical_and, logical_or, logical_xor):
    binary(_record, numbers=False)
for _record in (bitwise_and, bitwise_or, bitwise_xor, bitwise_left_shift, bitwise_right_shift):
    binary(_record)
unary(logical_not)
unary(bitwise_not)


def inverted(self: Tensor) -> Tensor:
    if self.is_floating_point():
        raise TypeError(
            "~ (operator.invert) is only implemented on integer and Boolean-type tensors"
        )
    return bitwise_not(self)


setattr(Tensor, "__invert__", inverted)  # noqa: B010 - a checker knows of no such operator
for _dunder, _record in (("and", bitwise_and), ("or", bitwise_or), ("xor", bitwise_xor)):
    operator(_dunder, _record, reflected=True, inplace_too=True)
for _dunder, _record in (("lshift", bitwise_left_shift), ("rshift", bitwise_right_shift)):
    operator(_dunder, _record, inplace_too=True)
for _dunder, _record in (("eq", eq), ("ne", ne), ("lt", lt), ("le", le), ("gt", gt), ("ge", ge)):
    operator(_dunder, _record)
