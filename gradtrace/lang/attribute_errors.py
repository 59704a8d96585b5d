"""The errors of the attribute gate, with Python's messages, and their explanations."""

from __future__ import annotations

from gradtrace.annotations import Any, Callable
from gradtrace.engine.data.tensor import Tensor
from gradtrace.errors import UnknownNameError
from gradtrace.lang.known_classes import ByClass
from gradtrace.lang.library import LibraryFunction
from gradtrace.lang.objects import is_dunder, is_public
from gradtrace.lang.values import Frozen

MODULES = ByClass(dict.fromkeys(("gradtrace.lang.namespaces:Namespace", "gradtrace.lang.own_modules:OwnModule"), True))
INNER = "the language does not give access to Python's internals"
AttributeRule = Callable[[Any, str], bool]


def describe_owner(value: Any) -> str:
    """Describe the owner of an attribute as Python's messages do."""
    if isinstance(value, type):
        return f"type object '{value.__name__}'"
    if MODULES.get(type(value)):
        return f"module '{value.__name__}'"
    return f"'{type(value).__name__}' object"


def attribute_refused(value: Any, name: str, rule: AttributeRule) -> AttributeError:
    """Return an AttributeError with Python's message; `explain_refusal` explains it if it is uncaught."""
    error = AttributeError(f"{describe_owner(value)} has no attribute '{name}'")
    value = value.__wrapped__ if type(value) is LibraryFunction else value
    vars(error)["__refused__"] = (value, name, rule)
    return error


def explain_refusal(error: BaseException) -> tuple[UnknownNameError | None, str]:
    """Return (error to report, hint) for an uncaught AttributeError of the gate; None means `error` itself."""
    if "__refused__" not in vars(error):
        return None, ""
    value, name, rule = vars(error)["__refused__"]
    close = nearest_names(value, name, rule)
    if not hasattr(type(value), name) and not (isinstance(value, type) and hasattr(value, name)):
        return None, close
    short = value.__name__ if isinstance(value, type) else type(value).__name__
    hint = INNER if is_dunder(name) else close or "use another attribute"
    return UnknownNameError(f"{short}.{name} is not available in gradtrace scripts", hint), close


def nearest_names(value: Any, name: str, rule: AttributeRule) -> str:
    import difflib

    try:
        known = dir(value)
    except AttributeError:  # a module whose __init__ has not run
        known = dir(type(value))
    names = [n for n in known if is_public(n) and n != name and rule(value, n)]
    close = difflib.get_close_matches(name, names, 3)
    return f"nearest: {', '.join(close)}" if close else ""


def read_only(target: Any, name: str, rule: AttributeRule) -> AttributeError:
    if isinstance(target, type):
        return AttributeError(f"cannot set '{name}' attribute of immutable type '{target.__name__}'")
    if isinstance(target, Tensor) and rule(target, name):
        return AttributeError(f"attribute '{name}' of 'torch._C.TensorBase' objects is not writable")
    if rule(target, name) or (isinstance(target, Frozen) and type(target) is not LibraryFunction):
        return AttributeError(f"{describe_owner(target)} attribute '{name}' is read-only")
    return AttributeError(f"{describe_owner(target)} has no attribute '{name}'")
