"""LU factorisation with partial pivoting, and Householder products."""

from __future__ import annotations

from gradtrace.annotations import Any, Sequence
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import XP, Array, NumpyDtype, Operand
from gradtrace.engine.operators.op import d, linalg_op
from gradtrace.ops.arguments import add_parts, linalg_function, torch_function
from gradtrace.ops.linalg.matrix import times_transposed, transposed, transposed_times
from gradtrace.ops.linalg.solve import (
    check_float,
    check_matrix,
    check_sizes,
    constant,
    eliminate,
    failed,
    first_failure,
    permuted,
    substitute,
)
from gradtrace.ops.results import Result, result_type

# ---- kernels


def unpack(lu: Array) -> tuple[Array, Array]:
    """Return L (..., m, k) with ones on its diagonal, and U (..., k, n)."""
    m, n = lu.shape[-2:]
    k = min(m, n)
    return np.tril(lu[..., :k], -1) + np.eye(m, k, dtype=lu.dtype), np.triu(lu[..., :k, :])


def permutation(pivots: Array, m: int, kind: type[Any] | NumpyDtype) -> Array:
    """Return the permutation matrix P of A = P L U from the pivot rows, which count from 1."""
    return permuted(
        np.broadcast_to(np.eye(m, dtype=kind), (*pivots.shape[:-1], m, m)), pivots, back=True
    )


def lu_kernel(a: Array) -> tuple[Array, ...]:
    lu, pivots, _ = eliminate(a)
    return permutation(pivots, a.shape[-2], a.dtype), *unpack(lu)


def lu_unpack_kernel(lu: Array, pivots: Array, data: bool, with_pivots: bool) -> tuple[Array, ...]:
    none = np.zeros(0, lu.dtype)
    p = permutation(pivots, lu.shape[-2], lu.dtype) if with_pivots else none
    return p, *(unpack(lu) if data else (none, none))


def lu_solve_kernel(lu: Array, pivots: Array, b: Array, adjoint: bool) -> Array:
    if not adjoint:
        return substitute(lu, substitute(lu, permuted(b, pivots), False, True), True, False)
    turned = lu.swapaxes(-1, -2)
    return permuted(
        substitute(turned, substitute(turned, b, False, False), True, True), pivots, back=True
    )


def householder_kernel(a: Array, tau: Array) -> Array:
    m, n = a.shape[-2:]
    vectors = np.tril(a, -1) + np.eye(m, n, dtype=a.dtype)
    out = np.array(np.broadcast_to(np.eye(m, n, dtype=a.dtype), a.shape))
    for i in reversed(range(tau.shape[-1])):
        v = vectors[..., i, None]
        out -= tau[..., i, None, None] * (v @ (v.swapaxes(-1, -2) @ out))
    return out


# ---- rules


def triangles(xp: XP, lu: Operand) -> tuple[Operand, Operand]:
    """Return the parts (..., m, k) below the diagonal, and (..., k, n) from it on; k is the smaller
    of m and n.
    """
    m, n = lu.shape[-2:]
    lower = xp.tril(lu, -1)
    upper = xp.triu(lu, 0)
    if n > m:
        lower = xp.matmul(lower, constant(lu, np.eye(n, m)))
    if m > n:
        upper = xp.matmul(constant(lu, np.eye(n, m)), upper)
    return lower, upper


def factors(xp: XP, lu: Operand) -> tuple[Operand, Operand]:
    """Return L and U as `unpack` does, for derivative rules: also on Tensors."""
    lower, upper = triangles(xp, lu)
    return lower + constant(lu, np.eye(lower.shape[-2], lower.shape[-1])), upper


def constant_permutation(like: Operand, pivots: Operand) -> Operand:
    """Return P of A = P L U, as many rows as `like` has, as a constant for a rule."""
    raw: Any = pivots._data if isinstance(pivots, Tensor) else pivots
    return constant(like, permutation(raw, like.shape[-2], np.float64))


def plu_grad(
    xp: XP, gl: Operand | None, gu: Operand | None, p: Operand, lower: Operand, upper: Operand
) -> Operand:
    """Return the gradient of A = P L U; a part of A beyond the leading square adds further
    triangular products.
    """
    m = lower.shape[-2]
    k = lower.shape[-1]
    n = upper.shape[-1]
    times = xp.matmul

    def transpose(x: Operand) -> Operand:
        return transposed(xp, x)

    gl = xp.zeros_like(lower) if gl is None else gl
    gu = xp.zeros_like(upper) if gu is None else gu
    head = constant(lower, np.eye(k, m))
    wide = constant(lower, np.eye(k, n))
    beyond = constant(lower, np.arange(n) >= k)
    below = constant(lower, (np.arange(m) >= k)[:, None])
    square_l = times(head, lower)
    square_u = times(upper, transpose(wide))
    from_l = times(transpose(square_l), times(head, gl)) - times(
        gu * beyond, transpose(upper * beyond)
    )
    from_u = times(times(gu, transpose(wide)), transpose(square_u)) - times(
        transpose(lower * below), gl * below
    )
    inner = xp.tril(from_l, -1) + xp.triu(from_u, 0)

    def after_l(x: Operand) -> Operand:
        return xp.solve_triangular(transpose(square_l), x, True, True, True)

    def before_u(x: Operand) -> Operand:
        return xp.solve_triangular(transpose(square_u), x, False, False, False)

    total = times(transpose(head), times(before_u(after_l(inner)), wide) + after_l(gu * beyond))
    return times(p, total + times(before_u(gl * below), wide))


def lu_factor_grad(xp: XP, g: Operand, out: Sequence[Operand]) -> Operand:
    lu, pivots, _ = out
    return plu_grad(xp, *triangles(xp, g), constant_permutation(lu, pivots), *factors(xp, lu))


def lu_unpack_grad(xp: XP, g: Sequence[Any], out: object, lu: Operand, *_: object) -> Operand:
    m, n = lu.shape[-2:]
    k = min(m, n)
    parts = []
    sample = g[1] if g[1] is not None else g[2]
    if g[1] is not None:
        gl = xp.tril(g[1], -1)
        parts.append(xp.matmul(gl, constant(sample, np.eye(k, n))) if n > k else gl)
    if g[2] is not None:
        gu = xp.triu(g[2], 0)
        parts.append(xp.matmul(constant(sample, np.eye(m, k)), gu) if m > k else gu)
    return add_parts(parts)


def lu_solve_grad(
    xp: XP,
    wanted: Sequence[bool],
    g: Operand,
    out: Operand,
    lu: Operand,
    pivots: Operand,
    b: Operand,
    adjoint: bool,
) -> tuple[Operand | None, ...]:
    of_b = xp.lu_solve(lu, pivots, g, not adjoint)
    if not wanted[0]:
        return None, None, of_b
    p = transposed(xp, constant_permutation(lu, pivots))
    lower, upper = factors(xp, lu)
    # With A = P L U: the gradient of the product L U, then of its factors.
    if adjoint:
        of_product = -times_transposed(xp, xp.matmul(p, out), of_b)
    else:
        of_product = -times_transposed(xp, xp.matmul(p, of_b), out)
    of_lu = xp.tril(times_transposed(xp, of_product, upper), -1) + xp.triu(
        transposed_times(xp, lower, of_product), 0
    )
    return of_lu, None, of_b if wanted[2] else None


def householder_grad(
    xp: XP, wanted: Sequence[bool], g: Operand, out: Operand, a: Operand, tau: Operand
) -> tuple[Operand | None, ...]:
    """Backpropagate through Q = H1 H2 ... Hk E with H = I - tau v v^T."""
    m = a.shape[-2]
    n = a.shape[-1]
    k = tau.shape[-1]
    vectors = xp.tril(a, -1) + constant(g, np.eye(m, n))
    columns = [constant(g, np.eye(n)[:, i : i + 1]) for i in range(n)]
    steps = [
        (
            xp.matmul(vectors, columns[i]),
            xp.matmul(xp.unsqueeze(tau, tau.ndim - 1), constant(g, np.eye(k)[:, i : i + 1])),
        )
        for i in range(k)
    ]
    inner = [constant(g, np.eye(m, n))]
    for v, t in reversed(steps):
        inner.append(inner[-1] - t * xp.matmul(v, transposed_times(xp, v, inner[-1])))
    of_vectors = xp.zeros_like(a)
    of_tau = xp.zeros_like(tau)
    for i, (v, t) in enumerate(steps):
        after = inner[k - 1 - i]
        left = transposed_times(xp, v, after)
        right = transposed_times(xp, v, g)
        of_v = -t * (times_transposed(xp, g, left) + times_transposed(xp, after, right))
        of_vectors = of_vectors + times_transposed(xp, of_v, columns[i])
        entry = -xp.sum_dim(left * right, (left.ndim - 2, left.ndim - 1))
        of_tau = of_tau + xp.unsqueeze(entry, entry.ndim) * constant(g, np.eye(k)[i])
        g = g - t * xp.matmul(v, right)
    return xp.tril(of_vectors, -1), of_tau


# fmt: off
lu_factor_ex_record = linalg_op("lu_factor_ex(A)", eliminate, "A == P @ L @ U",
    node="LinalgLuFactorExBackward0", outputs=3, differentiable=(0,),
    A=d("out", lambda xp, g, out, A: lu_factor_grad(xp, g[0], out)))
lu_record = linalg_op("lu(A)", lu_kernel, "A == P @ L @ U", node="LinalgLuBackward0", outputs=3,
    differentiable=(1, 2), undefined_grad="none", A=d("out", lambda xp, g, out, A: plu_grad(xp, g[1], g[2], *out)))
lu_unpack_record = linalg_op("lu_unpack(LU, pivots; unpack_data, unpack_pivots)", lu_unpack_kernel, "A == P @ L @ U",
    outputs=3, differentiable=(1, 2), undefined_grad="none",
    LU=d("~LU", lu_unpack_grad))
lu_solve_record = linalg_op("lu_solve(LU, pivots, B; adjoint)", lu_solve_kernel, "inverse(P @ L @ U) @ B",
    node="LinalgLuSolveBackward0", nondifferentiable=("pivots",),
    joint=d("LU pivots out", lu_solve_grad))
householder_record = linalg_op("householder_product(input, tau)", householder_kernel,
    "prod[i](I - tau[i] * outer(input[:, i], input[:, i]))",
    node="LinalgHouseholderProductBackward0", unsupported_dtypes="bi orgqr_cpu",
    joint=d("input tau", householder_grad))
# fmt: on


# ---- the public names


def factorised(
    name: str, a: Tensor, pivot: bool, check_errors: bool
) -> tuple[Tensor, Tensor, Tensor]:
    if a.ndim < 2:
        raise RuntimeError(
            f"torch.lu_factor: Expected tensor with 2 or more dimensions. Got size: {list(a.shape)} instead"
        )
    check_float(name, a)
    need_pivoting(pivot)
    lu, pivots, info = lu_factor_ex_record(a)
    if check_errors and failed(info):
        batch, i = first_failure(info.array)
        raise RuntimeError(
            f"torch.{name}: {batch}U[{i},{i}] is zero and using it on lu_solve would result in a division by zero. If "
            "you still want to perform the factorization, consider calling linalg.lu(A, pivot) or "
            "linalg.lu_factor_ex(A, pivot)"
        )
    return lu, pivots, info


def need_pivoting(pivot: bool) -> None:
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")


@linalg_function()
def lu_factor(input: Tensor, *, pivot: bool = True) -> Result:
    """LU factorisation (LU, pivots), packed; raise RuntimeError for a zero pivot
    (torch.linalg.lu_factor).
    """
    pair = factorised("linalg.lu_factor", input, pivot, True)[:2]
    return result_type("linalg_lu_factor", "LU", "pivots")(pair)


@linalg_function()
def lu_factor_ex(input: Tensor, *, pivot: bool = True, check_errors: bool = False) -> Result:
    """LU factorisation (LU, pivots, info) that does not raise for a zero pivot
    (torch.linalg.lu_factor_ex).
    """
    result = factorised("linalg.lu_factor_ex", input, pivot, check_errors)
    return result_type("linalg_lu_factor_ex", "LU", "pivots", "info")(result)


@linalg_function("lu")
def linalg_lu(input: Tensor, *, pivot: bool = True) -> Result:
    """LU factorisation (P, L, U) with input = P @ L @ U (torch.linalg.lu)."""
    check_matrix("linalg.lu", input)
    check_float("linalg.lu", input)
    need_pivoting(pivot)
    return result_type("linalg_lu", "P", "L", "U")(lu_record(input))


@torch_function()
def lu(input: Tensor, pivot: bool = True, get_infos: bool = False) -> tuple[Tensor, ...]:
    """LU factorisation (LU, pivots) or (LU, pivots, info) (torch.lu, the older form)."""
    result = factorised("linalg.lu_factor_ex", input, pivot, not get_infos)
    return result_type("_lu_with_info", "LU", "pivots", "info")(result) if get_infos else result[:2]


@torch_function(forms="f", renamed={"LU_data": "input", "LU_pivots": "pivots"})
def lu_unpack(
    input: Tensor, pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True
) -> Result:
    """Unpack an LU factorisation into (P, L, U) (torch.lu_unpack)."""
    return result_type("lu_unpack", "P", "L", "U")(
        lu_unpack_record(input, pivots, unpack_data, unpack_pivots)
    )


@torch_function("lu_solve", forms="l", renamed={"LU": "input", "B": "other"})
def linalg_lu_solve(
    input: Tensor, pivots: Tensor, other: Tensor, *, left: bool = True, adjoint: bool = False
) -> Tensor:
    """Solve A @ X = other (X @ A if not `left`, A.T if `adjoint`) from the LU factors of A
    (torch.linalg.lu_solve).
    """
    check_float("torch.linalg.lu_solve", input)
    check_sizes("linalg.lu_solve", input, tuple(other.shape), left)
    if left:
        return lu_solve_record(input, pivots, other, adjoint)
    return lu_solve_record(input, pivots, other.mT, not adjoint).mT


@torch_function(renamed={"b": "input", "LU_data": "LU", "LU_pivots": "pivots"})
def lu_solve(input: Tensor, LU: Tensor, pivots: Tensor) -> Tensor:
    """Solve A @ X = input from the packed LU factors of A (torch.lu_solve, the older form)."""
    return linalg_lu_solve(LU, pivots, input)


@linalg_function()
def householder_product(input: Tensor, tau: Tensor) -> Tensor:
    """First n columns of H1 H2 ... Hk, with vectors below the diagonal of input
    (torch.linalg.householder_product).
    """
    check_matrix("torch.linalg.householder_product", input, "input")
    if input.shape[-2] < input.shape[-1]:
        raise RuntimeError(
            "torch.linalg.householder_product: input.shape[-2] must be greater than or equal to input.shape[-1]"
        )
    return householder_record(input, tau)


@torch_function(renamed={"input2": "tau"})
def orgqr(input: Tensor, tau: Tensor) -> Tensor:
    """torch.linalg.householder_product under its LAPACK name (torch.orgqr)."""
    return householder_product(input, tau)
