"""Sparse matrices in coordinates (torch.sparse_coo_tensor), and their products with dense ones.

A SparseTensor is a tensor of indices and a tensor of values; gradients go to the values. It is not
a Tensor: it has the few methods that programs with adjacency matrices call.
"""

from __future__ import annotations

from operator import index

from gradtrace.annotations import Any, Sequence
from gradtrace.engine.data import dtypes
from gradtrace.engine.data.describe import CPU, Size, check_device, device, layout
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.text import sparse_text
from gradtrace.engine.data.types import XP, Array, Operand, Shape
from gradtrace.engine.operators.op import OneResult, d, gather_op
from gradtrace.ops.api import public
from gradtrace.ops.create.factories import as_tensor
from gradtrace.ops.index.records import index_place, index_select
from gradtrace.ops.shape.join import concatenated

__all__ = ["FloatTensor", "mm", "sum"]

BLOCK = 1 << 20  # products that are held at once

# ---- kernels and records


def product_kernel(values: Array, dense: Array, rows: Array, columns: Array, size: int) -> Array:
    length = dense.shape[1]
    out = np.zeros((size, length), np.result_type(values, dense))
    step = max(BLOCK // max(length, 1), 1)
    for start in range(0, values.size, step):
        part = slice(start, start + step)
        np.add.at(out, rows[part], values[part, None] * dense[columns[part]])
    return out


def product_values(
    xp: XP,
    g: Operand,
    out: Any,
    values: Any,
    dense: Operand,
    rows: Array,
    columns: Array,
    size: int,
) -> Operand:
    return xp.sum_dim(xp.index_select(g, 0, rows) * xp.index_select(dense, 0, columns), (1,))


def product_dense(
    xp: XP,
    g: Operand,
    out: Any,
    values: Any,
    dense: Operand,
    rows: Array,
    columns: Array,
    size: int,
) -> Operand:
    return xp.sparse_mm(values, g, columns, rows, dense.shape[0])


# fmt: off
sparse_mm, sparse_addmm = (
    gather_op(f"{name}(values, dense; rows, columns, size)", product_kernel,
        "out[j, k] = sum[i](values[i] * dense[columns[i], k] if rows[i] == j else 0)", node=node,
        values=d("dense", product_values), dense=d("values dense", product_dense))
    for name, node in (("sparse_mm", "MmBackward0"), ("sparse_addmm", "SparseAddmmBackward0"))
)
sparse_to_dense = gather_op("sparse_to_dense(values; shape, indices)",
    lambda values, shape, indices: index_place.kernel(None, values, shape, indices),
    "out[j] = sum[i](values[i] if indices[i] == j else 0)", node="ToDenseBackward0",
    values="index(grad, indices)")
# fmt: on


# ---- the tensor


class SparseTensor:
    """A sparse tensor: `_values` at the positions `_indices`, of shape (dims, number of values)."""

    __slots__ = ("_coalesced", "_node", "_places", "_stored", "shape")

    def __init__(
        self, places: Array, stored: Tensor, shape: Shape, node: str = "", coalesced: bool = False
    ) -> None:
        self._places, self._stored, self.shape = places, stored, Size(shape)
        self._node = node or "SparseCooTensorWithDimsAndTensorsBackward0"
        self._coalesced = coalesced

    def _with(self, values: Tensor, node: str) -> SparseTensor:
        return SparseTensor(self._places, values, self.shape, node, self._coalesced)

    # ---- facts

    layout = layout("torch.sparse_coo")
    is_sparse = True
    _version = 0

    def is_inference(self) -> bool:
        return False

    @property
    def dtype(self) -> dtypes.dtype:
        return self._stored.dtype

    @property
    def device(self) -> device:
        return CPU

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def requires_grad(self) -> bool:
        return self._stored.requires_grad

    def dim(self) -> int:
        return self.ndim

    def size(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self.shape[dim]

    def _nnz(self) -> int:
        return int(self._places.shape[1])

    def _indices(self) -> Tensor:
        return as_tensor(self._places)

    def _values(self) -> Tensor:
        return self._stored.detach()

    def is_coalesced(self) -> bool:
        return self._coalesced

    def indices(self) -> Tensor:
        self._require_coalesced("indices")
        return self._indices()

    def values(self) -> Tensor:
        self._require_coalesced("values")
        return self._stored

    def _require_coalesced(self, method: str) -> None:
        if not self._coalesced:
            raise RuntimeError(
                f"Cannot get {method} on an uncoalesced tensor, please call .coalesce() first"
            )

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        node = self._node if self._stored.grad_fn is not None or self._stored.requires_grad else ""
        return sparse_text(
            self._places,
            self._stored._data,
            tuple(self.shape),
            self.dtype.name,
            dtypes.get_default_dtype().name,
            node,
        )

    # ---- other forms

    def coalesce(self) -> SparseTensor:
        """Return the tensor with sorted indices, each of which occurs once."""
        if self._coalesced:
            return self
        flat = np.ravel_multi_index(tuple(self._places), tuple(self.shape))
        kept, place = np.unique(flat, return_inverse=True)
        places = np.array(np.unravel_index(kept, tuple(self.shape)))
        values = sparse_to_dense(self._stored, (len(kept),), (place.reshape(-1),))
        return SparseTensor(places, values, self.shape, "CoalesceBackward0", True)

    def to_dense(self) -> Tensor:
        return sparse_to_dense(self._stored, tuple(self.shape), tuple(self._places))

    def detach(self) -> SparseTensor:
        return self._with(self._stored.detach(), "")

    def to(self, *args: Any, **options: Any) -> SparseTensor:
        return self._with(self._stored.to(*args, **options), "ToCopyBackward0")

    def float(self) -> SparseTensor:
        return self.to(dtypes.float32)

    def double(self) -> SparseTensor:
        return self.to(dtypes.float64)

    def cpu(self) -> SparseTensor:
        return self

    def clone(self) -> SparseTensor:
        return self._with(self._stored.clone(), "CloneBackward0")

    def t(self) -> SparseTensor:
        return self.transpose(0, 1, "TBackward0")

    def transpose(self, dim0: int, dim1: int, node: str = "TransposeBackward0") -> SparseTensor:
        order = list(range(self.ndim))
        order[dim0], order[dim1] = order[dim1], order[dim0]
        return SparseTensor(self._places[order], self._stored, [self.shape[i] for i in order], node)  # type: ignore[arg-type]

    @property
    def T(self) -> SparseTensor:
        return self.transpose(0, 1, "PermuteBackward0")

    # ---- operations

    def sum(self) -> Tensor:
        return self._stored.sum()

    def mm(self, mat2: Any, record: OneResult = sparse_mm) -> Tensor:
        """Return the product with a dense matrix."""
        if not isinstance(mat2, Tensor):
            raise RuntimeError(
                "gradtrace multiplies sparse tensors by dense ones: call to_dense() of the second"
            )
        if self.ndim != 2 or mat2.ndim != 2:
            raise RuntimeError(f"mm: expected 2D tensors, but got {self.ndim}D and {mat2.ndim}D")
        if self.shape[1] != mat2.shape[0]:
            raise RuntimeError(
                f"mm: Argument #3 (dense): Expected dim 0 size {self.shape[1]}, got {mat2.shape[0]}"
            )
        return record(self._stored, mat2, *self._places, self.shape[0])

    def mv(self, vec: Tensor) -> Tensor:
        return self.mm(vec.unsqueeze(1)).squeeze(1)

    def matmul(self, other: Any) -> Tensor:
        return self.mv(other) if isinstance(other, Tensor) and other.ndim == 1 else self.mm(other)

    def __matmul__(self, other: Any) -> Any:
        return self.matmul(other) if isinstance(other, (Tensor, SparseTensor)) else NotImplemented

    def __rmatmul__(self, other: Any) -> Any:
        return self.t().mm(other.t()).t() if isinstance(other, Tensor) else NotImplemented

    def __mul__(self, other: Any) -> Any:
        return self._scaled(other, "__mul__", "MulBackward0")

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self._scaled(other, "__truediv__", "DivBackward0")

    def _scaled(self, other: Any, method: str, node: str) -> Any:
        if not isinstance(other, (int, float)) and not (
            isinstance(other, Tensor) and not other.ndim
        ):
            return NotImplemented
        return self._with(getattr(self._stored, method)(other), node)

    def __neg__(self) -> SparseTensor:
        return self._with(-self._stored, "NegBackward0")

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Tensor):
            raise RuntimeError(
                "add(sparse, dense) is not supported. Use add(dense, sparse) instead."
            )
        if not isinstance(other, SparseTensor):
            return NotImplemented
        if self.shape != other.shape:
            raise RuntimeError(
                f"add: expected sizes of 'self' and 'other' to match, but {self.shape} != {other.shape}"
            )
        places = np.concatenate([self._places, other._places], 1)
        total = SparseTensor(
            places, concatenated([self._stored, other._stored]), self.shape
        ).coalesce()
        return total._with(total._stored, "AddBackward0")

    def __radd__(self, other: Any) -> Any:
        return other + self.to_dense() if isinstance(other, Tensor) else NotImplemented


# ---- the public names


@public(forms="f")
def sparse_coo_tensor(
    indices: Any,
    values: Any,
    size: Sequence[int] | None = None,
    *,
    dtype: dtypes.dtype | None = None,
    device: Any = None,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> SparseTensor:
    """Return a sparse tensor of values at indices of shape (dims, count)
    (torch.sparse_coo_tensor).
    """
    check_device(device)
    if not isinstance(size, (tuple, list, type(None))):
        raise TypeError(
            f"sparse_coo_tensor(): argument 'size' must be tuple of ints, not {type(size).__name__}"
        )
    where = as_tensor(indices)
    stored = as_tensor(values, dtypes.as_dtype(dtype))
    places = np.array(where.shared(), np.int64)
    stored = stored.requires_grad_() if requires_grad else stored
    if places.ndim != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(places.shape)}")
    if stored.ndim != 1 or stored.shape[0] != places.shape[1]:
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {places.shape[1]}, nnz from values: "
            f"{stored.shape[0] if stored.ndim else 1}"
        )
    shape = tuple((places.max(1) + 1).tolist() if size is None else map(index, size))
    if len(shape) != len(places):
        raise RuntimeError(
            f"number of dimensions must be sparse_dim ({len(places)}), but got {len(shape)}"
        )
    for dim, (positions, bound) in enumerate(zip(places, shape, strict=True)):
        if positions.size and positions.min() < 0:
            raise RuntimeError(f"found negative index {positions.min()} for dim {dim}")
        if positions.size and positions.max() >= bound:
            raise RuntimeError(
                f"size is inconsistent with indices: for dim {dim}, size is {bound} but found index {positions.max()}"
            )
    return SparseTensor(places, stored, shape, coalesced=bool(is_coalesced))


@public(forms="m")
def to_sparse(self: Tensor) -> SparseTensor:
    """Return the elements that are not zero as a sparse tensor (Tensor.to_sparse)."""
    places = np.array(np.nonzero(self.array))
    flat = np.ravel_multi_index(tuple(places), tuple(self.shape))
    values = index_select(self.reshape(-1), 0, flat)
    return SparseTensor(places, values, self.shape, "ToSparseBackward0", True)


@public(forms="m")
def to_dense(self: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    """Return the tensor, which is dense already (Tensor.to_dense), or a copy in `dtype`."""
    return self if dtype is None else self.to(dtype)


@public(forms="f")
def spmm(input: SparseTensor, mat2: Tensor) -> Tensor:
    """Return the product of a sparse and a dense matrix (torch.spmm)."""
    return input @ mat2


def mm(mat1: SparseTensor, mat2: Tensor) -> Tensor:
    """Return the product of a sparse and a dense matrix (torch.sparse.mm)."""
    return mat1.mm(mat2, sparse_addmm) if isinstance(mat1, SparseTensor) else mat1 @ mat2


def sum(input: SparseTensor) -> Tensor:
    """Return the sum of all elements (torch.sparse.sum)."""
    return input.sum()


def FloatTensor(indices: Tensor, values: Tensor, size: Sequence[int] | None = None) -> SparseTensor:
    """Return a sparse tensor (torch.sparse.FloatTensor, deprecated)."""
    return sparse_coo_tensor(indices, values, size, dtype=dtypes.float32)
