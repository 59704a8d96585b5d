"""Padding: constant, reflect, replicate and circular (torch.nn.functional.pad).

As in PyTorch, pads are pairs that start with the last dim; a negative pad crops.
"""

from __future__ import annotations

from gradtrace.annotations import Sequence
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import Array, Ints, Kernel
from gradtrace.engine.operators.op import OneResult, d, structural_op
from gradtrace.engine.operators.rounding import fitting
from gradtrace.ops.api import expose
from gradtrace.ops.arguments import torch_function
from gradtrace.ops.index.records import slice_record
from gradtrace.ops.nn.conv_arguments import ints
from gradtrace.ops.nn.pool_windows import take_back

UNSUPPORTED = """Padding size {} is not supported for {}D input tensor.
Supported combinations for non-constant padding:
  - 2D or 3D input: padding size = 2 (pads last dimension)
  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)
  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"""


def pairs(pads: Ints, ndim: int) -> list[tuple[int, int, int]]:
    """Return (dim, before, after) for each padded dim, the last first."""
    return [(ndim - 1 - i, pads[2 * i], pads[2 * i + 1]) for i in range(len(pads) // 2)]


# ---- kernels


def constant_kernel(a: Array, pads: Ints, value: float) -> Array:
    shape = list(a.shape)
    source = [slice(None)] * a.ndim
    target = [slice(None)] * a.ndim
    for dim, before, after in pairs(pads, a.ndim):
        shape[dim] += before + after
        source[dim] = slice(max(-before, 0), a.shape[dim] - max(-after, 0))
        target[dim] = slice(max(before, 0), shape[dim] - max(after, 0))
    filler = np.asarray(value).astype(a.dtype)
    out = np.full(shape, filler, a.dtype) if filler else np.zeros(shape, a.dtype)
    out[tuple(target)] = a[tuple(source)]
    return out


def source_index(kind: str, n: int, before: int, after: int) -> Array:
    """Return, for each position along a padded dim, the index of the input element copied there."""
    index = np.arange(-before, n + after)
    if kind == "replicate":
        return np.clip(index, 0, n - 1)
    index = np.abs(index)
    return np.where(index < n, index, 2 * (n - 1) - index)


def repeating_kernel(kind: str) -> Kernel:
    def kernel(a: Array, pads: Ints) -> Array:
        for dim, before, after in pairs(pads, a.ndim):
            if before or after:
                a = np.take(a, source_index(kind, a.shape[dim], before, after), dim)
        return np.array(a) if not any(pads) else a

    return kernel


def repeating_back(kind: str) -> Kernel:
    def kernel(g: Array, a: Array, pads: Ints) -> Array:
        for dim, before, after in pairs(pads, g.ndim):
            if before or after:
                g = take_back(g, dim, a.shape[dim], source_index(kind, a.shape[dim], before, after))
        return np.array(g) if not any(pads) else g

    return kernel


# ---- records

# fmt: off
constant_pad = structural_op("constant_pad(self; pads, value)", constant_kernel,
    "out[i] = self[i - before] if 0 <= i - before < n else value", node="ConstantPadNdBackward0", c_order=True,
    self=d("", lambda xp, g, out, self, pads, value: xp.constant_pad(g, tuple(-p for p in pads), 0)))
# fmt: on


def _repeating(kind: str, name: str, n: int, formula: str) -> OneResult:
    record = f"{name}_pad{n}d"
    node = f"{name.title()}Pad{n}DBackward"
    back = record + "_back"
    structural_op(f"{back}(g, self; pads)", repeating_back(kind), node=node + "Backward0",
        g=d("", lambda xp, gg, out, g, self, pads: getattr(xp, record)(gg, pads)),
        self="zeros_like(self)")  # fmt: skip
    return structural_op(f"{record}(self; pads)", repeating_kernel(kind), formula, node=node + "0",
        self=d("self", lambda xp, g, out, self, pads: getattr(xp, back)(g, self, pads)))  # fmt: skip


repeating = {
    (kind, n): _repeating(kind, name, n, formula)
    for kind, name, formula in (
        ("reflect", "reflection", "out[i] = self[n - 1 - abs(n - 1 - abs(i - before))]"),
        ("replicate", "replication", "out[i] = self[min(max(i - before, 0), n - 1)]"),
    )
    for n in (1, 2, 3)
}


# ---- the public names


@torch_function(forms="n")
def pad(
    input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Tensor:
    """Pad the last dims of input with pairs (before, after), starting with the last dim
    (torch.nn.functional.pad).

    mode is "constant" (with `value`), "reflect", "replicate" or "circular"; a negative pad crops.
    Raises RuntimeError or NotImplementedError if the pads do not match the shape.
    """
    pads = ints("pad", "pad", pad, " (position 2)")
    if len(pads) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pads) > 2 * input.ndim:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(pads)} and input of dimension {input.ndim}"
        )
    if mode == "constant":
        return with_constant(input, pads, value or 0)
    if value:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    n = len(pads) // 2
    if n not in (1, 2, 3) or input.ndim not in (n + 1, n + 2):
        raise NotImplementedError(UNSUPPORTED.format(len(pads), input.ndim))
    if mode == "circular":
        return circular(input, pads)
    if (mode, n) not in repeating:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    check_repeating(input, pads, mode, n)
    return repeating[mode, n](input, pads)


def with_constant(input: Tensor, pads: Ints, value: float) -> Tensor:
    if not input.is_floating_point() and value != value:
        raise RuntimeError("value cannot be converted to type int64_t without overflow")
    for dim, before, after in pairs(pads, input.ndim):
        if input.shape[dim] + before + after < 0:
            raise RuntimeError("narrow(): length must be non-negative.")
    return constant_pad(input, pads, fitting(value, input.dtype.np))


def constant_pad_nd(input: Tensor, pad: Sequence[int], value: float = 0) -> Tensor:
    """Pad with a constant (torch.constant_pad_nd)."""
    return with_constant(input, ints("pad", "pad", pad, " (position 2)"), value)


expose(constant_pad_nd, forms="f", record=constant_pad)


def check_repeating(input: Tensor, pads: Ints, mode: str, n: int) -> None:
    shape = list(input.shape)
    batched = input.ndim == n + 2
    if any(size == 0 for size in shape[1 if batched else 0 :]):
        raise RuntimeError(
            f"Expected {n + 1}D or {n + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero "
            f"dimensions for input, but got: {shape}"
        )
    if input.dtype.scalar_type == "Bool":
        kind = "reflection" if mode == "reflect" else "replication"
        raise NotImplementedError(f"\"{kind}_pad{n}d\" not implemented for 'Bool'")
    for dim, before, after in pairs(pads, input.ndim):
        if mode == "reflect" and (before >= shape[dim] or after >= shape[dim]):
            raise RuntimeError(
                "Argument #4: Padding size should be less than the corresponding input dimension, but got: padding "
                f"({before}, {after}) at dimension {dim} of input {shape}"
            )
    sizes = [shape[dim] + before + after for dim, before, after in pairs(pads, input.ndim)][::-1]
    if any(size < 1 for size in sizes):
        axes = "DHW"[3 - n :]
        axis_sizes = " ".join(
            f"{axis}: {size}" for axis, size in zip(axes, shape[-n:], strict=True)
        )
        output_text = " ".join(f"{axis}: {size}" for axis, size in zip(axes, sizes, strict=True))
        raise RuntimeError(f"input ({axis_sizes}) is too small. Calculated output {output_text}")


def circular(input: Tensor, pads: Ints) -> Tensor:
    """Pad circularly by PyTorch's steps: copy the middle into a new tensor, then each side from the
    opposite one.
    """
    shape = list(input.shape)
    inner = input
    for dim, before, after in pairs(pads, input.ndim):
        if before > shape[dim] or after > shape[dim]:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        if shape[dim] + before + after <= 0:
            raise RuntimeError("Negative padding value is resulting in an empty dimension")
        shape[dim] += before + after
    out = input.new_empty(shape)
    middle = out
    for dim, before, after in pairs(pads, input.ndim):
        middle = slice_record(middle, dim, max(before, 0), shape[dim] - max(after, 0), 1)
        inner = slice_record(inner, dim, max(-before, 0), input.shape[dim] - max(-after, 0), 1)
    middle.copy_(inner)
    for dim, before, after in pairs(pads, input.ndim):
        left = max(before, 0)
        right = max(after, 0)
        n = shape[dim]
        if left:
            slice_record(out, dim, 0, left, 1).copy_(
                slice_record(out, dim, n - right - left, n - right, 1)
            )
        if right:
            slice_record(out, dim, n - right, n, 1).copy_(
                slice_record(out, dim, left, left + right, 1)
            )
    return out
