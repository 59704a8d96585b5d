"""What `inspect.signature` gives a program: the parameters of a function."""

from __future__ import annotations

import inspect
from types import MethodType

from gradtrace.annotations import Any
from gradtrace.engine.data.dtypes import dtype
from gradtrace.lang.library import LibraryFunction
from gradtrace.lang.values import Constant, Frozen, ProgramFunction

PLAIN = frozenset({bool, float, int, str, type(None), dtype})
UNKNOWN = object()  # a default of the library that a program may not have


EMPTY = Constant(inspect.Parameter.empty)
KINDS: dict[Any, Constant] = {
    getattr(inspect.Parameter, name): Constant(getattr(inspect.Parameter, name))
    for name in ["POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD", "VAR_POSITIONAL", "KEYWORD_ONLY", "VAR_KEYWORD"]
}


class Constants(Frozen):
    """The constants of `inspect.Parameter`, the name that a program has for the class."""

    __slots__ = ()
    empty = EMPTY
    POSITIONAL_ONLY, POSITIONAL_OR_KEYWORD, VAR_POSITIONAL, KEYWORD_ONLY, VAR_KEYWORD = KINDS.values()

    def __repr__(self) -> str:
        return "<class 'inspect.Parameter'>"


class Parameter(Constants):
    """A parameter of a function. Its default is the program's own, or one of the library's that is a plain value."""

    __slots__ = ("_default", "kind", "name")

    def __init__(self, real: inspect.Parameter, own: bool) -> None:
        self.name, self.kind = real.name, KINDS[real.kind]
        value = real.default
        plain = type(value) in PLAIN or (type(value) is tuple and PLAIN.issuperset(map(type, value)))
        self._default = EMPTY if value is real.empty else value if own or plain else UNKNOWN

    @property
    def default(self) -> Any:
        """The default value, or Parameter.empty. TypeError for an object of the library."""
        if self._default is UNKNOWN:
            raise TypeError(f"the default of '{self.name}' is an object that programs do not have")
        return self._default

    def __repr__(self) -> str:
        return f"<Parameter {self.name}>"


class ProgramSignature(Frozen):
    """The result of inspect.signature: the parameters of a function by name."""

    __slots__ = ("parameters",)

    def __init__(self, parameters: dict[str, Parameter]) -> None:
        self.parameters = parameters


def signature_of(called: Any) -> ProgramSignature:
    """Return the signature of a function, method or class, or of the function that it wraps, as functools.wraps says.

    TypeError for any other object, ValueError for functions that wrap each other.
    """
    function, objects, seen = called, 0, set()
    while True:
        if id(function) in seen:
            raise ValueError(f"wrapper loop when unwrapping {function!r}")
        if type(function) is ProgramFunction and "__wrapped__" in vars(function):
            seen.add(id(function))
            function = vars(function)["__wrapped__"]
        elif type(function) is MethodType:
            objects += 1
            function = function.__func__
        else:
            break
    if type(function) not in (ProgramFunction, LibraryFunction) and not isinstance(function, type):
        raise TypeError(f"a '{type(function).__name__}' is not a callable object that has a signature here")
    found = [*inspect.signature(function).parameters.values()]
    for _ in range(objects):
        if found and found[0].kind is not inspect.Parameter.VAR_POSITIONAL:
            del found[0]
    made: Any = function
    if isinstance(made, type) and vars(object)["__new__"] is made.__new__:
        made = made.__init__  # type: ignore[misc]
    return ProgramSignature({one.name: Parameter(one, type(made) is ProgramFunction) for one in found})
