"""Eigenvalues, singular values, QR, and functions built on them: pinv, lstsq, matrix_rank, cond.

Eigenvectors and singular vectors are defined up to sign; those of repeated values up to rotation,
so their gradient divides by zero. The gradient of eigenvalues or singular values alone involves no
division.
"""

from __future__ import annotations

import math

from gradtrace.annotations import Any, Sequence
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import XP, Array, Operand
from gradtrace.engine.operators.op import d, linalg_op
from gradtrace.ops.arguments import (
    add_parts,
    linalg_function,
    need_float,
    require_float,
    torch_function,
)
from gradtrace.ops.linalg.matrix import times_transposed, transposed, transposed_times
from gradtrace.ops.linalg.solve import (
    LinAlgError,
    check_float,
    check_matrix,
    check_square,
    constant,
    first_failure,
    inv_ex,
)
from gradtrace.ops.results import Result, result_type

# ---- kernels


def eigh_kernel(a: Array, lower: bool) -> tuple[Array, ...]:
    return tuple(np.linalg.eigh(a, "L" if lower else "U"))


def svd_kernel(a: Array, full: bool) -> tuple[Array, ...]:
    if not np.isfinite(a).all():
        bad: Any = ~np.isfinite(a).all(axis=(-2, -1))
        batch, _ = first_failure(bad.astype(np.int32))
        raise LinAlgError(
            f"linalg.svd: {batch}The algorithm failed to converge because the input matrix contained non-finite values."
        )
    return tuple(np.linalg.svd(a, full_matrices=full))


def qr_kernel(a: Array, mode: str) -> tuple[Array, ...]:
    if mode == "r":
        triangle: Any = np.linalg.qr(a, "r")
        return np.empty(0, a.dtype), triangle
    q, r = np.linalg.qr(a, "complete" if mode == "complete" else "reduced")
    return q, r


def pinv_kernel(a: Array, atol: float, rtol: float, hermitian: bool) -> Array:
    if not a.size:
        return np.zeros((*a.shape[:-2], a.shape[-1], a.shape[-2]), a.dtype)
    if hermitian:
        values, left = np.linalg.eigh(a)
        right = left.swapaxes(-1, -2)
    else:
        left, values, right = np.linalg.svd(a, full_matrices=False)
    size = np.abs(values)
    keep = size > np.maximum(atol, rtol * size.max(axis=-1, keepdims=True))
    inverse = np.where(keep, 1 / np.where(keep, values, 1), 0).astype(a.dtype)
    return (right.swapaxes(-1, -2) * inverse[..., None, :]) @ left.swapaxes(-1, -2)


def rank_kernel(a: Array, atol: float, rtol: float, hermitian: bool) -> Array:
    if not a.size:
        return np.zeros(a.shape[:-2], np.int64)
    size = np.abs(np.linalg.eigvalsh(a)) if hermitian else np.linalg.svd(a, compute_uv=False)
    return np.count_nonzero(
        size > np.maximum(atol, rtol * size.max(axis=-1, keepdims=True)), axis=-1
    )


def lstsq_kernel(a: Array, b: Array, rcond: float, driver: str, vector: bool) -> tuple[Array, ...]:
    right = b[..., None] if vector else b
    values = np.linalg.svd(a, compute_uv=False)
    rank = np.count_nonzero(values > rcond * values[..., :1], axis=-1)
    x = pinv_kernel(a, 0.0, rcond, False) @ right
    m, n = a.shape[-2:]
    left_over = np.zeros(0, a.dtype)
    if m > n and driver != "gelsy" and bool((rank == n).all()):
        left_over = ((a @ x - right) ** 2).sum(axis=-2)
    kept_rank = np.zeros(0, np.int64) if driver == "gels" else rank
    kept_values = values if driver in ("gelsd", "gelss") else np.zeros(0, a.dtype)
    return (x[..., 0] if vector else x), left_over, kept_rank, kept_values


# ---- rules


def rows_minus_columns(xp: XP, values: Operand) -> Operand:
    """Return E with E[i, j] = values[j] - values[i] and ones on the diagonal."""
    n = values.shape[-1]
    apart = xp.unsqueeze(values, values.ndim - 1) - xp.unsqueeze(values, values.ndim)
    return apart + constant(values, np.eye(n))


def diagonal_matrix(xp: XP, values: Operand) -> Operand:
    return xp.unsqueeze(values, values.ndim) * constant(values, np.eye(values.shape[-1]))


def eigh_grad(xp: XP, g: Sequence[Any], out: Sequence[Operand], *_: object) -> Operand:
    values, vectors = out
    if g[1] is None:
        return times_transposed(xp, vectors * xp.unsqueeze(g[0], g[0].ndim - 1), vectors)
    turning = transposed_times(xp, vectors, g[1])
    inner = (turning - transposed(xp, turning)) / (2 * rows_minus_columns(xp, values))
    if g[0] is not None:
        inner = inner + diagonal_matrix(xp, g[0])
    return xp.matmul(vectors, times_transposed(xp, inner, vectors))


def svd_grad(xp: XP, g: Sequence[Any], out: Sequence[Operand], *_: object) -> Operand:
    """Return the gradient of the SVD A = U S V^T; of full matrices only the first k columns of U
    and of V count.
    """
    u, s, vh = out
    gu, gs, gvh = g
    k = s.shape[-1]
    m = u.shape[-2]
    n = vh.shape[-1]
    if u.shape[-1] > k:
        first = constant(u, np.eye(u.shape[-1], k))
        u = xp.matmul(u, first)
        gu = None if gu is None else xp.matmul(gu, first)
    if vh.shape[-2] > k:
        first = constant(u, np.eye(k, vh.shape[-2]))
        vh = xp.matmul(first, vh)
        gvh = None if gvh is None else xp.matmul(first, gvh)
    row = xp.unsqueeze(s, s.ndim - 1)
    column = xp.unsqueeze(s, s.ndim)
    if gu is None and gvh is None:
        return xp.matmul(u * xp.unsqueeze(gs, gs.ndim - 1), vh)
    apart = rows_minus_columns(xp, s * s)
    parts = [] if gs is None else [diagonal_matrix(xp, gs)]
    if gu is not None:
        turning = transposed_times(xp, u, gu)
        parts.append((turning - transposed(xp, turning)) / apart * row)
    if gvh is not None:
        turning = times_transposed(xp, vh, gvh)
        parts.append(column * ((turning - transposed(xp, turning)) / apart))
    total = xp.matmul(u, xp.matmul(add_parts(parts), vh))
    if gu is not None and m > k:
        outside = gu - xp.matmul(u, transposed_times(xp, u, gu))
        total = total + xp.matmul(outside / row, vh)
    if gvh is not None and n > k:
        outside = gvh - xp.matmul(times_transposed(xp, gvh, vh), vh)
        total = total + xp.matmul(u, outside / column)
    return total


def qr_grad(xp: XP, g: Sequence[Any], out: Sequence[Operand], a: Operand, mode: str) -> Operand:
    m, n = a.shape[-2:]
    if mode == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use linalg.qr(A, "
            "mode='reduced') if you are going to differentiate through linalg.qr."
        )
    if mode == "complete" and m > n:
        raise RuntimeError(
            "The QR decomposition is not differentiable when mode='complete' and nrows > ncols."
        )
    q, r = out
    gq, gr = g
    gq = xp.zeros_like(q) if gq is None else gq
    gr = xp.zeros_like(r) if gr is None else gr
    if m >= n:
        return square_qr_grad(xp, gq, gr, q, r)
    # A = Q [R1 R2]: columns beyond the m-th are Q R2, the others a square problem.
    first = constant(q, np.eye(m, n))
    beyond = constant(q, np.arange(n) >= m)
    of_beyond = xp.matmul(q, gr * beyond)
    gq = gq + times_transposed(xp, xp.matmul(q, r * beyond), gr * beyond)
    square = square_qr_grad(
        xp, gq, times_transposed(xp, gr, first), q, times_transposed(xp, r, first)
    )
    return xp.matmul(square, first) + of_beyond


def square_qr_grad(xp: XP, gq: Operand, gr: Operand, q: Operand, r: Operand) -> Operand:
    inner = times_transposed(xp, r, gr) - transposed_times(xp, gq, q)
    inner = xp.tril(inner, 0) + transposed(xp, xp.tril(inner, -1))
    return xp.solve_triangular(transposed(xp, r), gq + xp.matmul(q, inner), False, False, False)


def pinv_grad(xp: XP, g: Operand, out: Operand, a: Operand, *_: object) -> Operand:
    turned = transposed(xp, out)
    gt = transposed(xp, g)
    times = xp.matmul
    if a.shape[-2] <= a.shape[-1]:
        k = times(gt, out)
        kt = times(k, turned)
        return (
            -transposed(xp, times(out, k))
            + kt
            - times(times(a, out), kt)
            + times(times(turned, out), gt - times(k, a))
        )
    k = times(out, gt)
    tk = times(turned, k)
    return (
        -transposed(xp, times(k, out))
        + times(times(gt - times(a, k), out), turned)
        + tk
        - times(times(tk, out), a)
    )


def lstsq_grad(
    xp: XP,
    wanted: Sequence[bool],
    g: Sequence[Operand | None],
    out: Sequence[Operand],
    a: Operand,
    b: Operand,
    rcond: float,
    driver: str,
    vector: bool,
) -> tuple[Operand | None, ...]:
    """Return the gradients of A and B, where the solution is pinv(A) B and the residuals are sums
    of (A X - B)^2.
    """
    x = out[0]
    if vector:
        x = xp.unsqueeze(x, x.ndim)
        b = xp.unsqueeze(b, b.ndim)
    gx = g[0]
    if vector and gx is not None:
        gx = xp.unsqueeze(gx, gx.ndim)
    parts_a = []
    parts_b = []
    if gx is not None:
        inverse = xp.pinv(a, 0.0, rcond, False)
        parts_a.append(pinv_grad(xp, times_transposed(xp, gx, b), inverse, a))
        parts_b.append(transposed_times(xp, inverse, gx))
    if g[1] is not None and out[1] is not None and math.prod(out[1].shape) > 0:
        away = (xp.matmul(a, x) - b) * (2 * xp.unsqueeze(g[1], g[1].ndim - 1))
        parts_a.append(times_transposed(xp, away, x))
        parts_b.append(-away)
    if not parts_a:
        return None, None
    of_a = add_parts(parts_a)
    of_b = add_parts(parts_b)
    return of_a, xp.reshape(of_b, tuple(of_b.shape[:-1])) if vector else of_b


# fmt: off
eigh_record = linalg_op("eigh(A; lower)", eigh_kernel, "A == Q @ diag(L) @ T(Q); T(Q) @ Q == I",
    node="LinalgEighBackward0", outputs=2, undefined_grad="none",
    A=d("out", eigh_grad))
svd_record = linalg_op("svd(A; full_matrices)", svd_kernel, "A == U @ diag(S) @ T(V); T(U) @ U == I; T(V) @ V == I",
    node="LinalgSvdBackward0", outputs=3, undefined_grad="none",
    A=d("out", svd_grad))
qr_record = linalg_op("qr(A; mode)", qr_kernel, "A == Q @ R; T(Q) @ Q == I",
    node="LinalgQrBackward0", outputs=2, undefined_grad="none",
    A=d("~A out", qr_grad))
pinv_record = linalg_op("pinv(A; atol, rtol, hermitian)", pinv_kernel,
    "A @ out @ A == A; out @ A @ out == out; T(A @ out) == A @ out; T(out @ A) == out @ A",
    node="LinalgPinvBackward0", A=d("A out", pinv_grad))
lstsq_record = linalg_op("lstsq(A, B; rcond, driver, vector)", lstsq_kernel, "argmin[X](norm(A @ X - B))",
    node="LinalgLstsqBackward0", outputs=4, differentiable=(0, 1), undefined_grad="none",
    joint=d("A B out0 out1", lstsq_grad))
matrix_rank_record = linalg_op("matrix_rank(A; atol, rtol, hermitian)", rank_kernel,
    "sum[i](1 if singular(A)[i] > max(atol, rtol * max[j](singular(A)[j])) else 0)")
# fmt: on


# ---- the public names


def eigen(input: Tensor, uplo: str) -> tuple[Tensor, Tensor]:
    check_square("linalg.eigh", input)
    if uplo.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {uplo}")
    need_float(input, "linalg_eigh_cpu")
    return eigh_record(input, uplo.upper() == "L")


@linalg_function()
def eigh(input: Tensor, UPLO: str = "L") -> Result:
    """Eigenvalues and eigenvectors of symmetric matrices, from one triangle of each
    (torch.linalg.eigh).
    """
    return result_type("linalg_eigh", "eigenvalues", "eigenvectors")(eigen(input, UPLO))


@linalg_function()
def eigvalsh(input: Tensor, UPLO: str = "L") -> Tensor:
    """Eigenvalues of symmetric matrices, in ascending order (torch.linalg.eigvalsh)."""
    return eigen(input, UPLO)[0]


def singular(input: Tensor, full: bool) -> tuple[Tensor, ...]:
    check_matrix("linalg.svd", input)
    check_float("linalg.svd", input)
    return svd_record(input, full)


@linalg_function("svd")
def linalg_svd(input: Tensor, full_matrices: bool = True, *, driver: str | None = None) -> Result:
    """Singular value decomposition (U, S, Vh) with input = U @ diag(S) @ Vh (torch.linalg.svd)."""
    if driver is not None:
        raise RuntimeError(
            "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend."
        )
    return result_type("linalg_svd", "U", "S", "Vh")(singular(input, full_matrices))


@linalg_function()
def svdvals(input: Tensor, *, driver: str | None = None) -> Tensor:
    """Singular values, in descending order (torch.linalg.svdvals)."""
    return singular(input, False)[1]


@torch_function()
def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> Result:
    """Singular value decomposition (U, S, V) with input = U @ diag(S) @ V.T (torch.svd, the older
    form).
    """
    u, s, vh = singular(input, not some)
    if not compute_uv:
        m, n = input.shape[-2:]
        batch = tuple(input.shape[:-2])
        u, v = (Tensor._wrap(np.zeros((*batch, size, size), input.dtype.np)) for size in (m, n))
        return result_type("svd", "U", "S", "V")((u, s, v))
    return result_type("svd", "U", "S", "V")((u, s, vh.mH))


def factored(input: Tensor, mode: str) -> tuple[Tensor, Tensor]:
    check_matrix("linalg.qr", input)
    check_float("linalg.qr", input)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    return qr_record(input, mode)


@linalg_function("qr")
def linalg_qr(input: Tensor, mode: str = "reduced") -> Result:
    """QR decomposition (Q, R): orthonormal columns in Q, upper triangular R (torch.linalg.qr)."""
    return result_type("linalg_qr", "Q", "R")(factored(input, mode))


@torch_function()
def qr(input: Tensor, some: bool = True) -> Result:
    """QR decomposition (Q, R) (torch.qr, the older form)."""
    return result_type("qr", "Q", "R")(factored(input, "reduced" if some else "complete"))


def tolerances(
    input: Tensor, atol: Tensor | float | None, rtol: Tensor | float | None
) -> tuple[Any, Any]:
    """Return the absolute and the relative threshold below which a singular value counts as 0.

    Each is a number, or an array (..., 1) with one for each matrix.
    """
    least = threshold(atol)
    relative = threshold(rtol)
    if relative is None:
        by_type = float(np.finfo(input.dtype.np).eps) * max(input.shape[-2:])
        if isinstance(least, np.ndarray):
            relative = np.where(least > 0, 0.0, by_type)
        else:
            relative = 0.0 if least else by_type
    return 0.0 if least is None else least, relative


def threshold(value: Tensor | float | None) -> Any:
    if isinstance(value, Tensor) and value.ndim:
        return value.array[..., None]
    return None if value is None else float(value)


@linalg_function()
def pinv(
    input: Tensor,
    rcond: Tensor | float | None = None,
    hermitian: bool = False,
    *,
    atol: Tensor | float | None = None,
    rtol: Tensor | float | None = None,
) -> Tensor:
    """The Moore-Penrose inverse, (..., n, m) for (..., m, n) (torch.linalg.pinv)."""
    if input.ndim < 2 or not input.is_floating_point():
        raise RuntimeError(
            f"linalg.pinv({input.dtype.scalar_type}{{{list(input.shape)}}}): expected a tensor with 2 or more "
            "dimensions of float, double, cfloat or cdouble types"
        )
    return pinv_record(input, *tolerances(input, atol, rcond if rtol is None else rtol), hermitian)


@torch_function()
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """The Moore-Penrose inverse (torch.pinverse)."""
    return pinv(input, rcond)


@linalg_function(B="other")
def lstsq(
    input: Tensor, other: Tensor, rcond: float | None = None, *, driver: str | None = None
) -> Result:
    """Minimum-norm least-squares solution: (solution, residuals, rank, singular_values)
    (torch.linalg.lstsq).
    """
    check_matrix("torch.linalg.lstsq", input, "input")
    require_float(input, "This function doesn't handle types other than float and double")
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(
            "torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)"
        )
    vector = other.ndim == 1 or (other.ndim == input.ndim - 1 and other.shape == input.shape[:-1])
    if input.shape[-2] != other.shape[-1 if vector else -2]:
        raise RuntimeError("torch.linalg.lstsq: input.size(-2) should match other.size(-2)")
    limit = tolerances(input, None, rcond)[1]
    result = lstsq_record(input, other, limit, driver or "gelsy", vector)
    return result_type("linalg_lstsq", "solution", "residuals", "rank", "singular_values")(result)


@linalg_function()
def matrix_rank(
    input: Tensor,
    tol: Tensor | float | None = None,
    hermitian: bool = False,
    *,
    atol: Tensor | float | None = None,
    rtol: Tensor | float | None = None,
) -> Tensor:
    """Number of singular values above the tolerance, int64 (torch.linalg.matrix_rank)."""
    check_matrix("torch.linalg.matrix_rank", input, "input")
    require_float(input, "This function doesn't handle types other than float and double")
    if tol is not None:
        return matrix_rank_record(input, threshold(tol), 0.0, hermitian)
    return matrix_rank_record(input, *tolerances(input, atol, rtol), hermitian)


@linalg_function()
def cond(input: Tensor, p: float | str | None = None) -> Tensor:
    """Condition number in the norm `p`, by default the ratio of singular values
    (torch.linalg.cond).
    """
    from gradtrace.ops.linalg.vector_norm import norm_of_matrix

    check_matrix("linalg.cond", input, "")
    if p is None or p in (2, -2):
        values = svdvals(input)
        n = values.shape[-1]
        high = values.narrow(-1, 0, 1)
        low = values.narrow(-1, n - 1, 1)
        return (low / high if p == -2 else high / low).squeeze(-1)
    if p not in ("fro", "nuc") and (isinstance(p, str) or abs(p) not in (1, math.inf)):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    check_square(f"linalg.cond(ord={p})", input)
    if p == "nuc":
        values = svdvals(input)
        return values.sum(-1) * values.reciprocal().sum(-1)
    check_float("linalg.inv", input)
    inverse, info = inv_ex(input)
    inverse = inverse.masked_fill((info > 0).unsqueeze(-1).unsqueeze(-1), math.inf)
    product: Any = norm_of_matrix(input, p)
    return (product * norm_of_matrix(inverse, p)).nan_to_num(math.inf, math.inf, -math.inf)
