"""Elementwise choice: maximum, minimum, fmax, fmin, where; and the records with which rules fill
masked elements.
"""

from __future__ import annotations

from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.types import XP, Operand
from gradtrace.engine.operators.op import arith_op, d, elementwise_op, fill_op
from gradtrace.engine.operators.select import select, where_kept
from gradtrace.ops import scalars
from gradtrace.ops.api import binary
from gradtrace.ops.pointwise.arithmetic import first_extreme

# Of equal values numpy takes the second.
# fmt: off
maximum = arith_op("maximum(self, other)", lambda a, b: np.maximum(b, a), "where(self > other, self, other)",
    zero="choice", scalar=scalars.maximum,
    self=d("self other", lambda xp, g, out, self, other: extreme_grad(xp, g, self, other, self < other)),
    other=d("self other", lambda xp, g, out, self, other: extreme_grad(xp, g, other, self, self > other)))
minimum = arith_op("minimum(self, other)", lambda a, b: np.minimum(b, a), "where(self < other, self, other)",
    zero="choice", scalar=scalars.minimum,
    self=d("self other", lambda xp, g, out, self, other: extreme_grad(xp, g, self, other, self > other)),
    other=d("self other", lambda xp, g, out, self, other: extreme_grad(xp, g, other, self, self < other)))
fmax = arith_op("fmax(self, other)", lambda a, b: first_extreme(np.greater_equal, a, b),
    "where(isnan(other) | (self >= other), self, other)", zero="choice",
    self=d("self other", lambda xp, g, out, self, other:
        xp.zeroed(g, xp.logical_not(first_wins(xp, self >= other, other)))),
    other=d("self other", lambda xp, g, out, self, other: xp.zeroed(g, first_wins(xp, self >= other, other))))
fmin = arith_op("fmin(self, other)", lambda a, b: first_extreme(np.less_equal, a, b),
    "where(isnan(other) | (self <= other), self, other)", zero="choice",
    self=d("self other", lambda xp, g, out, self, other:
        xp.zeroed(g, xp.logical_not(first_wins(xp, self <= other, other)))),
    other=d("self other", lambda xp, g, out, self, other: xp.zeroed(g, first_wins(xp, self <= other, other))))
where = elementwise_op("where(condition, self, other)", select, "where(condition, self, other)", zero="branch",
    scalar=scalars.where,
    self=d("condition", lambda xp, g, out, condition, self, other: xp.where(condition, g, xp.zeros_like(g))),
    other=d("condition", lambda xp, g, out, condition, self, other: xp.where(condition, xp.zeros_like(g), g)))
# masked_fill with 0, for use in rules.
zeroed = elementwise_op("zeroed(self; mask)", lambda a, mask: where_kept(np.logical_not(mask), a),
    "where(mask, 0, self)", zero="mask", public="masked_fill", scalar=lambda a, mask: 0.0 if mask else a,
    node="MaskedFillBackward0", self=d("mask", "zeroed(grad, mask)"))
zeros_like = fill_op("zeros_like(self)", "zeros_like", "0", constant=0.0, scalar=lambda x: 0.0)
ones_like = fill_op("ones_like(self)", "ones_like", "1", constant=1.0, scalar=lambda x: 1.0)
# fmt: on


def extreme_grad(xp: XP, g: Operand, mine: Operand, other: Operand, loses: Operand) -> Operand:
    """Split the gradient evenly on ties; if either side is nan, both get the full gradient."""
    return xp.zeroed(xp.where(mine == other, g / 2, g), loses)


def first_wins(xp: XP, wins: Operand, other: Operand) -> Operand:
    return xp.logical_or(wins, other != other)


for record in (maximum, minimum, fmax, fmin):
    binary(record, forms="fm", numbers=False)
