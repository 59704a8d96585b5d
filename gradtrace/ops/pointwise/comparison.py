"""Comparisons, logical and bitwise operators, whose results have no gradient."""

from __future__ import annotations

import operator as py

from gradtrace.engine.op import op
from gradtrace.engine.tensor import Tensor
from gradtrace.ops.api import binary, operator, unary
from gradtrace.ops.pointwise.arithmetic import ARITH

COMPARE = {"promote": "compare"}
eq = op(
    "eq(self, other)",
    "equal",
    formula="1 if self == other else 0",
    kind="elementwise",
    commutative=True,
    sign="==",
    scalar=py.eq,
    **COMPARE,
)
ne = op(
    "ne(self, other)",
    "not_equal",
    formula="1 if self != other else 0",
    kind="elementwise",
    commutative=True,
    sign="!=",
    scalar=py.ne,
    **COMPARE,
)
lt = op(
    "lt(self, other)",
    "less",
    formula="1 if self < other else 0",
    kind="elementwise",
    commutative=False,
    sign="<",
    scalar=py.lt,
    **COMPARE,
)
le = op(
    "le(self, other)",
    "less_equal",
    formula="1 if self <= other else 0",
    kind="elementwise",
    commutative=False,
    sign="<=",
    scalar=py.le,
    **COMPARE,
)
gt = op(
    "gt(self, other)",
    "greater",
    formula="1 if self > other else 0",
    kind="elementwise",
    commutative=False,
    sign=">",
    scalar=py.gt,
    **COMPARE,
)
ge = op(
    "ge(self, other)",
    "greater_equal",
    formula="1 if self >= other else 0",
    kind="elementwise",
    commutative=False,
    sign=">=",
    scalar=py.ge,
    **COMPARE,
)
logical_and = op(
    "logical_and(self, other)",
    "logical_and",
    formula="1 if self != 0 and other != 0 else 0",
    kind="elementwise",
    scalar=lambda a, b: bool(a) and bool(b),
)
logical_or = op(
    "logical_or(self, other)",
    "logical_or",
    formula="1 if self != 0 or other != 0 else 0",
    kind="elementwise",
    scalar=lambda a, b: bool(a) or bool(b),
)
logical_xor = op(
    "logical_xor(self, other)",
    "logical_xor",
    formula="1 if (self != 0) != (other != 0) else 0",
    kind="elementwise",
    scalar=lambda a, b: bool(a) != bool(b),
)
logical_not = op(
    "logical_not(self)", "logical_not", formula="1 if self == 0 else 0", kind="elementwise", scalar=lambda a: not a
)
bitwise_and = op(
    "bitwise_and(self, other)",
    "bitwise_and",
    formula="self & other",
    kind="elementwise",
    sign="&",
    unsupported_dtypes=("f", "bitwise_and_cpu"),
    **ARITH,
)
bitwise_or = op(
    "bitwise_or(self, other)",
    "bitwise_or",
    formula="self | other",
    kind="elementwise",
    sign="|",
    unsupported_dtypes=("f", "bitwise_or_cpu"),
    **ARITH,
)
bitwise_xor = op(
    "bitwise_xor(self, other)",
    "bitwise_xor",
    formula="self ^ other",
    kind="elementwise",
    sign="^",
    unsupported_dtypes=("f", "bitwise_xor_cpu"),
    **ARITH,
)
bitwise_not = op(
    "bitwise_not(self)", "invert", formula="-self - 1", kind="elementwise", unsupported_dtypes=("f", "bitwise_not_cpu")
)
bitwise_left_shift = op(
    "bitwise_left_shift(self, other)",
    "left_shift",
    formula="self * 2**other",
    kind="elementwise",
    sign="<<",
    unsupported_dtypes=("bf", "lshift_cpu"),
    **ARITH,
)
bitwise_right_shift = op(
    "bitwise_right_shift(self, other)",
    "right_shift",
    formula="floor(self / 2**other)",
    kind="elementwise",
    sign=">>",
    unsupported_dtypes=("bf", "rshift_cpu"),
    **ARITH,
)

for _record, _alias in (
    (eq, "eq"),
    (ne, "not_equal"),
    (lt, "less"),
    (le, "less_equal"),
    (gt, "greater"),
    (ge, "greater_equal"),
):
    binary(_record, _alias)
for _record in (
    logical_and,
    logical_or,
    logical_xor,
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    bitwise_left_shift,
    bitwise_right_shift,
):
    binary(_record, numbers=_record not in (logical_and, logical_or, logical_xor))
unary(logical_not)
unary(bitwise_not)


def inverted(self: Tensor) -> Tensor:
    if self.is_floating_point():
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return bitwise_not(self)


setattr(Tensor, "__invert__", inverted)  # noqa: B010 - a checker knows of no such operator
for _dunder, _record in (("and", bitwise_and), ("or", bitwise_or), ("xor", bitwise_xor)):
    operator(_dunder, _record, reflected=True, inplace_too=True)
for _dunder, _record in (("lshift", bitwise_left_shift), ("rshift", bitwise_right_shift)):
    operator(_dunder, _record, inplace_too=True)
for _dunder, _record in (("eq", eq), ("ne", ne), ("lt", lt), ("le", le), ("gt", gt), ("ge", ge)):
    operator(_dunder, _record)
