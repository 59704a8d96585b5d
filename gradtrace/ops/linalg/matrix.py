"""Products of matrices and vectors, and `matmul`, which dispatches to them by the number of dims as
PyTorch does.
"""

from __future__ import annotations

from gradtrace.annotations import Any
from gradtrace.engine.data import dtypes
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.node import Meta
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import XP, Array, Ints, Operand, Rule, Shape
from gradtrace.engine.operators.op import Op, contraction_op, d, records
from gradtrace.engine.operators.rounding import dot_product
from gradtrace.ops.api import Choice, not_a_tensor
from gradtrace.ops.arguments import in_both_forms, torch_function

# ---- kernels, which check shapes and dtypes with PyTorch's messages


def type_name(a: Array) -> str:
    return dtypes.of_raw(a).scalar_type


def product(a: Array, b: Array) -> Array:
    """Return a @ b of checked operands; half precision is computed in float32, as numpy has no fast
    kernel for it.
    """
    if a.dtype.itemsize == 2 and a.dtype.kind == "f":
        return np.matmul(a.astype(np.float32), b.astype(np.float32)).astype(a.dtype)
    if a.dtype.kind == "b":
        if b.ndim == 1:
            kernel = ("dot", "addmv_impl_cpu")[a.ndim - 1]
        else:
            kernel = "bmm" if a.ndim == 3 else "addmm_impl_cpu_"
        raise NotImplementedError(f"\"{kernel}\" not implemented for 'Bool'")
    if a.ndim == 1 and a.dtype.kind == "f":
        return dot_product(a, b)
    return a.dot(b) if a.ndim < 3 else np.matmul(a, b)


def mm_kernel(a: Array, b: Array) -> Array:
    if a.ndim == b.ndim == 2 and a.dtype is b.dtype and a.shape[1] == b.shape[0]:
        return product(a, b)
    if a.ndim != 2:
        raise RuntimeError("self must be a matrix")
    if b.ndim != 2:
        raise RuntimeError("mat2 must be a matrix")
    check_inner(a, b)
    if a.dtype != b.dtype:
        first, second = (dtypes.of_raw(x).c_name for x in (a, b))
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {first} != {second}"
        )
    return product(a, b)


def check_inner(a: Array, b: Array) -> None:
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and {b.shape[0]}x{b.shape[1]})"
        )


def mv_kernel(a: Array, v: Array) -> Array:
    check_mv(a, v, 1, a.shape[0] if a.ndim else 1)
    if a.dtype != v.dtype:
        raise RuntimeError(
            f"addmv input tensors must have the same dtype, but got {type_name(v)}, {type_name(a)}, and {type_name(v)}"
        )
    return product(a, v)


def check_mv(a: Array, v: Array, input_ndim: int, length: int) -> None:
    if not a.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    if a.ndim != 2 or v.ndim != 1:
        raise RuntimeError(
            f"vector + matrix @ vector expected, got {input_ndim}, {a.ndim}, {v.ndim}"
        )
    if a.shape[1] != v.shape[0] or length not in (1, a.shape[0]):
        raise RuntimeError(
            f"size mismatch, got input ({length}), mat ({a.shape[0]}x{a.shape[1]}), vec ({v.shape[0]})"
        )


def dot_kernel(a: Array, b: Array) -> Array:
    if a.ndim != 1 or b.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {a.ndim}D and {b.ndim}D tensors")
    if a.dtype != b.dtype:
        raise RuntimeError(
            f"dot : expected both vectors to have same dtype, but found {type_name(a)} and {type_name(b)}"
        )
    if a.shape != b.shape:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{a.size}] and src [{b.size}] to have the same number of "
            f"elements, but got {a.size} and {b.size} elements respectively"
        )
    return product(a, b)


def bmm_kernel(a: Array, b: Array) -> Array:
    for operand, name in ((a, "batch1"), (b, "batch2")):
        if operand.ndim != 3:
            raise RuntimeError(f"{name} must be a 3D tensor")
    want = [a.shape[0], a.shape[2]]
    got = list(b.shape[:2])
    if want != got:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: {want} but got: {got}."
        )
    if a.dtype != b.dtype:
        raise RuntimeError(f"expected scalar type {type_name(a)} but found {type_name(b)}")
    return product(a, b)


def scaled_sum(input: Array, beta: float, result: Array, alpha: float) -> Array:
    """Return beta * input + alpha * result in result's dtype and shape; beta 0 ignores the input,
    even nan.
    """
    if result.dtype.kind in "iu":
        beta = int(beta)
        alpha = int(alpha)
    if alpha != 1:
        result = result * alpha
    check_expand(input, result.shape)
    if beta == 0:
        return result
    input = input if beta == 1 else input * beta
    # The product is a new array: adding in place saves a temporary (a 0-d product is a numpy
    # scalar, not an array).
    return np.add(result, input, out=result, casting="same_kind") if result.ndim else result + input


def check_expand(a: Array, shape: Shape) -> None:
    """Raise RuntimeError if `a` does not broadcast to `shape`."""
    lead = len(shape) - a.ndim
    for i in range(a.ndim - 1, -1, -1):
        if lead >= 0 and a.shape[i] not in (1, shape[lead + i]):
            raise RuntimeError(
                f"The expanded size of the tensor ({shape[lead + i]}) must match the existing size ({a.shape[i]}) at "
                f"non-singleton dimension {lead + i}.  Target sizes: {list(shape)}.  Tensor sizes: {list(a.shape)}"
            )


def addmm_kernel(input: Array, a: Array, b: Array, beta: float, alpha: float) -> Array:
    if (
        input.ndim == 1
        and a.ndim == b.ndim == 2
        and beta == alpha == 1
        and a.dtype is b.dtype is input.dtype
        and (
            a.shape[1] == b.shape[0]
            and input.shape[0] == b.shape[1]
            and a.dtype.kind == "f"
            and a.size
            and b.size
        )
    ):  # fast path for a linear layer
        out = product(a, b)
        return np.add(out, input, out)
    if input.dtype != b.dtype:
        raise RuntimeError(
            f"self and mat2 must have the same dtype, but got {type_name(input)} and {type_name(b)}"
        )
    for matrix, name in ((a, "mat1"), (b, "mat2")):
        if matrix.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix, got {matrix.ndim}-D tensor")
    check_inner(a, b)
    if a.dtype != b.dtype:
        raise RuntimeError(
            f"mat1 and mat2 must have the same dtype, but got {type_name(a)} and {type_name(b)}"
        )
    check_expand(input, (a.shape[0], b.shape[1]))
    return scaled_sum(input, beta, product(a, b), alpha)


def addmv_kernel(input: Array, a: Array, v: Array, beta: float, alpha: float) -> Array:
    check_mv(a, v, max(input.ndim, 1), input.size if input.ndim else 1)
    return scaled_sum(input, beta, product(a, v), alpha)


def addr_kernel(input: Array, a: Array, b: Array, beta: float, alpha: float) -> Array:
    for vector, name in ((a, "vec1"), (b, "vec2")):
        if vector.ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {vector.ndim}-D")
    common = dtypes.result_type((input, True), (a, True), (b, True)).np
    if common.kind in "iub":
        for number, name in ((beta, "beta"), (alpha, "alpha")):
            if isinstance(number, float):
                raise RuntimeError(
                    f"For integral input tensors, argument {name} must not be a floating point number."
                )
    if common.kind == "b":
        beta = bool(beta)
        alpha = bool(alpha)
    return scaled_sum(input, beta, np.multiply.outer(a.astype(common), b.astype(common)), alpha)


def addbmm_kernel(input: Array, a: Array, b: Array, beta: float, alpha: float) -> Array:
    if a.ndim == b.ndim == 3 and a.shape[2] != b.shape[1]:
        raise RuntimeError(
            f"Incompatible matrix sizes for bmm ({a.shape[1]}x{a.shape[2]} and {b.shape[1]}x{b.shape[2]})"
        )
    return scaled_sum(input, beta, bmm_kernel(a, b).sum(axis=0, dtype=a.dtype), alpha)


# ---- rules and records


def transposed(xp: XP, x: Operand) -> Operand:
    """Transpose the last two dims."""
    return xp.transpose(x, x.ndim - 2, x.ndim - 1)


def times_transposed(xp: XP, a: Operand, b: Operand) -> Operand:
    """Return the product of batches of matrices A @ T(B)."""
    return xp.matmul(a, transposed(xp, b))


def transposed_times(xp: XP, a: Operand, b: Operand) -> Operand:
    """Return the product of batches of matrices T(A) @ B."""
    return xp.matmul(transposed(xp, a), b)


def flipped(xp: XP, x: Operand) -> Operand:
    """Transpose the last two dims; for a single matrix by `t`, as in PyTorch, since its node has
    another name.
    """
    return xp.t(x) if x.ndim == 2 else transposed(xp, x)


def columns(xp: XP, a: Operand, b: Operand) -> Operand:
    """Return the outer product of two vectors, as a column times a row."""
    return xp.reshape(a, (a.shape[0], 1)) * b


def scaled(x: Operand, factor: float) -> Operand:
    return x if factor == 1 else x * factor


def in_sum(product: Op, factor: str) -> Rule:
    """Return the rule of a factor of `product` in the sum beta * self + alpha * product."""
    rule = product.derivatives[factor].rule
    return lambda xp, g, out, self, a, b, beta, alpha: scaled(rule(xp, g, out, a, b), alpha)


BETA = d("", lambda xp, g, out, self, a, b, beta, alpha: scaled(g, beta))


def batched(xp: XP, g: Operand, n: int) -> Operand:
    """Expand a gradient that is one matrix to a batch of n, for the rules of addbmm."""
    return xp.expand(xp.unsqueeze(g, 0), (n, *g.shape))


def columns_first(a: Any) -> bool:
    """Return whether a matrix is column-major; then PyTorch's gradient is column-major too."""
    raw = a._data if isinstance(a, Tensor) else a
    apart: Any = raw.bytes_apart if type(raw) is Meta else raw.strides
    item_size = raw.dtype.itemsize
    return bool(apart[0] == item_size and apart[1] == a.shape[0] * item_size)


def mm_self(xp: XP, g: Operand, out: object, self: Operand, mat2: Operand) -> Operand:
    return xp.t(xp.mm(mat2, xp.t(g))) if columns_first(self) else xp.mm(g, xp.t(mat2))


def mm_mat2(xp: XP, g: Operand, out: object, self: Operand, mat2: Operand) -> Operand:
    return xp.t(xp.mm(xp.t(g), self)) if columns_first(mat2) else xp.mm(xp.t(self), g)


# fmt: off
mm = contraction_op("mm(self, mat2)", mm_kernel, "out[i, j] = sum[k](self[i, k] * mat2[k, j])", commutative=False,
    sign="@", zero="product", self=d("mat2 ~self", mm_self),
    mat2=d("self ~mat2", mm_mat2))
mv = contraction_op("mv(self, vec)", mv_kernel, "out[i] = sum[k](self[i, k] * vec[k])", commutative=False, sign="@",
    zero="product", self=d("vec", lambda xp, g, out, self, vec: columns(xp, g, vec)),
    vec=d("self", lambda xp, g, out, self, vec: xp.mv(flipped(xp, self), g)))
dot = contraction_op("dot(self, tensor)", dot_kernel, "sum[i](self[i] * tensor[i])", zero="product",
    self=d("tensor", lambda xp, g, out, self, tensor: g * tensor),
    tensor=d("self", lambda xp, g, out, self, tensor: g * self))
vdot = contraction_op("vdot(self, other)", dot_kernel, "sum[i](self[i] * other[i])", zero="product",
    self=d("other", lambda xp, g, out, self, other: g * other),
    other=d("self", lambda xp, g, out, self, other: g * self))
bmm = contraction_op("bmm(self, mat2)", bmm_kernel, "out[b, i, j] = sum[k](self[b, i, k] * mat2[b, k, j])",
    commutative=False, sign="@", zero="product",
    self=d("mat2", lambda xp, g, out, self, mat2: xp.bmm(g, flipped(xp, mat2))),
    mat2=d("self", lambda xp, g, out, self, mat2: xp.bmm(flipped(xp, self), g)))
addmm = contraction_op("addmm(self, mat1, mat2; beta, alpha)", addmm_kernel, "beta * self + alpha * (mat1 @ mat2)",
    zero="product", self=BETA,
    mat1=d("mat2 ~mat1", in_sum(mm, "self")),
    mat2=d("mat1 ~mat2", in_sum(mm, "mat2")))
addmv = contraction_op("addmv(self, mat, vec; beta, alpha)", addmv_kernel, "beta * self + alpha * (mat @ vec)",
    zero="product", self=BETA,
    mat=d("vec", in_sum(mv, "self")),
    vec=d("mat", in_sum(mv, "vec")))
addr = contraction_op("addr(self, vec1, vec2; beta, alpha)", addr_kernel,
    "out[i, j] = beta * self[i, j] + alpha * vec1[i] * vec2[j]",
    self=BETA,
    vec1=d("vec2", lambda xp, g, out, self, vec1, vec2, beta, alpha: scaled(xp.mv(g, vec2), alpha)),
    vec2=d("vec1", lambda xp, g, out, self, vec1, vec2, beta, alpha: scaled(xp.mv(flipped(xp, g), vec1), alpha)))
addbmm = contraction_op("addbmm(self, batch1, batch2; beta, alpha)", addbmm_kernel,
    "beta * self + alpha * sum[b](batch1[b] @ batch2[b])",
    self=BETA,
    batch1=d("batch2", lambda xp, g, out, self, batch1, batch2, beta, alpha:
        scaled(xp.bmm(batched(xp, g, batch2.shape[0]), flipped(xp, batch2)), alpha)),
    batch2=d("batch1", lambda xp, g, out, self, batch1, batch2, beta, alpha:
        scaled(xp.bmm(flipped(xp, batch1), batched(xp, g, batch1.shape[0])), alpha)))
baddbmm = contraction_op("baddbmm(self, batch1, batch2; beta, alpha)",
    lambda input, a, b, beta, alpha: scaled_sum(input, beta, bmm_kernel(a, b), alpha),
    "beta * self[b] + alpha * (batch1[b] @ batch2[b])", zero="product",
    self=BETA,
    batch1=d("batch2", in_sum(bmm, "self")),
    batch2=d("batch1", in_sum(bmm, "mat2")))
# fmt: on


# ---- the public names


def _pair(record: Op, second: str) -> None:
    name = record.name

    def function(input: Tensor, other: Tensor) -> Tensor:
        if not isinstance(other, Tensor):
            raise not_a_tensor(name, second, 2, other)
        return record(input, other)

    function.__doc__ = f"Product of `input` and `{second}`, without broadcasting (torch.{name})."
    torch_function(name, renamed={second: "other"})(function)


for _record, _second in (
    (mm, "mat2"),
    (mv, "vec"),
    (dot, "tensor"),
    (vdot, "other"),
    (bmm, "mat2"),
):
    _pair(_record, _second)


def _added(record: Op) -> None:
    def choose(
        input: Tensor, first: Tensor, second: Tensor, *, beta: float = 1, alpha: float = 1
    ) -> Choice:
        return record, (input, first, second, beta, alpha)

    choose.__doc__ = (
        f"beta * input + alpha * (first @ second); beta 0 ignores the input (torch.{record.name})."
    )
    renamed = dict(zip(record.tensor_names[1:], ("first", "second"), strict=True))
    in_both_forms(record.name, renamed=renamed)(choose)


for _record in (addmm, addmv, addr, addbmm, baddbmm):
    _added(_record)


@torch_function(forms="fml", renamed={"tensor2": "other", "mat2": "other"})
def matmul(input: Tensor, other: Tensor) -> Tensor:
    """Product of vectors, matrices, or batches of matrices with broadcast batch dims
    (torch.matmul).
    """
    if not isinstance(other, Tensor):
        raise not_a_tensor("matmul", "other", 2, other)
    left = input.ndim
    right = other.ndim
    if left == 2 and right == 2:
        return mm(input, other)
    if not left or not right:
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {left}D and {right}D"
        )
    if left == 1 and right == 1:
        return dot(input, other)
    if left == 2 and right == 1:
        return mv(input, other)
    if left == 1 and right == 2:
        return mm(input.unsqueeze(0), other).squeeze_(0)
    if folds(input, other):
        return folded(input, other)
    return by_batches(input, other)


def folds(a: Tensor, b: Tensor) -> bool:
    """Return whether PyTorch computes a batch times one matrix (or vector) as one matrix
    product.
    """
    larger, smaller = (a, b) if a.ndim >= b.ndim else (b, a)
    if smaller.ndim > 2:
        return False
    if smaller.requires_grad:
        return True
    if a.ndim == 2:
        return False
    big = larger.own_array() if larger is a else larger.own_array().swapaxes(-1, -2)
    if not big.size:
        return True
    return all(big.strides[i] == big.strides[i + 1] * big.shape[i + 1] for i in range(big.ndim - 2))


def folded(a: Tensor, b: Tensor) -> Tensor:
    swap = b.ndim > a.ndim
    big, small = (b.mT, a.t() if a.ndim == 2 else a) if swap else (a, b)
    shape = tuple(big.shape[:-1])
    rows = big.reshape(-1 if big.shape[-1] else int(np.prod(shape)), big.shape[-1])
    if small.ndim == 1:
        return records["unsafe_view"](mv(rows, small), shape)
    out = records["unsafe_view"](mm(rows, small), (*shape, small.shape[1]))
    return out.mT.contiguous() if swap else out


def by_batches(a: Tensor, b: Tensor) -> Tensor:
    if a.ndim == 3 and b.ndim == 3 and a.shape[0] != b.shape[0]:
        if a.shape[0] == 1 and a.requires_grad:
            return matmul(a.squeeze(0), b)
        if b.shape[0] == 1 and b.requires_grad:
            return matmul(a, b.squeeze(0))
    batch = broadcast_batches(tuple(a.shape[:-2]), tuple(b.shape[:-2]))
    count = int(np.prod(batch, dtype=np.int64))
    n = a.shape[-2] if a.ndim > 1 else 1
    inner = a.shape[-1]
    left = a.expand((*batch, n, inner)).reshape(count, n, inner)
    shape = (*batch, *((n,) if a.ndim > 1 else ()))
    if b.ndim == 1:
        right = b.expand((*batch, b.shape[0])).reshape(count, b.shape[0]).unsqueeze(2)
        return records["unsafe_view"](bmm(left, right).squeeze(-1), shape)
    right = b.expand((*batch, *b.shape[-2:])).reshape(count, *b.shape[-2:])
    return records["unsafe_view"](bmm(left, right), (*shape, b.shape[-1]))


def broadcast_batches(a: Ints, b: Ints) -> Ints:
    n = max(len(a), len(b))
    a = (1,) * (n - len(a)) + a
    b = (1,) * (n - len(b)) + b
    for i in range(n - 1, -1, -1):
        if a[i] != b[i] and 1 not in (a[i], b[i]):
            raise RuntimeError(
                f"The size of tensor a ({a[i]}) must match the size of tensor b ({b[i]}) at non-singleton dimension {i}"
            )
    return tuple(y if x == 1 else x for x, y in zip(a, b, strict=True))


@torch_function(forms="n")
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return input @ weight.T + bias for input (..., in), weight (out, in), bias (out)
    (torch.nn.functional.linear).
    """
    if not input.ndim or not weight.ndim:
        raise RuntimeError(
            f"both arguments to linear need to be at least 1D, but they are {input.ndim}D and {weight.ndim}D"
        )
    if bias is None:
        return matmul(input, weight.t())
    if input.ndim == 2:
        return addmm.call(bias, input, weight.t(), 1, 1)
    if not input.is_contiguous():
        return matmul(input, weight.t()) + bias
    rows = input.view(-1, input.shape[-1])
    return addmm(bias, rows, weight.t(), 1, 1).view((*input.shape[:-1], weight.shape[0]))
