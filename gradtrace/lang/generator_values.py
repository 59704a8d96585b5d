"""The generators of programs: the values that functions with `yield` return."""

from __future__ import annotations

from gradtrace.annotations import Any, AnyFunction, Callable, Iterator
from gradtrace.engine.data.observers import Scope
from gradtrace.engine.data.state import state
from gradtrace.lang.budget import Meter
from gradtrace.lang.exceptions import claim
from gradtrace.lang.values import Frozen

TOO_DEEP = "maximum recursion depth exceeded"


class Closing(BaseException):
    """The exception that `close` throws into the Python generators; at the `yield` it becomes GeneratorExit.

    Python would close the inner generator first instead of passing a GeneratorExit on to it.
    """


class Generator(Frozen):
    """A generator of a program. Each resumption counts as a call, in steps and in depth.

    Python runs the `finally` blocks of a generator that is deallocated before its end, and ignores their exceptions. If
    they reach a limit, the meter stores the error and its next check raises it.
    """

    __slots__ = ("__name__", "__qualname__", "__weakref__", "_active", "_depth", "_meter", "_scope", "_steps")

    def __init__(
        self,
        steps: Callable[[Any], Iterator[Any]],
        frame: dict[str, Any],
        name: str,
        qualname: str,
        meter: Meter,
        recording: bool,
    ) -> None:
        self.__name__ = name
        self.__qualname__ = qualname
        self._meter = meter
        self._active = [False]
        self._depth = 1  # as a lazy iterator (lang/iteration.py)
        self._scope = Scope(state.scope, "function", qualname) if recording else None
        self._steps: Any = guarded(steps, frame, self._active, meter)

    def __iter__(self) -> Generator:
        return self

    def __next__(self) -> Any:
        return self._resume(self._steps.send, None)

    def send(self, value: Any) -> Any:
        """Resume the generator; `value` is the result of its `yield`."""
        return self._resume(self._steps.send, value)

    def throw(self, error: Any, value: Any = None, traceback: Any = None) -> Any:
        """Raise an exception at the `yield`."""
        raised = error if value is None else value if isinstance(value, BaseException) else error(value)
        claim(raised)
        return self._resume(self._steps.throw, raised)

    def close(self) -> None:
        """Raise GeneratorExit at the `yield`."""
        try:
            self.throw(Closing())
        except (Closing, GeneratorExit, StopIteration):
            return
        raise RuntimeError("generator ignored GeneratorExit")

    def _resume(self, way: AnyFunction, value: Any) -> Any:
        meter, active = self._meter, self._active
        meter.left -= 1
        if meter.left < 0:
            meter.grant()
        if meter.depth >= meter.deepest:
            raise RecursionError(TOO_DEEP)
        meter.depth += 1
        before, active[0] = active[0], True
        origin, scope = state.origin, state.scope
        if self._scope is not None:
            state.scope = self._scope
        try:
            result = way(value)
            state.origin = origin
            return result
        finally:
            meter.depth -= 1
            active[0] = before
            state.scope = scope

    def __repr__(self) -> str:
        return f"<generator object {self.__qualname__} at {id(self):#x}>"

    def __copy__(self) -> Any:
        raise TypeError("cannot pickle 'generator' object")

    def __deepcopy__(self, memo: Any) -> Any:
        raise TypeError("cannot pickle 'generator' object")


Generator.__name__ = Generator.__qualname__ = "generator"
Generator.__module__ = "builtins"


def guarded(steps: AnyFunction, frame: Any, active: list[bool], meter: Meter) -> Any:
    """Run a generator's body; an exception raised while Python deallocates it goes to the meter, not to stderr."""
    running: Any = steps(frame)
    try:
        signal = yield from running
    except GeneratorExit:
        raise
    except BaseException as error:
        vars(error)["__left_generator__"] = True
        if active[0]:
            raise
        meter.keep(error)
        return None
    return None if signal is None else signal[0]


def as_raised(error: BaseException) -> BaseException:
    """Return the exception that the program raised. A program's generator consists of several Python generators, and
    Python turns a StopIteration that leaves one of them into a RuntimeError.
    """
    cause = error.__cause__
    if type(error) is RuntimeError and isinstance(cause, StopIteration) and "__left_generator__" not in vars(error):
        return cause
    return error
