"""Special functions: records and public names; kernels that numpy lacks are in `special_kernels`."""

from __future__ import annotations

import math

from gradtrace.annotations import Any
from gradtrace.engine.lazy import np
from gradtrace.engine.op import d, op
from gradtrace.engine.tensor import Tensor
from gradtrace.ops import special_kernels
from gradtrace.ops.api import binary, expose, public, unary

FLOAT: Any = {"promote": "float"}
TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)


erf = op("erf(self)", special_kernels.erf, scalar=math.erf, node="ErfBackward0", **FLOAT,
         self=d("self", lambda xp, g, out, self: g * (TWO_OVER_ROOT_PI * xp.exp(-(self * self)))))
erfc = op("erfc(self)", special_kernels.erfc, scalar=math.erfc, node="ErfcBackward0", **FLOAT,
          self=d("self", lambda xp, g, out, self: g * (-TWO_OVER_ROOT_PI * xp.exp(-(self * self)))))
logaddexp = op("logaddexp(self, other)", "logaddexp", node="LogaddexpBackward0", **FLOAT,
               lacks=("bi", "logaddexp_cpu"),
               self=d("self other", lambda xp, g, out, self, other: g / (xp.exp(other - self) + 1)),
               other=d("self other", lambda xp, g, out, self, other: g / (xp.exp(self - other) + 1)))
hypot = op("hypot(self, other)", "hypot", scalar=math.hypot, node="HypotBackward0", **FLOAT,
           self=d("self out", lambda xp, g, out, self, other: g * (self / out)),
           other=d("other out", lambda xp, g, out, self, other: g * (other / out)))
xlogy = op("xlogy(self, other)", lambda a, b: np.where(
    np.isnan(b), b, np.where(a == 0, np.zeros_like(a), a * np.log(b))),
           node="XlogyBackward0", **FLOAT,
           self=d("self other", lambda xp, g, out, self, other: g * xp.where(
               xp.logical_and(self == 0, other <= 0), xp.zeros_like(self + other),
               xp.log(other + xp.zeros_like(self)))),
           other=d("self other", lambda xp, g, out, self, other: g * (self / other)))
deg2rad = op("deg2rad(self)", "deg2rad", scalar=math.radians, node="Deg2RadBackward0", **FLOAT,
             self=d("", lambda xp, g, out, self: g * (math.pi / 180)))
rad2deg = op("rad2deg(self)", "rad2deg", scalar=math.degrees, node="Rad2DegBackward0", **FLOAT,
             self=d("", lambda xp, g, out, self: g * (180 / math.pi)))

for _record in (erf, erfc, deg2rad, rad2deg):
    unary(_record)
for _record in (erf, erfc):
    unary(_record, forms="s")
for _record in (logaddexp, hypot, xlogy):
    binary(_record, forms="fmi" if _record is not logaddexp else "fm", numbers=_record is xlogy)


@public("float_power")
def float_power(input: Any, exponent: Any) -> Tensor:
    """input ** exponent in float64 (torch.float_power)."""
    base = input.double() if isinstance(input, Tensor) else float(input)
    power = exponent.double() if isinstance(exponent, Tensor) else float(exponent)
    return base ** power


@public("float_power_", forms="m")
def float_power_(self: Tensor, exponent: Any) -> Tensor:
    """In-place form of float_power; RuntimeError unless this tensor is float64."""
    if self.dtype.name != "float64":
        raise RuntimeError(
            f"the base given to float_power_ has dtype {self.dtype.scalar_type} but the operation's result requires "
            "dtype Double"
        )
    return self.pow_(exponent.double() if isinstance(exponent, Tensor) else float(exponent))


def _from_elsewhere(name: str, own: str) -> None:
    """torch.special.NAME: a function that PyTorch also has under its own name."""

    def function(input: Tensor, *args: Any, **options: Any) -> Tensor:
        from gradtrace import ops

        return ops.find(ops.api.functions, own)(input, *args, **options)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"torch.{own}."
    expose(function, name, forms="s")


for _name, _own in (("expit", "sigmoid"), ("round", "round"), ("xlogy", "xlogy")):
    _from_elsewhere(_name, _own)
