"""Figures and graphs that a program writes to files: drawn without another process, and left out
with one line where the program may not write.
"""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import os
import sys
from types import ModuleType, SimpleNamespace

from gradtrace.annotations import Any, Callable
from gradtrace.engine.data.higher import higher
from gradtrace.errors import UsageError

NOT_WRITTEN = "figures are not written; --allow-write DIR names the folder for them"
NOT_OPENED = "figures are not opened: a program starts no viewer"


class FigureFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules of matplotlib and graphviz that write figures, and replaces what needs
    rights.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.tell = tell
        self.loaders: dict[str, Any] = {}
        self.replaced: list[tuple[Any, str, Any]] = []
        self.changes: dict[str, Callable[[ModuleType], None]] = {
            "matplotlib.figure": lambda module: self.guard(vars(module)["Figure"], "savefig"),
            "graphviz.rendering": self.guard_graphs,
        }
        if "draw_dot" in higher:
            execute = "graphviz.backend.execute"
            self.changes[execute] = lambda module: self.replace(module, "run_check", layout)
        for name in self.changes:
            if name in sys.modules:
                self.changes[name](sys.modules[name])

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return the spec of such a module, if it is installed."""
        if name not in self.changes:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None:
            self.loaders[name] = spec.loader
            spec.loader = self
        return spec

    def create_module(self, spec: Any) -> ModuleType | None:
        """Return what the module's own loader creates."""
        module: ModuleType | None = self.loaders[spec.name].create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Run the module, and replace what needs rights."""
        self.loaders[module.__name__].exec_module(module)
        self.changes[module.__name__](module)

    def guard_graphs(self, module: ModuleType) -> None:
        """Guard the method of graphviz that writes files, and have it open none."""
        graph = vars(module)["Render"]
        self.guard(graph, "render")
        self.replace(graph, "_view", lambda *args, **options: self.tell(NOT_OPENED))

    def guard(self, kind: Any, name: str) -> None:
        """Have a method say once that the program may not write, instead of failing."""
        own = getattr(kind, name)

        @functools.wraps(own)
        def guarded(self_: Any, *args: Any, **options: Any) -> Any:
            try:
                return own(self_, *args, **options)
            except PermissionError:
                self.tell(NOT_WRITTEN)

        self.replace(kind, name, guarded)

    def replace(self, owner: Any, name: str, value: Any) -> None:
        """Set an attribute until the end of the run."""
        self.replaced.append((owner, name, getattr(owner, name)))
        setattr(owner, name, value)

    def restore(self) -> None:
        """Give the packages their own functions back."""
        for owner, name, own in self.replaced:
            setattr(owner, name, own)


def layout(
    command: Any, *, input_lines: Any = None, encoding: str | None = None, **options: Any
) -> Any:
    """Do what graphviz's command line does, in this process: lay a graph out with dot, and write
    the picture or return it.

    UsageError for a format or an engine that is not available.
    """
    words = [os.fspath(word) for word in command]
    engine, format = (
        next(word[2:] for word in words if word.startswith(flag)) for flag in ("-K", "-T")
    )
    if engine != "dot":
        raise UsageError(f"graphviz's engine {engine} is not available", "use dot")
    folder = options.get("cwd") or "."
    text: Any = options.get("input")
    if input_lines is not None:
        text = (b"" if encoding is None else "").join(input_lines)
    is_file = text is None
    if is_file:
        with open(os.path.join(folder, words[-1]), "rb") as file:
            text = file.read()
    source = text if isinstance(text, str) else text.decode()
    picture = higher["draw_dot"](source, format.partition(":")[0])
    if is_file:
        outfile = words[words.index("-o") + 1] if "-o" in words else f"{words[-1]}.{format}"
        with open(os.path.join(folder, outfile), "wb") as file:
            file.write(picture)
    return SimpleNamespace(stdout=picture if encoding is None else picture.decode())
