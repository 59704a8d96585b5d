"""Storage, strides and memory: as_strided, resize_, set_, data_ptr.

A tensor's storage is the array that owns its memory. Offsets and strides count elements, as in
PyTorch.
"""

from __future__ import annotations

from operator import index

from gradtrace.annotations import Any, Iterator, Sequence
from gradtrace.engine.calls.inplace import refuse_untrackable
from gradtrace.engine.data import dtypes
from gradtrace.engine.data.describe import contiguous_strides
from gradtrace.engine.data.lazy import is_array, np
from gradtrace.engine.data.state import state
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import Array, Ints, Shape
from gradtrace.engine.operators.op import d, structural_op, view_op
from gradtrace.engine.operators.strided_view import extent, window
from gradtrace.ops.api import public, sizes
from gradtrace.ops.create.factories import checked_sizes, finish, np_of
from gradtrace.ops.index.records import add_at
from gradtrace.ops.shape.views import inplace_view

RESIZE_MESSAGE = (
    "requested resize to {} ({} elements in total), but the given tensor has a size of {} ({} elements). autograd's "
    "resize can only change the shape of a given tensor, while preserving the number of elements. "
)


def owner(raw: Array) -> Array:
    """Return the array that owns the memory of `raw`."""
    while raw.base is not None:
        # numpy's as_strided inserts another object between the view and the array.
        below: Any = raw.base if is_array(raw.base) else getattr(raw.base, "base", None)
        if not is_array(below):
            break
        raw = below
    return raw


def address(raw: Array) -> int:
    return int(raw.__array_interface__["data"][0])


def start_of(whole: Array) -> int:
    return int(np.lib.array_utils.byte_bounds(whole)[0])


def storage_of(raw: Array) -> Array:
    """Return the whole storage as a 1-d array of the tensor's dtype, without copying."""
    whole = owner(raw)
    if whole.dtype == raw.dtype and whole.flags.c_contiguous:
        return whole.reshape(-1)
    if whole.flags.f_contiguous or whole.flags.c_contiguous:
        return whole.ravel(order="K").view(raw.dtype)
    return np.ascontiguousarray(raw).reshape(-1)


def offset_of(raw: Array) -> int:
    return (address(raw) - start_of(owner(raw))) // raw.itemsize


def steps_of(raw: Array) -> Ints:
    return tuple(s // raw.itemsize for s in raw.strides)


def strided_kernel(
    a: Array, size: Sequence[int], stride: Sequence[int], offset: int, layout: object
) -> Array:
    return window(storage_of(a), size, stride, offset)


def positions(
    size: Sequence[int], stride: Sequence[int], offset: int, layout: tuple[Any, ...]
) -> Array:
    """Return the flat input position of each element of a strided view; the input's size if it is
    not in the input.
    """
    n = int(np.prod(layout[0], dtype=np.int64))
    cells = np.full(layout[3], n, np.int64)
    if n:
        window(cells, *layout[:3])[...] = np.arange(n).reshape(layout[0])
    return window(cells, size, stride, offset).copy()


def put_back(g: Array, where: Array, shape: Shape) -> Array:
    n = int(np.prod(shape, dtype=np.int64))
    return add_at((n + 1,), where, g)[:n].reshape(shape)


def take_or_zero(a: Array, where: Array) -> Array:
    return np.append(a.reshape(-1), np.zeros(1, a.dtype))[where]


# fmt: off
as_strided_record = view_op("as_strided(self; size, stride, offset, layout)", strided_kernel,
    "out[i] = storage[offset + sum[k](stride[k] * i[k])]",
    self=d("~self", lambda xp, g, out, self, *rest: xp.as_strided_place(g, positions(*rest), tuple(self.shape))))
as_strided_place = structural_op("as_strided_place(self; where, shape)", put_back,
    "out[j] = sum[i](self[i] if where[i] == j else 0)", node="AsStridedBackwardBackward0",
    self="as_strided_take(grad, where)")
as_strided_take = structural_op("as_strided_take(self; where)", take_or_zero, "flat(out)[i] = flat(self)[where[i]]",
    node="AsStridedBackward0", self="as_strided_place(grad, where, self.shape)")
# fmt: on


@public(forms="fmc")
def as_strided(
    input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Tensor:
    """View the storage with sizes and strides in elements; RuntimeError out of bounds
    (torch.as_strided).

    `storage_offset` defaults to the input's.
    """
    size = tuple(map(index, size))
    stride = tuple(map(index, stride))
    offset = None if storage_offset is None else index(storage_offset)
    raw = input.shared()
    offset = offset_of(raw) if offset is None else offset
    check_window(raw, size, stride, offset)
    layout = (raw.shape, steps_of(raw), offset_of(raw), storage_of(raw).size)
    return as_strided_record(input, size, stride, offset, layout)


def check_window(raw: Array, size: Sequence[int], stride: Sequence[int], offset: int) -> None:
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    if min(stride, default=0) < 0:
        raise RuntimeError(
            f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}"
        )
    check_steps(size, stride)
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    window(storage_of(raw), size, stride, offset)


def check_steps(size: Sequence[int], stride: Sequence[int]) -> None:
    if min((*size, *stride), default=0) < 0:
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}"
        )


public("as_strided_")(inplace_view(as_strided, "AsStridedBackward1"))


# ---- queries


@public(forms="m")
def data_ptr(self: Tensor) -> int:
    """Address of the first element, 0 for an empty tensor (Tensor.data_ptr)."""
    raw = self.shared()
    return address(raw) if raw.size else 0


@public(forms="m")
def storage_offset(self: Tensor) -> int:
    """Offset of the first element in the storage, in elements (Tensor.storage_offset)."""
    raw = self.shared()
    return offset_of(raw) if raw.size else 0


UNTYPED = "UntypedStorage("


class Storage:
    """The memory of a tensor: its address, size and elements."""

    __slots__ = ("_cells", "_name")

    def __init__(self, cells: Array, name: str = UNTYPED) -> None:
        self._cells = cells
        self._name = name

    def data_ptr(self) -> int:
        return address(self._cells) if self._cells.size else 0

    def nbytes(self) -> int:
        return int(self._cells.nbytes)

    def size(self) -> int:
        return int(self._cells.size)

    def tolist(self) -> list[Any]:
        return self._cells.tolist()

    def __len__(self) -> int:
        return int(self._cells.size)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __getitem__(self, index: Any) -> Any:
        return self._cells[index].item()

    def __setitem__(self, key: int | slice, value: float) -> None:
        kind = type(value).__name__
        if self._name == UNTYPED and not isinstance(value, int):
            raise RuntimeError(
                f"can only set storage content with a int types, but got {kind} instead"
            )
        if not isinstance(value, (int, float, Tensor)) and (
            not hasattr(value, "__array__") or np.ndim(value)
        ):
            raise TypeError(
                f"can't assign a {kind} to a torch.{Tensor._wrap(self._cells).dtype.scalar_type}Tensor"
            )
        state.keeper.before_array_write(self._cells)
        self._cells[key if isinstance(key, slice) else index(key)] = value

    def __repr__(self) -> str:
        items = "".join(f" {item}\n" for item in self)
        return f"{items}[torch.storage.{self._name}device=cpu) of size {len(self)}]"


def cells(self: Tensor) -> Array:
    return storage_of(self.shared())


@public(forms="m")
def untyped_storage(self: Tensor) -> Storage:
    """Return the storage as bytes (Tensor.untyped_storage)."""
    return Storage(cells(self).view(np.uint8))


@public(forms="m")
def storage(self: Tensor) -> Storage:
    """Return the storage as elements of the tensor's dtype (Tensor.storage)."""
    return Storage(cells(self), f"TypedStorage(dtype={self.dtype}, ")


@public(forms="m")
def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Return whether both tensors have the same memory, sizes and strides (Tensor.is_set_to)."""
    a = self.shared()
    b = tensor.shared()
    return (address(a), a.shape, a.strides, a.dtype) == (address(b), b.shape, b.strides, b.dtype)


@public(forms="fm")
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Return whether the shapes are equal (torch.is_same_size)."""
    return input.shape == other.shape


# ---- change of size or memory


@public(forms="fm")
def resize_(input: Tensor, *size: int | Sequence[int], memory_format: object = None) -> Tensor:
    """Resize in place to a contiguous tensor on the same storage, or on a larger one if necessary
    (Tensor.resize_).
    """
    if input.requires_grad and not state.inference:
        raise RuntimeError("cannot resize variables that require grad")
    shape = sizes(size)
    if shape == tuple(input.shape):
        return input
    if memory_format == "torch.preserve_format":
        raise RuntimeError("Unsupported memory formatPreserve")
    if min(shape, default=0) < 0:
        raise RuntimeError(f"Trying to resize to negative size {list(shape)}")
    raw = input.shared()
    n = int(np.prod(shape, dtype=np.int64))
    offset = offset_of(raw)
    cells = storage_of(raw)
    if offset + n > cells.size:
        cells = np.append(cells, np.zeros(offset + n - cells.size, raw.dtype))
    cells = cells[offset : offset + n]
    input._data = cells.reshape(shape)
    input.disable_fast_path()
    if not input.is_inference():
        input.counter().n += 1
    return input


@public(forms="fm")
def resize_as_(input: Tensor, the_template: Tensor, memory_format: object = None) -> Tensor:
    """Resize to the shape of another tensor (Tensor.resize_as_)."""
    return resize_(input, tuple(the_template.shape))


@public(forms="m")
def resize(self: Tensor, *size: int | Sequence[int]) -> Tensor:
    """Return a view of the same elements with other sizes (Tensor.resize)."""
    shape = sizes(size)
    n = int(np.prod(shape, dtype=np.int64))
    if n != self.numel():
        wanted, have = ("x".join(map(str, s)) for s in (shape, self.shape))
        raise RuntimeError(RESIZE_MESSAGE.format(wanted, n, have, self.numel()))
    return self.contiguous().view(shape)


@public(forms="m")
def set_(
    self: Tensor,
    source: object = None,
    storage_offset: int = 0,
    size: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
) -> Tensor:
    """Use the memory of `source`, or empty memory (Tensor.set_)."""
    if state.grad_enabled and self.requires_grad:
        refuse_untrackable(self)
    if source is None:
        raw = np.zeros(0, self.dtype.np)
    elif not isinstance(source, (Tensor, Storage)):
        raise TypeError(
            f"set_(): argument 'source' (position 1) must be Tensor, not {type(source).__name__}"
        )
    else:
        raw = source.shared() if isinstance(source, Tensor) else source._cells
        if raw.dtype != self.dtype.np:
            dtype = Tensor._wrap(raw).dtype
            raise RuntimeError(
                f"Could not set tensor of type {dtype.c_name} to a tensor of type {self.dtype.c_name}"
            )
    if size is not None:
        raw = placed(storage_of(raw), tuple(map(index, size)), stride, index(storage_offset))
    self._data = raw
    self.counter().n += 1
    # gradients of what it held before are not those of what it holds now
    self.extra().accumulator = None
    return self


def placed(cells: Array, size: Ints, stride: Sequence[int] | None, offset: int) -> Array:
    """Return a strided view of the 1-d storage `cells`, or of an enlarged copy if it is too
    small.
    """
    steps = contiguous_strides(size) if stride is None else tuple(map(index, stride))
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    if len(size) != len(steps):
        raise RuntimeError(f"unequal size length ({len(size)}) and stride length ({len(steps)})")
    check_steps(size, steps)
    missing = extent(size, steps, offset) - cells.size
    if missing > 0:
        cells = np.append(cells, np.zeros(missing, cells.dtype))
    return window(cells, size, steps, offset)


@public(forms="f")
def empty_strided(
    size: Sequence[int],
    stride: Sequence[int],
    *,
    dtype: dtypes.dtype | None = None,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """Create a tensor with these sizes and strides, counted in elements (torch.empty_strided)."""
    size = checked_sizes(sizes((size,)))
    stride = tuple(map(index, stride))
    if len(size) != len(stride):
        raise RuntimeError(
            f"dimensionality of sizes ({len(size)}) must match dimensionality of strides ({len(stride)})"
        )
    return finish(placed(np.zeros(0, np_of(dtype)), size, stride, 0), requires_grad, device)


@public(forms="m")
def new_empty_strided(
    self: Tensor, size: Sequence[int], stride: Sequence[int], **options: Any
) -> Tensor:
    """`empty_strided` with the dtype of this tensor (Tensor.new_empty_strided)."""
    return empty_strided(size, stride, **{"dtype": self.dtype, "device": self.device, **options})


@public(forms="m")
def fill_diagonal_(self: Tensor, fill_value: float, wrap: bool = False) -> Tensor:
    """Fill the main diagonal with one value; with `wrap` it repeats in a tall matrix
    (Tensor.fill_diagonal_).
    """
    if not isinstance(fill_value, (int, float, Tensor)):
        raise TypeError(
            f"fill_diagonal_(): argument 'fill_value' (position 1) must be Number, not {type(fill_value).__name__}"
        )
    if self.ndim < 2:
        raise RuntimeError("dimensions must larger than 1")
    rows, columns = self.shape[:2]
    if self.ndim > 2 and len(set(self.shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    stride = sum(self.stride())
    as_strided(self, (min(rows, columns),), (stride,)).fill_(fill_value)
    if wrap and self.ndim == 2 and rows > columns + 1:
        step = self.stride(0) * (columns + 1)
        start = self.storage_offset() + step
        count = (self.numel() + columns) // (columns + 1) - columns
        as_strided(self, (count,), (stride,), start).fill_(fill_value)
    return self
