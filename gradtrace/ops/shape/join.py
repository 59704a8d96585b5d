"""Joining, splitting and repeating: cat, stack, split, unbind, repeat, flip, roll, tril and
triu.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Sequence
from gradtrace.engine.data import dtypes
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import XP, Array, Dims, Ints, Operand, Shape
from gradtrace.engine.operators.op import OneResult, d, structural_op, view_op
from gradtrace.engine.operators.strided_view import empty_like
from gradtrace.ops.api import Choice, check_dim, given_sizes, is_int, public, sizes
from gradtrace.ops.arguments import in_both_forms
from gradtrace.ops.create.factories import cast, checked_sizes, in_c_order
from gradtrace.ops.index.records import index_select, select, slice_record
from gradtrace.ops.shape.expansion import atleast_2d, only_tensors
from gradtrace.ops.shape.views import expand, reshaped, unsqueeze, view


class _DefaultDim(int):
    """The type of a default, other than a 0 that the caller gives."""


DEFAULT_DIM = _DefaultDim()


def dim_or_axis(name: str, dim: int, axis: int, ndim: int) -> int:
    """Return the dim that is given by one of these names; TypeError if it is given by both."""
    if axis is not DEFAULT_DIM and dim is not DEFAULT_DIM:
        raise TypeError(f"{name}() got an unexpected keyword argument 'axis'")
    wanted = dim if axis is DEFAULT_DIM else axis
    if wanted is None:
        raise TypeError(f"{name}(): argument 'dim' must be int, not NoneType")
    return check_dim(wanted, ndim)


def cat_back(
    xp: XP, wanted: Sequence[bool], g: Operand, out: Operand, tensors: Sequence[Operand], dim: int
) -> list[Any]:
    grads = []
    start = 0
    for want, meta in zip(wanted, tensors, strict=True):
        n = meta.shape[dim] if len(meta.shape) > dim else 0
        empty = meta.shape == (0,) and len(g.shape) != 1
        part = xp.slice(g, dim, start, start if empty else start + n, 1) if want else None
        grads.append(xp.reshape(part, (0,)) if want and empty else part)
        start += 0 if empty else n
    return grads


def joined(arrays: Sequence[Array], dim: int) -> Array:
    """Concatenate; empty (0,) arrays are ignored, as in PyTorch."""
    return np.concatenate([a for a in arrays if a.shape != (0,)] or list(arrays), axis=dim)


def roll_kernel(a: Array, shifts: Ints, dims: Ints | None) -> Array:
    return np.array(np.roll(a, shifts, dims), order="C")


def flip_kernel(a: Array, dims: Dims) -> Array:
    out = empty_like(a, a.dtype)
    out[...] = np.flip(a, dims if a.ndim else ())
    return out


def rotate_kernel(a: Array, k: int, dims: tuple[int, int]) -> Array:
    """Rotate k times; the result has PyTorch's memory layout, that of a flipped copy, transposed if
    k is odd.
    """
    k %= 4
    if k == 0:
        return np.array(a, order="C")
    if k == 2:
        return flip_kernel(a, dims)
    return flip_kernel(a, dims[1] if k == 1 else dims[0]).swapaxes(*dims)


def writable(a: Array, offset: int, dim1: int, dim2: int) -> Array:
    out = np.diagonal(a, offset, dim1, dim2)
    if a.flags.writeable:
        out.flags.writeable = True
    return out


def on_diagonal(g: Array, shape: Shape, offset: int, dim1: int, dim2: int) -> Array:
    out = np.zeros(shape, g.dtype)
    writable(out, offset, dim1, dim2)[...] = g
    return out


def pieces(a: Array, dim: int, parts: Sequence[int]) -> tuple[Any, ...]:
    results = []
    start = 0
    for n in parts:
        results.append(a[(slice(None),) * dim + (slice(start, start + n),)])
        start += n
    return tuple(results)


# fmt: off
cat = structural_op("cat(*tensors; dim)", joined,
    "out[..., s[k] + i, ...] = tensors[k][..., i, ...]; s[k] = sum[m, 0, k - 1](size(tensors[m], dim))",
    c_order=True, joint=d("~tensors", cat_back))
stack = structural_op("stack(*tensors; dim)", lambda arrays, dim: np.stack(arrays, axis=dim),
    "out[..., k, ...] = tensors[k]", c_order=True,
    joint=d("", lambda xp, wanted, g, out, tensors, dim:
        [xp.select(g, dim, i) if want else None for i, want in enumerate(wanted)]))
unbind = view_op("unbind(self; dim)",
    lambda a, dim: tuple(a[(*(slice(None),) * dim, i, ...)] for i in range(a.shape[dim])),
    "out[k] = self[..., k, ...]", outputs=0,
    self=d("", lambda xp, g, out, self, dim: xp.stack(tuple(g), dim)))
split = view_op("split(self; dim, sizes)", pieces,
    "out[k][..., i, ...] = self[..., s[k] + i, ...]; s[k] = sum[m, 0, k - 1](sizes[m])", outputs=0,
    self=d("", lambda xp, g, out, self, dim, sizes: xp.cat(tuple(g), dim)))
split_sizes = view_op("split_with_sizes(self; dim, sizes)", pieces,
    "out[k][..., i, ...] = self[..., s[k] + i, ...]; s[k] = sum[m, 0, k - 1](sizes[m])", outputs=0,
    self=d("", lambda xp, g, out, self, dim, sizes: xp.cat(tuple(g), dim)))
repeat = structural_op("repeat(self; repeats)", lambda a, repeats: np.tile(a, repeats), "out[i] = self[i % n]",
    c_order=True, self=d("~self", lambda xp, g, out, self, repeats: repeat_back(xp, g, self.shape, repeats)))
flip = structural_op("flip(self; dims)", flip_kernel,
    "out[..., i, ...] = self[..., n - 1 - i, ...]", self="flip(grad, dims)")
roll = structural_op("roll(self; shifts, dims)", roll_kernel, "out[..., i, ...] = self[..., (i - shifts) % n, ...]",
    self=d("", lambda xp, g, out, self, shifts, dims: xp.roll(g, tuple(-s for s in shifts), dims)))
tril = structural_op("tril(self; diagonal)", "tril", "out[..., i, j] = self[..., i, j] if j - i <= diagonal else 0",
    overlap="idempotent", c_order=True, self="tril(grad, diagonal)")
triu = structural_op("triu(self; diagonal)", "triu", "out[..., i, j] = self[..., i, j] if j - i >= diagonal else 0",
    overlap="idempotent", c_order=True, self="triu(grad, diagonal)")
rot90 = structural_op("rot90(self; k, dims)", rotate_kernel, "out[i, j] = self[j, n - 1 - i]",
    self=d("", lambda xp, g, out, self, k, dims: xp.rot90(g, -k, dims)))
diagonal = view_op("diagonal(self; offset, dim1, dim2)", writable,
    "out[..., k] = self[..., k, k + offset]",
    self="diagonal_place(grad, self.shape, offset, dim1, dim2)")
diagonal_place = structural_op("diagonal_place(self; shape, offset, dim1, dim2)", on_diagonal,
    "out[..., i, j] = self[..., min(i, j)] if j - i == offset else 0", node="DiagonalBackwardBackward0",
    self="diagonal(grad, offset, dim1, dim2)")
# fmt: on


def repeat_back(xp: XP, g: Operand, shape: Shape, repeats: Shape) -> Operand:
    """Return the gradient of `repeat`: the sum over the copies of each element."""
    lead = len(repeats) - len(shape)
    for _ in range(lead):
        g = xp.sum_dim(g, (0,), False)
    if all(times == 1 for times in repeats[lead:]):
        return g
    split_shape: list[int] = []
    summed: list[int] = []
    for times, size in zip(repeats[lead:], shape, strict=True):
        if times != 1:
            summed.append(len(split_shape))
            split_shape.append(times)
        split_shape.append(size)
    return xp.sum_dim(xp.reshape(g, tuple(split_shape)), tuple(summed), False)


def common_dtype(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Cast the tensors to their promoted dtype."""
    kinds = {t.dtype for t in tensors}
    if len(kinds) == 1:
        return tuple(tensors)
    wanted = dtypes.result_type(*((t._data, True) for t in tensors))
    # The kernel itself promotes floats, as in PyTorch: no cast shows in the graph.
    done = [
        t.dtype is wanted or (t.is_floating_point() and wanted.category == dtypes.FLOAT)
        for t in tensors
    ]
    return tuple(t if fine else cast(t, wanted.np) for t, fine in zip(tensors, done, strict=True))


@public("cat", "concat", "concatenate", forms="f")
def concatenated(
    tensors: Sequence[Tensor],
    dim: int = DEFAULT_DIM,
    *,
    axis: int = DEFAULT_DIM,
    out: Tensor | None = None,
) -> Tensor:
    """Concatenate tensors along an existing dim (torch.cat)."""
    if isinstance(tensors, Tensor):
        raise TypeError(
            "cat(): argument 'tensors' (position 1) must be tuple of Tensors, not Tensor"
        )
    tensors = tuple(tensors)
    only_tensors(tensors)
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    for i, t in enumerate(tensors):
        if t.ndim == 0:
            raise RuntimeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated")
    ndim = next((t.ndim for t in tensors if tuple(t.shape) != (0,)), 1)
    dim = dim_or_axis("cat", dim, axis, ndim)
    check_joinable([t for t in tensors if tuple(t.shape) != (0,)], dim)
    return cat(common_dtype(tensors), dim)


def check_joinable(tensors: Sequence[Tensor], dim: int) -> None:
    for number, t in enumerate(tensors[1:], 1):
        first = tensors[0]
        if t.ndim != first.ndim:
            raise RuntimeError(
                f"Tensors must have same number of dimensions: got {first.ndim} and {t.ndim}"
            )
        for i in range(t.ndim):
            if i != dim and t.shape[i] != first.shape[i]:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {dim}. Expected size {first.shape[i]} but got "
                    f"size {t.shape[i]} for tensor number {number} in the list."
                )


@public("stack", forms="f")
def stacked(
    tensors: Sequence[Tensor],
    dim: int = DEFAULT_DIM,
    *,
    axis: int = DEFAULT_DIM,
    out: Tensor | None = None,
) -> Tensor:
    """Stack tensors of one shape along a new dim (torch.stack)."""
    tensors = tuple(tensors)
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    for i, t in enumerate(tensors):
        if t.shape != tensors[0].shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(tensors[0].shape)} at entry 0 and "
                f"{list(t.shape)} at entry {i}"
            )
    return stack(common_dtype(tensors), dim_or_axis("stack", dim, axis, tensors[0].ndim + 1))


@public(forms="f")
def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Stack horizontally: along dim 1, or dim 0 for vectors (torch.hstack)."""
    tensors = [t if t.ndim else view(t, (1,)) for t in tensors]
    return concatenated(tensors, 0 if tensors[0].ndim == 1 else 1)


@public("vstack", "row_stack", forms="f")
def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Stack vertically, along dim 0 (torch.vstack)."""
    return concatenated([atleast_2d(t) for t in tensors], 0)


@public(forms="f")
def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """Stack along the third dim (torch.dstack)."""
    from gradtrace.ops.shape.combine import atleast_3d

    return concatenated([atleast_3d(t) for t in tensors], 2)


@public("unbind", forms="fmc")
def unbound(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Slices along a dim, as views with one common node (torch.unbind)."""
    if input.ndim == 0:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return unbind(input, check_dim(dim, input.ndim))


@public("split", forms="fmc")
def split_tensor(
    tensor: Tensor,
    split_size_or_sections: int | Sequence[int] | None = None,
    dim: int = 0,
    *,
    split_size: int | Sequence[int] | None = None,
) -> tuple[Tensor, ...]:
    """Split into pieces of one size, or of the given sizes, as views (torch.split)."""
    if split_size_or_sections is None:
        if split_size is None:
            raise TypeError(
                "split() missing 1 required positional argument: 'split_size_or_sections'"
            )
        split_size_or_sections = split_size
    if not tensor.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    dim = check_dim(dim, tensor.ndim)
    n = tensor.shape[dim]
    if isinstance(split_size_or_sections, int):
        size = split_size_or_sections
        if size < 0:
            raise RuntimeError(
                f"split expects split_size be non-negative, but got split_size={size}"
            )
        if size == 0 and n:
            raise RuntimeError(
                f"split_size can only be 0 if dimension size is 0, but got dimension size of {n}"
            )
        return split(tensor, dim, tuple(min(size, n - i) for i in range(0, n, size or 1)) or (0,))
    if isinstance(split_size_or_sections, (str, float)):
        kind = type(split_size_or_sections).__name__
        raise TypeError(
            f"split_with_sizes(): argument 'split_sizes' (position 2) must be tuple of ints, not {kind}"
        )
    parts = tuple(int(s) for s in split_size_or_sections)
    if min(parts, default=0) < 0:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={list(parts)}"
        )
    if sum(parts) != n:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {n} (input tensor's size at dimension {dim}), but "
            f"got split_sizes={list(parts)}"
        )
    return split_sizes(tensor, dim, parts)


@public(forms="fmc")
def split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Split into pieces of the given sizes (torch.split_with_sizes)."""
    return split_tensor(input, list(split_sizes), dim)


@public()
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Split into at most `chunks` pieces of equal size (torch.chunk)."""
    if not input.ndim:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    n = input.shape[check_dim(dim, input.ndim)]
    if not n:
        return split_tensor(input, (0,) * chunks, dim)
    return split_tensor(input, -(-n // (int(chunks) if is_int(chunks) else chunks)), dim)


@public("select", forms="fmc")
def selected(input: Tensor, dim: int, index: int) -> Tensor:
    """Select the slice at `index` of a dim, as a view (torch.select)."""
    return select(input, *slice_at(input, dim, index))


def slice_at(input: Tensor, dim: int, index: int) -> tuple[int, int]:
    """Return the dim and the index of a slice, both normalised to be non-negative."""
    if not input.ndim:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = check_dim(dim, input.ndim)
    n = input.shape[dim]
    if not -n <= index < n:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(input.shape)} at dimension {dim}"
        )
    return dim, index % n


@public(forms="fmc")
def narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """Select `length` entries of a dim from `start`, as a view (torch.narrow)."""
    if not input.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if isinstance(start, Tensor) and (start.ndim or start.dtype.category != 1):
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    dim = check_dim(dim, input.ndim)
    n = input.shape[dim]
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not -n <= start <= n:
        raise IndexError(
            f"start out of range (expected to be in range of [{-n}, {n}], but got {start})"
        )
    start = start + n if start < 0 else start
    if start + length > n:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({n}).")
    return slice_record(input, dim, start, start + length, 1)


@public("repeat", forms="m")
def repeated(self: Tensor, *repeats: int | Sequence[int], **named: object) -> Tensor:
    """Repeat the tensor the given number of times along each dim (Tensor.repeat)."""
    times = sizes(given_sizes(repeats, named, "repeats"))
    if len(times) < self.ndim:
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor"
        )
    full = (1,) * (len(times) - self.ndim) + tuple(self.shape)
    checked_sizes(tuple(n * t for n, t in zip(full, times, strict=True)))
    return repeat(self, times)


@public()
def tile(input: Tensor, *dims: int | Sequence[int], **named: object) -> Tensor:
    """repeat with missing dims counted as 1 (torch.tile)."""
    times = sizes(given_sizes(dims, named, "dims"))
    return repeat(input, (1,) * (input.ndim - len(times)) + times)


def check_repeats(input: Tensor, repeats: Any, dim: int | None) -> None:
    if not input.ndim and dim is not None:
        check_dim(1, 0)  # as in PyTorch, which looks at the dim after the repeated one
    counts = repeats.shared() if isinstance(repeats, Tensor) else np.asarray(repeats)
    if counts.size and int(counts.min()) < 0:
        raise RuntimeError(
            "Repeats must be non-negative" if counts.ndim == 0 else "repeats can not be negative"
        )
    n = input.numel() if dim is None else input.shape[check_dim(dim, input.ndim)]
    if counts.ndim == 1 and counts.size not in (1, n):
        raise RuntimeError(
            f"repeats must have the same size as input along dim, but got repeats.size(0) = {counts.size} and "
            f"input.size({0 if dim is None else dim}) = {n}"
        )


@public()
def repeat_interleave(
    input: Tensor, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Repeat each entry, copies side by side; for repeats alone return the indices
    (torch.repeat_interleave).
    """
    if repeats is None:
        return Tensor._wrap(np.repeat(np.arange(input.numel()), input.shared()))
    check_repeats(input, repeats, dim)
    if dim is None:
        input = reshaped(input, -1)
        dim = 0
    dim = check_dim(dim, input.ndim)
    if is_int(repeats):
        wide = unsqueeze(input, check_dim(dim + 1, input.ndim + 1 if input.ndim else 0))
        shape = tuple(input.shape)
        grown = expand(wide, (*shape[: dim + 1], repeats, *shape[dim + 1 :]))
        return view(in_c_order(grown), (*shape[:dim], shape[dim] * repeats, *shape[dim + 1 :]))
    return index_select(input, dim, np.repeat(np.arange(input.shape[dim]), repeats.shared()))


def _triangle(record: OneResult, doc: str) -> None:
    def choose(input: Tensor, diagonal: int = 0) -> Choice:
        if input.ndim < 2:
            raise RuntimeError(f"{record.name}: input tensor must have at least 2 dimensions")
        return record, (input, diagonal)

    choose.__doc__ = doc
    in_both_forms(record.name)(choose)


_triangle(tril, "Lower triangle, zeros above (torch.tril).")
_triangle(triu, "Upper triangle, zeros below (torch.triu).")


@public("diagonal", forms="fmc")
def diagonals(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """Diagonal of two dims, as a view (torch.diagonal)."""
    first = check_dim(dim1, input.ndim)
    second = check_dim(dim2, input.ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return diagonal(input, offset, first, second)


def format_tensor(t: Tensor) -> str:
    """Format a tensor as PyTorch's C++ code does: its numbers, then its type and sizes."""
    kind = f"torch.{t.dtype.scalar_type}Tensor"
    shown_sizes = ",".join(map(str, t.shape))
    return f"{t.detach().numpy()}\n[ {kind}{{{shown_sizes}}} ]"


@public(forms="f")
def meshgrid(*tensors: Tensor | Sequence[Tensor], indexing: str = "ij") -> tuple[Tensor, ...]:
    """Expand 1-d tensors over the grid of all of them (torch.meshgrid)."""
    parts: tuple[Any, ...] = (
        tuple(tensors[0])
        if len(tensors) == 1 and isinstance(tensors[0], (list, tuple))
        else tensors
    )
    only_tensors(parts)
    if indexing not in ("ij", "xy"):
        raise RuntimeError(
            f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}'
        )
    if any(t.dtype is not parts[0].dtype for t in parts):
        raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    for t in parts:
        if t.ndim > 1:
            raise RuntimeError(
                f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {t!r}"
            )
    is_swapped = indexing == "xy" and len(parts) > 1
    if is_swapped:
        parts = (parts[1], parts[0], *parts[2:])
    shape = tuple(t.numel() for t in parts)
    grids = tuple(
        expand(view(t, (1,) * i + (t.numel(),) + (1,) * (len(parts) - i - 1)), shape)
        for i, t in enumerate(parts)
    )
    return (grids[1], grids[0], *grids[2:]) if is_swapped else grids
