"""What a call of an operator costs, told to `state.spend` before it starts: its floating-point operations, roughly.

Products of matrices and convolutions count themselves, for they know their sizes. Here are those whose work is not in
the number of results: decompositions, distances of all pairs; and reductions of long views that take no memory.
"""

from __future__ import annotations

from gradtrace.annotations import Any
from gradtrace.engine.state import state

# Operations for each element of the first operand and each of the longest last dim of the operands.
BY_LENGTH = {
    "eigh": 9,
    "svd": 22,
    "qr": 4,
    "pinv": 24,
    "lstsq": 24,
    "matrix_rank": 22,
    "matrix_exp": 60,
    "inv_ex": 2,
    "det": 1,
    "solve_ex": 2,
    "slogdet": 1,
    "lu_factor_ex": 1,
    "lu": 1,
    "lu_unpack": 1,
    "lu_solve": 2,
    "householder_product": 4,
    "solve_triangular": 1,
    "triangular_solve": 1,
    "cholesky_ex": 1,
    "cholesky": 1,
    "cholesky_inverse": 2,
    "cholesky_solve": 2,
}
BY_PAIRS = {"cdist": 3, "pdist": 3}  # for each element of the first operand and each row of the last
LARGE = 1 << 20  # elements from which on even one pass over them counts


def charge(name: str, raws: list[Any]) -> None:
    """Tells what the operator will do with its raw arguments; `state.spend` may raise."""
    first = raws[0]
    size = getattr(first, "size", 0)
    if name in BY_LENGTH or name in BY_PAIRS:
        shapes = [raw.shape for raw in raws if len(getattr(raw, "shape", ())) > 1]
        if shapes:
            times = BY_LENGTH.get(name) or BY_PAIRS[name]
            times *= max(shape[-1] for shape in shapes) if name in BY_LENGTH else shapes[-1][-2]
            state.spend(times * size)  # type: ignore[misc]
    elif size > LARGE:
        state.spend(size)  # type: ignore[misc]
