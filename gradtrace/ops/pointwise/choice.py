"""Elementwise choice: maximum, minimum, fmax, fmin, where; and the records with which rules fill masked elements."""

from __future__ import annotations

from gradtrace.engine.lazy import np
from gradtrace.engine.op import d, op
from gradtrace.engine.select import select, where_kept
from gradtrace.engine.types import XP, Operand
from gradtrace.ops import scalars
from gradtrace.ops.api import binary
from gradtrace.ops.pointwise.arithmetic import ARITH
from gradtrace.ops.pointwise.arithmetic_kernels import first_extreme

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


def extreme_grad(xp: XP, g: Operand, mine: Operand, other: Operand, loses: Operand) -> Operand:
    """Split the gradient evenly on ties; if either side is nan, both get the full gradient."""
    return xp.zeroed(xp.where(mine == other, g / 2, g), loses)


def first_wins(xp: XP, wins: Operand, other: Operand) -> Operand:
    return xp.logical_or(wins, other != other)


for record in (maximum, minimum, fmax, fmin):
    binary(record, forms="fm", numbers=False)
