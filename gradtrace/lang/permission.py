"""Files that a program may write, inside the folder of `--allow-write DIR`, and read: the paths of `--allow-read`.

    with permission.create("runs/one/events.out", meter) as file:
        file.write(b"...")

This is a program's only access to the disk; the audit hook of `wall` blocks all others. It is lowered here for single
system calls, after the path has been resolved with its links and found inside the folder. Written bytes count towards
--max-output. What a program has made in this run it may read as well.
"""

from __future__ import annotations

import errno
import os
import stat

from gradtrace.annotations import Any
from gradtrace.errors import UsageError, WallError
from gradtrace.lang import wall
from gradtrace.lang.budget import Meter
from gradtrace.lang.exceptions import claim

FILE = 4096  # bytes that each file costs in addition: a million empty files fill a disk too
NEW = os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
OLD = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


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
        while left and not state.discards:
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


class state:
    """`discards`: what programs write is counted and thrown away."""

    discards = False


class Discarding:
    """Context manager for runs that write no files: those that a program may write, it seems to write."""

    def __enter__(self) -> None:
        self.before, state.discards = state.discards, True

    def __exit__(self, *_: object) -> None:
        state.discards = self.before


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
    real = real_path_inside(allowed, path)
    if real is None:
        raise WallError(
            f"the program wants to write '{path}', which is not inside '{allowed}'",
            "--allow-write names the only folder that it may write in",
        )
    return real


def real_path_inside(folder: str, path: str) -> str | None:
    """Return a path with its links resolved; None if it is not inside a folder."""
    with wall.lowered():
        root, real = os.path.realpath(folder), os.path.realpath(path)
    return real if os.path.commonpath((root, real)) == root else None


def inside(path: str, meter: Meter) -> str:
    """Return the path inside the writable folder for a relative path; keep a path that already lies there."""
    allowed = meter.budget.allow_write
    if not allowed or "\0" in path or os.path.isabs(path) or ".." in path.split(os.sep):
        return path
    return path if real_path_inside(allowed, path) else os.path.join(allowed, path)


def create(path: str, meter: Meter, *, append: bool = False) -> File:
    """Open a file inside the folder for writing and create its parent folders; an existing file is truncated.

    Raises WallError without the permission, UsageError if the system refuses. Only regular files without other hard
    links are opened: no pipe, no device, no file that also has a name in another folder.
    """
    real = writable(path, meter)
    meter.count_output(FILE)
    if state.discards:
        return File(path, -1, meter)
    with wall.lowered():
        attempt(path, os.makedirs, os.path.dirname(real), exist_ok=True)
        old = os.path.lexists(real)
        attempt(path, check_plain_file, real)
        raw = attempt(path, os.open, real, NEW | (os.O_APPEND if append else 0), 0o666)
        if not append:
            attempt(path, empty, raw)
    if not (append and old):  # what another run has left in a file stays unread
        note_made(real, meter)
    return File(path, raw, meter)


def note_made(real: str, meter: Meter) -> None:
    """Note that the program has made a file or folder, and the folders around it up to the writable one."""
    with wall.lowered():
        top = os.path.realpath(meter.budget.allow_write)
    meter.made.add(top)
    while real != top:
        meter.made.add(real)
        real = os.path.dirname(real)


def seen(path: str, meter: Meter) -> str | None:
    """Return the real path of a file or folder that the program may read; None if there is none."""
    if type(path) is not str or "\0" in path or not (meter.made or meter.budget.allow_read):
        return None
    with wall.lowered():
        try:
            real = os.path.realpath(path)
            roots = [os.path.join(os.path.realpath(root), "") for root in meter.budget.allow_read]
            inside = real in meter.made or any((real + os.sep).startswith(root) for root in roots)
            return real if inside and os.path.exists(real) else None
        except (OSError, ValueError):
            return None


def readable(path: str, meter: Meter) -> str:
    """Return the real path of a file or folder that the program may read.

    Raises WallError without the permission, FileNotFoundError for a path inside an allowed folder where nothing is.
    """
    if type(path) is not str:
        raise TypeError(f"expected str, bytes or os.PathLike object, not {type(path).__name__}")
    real = seen(path, meter)
    if real is not None:
        return real
    if is_below_allowed(path, meter):
        raise of_program(FileNotFoundError(2, "No such file or directory", path))
    allowed = "'" + "', '".join(meter.budget.allow_read) + "'"
    raise WallError(
        f"the program wants to read {path!r}, "
        + (f"which is not inside {allowed}" if meter.budget.allow_read else "and programs read no files"),
        "allow it with --allow-read, a file or a folder that it lies in",
    )


def read(path: str, meter: Meter) -> bytes:
    """Return the content of a regular file that the program may read; its size is reserved in the budget."""
    real = readable(path, meter)
    with wall.lowered():
        try:
            raw = os.open(real, OLD)
        except OSError as error:
            raise of_program(OSError(error.errno, error.strerror, path)) from None
        try:
            status = os.fstat(raw)
            if stat.S_ISDIR(status.st_mode):
                raise of_program(IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path))
            if not stat.S_ISREG(status.st_mode):
                raise of_program(PermissionError(errno.EACCES, "not a regular file", path))
            meter.reserve(4 * status.st_size)  # of a character in a text
            meter.count_items(status.st_size)
            return read_whole(raw, status.st_size)
        finally:
            os.close(raw)


def of_program(error: OSError) -> OSError:
    """Mark an error as the program's own: what it wanted to read, not where its output went."""
    claim(error)
    return error


def is_below_allowed(path: str, meter: Meter) -> bool:
    """Whether a missing file would be one that the program may read."""
    if "\0" in path:
        return False
    with wall.lowered():
        folder = os.path.dirname(os.path.realpath(path))
    return seen(folder, meter) is not None


def read_whole(raw: int, size: int) -> bytes:
    """Return the bytes of an open file, at most `size`."""
    parts = []
    while size > 0 and (part := os.read(raw, min(size, 1 << 20))):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


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
    if state.discards:
        return real
    with wall.lowered():
        attempt(path, os.makedirs, real, exist_ok=True)
    note_made(real, meter)
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
