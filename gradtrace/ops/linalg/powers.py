"""Products and functions of matrices: matrix_power, matrix_exp, multi_dot, vecdot, vander."""

from __future__ import annotations

from gradtrace import ops
from gradtrace.annotations import Any, Sequence
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import XP, Array, Operand
from gradtrace.engine.operators.op import d, linalg_op
from gradtrace.ops.api import functions, public
from gradtrace.ops.arguments import linalg_function, torch_function
from gradtrace.ops.create.factories import assign, clone
from gradtrace.ops.linalg.matrix import flipped, matmul, mm, vdot
from gradtrace.ops.linalg.solve import (
    check_float,
    check_square,
    check_square_floats,
    constant,
    inverse,
)

# The [13/13] Pade approximant of exp, exact to double precision up to this norm (Higham 2005).
PADE = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
    10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip
PADE_NORM = 5.371920351148152


def exp_kernel(a: Array) -> Array:
    if not a.size:
        return a.copy()
    wide = a.astype(np.float64)
    norm = np.abs(wide).sum(axis=-2).max(axis=-1)
    with np.errstate(all="ignore"):
        halvings = np.where(norm > PADE_NORM, np.ceil(np.log2(norm / PADE_NORM)), 0)
    halvings = np.nan_to_num(halvings, nan=0, posinf=0).astype(np.int64)[..., None, None]
    out = pade(wide / 2.0**halvings)
    for i in range(int(halvings.max())):
        out = np.where(halvings > i, out @ out, out)
    return out.astype(a.dtype)


def pade(x: Array) -> Array:
    unit = np.eye(x.shape[-1])
    x2 = x @ x
    x4 = x2 @ x2
    x6 = x4 @ x2
    b = PADE
    odd = x @ (
        x6 @ (b[13] * x6 + b[11] * x4 + b[9] * x2) + b[7] * x6 + b[5] * x4 + b[3] * x2 + b[1] * unit
    )
    even = (
        x6 @ (b[12] * x6 + b[10] * x4 + b[8] * x2) + b[6] * x6 + b[4] * x4 + b[2] * x2 + b[0] * unit
    )
    return np.linalg.solve(even - odd, even + odd)


def exp_grad(xp: XP, g: Operand, out: object, a: Operand) -> Operand:
    """Return the gradient of exp(A) for G: the upper right block of exp([[A^T, G], [0, A^T]])."""
    n = a.shape[-1]
    first = constant(g, np.eye(2 * n, n))
    second = constant(g, np.eye(2 * n, n, -n))
    turned = flipped(xp, a)

    def block(x: Operand, row: Operand, column: Operand) -> Operand:
        return xp.matmul(row, xp.matmul(x, flipped(xp, column)))

    whole = block(turned, first, first) + block(turned, second, second) + block(g, first, second)
    return xp.matmul(flipped(xp, first), xp.matmul(xp.matrix_exp(whole), second))


# fmt: off
matrix_exp = linalg_op("matrix_exp(self)", exp_kernel, "sum[k, 0, inf](self**k / factorial(k))",
    node="LinalgMatrixExpBackward0", self=d("self", exp_grad))
# fmt: on


@linalg_function("matrix_exp", forms="fml")
def exponential(input: Tensor) -> Tensor:
    """Matrix exponential of (..., n, n) (torch.linalg.matrix_exp)."""
    check_square_floats("linalg.matrix_exp", input)
    return matrix_exp(input)


@linalg_function("matrix_power", forms="fml")
def matrix_power(input: Tensor, n: int) -> Tensor:
    """Raise square matrices to the n-th power; a negative n inverts them
    (torch.linalg.matrix_power).
    """
    if not isinstance(n, int) or isinstance(n, bool):
        raise TypeError(
            f"linalg_matrix_power(): argument 'n' (position 2) must be int, not {type(n).__name__}"
        )
    check_square("linalg.matrix_power", input)
    if n == 0:
        unit = np.broadcast_to(np.eye(input.shape[-1], dtype=input.dtype.np), input.shape)
        return assign(clone(input), Tensor._wrap(np.array(unit)))
    if n < 0:
        input = inverse("linalg.inv", input, True)[0]
    elif n == 1:
        return clone(input)
    n = abs(n)
    if n == 3:
        return matmul(matmul(input, input), input)
    out: Tensor | None = None
    square = input
    while True:
        if n % 2:
            out = square if out is None else matmul(out, square)
        n //= 2
        if not n:
            assert out is not None
            return out
        square = matmul(square, square)


def check_chain(tensors: list[Tensor]) -> None:
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    for i, t in enumerate(tensors):
        end = i in (0, len(tensors) - 1)
        if t.ndim not in ((1, 2) if end else (2,)):
            if i == 0:
                which = "the first tensor"
            else:
                which = "the last tensor" if end else f"tensor {i}"
            raise RuntimeError(
                f"multi_dot(): {which} must be {'1D or ' if end else ''}2D but got {t.ndim}D"
            )


def best_splits(sizes: list[int]) -> list[list[int]]:
    """Return the split of each subchain that minimises the number of multiplications (CLRS
    15.2).
    """
    n = len(sizes) - 1
    cost = [[0] * n for _ in range(n)]
    split = [[0] * n for _ in range(n)]
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            options = [
                cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1]
                for k in range(i, j)
            ]
            cost[i][j] = min(options)
            split[i][j] = i + options.index(cost[i][j])
    return split


@public(forms="l")
def multi_dot(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Multiply a chain of matrices in the cheapest order; the ends may be vectors
    (torch.linalg.multi_dot).
    """
    chain = list(tensors)
    check_chain(chain)
    first = chain[0].ndim == 1
    last = chain[-1].ndim == 1
    if first:
        chain[0] = chain[0].unsqueeze(0)
    if last:
        chain[-1] = chain[-1].unsqueeze(-1)
    for i in range(len(chain) - 1):
        if chain[i].shape[1] != chain[i + 1].shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {i} and {i + 1} with shapes {list(tensors[i].shape)} and "
                f"{list(tensors[i + 1].shape)} cannot be multiplied"
            )
    split = best_splits([t.shape[0] for t in chain] + [chain[-1].shape[1]])

    def product(i: int, j: int) -> Tensor:
        return chain[i] if i == j else mm(product(i, split[i][j]), product(split[i][j] + 1, j))

    shape = ([] if first else [chain[0].shape[0]]) + ([] if last else [chain[-1].shape[1]])
    return product(0, len(chain) - 1).view(shape)


@public(forms="f")
def chain_matmul(*matrices: Tensor) -> Tensor:
    """multi_dot with the matrices as separate arguments (torch.chain_matmul)."""
    return matrices[0] if len(matrices) == 1 else multi_dot(matrices)


@torch_function(forms="l", renamed={"y": "other"})
def vecdot(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """Dot products along `dim` (torch.linalg.vecdot)."""
    if not input.is_floating_point():
        check_float("linalg.vecdot", input)
    if input.ndim == 1 and other.ndim == 1:
        return vdot(input, other)
    product: Any = input
    return (product * other).sum(dim)


@torch_function("vander", forms="l")
def linalg_vander(input: Tensor, *, N: int | None = None) -> Tensor:
    """Vandermonde matrix: the powers 0 .. N-1 of each element, as rows (torch.linalg.vander)."""
    columns = input.shape[-1] if input.ndim else 1
    n = columns if N is None else N
    if n <= 1:
        raise RuntimeError("N must be greater than 1.")
    if not input.ndim:
        input = input.unsqueeze(-1)
    column = input.unsqueeze(-1)
    ones = Tensor._wrap(np.ones(column.shape, input.dtype.np))
    powers = column.expand((*input.shape, n - 1)).cumprod(-1)
    return ops.find(functions, "cat")([ones, powers], -1)


@torch_function(forms="f")
def vander(input: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """Vandermonde matrix of a vector, with descending powers unless `increasing` (torch.vander)."""
    if input.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    n = input.shape[0] if N is None else N
    out = (
        linalg_vander(input, N=n)
        if n > 1
        else Tensor._wrap(np.ones((*input.shape, n), input.dtype.np))
    )
    return out if increasing else out.flip(-1)


@linalg_function("diagonal")
def linalg_diagonal(input: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Diagonals of matrices, as a view (torch.linalg.diagonal)."""
    return input.diagonal(offset, dim1, dim2)
