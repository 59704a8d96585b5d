"""unfold (im2col) and fold (col2im): the patches of an image as columns, and images as sums of
patches.
"""

from __future__ import annotations

from math import prod

from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import Array, Ints
from gradtrace.engine.operators.op import d, window_op
from gradtrace.ops.api import expose
from gradtrace.ops.arguments import need_float
from gradtrace.ops.nn.conv_arguments import lengths
from gradtrace.ops.nn.patches import (
    PerDim,
    add_patches,
    inside,
    output_sizes,
    padded,
    padded_sizes,
    patches,
)
from gradtrace.ops.nn.pool_arguments import check_tensor


def columns_kernel(a: Array, kernel: Ints, dilation: Ints, padding: Ints, stride: Ints) -> Array:
    batch = a if a.ndim == 4 else a[None]
    out = output_sizes(batch.shape[2:], kernel, stride, padding, dilation)
    view = patches(padded(batch, padding), kernel, stride, dilation, out)
    columns = np.array(view, order="C").reshape(
        len(batch), batch.shape[1] * prod(kernel), prod(out)
    )
    return columns if a.ndim == 4 else columns[0]


def image_kernel(
    columns: Array, sizes: Ints, kernel: Ints, dilation: Ints, padding: Ints, stride: Ints
) -> Array:
    batch = columns if columns.ndim == 3 else columns[None]
    out = output_sizes(sizes, kernel, stride, padding, dilation)
    channels = batch.shape[1] // prod(kernel)
    image = np.zeros((len(batch), channels, *padded_sizes(sizes, padding)), columns.dtype)
    add_patches(batch.reshape(len(batch), channels, *kernel, *out), image, stride, dilation)
    image = np.ascontiguousarray(inside(image, padding))
    return image if columns.ndim == 3 else image[0]


# fmt: off
im2col = window_op("im2col(self; kernel, dilation, padding, stride)", columns_kernel,
    "out[n, c * K + k, x] = self[n, c, stride * x + dilation * k - padding]",
    self=d("~self", lambda xp, g, out, self, *window: xp.col2im(g, tuple(self.shape[-2:]), *window)))
col2im = window_op("col2im(self; sizes, kernel, dilation, padding, stride)", image_kernel,
    "out[n, c, y] = sum[k, x](self[n, c * K + k, x]); stride * x + dilation * k - padding == y",
    self="im2col(grad, kernel, dilation, padding, stride)")
# fmt: on


def window(name: str, *arguments: PerDim) -> tuple[Ints, ...]:
    """Return kernel_size, dilation, padding and stride as pairs; raise RuntimeError for invalid
    ones.
    """
    names = ("kernel_size", "dilation", "padding", "stride")
    pairs = {
        argument: pair(name, argument, value)
        for argument, value in zip(names, arguments, strict=True)
    }
    for argument in ("kernel_size", "dilation", "stride"):
        (height, width), short = pairs[argument], argument.removesuffix("_size")
        if min(height, width) <= 0:
            parameter = argument.replace("_", " ")
            raise RuntimeError(
                f"{parameter} should be greater than zero, but got {short}_height: {height} {short}_width: {width}"
            )
    height, width = pairs["padding"]
    if min(height, width) < 0:
        raise RuntimeError(
            f"padding should be non-negative, but got pad_height: {height} pad_width: {width}"
        )
    return tuple(pairs.values())


def pair(name: str, argument: str, value: object) -> Ints:
    if isinstance(value, float):
        raise TypeError(
            f"{name}(): argument '{argument}' (position 2) must be tuple of ints, but found element of type float at "
            "pos 0"
        )
    items = lengths(name, argument, value, 2)
    if len(items) not in (1, 2):
        raise RuntimeError(f"It is expected {argument} equals to 2, but got size {len(items)}")
    return items * 2 if len(items) == 1 else items


def unfold(
    input: Tensor,
    kernel_size: PerDim,
    dilation: PerDim = 1,
    padding: PerDim = 0,
    stride: PerDim = 1,
) -> Tensor:
    """Extract the patches of an image as columns, (N, C k k, blocks) from (N, C, H, W)
    (torch.nn.functional.unfold).

    Raises RuntimeError if no patch fits.
    """
    check_tensor("unfold", input)
    where = window("im2col", kernel_size, dilation, padding, stride)
    kernel, dilation, padding, stride = where
    if input.ndim < 3:
        limit = max(input.ndim, 1)
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-limit}, {limit - 1}], but got 2)"
        )
    if input.ndim > 4 or not all(input.shape[input.ndim - 3 :]):
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, "
            f"but got: {list(input.shape)}"
        )
    out = output_sizes(input.shape[-2:], kernel, stride, padding, dilation)
    if min(out) < 1:
        raise RuntimeError(
            f"Given input with spatial size {tuple(input.shape[-2:])}, kernel_size={kernel}, dilation={dilation}, "
            f"padding={padding}, calculated shape of the array of sliding blocks as {out}, but its components must be "
            "at least one."
        )
    need_float(input, "im2col_out_cpu")
    return im2col(input, *where)


def fold(
    input: Tensor,
    output_size: PerDim,
    kernel_size: PerDim,
    dilation: PerDim = 1,
    padding: PerDim = 0,
    stride: PerDim = 1,
) -> Tensor:
    """Sum patches (N, C k k, blocks) into images (N, C, H, W) of output_size
    (torch.nn.functional.fold).

    Raises RuntimeError if the number of patches does not match.
    """
    check_tensor("fold", input)
    sizes = pair("col2im", "output_size", output_size)
    where = window("col2im", kernel_size, dilation, padding, stride)
    kernel, dilation, padding, stride = where
    if input.ndim not in (2, 3) or not all(input.shape[input.ndim - 2 :]):
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for "
            f"input, but got: {list(input.shape)}"
        )
    if input.shape[-2] % prod(kernel):
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            f"input.size(1)={input.shape[-2]} and kernel_size={kernel}."
        )
    out = output_sizes(sizes, kernel, stride, padding, dilation)
    if prod(out) != input.shape[-1]:
        raise RuntimeError(
            f"Given output_size={sizes}, kernel_size={kernel}, dilation={dilation}, padding={padding}, "
            f"stride={stride}, expected size of input's dimension 2 to match the calculated number of sliding blocks "
            f"{out[0]} * {out[1]} = {prod(out)}, but got input.size(2)={input.shape[-1]}."
        )
    need_float(input, "col2im_out_cpu")
    return col2im(input, sizes, *where)


expose(unfold, forms="n", record=im2col)
expose(fold, forms="n", record=col2im)
