"""Validate index tensors and sources with PyTorch's errors: gather, scatter, index_add, index_copy,
take, put.

Each function returns the index tensor.
"""

from __future__ import annotations

from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import Array, Ints
from gradtrace.ops.api import check_dim


def integers(index: Tensor, size: int, message: str, kind: type[Exception] = RuntimeError) -> Array:
    """Return the array of an index tensor; raise an error unless it has signed integers of at least
    `size` bytes.
    """
    array: Array = index.shared()
    if array.dtype.kind != "i" or array.dtype.itemsize < size:
        raise kind(message)
    return array


def length(t: Tensor, dim: int) -> int:
    """Return the size of a dim; a 0-d tensor counts as one entry."""
    return t.shape[dim] if t.ndim else 1


def in_range(
    index: Array,
    dim: int,
    n: int,
    kind: type[Exception] = RuntimeError,
    before: str = "",
    from_end: bool = False,
) -> None:
    """Raise an error of type `kind` if an index is outside the dim (counted `from_end` too); name
    the first one.
    """
    wrong = index[(index < (-n if from_end else 0)) | (index >= n)]
    if wrong.size:
        raise kind(
            f"{before}index {int(wrong.flat[0])} is out of bounds for dimension {dim} with size {n}"
        )


def gather_index(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """Return the index of gather, validated against the input."""
    if not index.numel():  # of any dtype and number of dims
        return Tensor._wrap(index.shared().astype(np.int64))
    i = integers(index, 4, "gather(): Expected dtype int32/int64 for index")
    if i.ndim != input.ndim and max(i.ndim, input.ndim) > 1:
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    for k in range(min(input.ndim, i.ndim)):
        if k != dim and i.shape[k] > input.shape[k]:
            raise RuntimeError(
                f"Size does not match at dimension {k} expected index {list(i.shape)} to be no larger than self "
                f"{list(input.shape)} apart from dimension {dim}"
            )
    in_range(i, dim, length(input, dim))
    return index


def scatter_index(self: Tensor, dim: int, index: Tensor, src: object) -> Tensor:
    """Return the index of scatter and scatter_add, validated against the target and the source."""
    i = integers(index, 4, "scatter(): Expected dtype int32/int64 for index")
    if isinstance(src, Tensor) and src.dtype is not self.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if i.size == 0:
        return index
    if i.ndim != self.ndim and max(i.ndim, self.ndim) > 1:
        raise RuntimeError("Index tensor must have the same number of dimensions as self tensor")
    if isinstance(src, Tensor) and src.ndim != i.ndim and max(i.ndim, src.ndim) > 1:
        if src.ndim < i.ndim:
            check_dim(src.ndim, src.ndim)
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    beyond = (
        any(k != dim and n > self.shape[k] for k, n in enumerate(i.shape))
        if self.ndim and i.ndim
        else False
    )
    short = isinstance(src, Tensor) and any(n > m for n, m in zip(i.shape, src.shape, strict=False))
    if beyond or short:
        more = (
            f" and to be no larger size than src {list(src.shape)}"
            if isinstance(src, Tensor)
            else ""
        )
        raise RuntimeError(
            f"Expected index {list(i.shape)} to be no larger than self {list(self.shape)} apart from dimension "
            f"{dim}{more}"
        )
    in_range(i, dim, length(self, dim))
    return index if i.ndim == self.ndim else index.reshape((1,) * self.ndim)


def source_for(index: Tensor, src: Tensor) -> Tensor:
    """Return the source of a scatter with as many dims as its index: a number and a vector may be
    mixed.
    """
    return src if src.ndim == index.ndim else src.reshape(-1)[:1].reshape(index.shape)


def select_index(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """Return the validated index of index_select."""
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    i = integers(index, 4, "index_select(): Expected dtype int32 or int64 for index")
    if not input.ndim and i.size != 1:
        raise RuntimeError(
            f"index_select(): Index to scalar can have only 1 value, got {i.size} value(s)"
        )
    if i.size and (int(i.min()) < 0 or int(i.max()) >= length(input, dim)):
        raise IndexError("index out of range in self")
    return index


def added_index(self: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """Return the validated index of index_add."""
    if index.ndim > 1:
        raise IndexError(
            f"index_add_(): Index is supposed to be a vector, but got dim: {index.ndim} with type: "
            f"{index.dtype.scalar_type} and size: {list(index.shape)}"
        )
    i = integers(
        index,
        4,
        f"index_add_(): Expected dtype int32/int64 for index but got: {index.dtype.scalar_type}",
    )
    if self.dtype is not source.dtype:
        raise RuntimeError(
            f"index_add_(): self ({self.dtype.scalar_type}) and source ({source.dtype.scalar_type}) must have the same "
            "scalar type"
        )
    have = length(source, dim)
    if i.size != have:
        raise RuntimeError(
            f"index_add_(): Number of indices ({i.size}) should be equal to source.size(dim): ({have}), for dim: {dim}"
        )
    if other_sizes(self, dim) != other_sizes(source, dim):
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{list(self.shape)} source.shape = {list(source.shape)}"
        )
    in_range(i, dim, length(self, dim))
    return index


def copied_index(self: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """Return the validated index of index_copy."""
    i = integers(
        index,
        8,
        f"index_copy_(): Expected a long tensor for index, but got {index.dtype.scalar_type}",
    )
    if self.dtype is not source.dtype:
        raise RuntimeError(
            "index_copy_(): self and source expected to have the same dtype, but got (self) "
            f"{self.dtype.scalar_type} and (source) {source.dtype.scalar_type}"
        )
    if other_sizes(self, dim) != other_sizes(source, dim):
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: "
            f"{' '.join(map(str, other_sizes(self, dim)))} at dimension {dim} and source slice shape: "
            f"{' '.join(map(str, other_sizes(source, dim)))} at dimension 0."
        )
    have = length(source, dim)
    if i.size != have:
        raise IndexError(
            f"index_copy_(): Number of indices ({i.size}) should be equal to source.size(dim) ({have})"
        )
    in_range(i, dim, length(self, dim), IndexError, "index_copy_(): ")
    return index


def filled_index(self: Tensor, dim: int, index: Tensor) -> Tensor:
    """Return the validated index of index_fill."""
    i = integers(index, 8, "index_fill_(): Expected dtype int64 for index.", IndexError)
    if i.ndim > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    in_range(i, dim, length(self, dim), IndexError, from_end=True)
    return index


def flat_positions(name: str, self: Tensor, index: Tensor) -> Tensor:
    """Return the validated positions of take and put."""
    n = self.numel()
    if name == "take" and not n and index.numel():
        raise IndexError("take(): tried to take from an empty tensor")
    i = integers(
        index, 8, f"{name}(): Expected a long tensor for index, but got {index.dtype.scalar_type}"
    )
    wrong = i[(i < -n) | (i >= n)]
    if wrong.size:
        raise IndexError(
            f"out of range: tried to access index {int(wrong.flat[0])} on a tensor of {n} elements."
        )
    return index


def other_sizes(t: Tensor, dim: int) -> Ints:
    return tuple(n for k, n in enumerate(t.shape) if k != dim)
