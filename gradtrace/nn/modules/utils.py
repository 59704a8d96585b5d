"""What several families of layers share: layers that only call a function, repeated sizes, new
parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Any

from gradtrace import ops
from gradtrace.engine.data.tensor import Tensor
from gradtrace.lazy_names import words
from gradtrace.nn import functional as F
from gradtrace.nn.modules._text import typename
from gradtrace.nn.modules.module import Module
from gradtrace.nn.parameter import Parameter


class FunctionModule(Module):
    """A layer that calls a function of `nn.functional`, said in the head of its class.

        class Softplus(FunctionModule, function="softplus", passes="beta threshold")

    The function gets the input, then the attributes that `passes` names. They are also the
    arguments of `__init__` and what the layer's text shows, unless `shows` names others. The
    function is looked up when it is called, so that its family of operators is imported only then.
    """

    _function = ""
    _passes: tuple[str, ...] = ()
    _fields: tuple[str, ...] = ()
    _shows: tuple[str, ...] = ()

    def __init_subclass__(
        cls, function: str = "", passes: str = "", shows: str = "", **keywords: Any
    ) -> None:
        super().__init_subclass__(**keywords)
        cls._function = function or cls._function
        if passes:
            cls._passes = words(passes)
            cls._fields = cls._shows = tuple(name for name in cls._passes if name != "training")
        cls._shows = words(shows) or cls._shows
        if function and cls._passes:
            cls.forward = _forward(function, cls._passes)

    def __init__(self, *values: Any) -> None:
        super().__init__()
        for name, value in zip(self._fields, values):
            if name.startswith("__"):
                raise AttributeError(f"'{name}' is not a field of a layer")
            setattr(self, name, value)

    def extra_repr(self) -> str:
        return attributes(self, *self._shows)


def _forward(name: str, passed: tuple[str, ...]) -> Callable[[Any, Tensor], Tensor]:
    """Return the method that calls the function NAME of nn.functional on the input and the
    attributes in `passed`.
    """
    values = attrgetter(*passed)
    call: Any = lambda self, input: getattr(F, name)(input, *values(self))
    if len(passed) == 1:
        call = lambda self, input: getattr(F, name)(input, values(self))
    call.__name__ = call.__qualname__ = "forward"
    call.__annotations__ = {
        "input": "Tensor",
        "return": "Any" if "return_indices" in passed else "Tensor",
    }
    return call


def repeated(value: Any, n: int) -> tuple[Any, ...]:
    """Return a tuple: a number repeated n times, or the items of an iterable."""
    return tuple(value) if isinstance(value, Iterable) else (value,) * n


def _ntuple(n: int) -> Any:
    """Return the function that repeats a number n times, under PyTorch's private name, which
    scripts import.
    """
    return lambda value: repeated(value, n)


_single, _pair, _triple, _quadruple = (_ntuple(n) for n in (1, 2, 3, 4))


def new_parameter(shape: Any, device: Any, dtype: Any, requires_grad: bool = True) -> Parameter:
    """Create an uninitialised parameter."""
    return Parameter(function("empty")(shape, device=device, dtype=dtype), requires_grad)


def add_parameter(module: Module, name: str, shape: Any, device: Any, dtype: Any) -> None:
    """Register a new parameter of the given shape, or None for the shape None."""
    if shape is None:
        module.register_parameter(name, None)
    else:
        setattr(module, name, new_parameter(shape, device, dtype))


def tensor_of(module: Any, name: str) -> Any:
    """Return the tensor `module.name`. TypeError for any other attribute, which a program may not
    get by its name.
    """
    if not isinstance(module, Module):
        raise TypeError(f"{typename(module)} is not a Module")
    value = getattr(module, name)
    if not isinstance(value, Tensor):
        raise TypeError(f"'{name}' of {typename(module)} must be a Tensor, not {typename(value)}")
    return value


def store(module: Module, values: Mapping[str, Any], names: str) -> None:
    """Set attributes of a new layer: of `values`, the local variables of its `__init__`, those with
    these names.
    """
    for name in words(names):
        setattr(module, name, values[name])


def attributes(module: Module, *names: str) -> str:
    """Return "name=value, ..." for extra_repr."""
    return ", ".join(f"{name}={getattr(module, name)}" for name in names)


def unusual(module: Module, **usual: Any) -> str:
    """Return ", name=value" for each attribute that differs from its usual value, for
    extra_repr.
    """
    shown = ((name, getattr(module, name)) for name in usual)
    return "".join(f", {name}={value}" for name, value in shown if value != usual[name])


def function_of(layer: Any) -> Any:
    """Return the function of nn.functional that a layer calls; raise TypeError if its class names
    anything else.
    """
    function = ops.find(ops.api.functional, layer._function)
    if function is None:
        raise TypeError(
            f"{typename(layer)} calls '{layer._function}', which is not a function of "
            "torch.nn.functional"
        )
    return function


def function(name: str) -> Any:
    """Return the public function `torch.NAME`, importing its family if necessary."""
    return ops.find(ops.api.functions, name)
