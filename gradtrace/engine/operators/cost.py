"""The approximate number of floating-point operations of an operator call, passed to `state.spend` before the call.

Matrix products and convolutions report their own cost. This module handles operators whose records have a `cost`,
because the number of results does not bound their work (decompositions, distances), and reductions of large views.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any
from gradtrace.engine.data.state import state

if TYPE_CHECKING:
    from gradtrace.engine.operators.op import Op

LARGE = 1 << 20  # number of elements from which a single pass is charged


def charge(record: Op, raws: list[Any]) -> None:
    """Call `state.spend`, which may raise, with the cost of an operator for its raw arguments."""
    first = raws[0]
    size = getattr(first, "size", 0)
    if record.cost is not None:
        shapes = [raw.shape for raw in raws if len(getattr(raw, "shape", ())) > 1]
        if shapes:
            by, times = record.cost
            times *= max(shape[-1] for shape in shapes) if by == "length" else shapes[-1][-2]
            state.spend(times * size)  # type: ignore[misc]
    elif size > LARGE:
        state.spend(size)  # type: ignore[misc]
