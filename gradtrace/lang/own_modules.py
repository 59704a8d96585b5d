"""A program's own modules: files in the folder of `--allow-import DIR`, in the same language as the program.

They are found by the import statements in its text and parsed before the program runs, so a running program reads no
file. A module runs once, at its first import, with its own variables. The modules that every program has (torch, math)
take precedence over files with the same name. The file of `a.b` is `a/b.py` or `a/b/__init__.py`.
"""

from __future__ import annotations

import os

from gradtrace.annotations import Any, Callable, Iterable, Iterator
from gradtrace.engine.data.state import state
from gradtrace.errors import ParseError, UnknownNameError, UsageError
from gradtrace.lang.inputs import find_inputs
from gradtrace.lang.namespaces import is_offered
from gradtrace.lang.parse import Program, parse
from gradtrace.lang.unit import Machine, Unit
from gradtrace.lang.values import Frozen
from gradtrace.limits import Budget, advice
from gradtrace.program import syntax as ast


class OwnModule(Frozen):
    """A module from the folder of --allow-import; programs can read its variables, only its own code can set them."""

    __slots__ = ("_frame", "_name")

    def __init__(self, name: str, frame: dict[str, Any]) -> None:
        object.__setattr__(self, "_name", name)
        object.__setattr__(self, "_frame", frame)

    def __getattr__(self, name: str) -> Any:
        try:
            return self._frame[name]
        except KeyError:
            raise AttributeError(f"module '{self._name}' has no attribute '{name}'") from None

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"module '{self._name}' is read-only")

    def __repr__(self) -> str:
        return f"<module '{self._name}'>"


OwnModule.__name__ = OwnModule.__qualname__ = "module"


# ---- before the run

Find = Callable[[str], "tuple[str, str] | None"]


def with_modules(program: Program, budget: Budget, find: Find | None = None) -> Program:
    """Return the program with all modules that it imports, also indirectly, parsed and `import *` resolved.

    `find` returns the file name and text of a module; without it, modules are searched in the folder of
    --allow-import, which must exist (else UsageError).
    """
    find = find or in_folder(budget.allow_import)
    found: dict[str, Program] = {}
    waiting = list(imported_names(program, ""))
    left = budget.source_bytes - len(program.source.text)
    while waiting:
        name = waiting.pop()
        if name in found or is_offered(name) or is_offered(name.partition(".")[0]):
            continue
        file = find(name)
        if file is None:
            continue  # not a module, or a name in one; the import statement reports it
        shown, text = file
        left -= len(text)
        if left < 0:
            raise ParseError(f"the program is larger than {budget.source_bytes} bytes", advice("source_bytes"))
        module = found[name] = parse(text, shown, budget)
        waiting += imported_names(module, package_of(name, module))
    if not found:
        return program._replace(modules=found)
    stars = Stars(found)
    for name in found:
        stars.exported(name)
    stars.bind(program, "")
    inputs = find_inputs(program.tree, program.scopes, program.source)
    return program._replace(modules=found, inputs=inputs)


def in_folder(name: str) -> Find:
    """Return a function that finds modules in a folder."""
    folder = os.path.realpath(name)
    if not os.path.isdir(folder):
        raise UsageError(f"--allow-import: {name} is not a folder", "name the folder of the modules")

    def find(module: str) -> tuple[str, str] | None:
        path = path_of(module, folder)
        return None if path is None else (os.path.relpath(path, folder), read(path))

    return find


def among(files: Iterable[tuple[str, str]]) -> Find:
    """Return a function that finds modules among files given as (name, text)."""
    known = {name.replace("\\", "/"): (name, text) for name, text in files}

    def find(module: str) -> tuple[str, str] | None:
        base = module.replace(".", "/")
        return known.get(f"{base}.py") or known.get(f"{base}/__init__.py")

    return find


def package_of(name: str, program: Program) -> str:
    """Return the package that contains a module; for the `__init__.py` of a package, the package itself."""
    return name if program.source.name.endswith("__init__.py") else name.rpartition(".")[0]


def path_of(name: str, folder: str) -> str | None:
    """Return the path of a module's file with links resolved; None if the folder has no such file."""
    base = os.path.join(folder, *name.split("."))
    for path in (base + ".py", os.path.join(base, "__init__.py")):
        real = os.path.realpath(path)
        if os.path.isfile(real) and os.path.commonpath([real, folder]) == folder:
            return real
    return None


def read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read: {error}", "modules are text in UTF-8") from None


def imported_names(program: Program, package: str) -> Iterator[str]:
    """Yield the modules that import statements may mean, and the packages that contain them."""
    for node in ast.walk(program.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from with_packages(alias.name)
        elif isinstance(node, ast.ImportFrom):
            module = absolute(node.module or "", node.level, package)
            yield from with_packages(module)
            yield from (f"{module}.{alias.name}" for alias in node.names)


def with_packages(name: str) -> Iterator[str]:
    parts = name.split(".")
    yield from (".".join(parts[:i]) for i in range(1, len(parts) + 1) if all(parts))


def absolute(module: str, level: int, package: str) -> str:
    """Return the absolute name of the module in `from ..module import`, used within `package`."""
    if not level:
        return module
    parts = package.split(".") if package else []
    parts = parts[: len(parts) - (level - 1)]
    return ".".join([*parts, module] if module else parts)


class Stars:
    """The names that `import *` takes from modules of the program; they become variables of the importing module."""

    def __init__(self, modules: dict[str, Program]) -> None:
        self.modules = modules
        self.known: dict[str, set[str]] = {}

    def exported(self, name: str) -> set[str]:
        """Return the names that `import *` takes from a module; in an import cycle, those known so far."""
        if name not in self.known:
            program = self.modules[name]
            self.known[name] = set()
            self.bind(program, package_of(name, program))
            bound = {one for one in program.scopes[program.tree].bound if one[:1] != "_"}
            self.known[name] = listed_names(program.tree) or bound
        return self.known[name]

    def bind(self, program: Program, package: str) -> None:
        """Make the names that a program takes by `import *` variables of its top-level scope."""
        for node in ast.walk(program.tree):
            if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
                name = absolute(node.module or "", node.level, package)
                if name in self.modules:
                    program.scopes[program.tree].bound.update(self.exported(name))


def listed_names(tree: ast.Module) -> set[str]:
    """Return the names that appear as string literals in assignments to `__all__`."""
    found: set[str] = set()
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            found |= {n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    return found


# ---- in the run


class OwnModules:
    """The program's own modules in one run: parsed modules in `programs`, imported ones in `made`."""

    def __init__(self, programs: dict[str, Program]) -> None:
        self.programs = programs
        self.made: dict[str, OwnModule] = {}

    def get(self, name: str, machine: Machine) -> OwnModule | None:
        """Return the module of this name, and run it at its first import; None if it does not exist."""
        program = self.programs.get(name)
        if program is None:
            return None
        known = self.made.get(name)
        if known is not None:
            return known
        outer, _, own = name.rpartition(".")
        around = self.get(outer, machine) if outer else None
        frame: dict[str, Any] = {"__name__": name}
        module = self.made[name] = OwnModule(name, frame)
        if around is not None:
            around._frame[own] = module
        inner = machine.for_module(program, frame, package_of(name, program))
        from gradtrace.lang.run import compile_statements

        origin = state.origin
        for code, _ in compile_statements(program.tree, Unit(inner, inner.module)):
            code(frame)
        state.origin = origin
        return module

    def names(self, module: OwnModule) -> list[str]:
        """Return the names that `import *` takes from a module: those in `__all__`, else all without an underscore."""
        listed = module._frame.get("__all__")
        if listed is None:
            return [name for name in module._frame if name[:1] != "_"]
        wrong = next((name for name in listed if not isinstance(name, str)), None)
        if wrong is not None:
            raise TypeError(f"Item in {module._name}.__all__ must be str, not {type(wrong).__name__}")
        return list(listed)

    def take(self, module: OwnModule, name: str, machine: Machine) -> Any:
        """Return a name of a module, or a submodule of this name; raise ImportError if there is neither."""
        if name in module._frame:
            return module._frame[name]
        inner = self.get(f"{module._name}.{name}", machine)
        if inner is None:
            error = ImportError(f"cannot import name '{name}' from '{module._name}'", name=name)
            what = f"'{module._name}' does not offer '{name}'"
            error.__gradtrace__ = UnknownNameError(what, "assign it in that module")  # type: ignore[attr-defined]
            raise error
        return inner
