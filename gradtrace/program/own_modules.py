"""A program's own modules: files in the folder of `--allow-import DIR`, or those that a record
holds.

They are found by the import statements in its text and parsed before the program runs, so that a
record has all of them. A finder gives them to Python's import system while the program runs;
modules of torch, Python's standard library and numpy come before them. The file of `a.b` is
`a/b.py` or `a/b/__init__.py`.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import sys

from gradtrace.annotations import Any, Callable, Iterable, Iterator
from gradtrace.errors import ParseError, UsageError
from gradtrace.limits import Budget, advice
from gradtrace.program import syntax as ast
from gradtrace.program.modules import PACKAGES
from gradtrace.program.parse import Program, parse

Find = Callable[[str], "tuple[str, str] | None"]


# ---- before the run


def with_modules(program: Program, budget: Budget, find: Find | None = None) -> Program:
    """Return the program with all modules of its own that it imports, also indirectly, parsed.

    `find` returns the file name and text of a module; without it, modules are searched in the
    folder of --allow-import, which must exist (else UsageError).
    """
    find = find or in_folder(budget.allow_import)
    modules: dict[str, Program] = {}
    waiting = list(imported_names(program, ""))
    allowed = budget.source_bytes - len(program.source.text)
    while waiting:
        name = waiting.pop()
        if name in modules or not may_be_own(name):
            continue
        file = find(name)
        if file is None:
            continue  # a name in a module, or a missing module, whose import statement fails
        shown, text = file
        allowed -= len(text)
        if allowed < 0:
            raise ParseError(
                f"the program is larger than {budget.source_bytes} bytes", advice("source_bytes")
            )
        module = modules[name] = parse(text, shown, budget)
        waiting += imported_names(module, package_of(name, module))
    return program._replace(modules=modules)


def may_be_own(name: str) -> bool:
    """Whether a program's own module may have this name, which modules of torch, Python and numpy
    may not.
    """
    package = name.partition(".")[0]
    return (
        package not in (*PACKAGES, "gradtrace", "numpy") and package not in sys.stdlib_module_names
    )


def in_folder(name: str) -> Find:
    """Return a function that finds modules in a folder; UsageError if it is not a folder."""
    folder = os.path.realpath(name)
    if not os.path.isdir(folder):
        raise UsageError(
            f"--allow-import: {name} is not a folder", "name the folder of the modules"
        )

    def find(module: str) -> tuple[str, str] | None:
        path = path_of(module, folder)
        return None if path is None else (os.path.relpath(path, folder), read(path))

    return find


def among(files: Iterable[tuple[str, str]]) -> Find:
    """Return a function that finds modules among files given as (name, text)."""
    sources = {name.replace("\\", "/"): (name, text) for name, text in files}

    def find(module: str) -> tuple[str, str] | None:
        base = module.replace(".", "/")
        return sources.get(f"{base}.py") or sources.get(f"{base}/__init__.py")

    return find


def package_of(name: str, program: Program) -> str:
    """Return the package that contains a module; for the `__init__.py` of a package, the package
    itself.
    """
    return name if is_package(program) else name.rpartition(".")[0]


def is_package(program: Program) -> bool:
    """Whether a module's text is the `__init__.py` of a package."""
    return os.path.basename(program.source.name) == "__init__.py"


def path_of(name: str, folder: str) -> str | None:
    """Return the path of a module's file with links resolved; None if the folder has no such
    file.
    """
    base = os.path.join(folder, *name.split("."))
    for path in (base + ".py", os.path.join(base, "__init__.py")):
        real = os.path.realpath(path)
        if os.path.isfile(real) and os.path.commonpath([real, folder]) == folder:
            return real
    return None


def read(path: str) -> str:
    """Return the text of a file; UsageError if it cannot be read."""
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
    """Yield "a", "a.b" and "a.b.c" for "a.b.c"; nothing for a name with an empty part."""
    parts = name.split(".")
    yield from (".".join(parts[:i]) for i in range(1, len(parts) + 1) if all(parts))


def absolute(module: str, level: int, package: str) -> str:
    """Return the absolute name of the module in `from ..module import`, used within `package`."""
    if not level:
        return module
    parts = package.split(".") if package else []
    parts = parts[: len(parts) - (level - 1)]
    return ".".join([*parts, module] if module else parts)


# ---- in the run


class OwnModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """A finder of the program's own modules. `execute` runs the text of one in a namespace."""

    def __init__(
        self, programs: dict[str, Program], execute: Callable[[Program, dict[str, Any]], None]
    ) -> None:
        self.programs = programs
        self.execute = execute

    def __enter__(self) -> None:
        self.before = self.take_out()
        sys.meta_path.insert(0, self)

    def __exit__(self, *_: object) -> None:
        sys.meta_path.remove(self)
        self.take_out()
        sys.modules.update(self.before)

    def take_out(self) -> dict[str, Any]:
        """Remove the modules of these names from `sys.modules`, and return them."""
        return {name: sys.modules.pop(name) for name in self.programs if name in sys.modules}

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return the spec of one of the modules."""
        program = self.programs.get(name)
        if program is None:
            return None
        origin = program.source.name
        return importlib.machinery.ModuleSpec(
            name, self, origin=origin, is_package=is_package(program)
        )

    def create_module(self, spec: Any) -> None:
        """Return None: Python makes the module."""

    def exec_module(self, module: Any) -> None:
        """Execute the module's text."""
        program = self.programs[module.__name__]
        module.__file__ = program.source.name
        self.execute(program, vars(module))
