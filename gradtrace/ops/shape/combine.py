"""Composed shape functions: cartesian products, combinations, stacking columns, splits by sections,
windows.
"""

from __future__ import annotations

from itertools import chain, combinations_with_replacement
from itertools import combinations as choose
from math import comb
from operator import index

from gradtrace.annotations import Any, Sequence
from gradtrace.engine.data.dtypes import int64
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import Array, Shape
from gradtrace.engine.operators.op import structural_op, view_op
from gradtrace.ops.api import check_dim, public
from gradtrace.ops.arguments import torch_function
from gradtrace.ops.shape.expansion import map_tensors
from gradtrace.ops.shape.join import concatenated, meshgrid, stack
from gradtrace.ops.shape.views import unsqueezed


def windows_kernel(a: Array, dim: int, size: int, step: int) -> Array:
    if a.ndim == 0:
        return np.lib.stride_tricks.as_strided(a, (size,), (0,))
    views = np.lib.stride_tricks.sliding_window_view(a, size, dim, writeable=a.flags.writeable)
    return views[(slice(None),) * dim + (slice(None, None, step),)]


def windows_back(g: Array, shape: Shape, dim: int, size: int, step: int) -> Array:
    out = np.zeros(shape, g.dtype)
    if not shape:
        return g.reshape(-1)[0] if g.size else out
    for k in range(size):
        # The k-th elements of all windows are `step` apart and never overlap.
        where = slice(k, k + step * (g.shape[dim] - 1) + 1, step)
        out[(slice(None),) * dim + (where,)] += g[..., k]
    return out


# fmt: off
unfold_record = view_op("unfold(self; dim, size, step)", windows_kernel,
    "out[..., i, ..., k] = self[..., step * i + k, ...]",
    self="unfold_place(grad, self.shape, dim, size, step)")
unfold_place = structural_op("unfold_place(self; shape, dim, size, step)", windows_back,
    "out[..., j, ...] = sum[i, k](self[..., i, ..., k] if step * i + k == j else 0)", node="UnfoldBackwardBackward0",
    self="unfold(grad, dim, size, step)")
# fmt: on


@public(forms="mc")
def unfold(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Windows of `size` along a dim, `step` apart, as a view with a new last dim
    (Tensor.unfold).
    """
    dim = check_dim(dimension, self.ndim)
    size = index(size)
    step = index(step)
    n = self.shape[dim] if self.ndim else 1
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > n:
        raise RuntimeError(
            f"maximum size for tensor at dimension {dimension} is {n} but size is {size}"
        )
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    return unfold_record(self, dim, size, step)


@public(forms="f")
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """Cartesian product of vectors, one tuple per row (torch.cartesian_prod)."""
    for t in tensors:
        if t.ndim != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(t.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return stack(tuple(grid.reshape(-1) for grid in meshgrid(*tensors, indexing="ij")), 1)


@public(forms="f")
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """Combinations of r elements of a vector, one per row (torch.combinations)."""
    if input.ndim != 1:
        raise RuntimeError("Expect a 1D vector, but got shape " + str(list(input.shape)))
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return input.new_empty((0,))
    pick = combinations_with_replacement if with_replacement else choose
    n = input.shape[0] + (r - 1 if with_replacement and input.shape[0] else 0)
    # known in advance, so that numpy raises for a huge size before a list of it is built
    size = r * comb(n, r)
    if size >= 1 << 48:  # larger than an index can be
        raise MemoryError
    rows = np.fromiter(chain.from_iterable(pick(range(input.shape[0]), r)), np.int64, size).reshape(
        -1, r
    )
    return stack(
        tuple(
            input.index_select(0, Tensor._wrap(np.ascontiguousarray(column))) for column in rows.T
        ),
        1,
    )


@public(forms="f")
def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Stack vectors as columns, and matrices side by side (torch.column_stack)."""
    return concatenated([t.reshape(t.numel(), 1) if t.ndim <= 1 else t for t in tensors], 1)


@public(forms="f")
def atleast_3d(*tensors: Tensor | Sequence[Tensor]) -> Any:
    """Add dims until there are at least three, as views (torch.atleast_3d)."""
    return map_tensors(with_three_dims, tensors)


def with_three_dims(t: Tensor) -> Tensor:
    if t.ndim == 0:
        return t.reshape(1, 1, 1)
    if t.ndim == 1:
        return unsqueezed(unsqueezed(t, 0), 2)
    return unsqueezed(t, 2) if t.ndim == 2 else t


@torch_function(renamed=dict.fromkeys(("indices", "sections"), "indices_or_sections"))
def tensor_split(
    input: Tensor, indices_or_sections: int | Sequence[int] | Tensor, dim: int = 0
) -> tuple[Tensor, ...]:
    """Split along a dim into nearly equal parts, or at indices (torch.tensor_split)."""
    if not input.ndim:
        raise RuntimeError(
            "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims"
        )
    dim = check_dim(dim, input.ndim)
    n = input.shape[dim]
    cuts = indices_or_sections
    if isinstance(cuts, Tensor):
        check_cuts(cuts)
        cuts = cuts.tolist()
    if isinstance(cuts, int):
        if cuts <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {cuts}")
        small, extra = divmod(n, cuts)
        ends = [(i + 1) * small + min(i + 1, extra) for i in range(cuts - 1)]
    else:
        ends = list(cuts)
    parts = []
    start = 0
    for end in [*ends, n]:
        begin, stop, _ = slice(start, end).indices(n)
        parts.append(input.narrow(dim, begin, max(stop - begin, 0)))
        start = end
    return tuple(parts)


def check_cuts(cuts: Tensor) -> None:
    expected = "tensor_split expected tensor_indices_or_sections to"
    if cuts.dtype is not int64:
        raise RuntimeError(f"{expected} have dtype of long, but got {cuts.dtype.scalar_type}")
    if cuts.ndim > 1:
        raise RuntimeError(
            f"{expected} be a zero-dimensional or one-dimensional tensor, but got a tensor with {cuts.ndim} dims"
        )


def _split_along(name: str, least: int, dim: int) -> None:
    def function(
        input: Tensor, indices_or_sections: int | Sequence[int] | Tensor
    ) -> tuple[Tensor, ...]:
        if input.ndim < least:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor with {input.ndim} "
                "dimensions!"
            )
        along = 0 if name == "hsplit" and input.ndim == 1 else dim
        if isinstance(indices_or_sections, int) and input.shape[along] % indices_or_sections:
            raise RuntimeError(
                f"torch.{name} attempted to split along dimension {along}, but the size of the dimension "
                f"{input.shape[along]} is not divisible by the split_size {indices_or_sections}!"
            )
        return tensor_split(input, indices_or_sections, along)

    function.__doc__ = f"tensor_split along one dim (torch.{name})."
    public(name)(function)


for _name, _least, _dim in (("hsplit", 1, 1), ("vsplit", 2, 0), ("dsplit", 3, 2)):
    _split_along(_name, _least, _dim)


@public()
def positive(input: Tensor) -> Tensor:
    """Return the input itself (torch.positive)."""
    if input.dtype.name == "bool":
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


@public()
def msort(input: Tensor) -> Tensor:
    """Sort along the first dim (torch.msort)."""
    return input.sort(0)[0]


@public(forms="f")
def zero_(input: Tensor) -> Tensor:
    """Set the input to zero in place (torch.zero_)."""
    return input.zero_()
