"""What raw data is made of: its shape and dtype, one object for each pair, so that a look at two objects compares both.

A node has the Spec of its result; a tensor has one only while it is on the common path of operators (`hot.py`): a
float, or an array of floats with at least one dim, no view, never changed in place, the only result of its node.
Whatever takes a tensor off that path sets `_spec` to None, and the slower ways, which look at everything, take over.
"""

from __future__ import annotations

from gradtrace.annotations import Any
from gradtrace.engine.lazy import np

LARGE = 1 << 16  # elements of an array for which backward goes by blocks (`blocks.py`)
MANY = 4096  # specs, or numbers of one spec; beyond it what is known is forgotten, which costs time only


def count(shape: tuple[int, ...]) -> int:
    n = 1
    for size in shape:
        n *= size
    return n


class Spec:
    """A shape and a numpy dtype (None: a Python float), or lists of them for several results."""

    __slots__ = ("common", "dtype", "numbers", "shape", "wide")

    def __init__(self, shape: Any, dtype: Any) -> None:
        self.shape = shape
        self.dtype = dtype
        self.wide = type(shape) is tuple and dtype is not None and dtype == np.float64
        # Whether tensors like it are on the common path: a 0-d array is not, and a large one has a way of its own.
        self.common = dtype is None or (type(shape) is tuple and len(shape) > 0 and count(shape) < LARGE)
        self.numbers: dict[Any, Any] = {}  # Python numbers as 0-d arrays: numpy is slow to convert one each time

    def number(self, value: Any) -> Any:
        """The Python number as a 0-d array of this dtype."""
        array = np.asarray(value, self.dtype)
        if value and value == value:  # 0.0 and -0.0 are one key
            if len(self.numbers) >= MANY:
                self.numbers.clear()
            self.numbers[value] = array
        return array


FLOAT = Spec((), None)
_known: dict[Any, Spec] = {}


def spec_of(raw: Any) -> Spec:
    """The one Spec of a Python float or an array; of a bool's too."""
    if type(raw) is float:
        return FLOAT
    if type(raw) is bool:
        return spec((), np.dtype(bool))
    return _known.get((raw.shape, raw.dtype)) or spec(raw.shape, raw.dtype)


def spec(shape: Any, dtype: Any) -> Spec:
    """The Spec of a shape and dtype; of lists of them a new one."""
    if type(shape) is list:
        return Spec(shape, dtype)
    if dtype is None:
        return FLOAT
    shape = tuple(shape)
    found = _known.get((shape, dtype))
    if found is None:
        if len(_known) >= MANY:
            _known.clear()
        found = _known[shape, dtype] = Spec(shape, dtype)
    return found
