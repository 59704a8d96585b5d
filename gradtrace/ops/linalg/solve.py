"""Inverses, determinants and linear systems over batches of matrices.

The kernels call LAPACK through numpy. Where PyTorch continues with a singular matrix but numpy
raises, or where PyTorch reports which pivot is zero, `eliminate` does the elimination step by step.
"""

from __future__ import annotations

import math

from gradtrace.annotations import Any, Sequence
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.state import state
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import XP, Array, Ints, Operand
from gradtrace.engine.operators.op import contraction_op, d, linalg_op, records
from gradtrace.ops.api import expose, linalg
from gradtrace.ops.arguments import linalg_function, require_float, torch_function
from gradtrace.ops.linalg.matrix import times_transposed, transposed, transposed_times
from gradtrace.ops.results import Result, result_type


class LinAlgError(RuntimeError):
    """Raised for a matrix that cannot be inverted, factorised or solved with
    (torch.linalg.LinAlgError).
    """


LinAlgError.__name__ = LinAlgError.__qualname__ = "_LinAlgError"
LinAlgError.__module__ = "torch._C"
linalg["LinAlgError"] = LinAlgError

# up to this size a determinant is the product of pivots; above it, LAPACK's logarithm is used
SMALL = 32


# ---- checks shared by linalg


def check_matrix(name: str, a: Tensor, letter: str = "A") -> None:
    if a.ndim < 2:
        raise RuntimeError(
            f"{name}: The input tensor {letter}{' ' * bool(letter)}must have at least 2 dimensions."
        )


def check_square(name: str, a: Tensor) -> None:
    check_matrix(name, a)
    if a.shape[-1] != a.shape[-2]:
        raise RuntimeError(
            f"{name}: A must be batches of square matrices, but they are {a.shape[-2]} by {a.shape[-1]} matrices"
        )


def check_float(name: str, a: Tensor) -> None:
    require_float(a, name + ": Expected a floating point or complex tensor as input. Got {}")
    if a.dtype.itemsize == 2:
        raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {a.dtype.scalar_type}")


def check_square_floats(name: str, a: Tensor) -> None:
    check_square(name, a)
    check_float(name, a)


def failed(info: Tensor) -> bool:
    """Return whether LAPACK could not finish one of the matrices."""
    return bool(info.array.any())


def first_failure(info: Array) -> tuple[str, int]:
    """Return the start of an error message and the info of the first batch element whose info is
    not 0.
    """
    flat = info.reshape(-1)
    where = int(np.flatnonzero(flat)[0])
    return f"(Batch element {where}): " if info.ndim else "", int(flat[where])


def constant(like: Operand, raw: Array) -> Operand:
    """Convert an array to a constant for a rule: the array itself, or a tensor if the rule runs on
    tensors.
    """
    kind = like.dtype.np if isinstance(like, Tensor) else like.dtype
    raw = np.asarray(raw, kind)
    return Tensor._wrap(raw) if isinstance(like, Tensor) else raw


# ---- kernels


def eliminate(a: Array) -> tuple[Array, Array, Array]:
    """Factorise (..., m, n) by LU with partial pivoting; return factors, pivots (from 1), first
    zero pivot or 0.
    """
    shape = a.shape
    lu = np.array(a).reshape(math.prod(shape[:-2]), *shape[-2:])
    k = min(shape[-2:])
    pivots = np.empty((len(lu), k), np.int32)
    info = np.zeros(len(lu), np.int32)
    every = np.arange(len(lu))
    for j in range(k):
        row = np.argmax(np.abs(lu[:, j:, j]), axis=1) + j
        pivots[:, j] = row + 1
        lu[every, j], lu[every, row] = lu[every, row], lu[every, j].copy()
        pivot = lu[:, j, j]
        info[(info == 0) & (pivot == 0)] = j + 1
        lu[:, j + 1 :, j] /= np.where(pivot == 0, 1, pivot)[:, None]
        lu[:, j + 1 :, j + 1 :] -= lu[:, j + 1 :, j, None] * lu[:, j, None, j + 1 :]
    batch = shape[:-2]
    return lu.reshape(shape), pivots.reshape(*batch, k), info.reshape(batch)


def substitute(a: Array, b: Array, upper: bool, unit: bool) -> Array:
    """Solve a triangular A X = B with broadcast batches; a zero on the diagonal gives inf or
    nan.
    """
    n = a.shape[-1]
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    x = np.array(np.broadcast_to(b, (*batch, *b.shape[-2:])))
    for i in range(n - 1, -1, -1) if upper else range(n):
        if not unit:
            x[..., i, :] /= a[..., i, i, None]
        rest = slice(0, i) if upper else slice(i + 1, n)
        x[..., rest, :] -= a[..., rest, i, None] * x[..., i, None, :]
    return x


def permuted(b: Array, pivots: Array, back: bool = False) -> Array:
    """Swap the rows of b (..., m, k) as the pivots (..., n) say; `back` undoes it."""
    batch = np.broadcast_shapes(pivots.shape[:-1], b.shape[:-2])
    flat = np.array(np.broadcast_to(b, (*batch, *b.shape[-2:]))).reshape(
        math.prod(batch), *b.shape[-2:]
    )
    rows = (
        np.broadcast_to(pivots, (*batch, pivots.shape[-1])).reshape(len(flat), pivots.shape[-1]) - 1
    )
    every = np.arange(len(flat))
    order = range(rows.shape[1])
    for j in reversed(order) if back else order:
        row = rows[:, j]
        flat[every, j], flat[every, row] = flat[every, row], flat[every, j].copy()
    return flat.reshape(*batch, *b.shape[-2:])


def solve_kernel(a: Array, b: Array, left: bool, vector: bool) -> tuple[Array, Array]:
    if vector:
        b = b[..., None]
    if not left:
        a = a.swapaxes(-1, -2)
        b = b.swapaxes(-1, -2)
    x, info = solve_checked(a, b)
    if not left:
        x = x.swapaxes(-1, -2)
    return (x[..., 0] if vector else x), info


def solve_checked(a: Array, b: Array) -> tuple[Array, Array]:
    """Solve A X = B; return X and, for each matrix, the number of its zero pivot (0: none)."""
    try:
        return np.linalg.solve(a, b), np.zeros(a.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        lu, pivots, info = eliminate(a)
        return substitute(lu, substitute(lu, permuted(b, pivots), False, True), True, False), info


def inverse_kernel(a: Array) -> tuple[Array, Array]:
    try:
        out, info = np.linalg.inv(a), np.zeros(a.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        out, info = solve_checked(a, np.eye(a.shape[-1], dtype=a.dtype))
    # Column-major, as LAPACK returns it and as PyTorch's strides show it.
    return out.swapaxes(-1, -2).copy().swapaxes(-1, -2), info


def det_kernel(a: Array) -> Array:
    if a.shape[-1] > SMALL:
        return np.linalg.det(a)
    lu, pivots, _ = eliminate(a)
    swaps = np.count_nonzero(pivots != np.arange(1, a.shape[-1] + 1), axis=-1)
    out = np.multiply.reduce(np.diagonal(lu, axis1=-2, axis2=-1), axis=-1)
    return np.where(swaps % 2 == 1, -out, out)


# ---- rules


def inverse_grad(xp: XP, g: Operand, inverse: Operand) -> Operand:
    turned = transposed(xp, inverse)
    return -xp.matmul(turned, xp.matmul(g, turned))


def adjugate(xp: XP, a: Operand) -> Operand:
    """Return the transposed cofactors, a polynomial in A (Faddeev-LeVerrier), finite and smooth for
    singular A too.
    """
    n = a.shape[-1]
    unit = constant(a, np.eye(n))
    m = unit
    for k in range(1, n):
        am = xp.matmul(a, m)
        m = am - xp.sum_dim(am * unit, (a.ndim - 2, a.ndim - 1), True) / k * unit
    return m * (-1) ** (n - 1)


def det_grad_of_arrays(xp: XP, g: Array, out: Array, a: Array) -> Array:
    """Return the gradient of det for arrays: zeros if det is 0, since PyTorch solves A^T x = det(A)
    in this case.
    """
    result: Any = det_grad(xp, g, out, a)
    scalar_shape = (*a.shape[:-2], 1, 1)
    nothing = np.where(np.signbit(out).reshape(scalar_shape), result * 0, 0)
    return np.where((out == 0).reshape(scalar_shape), nothing, result).astype(a.dtype)


def det_grad(xp: XP, g: Operand, out: Operand, a: Operand) -> Operand:
    scalar_shape = (*a.shape[:-2], 1, 1)
    g = xp.reshape(g, scalar_shape)
    if state.planning:  # a plan must not depend on values
        inverse = xp.reshape(out, scalar_shape) * transposed(xp, xp.inv_ex(a)[0])
        return g * xp.where(
            xp.reshape(out == 0, scalar_shape), transposed(xp, adjugate(xp, a)), inverse
        )
    if bool((out == 0).any()):
        return 0.0 + g * transposed(xp, adjugate(xp, a))
    return g * xp.reshape(out, scalar_shape) * transposed(xp, xp.inv_ex(a)[0])


def solve_grad(
    xp: XP,
    wanted: Sequence[bool],
    g: Sequence[Operand],
    out: Sequence[Operand],
    a: Operand,
    b: Operand,
    left: bool,
    vector: bool,
) -> tuple[Operand | None, ...]:
    of_b = xp.solve_ex(transposed(xp, a), g[0], left, vector)[0]
    if not wanted[0]:
        return None, of_b
    x, gb = (xp.unsqueeze(t, t.ndim) if vector else t for t in (out[0], of_b))
    of_a = times_transposed(xp, gb, x) if left else transposed_times(xp, x, gb)
    return -of_a, of_b if wanted[1] else None


# fmt: off
matmul = contraction_op("matmul(self, other)", "matmul", "out[..., i, j] = sum[k](self[..., i, k] * other[..., k, j])",
    commutative=False, sign="@", zero="product", node="BmmBackward0",
    self=d("other", lambda xp, g, out, self, other: times_transposed(xp, g, other)),
    other=d("self", lambda xp, g, out, self, other: transposed_times(xp, self, g)))
inv_ex = linalg_op("inv_ex(A)", inverse_kernel, "inverse(A)", node="LinalgInvExBackward0",
    outputs=2, differentiable=(0,), A=d("out0", lambda xp, g, out, A: inverse_grad(xp, g[0], out[0])))
solve_ex = linalg_op("solve_ex(A, B; left, vector)", solve_kernel, "A @ out == B if left else out @ A == B",
    node="LinalgSolveExBackward0", outputs=2, differentiable=(0,), joint=d("A out0", solve_grad))
det = linalg_op("det(A)", det_kernel, "sum[s](sign(s) * prod[i](A[i, s[i]]))",
    node="LinalgDetBackward0", A=d("A out", det_grad_of_arrays, traced=det_grad))
slogdet = linalg_op("slogdet(A)", lambda a: tuple(np.linalg.slogdet(a)), "sign(det(A)), log(abs(det(A)))",
    node="LinalgSlogdetBackward0", outputs=2,
    A=d("A", lambda xp, g, out, A: xp.reshape(g[1], (*A.shape[:-2], 1, 1)) * transposed(xp, xp.inv_ex(A)[0])))
# fmt: on


# ---- the public names


def inverse(name: str, a: Tensor, check_errors: bool) -> tuple[Tensor, Tensor]:
    check_square_floats("linalg.inv", a)
    out, info = inv_ex(a)
    # in a plan a singular matrix gives nan
    if check_errors and not state.planning and failed(info):
        batch, pivot = first_failure(info.array)
        raise LinAlgError(
            f"{name}: {batch}The diagonal element {pivot} is zero, the inversion could not be completed because the "
            "input matrix is singular."
        )
    return out, info


@linalg_function()
def inv(input: Tensor) -> Tensor:
    """Inverse of square matrices (..., n, n); raise LinAlgError for a singular one
    (torch.linalg.inv).
    """
    return inverse("linalg.inv", input, True)[0]


expose(inv, "inverse")


@linalg_function("inv_ex")
def inv_and_info(input: Tensor, *, check_errors: bool = False) -> Result:
    """Inverse and info, which is 0 or the number of the zero pivot (torch.linalg.inv_ex)."""
    return result_type("linalg_inv_ex", "inverse", "info")(
        inverse("linalg.inv_ex", input, check_errors)
    )


@linalg_function("det", forms="fml")
def determinant(input: Tensor) -> Tensor:
    """Determinants of (..., n, n), shape (...) (torch.linalg.det)."""
    check_square_floats("linalg.det", input)
    return det(input)


def sign_and_log(name: str, input: Tensor) -> tuple[Tensor, Tensor]:
    check_square_floats(name, input)
    return slogdet(input)


@linalg_function("slogdet")
def linalg_slogdet(input: Tensor) -> Result:
    """Sign and logarithm of the absolute value of determinants: (sign, logabsdet)
    (torch.linalg.slogdet).
    """
    return result_type("linalg_slogdet", "sign", "logabsdet")(sign_and_log("linalg.slogdet", input))


@torch_function("slogdet")
def old_slogdet(input: Tensor) -> Result:
    """Sign and logarithm of the absolute value of determinants: (sign, logabsdet)
    (torch.slogdet).
    """
    return result_type("slogdet", "sign", "logabsdet")(sign_and_log("linalg.slogdet", input))


@torch_function()
def logdet(input: Tensor) -> Tensor:
    """Logarithms of determinants, nan for negative ones (torch.logdet)."""
    sign, logabs = sign_and_log("logdet", input)
    nan = Tensor._wrap(np.asarray(math.nan, logabs.dtype.np))
    return records["where"](sign == -1, nan, logabs)


def check_solve(name: str, a: Tensor, b: Tensor, left: bool) -> bool:
    """Return whether b holds vectors and not matrices; raise for shapes and dtypes that do not
    match.
    """
    check_square_floats(name, a)
    if a.dtype is not b.dtype:
        raise RuntimeError(
            f"{name}: Expected A and B to have the same dtype, but found A of type {a.dtype.scalar_type} and B of type "
            f"{b.dtype.scalar_type} instead"
        )
    vector = b.ndim == 1 or (b.ndim == a.ndim - 1 and b.shape == a.shape[:-1])
    check_sizes(name, a, (*b.shape, 1) if vector else tuple(b.shape), left)
    return vector


def check_sizes(name: str, a: Tensor, shape: Ints, left: bool) -> None:
    if len(shape) < 2:
        raise RuntimeError(f"{name}: The input tensor B must have at least 2 dimensions.")
    if a.shape[-1] != (shape[-2] if left else shape[-1]):
        equation = "AX = B" if left else "XA = B"
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {equation} ({a.shape[-2]}x{a.shape[-1]} and "
            f"{shape[-2]}x{shape[-1]})"
        )


def solved(
    name: str, a: Tensor, b: Tensor, left: bool, check_errors: bool
) -> tuple[Tensor, Tensor]:
    vector = check_solve("linalg.solve", a, b, left)
    x, info = solve_ex(a, b, left, vector)
    if check_errors and not state.planning and failed(info):
        batch, _ = first_failure(info.array)
        raise LinAlgError(
            f"torch.{name}: {batch}The solver failed because the input matrix is singular."
        )
    return x, info


@linalg_function(B="other")
def solve(input: Tensor, other: Tensor, *, left: bool = True) -> Tensor:
    """Solve input @ X = other, or X @ input = other if not `left`, for vectors or matrices
    (torch.linalg.solve).
    """
    return solved("linalg.solve", input, other, left, True)[0]


@linalg_function("solve_ex", B="other")
def solve_and_info(
    input: Tensor, other: Tensor, *, left: bool = True, check_errors: bool = False
) -> Result:
    """solve without an error for singular matrices: (result, info) (torch.linalg.solve_ex)."""
    return result_type("linalg_solve_ex", "result", "info")(
        solved("linalg.solve_ex", input, other, left, check_errors)
    )


@torch_function(forms="l")
def tensorinv(input: Tensor, ind: int = 2) -> Tensor:
    """Inverse for tensordot over `ind` dims (torch.linalg.tensorinv)."""
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    first = tuple(input.shape[:ind])
    last = tuple(input.shape[ind:])
    n = math.prod(first)
    m = math.prod(last)
    if n != m:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{m} != {n}"
        )
    return inv(input.reshape(n, m)).reshape((*last, *first))


@torch_function(forms="l", renamed={"B": "other"})
def tensorsolve(input: Tensor, other: Tensor, dims: Sequence[int] | None = None) -> Tensor:
    """Solve tensordot(input, X) = other after moving `dims` of input to the end
    (torch.linalg.tensorsolve).
    """
    if dims is not None:
        input = input.movedim(tuple(dims), tuple(range(input.ndim - len(dims), input.ndim)))
    shape = tuple(input.shape[other.ndim :])
    n = math.prod(shape)
    m = other.numel()
    if math.prod(input.shape[: other.ndim]) != n:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), "
            f"but got {n} != {math.prod(input.shape[: other.ndim])}"
        )
    return solve(input.reshape(m, n), other.reshape(-1)).reshape(shape)
