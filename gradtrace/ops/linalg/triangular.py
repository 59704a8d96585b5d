"""Triangular systems and Cholesky factorisation."""

from __future__ import annotations

import math

from gradtrace.annotations import Sequence
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import XP, Array, Operand
from gradtrace.engine.operators.op import d, linalg_op
from gradtrace.ops.api import NOT_GIVEN
from gradtrace.ops.arguments import linalg_function, missing_arguments, torch_function
from gradtrace.ops.linalg.matrix import times_transposed, transposed, transposed_times
from gradtrace.ops.linalg.solve import (
    LinAlgError,
    check_sizes,
    check_square,
    check_square_floats,
    failed,
    first_failure,
    substitute,
)
from gradtrace.ops.results import Result, result_type

# ---- kernels


def solve_triangular_kernel(a: Array, b: Array, upper: bool, left: bool, unit: bool) -> Array:
    if left:
        return substitute(a, b, upper, unit)
    return substitute(a.swapaxes(-1, -2), b.swapaxes(-1, -2), not upper, unit).swapaxes(-1, -2)


def cholesky_kernel(a: Array, upper: bool) -> tuple[Array, Array]:
    """Return the Cholesky factor, and the order of the first leading minor that is not positive (0:
    none).
    """
    source = a.swapaxes(-1, -2) if upper else a
    try:
        out, info = np.linalg.cholesky(source), np.zeros(a.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        out, info = partial_cholesky(source)
    return (out.swapaxes(-1, -2) if upper else out), info


def partial_cholesky(a: Array) -> tuple[Array, Array]:
    """Factorise column by column up to the first pivot that is not positive, which is left
    unchanged.
    """
    flat = np.tril(a).reshape(math.prod(a.shape[:-2]), *a.shape[-2:])
    info = np.zeros(len(flat), np.int32)
    for b, m in enumerate(flat):
        for j in range(m.shape[0]):
            m[j, j] -= m[j, :j] @ m[j, :j]
            if not m[j, j] > 0:
                info[b] = j + 1
                break
            m[j, j] = np.sqrt(m[j, j])
            m[j + 1 :, j] = (m[j + 1 :, j] - m[j + 1 :, :j] @ m[j, :j]) / m[j, j]
    return flat.reshape(a.shape), info.reshape(a.shape[:-2])


def cholesky_solve_kernel(b: Array, factor: Array, upper: bool) -> Array:
    lower = factor.swapaxes(-1, -2) if upper else factor
    return substitute(lower.swapaxes(-1, -2), substitute(lower, b, False, False), True, False)


def cholesky_inverse_kernel(factor: Array, upper: bool) -> Array:
    return cholesky_solve_kernel(np.eye(factor.shape[-1], dtype=factor.dtype), factor, upper)


# ---- rules


def solve_triangular_grad(
    xp: XP,
    wanted: Sequence[bool],
    g: Operand,
    out: Operand,
    a: Operand,
    b: Operand,
    upper: bool,
    left: bool,
    unit: bool,
) -> tuple[Operand | None, ...]:
    of_b = xp.solve_triangular(transposed(xp, a), g, not upper, left, unit)
    if not wanted[0]:
        return None, of_b
    of_a = -(times_transposed(xp, of_b, out) if left else transposed_times(xp, out, of_b))
    off = 1 if unit else 0
    of_a = xp.triu(of_a, off) if upper else xp.tril(of_a, -off)
    return of_a, of_b if wanted[1] else None


def cholesky_grad(xp: XP, g: Operand, factor: Operand, a: object, upper: bool) -> Operand:
    """Return the gradient of the Cholesky factor: symmetric as in PyTorch, although the kernel
    reads one triangle.
    """
    lower, g = (transposed(xp, factor), transposed(xp, g)) if upper else (factor, g)
    half = xp.tril(transposed_times(xp, lower, g), 0)
    whole = half + transposed(xp, xp.tril(half, -1))
    inner = xp.solve_triangular(transposed(xp, lower), whole, True, True, False)
    return xp.solve_triangular(lower, inner, False, False, False) * 0.5


def cholesky_inverse_grad(
    xp: XP, g: Operand, out: Operand, factor: Operand, upper: bool
) -> Operand:
    middle = xp.matmul(out, xp.matmul(g + transposed(xp, g), out))
    return -(xp.matmul(factor, middle) if upper else xp.matmul(middle, factor))


def cholesky_solve_grad(
    xp: XP,
    wanted: Sequence[bool],
    g: Operand,
    out: Operand,
    b: Operand,
    factor: Operand,
    upper: bool,
) -> tuple[Operand | None, ...]:
    of_b = xp.cholesky_solve(g, factor, upper)
    if not wanted[1]:
        return of_b, None
    middle = times_transposed(xp, of_b, out)
    middle = middle + transposed(xp, middle)
    of_factor = -(xp.matmul(factor, middle) if upper else xp.matmul(middle, factor))
    return of_b if wanted[0] else None, of_factor


def triangular_solve_grad(
    xp: XP,
    wanted: Sequence[bool],
    g: Operand,
    out: Operand,
    b: Operand,
    a: Operand,
    upper: bool,
    transpose: bool,
    unit: bool,
) -> tuple[Operand | None, ...]:
    """Return the gradient of torch.triangular_solve; its second result is a copy of the matrix."""
    of_b: Operand | None = None
    of_a: Operand | None = None
    if g[0] is not None:
        source = transposed(xp, a) if transpose else a
        of_a, of_b = solve_triangular_grad(
            xp, (True, True), g[0], out[0], source, b, upper != transpose, True, unit
        )
        of_a = transposed(xp, of_a) if transpose and of_a is not None else of_a
    if g[1] is not None:
        of_a = g[1] if of_a is None else of_a + g[1]
    return of_b if wanted[0] else None, of_a if wanted[1] else None


def old_triangular_kernel(
    b: Array, a: Array, upper: bool, transpose: bool, unit: bool
) -> tuple[Array, Array]:
    source = a.swapaxes(-1, -2) if transpose else a
    return substitute(source, b, upper != transpose, unit), a.copy()


# fmt: off
solve_triangular_record = linalg_op("solve_triangular(A, B; upper, left, unitriangular)", solve_triangular_kernel,
    "A @ out == B if left else out @ A == B", node="LinalgSolveTriangularBackward0",
    unsupported_dtypes="bi triangular_solve_cpu", joint=d("A out", solve_triangular_grad))
triangular_solve_record = linalg_op("triangular_solve(self, A; upper, transpose, unitriangular)",
    old_triangular_kernel, "A @ out == self", outputs=2, undefined_grad="none",
    unsupported_dtypes="bi triangular_solve_cpu", joint=d("A out0", triangular_solve_grad))
cholesky_ex_record = linalg_op("cholesky_ex(A; upper)", cholesky_kernel, "A == L @ T(L); out = T(L) if upper else L",
    node="LinalgCholeskyExBackward0", outputs=2, differentiable=(0,),
    A=d("out0", lambda xp, g, out, A, upper: cholesky_grad(xp, g[0], out[0], A, upper)))
old_cholesky_record = linalg_op("cholesky(A; upper)", lambda a, upper: cholesky_kernel(a, upper)[0],
    "A == L @ T(L); out = T(L) if upper else L",
    A=d("out", cholesky_grad))
cholesky_inverse_record = linalg_op("cholesky_inverse(self; upper)", cholesky_inverse_kernel,
    "inverse(self @ T(self))", unsupported_dtypes="bi cholesky_inverse_out_cpu",
    self=d("self out", cholesky_inverse_grad))
cholesky_solve_record = linalg_op("cholesky_solve(self, factor; upper)", cholesky_solve_kernel,
    "inverse(factor @ T(factor)) @ self", unsupported_dtypes="bi cholesky_solve_cpu",
    joint=d("factor out", cholesky_solve_grad))
# fmt: on


# ---- the public names


@linalg_function("solve_triangular", B="other")
def linalg_solve_triangular(
    input: Tensor,
    other: Tensor,
    *,
    upper: bool = NOT_GIVEN,
    left: bool = True,
    unitriangular: bool = False,
) -> Tensor:
    """Solve input @ X = other for triangular input; a zero diagonal does not raise
    (torch.linalg.solve_triangular).
    """
    if upper is NOT_GIVEN:
        raise missing_arguments("linalg_solve_triangular", ["upper"])
    check_square("linalg.solve_triangular", input)
    check_sizes("linalg.solve_triangular", input, tuple(other.shape), left)
    return solve_triangular_record(input, other, upper, left, unitriangular)


@torch_function(renamed={"A": "other", "b": "input"})
def triangular_solve(
    input: Tensor,
    other: Tensor,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
) -> Result:
    """Solve other @ X = input; return (solution, copy of the matrix) (torch.triangular_solve, the
    older form).
    """
    for matrix, name in ((input, "b"), (other, "A")):
        if matrix.ndim < 2:
            raise RuntimeError(
                f"torch.triangular_solve: Expected {name} to have at least 2 dimensions, but it has {matrix.ndim} "
                "dimensions instead"
            )
    pair = triangular_solve_record(input, other, upper, transpose, unitriangular)
    return result_type("triangular_solve", "solution", "cloned_coefficient")(pair)


def not_positive(name: str, info: Array) -> LinAlgError:
    batch, order = first_failure(info)
    return LinAlgError(
        f"{name}: {batch}The factorization could not be completed because the input is not positive-definite (the "
        f"leading minor of order {order} is not positive-definite)."
    )


def factor_and_info(name: str, a: Tensor, upper: bool, check_errors: bool) -> tuple[Tensor, Tensor]:
    check_square_floats("linalg.cholesky", a)
    factor, info = cholesky_ex_record(a, upper)
    if check_errors and failed(info):
        raise not_positive(name, info.array)
    return factor, info


@torch_function("cholesky", forms="l")
def linalg_cholesky(input: Tensor, *, upper: bool = False) -> Tensor:
    """Factor L with L @ L.T = input, or its transpose; LinAlgError if not positive-definite
    (torch.linalg.cholesky).
    """
    return factor_and_info("linalg.cholesky", input, upper, True)[0]


@torch_function("cholesky_ex", forms="l")
def linalg_cholesky_ex(input: Tensor, *, upper: bool = False, check_errors: bool = False) -> Result:
    """Cholesky factor, and info: 0 or the order of the minor that is not positive
    (torch.linalg.cholesky_ex).
    """
    pair = factor_and_info("linalg.cholesky_ex", input, upper, check_errors)
    return result_type("linalg_cholesky_ex", "L", "info")(pair)


@torch_function()
def cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """Cholesky factor (torch.cholesky, the older form)."""
    check_square_floats("cholesky", input)
    info = cholesky_kernel(input.array, upper)[1]
    if info.any():
        raise not_positive("cholesky", info)
    return old_cholesky_record(input, upper)


@torch_function(renamed={"L": "input"})
def cholesky_inverse(input: Tensor, upper: bool = False) -> Tensor:
    """Inverse of a matrix from its Cholesky factor (torch.cholesky_inverse)."""
    check_square("cholesky_inverse", input)
    return cholesky_inverse_record(input, upper)


@torch_function(renamed={"B": "input", "L": "input2"})
def cholesky_solve(input: Tensor, input2: Tensor, upper: bool = False) -> Tensor:
    """Solve A @ X = input from the Cholesky factor input2 of A (torch.cholesky_solve)."""
    for matrix, name in ((input, "b"), (input2, "u")):
        if matrix.ndim < 2:
            raise RuntimeError(
                f"{name} should have at least 2 dimensions, but has {matrix.ndim} dimensions instead"
            )
    return cholesky_solve_record(input, input2, upper)
