"""Files that a program may write, inside the folder of `--allow-write DIR`.

    with permission.create("runs/one/events.out", meter) as file:
        file.write(b"...")

This is a program's only access to the disk; the audit hook of `wall` blocks all others. It is lowered here for single
system calls, after the path has been resolved with its links and found inside the folder. Written bytes count towards
--max-output.
"""

from __future__ import annotations

import errno
import os
import stat

from gradtrace.annotations import Any
from gradtrace.errors import UsageError, WallError
from gradtrace.lang import wall
from gradtrace.lang.budget import Meter

FILE = 4096  # bytes that each file costs in addition: a million empty files fill a disk too
NEW = os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


class File:
    """A write-only binary file, for library functions that write on behalf of a program."""

    __slots__ = ("_meter", "_raw", "name")

    def __init__(self, name: str, raw: int, meter: Meter) -> None:
        self.name = name
        self._raw = raw
        self._meter = meter

    def write(self, content: bytes) -> int:
        """Write without a buffer, so nothing is lost if a limit ends the program."""
        self._meter.count_output(len(content))
        left = memoryview(content)
        while left:
            left = left[attempt(self.name, os.write, self._raw, left) :]
        return len(content)

    def close(self) -> None:
        if self._raw >= 0:
            os.close(self._raw)
            self._raw = -1

    def __enter__(self) -> File:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    __del__ = close


def writable(path: str, meter: Meter) -> str:
    """Return the real path if it is inside the writable folder; else raise WallError."""
    allowed = meter.budget.allow_write
    if not isinstance(path, str) or "\0" in path or not path.isprintable():
        raise WallError(
            "the program wants to write a file whose name no terminal could show", "give it a printable name"
        )
    if not allowed:
        raise WallError(
            f"the program wants to write '{path}', and programs write no files",
            "allow it with --allow-write DIR, a folder that it lies in",
        )
    with wall.lowered():
        folder, real = os.path.realpath(allowed), os.path.realpath(path)
    if os.path.commonpath((folder, real)) != folder:
        raise WallError(
            f"the program wants to write '{path}', which is not inside '{allowed}'",
            "--allow-write names the only folder that it may write in",
        )
    return real


def inside(path: str, meter: Meter) -> str:
    """Return the path inside the writable folder for a relative path; keep a path that already lies there."""
    allowed = meter.budget.allow_write
    if not allowed or "\0" in path or os.path.isabs(path) or ".." in path.split(os.sep):
        return path
    with wall.lowered():
        folder, real = os.path.realpath(allowed), os.path.realpath(path)
    return path if os.path.commonpath((folder, real)) == folder else os.path.join(allowed, path)


def create(path: str, meter: Meter, *, append: bool = False) -> File:
    """Open a file inside the folder for writing and create its parent folders; an existing file is truncated.

    Raises WallError without the permission, UsageError if the system refuses. Only regular files without other hard
    links are opened: no pipe, no device, no file that also has a name in another folder.
    """
    real = writable(path, meter)
    meter.count_output(FILE)
    with wall.lowered():
        attempt(path, os.makedirs, os.path.dirname(real), exist_ok=True)
        attempt(path, check_plain_file, real)
        raw = attempt(path, os.open, real, NEW | (os.O_APPEND if append else 0), 0o666)
        if not append:
            attempt(path, empty, raw)
    return File(path, raw, meter)


def empty(descriptor: int) -> None:
    """Truncate an open file. A confined process may not use O_TRUNC, and truncates only by a name."""
    try:
        os.truncate(descriptor, 0)
    except PermissionError:
        os.truncate(f"/proc/self/fd/{descriptor}", 0)


def make_folder(path: str, meter: Meter) -> str:
    """Create a folder inside the writable one and return its real path."""
    real = writable(path, meter)
    meter.count_output(FILE)
    with wall.lowered():
        attempt(path, os.makedirs, real, exist_ok=True)
    return real


def check_plain_file(real: str) -> None:
    try:
        status = os.lstat(real)
    except FileNotFoundError:
        return
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
        raise PermissionError(errno.EACCES, "not a regular file, or has links in other folders")


def attempt(path: str, job: Any, *args: Any, **how: Any) -> Any:
    """Make a system call and convert an OSError to a UsageError."""
    try:
        return job(*args, **how)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageError(f"the program cannot write '{path}': {reason}", "choose another --allow-write") from error
