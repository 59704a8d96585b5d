"""The modules that a program can import, as frozen tables of the library's public names."""

from __future__ import annotations

from importlib import import_module as _real_import
from typing import Any

from gradtrace.errors import UnknownNameError
from gradtrace.lang.attributes import Frozen

# Where the names of each offered module come from. A list after the module limits them.
LIBRARY = {
    "torch": "gradtrace", "torch.nn": "gradtrace.nn", "torch.nn.functional": "gradtrace.nn.functional",
    "torch.nn.init": "gradtrace.nn.init", "torch.nn.utils": "gradtrace.nn.utils",
    "torch.autograd": "gradtrace.autograd", "torch.autograd.functional": "gradtrace.func.functional",
    "torch.autograd.function": "gradtrace.engine.function", "torch.optim": "gradtrace.optim",
    "torch.optim.lr_scheduler": "gradtrace.optim.lr_scheduler", "torch.func": "gradtrace.func",
    "torch.linalg": "gradtrace.linalg", "torch.special": "gradtrace.special",
}
PYTHON: dict[str, tuple[str, ...]] = {
    "math": (), "functools": ("partial", "reduce"), "collections": ("OrderedDict", "defaultdict", "Counter", "deque"),
    "copy": ("copy", "deepcopy"), "itertools": ("chain", "product", "combinations", "permutations", "accumulate",
                                                "zip_longest", "islice", "repeat", "count"),
    "typing": ("Any", "Optional", "Union", "List", "Dict", "Tuple", "Callable", "Sequence", "Iterable"),
    "warnings": (), "__future__": ("annotations",),
}
ONLY = {"gradtrace.engine.function": ("Function", "FunctionCtx", "once_differentiable")}
SKIPPED = frozenset({"annotations", "import_module", "Any", "Callable", "Iterator", "Sequence", "ops", "engine"})


class Namespace(Frozen):
    """One module as a program sees it. Attributes are fetched once; nothing can be set."""

    __slots__ = ("_found", "_name")

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_name", name)
        object.__setattr__(self, "_found", {})

    def __getattr__(self, name: str) -> Any:
        found = self._found
        if name not in found:
            found[name] = lookup(self._name, name)
        return found[name]

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"module '{self._name}' is read-only")

    def __repr__(self) -> str:
        return f"<module '{self._name}'>"


_namespaces: dict[str, Any] = {}


def namespace(name: str) -> Any:
    if name not in _namespaces:
        if name == "warnings":
            from gradtrace.lang.warnings import Warnings

            _namespaces[name] = Warnings()
        else:
            _namespaces[name] = Namespace(name)
    return _namespaces[name]


def lookup(module: str, name: str) -> Any:
    """A public name of an offered module; AttributeError with Python's words, and a hint for an uncaught one."""
    inner = f"{module}.{name}"
    if inner in LIBRARY:
        return namespace(inner)
    if not name.startswith("_"):
        found = public_value(module, name)
        if found is not _MISSING:
            return found
    error = AttributeError(f"module '{module}' has no attribute '{name}'")
    error.gradtrace_name = (module, name)  # type: ignore[attr-defined]
    raise error


_MISSING = object()


def public_value(module: str, name: str) -> Any:
    if module in PYTHON:
        listed = PYTHON[module]
        if listed and name not in listed:
            return _MISSING
        real = _real_import(module)
    else:
        real = _real_import(LIBRARY[module])
        only = ONLY.get(LIBRARY[module])
        if name in SKIPPED or (only and name not in only):
            return _MISSING
    try:
        found = getattr(real, name)
    except AttributeError:
        return _MISSING
    return _MISSING if type(found).__name__ == "module" else found


def offered(name: str) -> str | None:
    """The module's name in our tables: gradtrace's names stand for torch's."""
    if name == "gradtrace" or name.startswith("gradtrace."):
        name = "torch" + name[len("gradtrace"):]
    return name if name in LIBRARY or name in PYTHON else None


def refused(name: str, place: Any) -> UnknownNameError:
    import difflib

    if name.split(".")[0] == "numpy":
        hint = "torch's functions do the same here"
    else:
        close = difflib.get_close_matches(name, [*LIBRARY, *PYTHON], 1)
        hint = f"did you mean '{close[0]}'?" if close else "torch and its parts, math, functools, collections are"
    return UnknownNameError(f"the module '{name}' is not offered", hint, place)


def import_module(name: str, place: Any, full: str | None = None) -> Any:
    if offered(full or name) is None:
        raise refused(full or name, place)
    found = offered(name)
    assert found is not None
    return namespace(found)


def import_from(module: str, name: str, place: Any) -> Any:
    found = offered(module)
    if found is None:
        raise refused(module, place)
    try:
        return getattr(namespace(found), name)
    except AttributeError:
        raise UnknownNameError(f"'{module}' does not offer '{name}'", nearest(found, name), place) from None


def nearest(module: str, name: str) -> str:
    import difflib

    names = dir(_real_import(LIBRARY[module])) if module in LIBRARY else list(PYTHON[module])
    close = difflib.get_close_matches(name, names, 3)
    return f"nearest: {', '.join(close)}" if close else "gradtrace ops lists what there is"
