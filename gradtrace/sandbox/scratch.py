"""A nameless file for intermediate results: a confined process opens one before it gives up its rights."""

from __future__ import annotations

import os

from gradtrace.annotations import Any


class _State:
    """The file of a confined process."""

    __slots__ = ("descriptor",)

    def __init__(self) -> None:
        self.descriptor = -1


_state = _State()


def prepare(folder: str = "") -> int:
    """Open this process's file in a folder (default: that for temporary files), and return its descriptor."""
    folder = folder or os.environ.get("TMPDIR") or "/tmp"
    try:
        _state.descriptor = os.open(folder, os.O_RDWR | os.O_TMPFILE | os.O_CLOEXEC, 0o600)
    except (AttributeError, OSError):  # not Linux, or a file system without nameless files
        import tempfile

        with tempfile.TemporaryFile(dir=folder) as file:
            _state.descriptor = os.dup(file.fileno())
    return _state.descriptor


def descriptor() -> int:
    """Return the descriptor of this process's file; -1 if there is none."""
    return _state.descriptor


class empty_file:
    """Context manager: an empty file for reading and writing, in `folder` where this process is not confined.

    A confined process has one, so two must not be in use at the same time.
    """

    def __init__(self, folder: str | None = None) -> None:
        self.folder = folder

    def __enter__(self) -> Any:
        if _state.descriptor < 0:
            import tempfile

            self.file: Any = tempfile.TemporaryFile(dir=self.folder)
        else:
            self.file = os.fdopen(_state.descriptor, "w+b", closefd=False)
            self.file.truncate(0)
        return self.file

    def __exit__(self, *_: object) -> None:
        if _state.descriptor >= 0:
            self.file.seek(0)
            self.file.truncate(0)
        self.file.close()
