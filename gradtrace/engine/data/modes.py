"""Grad modes as context managers and decorators: no_grad, enable_grad, set_grad_enabled,
inference_mode.

As in PyTorch they restore the previous mode, also when the block raises; as decorators they apply
to each call (https://pytorch.org/docs/stable/generated/torch.no_grad.html).
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any, Callable, TypeVar
from gradtrace.engine.data.state import state, using

if TYPE_CHECKING:
    from collections.abc import Generator

F = TypeVar("F", bound="Callable[..., Any]")
ANOMALY_WARNING = (
    "Anomaly Detection has been enabled. This mode will increase the runtime and "
    "should only be enabled for debugging."
)
CLASS_WARNING = (
    "Decorating classes is deprecated and will be disabled in future versions. You should only "
    "decorate functions or methods. To preserve the current behavior of class decoration, you can "
    "directly decorate the `__init__` method and nothing else."
)
GENERATOR = 0x20  # inspect.CO_GENERATOR: the flag of a generator function's code


def put_mode(grad_enabled: bool, inference: bool) -> None:
    """Set `state.grad_enabled` and `state.inference`."""
    state.grad_enabled = grad_enabled
    if state.inference is not inference:
        state.set(inference=inference)


class _Wrapped:
    """A function that runs under a mode. It has the name and docstring of the wrapped function."""

    def __init__(self, function: Callable[..., Any], mode: _Mode) -> None:
        self._function = function
        self._mode = mode
        self.__name__ = getattr(function, "__name__", type(function).__name__)
        self.__doc__ = getattr(function, "__doc__", None)
        self.__wrapped__ = function

    def __call__(self, *args: object, **kwargs: object) -> Any:
        code = getattr(self._function, "__code__", None)
        if code is not None and code.co_flags & GENERATOR:
            return _steps(self._mode, self._function(*args, **kwargs))
        with self._mode.clone():
            return self._function(*args, **kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> _Wrapped:
        if instance is None:
            return self
        bound = self._function.__get__(instance, owner)
        return _Wrapped(bound, self._mode)


def _steps(mode: _Mode, generator: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    """Run each step of a generator in the mode; between the steps the caller's holds."""
    try:
        with mode.clone():
            response = next(generator)
        while True:
            try:
                request = yield response
            except GeneratorExit:
                with mode.clone():
                    generator.close()
                raise
            except BaseException as error:
                with mode.clone():
                    response = generator.throw(error)
            else:
                with mode.clone():
                    response = generator.send(request)
    except StopIteration as end:
        return end.value


class _Mode:
    """Set (grad_enabled, inference) on entry and restore the previous values on exit."""

    def __init__(self) -> None:
        self._previous: list[tuple[bool, bool]] = []

    def _values(self) -> tuple[bool, bool]:
        raise NotImplementedError

    def clone(self) -> _Mode:
        return type(self)()

    def __call__(self, function: F) -> F:
        return decorated(function, self)

    def __enter__(self) -> None:
        self._previous.append((state.grad_enabled, state.inference))
        put_mode(*self._values())

    def __exit__(self, *exc: object) -> None:
        put_mode(*self._previous.pop())

    def __repr__(self) -> str:
        return f"<torch.autograd.grad_mode.{type(self).__name__} object at {id(self):#x}>"


def decorated(function: F, mode: _Mode) -> F:
    """Return a function that runs under a mode. Of a class, instances are made under it, which is
    deprecated.
    """
    if isinstance(function, type):
        import warnings

        warnings.warn(CLASS_WARNING, FutureWarning, stacklevel=3)
    return _Wrapped(function, mode)  # type: ignore[return-value]


class _Bare(type):
    """A metaclass for `@no_grad` without parentheses: a class called with a function decorates
    it.
    """

    def __call__(cls, *args: object, **kwargs: object) -> Any:
        if len(args) == 1 and not kwargs and callable(args[0]) and not isinstance(args[0], bool):
            return decorated(args[0], super().__call__())
        if callable(kwargs.get("mode")):
            return _Wrapped(kwargs["mode"], super().__call__())  # type: ignore[arg-type]  # it is callable
        if len(args) > 1:
            raise TypeError(
                "_NoParamDecoratorContextManager.__new__() takes from 1 to 2 positional arguments "
                f"but {len(args) + 1} were given"
            )
        return super().__call__(*args, **kwargs)


class no_grad(_Mode, metaclass=_Bare):
    """Context manager and decorator: results computed inside do not require grad."""

    def _values(self) -> tuple[bool, bool]:
        return False, state.inference


class enable_grad(_Mode, metaclass=_Bare):
    """Context manager and decorator: operations inside are recorded, also within no_grad, not
    within inference_mode.
    """

    def _values(self) -> tuple[bool, bool]:
        return not state.inference, state.inference


class set_grad_enabled(_Mode):
    """Turn recording on or off: at once, or for a `with` block."""

    def __init__(self, mode: bool) -> None:
        super().__init__()
        if not isinstance(mode, bool):
            kind = type(mode).__name__
            raise TypeError(
                f"set_grad_enabled(): argument 'enabled' (position 1) must be bool, not {kind}"
            )
        self.mode = mode
        self._entered_from = (state.grad_enabled, state.inference)
        state.grad_enabled = self.mode

    def __call__(self, function: F) -> F:
        state.grad_enabled = self._entered_from[0]  # a decorator must not change the caller's mode
        return decorated(function, self)

    def clone(self) -> _Mode:
        before = state.grad_enabled
        copy = set_grad_enabled(self.mode)
        state.grad_enabled = before
        copy._entered_from = (before, state.inference)
        return copy

    def __enter__(self) -> None:
        self._previous.append(self._entered_from)
        state.grad_enabled = self.mode

    def __repr__(self) -> str:
        return f"torch.autograd.grad_mode.set_grad_enabled(mode={self.mode})"


class inference_mode(_Mode, metaclass=_Bare):
    """Context manager and decorator like no_grad: tensors made inside (inference tensors) can never
    be in a graph.
    """

    def __init__(self, mode: bool = True) -> None:
        super().__init__()
        self.mode = bool(mode)

    def _values(self) -> tuple[bool, bool]:
        return (False, True) if self.mode else (state.grad_enabled or state.inference, False)

    def clone(self) -> _Mode:
        return inference_mode(self.mode)


def is_grad_enabled() -> bool:
    """Return whether operations are being recorded."""
    return state.grad_enabled


def is_inference_mode_enabled() -> bool:
    """Return whether inference_mode is active."""
    return state.inference


class _SetAtOnce:
    """Sets modes when it is made; as a context manager it restores the previous ones on exit."""

    def __init__(self, **fields: bool) -> None:
        self._modes = using(**fields)
        self._modes.__enter__()

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: object) -> None:
        self._modes.__exit__(*exc)


class set_detect_anomaly(_SetAtOnce):
    """Turn anomaly mode on or off: at once, or for a `with` block.

    In anomaly mode backward raises at the first function that returns nan
    (https://pytorch.org/docs/stable/autograd.html#anomaly-detection).
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        super().__init__(anomaly=bool(mode), anomaly_check_nan=bool(check_nan))


class detect_anomaly(set_detect_anomaly):
    """Context manager that turns anomaly mode on for the backward passes inside, and checks them
    for nan.
    """

    def __init__(self, check_nan: bool = True) -> None:
        import warnings

        warnings.warn(ANOMALY_WARNING, stacklevel=2)
        self._wanted = bool(check_nan)

    def __enter__(self) -> None:
        super().__init__(True, self._wanted)


class set_multithreading_enabled(_SetAtOnce):
    """Set whether backward may use several threads, at once or for a `with` block. gradtrace always
    uses one.
    """

    def __init__(self, mode: bool) -> None:
        super().__init__(multithreading=bool(mode))


def is_multithreading_enabled() -> bool:
    """Return the mode that `set_multithreading_enabled` set last; True at the start, as in
    PyTorch.
    """
    return state.multithreading


def set_warn_always(b: bool, /) -> None:
    """Store whether warnings should repeat. It has no effect in gradtrace: Python's warning filters
    decide.
    """
    state.warn_always = bool(b)


def is_warn_always_enabled() -> bool:
    """Return the value that `set_warn_always` set last."""
    return state.warn_always


def is_anomaly_check_nan_enabled() -> bool:
    """Return whether anomaly mode, if it is on, checks for nan."""
    return state.anomaly_check_nan


def is_anomaly_enabled() -> bool:
    """Return whether anomaly mode is on."""
    return state.anomaly
