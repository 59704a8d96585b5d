"""torch.compile and torch.jit in programs: they return the function unchanged, and say so once on stderr."""

from __future__ import annotations

from gradtrace.annotations import Any, AnyFunction
from gradtrace.lang.builtins import Streams

MODULES = ("torch.compiler", "torch.jit")


class Compilers:
    """The names of torch.compile and torch.jit in one run."""

    def __init__(self, streams: Streams) -> None:
        self.streams = streams
        self.names: dict[str, dict[str, Any]] = {
            "torch": {"compile": self.compile},
            "torch.compiler": {"disable": self.same, "is_compiling": no, "reset": nothing},
            "torch.jit": {
                **dict.fromkeys(("export", "ignore", "unused"), self.same),
                **dict.fromkeys(("is_scripting", "is_tracing"), no),
                "script": self.script,
                "trace": self.trace,
            },
        }

    def say(self, name: str) -> None:
        self.streams.tell_once(f"{name}: runs the function itself, without compiling it")

    def compile(self, model: Any = None, **options: Any) -> Any:
        """Return the model unchanged (torch.compile), or without a model a decorator that does."""
        self.say("torch.compile")
        return same_function if model is None else model

    def script(self, obj: Any, **options: Any) -> Any:
        self.say("torch.jit.script")
        return obj

    def trace(self, func: Any, example_inputs: Any = None, **options: Any) -> Any:
        self.say("torch.jit.trace")
        return func

    def same(self, fn: Any = None, **options: Any) -> Any:
        """Return the function unchanged; without a function, return a decorator that does."""
        return same_function if fn is None else fn


def same_function(fn: AnyFunction) -> AnyFunction:
    return fn


def no() -> bool:
    return False


def nothing() -> None:
    return None
