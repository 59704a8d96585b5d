"""numpy, imported at its first use.

A program on float64 scalars runs on Python floats and never needs numpy, whose import costs more than the whole
of such a run. Everything here reaches numpy by `from gradtrace.engine.lazy import np`.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
else:

    class _Numpy:
        """Stands for the numpy module; each attribute is fetched once and kept."""

        def __getattr__(self, name: str) -> Any:
            import numpy

            # PyTorch computes inf and nan without a word; so must every kernel here.
            numpy.seterr(all="ignore")
            value = getattr(numpy, name)
            setattr(self, name, value)
            return value

    np = _Numpy()


__all__ = ["is_array", "np"]


def is_array(value: object) -> bool:
    """Whether `value` is an ndarray, asked without importing numpy."""
    return type(value).__name__ == "ndarray"
