"""What a call of an operator costs, told to `state.spend` before it starts: its floating-point operations, roughly.

Products of matrices and convolutions count themselves, for they know their sizes. Here are the operators whose records
have a `cost`, because their work is not in the number of results (decompositions, distances), and reductions of long
views that take no memory.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any
from gradtrace.engine.state import state

if TYPE_CHECKING:
    from gradtrace.engine.op import Op

LARGE = 1 << 20  # elements from which on even one pass over them counts


def charge(record: Op, raws: list[Any]) -> None:
    """Tell `state.spend`, which may raise, what the operator will do with its raw arguments."""
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
