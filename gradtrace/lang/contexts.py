"""The names of `contextlib` that programs have in another form: for their own generators, and without tracebacks."""

from __future__ import annotations

from gradtrace.annotations import Any, Callable
from gradtrace.errors import GradtraceError
from gradtrace.lang.control import protocol
from gradtrace.lang.exceptions import as_known
from gradtrace.lang.generator_values import Generator
from gradtrace.lang.typing_names import Form
from gradtrace.lang.values import Frozen, in_place_of


class Managed(Frozen):
    """The context manager that a function decorated with `contextmanager` returns."""

    __slots__ = ("_generator", "_make")

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._generator = make()

    def __enter__(self) -> Any:
        try:
            return next(self._generator)
        except StopIteration:
            raise RuntimeError("generator didn't yield") from None

    def __exit__(self, kind: Any, error: Any, _: Any) -> bool:
        if kind is None:
            try:
                next(self._generator)
            except StopIteration:
                return False
            raise RuntimeError("generator didn't stop")
        value = kind() if error is None else error
        try:
            self._generator.throw(value)
        except StopIteration as end:
            return end is not value
        except GradtraceError:
            raise
        except BaseException as raised:
            if raised is value or (isinstance(value, StopIteration) and raised.__cause__ is value):
                return False
            raise
        raise RuntimeError("generator didn't stop after throw()")

    def __call__(self, function: Any) -> Any:
        """Decorate a function: each call runs in a context of its own."""

        def run(args: Any, kwargs: Any) -> Any:
            with Managed(self._make):
                return function(*args, **kwargs)

        return in_place_of(function, run)


def contextmanager(function: Any) -> Any:
    """Return a function that makes context managers from a generator function."""

    def run(args: Any, kwargs: Any) -> Managed:
        def make() -> Any:
            generator = function(*args, **kwargs)
            if type(generator) is not Generator:
                raise TypeError(f"'{type(generator).__name__}' object is not an iterator")
            return generator

        return Managed(make)

    return in_place_of(function, run)


class ExitStack(Frozen):
    """The programs' version of contextlib.ExitStack."""

    __slots__ = ("_leaving",)

    def __init__(self) -> None:
        self._leaving: list[Callable[..., Any]] = []

    def enter_context(self, context: Any) -> Any:
        enter, leave = protocol(context)
        value = enter(context)
        self._leaving.append(lambda *error: leave(context, *error))
        return value

    def callback(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        def call(*_: Any) -> bool:
            function(*args, **kwargs)
            return False

        self._leaving.append(call)
        return function

    def close(self) -> None:
        self.__exit__(None, None, None)

    def __enter__(self) -> ExitStack:
        return self

    def __exit__(self, kind: Any, error: Any, _: Any) -> bool:
        """Leave the contexts in reverse order; one that raises passes its exception to those outside it."""
        first = error
        while self._leaving:
            leave = self._leaving.pop()
            try:
                if leave(kind, error, None):
                    kind = error = None
            except GradtraceError:
                raise
            except Exception as raised:
                error = as_known(raised)
                kind = type(error)
        if error is not None and error is not first:
            raise error
        return first is not None and error is None

    def __repr__(self) -> str:
        return f"<contextlib.ExitStack object at {id(self):#x}>"


def find_names() -> dict[str, Any]:
    """Return the module's names and their values."""
    forms = {name: Form(name, base=True) for name in ("AbstractContextManager", "ContextDecorator")}
    return {"contextmanager": contextmanager, "ExitStack": ExitStack, **forms}
