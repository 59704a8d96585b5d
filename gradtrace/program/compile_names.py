"""torch.compile and torch.jit in programs: they return the function unchanged, and say so once."""

from __future__ import annotations

from gradtrace.annotations import Any, AnyFunction, Callable

COMPILED_MODULES = ("torch.compiler", "torch.jit")


def compiler_names(tell: Callable[[str], None]) -> dict[str, dict[str, Any]]:
    """Return the names of torch.compile and torch.jit by module; `tell` prints a line for the
    user.
    """

    def say(name: str) -> None:
        tell(f"{name}: runs the function itself, without compiling it")

    def compile(model: Any = None, **options: Any) -> Any:
        """Return the model unchanged (torch.compile), or without a model a decorator that does."""
        say("torch.compile")
        return same_function if model is None else model

    def script(obj: Any, **options: Any) -> Any:
        """Return the function or module unchanged (torch.jit.script)."""
        say("torch.jit.script")
        return obj

    def trace(func: Any, example_inputs: Any = None, **options: Any) -> Any:
        """Return the function or module unchanged (torch.jit.trace)."""
        say("torch.jit.trace")
        return func

    return {
        "torch": {"compile": compile},
        "torch.compiler": {"disable": same, "is_compiling": return_false, "reset": do_nothing},
        "torch.jit": {
            **dict.fromkeys(("export", "ignore", "unused", "script_if_tracing"), same),
            **dict.fromkeys(("is_scripting", "is_tracing"), return_false),
            **dict.fromkeys(("freeze", "optimize_for_inference"), same_module),
            "Final": Any,
            "script": script,
            "trace": trace,
        },
    }


def same(fn: Any = None, **options: Any) -> Any:
    """Return the function unchanged; without a function, return a decorator that does."""
    return same_function if fn is None else fn


def same_module(mod: Any, *args: Any, **options: Any) -> Any:
    """Return a module unchanged."""
    return mod


def same_function(fn: AnyFunction) -> AnyFunction:
    return fn


def return_false() -> bool:
    return False


def do_nothing() -> None:
    return None
