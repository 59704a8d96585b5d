"""Rearrange channels to pixels and back, and shuffle channels between groups."""

from __future__ import annotations

from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import Array
from gradtrace.engine.operators.op import d, structural_op
from gradtrace.ops.api import expose
from gradtrace.ops.nn.pool_arguments import check_tensor


def rearranged(a: Array, *last: int) -> Array:
    """Return a copy in C order with its last dims in another order."""
    return np.array(a.transpose(*range(a.ndim - len(last)), *last), order="C")


def to_pixels(a: Array, r: int) -> Array:
    *lead, c, h, w = a.shape
    split = a.reshape(*lead, c // (r * r), r, r, h, w)
    return rearranged(split, -5, -2, -4, -1, -3).reshape(*lead, c // (r * r), h * r, w * r)


def to_channels(a: Array, r: int) -> Array:
    *lead, c, h, w = a.shape
    split = a.reshape(*lead, c, h // r, r, w // r, r)
    return rearranged(split, -5, -3, -1, -4, -2).reshape(*lead, c * r * r, h // r, w // r)


def between_groups(a: Array, groups: int) -> Array:
    """Interleave the channels: channel j of group i becomes channel i of group j."""
    split = a.reshape(a.shape[0], groups, a.shape[1] // groups, *a.shape[2:])
    return np.array(split.swapaxes(1, 2), order="C").reshape(a.shape)


# fmt: off
pixel_shuffle_record = structural_op("pixel_shuffle(self; factor)", to_pixels,
    "out[n, c, h * r + i, w * r + j] = self[n, c * r**2 + i * r + j, h, w]; r = factor",
    c_order=True, self="pixel_unshuffle(grad, factor)")
pixel_unshuffle_record = structural_op("pixel_unshuffle(self; factor)", to_channels,
    "out[n, c * r**2 + i * r + j, h, w] = self[n, c, h * r + i, w * r + j]; r = factor",
    c_order=True, self="pixel_shuffle(grad, factor)")


channel_shuffle_record = structural_op("channel_shuffle(self; groups)", between_groups,
    "out[n, k * groups + m] = self[n, m * (C / groups) + k]",
    self=d("~self", lambda xp, g, out, self, groups: xp.channel_shuffle(g, self.shape[1] // groups)))
native_channel_shuffle_record = structural_op("native_channel_shuffle(self; groups)", between_groups,
    "out[n, k * groups + m] = self[n, m * (C / groups) + k]", undefined=True)
# fmt: on


def check_factor(name: str, which: str, input: Tensor, factor: int) -> None:
    check_tensor(name, input)
    if input.ndim < 3:
        raise RuntimeError(
            f"{name} expects input to have at least 3 dimensions, but got input with {input.ndim} dimension(s)"
        )
    if factor <= 0:
        raise RuntimeError(f"{name} expects a positive {which}, but got {factor}")


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Rearrange (*, C r^2, H, W) to (*, C, H r, W r) (torch.pixel_shuffle).

    Raises RuntimeError if r^2 does not divide the number of channels.
    """
    check_factor("pixel_shuffle", "upscale_factor", input, upscale_factor)
    square = upscale_factor * upscale_factor
    if input.shape[-3] % square:
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, "
            f"but input.size(-3)={input.shape[-3]} is not divisible by {square}"
        )
    return pixel_shuffle_record(input, upscale_factor)


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """Rearrange (*, C, H r, W r) to (*, C r^2, H, W); raise RuntimeError if r does not divide H and
    W.
    """
    check_factor("pixel_unshuffle", "downscale_factor", input, downscale_factor)
    for dim, side in ((-2, "height"), (-1, "width")):
        if input.shape[dim] % downscale_factor:
            raise RuntimeError(
                f"pixel_unshuffle expects {side} to be divisible by downscale_factor, but input.size({dim})="
                f"{input.shape[dim]} is not divisible by {downscale_factor}"
            )
    return pixel_unshuffle_record(input, downscale_factor)


def check_groups(input: Tensor, groups: int) -> None:
    check_tensor("channel_shuffle", input)
    if input.ndim <= 2:
        raise RuntimeError(
            f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(input.shape)}"
        )
    if groups <= 0:
        raise RuntimeError(
            f"Number of groups to divide channels in must be positive. Value of groups:{groups}"
        )
    if input.shape[1] % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {input.shape[1]} channels and {groups} groups."
        )


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Transpose the channels of (N, C, ...) seen as (groups, C / groups)
    (torch.channel_shuffle).
    """
    check_groups(input, groups)
    return channel_shuffle_record(input, groups)


def native_channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """channel_shuffle without a derivative, as in PyTorch (torch.native_channel_shuffle)."""
    check_groups(input, groups)
    return native_channel_shuffle_record(input, groups)


for _function in (pixel_shuffle, pixel_unshuffle, channel_shuffle, native_channel_shuffle):
    expose(_function, forms="fn")
