"""The shadows of a measured run's tensors: what they would hold if everything before had run in a
wider type.
"""

from __future__ import annotations

from gradtrace.annotations import Any, NamedTuple
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.trace import wide
from gradtrace.trace.keeper import storage_of

Array = Any


class Shadow(NamedTuple):
    """The shadow of one tensor. `check` is the sum of the elements that it stands for; None if it
    is not checked.
    """

    tensor: Tensor
    array: Array
    check: Any


class Shadows(dict[int, Shadow]):
    """The shadow of each tensor that has one, by its id(). What has none has its own value as its
    shadow.
    """

    def __init__(self) -> None:
        super().__init__()
        # by id() of a storage: the tensors on it that had a shadow
        self._sharing: dict[int, set[int]] = {}

    def of(self, tensor: Tensor) -> Array:
        """Return a tensor's shadow: its present value in the wider type if it has no other."""
        shadow = self.get(id(tensor))
        # A write of numpy is not announced: the sum of the elements shows it.
        if shadow is not None and (
            shadow.check is None or np.array_equal(shadow.check, total(tensor), equal_nan=True)
        ):
            return shadow.array
        return self.put(tensor, np.asarray(wide.widened(tensor._data)))

    def put(self, tensor: Tensor, array: Array) -> Array:
        """Make an array the shadow of a tensor, and return it."""
        self[id(tensor)] = Shadow(tensor, array, total(tensor))
        self._sharing.setdefault(id(storage_of(tensor._data)), set()).add(id(tensor))
        return array

    def before_write(self, tensor: Tensor) -> Array:
        """Return the shadow of a tensor that is about to be written to, which loses it.

        Other tensors with the same memory lose theirs too (`.data`), except for views, whose
        shadows are views of it.
        """
        array = self.of(tensor)
        for key in self._sharing.get(id(storage_of(tensor._data)), ()):
            shadow = self.get(key)
            if shadow is None:
                continue
            if shadow.tensor is tensor or not np.may_share_memory(shadow.array, array):
                del self[key]
            else:
                self[key] = shadow._replace(check=None)
        return array


def total(tensor: Tensor) -> Any:
    """Return the sum of a tensor's elements."""
    with np.errstate(all="ignore"):
        return np.sum(tensor._data)
