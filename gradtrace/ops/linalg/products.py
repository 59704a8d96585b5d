"""Products over chosen dims: einsum, tensordot, inner, outer, kron, cross; cdist; lerp, addcmul,
addcdiv.

einsum, tensordot, inner and kron are composed of the same operators as in PyTorch, so that their
graphs are the same.
"""

from __future__ import annotations

import warnings

from gradtrace.annotations import Any
from gradtrace.engine.data import dtypes
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import XP, Array, Operand, Raw
from gradtrace.engine.operators.op import PASS_ON, arith_op, contraction_op, d, elementwise_op
from gradtrace.engine.operators.rounding import blend, fitting, in_float32, multiply_add
from gradtrace.ops.api import Choice, is_int, public
from gradtrace.ops.arguments import (
    count,
    in_both_forms,
    need_float,
    one_dim,
    require_float,
    torch_function,
)
from gradtrace.ops.fused import not_differentiable
from gradtrace.ops.linalg.matrix import broadcast_batches, dot, mm
from gradtrace.ops.linalg.vector_norm import distance_grad, norm_kernel
from gradtrace.ops.shape.views import unsafe_view

# ---- kernels and records


def cross_kernel(a: Array, b: Array, dim: int) -> Array:
    a, b = np.broadcast_arrays(a, b)
    return np.cross(a, b, axis=dim)


def cdist_kernel(a: Array, b: Array, p: float) -> Array:
    return norm_kernel(a[..., :, None, :] - b[..., None, :, :], p, (max(a.ndim, b.ndim),), False)


def cdist_grad(
    xp: XP, g: Operand, x1: Operand, x2: Operand, out: Operand, p: float, which: int
) -> Operand:
    away = xp.unsqueeze(x1, x1.ndim - 1) - xp.unsqueeze(x2, x2.ndim - 2)
    part = distance_grad(xp, g, away, out, p)
    if which:
        return 0.0 - xp.sum_dim(part, (away.ndim - 3,))
    return xp.sum_dim(part, (away.ndim - 2,))


def lerp_kernel(a: Array, b: Array, weight: Raw) -> Array:
    if a.dtype == np.float16:
        return in_float32(blend, a, b, weight)
    return blend(a, b, np.asarray(fitting(weight, a.dtype)).astype(a.dtype))


def addcmul_kernel(a: Array, b: Array, c: Array, value: float) -> Array:
    if a.dtype == np.float16:
        return in_float32(addcmul_kernel, a, b, c, value)
    if a.dtype.kind == "f":
        return multiply_add(a, fitting(value, a.dtype) * b, c)
    return a + (int(value) if a.dtype.kind in "iu" else value) * b * c


def addcdiv_kernel(a: Array, b: Array, c: Array, value: float) -> Array:
    if a.dtype == np.float16:
        return in_float32(addcdiv_kernel, a, b, c, value)
    return a + fitting(value, a.dtype) * b / c


# fmt: off
cross = contraction_op("cross(self, other; dim)", cross_kernel,
    "out[i] = self[j] * other[k] - self[k] * other[j]; j = (i + 1) % 3; k = (i + 2) % 3", node="LinalgCrossBackward0",
    promote="arith", unsupported_dtypes="b cross", self="cross(other, grad, dim)", other="cross(grad, self, dim)")
cdist = contraction_op("cdist(x1, x2; p)", cdist_kernel, "out[i, j] = sum[k](abs(x1[i, k] - x2[j, k])**p)**(1 / p)",
    promote="arith",
    x1=d("x1 x2 out", lambda xp, g, out, x1, x2, p: cdist_grad(xp, g, x1, x2, out, p, 0),
        lambda xp, g, out, x1, x2, p: xp.cdist_backward(g, x1, x2, out, p, 0)),
    x2=d("x1 x2 out", lambda xp, g, out, x1, x2, p: cdist_grad(xp, g, x1, x2, out, p, 1),
        lambda xp, g, out, x1, x2, p: xp.cdist_backward(g, x1, x2, out, p, 1)))
not_differentiable("cdist_backward(g, x1, x2, out; p, which)", cdist_grad, kind="contraction")
lerp_scalar = elementwise_op("lerp_scalar(self, end; weight)", lerp_kernel, "self + weight * (end - self)",
    node="LerpBackward0", self=d("", lambda xp, g, out, self, end, weight: g * (1 - weight)),
    end=d("", lambda xp, g, out, self, end, weight: g * weight))
lerp = elementwise_op("lerp(self, end, weight)", lerp_kernel, "self + weight * (end - self)", node="LerpBackward1",
    self=d("weight", lambda xp, g, out, self, end, weight: g * (1 - weight)),
    end=d("weight", lambda xp, g, out, self, end, weight: g * weight),
    weight=d("self end weight", lambda xp, g, out, self, end, weight: g * (end - self)))
addcmul = arith_op("addcmul(self, tensor1, tensor2; value)", addcmul_kernel, "self + value * tensor1 * tensor2",
    unsupported_dtypes="b addcmul_cpu_out", self=PASS_ON,
    tensor1=d("tensor2", lambda xp, g, out, self, tensor1, tensor2, value: g * xp.mul_number(tensor2, value)),
    tensor2=d("tensor1", lambda xp, g, out, self, tensor1, tensor2, value: g * xp.mul_number(tensor1, value)))
addcdiv = arith_op("addcdiv(self, tensor1, tensor2; value)", addcdiv_kernel,
    "self + value * tensor1 / tensor2", self=PASS_ON,
    tensor1=d("tensor2", lambda xp, g, out, self, tensor1, tensor2, value: g * (value / tensor2)),
    tensor2=d("tensor1 tensor2", lambda xp, g, out, self, tensor1, tensor2, value:
        -g * (value * tensor1 / (tensor2 * tensor2))))
# fmt: on


# ---- the public names


@torch_function("outer", "ger", renamed={"vec2": "other"})
def outer(input: Tensor, other: Tensor) -> Tensor:
    """Outer product of two vectors, (n, m) (torch.outer)."""
    for vector, name in ((input, "self"), (other, "vec2")):
        if vector.ndim != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {vector.ndim}-D")
    return input.reshape(-1, 1) * other


@torch_function()
def inner(input: Tensor, other: Tensor) -> Tensor:
    """Sums of products over the last dims of both tensors (torch.inner)."""
    if not input.ndim or not other.ndim:
        return input * other
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(input.shape)} and {list(other.shape)}"
        )
    return tensordot(input, other, ([-1], [-1]))


@torch_function()
def kron(input: Tensor, other: Tensor) -> Tensor:
    """Kronecker product (torch.kron)."""
    n = max(input.ndim, other.ndim)
    a = (1,) * (n - input.ndim) + tuple(input.shape)
    b = (1,) * (n - other.ndim) + tuple(other.shape)
    left = unsafe_view(input, tuple(size for x in a for size in (x, 1)))
    right = unsafe_view(other, tuple(size for y in b for size in (1, y)))
    return unsafe_view(left * right, tuple(x * y for x, y in zip(a, b, strict=True)))


@public(forms="f")
def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """Contract the last `dims` dims of a with the first of b, or two lists of dims
    (torch.tensordot).
    """
    first, second = contracted_dims(a, b, dims)
    if a.dtype is not b.dtype:
        raise RuntimeError("both inputs should have same dtype")
    sizes = 1
    for i, j in zip(first, second, strict=True):
        x = a.shape[i]
        y = b.shape[j]
        if y == 1:
            a = a.sum(i, keepdim=True)
        elif x == 1:
            b = b.sum(j, keepdim=True)
        elif x != y:
            shown = i - a.ndim if is_int(dims) else i
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {x} in dim {shown} and second has size {y} "
                f"in dim {j}"
            )
        else:
            sizes *= x
    free_a = [i for i in range(a.ndim) if i not in first]
    free_b = [i for i in range(b.ndim) if i not in second]
    left = a.permute(free_a + first)
    right = b.permute(second + free_b)
    shape = (*(a.shape[i] for i in free_a), *(b.shape[i] for i in free_b))
    if count(shape) == 1:
        return dot(left.flatten(), right.flatten()).reshape(shape)
    rows = count(a.shape, tuple(free_a))
    columns = count(b.shape, tuple(free_b))
    return mm(left.reshape(rows, sizes), right.reshape(sizes, columns)).reshape(shape)


def contracted_dims(a: Tensor, b: Tensor, dims: Any) -> tuple[list[int], list[int]]:
    if isinstance(dims, Tensor):
        dims = dims.item() if dims.numel() == 1 else dims.tolist()
    if is_int(dims):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.ndim, b.ndim):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        return list(range(a.ndim - dims, a.ndim)), list(range(dims))
    first, second = ([axes] if isinstance(axes, int) else list(axes) for axes in dims)
    if len(first) != len(second):
        raise RuntimeError("both dimension lists should have same length")
    return [one_dim("tensordot", i, a.ndim) for i in first], [
        one_dim("tensordot", j, b.ndim) for j in second
    ]


@torch_function("cross")
def cross_product(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """Cross product over a dim of size 3, by default the first such dim (torch.cross)."""
    if dim is None:
        warnings.warn(
            "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim explicitly or "
            "simply use torch.linalg.cross.\nThe default value of dim will change to agree with that of linalg.cross "
            "in a future release.",
            UserWarning,
            stacklevel=3,
        )
        check_same_ndim(input, other)
        candidates = [i for i, n in enumerate(input.shape) if n == 3]
        if not candidates:
            raise RuntimeError("no dimension of size 3 in input")
        dim = candidates[0]
    if not input.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return linalg_cross(input, other, dim=dim)


def check_same_ndim(a: Tensor, b: Tensor) -> None:
    if a.ndim != b.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")


@torch_function("cross", forms="l")
def linalg_cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """Cross product over a dim of size 3, with the other dims broadcast (torch.linalg.cross)."""
    check_same_ndim(input, other)
    axis = one_dim("cross", dim, input.ndim)
    if input.shape[axis] != 3 or other.shape[axis] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {input.shape[axis]} and {other.shape[axis]}"
        )
    broadcast_batches(tuple(input.shape), tuple(other.shape))
    return cross(input, other, axis)


@public("cdist", forms="f")
def pairwise_distances(
    x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: object = None
) -> Tensor:
    """p-norm distances between all pairs of rows, (..., P, R) (torch.cdist)."""
    for points, name in ((x1, "X1"), (x2, "X2")):
        if points.ndim < 2:
            raise RuntimeError(
                f"cdist only supports at least 2D tensors, {name} got: {points.ndim}D"
            )
        require_float(points, f"cdist only supports floating-point dtypes, {name} got: {{}}")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(
            f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}"
        )
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    broadcast_batches(tuple(x1.shape[:-2]), tuple(x2.shape[:-2]))
    return cdist(x1, x2, float(p))


@in_both_forms("lerp")
def choose_lerp(input: Tensor, end: Tensor, weight: Tensor | float) -> Choice:
    """Linear interpolation: input + weight * (end - input) (torch.lerp)."""
    for term, name in ((end, "end"), (weight, "weight")):
        if (
            isinstance(term, Tensor)
            and term.dtype is not input.dtype
            and not (name == "weight" and term.ndim == 0)
        ):
            raise RuntimeError(
                f"expected dtype {input.dtype.cpp_name} for `{name}` but got dtype {term.dtype.cpp_name}"
            )
    kind = "tensor" if isinstance(weight, Tensor) else "scalar"
    need_float(input, f"lerp_kernel_{kind}")
    for term in (end, weight):
        if isinstance(term, Tensor):
            broadcast_batches(tuple(input.shape), tuple(term.shape))
    return lerp if kind == "tensor" else lerp_scalar, (input, end, weight)


@in_both_forms("addcmul")
def choose_addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Choice:
    """Return input + value * tensor1 * tensor2 (torch.addcmul)."""
    return addcmul, (input, tensor1, tensor2, value)


@in_both_forms("addcdiv")
def choose_addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: float = 1) -> Choice:
    """Return input + value * tensor1 / tensor2 (torch.addcdiv); raise RuntimeError for two integer
    tensors.
    """
    if tensor1.dtype.category != dtypes.FLOAT and tensor2.dtype.category != dtypes.FLOAT:
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a "
            "true division of tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value "
            "* torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / "
            "tensor2) for float inputs. The future addcdiv behavior is just the latter implementation: (input + value "
            "* tensor1 / tensor2), for all dtypes."
        )
    return addcdiv, (input, tensor1, tensor2, value)
