"""What `tensor.numpy()` gives a program: a wrapper that prints as numpy does and offers a few plain attributes."""

from __future__ import annotations

from typing import Any

from gradtrace.lang.attributes import Frozen


class Array(Frozen):
    """An ndarray kept inside; programs see its text, shape, dtype name, elements and arithmetic."""

    __slots__ = ("_array",)

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

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, key: Any) -> Any:
        found = self._array[key]
        return Array(found) if getattr(found, "ndim", 0) else found.item()

    def __setitem__(self, key: Any, value: Any) -> None:
        self._array[key] = value._array if isinstance(value, Array) else value

    def __iter__(self) -> Any:
        return iter([self[i] for i in range(len(self))])

    def __float__(self) -> float:
        return float(self._array)

    def __str__(self) -> str:
        from gradtrace.engine.text import array_text

        return array_text(self._array)

    def __repr__(self) -> str:
        from gradtrace.engine.text import array_repr

        return array_repr(self._array)
