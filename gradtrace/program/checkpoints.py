"""torch.save and torch.load in programs: what may not be written to a file stays in memory for the
run.
"""

from __future__ import annotations

import io
import os

from gradtrace.annotations import Any, Callable

KEPT = "torch.save keeps what it gets in memory, for torch.load in the same run: no file is written"


class Checkpoints:
    """torch.save and torch.load of a run; `tell` prints a line for the user."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.tell = tell
        # the content of files that could not be written, by absolute path
        self.kept: dict[str, bytes] = {}
        # those that are replaced while this run keeps files
        self.os_functions: tuple[Any, ...] = ()

    def names(self) -> dict[str, dict[str, Any]]:
        """Return the names of this run by module."""
        functions = {"save": self.save, "load": self.load}
        models = {"save": self.save, "load": self.load_model}
        return {"torch": functions, "torch.serialization": functions, "torch.jit": models}

    def save(self, obj: Any, f: Any, *args: Any, **options: Any) -> None:
        """Write an object to a file (torch.save); keep it in memory if the file cannot be
        written.
        """
        from gradtrace.utils import serialization

        try:
            serialization.save(obj, f, *args, **options)
        except OSError:
            if not isinstance(f, (str, os.PathLike)):
                raise
            self.tell(KEPT)
            content = io.BytesIO()
            serialization.save(obj, content)
            self.kept[path_of(f)] = content.getvalue()
            self.show_to_os()

    def load(self, f: Any, *args: Any, **options: Any) -> Any:
        """Return what a file holds (torch.load)."""
        from gradtrace.utils import serialization

        return serialization.load(
            io.BytesIO(self.kept[path_of(f)]) if self.has(f) else f, *args, **options
        )

    def load_model(self, f: Any, map_location: Any = None, *args: Any, **options: Any) -> Any:
        """Return the model that torch.jit.save has written (torch.jit.load)."""
        return self.load(f, map_location, weights_only=False)

    def has(self, f: Any) -> bool:
        """Whether this run keeps the content of a file."""
        return path_of(f) in self.kept

    def show_to_os(self) -> None:
        """Let the functions of `os` that ask for a file or remove one find those that are kept."""
        if self.os_functions:
            return
        remove, _, exists, isfile = self.os_functions = (
            os.remove,
            os.unlink,
            os.path.exists,
            os.path.isfile,
        )

        def forget(path: Any, *args: Any, **options: Any) -> None:
            if self.has(path):
                del self.kept[path_of(path)]
            else:
                remove(path, *args, **options)

        os.remove = os.unlink = forget
        os.path.exists = lambda path: self.has(path) or exists(path)
        os.path.isfile = lambda path: self.has(path) or isfile(path)

    def restore(self) -> None:
        """Give `os` its own functions back."""
        if self.os_functions:
            os.remove, os.unlink, os.path.exists, os.path.isfile = self.os_functions


def path_of(f: Any) -> str:
    """Return the absolute path of a file that is given by its path; "" for any other."""
    return os.path.abspath(os.fspath(f)) if isinstance(f, (str, os.PathLike)) else ""
