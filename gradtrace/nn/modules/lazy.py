"""Lazy layers, which find the size of their input at their first call and then become the ordinary
layer.
"""

from __future__ import annotations

from typing import Any

from gradtrace.engine.data.tensor import Tensor
from gradtrace.nn.modules import batchnorm, conv, linear
from gradtrace.nn.modules.module import Module
from gradtrace.nn.parameter import UninitializedParameter, is_lazy


class LazyLayer(Module):
    """Base of lazy layers: the parameters have no size yet, and draw their values when they get
    one.
    """

    cls_to_become: Any
    size_name: str

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(0, *args, **kwargs)
        self.__dict__["_arguments"] = args, kwargs
        for name, parameter in self._parameters.items():
            if parameter is not None:
                self._parameters[name] = UninitializedParameter(dtype=parameter.dtype)

    def reset_parameters(self) -> None:
        """Do nothing: the parameters have no elements yet."""

    def __call__(self, input: Tensor, *args: Any, **kwargs: Any) -> Any:
        self.initialize_parameters(input)
        self.__class__ = self.cls_to_become
        return self(input, *args, **kwargs)

    def initialize_parameters(self, input: Tensor) -> None:
        """Create the parameters for this input's size, with the values of an ordinary layer."""
        args, kwargs = self.__dict__.pop("_arguments")
        size = self.find_size(input)
        setattr(self, self.size_name, size)
        lazy: dict[str, Any] = {name: own for name, own in self._parameters.items() if is_lazy(own)}
        if not lazy:  # a state was loaded
            return
        layer = self.cls_to_become(
            size, *args, **{**kwargs, "dtype": next(iter(lazy.values())).dtype}
        )
        for name, own in lazy.items():
            own.materialize(layer._parameters[name].shape)
            own.data = layer._parameters[name].data
        self._buffers.update(layer._buffers)

    def find_size(self, input: Tensor) -> int:
        return int(input.shape[1])

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        for name, tensor in self._parameters.items():
            saved = state_dict.get(prefix + name)
            if is_lazy(tensor) and isinstance(saved, Tensor) and not is_lazy(saved):
                tensor.materialize(saved.shape)  # type: ignore[union-attr]
        for name, buffer in self._buffers.items():
            saved = state_dict.get(prefix + name)
            if buffer is not None and isinstance(saved, Tensor) and buffer.shape != saved.shape:
                self._buffers[name] = saved.clone()
        super()._load_from_state_dict(state_dict, prefix, *rest)


class LazyLinear(LazyLayer, linear.Linear):
    """Linear that takes `in_features` from its first input."""

    cls_to_become = linear.Linear
    size_name = "in_features"

    def find_size(self, input: Tensor) -> int:
        return int(input.shape[-1])


class LazyConvolution(LazyLayer):
    size_name = "in_channels"
    spatial: int

    def find_size(self, input: Tensor) -> int:
        if input.ndim not in (self.spatial + 1, self.spatial + 2):
            raise RuntimeError(
                f"Expected {self.spatial + 1}D (unbatched) or {self.spatial + 2}D (batched) input "
                f"to {type(self).__name__}, but got input of size: {input.shape}"
            )
        return int(input.shape[-self.spatial - 1])


class LazyBatchNormalization(LazyLayer):
    size_name = "num_features"


def lazy_layers(kind: type, module: Any, name: str) -> list[Any]:
    """Return the lazy classes of the layers NAME1d, NAME2d and NAME3d of a module."""
    layers = [getattr(module, f"{name}{spatial}d") for spatial in (1, 2, 3)]
    return [
        type(
            f"Lazy{layer.__name__}", (kind, layer), {"__module__": __name__, "cls_to_become": layer}
        )
        for layer in layers
    ]


LazyConv1d, LazyConv2d, LazyConv3d = lazy_layers(LazyConvolution, conv, "Conv")
LazyBatchNorm1d, LazyBatchNorm2d, LazyBatchNorm3d = lazy_layers(
    LazyBatchNormalization, batchnorm, "BatchNorm"
)
