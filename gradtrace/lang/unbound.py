"""What a program gets when it reads a method from a class of the library: `nn.Linear.forward`, `StepLR.step`."""

from __future__ import annotations

from types import BuiltinFunctionType, FunctionType, MethodType

from gradtrace.annotations import Any
from gradtrace.lang.library import OWNER
from gradtrace.lang.values import Frozen

# Descriptors that check the object which they get.
CHECKING = (
    BuiltinFunctionType,
    MethodType,
    type(str.upper),
    type(object.__init__),
    type(vars(dict)["fromkeys"]),
    type(FunctionType.__code__),
    type(FunctionType.__globals__),
)
_checked: dict[tuple[type, FunctionType], Any] = {}


class Descriptor(Frozen):
    """Placeholder for a property of a class of the library; its functions would accept any object."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<property object>"


DESCRIPTOR = Descriptor()


def from_class(owner: type | None, name: str, value: Any) -> Any:
    """Return the attribute `name` of the library's class `owner`, so that it works on instances of this class only."""
    if owner is None or isinstance(vars(owner).get(name), staticmethod):
        return value
    if type(value) is FunctionType:
        return checked(owner, value)
    if isinstance(value, CHECKING) or not hasattr(type(value), "__get__"):
        return value
    return DESCRIPTOR


def checked(owner: type, function: FunctionType) -> Any:
    """Return a function that calls `function` if its first argument is an instance of `owner`."""
    known = _checked.get((owner, function))
    if known is not None:
        return known

    def call(*args: Any, **kwargs: Any) -> Any:
        if not args:
            raise TypeError(f"unbound method {owner.__name__}.{function.__name__}() needs an argument")
        if owner not in type(args[0]).__mro__:
            raise TypeError(
                f"descriptor '{function.__name__}' for '{owner.__name__}' objects doesn't apply to a "
                f"'{type(args[0]).__name__}' object"
            )
        return function(*args, **kwargs)

    for name in ("__name__", "__qualname__", "__doc__", "__module__"):
        setattr(call, name, getattr(function, name))
    call.__wrapped__ = function  # type: ignore[attr-defined]
    vars(call)[OWNER] = owner
    _checked[owner, function] = call
    return call
