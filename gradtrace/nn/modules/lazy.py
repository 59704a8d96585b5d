"""Lazy layers, which find the size of their input at their first call and then become the ordinary layer."""

from __future__ import annotations

import warnings
from typing import Any

from gradtrace.engine.tensor import Tensor
from gradtrace.nn.modules import batchnorm, conv, instancenorm, linear
from gradtrace.nn.modules.module import Module
from gradtrace.nn.parameter import Parameter, UninitializedParameter

WARNING = (
    "Lazy modules are a new feature under heavy development so changes to the API or functionality can happen at any "
    "moment."
)


class _Lazy(Module):
    """Base of lazy layers: the parameters have no size yet, and draw their values when they get one."""

    cls_to_become: Any
    size_name: str

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(WARNING, stacklevel=2)
        super().__init__(0, *args, **kwargs)
        self._arguments = args, kwargs
        for name, parameter in self._parameters.items():
            if parameter is not None:
                setattr(self, name, UninitializedParameter(parameter.data))

    def reset_parameters(self) -> None:
        """Do nothing: the parameters have no elements yet."""

    def has_uninitialized_params(self) -> bool:
        return True

    def initialize_parameters(self, input: Tensor) -> None:
        """Create the parameters for this input's size and change the class to that of the ordinary layer."""
        args, kwargs = self._arguments
        weight = self._parameters.get("weight")
        if weight is not None:
            kwargs = {**kwargs, "dtype": weight.dtype}
        made = self.cls_to_become(self._size(input), *args, **kwargs)
        del self._arguments
        setattr(self, self.size_name, getattr(made, self.size_name))
        self.__class__ = self.cls_to_become
        for name, parameter in made._parameters.items():
            if parameter is not None:
                own: Any = self._parameters[name]
                own.data = parameter.data
                own.__class__ = Parameter
        self._buffers.update(made._buffers)

    def _size(self, input: Tensor) -> int:
        return int(input.shape[1])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.initialize_parameters(*args, **kwargs)
        return self(*args, **kwargs)


class LazyLinear(_Lazy, linear.Linear):
    """Linear that takes `in_features` from its first input."""

    cls_to_become, size_name = linear.Linear, "in_features"

    def _size(self, input: Tensor) -> int:
        return int(input.shape[-1])


class _LazyConv(_Lazy):
    size_name = "in_channels"
    spatial: int

    def _size(self, input: Tensor) -> int:
        if input.ndim not in (self.spatial + 1, self.spatial + 2):
            raise RuntimeError(
                f"Expected {self.spatial + 1}D (unbatched) or {self.spatial + 2}D (batched) input to "
                f"{type(self).__name__}, but got input of size: {list(input.shape)}"
            )
        return int(input.shape[-self.spatial - 1])


def _lazy(base: Any, kind: Any, name: str, size_name: str) -> Any:
    return type(
        name,
        (kind, base),
        {
            "__module__": __name__,
            "__doc__": f"{base.__name__} whose `{size_name}` are those of the first input.",
            "cls_to_become": base,
            "size_name": size_name,
        },
    )


LazyConv1d = _lazy(conv.Conv1d, _LazyConv, "LazyConv1d", "in_channels")
LazyConv2d = _lazy(conv.Conv2d, _LazyConv, "LazyConv2d", "in_channels")
LazyConv3d = _lazy(conv.Conv3d, _LazyConv, "LazyConv3d", "in_channels")
LazyConvTranspose1d = _lazy(conv.ConvTranspose1d, _LazyConv, "LazyConvTranspose1d", "in_channels")
LazyConvTranspose2d = _lazy(conv.ConvTranspose2d, _LazyConv, "LazyConvTranspose2d", "in_channels")
LazyConvTranspose3d = _lazy(conv.ConvTranspose3d, _LazyConv, "LazyConvTranspose3d", "in_channels")
LazyBatchNorm1d = _lazy(batchnorm.BatchNorm1d, _Lazy, "LazyBatchNorm1d", "num_features")
LazyBatchNorm2d = _lazy(batchnorm.BatchNorm2d, _Lazy, "LazyBatchNorm2d", "num_features")
LazyBatchNorm3d = _lazy(batchnorm.BatchNorm3d, _Lazy, "LazyBatchNorm3d", "num_features")
LazyInstanceNorm1d = _lazy(instancenorm.InstanceNorm1d, _Lazy, "LazyInstanceNorm1d", "num_features")
LazyInstanceNorm2d = _lazy(instancenorm.InstanceNorm2d, _Lazy, "LazyInstanceNorm2d", "num_features")
LazyInstanceNorm3d = _lazy(instancenorm.InstanceNorm3d, _Lazy, "LazyInstanceNorm3d", "num_features")
