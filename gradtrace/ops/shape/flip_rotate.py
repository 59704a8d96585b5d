"""Reorder entries along dims: flip, roll, rot90."""

from __future__ import annotations

from gradtrace.annotations import Sequence
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import Ints
from gradtrace.ops.api import check_dim, check_dims, given_sizes, is_int, public, sizes
from gradtrace.ops.shape.join import flip, roll, rot90


@public("flip")
def flipped(input: Tensor, *dims: int | Sequence[int], **named: object) -> Tensor:
    """Reverse the order along some dims (torch.flip)."""
    if not dims and not named:
        raise TypeError('flip() missing 1 required positional arguments: "dims"')
    over = sizes(given_sizes(dims, named, "dims"))
    axes = check_dims(over, input.ndim) if over else ()
    return flip(input, axes if input.ndim else ())


@public()
def fliplr(input: Tensor) -> Tensor:
    """Reverse the columns (torch.fliplr)."""
    if input.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return flip(input, (1,))


@public()
def flipud(input: Tensor) -> Tensor:
    """Reverse the rows (torch.flipud)."""
    if input.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return flip(input, (0,))


@public("roll")
def rolled(
    input: Tensor, shifts: int | Sequence[int], dims: int | Sequence[int] | None = None
) -> Tensor:
    """Roll entries along dims; those shifted beyond the end re-enter at the start (torch.roll)."""
    shifts = (shifts,) if is_int(shifts) else tuple(shifts)
    if dims is None:
        dims = ()
    else:
        dims = (dims,) if is_int(dims) else tuple(dims)
    if not shifts:
        raise RuntimeError("`shifts` required")
    if not dims and len(shifts) == 1:
        return roll(input, shifts, None)
    if len(dims) != len(shifts):
        raise RuntimeError(
            f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}"
        )
    if not input.ndim:
        raise IndexError(f"Dimension specified as {dims[0]} but tensor has no dimensions")
    return roll(input, shifts, tuple(check_dim(dim, input.ndim) for dim in dims))


@public("rot90")
def rotated(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """Rotate by 90 degrees k times (torch.rot90)."""
    if input.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input.ndim}")
    return rot90(input, k, check_rotation_dims(input, tuple(dims)))


def check_rotation_dims(input: Tensor, dims: Ints) -> Ints:
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if input.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input.ndim}")
    first, second = (check_dim(dim, input.ndim) for dim in dims)
    if first == second:
        raise RuntimeError(
            f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}"
        )
    return first, second
