"""The size of a parameter's updates relative to the parameter."""

from __future__ import annotations

import math

from gradtrace.annotations import Any, Sequence
from gradtrace.trace.array_summary import norm_of
from gradtrace.trace.record import TensorRecord


def update_of(t: TensorRecord, versions: Sequence[TensorRecord]) -> float | None:
    """Return the norm of the change from this version to the next, relative to this version's
    norm.
    """
    later = versions[t.version + 1] if t.version + 1 < len(versions) else None
    if later is None or later.value is None or t.value is None:
        return None
    if later.update is not None:
        return None if math.isinf(later.update) and later.value.all_finite else later.update
    if not later.value.is_whole or not t.value.is_whole:
        return None
    return ratio(t.value.data, later.value.data)


def ratio(before: Any, after: Any) -> float | None:
    """Return the norm of the change relative to the norm of the value before; None from 0, which
    has no scale.
    """
    moved = norm_of(after - before)
    size = norm_of(before)
    if size:
        return moved / size
    return None if moved else 0.0
