"""Entries in another order along their dims: flip, roll, rot90."""

from __future__ import annotations

from gradtrace.annotations import Sequence
from gradtrace.engine.tensor import Tensor
from gradtrace.ops.api import check_dim, check_dims, given, is_int, public, sizes
from gradtrace.ops.shape.join import flip, roll, rot90


@public("flip")
def flipped(input: Tensor, *dims: int | Sequence[int], **named: object) -> Tensor:
    """The order along some dims reversed (torch.flip)."""
    over = sizes(given(dims, named, "dims"))
    found = check_dims(over, input.ndim) if over else ()
    return flip(input, found if input.ndim else ())


@public("fliplr")
def fliplr(input: Tensor) -> Tensor:
    """Columns reversed."""
    if input.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return flip(input, (1,))


@public("flipud")
def flipud(input: Tensor) -> Tensor:
    """Rows reversed."""
    if input.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return flip(input, (0,))


@public("roll")
def rolled(input: Tensor, shifts: int | Sequence[int], dims: int | Sequence[int] | None = None) -> Tensor:
    """Entries moved around along dims, those pushed out coming in again (torch.roll)."""
    shifts = (shifts,) if is_int(shifts) else tuple(shifts)
    dims = () if dims is None else (dims,) if is_int(dims) else tuple(dims)
    if not shifts:
        raise RuntimeError("`shifts` required")
    if not dims and len(shifts) == 1:
        return roll(input, shifts, None)
    if len(dims) != len(shifts):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    if not input.ndim:
        raise IndexError(f"Dimension specified as {dims[0]} but tensor has no dimensions")
    return roll(input, shifts, tuple(check_dim(dim, input.ndim) for dim in dims))


@public("rot90")
def rotated(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """Turned by 90 degrees k times (torch.rot90)."""
    if input.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input.ndim}")
    return rot90(input, k, checked_turn(input, tuple(dims)))


def checked_turn(input: Tensor, dims: tuple[int, ...]) -> tuple[int, ...]:
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if input.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input.ndim}")
    first, second = (check_dim(dim, input.ndim) for dim in dims)
    if first == second:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    return first, second
