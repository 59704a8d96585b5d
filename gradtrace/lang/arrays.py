"""What `tensor.numpy()` gives a program: a wrapper that prints as numpy does and shares the tensor's memory."""

from __future__ import annotations

from typing import Any

from gradtrace.lang.values import Frozen


class Array(Frozen):
    """An ndarray kept inside; programs see its text, shape, dtype name, elements and a few sums."""

    __slots__ = ("_array",)
    __name__ = "ndarray"

    def __init__(self, array: Any) -> None:
        self._array = array

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self._array.shape)

    @property
    def ndim(self) -> int:
        return int(self._array.ndim)

    @property
    def size(self) -> int:
        return int(self._array.size)

    @property
    def dtype(self) -> str:
        return str(self._array.dtype)

    def tolist(self) -> Any:
        return self._array.tolist()

    def item(self) -> Any:
        return self._array.item()

    def copy(self) -> Array:
        return Array(self._array.copy())

    def sum(self) -> Any:
        return self._array.sum().item()

    def mean(self) -> Any:
        return self._array.mean().item()

    def max(self) -> Any:
        return self._array.max().item()

    def min(self) -> Any:
        return self._array.min().item()

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, key: Any) -> Any:
        found = self._array[index(key)]
        return Array(found) if getattr(found, "ndim", 0) else found.item()

    def __setitem__(self, key: Any, value: Any) -> None:
        self._array[index(key)] = number(value)

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def __float__(self) -> float:
        return float(self._array)

    def __int__(self) -> int:
        return int(self._array)

    def __bool__(self) -> bool:
        return bool(self._array)

    def __str__(self) -> str:
        from gradtrace.engine.text import array_text

        return array_text(self._array)

    def __repr__(self) -> str:
        from gradtrace.engine.text import array_repr

        return array_repr(self._array)


def raw(array: Array) -> Any:
    """The ndarray inside, for the library's own functions."""
    return array._array


def index(key: Any) -> Any:
    """An index of exact types alone: what else a program could give would be asked by numpy in ways of its own."""
    if type(key) is tuple:
        return tuple(index(part) for part in key)
    if type(key) is Array:
        return key._array
    if type(key) is slice:
        return slice(*(None if p is None else int(p) for p in (key.start, key.stop, key.step)))
    if key is None or key is ... or type(key) in (int, bool):
        return key
    if type(key) is list:
        return [index(part) for part in key]
    raise IndexError("only integers, slices, `...`, None and lists of these are valid indices")


def number(value: Any) -> Any:
    """A value to be written into an array."""
    if type(value) is Array:
        return value._array
    if type(value) in (int, float, bool):
        return value
    if type(value) is list:
        return [number(item) for item in value]
    raise TypeError(f"an array cannot hold a '{type(value).__name__}'")
