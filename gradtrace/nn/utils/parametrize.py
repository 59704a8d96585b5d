"""torch.nn.utils.parametrize: replace a tensor of a module by a function of other, trained
parameters.

https://pytorch.org/docs/stable/generated/torch.nn.utils.parametrize.register_parametrization.html.
A module keeps its class; `Module.__getattr__` computes a parametrised tensor at each access.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from gradtrace.engine.data.modes import no_grad
from gradtrace.engine.data.tensor import Tensor
from gradtrace.nn.modules._text import typename
from gradtrace.nn.modules.container import ModuleDict, ModuleList
from gradtrace.nn.modules.module import Module
from gradtrace.nn.modules.utils import tensor_of
from gradtrace.nn.parameter import Parameter

__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
    "transfer_parametrizations_and_params", "type_before_parametrizations",
]  # fmt: skip

CHANGED = (
    "Registering a parametrization may not change the {} of the tensor, unless {} flag is enabled."
)

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
    """The parametrisations of one tensor, and their inputs: `original`, or `original0`,
    `original1`, ...
    """

    def __init__(self, modules: list[Module], original: Tensor, unsafe: bool = False) -> None:
        super().__init__(modules)
        check_tensor(original)
        self.unsafe = unsafe
        value: Any = original
        with no_grad():
            for module in reversed(modules):
                if hasattr(module, "right_inverse"):
                    value = module.right_inverse(value)
        wanted = (
            "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got "
        )
        if not isinstance(value, (Tensor, Sequence)):
            raise ValueError(wanted + type(value).__name__)
        self.is_tensor = isinstance(value, Tensor)
        self.ntensors = 1 if self.is_tensor else len(value)
        for i, part in enumerate(() if self.is_tensor else value):
            if not isinstance(part, Tensor):
                raise ValueError(
                    f"{wanted}element {i} of the sequence with type {type(part).__name__}."
                )
        shape = original.shape
        dtype = original.dtype
        if isinstance(value, Tensor):
            if value.dtype is not dtype:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                    f"original.dtype: {dtype}\nright_inverse(original).dtype: {value.dtype}"
                )
            original.data = value.data
            self._register("original", original)
        else:
            for i, part in enumerate(value):
                tensor = (
                    Parameter(part.detach(), original.requires_grad)
                    if isinstance(original, Parameter)
                    else part
                )
                self._register(f"original{i}", tensor)
        if not unsafe:
            changed = CHANGED.format("{0}", "`unsafe`")
            _check(
                self(), shape, dtype, changed, "\nunparametrized {0}: {1}\nparametrized {0}: {2}"
            )

    def _register(self, name: str, value: Tensor) -> None:
        if isinstance(value, Parameter):
            self.register_parameter(name, value)
        else:
            self.register_buffer(name, value)

    def right_inverse(self, value: Any) -> None:
        """Set the originals so that the parametrised tensor becomes `value`."""
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(module).__name__} does not implement right_inverse."
                    )
                value = module.right_inverse(value)
            for own, part in zip(
                self._originals(), (value,) if self.is_tensor else value, strict=True
            ):
                own.data = check_tensor(part).data

    def _names(self) -> list[str]:
        return ["original"] if self.is_tensor else [f"original{i}" for i in range(self.ntensors)]

    def _originals(self) -> list[Any]:
        return [tensor_of(self, name) for name in self._names()]

    def forward(self) -> Any:
        first, *others = self
        value = first(*self._originals())
        for module in others:
            value = module(value)
        return value


def list_of(module: Any, name: str) -> ParametrizationList:
    """Return the parametrisations of a tensor; raise TypeError if the module's tables hold anything
    else there.
    """
    listed = vars(module)["_modules"]["parametrizations"] if isinstance(module, Module) else None
    parametrization_list = listed._modules[name] if type(listed) is ModuleDict else None
    if type(parametrization_list) is not ParametrizationList:
        raise TypeError(f"'{name}' of {type(module).__name__} must have a ParametrizationList")
    return parametrization_list


def _check(
    value: Any, shape: Any, dtype: Any, changed: str, both: str, what: str = "A parametrization"
) -> None:
    """Raise ValueError unless `value` is a tensor of this shape and dtype."""
    if not isinstance(value, Tensor):
        raise ValueError(f"{what} must return a tensor. Got {type(value).__name__}.")
    for kind, before, after in (("dtype", dtype, value.dtype), ("shape", shape, value.shape)):
        if before != after:
            raise ValueError((changed + both).format(kind, before, after))


def _check_added(parametrization: Any, tensor: Tensor, name: str) -> None:
    """Raise ValueError unless a further parametrisation, and its right inverse, keep the tensor's
    shape and dtype.
    """
    added = parametrization(tensor)
    shape = tensor.shape
    dtype = tensor.dtype
    both = f"\nmodule.{name}.{{0}}: {{1}}\nparametrization(module.{name}).{{0}}: {{2}}"
    _check(added, shape, dtype, CHANGED.format("{0}", "the `unsafe`"), both)
    if hasattr(parametrization, "right_inverse"):
        _check(
            parametrization.right_inverse(added),
            shape,
            dtype,
            "The tensor returned by parametrization.right_inverse must have the same {0} as "
            f"module.{name}, unless the `unsafe` flag is enabled.",
            f"\nmodule.{name}.{{0}}: {{1}}\nreturned {{0}}: {{2}}",
            "parametrization.right_inverse",
        )


def value_of(module: Module, name: str) -> Any:
    """Return the value of a parametrised tensor; inside `cached` it is computed only once."""
    parametrization_list = list_of(module, name)
    if _cache is None:
        return parametrization_list()
    key = id(module), name
    if key not in _cache:
        _cache[key] = parametrization_list()
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
    """Replace a parameter or buffer of a module by `parametrization` applied to its original
    value.
    """
    if not isinstance(module, Module):
        raise TypeError(f"{typename(module)} is not a Module")
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        parametrization_list = list_of(module, tensor_name)
        if not unsafe:
            _check_added(parametrization, tensor_of(module, tensor_name), tensor_name)
        parametrization_list.append(parametrization)
        parametrization_list.unsafe |= unsafe
        return module
    original = module._parameters.get(tensor_name, module._buffers.get(tensor_name))
    if original is None:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element "
            f"with name '{tensor_name}'"
        )
    new_list = ParametrizationList([parametrization], original, unsafe)
    module._parameters.pop(tensor_name, None)
    module._buffers.pop(tensor_name, None)
    if "parametrizations" not in module._modules:
        module.parametrizations = ModuleDict()
    parametrizations: Any = module._modules["parametrizations"]
    parametrizations[tensor_name] = new_list
    return module


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    """Make a tensor an ordinary parameter again, with its computed value if `leave_parametrized`,
    else the original.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parametrizations: Any = module._modules["parametrizations"]
    parametrization_list = list_of(module, tensor_name)
    if not leave_parametrized and not parametrization_list.is_tensor:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is "
            "parametrized in terms of a sequence of tensors."
        )
    original = parametrization_list._originals()[0]
    if leave_parametrized:
        with no_grad():
            value = check_tensor(value_of(module, tensor_name))
        if parametrization_list.is_tensor:
            original.data = value.detach()
        else:
            trained = any(tensor.requires_grad for tensor in parametrization_list._originals())
            original = Parameter(value.detach()) if trained else value.detach()
    del parametrizations[tensor_name]
    if not parametrizations:
        del module._modules["parametrizations"]
    if isinstance(original, Parameter):
        put_tensor(module, tensor_name, original)
    else:
        module.register_buffer(tensor_name, original)
    return module


def type_before_parametrizations(module: Module) -> type:
    """Return the module's class, which parametrisations do not change."""
    return type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Give `to_module` the parametrisations of one or all tensors of `from_module`, and the same
    originals.

    Raises TypeError where the tables of a module hold anything but parametrisations and tensors.
    """
    listed: Any = from_module._modules["parametrizations"] if is_parametrized(from_module) else ()
    if listed and tensor_name is not None:
        listed = [tensor_name]
    for name in list(listed):
        parametrization_list = list_of(from_module, name)
        if not hasattr(to_module, name):
            put_tensor(to_module, name, Parameter(tensor_of(from_module, name).detach()))
        for parametrization in list(parametrization_list):
            register_parametrization(to_module, name, parametrization)
        target = list_of(to_module, name)
        for own, original in zip(parametrization_list._names(), parametrization_list._originals()):
            target._parameters.pop(own, None)
            target._buffers.pop(own, None)
            target._register(own, original)
    return to_module


def put_tensor(module: Any, name: str, tensor: Any) -> None:
    """Set `module.name`; raise TypeError unless `module` is a Module and `tensor` a Tensor."""
    if not isinstance(module, Module):
        raise TypeError(f"{typename(module)} is not a Module")
    if not isinstance(tensor, Tensor):
        raise TypeError(f"'{name}' of a module must be a Tensor, not {typename(tensor)}")
    setattr(module, name, tensor)


def hook_of(module: Module, name: str, kind: type, field: str = "name") -> tuple[Any, Any]:
    """Return the key and the forward pre-hook of a class for a parameter, whose name the hook has
    in `field`.
    """
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, kind) and getattr(hook, field, None) == name:
            return key, hook
    return None, None


def check_tensor(value: Any) -> Tensor:
    """Return a tensor; raise TypeError for any other value, which the tables of a module may hold
    in place of one.
    """
    if not isinstance(value, Tensor):
        raise TypeError(f"a value of a module's parameter must be a Tensor, not {typename(value)}")
    return value
