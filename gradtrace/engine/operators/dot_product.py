"""Sums of products of large arrays without the threads of BLAS.

From some 10,000 elements on, OpenBLAS divides a dot product among its threads, which then spin while they wait for the
next one. For work that is bound by memory this gains little on an idle machine, and on a busy one it takes processor
time from others and waits for a thread that is not running. A product of rows of 1,024 elements stays in its thread.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING
from gradtrace.engine.data.lazy import np

if TYPE_CHECKING:
    from typing import Any

    from gradtrace.engine.data.types import Array

ROW = 1024  # elements of a product that stays in its thread


def dot_product(a: Array, b: Array) -> Any:
    """Return the sum of a[i] * b[i] of two arrays of one dimension and one dtype, as a scalar of numpy."""
    if a.size <= ROW:
        return a.dot(b)
    whole = a.size // ROW * ROW
    rows = np.vecdot(a[:whole].reshape(-1, ROW), b[:whole].reshape(-1, ROW))
    return np.add.reduce(rows) + a[whole:].dot(b[whole:])
