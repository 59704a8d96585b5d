"""Orthogonal polynomials: torch.special.chebyshev_polynomial_t and similar; without derivatives, as in PyTorch.

Each family is a recurrence p[k+1] = a(k, x) p[k] - b(k) p[k-1] (Abramowitz and Stegun, 22.7), evaluated up to the
largest degree needed. A negative degree gives 0.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Callable
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import Array
from gradtrace.engine.operators.op import float_op
from gradtrace.engine.operators.tables import record_table
from gradtrace.ops.api import expose, named, not_a_tensor

MOST = 100_000  # degrees: a recurrence of this length already takes seconds
Step = Callable[[int, Any, Any, Any], Any]  # k, x, p[k], p[k-1]


def chebyshev_step(k: int, x: Array, q: Array, p: Array) -> Array:
    return (x + x) * q - p


# Name: the polynomial of degree 1, the step, and the polynomial of degree `other` at `self`.
# fmt: off
FAMILIES: dict[str, tuple[Callable[[Any], Any], Step, str]] = record_table("ops.polynomials.FAMILIES", {
    "chebyshev_polynomial_t": (lambda x: x, chebyshev_step, "cos(other * acos(self))"),
    "chebyshev_polynomial_u": (lambda x: x + x, chebyshev_step, "sin((other + 1) * acos(self)) / sin(acos(self))"),
    "chebyshev_polynomial_v": (lambda x: x + x - 1, chebyshev_step,
        "cos((2 * other + 1) * acos(self) / 2) / cos(acos(self) / 2)"),
    "chebyshev_polynomial_w": (lambda x: x + x + 1, chebyshev_step,
        "sin((2 * other + 1) * acos(self) / 2) / sin(acos(self) / 2)"),
    "hermite_polynomial_h": (lambda x: x + x, lambda k, x, q, p: (x + x) * q - 2 * k * p,
        "(-1)**other * exp(self**2) * d[self, other](exp(-self**2))"),
    "hermite_polynomial_he": (lambda x: x, lambda k, x, q, p: x * q - k * p,
        "(-1)**other * exp(self**2 / 2) * d[self, other](exp(-self**2 / 2))"),
    "laguerre_polynomial_l": (lambda x: 1 - x, lambda k, x, q, p: ((k + k + (1 - x)) * q - k * p) / (k + 1),
        "exp(self) / factorial(other) * d[self, other](self**other * exp(-self))"),
    "legendre_polynomial_p": (lambda x: x, lambda k, x, q, p: ((k + k + 1) * x * q - k * p) / (k + 1),
        "d[self, other]((self**2 - 1)**other) / (2**other * factorial(other))"),
})
# fmt: on


def kernel_of(first: Callable[[Any], Any], step: Step, shifted: bool) -> Callable[[Array, Array], Array]:
    def kernel(x: Array, n: Array) -> Array:
        dtype = np.result_type(x, n)
        shape = np.broadcast_shapes(np.shape(x), np.shape(n))
        x, n = (np.array(np.broadcast_to(v, shape), np.float64) for v in (x, n))
        degree = np.trunc(n)
        most = int(degree.max(initial=0)) if np.isfinite(degree).all() else MOST + 1
        if most > MOST:
            raise RuntimeError(f"a polynomial's degree may be {MOST:,} at most")
        if shifted:
            x = x + x - 1
        p, q = np.ones(shape), np.asarray(first(x))
        out = np.where(degree < 0, 0.0, np.where(degree == 0, p, q))
        for k in range(1, most):
            p, q = q, np.asarray(step(k, x, q, p))
            out = np.where(degree == k + 1, q, out)
        return out.astype(dtype)

    return kernel


def _expose(name: str, first: Callable[[Any], Any], step: Step, formula: str, shifted: bool) -> None:
    record = float_op(f"{name}(self, other)", kernel_of(first, step, shifted), formula)

    def function(input: Tensor | float, n: Tensor | float) -> Tensor:
        if not isinstance(input, Tensor) and not isinstance(n, Tensor):
            raise not_a_tensor(f"special_{name}", "input", 1, input)
        return record(input, n)

    doc = f"Evaluate the polynomial of degree n elementwise at input (torch.special.{name})."
    expose(named(function, name, doc), forms="s")


for _name, (_first, _step, _formula) in FAMILIES.items():
    _expose(_name, _first, _step, _formula, False)
    if _name.startswith("chebyshev"):
        _expose("shifted_" + _name, _first, _step, _formula.replace("self", "(2 * self - 1)"), True)
