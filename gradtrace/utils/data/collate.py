"""Combine items of a data set into a batch."""

from __future__ import annotations

from gradtrace.annotations import Any, Sequence
from gradtrace.engine import Tensor
from gradtrace.engine.data.dtypes import float64
from gradtrace.engine.data.lazy import is_array, np
from gradtrace.ops.create.factories import as_tensor, tensor
from gradtrace.ops.shape.join import stacked

COLLATE_MESSAGE = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


def is_of_numpy(value: Any) -> bool:
    """Return whether a value is an array or a number of numpy."""
    return is_array(value) or (hasattr(value, "dtype") and isinstance(value, np.generic))


def default_convert(data: Any) -> Any:
    """Convert numpy arrays to tensors, also inside tuples, lists and dicts."""
    if isinstance(data, (Tensor, str, bytes)):
        return data
    if is_of_numpy(data):
        return as_tensor(data)
    if isinstance(data, dict):
        return {key: default_convert(value) for key, value in data.items()}
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(default_convert, data))
    return [default_convert(item) for item in data] if isinstance(data, (tuple, list)) else data


def default_collate(batch: Sequence[Any]) -> Any:
    """Combine items into a batch: stack tensors, make a tensor of numbers, and combine tuples,
    lists and dicts element by element.

    TypeError for items of another type, RuntimeError for lists of different lengths.
    """
    first = batch[0]
    if isinstance(first, Tensor):
        return stacked(tuple(batch), 0)
    if isinstance(first, (str, bytes)):
        return batch
    if is_of_numpy(first):
        return default_collate([as_tensor(item) for item in batch])
    if isinstance(first, float):
        return tensor(list(batch), dtype=float64)
    if isinstance(first, int):
        return tensor(list(batch))
    if isinstance(first, dict):
        return {key: default_collate([item[key] for item in batch]) for key in first}
    if not isinstance(first, (tuple, list)):
        raise TypeError(COLLATE_MESSAGE.format(type(first)))
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(default_collate(part) for part in zip(*batch, strict=False)))
    if any(len(item) != len(first) for item in batch):
        raise RuntimeError("each element in list of batch should be of equal size")
    return [default_collate(part) for part in zip(*batch, strict=True)]
