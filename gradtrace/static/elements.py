"""Dtypes of static graphs, and conversion of Python values to arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

from gradtrace.engine.data import dtypes
from gradtrace.engine.data import tensor as engine
from gradtrace.engine.data.lazy import np


class DType(NamedTuple):
    """A dtype of a static graph, such as `float32`; its `name` is "float32"."""

    name: str

    def __repr__(self) -> str:
        return f"<dtype: '{self.name}'>"

    @property
    def is_floating(self) -> bool:
        return self.name.startswith("float")


def dtype_name(dtype: Any) -> str:
    """Return the name of a dtype: a DType, an engine dtype, a numpy dtype or a name. TypeError for
    other values.
    """
    name = dtype if isinstance(dtype, str) else getattr(dtype, "name", None)
    name = {"float": "float32", "double": "float64", "int": "int32"}.get(name or "", name)
    if name not in dtypes.BY_NAME:
        raise TypeError(f"Cannot convert value {dtype!r} to a dtype")
    return str(name)


def raw_of(value: Any, dtype: Any = None, shape: Any = None) -> Any:
    """Convert a Python value to an ndarray; as in TensorFlow, floats default to float32 and
    integers to int32.
    """
    array = value.detach().numpy() if isinstance(value, engine.Tensor) else np.asarray(value)
    if dtype is not None:
        array = array.astype(dtype_name(dtype))
    elif not hasattr(value, "dtype"):
        array = array.astype(
            {"f": "float32", "i": "int32", "b": "bool"}.get(array.dtype.kind, array.dtype)
        )
    dtypes.from_np(array.dtype)
    return np.array(array) if shape is None else np.array(np.broadcast_to(array, tuple(shape)))


def has_fraction(value: Any) -> bool:
    return isinstance(value, float) or (
        hasattr(value, "dtype") and np.dtype(value.dtype).kind == "f"
    )
