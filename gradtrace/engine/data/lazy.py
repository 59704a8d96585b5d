"""numpy, imported on first use.

A program on float64 scalars runs on Python floats without numpy, whose import takes longer than
such a program. All modules of the package use `from gradtrace.engine.data.lazy import np`.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
else:

    class _Numpy:
        """A proxy of the numpy module that caches each attribute."""

        def __getattr__(self, name: str) -> object:
            import numpy

            # PyTorch does not warn when a result is inf or nan, so numpy must not warn either.
            numpy.seterr(all="ignore")
            value = getattr(numpy, name)
            setattr(self, name, value)
            return value

    np = _Numpy()

__all__ = ["ARRAY_TYPES", "is_array", "np"]

ARRAY_TYPES: set[type] = set()  # classes whose instances are used as ndarrays


def is_array(value: object) -> bool:
    """Return whether `value` is an ndarray, or of a class in `ARRAY_TYPES`, without importing
    numpy.
    """
    kind = type(value)
    return kind in ARRAY_TYPES or (kind.__name__ == "ndarray" and kind is np.ndarray)
