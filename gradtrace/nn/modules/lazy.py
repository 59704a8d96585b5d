"""Lazy layers, which find the size of their input at their first call and then become the ordinary layer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gradtrace.engine.data.tensor import Tensor
from gradtrace.nn.modules import batchnorm, conv, instancenorm, linear
from gradtrace.nn.modules.module import Module
from gradtrace.nn.modules.utils import tensor_of
from gradtrace.nn.parameter import UninitializedBuffer, UninitializedParameter, is_lazy

SIZES = ("in_channels", "in_features", "num_features")
ARGUMENTS = "__arguments__"  # of a lazy layer: those of the ordinary one; a program cannot set a name of this form


class LazyModuleMixin:
    """Mixin of modules that call `initialize_parameters` with the inputs of their first call, before it."""

    cls_to_become: Any = None
    _initialized = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._initialized:
            return super().__call__(*args, **kwargs)  # type: ignore[misc]
        become = class_to_become(self)
        self.initialize_parameters(*args, **kwargs)
        if self.has_uninitialized_params():
            raise RuntimeError(f"module {type(self).__name__} has not been fully initialized")
        self._initialized = True
        self.__dict__.pop(ARGUMENTS, None)
        self.__class__ = become
        return self(*args, **kwargs)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Create the parameters for these inputs."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self: Any) -> bool:
        return any(map(is_lazy, (*self._parameters.values(), *self._buffers.values())))

    def _load_from_state_dict(self: Any, state_dict: Any, prefix: str, *rest: Any) -> None:
        for name, tensor in (*self._parameters.items(), *self._buffers.items()):
            given = state_dict.get(prefix + name)
            if is_lazy(tensor) and isinstance(given, Tensor) and not is_lazy(given):
                tensor.materialize(given.shape)
        super()._load_from_state_dict(state_dict, prefix, *rest)  # type: ignore[misc]


def class_to_become(layer: Any) -> Any:
    """Return the class that a lazy module has after its first call; raise TypeError unless it derives from it."""
    kind = type(layer)
    become = layer.cls_to_become
    if become is None:
        return kind
    is_base = any(become is base and issubclass(base, Module) for base in kind.__mro__)
    if not is_base or (become is Module and Module not in kind.__bases__):
        raise TypeError(f"cls_to_become of {kind.__name__} must be a layer that it derives from")
    if become.forward is not kind.forward:  # the arguments were checked for this one
        raise TypeError(f"{kind.__name__} must have the forward of its cls_to_become, {become.__name__}")
    return become


class _Lazy(LazyModuleMixin, Module):
    """Base of lazy layers: the parameters have no size yet, and draw their values when they get one."""

    size_name = "num_features"

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(0, *args, **kwargs)
        self.__dict__[ARGUMENTS] = args, kwargs
        for name, parameter in self._parameters.items():
            if parameter is not None:
                setattr(self, name, UninitializedParameter(dtype=parameter.dtype))
        for name in ("running_mean", "running_var"):
            if self._buffers.get(name) is not None:
                setattr(self, name, UninitializedBuffer(dtype=self._buffers[name].dtype))

    def reset_parameters(self) -> None:
        """Do nothing: the parameters have no elements yet."""

    def initialize_parameters(self: Any, input: Tensor, *_: Any, **__: Any) -> None:
        """Create the parameters for this input's size, with the values of an ordinary layer."""
        size = int(self._size(input))
        if self.size_name not in SIZES:
            raise TypeError(f"size_name of {type(self).__name__} must be one of {', '.join(SIZES)}")
        setattr(self, self.size_name, size)
        if not self.has_uninitialized_params():
            return
        args, kwargs = self.__dict__[ARGUMENTS]
        weight = self._parameters.get("weight")
        if weight is not None:
            kwargs = {**kwargs, "dtype": weight.dtype}
        made = class_to_become(self)(size, *args, **kwargs)
        for name, own in (*self._parameters.items(), *self._buffers.items()):
            if is_lazy(own):
                ready = tensor_of(made, name)
                own.materialize(ready.shape)
                own.data = ready.data

    def _size(self, input: Tensor) -> int:
        return int(input.shape[1])


class LazyLinear(_Lazy, linear.Linear):
    """Linear that takes `in_features` from its first input."""

    cls_to_become, size_name = linear.Linear, "in_features"

    def _size(self, input: Tensor) -> int:
        return int(input.shape[-1])


class _LazyInstanceNorm(_Lazy):
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        """PyTorch's lazy classes derive from those of batch normalisation, whose arguments are on by default."""
        on = dict.fromkeys(("affine", "track_running_stats")[max(0, len(args) - 2) :], True)  # after eps and momentum
        super().__init__(*args, **{**on, **kwargs})


class _LazyConv(_Lazy):
    size_name = "in_channels"
    spatial: int

    def _size(self, input: Tensor) -> int:
        if input.ndim not in (self.spatial + 1, self.spatial + 2):
            raise RuntimeError(
                f"Expected {self.spatial + 1}D (unbatched) or {self.spatial + 2}D (batched) input to "
                f"{type(self).__name__}, but got input of size: {input.shape}"
            )
        return int(input.shape[-self.spatial - 1])


def _lazy(kind: Any, module: Any, name: str) -> Iterator[Any]:
    """Yield the lazy classes of the layers NAME1d, NAME2d and NAME3d of a module."""
    for spatial in (1, 2, 3):
        base = getattr(module, f"{name}{spatial}d")
        doc = f"{base.__name__} whose `{kind.size_name}` are those of the first input."
        members = {"__module__": __name__, "__doc__": doc, "cls_to_become": base}
        yield type(f"Lazy{base.__name__}", (kind, base), members)


LazyConv1d, LazyConv2d, LazyConv3d = _lazy(_LazyConv, conv, "Conv")
LazyConvTranspose1d, LazyConvTranspose2d, LazyConvTranspose3d = _lazy(_LazyConv, conv, "ConvTranspose")
LazyBatchNorm1d, LazyBatchNorm2d, LazyBatchNorm3d = _lazy(_Lazy, batchnorm, "BatchNorm")
LazyInstanceNorm1d, LazyInstanceNorm2d, LazyInstanceNorm3d = _lazy(_LazyInstanceNorm, instancenorm, "InstanceNorm")
