"""affine_grid: sampling points of affine maps, for use with grid_sample."""

from __future__ import annotations

from gradtrace.annotations import Sequence
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import Array, Ints, NumpyDtype
from gradtrace.engine.operators.op import contraction_op
from gradtrace.ops.api import expose
from gradtrace.ops.nn.grid import check_affine, corners_or_warn
from gradtrace.ops.nn.patches import size_of


def base_grid(sizes: Ints, corners: bool, dtype: NumpyDtype) -> Array:
    """Return the points of a grid over -1 .. 1 as rows (x, y, ..., 1)."""
    lines = []
    for size in sizes:
        line = np.linspace(-1, 1, size) if size > 1 else np.zeros(size)
        lines.append(line if corners or size < 2 else line * ((size - 1) / size))
    mesh = np.meshgrid(*lines, indexing="ij")
    return np.stack([m.reshape(-1) for m in reversed(mesh)] + [np.ones(size_of(sizes))], 1).astype(dtype)


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


# ---- the public names


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """Sampling points of N affine maps for images of `size`: (N, H, W, 2) from theta (N, 2, 3) (F.affine_grid).

    3-d images likewise. Raises ValueError or NotImplementedError if theta does not match the size.
    """
    corners = corners_or_warn(align_corners)
    check_affine(theta, size, corners)
    return generated(theta, size, corners)


def generated(theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    """affine_grid with every argument required (torch.affine_grid_generator)."""
    n, dims = size[0], len(size) - 2
    if theta.shape[0] != n:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{n}, {dims + 1}] but got: "
            f"[{theta.shape[0]}, {dims + 1}]."
        )
    return affine_grid_record(theta, tuple(size[2:]), align_corners)


expose(affine_grid, forms="n", record=affine_grid_record)
expose(generated, "affine_grid_generator", forms="f", record=affine_grid_record)
