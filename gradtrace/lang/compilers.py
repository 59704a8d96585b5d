"""torch.compile and torch.jit in programs: each gives back the function itself, and says so once on stderr."""

from __future__ import annotations

from gradtrace.annotations import Any, Callable

SAID = "{}: runs the function itself, without compiling it\n"
MODULES = ("torch.compiler", "torch.jit")


class Compilers:
    """The names of one run; `stderr` is the run's."""

    def __init__(self, stderr: Any) -> None:
        self.stderr = stderr
        self.said: set[str] = set()
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
        if name not in self.said:
            self.said.add(name)
            self.stderr.write(SAID.format(name))

    def compile(self, model: Any = None, **options: Any) -> Any:
        """torch.compile, as a function or as a decorator."""
        self.say("torch.compile")
        return same_function if model is None else model

    def script(self, obj: Any, **options: Any) -> Any:
        self.say("torch.jit.script")
        return obj

    def trace(self, func: Any, example_inputs: Any = None, **options: Any) -> Any:
        self.say("torch.jit.trace")
        return func

    def same(self, fn: Any = None, **options: Any) -> Any:
        """A mark for the compiler, as a decorator with or without arguments."""
        return same_function if fn is None else fn


def same_function(fn: Callable[..., Any]) -> Callable[..., Any]:
    return fn


def no() -> bool:
    return False


def nothing() -> None:
    return None
