"""Bessel functions of orders 0 and 1: torch.i0 and functions of torch.special. Kernels are in `bessel_kernels`.

PyTorch has derivatives only for i0, i0e, i1 and i1e. PyTorch's J and Y have seven correct digits between 2 and 10;
these have full double precision.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Callable
from gradtrace.engine.op import d, float_op
from gradtrace.engine.types import XP, Operand
from gradtrace.ops.api import unary
from gradtrace.ops.special import bessel_kernels as kernels
from gradtrace.ops.special.erf_kernels import on_floats

EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10}


def quotient(xp: XP, x: Operand, slope: Callable[[Any], Any]) -> Operand:
    """Return `slope(x)`, which divides by x; for |x| below the machine epsilon and for nan return its limit 1/2.

    This follows PyTorch's i1_backward.
    """
    plain = xp.abs(x) > EPSILON.get(str(getattr(x, "dtype", "")).rpartition(".")[2], EPSILON["float64"])
    return xp.where(plain, slope(xp.where(plain, x, xp.ones_like(x))), xp.ones_like(x) * 0.5)


# fmt: off
i0 = float_op("i0(self)", on_floats(kernels.i_plain, 0), "integral[t, 0, pi](exp(self * cos(t))) / pi",
    self=d("self", lambda xp, g, out, self: g * xp.i1(self)))
i0e = float_op("i0e(self)", on_floats(kernels.i_scaled, 0), "exp(-abs(self)) * i0(self)", node="SpecialI0EBackward0",
    self=d("self out", lambda xp, g, out, self: g * (xp.i1e(self) - xp.sgn(self) * out)))
i1 = float_op("i1(self)", on_floats(kernels.i_plain, 1), "integral[t, 0, pi](exp(self * cos(t)) * cos(t)) / pi",
    node="SpecialI1Backward0",
    self=d("self out", lambda xp, g, out, self: g * quotient(xp, self, lambda x: xp.i0(x) - out / x)))
i1e = float_op("i1e(self)", on_floats(kernels.i_scaled, 1), "exp(-abs(self)) * i1(self)", node="SpecialI1EBackward0",
    self=d("self out", lambda xp, g, out, self:
        g * quotient(xp, self, lambda x: xp.i0e(x) - out * (xp.sgn(x) + xp.reciprocal(x)))))
# fmt: on

unary(i0)
for _record in (i0, i0e, i1, i1e):
    unary(_record, forms="s")

for _name, _formula, _kernel, *_rest in (
    ("bessel_j0", "integral[t, 0, pi](cos(self * sin(t))) / pi", kernels.j, 0),
    ("bessel_j1", "integral[t, 0, pi](cos(t - self * sin(t))) / pi", kernels.j, 1),
    (
        "bessel_y0",
        "4 / pi**2 * integral[t, 0, pi / 2](cos(self * cos(t)) * (gamma + log(2 * self * sin(t)**2)))",
        kernels.y,
        0,
    ),
    ("bessel_y1", "-d[self](bessel_y0(self))", kernels.y, 1),
    ("modified_bessel_i0", "integral[t, 0, pi](exp(self * cos(t))) / pi", kernels.i_plain, 0),
    ("modified_bessel_i1", "integral[t, 0, pi](exp(self * cos(t)) * cos(t)) / pi", kernels.i_plain, 1),
    ("modified_bessel_k0", "integral[t, 0, inf](exp(-self * cosh(t)))", kernels.k_any, 0, False),
    ("modified_bessel_k1", "integral[t, 0, inf](exp(-self * cosh(t)) * cosh(t))", kernels.k_any, 1, False),
    ("scaled_modified_bessel_k0", "exp(self) * modified_bessel_k0(self)", kernels.k_any, 0, True),
    ("scaled_modified_bessel_k1", "exp(self) * modified_bessel_k1(self)", kernels.k_any, 1, True),
    ("spherical_bessel_j0", "sin(self) / self", kernels.spherical_j0),
):
    unary(float_op(f"{_name}(self)", on_floats(_kernel, *_rest), _formula), forms="s")
