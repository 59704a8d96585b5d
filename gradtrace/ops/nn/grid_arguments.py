"""Argument checks of grid_sample and affine_grid, with PyTorch's messages."""

from __future__ import annotations

import warnings

from gradtrace.annotations import Sequence
from gradtrace.engine.tensor import Tensor
from gradtrace.ops.arguments import need_float
from gradtrace.ops.nn.pool_arguments import check_tensor

MODES = ("bilinear", "nearest", "bicubic")
PADDINGS = ("zeros", "border", "reflection")


def modes(mode: str, padding_mode: str) -> tuple[int, int]:
    """Convert the names of the modes to numbers; raise ValueError for unknown ones."""
    if mode not in MODES:
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in PADDINGS:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
            f"'{padding_mode}'"
        )
    return MODES.index(mode), PADDINGS.index(padding_mode)


def corners_or_warn(align_corners: bool | None) -> bool:
    if align_corners is not None:
        return align_corners
    warnings.warn(
        "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
        "align_corners=True if the old behavior is desired. See the documentation of grid_sample for details.",
        UserWarning,
        stacklevel=3,
    )
    return False


def check_grid(input: Tensor, grid: Tensor, mode: int) -> None:
    check_tensor("grid_sampler", input)
    check_tensor("grid_sampler", grid)
    n, shapes = input.ndim - 2, f"input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
    if input.shape[0] != grid.shape[0]:
        raise RuntimeError(f"grid_sampler(): expected grid and input to have same batch size, but got {shapes}")
    if grid.shape[-1] != n:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {n} in last dimension, but got grid with sizes "
            f"{list(grid.shape)}"
        )
    for dim in range(2, input.ndim):
        if not input.shape[dim]:
            raise RuntimeError(
                "grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes "
                f"{list(input.shape)} with dimension {dim} being empty"
            )
    if n not in (2, 3) or grid.ndim != input.ndim:
        raise RuntimeError(
            f"grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got {shapes}"
        )
    if n == 3 and mode == MODES.index("bicubic"):
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if grid.dtype is not input.dtype:
        raise RuntimeError(f"expected scalar type {input.dtype.scalar_type} but found {grid.dtype.scalar_type}")
    need_float(input, f"grid_sampler_{n}d_cpu_kernel_impl")


def check_affine(theta: Tensor, size: Sequence[int], corners: bool) -> None:
    check_tensor("affine_grid", theta)
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    n = len(size) - 2
    if n not in (2, 3):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size "
            f"{size}."
        )
    if theta.ndim != 3 or tuple(theta.shape[1:]) != (n, n + 1):
        raise ValueError(
            f"Expected a batch of {n}D affine matrices of shape Nx{n}x{n + 1} for size {size}. Got {theta.shape}."
        )
    if corners and min(size[2:]) == 1:
        warnings.warn(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True. This "
            "is not an intended use case of affine_grid. See the documentation of affine_grid for details.",
            UserWarning,
            stacklevel=3,
        )
    elif min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
