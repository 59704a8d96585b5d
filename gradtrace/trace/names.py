"""Name the tensors and modules that variables hold, by the program's own path to them: "w",
"net.fc.weight".

Both front ends use this module; a `Library` tells what their tensors and modules are.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Callable, Iterator, Mapping, NamedTuple
from gradtrace.trace.holders import OPAQUE, held_by, items_of


def always(tensor: Any) -> bool:
    """Return True: every tensor of a library is readable, where nothing else is said."""
    return True


class Library(NamedTuple):
    """What tells the tensors and modules of a library from other values. A tensor that is not
    readable has no name.
    """

    is_tensor: Callable[[Any], bool]
    is_module: Callable[[Any], bool]
    is_readable: Callable[[Any], bool] = always


class Names:
    """The modules that variables hold and the modules inside them, the parameters of these, and the
    named tensors.
    """

    def __init__(self, env: Mapping[str, Any], library: Library) -> None:
        self.library = library
        self.variables = [
            (name, value)
            for name, value in env.items()
            if id(type(value)) not in OPAQUE and not is_of_python(name)
        ]
        wanted = held_by(
            self.variables, lambda value: library.is_tensor(value) or library.is_module(value)
        )
        self.held = list(wanted)
        # what modules hold in plain lists and dicts
        self.held_by_modules: list[tuple[str, Any]] = []
        self.modules = self.find_modules()
        self.parameters = [
            (f"{path}.{key}", tensor)
            for path, module in self.modules
            for key, tensor in registered(module, "_parameters").items()
            if tensor is not None and library.is_readable(tensor)
        ]

    def find_modules(self) -> list[tuple[str, Any]]:
        """Return the modules with their paths: those of variables, those in lists, dicts and plain
        objects, and those that other modules hold in lists and dicts, where `modules()` does not
        find them.
        """
        is_module = self.library.is_module
        modules: list[tuple[str, Any]] = []
        for name, value in self.variables:
            if is_module(value):
                modules += modules_below(name, value, set())
        seen: set[int] = set()
        for path, value, _ in self.held:
            if is_module(value):
                modules += modules_below(path, value, seen)
        seen = {id(module) for _, module in modules}
        for path, module in modules:
            for key, value in unregistered(path, module):
                self.held_by_modules.append((key, value))
                if is_module(value):
                    modules += modules_below(key, value, seen)
        return modules

    def paths(self) -> dict[int, str]:
        """Return the first path of each module, by its id()."""
        paths: dict[int, str] = {}
        for path, module in self.modules:
            paths.setdefault(id(module), path)
        return paths

    def tensors(self) -> Iterator[tuple[str, Any]]:
        """Yield each tensor with its name, and again for each further variable that holds it.

        A parameter that a variable holds has the name that its model gives it before the
        variable's, which is often the one of a loop over parameters. It has all names that the
        variables which hold its model, or a part of it, give it.
        """
        in_model: dict[int, str] = {}
        for name, tensor in self.parameters:
            in_model.setdefault(id(tensor), name)
        first: dict[int, str] = {}
        for name, value in self.variables:
            if not self.library.is_tensor(value):
                continue
            model_name = in_model.get(id(value))
            if model_name is not None:
                yield model_name, value
            if self.library.is_readable(value):
                yield name, value
            first.setdefault(id(value), model_name or name)
        for name, tensor in self.parameters:
            if id(tensor) not in first or name != in_model[id(tensor)]:
                first.setdefault(id(tensor), name)
                yield name, tensor
        for name, tensor in self.held_tensors():
            if id(tensor) not in first:
                first[id(tensor)] = name
                yield name, tensor

    def held_tensors(self) -> Iterator[tuple[str, Any]]:
        """Yield what variables hold in lists, tuples and dicts, and the leaves that require grad
        elsewhere: in objects, and in the lists and dicts of modules.
        """
        direct = {
            id(value) for _, value in self.variables if issubclass(type(value), (list, tuple, dict))
        }
        held = [(path, value, id(holder) in direct) for path, value, holder in self.held]
        held += [(path, value, False) for path, value in self.held_by_modules]
        for path, value, is_direct in held:
            if not self.library.is_tensor(value) or not self.library.is_readable(value):
                continue
            if is_direct or (value.requires_grad and value.is_leaf):
                yield path, value


def is_of_python(name: str) -> bool:
    """Whether a variable is Python's own (`__name__`), or IPython's `_12` for a cell's output."""
    return name.startswith("__") or (name[:1] == "_" and name[1:].isdigit())


def modules_below(path: str, module: Any, seen: set[int]) -> Iterator[tuple[str, Any]]:
    """Yield a module and the modules inside it with their paths, except for those `seen` before.

    Methods of the program are not called, as `named_modules` would be if a class of the program has
    one.
    """
    waiting = [(path, module)]
    while waiting:
        path, module = waiting.pop()
        if id(module) not in seen:
            seen.add(id(module))
            yield path, module
            parts = registered(module, "_modules").items()
            inner = [(f"{path}.{key}", part) for key, part in parts if part is not None]
            waiting += reversed(inner)


def registered(module: Any, table: str) -> Any:
    """Return a table of a module, `_modules` or `_parameters`; {} if the module was not
    initialised.
    """
    return getattr(module, table, {})


def unregistered(path: str, module: Any) -> Iterator[tuple[str, Any]]:
    """Yield what a module holds in plain lists and dicts, with its path."""
    for attribute, value in vars(module).items():
        if type(value) in (list, tuple, dict) and not str(attribute).startswith("_"):
            yield from items_of(f"{path}.{attribute}", value)
