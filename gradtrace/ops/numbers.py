"""Records of arithmetic with a number for composed functions and rules, where PyTorch uses other
node names.
"""

from __future__ import annotations

import _operator as py  # operator takes 0.4 ms to import

from gradtrace.engine.operators.op import PASS_ON, d, float_op
from gradtrace.engine.operators.rounding import over_number, times_number

# fmt: off
add_number = float_op("add_number(self; other)", lambda a, other: a + other, "self + other", scalar=py.add,
    node="AddBackward1", self=PASS_ON)
sub_number = float_op("sub_number(self; other)", lambda a, other: a - other, "self - other", scalar=py.sub,
    node="SubBackward1", self=PASS_ON)
mul_number = float_op("mul_number(self; other)", times_number, "self * other", scalar=py.mul,
    node="MulBackward1", self=d("", lambda xp, g, out, self, other: xp.mul_number(g, other)))
div_number = float_op("div_number(self; other)", over_number, "self / other", scalar=py.truediv,
    node="DivBackward1", self=d("", lambda xp, g, out, self, other: xp.div_number(g, other)))
# fmt: on
