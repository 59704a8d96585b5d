"""numpy's arrays of strings in programs, of which a program has what few scripts need: no more than comparisons."""

from __future__ import annotations

import operator
from contextlib import suppress

from gradtrace.annotations import Any, Callable
from gradtrace.engine.data.lazy import np
from gradtrace.lang.arrays import Array, ArrayOfOthers, from_numpy, to_numpy
from gradtrace.lang.budget import Meter


class TextArray(ArrayOfOthers):
    """An array of strings, which is only indexed, read and compared with strings; `_width` is that of its dtype."""

    __slots__ = ("_meter", "_width")
    __module__ = "numpy"

    def __init__(self, texts: Any, meter: Meter, width: int = 0) -> None:
        self._array = texts if width else objects_of(texts, meter)
        self._meter = meter
        self._width = width or max(1, *map(len, texts))

    __class__ = property(lambda self: Array)  # for isinstance(value, np.ndarray)

    def _of(self, part: Any) -> TextArray:
        return TextArray(part, self._meter, self._width)

    def __contains__(self, value: Any) -> bool:
        return bool(np.any(to_numpy(self == value)))

    def __bool__(self) -> bool:
        return bool(self._array)

    __hash__ = None  # type: ignore[assignment]

    def item(self) -> str:
        return str(self._array.item())

    def __str__(self) -> str:
        return str(self._array)

    def __repr__(self) -> str:
        return f"array({np.array2string(self._array, separator=', ')}, dtype='<U{self._width}')"


TextArray.__name__ = TextArray.__qualname__ = "ndarray"


def objects_of(texts: Any, meter: Meter) -> Any:
    """Return a flat list of strings as an array, without the NULs at their ends, which numpy does not store."""
    meter.count_items(4 * len(texts))  # a call for each
    return np.array([text.rstrip("\0") for text in texts], object)


def comparison(name: str) -> Callable[[TextArray, Any], Any]:
    apply = getattr(operator, name)

    def compare(self: TextArray, other: Any) -> Any:
        kind, meter = type(other), self._meter
        if kind is TextArray:
            right = other._array
        elif kind is str:
            right = other.rstrip("\0")
        elif kind in (list, tuple) and all(type(one) is str for one in other):
            right = objects_of(other, meter)
        else:
            raise TypeError("an array of strings is compared with strings only in gradtrace scripts")
        with suppress(ValueError):  # of shapes that do not match, which the comparison raises
            size = np.broadcast(self._array, right).size
            meter.reserve(size)
            meter.count_items(size)
        return from_numpy(apply(self._array, right))

    return compare


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(TextArray, f"__{_name}__", comparison(_name))
