"""Parameter and Buffer: tensors that a Module registers when they are assigned to an attribute.

A Parameter differs from a Tensor only in its type and repr; results computed from it are plain Tensors
(https://pytorch.org/docs/stable/generated/torch.nn.parameter.Parameter.html).
"""

from __future__ import annotations

from typing import Any

from gradtrace import ops
from gradtrace.engine.state import state
from gradtrace.engine.tensor import Tensor


def _share(target: Tensor, data: Tensor) -> None:
    """Make the new `target` a leaf on the storage (and version counter) of `data`."""
    target._data = data.shared()
    target._fn = None
    target._nr = 0
    target._req = False
    target._fast_spec = None
    target._x = None
    extra = target.extra()
    extra.counter = data.counter()
    extra.transforms = state.levels


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
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        if requires_grad and source.is_inference() and not state.inference:
            raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
        _share(self, source)
        self._req = bool(requires_grad)
        if requires_grad and state.watcher is not None:
            state.watcher.begins(self)
            if data is not None:
                state.watcher.escapes("parameter", data, self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        """Return an independent parameter with the same values; the gradient is not copied."""
        known: Parameter | None = memo.get(id(self))
        if known is not None:
            return known
        copy = type(self)._wrap(self.shared().copy())
        copy._req = self._req
        memo[id(self)] = copy
        return copy  # type: ignore[return-value]

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()


class UninitializedParameter(Parameter):
    """A parameter of a lazy layer before its first call: it has no elements yet."""

    def __repr__(self) -> str:
        return "<UninitializedParameter>"


class Buffer(Tensor):
    """A tensor registered as a buffer of a Module: state that is not trained, such as running averages.

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
