"""Convolution and transposed convolution in 1, 2 and 3 dims, and `conv_tbc`.

One record handles any number of spatial dims. Its derivatives are records of the same family
(`gradtrace.ops.nn.patches`), so each rule is one line and gradients can be differentiated again.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Callable, Sequence
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import XP, Array, Ints, Operand, Shape
from gradtrace.engine.operators.op import contraction_op, d
from gradtrace.ops.api import expose, named, not_a_tensor
from gradtrace.ops.arguments import torch_function
from gradtrace.ops.nn.conv_arguments import (
    check_bias,
    check_convolution,
    check_dtypes,
    check_forms,
    check_transposed,
    expand_parameter,
    lengths,
    same_padding,
)
from gradtrace.ops.nn.pad import constant_pad
from gradtrace.ops.nn.patches import PerDim, output_sizes, slide, spread_back, weigh
from gradtrace.ops.shape.views import squeeze_dim, unsqueeze


def convolve(
    x: Array,
    w: Array,
    b: Array | None,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    transposed: bool,
    output_padding: Ints,
    groups: int,
) -> Array:
    kernel = w.shape[2:]
    if transposed:
        sizes = transposed_sizes(x.shape[2:], kernel, stride, padding, dilation, output_padding)
        out = spread_back(x, w, sizes, stride, padding, dilation, groups)
    else:
        sizes = output_sizes(x.shape[2:], kernel, stride, padding, dilation)
        if not x.shape[1]:  # PyTorch then has no channels to give either
            return np.zeros((len(x), 0, *sizes), x.dtype)
        out = slide(x, w, sizes, stride, padding, dilation, groups)
    if b is not None:
        out += b.reshape(-1, *(1,) * len(kernel))
    return out


def transposed_sizes(
    sizes: Shape, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, output_padding: Ints
) -> Ints:
    return tuple(
        (n - 1) * s - 2 * p + e * (k - 1) + more + 1
        for n, k, s, p, e, more in zip(
            sizes, kernel, stride, padding, dilation, output_padding, strict=True
        )
    )


# ---- rules


def spatial(meta: Operand) -> Ints:
    return tuple(meta.shape[2:])


def input_grad(
    xp: XP,
    g: Operand,
    input: Operand,
    weight: Operand,
    window: tuple[Ints, ...],
    transposed: bool,
    groups: int,
) -> Operand:
    return (xp.slide if transposed else xp.spread_back)(g, weight, spatial(input), *window, groups)


def weight_grad(
    xp: XP,
    g: Operand,
    input: Operand,
    weight: Operand,
    window: tuple[Ints, ...],
    transposed: bool,
    groups: int,
) -> Operand:
    if not g.shape[1]:
        return zeros_from(xp, g, weight)
    if transposed:
        g, input = input, g
    return xp.weigh(g, input, spatial(weight), *window, groups)


def bias_grad(xp: XP, g: Operand, bias: Operand) -> Operand:
    return xp.sum_dim(g, (0, *range(2, g.ndim))) if g.shape[1] else zeros_from(xp, g, bias)


def zeros_from(xp: XP, g: Operand, like: Operand) -> Operand:
    """Return zeros in the shape of `like`: the derivative of a result that has no channels."""
    return xp.place_flat(g, np.zeros(g.shape, np.int64), tuple(like.shape))


# fmt: off
convolution = contraction_op(
    "convolution(input, weight, bias; stride, padding, dilation, transposed, output_padding, groups)", convolve,
    "out[n, o, x] = bias[o] + sum[c, k](weight[o, c, k] * input[n, c, stride * x + dilation * k - padding])",
    zero="product",
    input=d("input weight", lambda xp, g, out, input, weight, bias, s, p, e, transposed, more, groups:
        input_grad(xp, g, input, weight, (s, p, e), transposed, groups)),
    weight=d("input weight", lambda xp, g, out, input, weight, bias, s, p, e, transposed, more, groups:
        weight_grad(xp, g, input, weight, (s, p, e), transposed, groups)),
    bias=d("input weight ~bias", lambda xp, g, out, input, weight, bias, *_: bias_grad(xp, g, bias)))
AGAIN = "ConvolutionBackwardBackward0"
slide_record = contraction_op("slide(input, weight; sizes, stride, padding, dilation, groups)", slide,
    "out[n, o, x] = sum[c, k](weight[o, c, k] * input[n, c, stride * x + dilation * k - padding])", node=AGAIN,
    input=d("~input weight", lambda xp, g, out, input, weight, sizes, *rest:
        xp.spread_back(g, weight, spatial(input), *rest)),
    weight=d("input ~weight", lambda xp, g, out, input, weight, sizes, *rest:
        xp.weigh(g, input, spatial(weight), *rest)))
spread_back_record = contraction_op("spread_back(output, weight; sizes, stride, padding, dilation, groups)",
    spread_back,
    "out[n, c, y] = sum[o, k](weight[o, c, k] * output[n, o, x]); stride * x + dilation * k - padding == y",
    node=AGAIN,
    output=d("~output weight", lambda xp, g, out, output, weight, sizes, *rest:
        xp.slide(g, weight, spatial(output), *rest)),
    weight=d("output ~weight", lambda xp, g, out, output, weight, sizes, *rest:
        xp.weigh(output, g, spatial(weight), *rest)))
weigh_record = contraction_op("weigh(output, input; kernel, stride, padding, dilation, groups)", weigh,
    "out[o, c, k] = sum[n, x](output[n, o, x] * input[n, c, stride * x + dilation * k - padding])", node=AGAIN,
    output=d("~output input", lambda xp, g, out, output, input, kernel, *rest:
        xp.slide(input, g, spatial(output), *rest)),
    input=d("output ~input", lambda xp, g, out, output, input, kernel, *rest:
        xp.spread_back(output, g, spatial(input), *rest)))
# fmt: on


# ---- the public names


def _forward(n: int) -> Callable[..., Tensor]:
    name = f"conv{n}d"

    def convolved(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: PerDim = 1,
        padding: PerDim | str = 0,
        dilation: PerDim = 1,
        groups: int = 1,
    ) -> Tensor:
        stride = lengths(name, "stride", stride, n)
        dilation = lengths(name, "dilation", dilation, n)
        if not isinstance(padding, str):
            padding = lengths(name, "padding", padding, n)
        check_dtypes(input, weight, bias)
        batch, unbatched = as_batch(name, input, n)
        out = checked_convolution(batch, weight, bias, stride, padding, dilation, groups)
        return squeeze_dim(out, 0) if unbatched else out

    def function(*args: Any, **options: Any) -> Tensor:
        check_forms(name, args, options)
        return convolved(*args, **options)

    function.__wrapped__ = convolved  # type: ignore[attr-defined]
    return named(
        function,
        name,
        (
            f"Cross-correlation over {n} dim(s) (torch.nn.functional.{name}).\n\n"
            "input (N, C, *sizes) or (C, *sizes), weight (O, C / groups, *kernel), bias (O); `padding` is a number, one"
            ' for each dim, "valid" or "same". Raises RuntimeError for invalid shapes.'
        ),
    )


def checked_convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Ints,
    padding: Ints | str,
    dilation: Ints,
    groups: int,
) -> Tensor:
    if isinstance(padding, str):
        pads, padding = same_padding(weight, stride, padding, dilation)
        if any(pads):
            input = constant_pad(input, pads, 0)
    n = weight.ndim - 2
    stride, padding, dilation = (
        expand_parameter(name, value, n)
        for name, value in (("stride", stride), ("padding", padding), ("dilation", dilation))
    )
    check_convolution(input, weight, stride, padding, dilation, groups)
    check_bias(weight, bias, weight.shape[0], False)
    return convolution(input, weight, bias, stride, padding, dilation, False, (0,) * n, groups)


def as_batch(name: str, input: Tensor, n: int) -> tuple[Tensor, bool]:
    """Return the input with a batch dim, and whether it had none."""
    if input.ndim not in (n + 1, n + 2):
        raise RuntimeError(
            f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {name}, but got input of size: "
            f"{list(input.shape)}"
        )
    return (unsqueeze(input, 0), True) if input.ndim == n + 1 else (input, False)


def _transposed(n: int) -> None:
    name = f"conv_transpose{n}d"

    def function(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: PerDim = 1,
        padding: PerDim = 0,
        output_padding: PerDim = 0,
        groups: int = 1,
        dilation: PerDim = 1,
    ) -> Tensor:
        if not isinstance(weight, Tensor):
            raise not_a_tensor(name, "weight", 2, weight)
        options = (
            ("stride", stride),
            ("padding", padding),
            ("output_padding", output_padding),
            ("dilation", dilation),
        )
        checked = [(option, lengths(name, option, value, n)) for option, value in options]
        check_dtypes(input, weight, None)
        batch, unbatched = as_batch(name, input, n)
        dims = weight.ndim - 2
        stride, padding, output_padding, dilation = (
            expand_parameter(option, value, dims) for option, value in checked
        )
        sizes = transposed_sizes(
            batch.shape[2:], weight.shape[2:], stride, padding, dilation, output_padding
        )
        check_transposed(batch, weight, sizes, stride, padding, output_padding, dilation, groups)
        check_bias(weight, bias, weight.shape[1] * groups, True)
        out = convolution(
            batch, weight, bias, stride, padding, dilation, True, output_padding, groups
        )
        return squeeze_dim(out, 0) if unbatched else out

    doc = (
        f"Transposed convolution over {n} dim(s) (torch.nn.functional.{name}).\n\n"
        "input (N, C, *sizes) or (C, *sizes), weight (C, O / groups, *kernel), bias (O). Raises RuntimeError "
        "for invalid shapes."
    )
    torch_function(name, forms="fn")(named(function, name, doc))


for _n in (1, 2, 3):
    expose(_forward(_n), forms="fn", record=convolution)
    _transposed(_n)


def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """Convolution over time of (time, batch, channels); weight (kernel, channels in, out)
    (torch.conv_tbc).
    """
    x = input.permute(1, 2, 0)
    w = weight.permute(2, 1, 0)
    return convolution(x, w, bias, (1,), (pad,), (1,), False, (0,), 1).permute(2, 0, 1)


expose(conv_tbc, forms="fn", record=convolution)


def general(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Tensor:
    """Convolution with every argument required (torch.convolution)."""
    options = (
        ("stride", stride),
        ("padding", padding),
        ("dilation", dilation),
        ("output_padding", output_padding),
    )
    *window, more = (
        expand_parameter(argument, tuple(value), weight.ndim - 2) for argument, value in options
    )
    return convolution(input, weight, bias, *window, transposed, more, groups)


expose(named(general, "convolution"), forms="f", record=convolution)
