"""The wall between a program's objects and the library: what a function of the library takes from a program.

A function that is not the program's own gets plain values only (numbers, strings, tensors, the library's own objects,
and lists, tuples and dicts of these), unless `takers` declares that it takes objects. The check goes by exact type and
asks an object nothing, because the program would answer.

    torch.xlogy(x, value)         checked by the compiler of calls (`calls.py`)
    map(torch.xlogy, xs, values)  a program has `torch.xlogy` as a LibraryFunction, which checks its arguments

`admitted` refuses an argument; where PyTorch's own function would refuse it, the error is PyTorch's (`refusals.py`).
"""

from __future__ import annotations

from types import BuiltinFunctionType, FunctionType, MethodType

from gradtrace.annotations import Any, Callable
from gradtrace.engine.data.node import Node
from gradtrace.engine.data.state import state
from gradtrace.engine.data.tensor import Tensor
from gradtrace.lang import takers, values
from gradtrace.lang.exceptions import is_own
from gradtrace.lang.known_classes import ByClass, class_at, is_defined_in
from gradtrace.lang.objects import ProgramObject
from gradtrace.lang.values import ProgramFunction, Sealed, StandInRefused
from gradtrace.lang.words import Names
from gradtrace.ops.results import Result

# The types whose values pass as they are. The library's own are added when they are first seen.
PLAIN: set[type] = {Tensor, float, int, bool, str, range, type(None), type(...), type(NotImplemented)}
# The library's classes that have another module or name for programs, and classes from which it derives some.
RENAMED = ByClass(
    {f"gradtrace.lang.{place}": True for place in ("figures:Drawn", "figures:Grid", "numpy_module:Source")}
)
DERIVED = (Tensor, Node, Result)
PARTS = frozenset({list, tuple, set, frozenset})
VIEWS = frozenset({type({}.keys()), type({}.values()), type({}.items())})
# What stands for an object of a class that a program derives from one of these: an enumeration, a named tuple.
EXACT: dict[type, Callable[[Any], Any]] = {
    str: str.__str__,
    int: int.__int__,
    float: float.__float__,
    tuple: lambda value: tuple(tuple.__iter__(value)),
}
FUNCTIONS = frozenset({FunctionType, MethodType})
OWNER = "_owner"  # of a method read from its class: the class
CALLABLE_TYPES = frozenset({ProgramFunction, FunctionType, MethodType, BuiltinFunctionType})
Arguments = tuple[Any, Names]


class ObjectRefused(TypeError):
    """Raised for an argument that a function of the library does not take."""

    def __init__(self, kind: type, where: str = "") -> None:
        self.kind = kind  # of the object
        self.before_call = bool(where)  # else it is an item of an iterator, which the function has taken
        super().__init__(f"{where}must be a tensor, a number, a string or a container of these, not {kind.__name__}")


def refuse(kind: type) -> Any:
    raise ObjectRefused(kind)


def stand_in(kind: type) -> Any:
    """Return an object that answers nothing, whose class has the name of another."""
    return type(kind.__name__, (), {"__slots__": ()})()


def admit(value: Any, callables: bool = False, otherwise: Callable[[type], Any] = refuse) -> Any:
    """Return a value, or a plain copy of it, that the library may have, and for an object `otherwise(its type)`.

    With `callables`, functions and callable objects pass, and those of a class that derives from one of the library.
    """
    kind = type(value)
    if kind in PLAIN:
        return value
    if kind in PARTS:
        return value if PLAIN.issuperset(map(type, value)) else admit_items(value, kind, callables, otherwise)
    if issubclass(kind, dict):
        return admit_mapping(value, callables, otherwise)
    if callables and (kind in CALLABLE_TYPES or is_callable(kind) or issubclass(kind, type)):
        return value
    if is_own(kind):
        base = next((base for base in EXACT if issubclass(kind, base)), None)
        return otherwise(kind) if base is None else admit(EXACT[base](value), False, otherwise)
    if hasattr(kind, "__next__"):
        return (admit(item, callables) for item in value)
    if kind in VIEWS or kind is class_at("collections:deque"):
        return [admit(item, callables, otherwise) for item in value]
    if kind is slice:
        return slice(*[admit(part, False, otherwise) for part in (value.start, value.stop, value.step)])
    if is_library(kind):
        PLAIN.add(kind)
        return value
    return value if issubclass(kind, type) and not is_own(value) else otherwise(kind)


def admit_items(values: Any, kind: Any, callables: bool, otherwise: Callable[[type], Any]) -> Any:
    if state.spend is not None:
        state.spend(len(values) + 1)  # nested lists may be the same list many times
    items = [admit(item, callables, otherwise) for item in values]
    return kind(items) if any(map(differ, items, values)) else values


def admit_mapping(mapping: Any, callables: bool, otherwise: Callable[[type], Any]) -> Any:
    keys, values = [*mapping], [*mapping.values()]
    new = [admit_items(parts, list, callables, otherwise) for parts in (keys, values)]
    return mapping if new[0] is keys and new[1] is values else dict(zip(*new))


def differ(a: Any, b: Any) -> bool:
    return a is not b


def is_callable(kind: type) -> bool:
    """Whether a class has `__call__`, or derives from one of the library."""
    return any("__call__" in vars(base) or is_library(base) for base in kind.__mro__)


def is_library(kind: type) -> bool:
    """Whether a class is the library's, and its objects are not a program's."""
    if issubclass(kind, (ProgramObject, ProgramFunction)):
        return False
    return issubclass(kind, DERIVED) or bool(RENAMED.get(kind)) or is_defined_in(kind, ("gradtrace.",))


def all_plain(values: Any) -> bool:
    """Whether all values pass as they are: the fast path of `admit`."""
    for value in values:
        kind = type(value)
        if kind not in PLAIN and not ((kind is tuple or kind is list) and PLAIN.issuperset(map(type, value))):
            return False
    return True


def admitted(function: Any, args: Any, kwargs: Names) -> Arguments:
    """Return the arguments of a call as the function may have them; raise TypeError if it does not take one."""
    inner = function.__func__ if type(function) is MethodType else function
    if type(inner) is FunctionType and takers.place_of(inner)[0] in takers.known_modules:
        if not takers.calls_arguments(inner):
            return args, kwargs
    elif all_plain(args) and (not kwargs or all_plain(kwargs.values())):
        return args, kwargs
    given = own_object(function, args)
    taken = takers.taken_by_layer(given[0]) if given and takers.calls_layer(function) else takers.taken_by(function)
    if taken is takers.ANY:
        if not takers.calls_arguments(inner):
            return args, kwargs
        return [*map(callback, args)], {name: callback(value) for name, value in kwargs.items()}
    callables = taken is takers.CALLABLES
    places = [*range(1, len(args) + 1), *map(repr, kwargs)]
    try:
        for value in (*args[len(given) :], *kwargs.values()):
            given.append(admit(value, callables))
    except ObjectRefused as error:
        raise ObjectRefused(error.kind, f"{takers.name_of(function)}(): argument {places[len(given)]} ") from None
    return given[: len(args)], dict(zip(kwargs, given[len(args) :]))


def own_object(function: Any, args: Any) -> list[Any]:
    """Return the first argument if it is the object of a method read from its class: nn.Module.__init__(self)."""
    if type(function) is not FunctionType or not args:
        return []
    owner = takers.calls_layer(function) or vars(function).get(OWNER)
    return list(args[:1]) if owner in type(args[0]).__mro__ else []


ObjectRefused.__name__, ObjectRefused.__module__ = "TypeError", "builtins"


def raise_its_own(function: Any, args: Any, kwargs: Names) -> None:
    """Raise what a function raises for arguments that it does not take, if it does: it gets stand-ins for objects.

    The program's code never gets a stand-in: the function ends where it would call that.
    """
    callables = takers.taken_by(function) is takers.CALLABLES
    given = own_object(function, args)
    given += [admit(value, callables, stand_in) for value in args[len(given) :]]
    named = {name: admit(value, callables, stand_in) for name, value in kwargs.items()}
    values.stand_ins_given = True
    try:
        function(*given, **named)
    except StandInRefused:
        pass
    finally:
        values.stand_ins_given = False


class LibraryFunction(Sealed):
    """A function of the library as a program has it: it checks its arguments wherever it is called."""

    __slots__ = ("__dict__", "__weakref__", "__wrapped__")
    __wrapped__: Any

    def __init__(self, function: Any) -> None:
        object.__setattr__(self, "__wrapped__", function)
        for name in ("__name__", "__qualname__", "__doc__", "__module__"):
            self.__dict__[name] = getattr(function, name, None)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        function = self.__wrapped__
        try:
            given, named = admitted(function, args, kwargs)
        except ObjectRefused:
            from gradtrace.program.refusals import signature_mismatch

            message = signature_mismatch(function, "", args, kwargs)
            if message:
                raise TypeError(message) from None
            raise_its_own(function, args, kwargs)
            raise
        return function(*given, **named)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return repr(self.__wrapped__)


LibraryFunction.__name__ = LibraryFunction.__qualname__ = "function"


def callback(value: Any) -> Any:
    """Return a value for a function of Python that calls it: a class or a layer of the library checks its arguments."""
    kind = type(value)
    if kind is LibraryFunction or kind in takers.DATA or is_own(kind) or kind is ProgramFunction or not callable(value):
        return value
    return value if takers.taken_by(value) is takers.ANY else LibraryFunction(value)


def for_program(function: Any) -> Any:
    """Return a function or bound method of the library as a program has it."""
    if type(function) is MethodType:
        inner = for_program(function.__func__)
        return function if inner is function.__func__ else MethodType(inner, function.__self__)
    if type(function) is not FunctionType or takers.taken_by(function) is takers.ANY:
        return function
    known = vars(function).get("_for_program")
    if known is None or known.__wrapped__ is not function:  # functools.wraps copies attributes
        known = vars(function)["_for_program"] = LibraryFunction(function)
    return known
