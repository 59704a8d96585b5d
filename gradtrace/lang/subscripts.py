"""Reading and writing items: those of tensors and of other data of the library take plain keys and values only."""

from __future__ import annotations

from gradtrace.annotations import Any
from gradtrace.engine.data.tensor import Tensor
from gradtrace.lang.known_classes import is_defined_in
from gradtrace.lang.library import PLAIN, ObjectRefused, admit

DATA = ("gradtrace.engine.", "gradtrace.ops.", "gradtrace.static.")  # modules of what is indexed by numpy
HOLDERS = frozenset({list, dict, tuple, str})


def get_from_tensor(value: Any, key: Any) -> Any:
    return value[key if type(key) in PLAIN else checked_key(key)]


def set_item(target: Any, key: Any, value: Any) -> None:
    if is_data(type(target)):
        key = checked_key(key)
        if type(value) not in PLAIN:
            value = checked_value(target, value)
    target[key] = value


def is_data(kind: type) -> bool:
    """Whether a class is a tensor, or another of the library whose objects numpy indexes."""
    return kind not in HOLDERS and (issubclass(kind, Tensor) or is_defined_in(kind, DATA))


def checked_key(key: Any) -> Any:
    """Return an index, or a plain copy of it; raise PyTorch's error for an index that is or contains an object."""
    if type(key) is slice and type(key.start) in PLAIN and type(key.stop) in PLAIN and type(key.step) in PLAIN:
        return key
    try:
        return tuple([checked_key(part) for part in key]) if type(key) is tuple else admit(key)
    except ObjectRefused as error:
        if type(key) is slice:
            raise TypeError("slice indices must be integers or None or have an __index__ method") from None
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
            f"(got {error.kind.__name__})"
        ) from None


def checked_value(target: Any, value: Any) -> Any:
    try:
        return admit(value)
    except ObjectRefused:
        kind = f"torch.{target.dtype.scalar_type}Tensor" if issubclass(type(target), Tensor) else type(target).__name__
        raise TypeError(f"can't assign a {type(value).__name__} to a {kind}") from None
