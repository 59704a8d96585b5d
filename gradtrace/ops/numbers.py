"""Records of arithmetic with a number for composed functions and rules, where PyTorch uses other node names."""

from __future__ import annotations

import operator as py

from gradtrace.engine.op import d, op

add_number = op(
    "add_number(self; other)",
    lambda a, other: a + other,
    formula="self + other",
    kind="elementwise",
    scalar=py.add,
    node="AddBackward1",
    promote="float",
    self=d("", lambda xp, g, out, self, other: g),
)
sub_number = op(
    "sub_number(self; other)",
    lambda a, other: a - other,
    formula="self - other",
    kind="elementwise",
    scalar=py.sub,
    node="SubBackward1",
    promote="float",
    self=d("", lambda xp, g, out, self, other: g),
)
mul_number = op(
    "mul_number(self; other)",
    lambda a, other: a * other,
    formula="self * other",
    kind="elementwise",
    scalar=py.mul,
    node="MulBackward1",
    promote="float",
    self=d("", lambda xp, g, out, self, other: g * other),
)
div_number = op(
    "div_number(self; other)",
    lambda a, other: a / other,
    formula="self / other",
    kind="elementwise",
    scalar=py.truediv,
    node="DivBackward1",
    promote="float",
    self=d("", lambda xp, g, out, self, other: g / other),
)
