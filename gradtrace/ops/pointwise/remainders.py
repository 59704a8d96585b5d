"""Remainders: `remainder` (Python's %, the sign of the divisor) and `fmod` (C's, the sign of the
dividend).
"""

from __future__ import annotations

import math

from gradtrace.annotations import Any, Callable
from gradtrace.engine.data.dtypes import python_number
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.operators.op import PASS_ON, Op, arith_op, d
from gradtrace.ops import scalars
from gradtrace.ops.api import expose, named
from gradtrace.ops.pointwise.arithmetic import (
    inplace_method,
    is_number,
    python_remainder,
    require_tensor,
    truncated_remainder,
)

# fmt: off
remainder = arith_op("remainder(self, other)", python_remainder, "self - other * floor(self / other)",
    commutative=False, sign="%", scalar=scalars.remainder, node="RemainderBackward1",
    unsupported_dtypes="b remainder_cpu", self=PASS_ON,
    other=d("self other", lambda xp, g, out, self, other: -g * xp.div_mode(self, other, "floor")))
remainder_scalar = arith_op("remainder_scalar(self, other)", python_remainder, "self - other * floor(self / other)",
    scalar=scalars.remainder, node="RemainderBackward0", self=PASS_ON)
remainder_of_number = arith_op("remainder_of_number(self, other)",
    lambda a, b: python_remainder(np.asarray(b, a.dtype if a.dtype.kind == "f" else None), a),
    "other - self * floor(other / self)", scalar=lambda a, b: scalars.remainder(b, a), undefined="remainder")
fmod = arith_op("fmod(self, other)", truncated_remainder, "self - other * trunc(self / other)", scalar=math.fmod,
    node="FmodBackward1", unsupported_dtypes="b fmod_cpu", self=PASS_ON,
    other=d("self other", lambda xp, g, out, self, other:
        -g * xp.trunc(self / other), lambda xp, g, out, self, other: -g * xp.div_mode(self, other, "trunc")))
fmod_scalar = arith_op("fmod_scalar(self, other)", truncated_remainder, "self - other * trunc(self / other)",
    scalar=math.fmod, node="FmodBackward0", self=PASS_ON)
# fmt: on
# ---- the public names


def _tensor_or_number(with_tensor: Op, with_number: Op, name: str) -> Callable[..., Tensor]:
    def function(input: Tensor, other: Tensor | float) -> Tensor:
        if name == "remainder" and is_number(input) and isinstance(other, Tensor):
            return remainder_of_number(other, input)
        require_tensor(name, input, other)
        other = python_number(other)
        return with_tensor(input, other) if isinstance(other, Tensor) else with_number(input, other)

    return expose(named(function, name, f"Elementwise {name} (torch.{name})."), name)


rem = _tensor_or_number(remainder, remainder_scalar, "remainder")
_tensor_or_number(fmod, fmod_scalar, "fmod")


def _mod(a: Tensor, b: Any) -> Any:
    b = python_number(b)
    return rem(a, b) if is_number(b) or isinstance(b, Tensor) else NotImplemented


def _rmod(a: Tensor, b: Any) -> Any:
    b = python_number(b)
    return remainder_of_number(a, b) if is_number(b) else NotImplemented


inplace_method(
    "remainder_", lambda other: (remainder if isinstance(other, Tensor) else remainder_scalar, ())
)
inplace_method("fmod_", lambda other: (fmod if isinstance(other, Tensor) else fmod_scalar, ()))

for _name, _function in (
    ("__mod__", _mod),
    ("__rmod__", _rmod),
    ("__imod__", lambda a, b: a.remainder_(b)),
):
    setattr(Tensor, _name, _function)
