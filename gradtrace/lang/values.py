"""Types of values that exist only in programs: their functions, and frozen objects of the library."""

from __future__ import annotations

from _operator import attrgetter  # operator takes 0.4 ms to import
from types import MethodType

from gradtrace.annotations import Any, AnyFunction, Callable, Iterator
from gradtrace.engine.data.state import state
from gradtrace.lang.objects import Fixed, ProgramObject


class Frozen:
    """Base class of library objects that programs cannot modify."""

    __slots__ = ()

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __reduce__(self) -> Any:
        raise TypeError(f"cannot pickle '{type(self).__name__}' object")


class Constant(Frozen):
    """A constant or class of a module of Python that a program compares, prints and passes on, but cannot call."""

    __slots__ = ("_real",)

    def __init__(self, real: Any) -> None:
        self._real = real

    def __str__(self) -> str:
        return str(self._real)

    def __repr__(self) -> str:
        return repr(self._real)


class Sealed(Frozen):
    """Base class of frozen objects that no code can change: what `self` holds is set by `object.__setattr__`."""

    __slots__ = ()

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"'{type(self).__name__}' object attribute '{name}' is read-only")

    def __delattr__(self, name: str) -> None:
        self.__setattr__(name, None)


def named(function: AnyFunction, name: str, owner: str = "") -> AnyFunction:
    """Set a function's name, which messages show after that of its `owner` ("Match."), and return the function."""
    function.__name__, function.__qualname__ = name, owner + name
    return function


def attributes_of(field: str, names: str) -> Iterator[Any]:
    """Yield a property for each name, which reads this attribute of the object in a field."""
    return (property(attrgetter(f"{field}.{name}")) for name in names.split())


# Types whose attributes are constant after the first read.
FIXED: set[type] = set()


class Flags(Frozen):
    """Base class of frozen objects; programs may set the attributes in `_flags` and read private ones in `_listed`."""

    __slots__ = ()
    _flags: frozenset[str] = frozenset()
    _listed: frozenset[str] = frozenset()


class StandInRefused(TypeError):
    """Raised instead of running the program's code while a function of the library has stand-ins for its objects."""


stand_ins_given = False  # set by `library.raise_its_own`


class ProgramFunction:
    """A function of a program. `_call(args, kwargs)` is its compiled form; programs may set attributes."""

    __slots__ = ("__dict__", "__weakref__", "_call")

    __module__ = "__main__"

    def __init__(self, name: str, qualname: str, doc: str | None, run: Callable[[Any, Any], Any]) -> None:
        self._call = run
        self.__name__ = name
        self.__qualname__ = qualname
        self.__doc__ = doc

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call from the library: a hook, a key, a forward. The origin is restored, as the library continues."""
        if stand_ins_given:
            raise StandInRefused
        origin = state.origin
        result = self._call(args, kwargs)
        state.origin = origin
        return result

    @property
    def __signature__(self) -> Any:
        """The result of `inspect.signature`."""
        return self._call.signature()  # type: ignore[attr-defined]

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<function {self.__qualname__} at {id(self):#x}>"

    def __copy__(self) -> ProgramFunction:
        return self

    def __deepcopy__(self, memo: Any) -> ProgramFunction:
        return self

    def __reduce__(self) -> Any:
        raise TypeError("cannot pickle 'function' object")


ProgramFunction.__name__ = ProgramFunction.__qualname__ = "function"


def in_place_of(function: Any, run: Callable[[Any, Any], Any], name: str = "") -> ProgramFunction:
    """Return a function of the program with the name of another, in whose place it stands."""
    name = name or getattr(function, "__name__", "function")
    return ProgramFunction(name, getattr(function, "__qualname__", name), getattr(function, "__doc__", None), run)


class TypeName(Sealed):
    """Placeholder for a class that programs may name and compare, but not call."""

    __slots__ = ("_kind",)
    _kind: Any

    def __init__(self, kind: type) -> None:
        object.__setattr__(self, "_kind", kind)

    def __repr__(self) -> str:
        kind = self._kind
        home = f"{kind.__module__}." if kind.__module__ in ("numpy", "torch.return_types") else ""
        return f"<class '{home}{kind.__name__}'>"

    def __getitem__(self, arguments: Any) -> TypeName:
        return self  # a type hint: Callable[[int], float]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"cannot create '{self._kind.__name__}' instances")


class Attributes(ProgramObject):
    """Base class of objects that only hold attributes: `argparse.Namespace`, `types.SimpleNamespace`."""

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{key}={value!r}' for key, value in self.__dict__.items())})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]

    def __contains__(self, key: object) -> bool:
        return key in self.__dict__

    @Fixed
    def __reduce__(self) -> Any:
        raise TypeError(f"cannot pickle '{type(self).__name__}' object")

    @Fixed
    def __copy__(self) -> Any:
        return type(self)(**self.__dict__)

    @Fixed
    def __deepcopy__(self, memo: Any) -> Any:
        from copy import deepcopy

        return type(self)(**{key: deepcopy(value, memo) for key, value in self.__dict__.items()})
