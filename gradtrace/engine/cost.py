"""What a call of an operator costs, told to `state.spend` before it starts: its floating-point operations, roughly.

Products of matrices and convolutions count themselves, for they know their sizes. Here are the operators whose records
have a `cost`, because their work is not in the number of results (decompositions, distances), and reductions of long
views that take no memory.
"""

from __future__ import annotations

from gradtrace.annotations import Any
from gradtrace.engine.state import state

# By record name its `cost` field: ("length", operations for each element of the first operand and each of the longest
# last dim of the operands), or ("pairs", operations for each element of the first operand and each row of the last).
COSTS: dict[str, tuple[str, int]] = {}
LARGE = 1 << 20  # elements from which on even one pass over them counts


def charge(name: str, raws: list[Any]) -> None:
    """Tells what the operator will do with its raw arguments; `state.spend` may raise."""
    first = raws[0]
    size = getattr(first, "size", 0)
    if name in COSTS:
        shapes = [raw.shape for raw in raws if len(getattr(raw, "shape", ())) > 1]
        if shapes:
            by, times = COSTS[name]
            times *= max(shape[-1] for shape in shapes) if by == "length" else shapes[-1][-2]
            state.spend(times * size)  # type: ignore[misc]
    elif size > LARGE:
        state.spend(size)  # type: ignore[misc]
