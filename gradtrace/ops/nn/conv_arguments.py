"""Arguments of convolutions: a number for all dims, padding by name, and PyTorch's errors for
invalid shapes.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Sequence
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import Ints
from gradtrace.ops.nn.patches import padded_sizes

NAMES = ("input", "weight", "bias", "stride", "padding", "dilation", "groups")
FORMS = """{}() received an invalid combination of arguments - got ({}), but expected one of:
 * (Tensor input, Tensor weight, Tensor bias = None, tuple of ints stride = 1, tuple of ints padding = 0, tuple of \
ints dilation = 1, int groups = 1)
 * (Tensor input, Tensor weight, Tensor bias = None, tuple of ints stride = 1, str padding = "valid", tuple of ints \
dilation = 1, int groups = 1)
"""
AXES = {1: ("height", "width"), 2: ("height", "width"), 3: ("depth", "height", "width")}


def lengths(name: str, argument: str, value: object, n: int, position: str = "") -> Ints:
    """Return a number for each of n dims, from one number or a sequence."""
    if isinstance(value, int) and not isinstance(value, bool):
        return (value,) * n
    return ints(name, argument, value, position)


def ints(name: str, argument: str, value: object, position: str = "") -> Ints:
    """Return a sequence of ints as a tuple; raise TypeError for anything else."""
    if not isinstance(value, (tuple, list)):
        raise TypeError(
            f"{name}(): argument '{argument}'{position} must be tuple of ints, not "
            f"{type(value).__name__}"
        )
    for i, item in enumerate(value):
        if not hasattr(item, "__index__"):
            raise TypeError(
                f"{name}(): argument '{argument}'{position} must be tuple of ints, but found "
                f"element of type {type(item).__name__} at pos {i}"
            )
    return tuple(int(item) for item in value)


def check_forms(name: str, args: tuple[Any, ...], options: dict[str, Any]) -> None:
    """Raise TypeError with PyTorch's list of signatures if the arguments match none of them."""
    arguments = dict(zip(NAMES, args, strict=False)) | options
    if (
        len(args) > len(NAMES)
        or not {"input", "weight"} <= arguments.keys() <= set(NAMES)
        or not all(accepts_value(argument, value) for argument, value in arguments.items())
    ):
        types = [type(value).__name__ for value in args]
        types += [f"{key}={type(value).__name__}" for key, value in options.items()]
        raise TypeError(FORMS.format(name, ", ".join(types)))


def accepts_value(argument: str, value: object) -> bool:
    """Return whether the type of a value suits an argument in one of the two signatures."""
    if argument in ("input", "weight", "bias"):
        return isinstance(value, Tensor) or (value is None and argument == "bias")
    if isinstance(value, (tuple, list)):
        return argument != "groups" and all(hasattr(item, "__index__") for item in value)
    return hasattr(value, "__index__") or (isinstance(value, str) and argument == "padding")


def expand_parameter(argument: str, value: Ints, n: int) -> Ints:
    """Repeat a single number for all dims; raise RuntimeError for a wrong count."""
    if len(value) == n:
        return value
    if len(value) == 1:
        return value * n
    raise RuntimeError(
        f"expected {argument} to be a single integer value or a list of {n} values to match the "
        f"convolution dimensions, but got {argument}={list(value)}"
    )


def same_padding(weight: Tensor, stride: Ints, padding: str, dilation: Ints) -> tuple[Ints, Ints]:
    """Resolve padding="same" or "valid"; return the extra pads (pairs for `pad`) and the padding at
    both ends.
    """
    n = weight.ndim - 2
    if padding == "valid":
        return (), (0,) * n
    if padding != "same":
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    if any(s != 1 for s in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    totals = [
        e * (k - 1)
        for e, k in zip(expand_parameter("dilation", dilation, n), weight.shape[2:], strict=True)
    ]
    ends = [end for total in reversed(totals) for end in (0, total % 2)]
    return tuple(ends), tuple(total // 2 for total in totals)


def check_dtypes(input: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    if bias is not None and bias.dtype is not input.dtype:
        raise RuntimeError(
            f"Input type ({input.dtype.cpp_name}) and bias type ({bias.dtype.cpp_name}) should be "
            "the same"
        )
    if weight.dtype is not input.dtype:
        raise RuntimeError(
            f"expected scalar type {input.dtype.scalar_type} but found {weight.dtype.scalar_type}"
        )
    if input.dtype.scalar_type == "Bool":
        raise NotImplementedError("\"slow_conv2d_cpu\" not implemented for 'Bool'")


def check_numbers(
    stride: Ints, padding: Ints, dilation: Ints, groups: int, show_dilation: str
) -> None:
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if any(p < 0 for p in padding):
        raise RuntimeError("negative padding is not supported")
    if any(s <= 0 for s in stride):
        raise RuntimeError("non-positive stride is not supported")
    if any(e <= 0 for e in dilation):
        raise RuntimeError(f"dilation should be greater than zero, but got {show_dilation}")


def check_weight(input: Tensor, weight: Tensor, groups: int) -> None:
    if weight.ndim < 3:
        raise RuntimeError("weight should have at least three dimensions")
    if input.ndim != weight.ndim:
        raise RuntimeError(
            f"Expected {weight.ndim}-dimensional input for {weight.ndim}-dimensional weight "
            f"{list(weight.shape)}, but got {input.ndim}-dimensional input of size "
            f"{list(input.shape)} instead"
        )
    if weight.shape[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but "
            f"got weight of size {list(weight.shape)} instead"
        )
    if weight.shape[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, "
            f"but got weight of size [{list(weight.shape)}] instead"
        )


def channels_message(expected: str, input: Tensor, weight: Tensor, channels: int) -> str:
    return (
        f"Given {expected}, weight of size {list(weight.shape)}, expected "
        f"input{list(input.shape)} to have {channels} channels, but got {input.shape[1]} channels "
        "instead"
    )


def check_convolution(
    input: Tensor, weight: Tensor, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> None:
    """Raise PyTorch's error for a convolution whose shapes or parameters do not fit."""
    shown = [1, *dilation] if len(dilation) == 1 else list(dilation)
    check_numbers(stride, padding, dilation, groups, str(shown))
    check_weight(input, weight, groups)
    if input.shape[1] != weight.shape[1] * groups:
        raise RuntimeError(
            channels_message(f"groups={groups}", input, weight, weight.shape[1] * groups)
        )
    sizes = padded_sizes(input.shape[2:], padding)
    reach = tuple(e * (k - 1) + 1 for e, k in zip(dilation, weight.shape[2:], strict=True))
    if any(n < k for n, k in zip(sizes, reach, strict=True)):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({join_sizes(sizes)}). Kernel size: "
            f"({join_sizes(reach)}). Kernel size can't be greater than actual input size"
        )
    shape = [*input.shape]
    if 0 in shape[2:] and all(shape[:2]):
        if len(shape) == 3:
            shape.insert(2, 1)  # PyTorch's kernel sees two spatial dims
        raise RuntimeError(
            f"Only zero batch or zero channel inputs are supported, but got input shape: {shape}"
        )


def check_bias(weight: Tensor, bias: Tensor | None, outputs: int, transposed: bool) -> None:
    if bias is not None and tuple(bias.shape) != (outputs,):
        raise RuntimeError(
            f"Given {'transposed=1, ' if transposed else ''}weight of size {list(weight.shape)}, "
            f"expected bias to be 1-dimensional with {outputs} elements, but got bias of size "
            f"{list(bias.shape)} instead"
        )


def check_transposed(
    input: Tensor,
    weight: Tensor,
    sizes: Ints,
    stride: Ints,
    padding: Ints,
    output_padding: Ints,
    dilation: Ints,
    groups: int,
) -> None:
    """Raise PyTorch's error for a transposed convolution whose shapes or parameters do not fit;
    `sizes` are those of the output.
    """
    check_numbers(stride, padding, dilation, groups, by_axis("dilation", dilation, ", "))
    if any(p < 0 for p in output_padding):
        raise RuntimeError("negative output_padding is not supported")
    check_weight(input, weight, groups)
    if input.shape[1] != weight.shape[0]:
        raise RuntimeError(channels_message("transposed=1", input, weight, weight.shape[0]))
    if any(p >= s and p >= e for p, s, e in zip(output_padding, stride, dilation, strict=True)):
        raise RuntimeError(
            "output padding must be smaller than either stride or dilation, but got "
            f"{by_axis('output_padding', output_padding, ' ')} {by_axis('stride', stride, ' ')} "
            f"{by_axis('dilation', dilation, ' ')}"
        )
    if any(size < 1 for size in input.shape[2:]):
        raise RuntimeError(
            "Only zero batch or zero channel inputs are supported, but got input shape: "
            f"{list(input.shape)}"
        )
    if any(size < 1 for size in sizes):
        line = (1,) if len(stride) == 1 else ()
        raise RuntimeError(
            f"Given input size per channel: ({join_sizes(line + tuple(input.shape[2:]))}). "
            f"Calculated output size per channel: ({join_sizes(line + sizes)}). Output size is too "
            "small"
        )


def join_sizes(sizes: Sequence[int]) -> str:
    return " x ".join(map(str, sizes))


def by_axis(label: str, values: Ints, between: str) -> str:
    """Return text as "stride_height: 1 stride_width: 2"; a single dim counts as the width of an
    image of height 1.
    """
    if len(values) == 1:
        values = (0 if label == "output_padding" else 1, *values)
    return between.join(
        f"{label}_{axis}: {v}" for axis, v in zip(AXES.get(len(values), ()), values, strict=False)
    )
