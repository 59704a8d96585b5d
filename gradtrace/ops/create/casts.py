"""Dtype conversion, and in-place writes to a whole tensor: to, float, long, copy_, fill_, zero_."""

from __future__ import annotations

from gradtrace.annotations import Any
from gradtrace.engine.calls.inplace import inplace
from gradtrace.engine.data import describe, dtypes
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.operators.broadcast import check_takes
from gradtrace.ops.api import expose, named, public
from gradtrace.ops.create.factories import assign, cast, fill, fill_tensor, zero


@public(forms="m")
def to(
    self: Tensor,
    *args: Any,
    dtype: dtypes.dtype | None = None,
    device: object = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: object = None,
) -> Tensor:
    """Convert to another dtype; return the same tensor if nothing changes (Tensor.to)."""
    for argument in args:
        if isinstance(argument, (dtypes.dtype, type)):
            dtype = dtypes.as_dtype(argument)
        elif isinstance(argument, Tensor):
            dtype = argument.dtype
            device = argument.device
        elif isinstance(argument, (str, describe.device)) or type(argument) is int:
            device = argument
    if device is not None:
        describe.check_device(device)
    wanted = dtypes.as_dtype(dtype) or self.dtype
    return self if wanted is self.dtype and not copy else cast(self, wanted.np)


def _cast_method(name: str, target: dtypes.dtype) -> None:
    def method(self: Tensor, *, memory_format: object = None) -> Tensor:
        return self if self.dtype is target else cast(self, target.np)

    expose(named(method, name, f"Cast to torch.{target.name} (Tensor.{name})."), forms="m")


for _name, _target in (
    ("float", dtypes.float32),
    ("double", dtypes.float64),
    ("half", dtypes.float16),
    ("long", dtypes.int64),
    ("int", dtypes.int32),
    ("short", dtypes.int16),
    ("char", dtypes.int8),
    ("byte", dtypes.uint8),
    ("bool", dtypes.bool_),
):
    _cast_method(_name, _target)


@public("type", forms="m")
def torch_type(
    self: Tensor, dtype: dtypes.dtype | str | None = None, non_blocking: bool = False
) -> Tensor | str:
    """Return the type's name, or the tensor cast to another dtype (Tensor.type)."""
    if dtype is None:
        return f"torch.{self.dtype.scalar_type}Tensor"
    if isinstance(dtype, type):  # a legacy tensor type
        dtype = getattr(dtype, "dtype", dtype)
    if not isinstance(dtype, (str, dtypes.dtype)):
        raise TypeError("dtype must be a type, str, or dtype object")
    if isinstance(dtype, str):
        matches = [d for d in dtypes.ALL if dtype == f"torch.{d.scalar_type}Tensor"]
        if not matches:
            raise ValueError(f"invalid type: '{dtype}'")
        dtype = matches[0]
    return to(self, dtype)


@public(forms="m")
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """Cast to the dtype of another tensor (Tensor.type_as)."""
    return to(self, other.dtype)


@public(forms="m")
def cpu(self: Tensor, memory_format: object = None) -> Tensor:
    """Return the tensor itself; all tensors are on the CPU (Tensor.cpu)."""
    return to(self, "cpu")


@public(forms="m")
def cuda(self: Tensor, device: object = None, **kwargs: object) -> Tensor:
    """Raise PyTorch's error: CUDA is not available."""
    describe.check_device("cuda" if device is None else device)
    return self


@public(forms="m")
def copy_(self: Tensor, other: Any, non_blocking: bool = False) -> Tensor:
    """Copy the values of `other`, broadcast and cast, into this tensor (Tensor.copy_)."""
    if isinstance(other, (int, float)):
        other = Tensor._wrap(np.asarray(other, self.dtype.np))
    if not isinstance(other, Tensor):
        raise TypeError(
            f"copy_(): argument 'other' (position 1) must be Tensor, not {type(other).__name__}"
        )
    check_takes(tuple(self.shape), tuple(other.shape))
    return inplace(assign, self, other)


@public(forms="m")
def fill_(self: Tensor, value: Tensor | float) -> Tensor:
    """Set every element to one value (Tensor.fill_)."""
    if isinstance(value, Tensor):
        if value.ndim:
            raise RuntimeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions."
            )
        return inplace(fill_tensor, self, value)
    return inplace(fill, self, value)


@public(forms="m")
def zero_(self: Tensor) -> Tensor:
    """Set every element to 0 (Tensor.zero_)."""
    return inplace(zero, self)


@public("fill", forms="f")
def filled(input: Tensor, value: Tensor | float) -> Tensor:
    """Return a copy filled with one value (torch.fill)."""
    return fill_tensor(input, value) if isinstance(value, Tensor) else fill(input, value)
