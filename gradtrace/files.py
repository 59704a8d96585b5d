"""Write output files completely or not at all.

A regular file is written beside its target and then renamed, so that no reader sees half a file and
a failure leaves the old file unchanged. Devices, pipes and the like are written directly, since
renaming would replace them.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from itertools import count

from gradtrace.annotations import Any, Callable
from gradtrace.errors import UsageError
from gradtrace.sandbox import channel

Content = bytes | Callable[[Any], None]  # or a function that writes it to an open file


def write_output(path: str | os.PathLike[str], content: Content) -> None:
    """Write `content` to `path`; an existing file keeps its permissions, a symbolic link stays one.

    UsageError if it cannot be written. BrokenPipeError is not caught, so that the caller can end
    quietly. A confined process has its broker write.
    """
    name = os.fspath(path)
    if channel.is_open():
        channel.write_to(name, lambda file: _fill(file, content))
        return
    try:
        _write(name, content)
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageError(f"cannot write '{name}': {reason}", _remedy(name, error)) from error


def check_place(name: str) -> None:
    """Raise UsageError early for a path that cannot be written: a folder, or a file in a missing
    folder.
    """
    folder = os.path.dirname(name) or "."
    if os.path.isdir(name):
        error = OSError(errno.EISDIR, "is a directory")
    elif not os.path.exists(folder):
        error = OSError(errno.ENOENT, os.strerror(errno.ENOENT))
    elif not os.path.isdir(folder):
        error = OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    else:
        return
    raise UsageError(f"cannot write '{name}': {str(error.strerror).lower()}", _remedy(name, error))


def _remedy(name: str, error: OSError) -> str:
    folder = os.path.dirname(name) or "."
    if error.errno == errno.ENOENT and not os.path.isdir(folder):
        return f"make the folder first: mkdir -p '{folder}'"
    if error.errno == errno.EISDIR:
        return "name a file in it"
    return "choose another place with -o"


def _write(name: str, content: Content) -> None:
    try:
        status: os.stat_result | None = os.stat(name)
    except FileNotFoundError:
        status = None
    if status is not None and stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, "is a directory")
    # /dev/stdout may be a regular file, which the shell holds open: renaming would part the two
    if status is not None and (
        not stat.S_ISREG(status.st_mode) or name.startswith(("/dev/", "/proc/"))
    ):
        _write_directly(name, content)
        return
    _replace(os.path.realpath(name), content, status)


def _write_directly(name: str, content: Content) -> None:
    with open(name, "wb") as file:
        _fill(file, content)


def _fill(file: Any, content: Content) -> None:
    if isinstance(content, bytes):
        file.write(content)
    else:
        content(file)


def _replace(target: str, content: Content, status: os.stat_result | None) -> None:
    if status is not None and not os.access(target, os.W_OK):
        # a rename would get around the file's mode
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    try:
        descriptor, beside = _open_beside(target)
    except PermissionError:
        if status is None:
            raise
        _write_directly(target, content)  # a writable file in a folder that is not
        return
    try:
        with open(descriptor, "wb") as file:
            _fill(file, content)
        if status is not None:
            _keep_rights(beside, status)
        _rename(beside, target)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(beside)


def _open_beside(target: str) -> tuple[int, str]:
    """A new file in the target's folder. The mode is left to the umask, as for any new file."""
    folder = os.path.dirname(target)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    for i in count():
        beside = os.path.join(folder, f".gradtrace-{os.getpid()}-{i}.tmp")
        try:
            return os.open(beside, flags, 0o666), beside
        except FileExistsError:
            continue
    raise AssertionError  # count() does not end


def _keep_rights(beside: str, status: os.stat_result) -> None:
    if hasattr(os, "chown"):
        with suppress(OSError):
            os.chown(beside, status.st_uid, status.st_gid)
    with suppress(OSError):
        os.chmod(beside, stat.S_IMODE(status.st_mode))


def _rename(beside: str, target: str) -> None:
    try:
        os.replace(beside, target)
    except OSError as error:
        if error.errno not in (errno.EBUSY, errno.EXDEV):
            raise
        import shutil

        shutil.copyfile(beside, target)  # a file that is a mount of its own cannot be replaced
