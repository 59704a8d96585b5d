"""grid_sample: sample images at given points; affine_grid: the points of affine maps.

A sample is a sum over taps: along each spatial dim, one, two or four inputs with weights that
depend on the point. The derivative is written over `xp` and can be differentiated again; where
points are clipped, reflected or rounded, the derivative of that step is a constant for each point.
"""

from __future__ import annotations

import warnings
from itertools import product
from math import prod

from gradtrace.annotations import Any, Iterable, NamedTuple, Sequence
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import XP, Array, Ints, NumpyDtype, Operand
from gradtrace.engine.operators.namespace import ARRAY as xp
from gradtrace.engine.operators.op import OneResult, contraction_op, d, gather_op, window_op
from gradtrace.ops.api import expose
from gradtrace.ops.arguments import need_float
from gradtrace.ops.nn.patches import widen_half
from gradtrace.ops.nn.pool import planes_put, planes_take
from gradtrace.ops.nn.pool_arguments import check_tensor
from gradtrace.ops.nn.resample_tables import cubic_weights

# ---- arguments of grid_sample and affine_grid, with PyTorch's messages

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
    n = input.ndim - 2
    shapes = f"input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
    if input.shape[0] != grid.shape[0]:
        raise RuntimeError(
            f"grid_sampler(): expected grid and input to have same batch size, but got {shapes}"
        )
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
        raise RuntimeError(
            f"expected scalar type {input.dtype.scalar_type} but found {grid.dtype.scalar_type}"
        )
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


BILINEAR = 0
NEAREST = 1
BICUBIC = 2
ZEROS = 0
BORDER = 1
REFLECTION = 2


class Tap(NamedTuple):
    """One input along a dim for each point: its index, whether it is in range, its weight and that
    weight's slope.
    """

    index: Any
    there: Any
    weight: Any
    slope: Any


# ---- points


def reflect(x: Array, size: int, corners: bool) -> tuple[Array, Array]:
    """Reflect points at the borders until they lie inside; return them and the sign of the
    derivative.
    """
    low, span = (0.0, size - 1.0) if corners else (-0.5, float(size))
    if span == 0:
        return np.zeros_like(x), np.zeros_like(x)
    away = np.abs(x - low)
    rest = np.fmod(away, span)
    turns = np.floor(away / span)
    even = np.fmod(turns, 2) == 0
    sign = np.where(x < low, -1, 1) * np.where(even, 1, -1)
    return np.where(even, rest, span - rest) + low, sign.astype(x.dtype)


def within(x: Array, size: int, padding: int, corners: bool) -> tuple[Array, Array]:
    """Move points outside the image inside, as the padding mode requires; return them and their
    derivative.
    """
    slope = np.ones_like(x)
    if padding == REFLECTION:
        x, slope = reflect(x, size, corners)
    if padding != ZEROS:
        slope = np.where((x > 0) & (x < size - 1), slope, np.zeros_like(x))
        x = np.minimum(
            np.maximum(np.where(np.isnan(x), np.zeros_like(x), x), 0), x.dtype.type(size - 1)
        )
    return x, slope


def raw(value: Any) -> Array:
    return value.array if isinstance(value, Tensor) else value


def coordinate(
    xp: XP, grid: Any, size: int, mode: int, padding: int, corners: bool
) -> tuple[Any, Any, Any]:
    """Convert points in -1 .. 1 to positions along a dim of `size`: array, operand, and the
    derivative.
    """
    at = raw(grid)
    half = at.dtype.type((size - 1 if corners else size) / 2)
    place = (at + 1) * half if corners else ((at + 1) * at.dtype.type(size) - 1) / 2
    slope = np.ones_like(place)
    if mode != BICUBIC:
        place, slope = within(place, size, padding, corners)
    slope = slope * half
    if not isinstance(grid, Tensor):
        return place, place, slope
    constant = Tensor._wrap(place)
    factor = Tensor._wrap(slope)
    return place, (grid - grid.detach()) * factor + constant, factor


def taps(xp: XP, grid: Any, size: int, mode: int, padding: int, corners: bool) -> list[Tap]:
    """Return the taps along one dim: the inputs that contribute to each point, with their
    weights.
    """
    with np.errstate(invalid="ignore"):
        place, seen, slope = coordinate(xp, grid, size, mode, padding, corners)
        low = np.rint(place) if mode == NEAREST else np.floor(place)
        part = seen - low if not isinstance(seen, Tensor) else seen - Tensor._wrap(low)
        if mode == NEAREST:
            unit_weight = xp.ones_like(part)
            return [tap(low, size, mode, padding, corners, unit_weight, xp.zeros_like(part))]
        if mode == BILINEAR:
            pairs = [(1 - part, -slope), (part, slope)]
        else:
            pairs = list(
                zip(cubic_weights(part), [s * slope for s in cubic_slopes(part)], strict=True)
            )
        first = -1 if mode == BICUBIC else 0
        return [
            tap(low + (first + j), size, mode, padding, corners, w, s)
            for j, (w, s) in enumerate(pairs)
        ]


def tap(
    index: Array, size: int, mode: int, padding: int, corners: bool, weight: Operand, slope: Operand
) -> Tap:
    if mode == BICUBIC:
        index, _ = within(index, size, padding, corners)
    there = (index >= 0) & (index <= size - 1)
    place = np.where(there, index, 0).astype(np.int64)
    return Tap(place, None if bool(there.all()) else there, weight, slope)


def cubic_slopes(t: Operand, a: float = -0.75) -> list[Any]:
    """Return the derivatives of `cubic_weights`."""
    u = t + 1
    v = 1 - t
    w = 2 - t
    return [
        (3 * a * u - 10 * a) * u + 8 * a,
        (3 * (a + 2) * t - 2 * (a + 3)) * t,
        -((3 * (a + 2) * v - 2 * (a + 3)) * v),
        -((3 * a * w - 10 * a) * w + 8 * a),
    ]


def cells(
    xp: XP, grid: Any, sizes: Ints, mode: int, padding: int, corners: bool
) -> list[tuple[Any, Any, Any]]:
    """Return (flat index, in range, taps) for each combination of the taps of all dims; grid is (N,
    points, dims).
    """
    n = len(sizes)
    along = [
        taps(xp, xp.select(grid, 2, n - 1 - i), sizes[i], mode, padding, corners) for i in range(n)
    ]
    results = []
    for chosen in product(*along):
        index = 0
        there = None
        for size, neighbor in zip(sizes, chosen, strict=True):
            index = index * size + neighbor.index
            if neighbor.there is not None:
                there = neighbor.there if there is None else there & neighbor.there
        results.append((index, there, chosen))
    return results


def weight_of(chosen: Iterable[Tap], but: int = -1) -> Any:
    """Return the product of the taps' weights, with that of dim `but` replaced by its slope."""
    total = None
    for i, neighbor in enumerate(chosen):
        factor = neighbor.slope if i == but else neighbor.weight
        total = factor if total is None else total * factor
    return total


def zero_missing(xp: XP, values: Operand, there: Array | None) -> Operand:
    """Zero the values (N, C, points) whose input is out of range."""
    return values if there is None else xp.where(there[:, None], values, xp.zeros_like(values))


# ---- kernels and rules


def pick(a: Array, index: Array) -> Array:
    """Return the elements (N, C, points) of a (N, C, size) at index (N, points)."""
    return planes_take(a, np.broadcast_to(index[:, None], (*a.shape[:2], index.shape[1])), 1)


def pick_back(g: Array, index: Array, size: int) -> Array:
    return planes_put(g, np.broadcast_to(index[:, None], g.shape), (size,))


# fmt: off
gather_op("grid_pick(self; index)", pick, "flat(out)[i] = flat(self)[index[i]]", node="GatherBackward0",
    self=d("~self", lambda xp, g, out, self, index: xp.grid_pick_back(g, index, self.shape[2])))
gather_op("grid_pick_back(g; index, size)", pick_back, "out[j] = sum[i](g[i] if index[i] == j else 0)",
    node="ScatterAddBackward0", g="grid_pick(grad, index)")
# fmt: on


def points(xp: XP, grid: Operand) -> Operand:
    return xp.reshape(grid, (grid.shape[0], prod(tuple(grid.shape[1:-1])), grid.shape[-1]))


def sample_kernel(a: Array, grid: Array, mode: int, padding: int, corners: bool) -> Array:
    flat = widen_half(a).reshape(*a.shape[:2], prod(a.shape[2:]))
    at = points(xp, widen_half(grid))
    out = np.zeros((*a.shape[:2], at.shape[1]), flat.dtype)
    if not out.size:
        return np.zeros((*a.shape[:2], *grid.shape[1:-1]), a.dtype)
    for index, there, chosen in cells(xp, at, a.shape[2:], mode, padding, corners):
        out += zero_missing(xp, pick(flat, index), there) * weight_of(chosen)[:, None]
    return out.reshape(*a.shape[:2], *grid.shape[1:-1]).astype(a.dtype, copy=False)


def sample_grads(
    xp: XP,
    wanted: Sequence[bool],
    g: Any,
    out: Operand,
    input: Operand,
    grid: Operand,
    mode: int,
    padding: int,
    corners: bool,
) -> list[Any]:
    if not prod(tuple(g.shape)):
        return [
            xp.zeros_like(input) if wanted[0] else None,
            xp.zeros_like(grid) if wanted[1] else None,
        ]
    sizes = tuple(input.shape[2:])
    n = len(input.shape) - 2
    lead = tuple(input.shape[:2])
    size = prod(sizes)
    at = points(xp, grid)
    flat = xp.reshape(input, (*lead, size))
    g = xp.reshape(g, (*lead, at.shape[1]))
    of_input: Any = None
    of_points: list[Any] = [None] * n
    for index, there, chosen in cells(xp, at, sizes, mode, padding, corners):
        if wanted[0]:
            part = xp.grid_pick_back(
                zero_missing(xp, g * xp.unsqueeze(weight_of(chosen), 1), there), index, size
            )
            of_input = part if of_input is None else of_input + part
        if wanted[1]:
            seen = xp.sum_dim(g * zero_missing(xp, xp.grid_pick(flat, index), there), (1,))
            for i in range(n):
                part = seen * weight_of(chosen, i)
                of_points[i] = part if of_points[i] is None else of_points[i] + part
    return [
        xp.reshape(of_input, tuple(input.shape)) if wanted[0] else None,
        xp.reshape(xp.stack(tuple(reversed(of_points)), 2), tuple(grid.shape))
        if wanted[1]
        else None,
    ]


def sample_record(n: int) -> OneResult:
    return window_op(f"grid_sampler_{n}d(input, grid; mode, padding, corners)", sample_kernel,
        "out[n, c, x] = sum[i](w[grid[n, x] - i] * input[n, c, i]); w[u] = prod[k](max(0, 1 - abs(u[k])))",
        node=f"GridSampler{n}DBackward0",
        joint=d("input grid", sample_grads))  # fmt: skip


samplers = {n: sample_record(n) for n in (2, 3)}


# ---- the public names


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Sample input (N, C, H, W) at grid (N, h, w, 2), (x, y) in -1 .. 1; 3-d images likewise
    (F.grid_sample).

    mode is "bilinear", "nearest" or "bicubic", padding_mode "zeros", "border" or "reflection".
    Raises RuntimeError for shapes that do not match, ValueError for an unknown mode.
    """
    return sampled(input, grid, *modes(mode, padding_mode), corners_or_warn(align_corners))


def sampled(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """Compute grid_sample, with the modes given as numbers (torch.grid_sampler)."""
    check_grid(input, grid, interpolation_mode)
    return samplers[input.ndim - 2](input, grid, interpolation_mode, padding_mode, align_corners)


expose(grid_sample, forms="n")
expose(sampled, "grid_sampler", "grid_sampler_2d", "grid_sampler_3d", forms="f")


# ---- affine_grid


def base_grid(sizes: Ints, corners: bool, dtype: NumpyDtype) -> Array:
    """Return the points of a grid over -1 .. 1 as rows (x, y, ..., 1)."""
    lines = []
    for size in sizes:
        line = np.linspace(-1, 1, size) if size > 1 else np.zeros(size)
        lines.append(line if corners or size < 2 else line * ((size - 1) / size))
    mesh = np.meshgrid(*lines, indexing="ij")
    return np.stack([m.reshape(-1) for m in reversed(mesh)] + [np.ones(prod(sizes))], 1).astype(
        dtype
    )


# fmt: off
affine_grid_record = contraction_op("affine_grid(theta; sizes, corners)",
    lambda theta, sizes, corners: np.matmul(base_grid(sizes, corners, theta.dtype), theta.swapaxes(1, 2))
        .reshape(len(theta), *sizes, len(sizes)),
    "out[n, h, w] = theta[n] @ (x[w], y[h], 1)", node="AffineGridGeneratorBackward0",
    theta="affine_grid_back(grad, sizes, corners)")
affine_grid_back = contraction_op("affine_grid_back(g; sizes, corners)",
    lambda g, sizes, corners:
        np.matmul(g.reshape(len(g), -1, len(sizes)).swapaxes(1, 2), base_grid(sizes, corners, g.dtype)),
    node="BmmBackward0", g="affine_grid(grad, sizes, corners)")
# fmt: on


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """Sampling points of N affine maps for images of `size`: (N, H, W, 2) from theta (N, 2, 3)
    (F.affine_grid).

    3-d images likewise. Raises ValueError or NotImplementedError if theta does not match the size.
    """
    corners = corners_or_warn(align_corners)
    check_affine(theta, size, corners)
    return generated(theta, size, corners)


def generated(theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    """affine_grid with every argument required (torch.affine_grid_generator)."""
    n = size[0]
    dims = len(size) - 2
    if theta.shape[0] != n:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{n}, {dims + 1}] but got: "
            f"[{theta.shape[0]}, {dims + 1}]."
        )
    return affine_grid_record(theta, tuple(size[2:]), align_corners)


expose(affine_grid, forms="n", record=affine_grid_record)
expose(generated, "affine_grid_generator", forms="f", record=affine_grid_record)
