"""Extract, embed and overwrite diagonals; write a part of a tensor out of place (the *_scatter
functions).
"""

from __future__ import annotations

from gradtrace.annotations import Callable, Sequence
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import XP, Array, Ints, Operand
from gradtrace.engine.operators.op import d, structural_op
from gradtrace.ops.api import check_dim, public
from gradtrace.ops.index.records import along
from gradtrace.ops.shape.join import on_diagonal, slice_at, writable


def embed_kernel(a: Array, offset: int, dim1: int, dim2: int) -> Array:
    n = a.shape[-1] + abs(offset)
    shape = list(a.shape[:-1])
    for dim in sorted((dim1, dim2)):
        shape.insert(dim, n)
    return on_diagonal(a, tuple(shape), offset, dim1, dim2)


def overwritten(a: Array, part: Callable[[Array], Array], src: Array) -> Array:
    """Return a copy of `a` in which the view `part(copy)` is overwritten by `src`."""
    out = np.array(a)
    part(out)[...] = src
    return out


def blocks(arrays: Sequence[Array]) -> Array:
    rows, columns = (sum(a.shape[i] for a in arrays) for i in (0, 1))
    out = np.zeros((rows, columns), np.result_type(*arrays) if arrays else np.float32)
    i = j = 0
    for a in arrays:
        out[i : i + a.shape[0], j : j + a.shape[1]] = a
        i = i + a.shape[0]
        j = j + a.shape[1]
    return out


def block_grads(
    xp: XP, wanted: Sequence[bool], g: Operand, out: object, tensors: Sequence[Operand]
) -> list[Operand | None]:
    results = []
    i = 0
    j = 0
    for t, want in zip(tensors, wanted, strict=True):
        m, n = t.shape
        results.append(xp.slice(xp.slice(g, 0, i, i + m, 1), 1, j, j + n, 1) if want else None)
        i = i + m
        j = j + n
    return results


# fmt: off
diagonal_copy = structural_op("diagonal_copy(self; offset, dim1, dim2)",
    lambda a, *rest: np.array(np.diagonal(a, *rest)), "out[..., k] = self[..., k, k + offset]",
    node="DiagonalBackward0_copy", self="diagonal_place(grad, self.shape, offset, dim1, dim2)")
diag_embed_record = structural_op("diag_embed(self; offset, dim1, dim2)", embed_kernel,
    "out[..., i, j] = self[..., min(i, j)] if j - i == offset else 0", self="diagonal(grad, offset, dim1, dim2)")
diagonal_scatter_record = structural_op("diagonal_scatter(self, src; offset, dim1, dim2)",
    lambda a, src, *rest: overwritten(a, lambda x: writable(x, *rest), src),
    "out[..., i, j] = src[..., min(i, j)] if j - i == offset else self[..., i, j]",
    self=d("~src", lambda xp, g, out, self, src, *rest:
        xp.diagonal_scatter(g, xp.zeros_like(xp.diagonal(g, *rest)), *rest)), src="diagonal(grad, offset, dim1, dim2)")
select_scatter_record = structural_op("select_scatter(self, src; dim, index)",
    lambda a, src, dim, index: overwritten(a, lambda x: x[(*along(dim, index), ...)], src),
    "out[..., i, ...] = src if i == index else self[..., i, ...]",
    self=d("", lambda xp, g, out, self, src, dim, index:
        xp.select_scatter(g, xp.zeros_like(xp.select(g, dim, index)), dim, index)), src="select(grad, dim, index)")
slice_scatter_record = structural_op("slice_scatter(self, src; dim, start, stop, step)",
    lambda a, src, dim, *ends: overwritten(a, lambda x: x[along(dim, slice(*ends))], src),
    "out[..., start + step * i, ...] = src[..., i, ...]",
    self=d("", lambda xp, g, out, self, src, dim, *ends:
        xp.slice_scatter(g, xp.zeros_like(xp.slice(g, dim, *ends)), dim, *ends)),
    src="slice(grad, dim, start, stop, step)")
block_diag_record = structural_op("block_diag(*tensors)", blocks,
    "out[i, j] = tensors[k][i - r[k], j - c[k]] if r[k] <= i < r[k + 1] and c[k] <= j < c[k + 1] else 0",
    joint=d("~tensors", block_grads))
# fmt: on


@public()
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """Matrix with a vector on its diagonal, or the diagonal of a matrix (torch.diag)."""
    if input.ndim == 1:
        return diag_embed_record(input, diagonal, 0, 1)
    if input.ndim != 2:
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")
    return diagonal_copy(input, diagonal, 0, 1)


@public()
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices with the last dim of the input on their diagonals (torch.diag_embed)."""
    n = input.ndim + 1
    first = check_dim(dim1, n)
    second = check_dim(dim2, n)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return diag_embed_record(input, offset, first, second)


@public()
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """Matrix with the flattened input on its diagonal (torch.diagflat)."""
    flat = input if input.ndim == 1 else input.contiguous().view(-1)
    return diag_embed_record(flat, offset, 0, 1)


@public()
def diagonal_scatter(
    input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> Tensor:
    """Return a copy of the input with src on a diagonal (torch.diagonal_scatter)."""
    rest = (offset, check_dim(dim1, input.ndim), check_dim(dim2, input.ndim))
    check_part("src", src, np.diagonal(input.array, *rest).shape)
    return diagonal_scatter_record(input, src, *rest)


@public()
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """Return a copy of the input with src at one index of a dim (torch.select_scatter)."""
    dim, index = slice_at(input, dim, index)
    check_part("src", src, tuple(s for i, s in enumerate(input.shape) if i != dim))
    return select_scatter_record(input, src, dim, index)


@public()
def slice_scatter(
    input: Tensor,
    src: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Tensor:
    """Return a copy of the input with src at a slice of a dim (torch.slice_scatter)."""
    dim = check_dim(dim, input.ndim)
    bounds = slice(start, end, step).indices(input.shape[dim])
    shape = tuple(len(range(*bounds)) if i == dim else n for i, n in enumerate(input.shape))
    check_part("src", src, shape)
    return slice_scatter_record(input, src, dim, *bounds)


def check_part(name: str, src: Tensor, shape: Ints) -> None:
    if tuple(src.shape) != tuple(shape):
        raise RuntimeError(
            f"expected {name} to have a size equal to the slice of self. {name} size = {list(src.shape)}, slice size = "
            f"{list(shape)}"
        )


@public(forms="f")
def block_diag(*tensors: Tensor) -> Tensor:
    """Block diagonal matrix of the given matrices (torch.block_diag)."""
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(tensors[0])
    for i, t in enumerate(tensors):
        if t.ndim > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has {t.ndim} dimensions"
            )
    return block_diag_record(tuple(t if t.ndim == 2 else t.reshape(1, -1) for t in tensors))
