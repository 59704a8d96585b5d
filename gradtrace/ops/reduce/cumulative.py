"""Cumulative sums and products along a dim, and differences of neighbours: diff, trapezoid,
gradient.

The gradients of cumprod and logcumsumexp are recurrences B[k] = g[k] + a[k] B[k+1], computed as
scans by doubling: log n steps of shifts, products and sums, without division, and therefore correct
at zeros and to any order.
"""

from __future__ import annotations

import math

from gradtrace import ops
from gradtrace.annotations import Sequence
from gradtrace.engine.calls.inplace import inplace
from gradtrace.engine.data import dtypes
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.state import state
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import XP, Array, Kernel, NumpyDtype, Operand
from gradtrace.engine.operators.op import Op, d, scan_op, structural_op
from gradtrace.ops.api import functions, is_int
from gradtrace.ops.arguments import need_float, one_dim, torch_function
from gradtrace.ops.create.factories import assign
from gradtrace.ops.numbers import div_number, mul_number
from gradtrace.ops.reduce.sums import numpy_dtype

# ---- kernels


def shift_kernel(a: Array, dim: int, steps: int, fill: float) -> Array:
    """Shift the elements by `steps` towards higher indices along `dim`, filling with `fill`."""
    out = np.full_like(a, fill)
    n = a.shape[dim]
    if abs(steps) >= n:
        return out
    ahead = slice(max(steps, 0), n + min(steps, 0))
    behind = slice(max(-steps, 0), n - max(steps, 0))
    lead = (slice(None),) * dim
    out[(*lead, ahead)] = a[(*lead, behind)]
    return out


def running(ufunc: str) -> Kernel:
    def kernel(a: Array, dim: int, dtype: NumpyDtype | None = None) -> Array:
        wanted = dtype or (a.dtype if a.dtype.kind == "f" else np.dtype(np.int64))
        if not a.ndim:
            return a.astype(wanted)
        return getattr(np, ufunc).accumulate(a, axis=dim, dtype=wanted)

    return kernel


def running_log_sum(a: Array, dim: int) -> Array:
    if not a.ndim:
        return a.copy()
    # In float32, numpy's logaddexp is an ulp less accurate than PyTorch's.
    return np.logaddexp.accumulate(a.astype(np.float64), axis=dim).astype(a.dtype)


# ---- rules


def backwards(xp: XP, record: str, x: Operand, dim: int) -> Operand:
    """Apply a cumulative record, such as cumsum, from the end to the start."""
    if not x.ndim:
        return x
    return xp.flip(getattr(xp, record)(xp.flip(x, (dim,)), dim), (dim,))


def recurrence(xp: XP, start: Operand, factor: Operand, dim: int) -> Operand:
    """Solve B[k] = start[k] + factor[k] * B[k+1] by doubling."""
    total = start
    step = 1
    while step < total.shape[dim]:
        total = total + factor * xp.shift(total, dim, -step, 0)
        factor = factor * xp.shift(factor, dim, -step, 0)
        step *= 2
    return total


def cumprod_grad(xp: XP, g: Operand, out: Operand, self: Operand, dim: int, *_: object) -> Operand:
    if not self.ndim:
        return g
    if not state.planning and not bool((self == 0).any()):
        return backwards(xp, "cumsum", g * out, dim) / self
    before = xp.cumprod(xp.shift(self, dim, 1, 1), dim)
    return before * recurrence(xp, g, xp.shift(self, dim, -1, 0), dim)


def logcumsumexp_grad(xp: XP, g: Operand, out: Operand, self: Operand, dim: int) -> Operand:
    """Return sum over j >= k of g[j] exp(self[k] - out[j]); no factor exp(out[k] - out[k+1])
    exceeds 1.
    """
    if not self.ndim:
        return g
    # PyTorch's algorithm, bit for bit; it is not differentiable where g is 0
    if not isinstance(g, Tensor):
        return positive_part(xp, g, self, out, dim) - positive_part(xp, -g, self, out, dim)
    before = xp.shift(out, dim, 1, -math.inf)
    # also between equal infinities
    fade = xp.where(before == out, xp.ones_like(out), xp.exp(before - out))
    return xp.exp(self - out) * recurrence(xp, g, xp.shift(fade, dim, -1, 0), dim)


def positive_part(xp: XP, g: Operand, self: Operand, out: Operand, dim: int) -> Operand:
    """Return the part of the logcumsumexp gradient that comes from the positive entries of g."""
    logs = xp.where(g > 0, xp.log(g), np.asarray(-math.inf, g.dtype)) - out
    return xp.exp(xp.flip(xp.logcumsumexp(xp.flip(logs, (dim,)), dim), (dim,)) + self)


# fmt: off
shift = structural_op("shift(self; dim, steps, fill)", shift_kernel, "out[..., i, ...] = self[..., i - steps, ...]",
    node="ConstantPadNdBackward0",
    self=d("", lambda xp, g, out, self, dim, steps, fill: xp.shift(g, dim, -steps, 0)))
cumsum = scan_op("cumsum(self; dim, dtype)", running("add"), "out[..., i, ...] = sum[k, 0, i](self[..., k, ...])",
    c_order=True, self=d("", lambda xp, g, out, self, dim, dtype=None: backwards(xp, "cumsum", g, dim)))
cumprod = scan_op("cumprod(self; dim, dtype)", running("multiply"),
    "out[..., i, ...] = prod[k, 0, i](self[..., k, ...])", c_order=True,
    self=d("self out", cumprod_grad))
logcumsumexp = scan_op("logcumsumexp(self; dim)", running_log_sum,
    "out[..., i, ...] = log(sum[k, 0, i](exp(self[..., k, ...])))", c_order=True,
    self=d("self out", logcumsumexp_grad))
# fmt: on


# ---- the public names


def _running(name: str, record: Op) -> None:
    def function(input: Tensor, dim: int, *, dtype: dtypes.dtype | None = None) -> Tensor:
        return record(input, one_dim(name, dim, input.ndim), numpy_dtype(input, dtype))

    function.__doc__ = f"Cumulative {name[3:]} along `dim`; integers give int64 (torch.{name})."
    torch_function(name)(function)

    def method(self: Tensor, dim: int, *, dtype: dtypes.dtype | None = None) -> Tensor:
        if self.dtype.category == 0 and self.ndim:
            raise NotImplementedError(f"\"{name}_out_cpu\" not implemented for 'Bool'")
        return inplace(
            record, self, one_dim(name, dim, self.ndim), numpy_dtype(self, dtype) or self.dtype.np
        )

    method.__name__ = name + "_"
    method.__doc__ = f"In-place form of {name}."
    setattr(Tensor, name + "_", method)


_running("cumsum", cumsum)
_running("cumprod", cumprod)


@torch_function("logcumsumexp")
def running_logsumexp(input: Tensor, dim: int) -> Tensor:
    """Logarithm of the cumulative sum of exp(input) along `dim`, without overflow
    (torch.logcumsumexp).
    """
    axis = one_dim("logcumsumexp", dim, input.ndim)
    need_float(input, "logcumsumexp_out_cpu")
    return logcumsumexp(input, axis)


# ---- differences


def neighbours(x: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """Return all but the first and all but the last entries along `dim`."""
    n = x.shape[dim]
    return x.narrow(dim, 1, max(n - 1, 0)), x.narrow(dim, 0, max(n - 1, 0))


@torch_function("diff")
def difference(
    input: Tensor,
    n: int = 1,
    dim: int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor:
    """n-th difference of neighbours along `dim` (torch.diff)."""
    if input.ndim == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    axis = one_dim("diff", dim, input.ndim)
    if (prepend is not None or append is not None) and n:
        input = ops.find(functions, "cat")(
            [t for t in (prepend, input, append) if t is not None], axis
        )
    if n == 0:
        return assign(ops.find(functions, "zeros_like")(input), input)
    for _ in range(min(n, input.shape[axis])):
        later, earlier = neighbours(input, axis)
        input = later.logical_xor(earlier) if input.dtype.name == "bool" else later - earlier
    return input


def dim_of_samples(input: Tensor, dim: int) -> int:
    if not input.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return one_dim("trapezoid", dim, input.ndim)


def spacing_of(name: str, x: Tensor, y: Tensor, dim: int) -> Tensor:
    """Return the widths between sample points, shaped to multiply y's neighbours along `dim`."""
    if x.ndim == 1 and y.ndim != 1:
        if x.shape[0] != y.shape[dim]:
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
        widths = difference(x)
        return widths.reshape([-1 if i == dim else 1 for i in range(y.ndim)])
    return difference(x, dim=dim - y.ndim)


@torch_function("trapezoid", "trapz", forms="f")
def trapezoid(input: Tensor, x: Tensor | None = None, *, dx: float = 1, dim: int = -1) -> Tensor:
    """Integrate by the trapezoidal rule along `dim`, at points `x` or spaced by `dx`
    (torch.trapezoid).
    """
    axis = dim_of_samples(input, dim)
    n = input.shape[axis]
    if x is None:
        if n == 0:
            return ops.find(functions, "zeros_like")(input.sum(axis))
        ends = mul_number(input.select(axis, 0) + input.select(axis, n - 1), 0.5)
        return mul_number(input.sum(axis) - ends, dx)
    widths = spacing_of("trapezoid", x, input, axis)
    later, earlier = neighbours(input, axis)
    return div_number(((later + earlier) * widths).sum(axis), 2.0)


@torch_function(forms="f")
def cumulative_trapezoid(
    input: Tensor, x: Tensor | None = None, *, dx: float = 1, dim: int = -1
) -> Tensor:
    """Cumulative integral by the trapezoidal rule (torch.cumulative_trapezoid)."""
    axis = dim_of_samples(input, dim)
    later, earlier = neighbours(input, axis)
    if x is None:
        return mul_number(later + earlier, dx / 2.0).cumsum(axis)
    return div_number(
        ((later + earlier) * spacing_of("cumulative_trapezoid", x, input, axis)).cumsum(axis), 2.0
    )


@torch_function("gradient", forms="f")
def numerical_gradient(
    input: Tensor,
    *,
    spacing: float | Tensor | Sequence[float | Tensor] | None = 1,
    dim: int | Sequence[int] | None = None,
    edge_order: int = 1,
) -> tuple[Tensor, ...]:
    """Central differences along each `dim`, one-sided at the edges; a tuple with one for each
    (torch.gradient).
    """
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    dims: Sequence[int]
    if dim is None:
        dims = range(input.ndim)
    else:
        dims = [dim] if is_int(dim) else dim
    axes = [one_dim("gradient", dimension, input.ndim) for dimension in dims]
    for i, axis in enumerate(axes):
        if axis in axes[:i]:
            raise RuntimeError(f"dim {axis} appears multiple times in the list of dims")
    spacing = 1 if spacing is None else spacing
    steps = spacing if isinstance(spacing, (list, tuple)) else [spacing] * len(axes)
    if len(steps) != len(axes):
        if dim is None:
            raise RuntimeError(
                "torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to 'self.dim() "
                f"= {input.ndim}', since dim argument was not given, but got a list of length {len(steps)}"
            )
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim arguments to have the "
            f"same length, but got a spacing argument of length {len(steps)} and a dim argument of length "
            f"{len(axes)}."
        )
    for axis in axes:
        if input.shape[axis] < edge_order + 1:
            raise RuntimeError(
                "torch.gradient expected each dimension size to be at least edge_order+1"
            )
    return tuple(
        slope(input, dimension, step, edge_order)
        for dimension, step in zip(axes, steps, strict=True)
    )


def slope(x: Tensor, dim: int, step: float | Tensor, edge_order: int) -> Tensor:
    """Return the numerical gradient along one dim; `step` is a number or the sample points."""
    n = x.shape[dim]
    if isinstance(step, Tensor):
        return slope_at_points(x, dim, step, edge_order)

    def at(i: int) -> Tensor:
        return x.narrow(dim, i % n, 1)

    inner = div_number(div_number(x.narrow(dim, 2, n - 2) - x.narrow(dim, 0, n - 2), 2), step)
    if edge_order == 1:
        first = div_number(at(1) - at(0), step)
        last = div_number(at(-1) - at(-2), step)
    else:
        first = div_number(
            mul_number(at(0), -1.5) + mul_number(at(1), 2) - mul_number(at(2), 0.5), step
        )
        last = div_number(
            mul_number(at(-3), 0.5) - mul_number(at(-2), 2) + mul_number(at(-1), 1.5), step
        )
    return ops.find(functions, "cat")([first, inner, last], dim)


def slope_at_points(x: Tensor, dim: int, points: Tensor, edge_order: int) -> Tensor:
    """Return the slope at uneven points: that of the parabola through three neighbours."""
    n = x.shape[dim]
    widths = difference(points).reshape([-1 if i == dim else 1 for i in range(x.ndim)])

    def at(i: int) -> Tensor:
        return x.narrow(dim, i % n, 1)

    def width(i: int) -> Tensor:
        return widths.narrow(dim, i % (n - 1), 1)

    left = widths.narrow(dim, 0, n - 2)
    right = widths.narrow(dim, 1, n - 2)
    inner = (
        x.narrow(dim, 0, n - 2) * (-right / (left * (left + right)))
        + x.narrow(dim, 1, n - 2) * ((right - left) / (left * right))
        + x.narrow(dim, 2, n - 2) * (left / (right * (left + right)))
    )
    if edge_order == 1:
        first = (at(1) - at(0)) / width(0)
        last = (at(-1) - at(-2)) / width(-1)
    else:
        a = width(0)
        b = width(1)
        c = width(-2)
        e = width(-1)
        first = (
            at(0) * (-(2 * a + b) / (a * (a + b)))
            + at(1) * ((a + b) / (a * b))
            + at(2) * (-a / (b * (a + b)))
        )
        last = (
            at(-3) * (e / (c * (c + e)))
            + at(-2) * (-(e + c) / (c * e))
            + at(-1) * ((2 * e + c) / (e * (c + e)))
        )
    return ops.find(functions, "cat")([first, inner, last], dim)
