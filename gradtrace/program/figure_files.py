"""Figures that a program may not write: `savefig` says so once, and the program goes on."""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
from types import ModuleType

from gradtrace.annotations import Any, Callable

NOT_WRITTEN = "figures are not written; --allow-write DIR names the folder for them"


class FigureFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds matplotlib.figure, and replaces the method that writes a figure to a file."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.tell = tell
        self.loader: Any = None
        self.restored: Callable[[], None] | None = None

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return the spec of matplotlib.figure, if it is installed."""
        if name != "matplotlib.figure":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None:
            self.loader = spec.loader
            spec.loader = self
        return spec

    def create_module(self, spec: Any) -> ModuleType | None:
        """Return what the module's own loader creates."""
        module: ModuleType | None = self.loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Run the module, and replace the method."""
        self.loader.exec_module(module)
        figure = vars(module)["Figure"]
        own = figure.savefig

        @functools.wraps(own)
        def savefig(self_: Any, *args: Any, **options: Any) -> Any:
            try:
                return own(self_, *args, **options)
            except PermissionError:
                self.tell(NOT_WRITTEN)

        figure.savefig = savefig
        self.restored = functools.partial(setattr, figure, "savefig", own)

    def restore(self) -> None:
        """Give matplotlib its own method back."""
        if self.restored is not None:
            self.restored()
