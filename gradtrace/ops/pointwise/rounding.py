"""Rounding: floor, ceil, trunc, round and frac."""

from __future__ import annotations

import math

from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import Array
from gradtrace.engine.operators.op import PASS_ON, ZERO_GRAD, elementwise_op
from gradtrace.ops import scalars
from gradtrace.ops.api import Choice, unary
from gradtrace.ops.arguments import in_both_forms


def round_decimals(x: Array, decimals: int) -> Array:
    if decimals == 0:
        return np.rint(x)
    scale = np.asarray(10.0 ** abs(decimals)).astype(x.dtype)
    return np.rint(x * scale) / scale if decimals >= 0 else np.rint(x / scale) * scale


# fmt: off
floor = elementwise_op("floor(self)", "floor", "floor(self)", zero="flat", scalar=scalars.floor,
    unsupported_dtypes="b floor_vml_cpu", self=ZERO_GRAD)
ceil = elementwise_op("ceil(self)", "ceil", "ceil(self)", zero="flat", scalar=scalars.ceil,
    unsupported_dtypes="b ceil_vml_cpu", self=ZERO_GRAD)
trunc = elementwise_op("trunc(self)", "trunc", "where(self < 0, ceil(self), floor(self))", zero="flat",
    scalar=scalars.trunc, unsupported_dtypes="b trunc_vml_cpu", self=ZERO_GRAD)
round_record = elementwise_op("round(self)", lambda x: np.rint(x) if x.dtype.kind == "f" else x.copy(), "round(self)",
    zero="flat", scalar=scalars.round_half_even, unsupported_dtypes="b round_vml_cpu", self=ZERO_GRAD)
round_to = elementwise_op("round_to(self; decimals)", round_decimals, "round(self * 10**decimals) / 10**decimals",
    zero="flat", node="RoundBackward1", unsupported_dtypes="bi round_cpu", self=ZERO_GRAD)
frac = elementwise_op("frac(self)", lambda x: x - np.trunc(x), "self - trunc(self)",
    scalar=lambda x: x - math.trunc(x) + 0.0, unsupported_dtypes="bi frac_cpu", self=PASS_ON)
# fmt: on
# ---- the public names

for _record in (floor, ceil, frac):
    unary(_record)
unary(trunc, "fix")


@in_both_forms("round")
def choose_round(input: Tensor, *, decimals: int = 0) -> Choice:
    """Round to the nearest integer, half to even, or to `decimals` digits after the point (torch.round)."""
    return (round_record, (input,)) if decimals == 0 else (round_to, (input, decimals))
