"""Parameter and Buffer: tensors that a Module registers when they are assigned to an attribute.

A Parameter differs from a Tensor only in its type and repr; results computed from it are plain
Tensors (https://pytorch.org/docs/stable/generated/torch.nn.parameter.Parameter.html).
"""

from __future__ import annotations

from functools import partialmethod
from typing import Any

from gradtrace import ops
from gradtrace.engine.data import describe, dtypes
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.state import state
from gradtrace.engine.data.tensor import Tensor

NO_SHAPE = (
    "Can't access the shape of an uninitialized parameter or buffer. This error usually happens "
    "in `load_state_dict` when trying to load an uninitialized parameter into an initialized one. "
    "Call `forward` to initialize the parameters before accessing their attributes."
)
NO_DATA = (
    "Attempted to use an uninitialized parameter. This error happens when you are using a "
    "`LazyModule` or explicitly manipulating `torch.nn.parameter.{}` objects. When using "
    "LazyModules Call `forward` with a dummy batch to initialize the parameters before calling "
    "torch functions"
)
NO_SHARED_MEMORY = (
    "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the "
    "parameters before calling `module.share_memory()`."
)


def _share(target: Tensor, data: Tensor) -> None:
    """Make the new `target` a leaf on the storage (and version counter) of `data`."""
    target._data = data.shared()
    target._fn = None
    target._nr = 0
    target._req = False
    target._fast_spec = None
    target._x = None
    target.extra().counter = data.counter()


def _empty() -> Tensor:
    return ops.find(ops.api.functions, "empty")(0)


class Parameter(Tensor):
    """A leaf registered as a parameter of a Module; it shares the storage of `data`.

    Raises RuntimeError if `requires_grad` is set for an integer tensor.
    """

    def __init__(self, data: Tensor | None = None, requires_grad: bool = True) -> None:
        source = _empty() if data is None else data
        if not isinstance(source, Tensor):
            raise AttributeError(f"'{type(source).__name__}' object has no attribute 'detach'")
        if requires_grad and not source.is_floating_point():
            raise RuntimeError(
                "Only Tensors of floating point and complex dtype can require gradients"
            )
        if requires_grad and source.is_inference() and not state.inference:
            raise RuntimeError(
                "Setting requires_grad=True on inference tensor outside InferenceMode is not "
                "allowed."
            )
        _share(self, source)
        self._req = bool(requires_grad)
        if requires_grad:
            state.watcher.begins(self)
            if data is not None:
                state.watcher.escapes("parameter", data, self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        """Return an independent parameter with the same values; the gradient is not copied."""
        parameter: Parameter | None = memo.get(id(self))
        if parameter is not None:
            return parameter
        copy = type(self)._wrap(self.shared().copy())
        copy._req = self._req
        memo[id(self)] = copy
        return copy  # type: ignore[return-value]

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()


class UninitializedParameter(Parameter):
    """A parameter of a lazy layer, which has a dtype but no shape until `materialize` is called."""

    def __init__(self, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> None:
        describe.check_device(device)
        self._fn: Any = None
        self._x: Any = None
        self._fast_spec: Any = None
        self._nr = 0
        self._req = requires_grad
        self._dtype = dtypes.as_dtype(dtype) or dtypes.get_default_dtype()

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Become an ordinary parameter of this shape, whose values are not set."""
        data = ops.find(ops.api.functions, "empty")(
            shape, device=device, dtype=dtype or self._dtype
        )
        requires_grad = self._req
        self.__dict__.clear()
        self.__class__ = Parameter  # type: ignore[assignment]
        Parameter.__init__(self, data, requires_grad)

    @property
    def shape(self) -> Any:
        raise RuntimeError(NO_SHAPE)

    @property
    def _data(self) -> Any:
        raise ValueError(NO_DATA.format(type(self).__name__))

    @property
    def stand_in(self) -> Any:
        """The empty tensor that traces have in place of this one, always the same."""
        if "_stand_in" not in self.__dict__:
            self._stand_in = Parameter._wrap(np.empty(0, self._dtype.np))
        self._stand_in._req = self._req
        return self._stand_in

    @property
    def dtype(self) -> Any:
        return self._dtype

    @property
    def data(self) -> Any:
        return self

    @data.setter
    def data(self, value: Any) -> None:
        """Accept the result of `to`, which has changed this tensor itself."""

    def is_floating_point(self) -> bool:
        return bool(self._dtype.is_floating_point)

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Set the dtype that the tensor will have, and return the tensor."""
        for place in (
            kwargs.get("device"),
            *(arg for arg in args if isinstance(arg, (str, describe.device))),
        ):
            describe.check_device(place)
        candidates = [
            kwargs.get("dtype"),
            *(arg for arg in args if isinstance(arg, (dtypes.dtype, type))),
        ]
        self._dtype = dtypes.as_dtype(candidates[-1]) or self._dtype
        return self

    float = partialmethod(to, dtypes.float32)
    double = partialmethod(to, dtypes.float64)
    half = partialmethod(to, dtypes.float16)

    def copy_(self, src: Any, non_blocking: bool = False) -> Any:
        """Return self: the state of a lazy layer may be loaded into another lazy layer."""
        return self if is_lazy(src) else self._data

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return memo.setdefault(id(self), type(self)(self._req, dtype=self._dtype))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


def is_lazy(param: object) -> bool:
    """Return whether a parameter is not initialized yet."""
    return isinstance(param, UninitializedParameter)


class Buffer(Tensor):
    """A tensor registered as a buffer of a Module: state that is not trained, such as running
    averages.

    `persistent` is whether it is part of the Module's state_dict.
    """

    def __init__(self, data: Tensor | None = None, *, persistent: bool = True) -> None:
        source = _empty() if data is None else data
        _share(self, source)
        self._req = source.requires_grad
        self.persistent = persistent


def clear_grad(param: Tensor, set_to_none: bool) -> None:
    """Set the gradient of `param` to None, or (unless `set_to_none`) to zero without history."""
    extra = param._x
    grad = None if extra is None else extra.grad
    if grad is None:
        return
    if set_to_none:
        param.grad = None
        return
    if grad.grad_fn is not None:
        grad.detach_()
    else:
        grad.requires_grad_(False)
    grad.zero_()
