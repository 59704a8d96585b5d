"""`x[...]` and `x[...] = v`: apply basic index items as views from left to right, then at most one
advanced index.
"""

from __future__ import annotations

from gradtrace.annotations import Any
from gradtrace.engine.calls.inplace import inplace
from gradtrace.engine.calls.view_rules import mark_view
from gradtrace.engine.data.dtypes import python_number
from gradtrace.engine.data.higher import higher
from gradtrace.engine.data.lazy import is_array, np
from gradtrace.engine.data.state import state
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import Array, Ints
from gradtrace.ops.create.factories import assign, fill_tensor, from_nested
from gradtrace.ops.index.index_checks import in_range
from gradtrace.ops.index.records import index, index_put, select, slice_record
from gradtrace.ops.shape.expansion import expanded
from gradtrace.ops.shape.views import alias, unsqueeze, view

PLAIN_ITEMS = frozenset({int, slice, type(None), type(...)})
NO_ITEM = (
    "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a "
    "0-dim tensor to a number"
)

# in the dtype of a mask that was given as bytes: messages about it say ByteTensor
WAS_BYTE = {"was": "uint8"}


def is_advanced(item: object) -> bool:
    if isinstance(item, Tensor):
        return item.ndim > 0
    return isinstance(item, (list, tuple, range)) or is_array(item)


def is_truth(item: object) -> bool:
    """Return whether an index item is a bool or a 0-d bool tensor, which adds a dim of size 1
    (True) or 0 (False).
    """
    return isinstance(item, bool) or (
        isinstance(item, Tensor) and item.ndim == 0 and item.dtype.category == 0
    )


def consumed(item: object) -> int:
    """Return how many dims of the tensor an index item consumes."""
    if item is None or item is Ellipsis or isinstance(item, bool):
        return 0
    if isinstance(item, Tensor) and item.dtype.category == 0:
        return item.ndim
    if isinstance(item, list):
        return np.asarray(item).ndim if item and isinstance(nested_first(item), bool) else 1
    return 1


def as_array(item: Any) -> Any:
    """Convert an index item with `__array__` to its array or number; return any other item
    unchanged.
    """
    if (
        type(item) in PLAIN_ITEMS
        or isinstance(item, (Tensor, list))
        or not hasattr(type(item), "__array__")
    ):
        return item
    array = np.asarray(item)
    return array if array.ndim else array[()]


def nested_first(item: object) -> object:
    while isinstance(item, list) and item:
        item = item[0]
    return item


def normalised(tensor: Tensor, key: Any) -> list[Any]:
    """Return the items of an index with the Ellipsis replaced by full slices."""
    items = [
        as_array(item)
        for item in (key if isinstance(key, tuple) or stands_for_tuple(key) else (key,))
    ]
    if not tensor.ndim and len(items) == 1 and type(items[0]) is int:
        if items[0] == 0:
            raise IndexError(NO_ITEM)
        raise IndexError(f"index {items[0]} is out of bounds for dimension 0 with size 0")
    used = sum(consumed(item) for item in items)
    if (
        not tensor.ndim
        and len(items) == 1
        and isinstance(items[0], slice)
        and (items[0].step or 1) > 0
    ):
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    if used > tensor.ndim:
        raise IndexError(f"too many indices for tensor of dimension {tensor.ndim}")
    dots = [i for i, item in enumerate(items) if item is Ellipsis]
    for i in reversed(dots[1:]):
        del items[i]
    if dots:
        items[dots[0] : dots[0] + 1] = [slice(None)] * (tensor.ndim - used)
    return items


def stands_for_tuple(key: object) -> bool:
    """Return whether a list is read as a tuple of index items, as PyTorch does for short lists of
    non-numbers.
    """
    return (
        isinstance(key, list)
        and len(key) < 32
        and any(
            item is None or item is Ellipsis or isinstance(item, (Tensor, list, tuple, slice))
            for item in key
        )
    )


def basic_steps(tensor: Tensor, key: object) -> tuple[Tensor, list[Any]]:
    """Apply the basic items of an index as views; return the view and the remaining advanced items
    (None: a full dim).

    A full slice is a separate step only if it is the whole index, as in PyTorch.
    """
    if key is Ellipsis or (isinstance(key, tuple) and not key):
        return alias(tensor), []
    indices = key if type(key) is tuple else (key,)
    if len(indices) <= tensor.ndim and all(type(item) is int for item in indices):
        return element(tensor, indices), []
    advanced: list[Any] = []
    result, dim, real = tensor, 0, -1  # real counts the tensor's own dims
    for item in normalised(tensor, key):
        real += consumed(item)
        if is_truth(item):
            result = unsqueeze(result, dim)
            advanced.append(np.array([bool(item)]))
            dim += 1
        elif is_advanced(item):
            advanced.append(item)
            dim += consumed(item)
        elif item is None:
            result = unsqueeze(result, dim)
            advanced.append(None)
            dim += 1
        elif isinstance(item, slice):
            result = sliced(result, dim, item, keep_full=not isinstance(key, tuple))
            advanced.append(None)
            dim += 1
        else:
            result = selected(result, dim, item, real)
    return result, advanced if any(a is not None for a in advanced) else []


def element(tensor: Tensor, indices: Ints) -> Tensor:
    """Apply an index of integers, of which loops consist: one view for all of them where neither a
    derivative nor an observer sees the steps.
    """
    for dim, (i, n) in enumerate(zip(indices, tensor.shape, strict=False)):
        if not -n <= i < n:
            raise IndexError(f"index {i} is out of bounds for dimension {dim} with size {n}")
    if state.closely or tensor.requires_grad:
        for i in indices:
            tensor = select(tensor, 0, i % tensor.shape[0])
        return tensor
    place: Any = (*indices, ...)
    result = Tensor._wrap(tensor.own_array()[place])
    mark_view(result, tensor)
    return result


def selected(tensor: Tensor, dim: int, item: Any, real: int) -> Tensor:
    if isinstance(item, str):
        raise TypeError("new(): invalid data type 'str'")
    if isinstance(item, Tensor) and item.is_floating_point():
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    if not hasattr(item, "__index__") or isinstance(item, float):
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
            f"(got {type(item).__name__})"
        )
    i = item.__index__()
    if tensor.ndim == 0:
        raise IndexError(NO_ITEM)
    n = tensor.shape[dim]
    if not -n <= i < n:
        raise IndexError(f"index {i} is out of bounds for dimension {real} with size {n}")
    return select(tensor, dim, i % n)


def sliced(tensor: Tensor, dim: int, item: slice, keep_full: bool) -> Tensor:
    step = 1 if item.step is None else item.step.__index__()
    if step <= 0:
        raise ValueError(
            "step must be greater than zero" if step < 0 else "slice step cannot be zero"
        )
    n = tensor.shape[dim]
    start, stop, _ = slice(
        None if item.start is None else item.start.__index__(),
        None if item.stop is None else item.stop.__index__(),
    ).indices(n)
    if (start, stop, step) == (0, n, 1) and not keep_full:
        return tensor
    return slice_record(tensor, dim, start, max(stop, start), step)


def index_arrays(tensor: Tensor, advanced: list[Any]) -> tuple[Any, ...]:
    """Return the advanced items as indices for numpy, checked against the dims they index; tensors
    stay tensors.
    """
    result: list[Any] = []
    dim = indexed = 0  # PyTorch's message counts only the indexed dims
    for item in advanced:
        if item is None:
            result.append(slice(None))
            dim += 1
            continue
        array = as_index(item)
        if array.dtype == bool:
            check_mask(tensor, array, dim)
        else:
            in_range(array, indexed, tensor.shape[dim], IndexError, from_end=True)
        n = array.ndim if array.dtype == bool else 1
        dim = dim + n
        indexed = indexed + n
        if not isinstance(item, Tensor):
            result.append(array)
        else:
            result.append(item if item.dtype.name != "uint8" else item.alias(array))
    while result and isinstance(result[-1], slice):
        result.pop()
    return tuple(result)


def as_index(item: Any) -> Array:
    if isinstance(item, Tensor):
        array = item.shared()
        if array.dtype.kind == "f" or array.dtype in (np.int8, np.int16):
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        return array.astype(np.dtype(bool, metadata=WAS_BYTE)) if array.dtype == np.uint8 else array
    array = (
        np.asarray(item)
        if is_array(item) or isinstance(item, bool)
        else np.asarray(from_nested(item, None))
    )
    return array.astype(np.int64) if array.dtype.kind == "f" else array


def check_mask(tensor: Tensor, mask: Array, dim: int) -> None:
    for i, n in enumerate(mask.shape):
        if n != tensor.shape[dim + i]:
            raise IndexError(
                f"The shape of the mask {list(mask.shape)} at index {i} does not match the shape of the indexed tensor "
                f"{list(tensor.shape)} at index {dim + i}"
            )


def getitem(self: Tensor, key: object) -> Tensor:
    """Implement self[key]."""
    result, advanced = basic_steps(self, key)
    if not advanced:
        return result if result is not self else alias(self)
    try:
        return index(result, index_arrays(result, advanced))
    except (ValueError, IndexError) as error:
        if "broadcast" in str(error):
            raise no_common_shape(advanced) from None
        raise


def no_common_shape(advanced: list[Any]) -> IndexError:
    """Return the error for index tensors whose shapes do not broadcast."""
    shapes = ", ".join(str(list(as_index(a).shape)) for a in advanced if a is not None)
    return IndexError(
        f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}"
    )


def setitem(self: Tensor, key: object, value: object) -> None:
    """Implement self[key] = value in place, through a view or by index_put."""
    if not isinstance(value, (Tensor, int, float)) and not isinstance(
        value := python_number(value), (int, float)
    ):
        kind = ("numpy." if is_array(value) else "") + type(value).__name__
        raise TypeError(f"can't assign a {kind} to a torch.{self.dtype.scalar_type}Tensor")
    if key is False:  # PyTorch returns before it looks at the value
        return
    target, advanced = (self, []) if is_everything(self, key) else basic_steps(self, key)
    if advanced:
        source = (
            value
            if isinstance(value, Tensor)
            else Tensor._wrap(np.asarray(value).astype(self.dtype.np))
        )
        if isinstance(value, Tensor) and value.dtype is not self.dtype:
            if value.ndim or value.dtype.category > self.dtype.category:
                raise RuntimeError(
                    "Index put requires the source and destination dtypes match, got "
                    f"{self.dtype.scalar_type} for the destination and {value.dtype.scalar_type} for the source."
                )
            source = value.to(self.dtype)
        try:
            inplace(
                index_put,
                target,
                without_leading_ones(source),
                index_arrays(target, advanced),
                False,
            )
        except IndexError as error:
            if "indexing arrays could not be broadcast" in str(error):
                raise no_common_shape(advanced) from None
            raise
        return
    if not isinstance(value, Tensor):
        value = Tensor._wrap(np.asarray(value).astype(self.dtype.np))
    if value.shape == target.shape:
        inplace(assign, target, value)
    elif not value.ndim:
        inplace(fill_tensor, target, value)
    else:
        inplace(assign, target, expand_to_target(value, target))


def is_everything(tensor: Tensor, key: object) -> bool:
    """Return whether an index selects the whole tensor, which is then written directly and not
    through a view.
    """
    if key is Ellipsis or (isinstance(key, tuple) and not key):
        return True
    items = key if isinstance(key, tuple) else (key,)
    if not all(isinstance(item, slice) for item in items) or len(items) > tensor.ndim:
        return False
    return all(sliced(tensor, dim, item, False) is tensor for dim, item in enumerate(items))


def expand_to_target(value: Tensor, target: Tensor) -> Tensor:
    """Drop leading dims of size 1 and expand the value to the target, by views as in PyTorch."""
    value = view(value, shape_without_leading_ones(value))
    return value if value.shape == target.shape else expanded(value, tuple(target.shape))


def without_leading_ones(value: Tensor) -> Tensor:
    shape = shape_without_leading_ones(value)
    return value if len(shape) == value.ndim else view(value, shape)


def shape_without_leading_ones(value: Tensor) -> Ints:
    shape = tuple(value.shape)
    return shape[next((i for i, n in enumerate(shape) if n != 1), len(shape)) :]


higher["getitem"] = getitem
higher["setitem"] = setitem
