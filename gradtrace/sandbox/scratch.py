"""Where a confined process keeps intermediate results: a nameless file, and a folder for temporary
files.

The nameless file is opened before the rights are given up. The folder is created by the parent for
a program that is Python (`tempfile`, matplotlib's cache), is writable to the child alone, and is
removed by the parent at the end.
"""

from __future__ import annotations

import os
import stat
import time

from gradtrace.annotations import Any

# Variables that name the folder for temporary files, and those of caches in it.
TEMPORARY = ("TMPDIR", "TEMP", "TMP")
CACHES = {"MPLCONFIGDIR": "matplotlib", "XDG_CACHE_HOME": "cache"}
# what matplotlib's lists of fonts are called: it takes a second to make one
FONT_LISTS = "fontlist-"
LARGEST_FONT_LIST = 4 << 20  # bytes
PREFIX = "gradtrace-run-"  # of the folder's name
YOUNG = 60.0  # seconds: a folder may not be locked yet


class _State:
    """The file of a confined process, and the lock of the folder of its parent."""

    __slots__ = ("descriptor", "lock")

    def __init__(self) -> None:
        self.descriptor = self.lock = -1


_state = _State()


def prepare(folder: str = "") -> int:
    """Open this process's file in a folder (default: that for temporary files), and return its
    descriptor.
    """
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


def free_bytes(place: str | int) -> int:
    """Return how many bytes may be written to the disk of a folder or of an open file; 0 where
    nobody can say.
    """
    try:
        filesystem = os.statvfs(place)
    except (AttributeError, OSError):
        return 0
    return filesystem.f_bavail * filesystem.f_frsize


class empty_file:
    """Context manager: an empty file for reading and writing, in `folder` where this process is not
    confined.

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


# ---- the folder for temporary files


def create_folder(parent: str = "") -> str:
    """Create a folder for temporary files that only this user may read, with matplotlib's list of
    fonts; return it.

    Folders of processes that were killed, and so could not remove theirs, are removed.
    """
    parent = os.path.realpath(parent or os.environ.get("TMPDIR") or "/tmp")
    remove_abandoned(parent)
    path = os.path.join(parent, PREFIX + os.urandom(8).hex())
    os.mkdir(path, 0o700)
    _state.lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try_lock(_state.lock)
    for name in CACHES.values():
        os.mkdir(os.path.join(path, name), 0o700)
    copy_font_lists(os.path.join(path, CACHES["MPLCONFIGDIR"]))
    return path


def remove_abandoned(parent: str) -> None:
    """Remove this user's folders that no process has locked: the kernel releases the lock of one
    that has ended.
    """
    for name in os.listdir(parent):
        if name.startswith(PREFIX):
            try:
                remove_if_abandoned(os.path.join(parent, name))
            except OSError:  # another process removes it, or it is not this user's
                continue


def remove_if_abandoned(path: str) -> None:
    status = os.stat(path, follow_symlinks=False)
    if status.st_uid != os.geteuid() or time.time() - status.st_mtime < YOUNG:
        return
    lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if try_lock(lock):
            remove_folder(path)
    finally:
        os.close(lock)


def try_lock(descriptor: int) -> bool:
    """Lock an open folder until this process ends; return whether no other process has it."""
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def copy_font_lists(folder: str) -> None:
    """Copy the lists of fonts that matplotlib keeps for this user, so that a program need not make
    them again.
    """
    home = os.environ.get("HOME", "")
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
    source = os.environ.get("MPLCONFIGDIR") or os.path.join(cache, "matplotlib")
    try:
        names = [name for name in os.listdir(source) if name.startswith(FONT_LISTS)]
    except OSError:
        return
    for name in names:
        path = os.path.join(source, name)
        if os.path.isfile(path) and os.path.getsize(path) <= LARGEST_FONT_LIST:
            with open(path, "rb") as original, open(os.path.join(folder, name), "wb") as copy:
                copy.write(original.read(LARGEST_FONT_LIST))


def use_folder(path: str) -> None:
    """Make the folder that of this process's temporary files and caches."""
    os.environ.update(dict.fromkeys(TEMPORARY, path))
    os.environ.update({variable: os.path.join(path, name) for variable, name in CACHES.items()})


def remove_folder(path: str) -> None:
    """Remove a folder and all that is in it, whatever a process that has ended has left there.

    Folders may be nested deeper than a path can say, and may be unreadable to their owner. So each
    one is moved to the top before it is emptied: no path has more than two names.
    """
    top = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        number = 0
        while names := os.listdir(top):
            for name in names:
                if not is_folder(name, top):
                    os.unlink(name, dir_fd=top)
                    continue
                os.chmod(name, 0o700, dir_fd=top)
                inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=top)
                try:
                    number = lift_folders(inner, top, number)
                finally:
                    os.close(inner)
                os.rmdir(name, dir_fd=top)
    finally:
        os.close(top)
    os.rmdir(path)


def lift_folders(inner: int, top: int, number: int) -> int:
    """Remove the files of a folder, and move its folders to `top`; return the number that the last
    one is named by.
    """
    for name in os.listdir(inner):
        if not is_folder(name, inner):
            os.unlink(name, dir_fd=inner)
            continue
        number = next_free(number, top)
        os.chmod(name, 0o700, dir_fd=inner)
        os.rename(name, f"lifted-{number}", src_dir_fd=inner, dst_dir_fd=top)
    return number


def next_free(number: int, top: int) -> int:
    number += 1
    while os.access(f"lifted-{number}", os.F_OK, dir_fd=top, follow_symlinks=False):
        number += 1
    return number


def is_folder(name: str, parent: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
