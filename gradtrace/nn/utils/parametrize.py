"""torch.nn.utils.parametrize: replace a tensor of a module by a function of other, trained parameters.

https://pytorch.org/docs/stable/generated/torch.nn.utils.parametrize.register_parametrization.html. A module keeps its
class; `Module.__getattr__` computes a parametrised tensor at each access.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gradtrace.engine.modes import no_grad
from gradtrace.engine.tensor import Tensor
from gradtrace.nn.modules.container import ModuleDict, ModuleList
from gradtrace.nn.modules.module import Module
from gradtrace.nn.modules.utils import tensor_of
from gradtrace.nn.parameter import Parameter
from gradtrace.nn.utils._targets import put_tensor

__all__ = ["ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations"]

_cache: dict[tuple[int, str], Tensor] | None = None


@contextmanager
def cached() -> Iterator[None]:
    """Compute each parametrised tensor only once inside this context."""
    global _cache
    before, _cache = _cache, {} if _cache is None else _cache
    try:
        yield
    finally:
        _cache = before


class ParametrizationList(ModuleList):
    """The parametrisations of one tensor, and their inputs: `original`, or `original0`, `original1`, ..."""

    def __init__(self, modules: list[Module], original: Tensor, unsafe: bool = False) -> None:
        super().__init__(modules)
        self.unsafe = unsafe
        value: Any = original
        with no_grad():
            for module in reversed(modules):
                if hasattr(module, "right_inverse"):
                    value = module.right_inverse(value)
        self.is_tensor = isinstance(value, Tensor)
        self.ntensors = 1 if self.is_tensor else len(value)
        if self.is_tensor:
            original.data = value.data
            self._register("original", original)
        else:
            for i, part in enumerate(value):
                made = Parameter(part.detach(), original.requires_grad) if isinstance(original, Parameter) else part
                self._register(f"original{i}", made)
        if not unsafe:
            self._check(original)

    def _register(self, name: str, value: Tensor) -> None:
        if isinstance(value, Parameter):
            self.register_parameter(name, value)
        else:
            self.register_buffer(name, value)

    def _check(self, original: Tensor) -> None:
        value = self()
        if not isinstance(value, Tensor):
            raise ValueError(f"A parametrization must return a tensor. Got {type(value).__name__}.")
        for what, before, after in (
            ("dtype", original.dtype, value.dtype),
            ("shape", original.shape, value.shape),
        ):
            if before != after and (self.is_tensor or what == "dtype"):
                raise ValueError(
                    f"Registering a parametrization may not change the {what} of the tensor, unless `unsafe` flag is "
                    f"enabled.\nunparametrized {what}: {before}\nparametrized {what}: {after}"
                )

    def right_inverse(self, value: Any) -> None:
        """Set the originals so that the parametrised tensor becomes `value`."""
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                value = module.right_inverse(value)
            for own, part in zip(self._originals(), (value,) if self.is_tensor else value, strict=True):
                own.data = part.data

    def _originals(self) -> list[Any]:
        names = ["original"] if self.is_tensor else [f"original{i}" for i in range(self.ntensors)]
        return [getattr(self, name) for name in names]

    def forward(self) -> Any:
        first, *others = self
        value = first(*self._originals())
        for module in others:
            value = module(value)
        return value


def value_of(module: Module, name: str) -> Any:
    """Return the value of a parametrised tensor; inside `cached` it is computed only once."""
    parametrizations: Any = module._modules["parametrizations"]
    if _cache is None:
        return parametrizations[name]()
    key = id(module), name
    if key not in _cache:
        _cache[key] = parametrizations[name]()
    return _cache[key]


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Return whether a module has any parametrised tensor, or whether `tensor_name` is one."""
    parametrizations = module._modules.get("parametrizations")
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Replace a parameter or buffer of a module by `parametrization` applied to its original value."""
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        listed: Any = module._modules["parametrizations"]
        found: Any = listed[tensor_name]
        if hasattr(parametrization, "right_inverse"):
            with no_grad():
                found.right_inverse(parametrization.right_inverse(tensor_of(module, tensor_name)))
        found.append(parametrization)
        return module
    original = module._parameters.get(tensor_name, module._buffers.get(tensor_name))
    if original is None:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    made = ParametrizationList([parametrization], original, unsafe)
    module._parameters.pop(tensor_name, None)
    module._buffers.pop(tensor_name, None)
    if "parametrizations" not in module._modules:
        module.parametrizations = ModuleDict()
    parametrizations: Any = module._modules["parametrizations"]
    parametrizations[tensor_name] = made
    return module


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make a tensor an ordinary parameter again, with its computed value if `leave_parametrized`, else the original."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parametrizations: Any = module._modules["parametrizations"]
    found = parametrizations[tensor_name]
    if not leave_parametrized and not found.is_tensor:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a "
            "sequence of tensors."
        )
    original = found._originals()[0]
    if leave_parametrized:
        with no_grad():
            value = value_of(module, tensor_name)
        original = type(original)(value.detach())
    del parametrizations[tensor_name]
    if not parametrizations:
        del module._modules["parametrizations"]
    put_tensor(module, tensor_name, original)
    return module
