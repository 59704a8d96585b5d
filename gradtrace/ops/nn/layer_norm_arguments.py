"""Argument checks of normalisation, with PyTorch's messages."""

from __future__ import annotations

from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import Ints
from gradtrace.ops.arguments import count, need_float
from gradtrace.ops.nn.pool_arguments import check_tensor


def check_batch_sizes(input: Tensor) -> None:
    if input.ndim < 2 and input.numel():
        raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got 1)")
    if input.ndim >= 2 and input.shape[0] * count(input.shape[2:]) == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {input.shape}"
        )


def check_more_than_one(input: Tensor) -> None:
    if count(input.shape[2:]) == 1:
        raise ValueError(
            f"Expected more than 1 spatial element when training, got input size {input.shape}"
        )


def check_batch(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
) -> None:
    channels = input.shape[1] if input.ndim > 1 else 0
    if not training and running_mean is None:
        raise RuntimeError("running_mean must be defined in evaluation mode")
    if not training and running_var is None:
        raise RuntimeError("running_var must be defined in evaluation mode")
    if (running_mean is None) != (running_var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")
    parameters = (
        ("running_mean", running_mean),
        ("running_var", running_var),
        ("weight", weight),
        ("bias", bias),
    )
    for name, value in parameters:
        if value is not None and value.numel() != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {value.numel()}")
    need_float(input, "batch_norm")
    check_same_dtype(input, running_mean, running_var, weight, bias)


def check_same_dtype(input: Tensor, *parameters: Tensor | None) -> None:
    """Raise RuntimeError for parameters of another dtype; half-precision input may have float32
    ones.
    """
    for value in parameters:
        if value is None or value.dtype is input.dtype:
            continue
        if input.dtype.itemsize == 2 and value.dtype.scalar_type == "Float":
            continue
        if input.dtype.scalar_type == "Float":
            raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float")
        raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")


def check_layer(
    name: str, input: Tensor, normalized_shape: object, weight: Tensor | None, bias: Tensor | None
) -> Ints:
    """Return the shape to normalise over; raise RuntimeError if it does not match the input's or
    the weights' shape.
    """
    check_tensor(name, input)
    if not isinstance(normalized_shape, (tuple, list)):
        raise TypeError(
            f"{name}(): argument 'normalized_shape' (position 2) must be tuple of ints, not "
            f"{type(normalized_shape).__name__}"
        )
    shape = tuple(int(n) for n in normalized_shape)
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
            "normalized_shape = []"
        )
    for role, value in (("weight", weight), ("bias", bias)):
        if value is not None and tuple(value.shape) != shape:
            raise RuntimeError(
                f"Expected {role} to be of same shape as normalized_shape, but got {role} of shape {list(value.shape)} "
                f"and normalized_shape = {list(shape)}"
            )
    if tuple(input.shape[-len(shape) :]) != shape:
        star = "*, " if name == "layer_norm" else "*"
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [{star}{', '.join(map(str, shape))}], "
            f"but got input of size{list(input.shape)}"
        )
    return shape


def check_group(input: Tensor, num_groups: int, weight: Tensor | None, bias: Tensor | None) -> None:
    check_tensor("group_norm", input)
    if input.ndim < 2:
        raise RuntimeError(
            f"Expected at least 2 dimensions for input tensor but received {input.ndim}"
        )
    shape = list(input.shape)
    if input.shape[0] * (input.shape[1] // num_groups) * count(input.shape[2:]) == 1:
        raise ValueError(
            "Expected more than 1 value per channel when training, got input size "
            f"{[shape[0] * shape[1] // num_groups, num_groups, *shape[2:]]}"
        )
    if num_groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    if input.shape[1] % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{shape} and num_groups={num_groups}"
        )
    for role, value in (("weight", weight), ("bias", bias)):
        if value is not None and (value.ndim != 1 or value.numel() != input.shape[1]):
            raise RuntimeError(
                f"Expected {role} to be a vector of size equal to the number of channels in input, but got {role} of "
                f"shape {list(value.shape)} and input of shape {shape}"
            )
