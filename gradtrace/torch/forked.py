"""Ask a forked copy of this process: it computes an answer, sends it through a pipe, and can change
nothing else.

    child = fork()
    if child.pid:
        answer = child.receive(seconds)     # the parent; None if the child ended before
    else:
        child.send(answer)                  # the child; it must end by os._exit

What the child does stays in the child. Its memory is a copy, also that which the parent shares with
other processes; its descriptors lead to /dev/null, or are opened again for reading, except that of
a file which the parent has opened for it; the program's signal handlers are not called. Files that
it opens for writing are /dev/null too. An audit hook, and the kernel where it has Landlock, refuse
all else that would reach outside: removing files, connections, signals, new programs. Other threads
do not exist in it, so a lock that one of them held is never released there; the parent waits only
for a given time. This needs Linux, whose /proc shows what is shared.
"""

from __future__ import annotations

import builtins
import contextlib
import ctypes
import fcntl
import io
import os
import select
import signal
import stat
import struct
import sys
import time
import warnings
from typing import Any

from gradtrace.sandbox import kernel

HEAD = struct.Struct(">QQ")  # the lengths of the two parts of an answer
SHARED = 2**31  # bytes of shared memory that a child copies
READ_WRITE, PRIVATE_FIXED_ANONYMOUS = 0x3, 0x2 | 0x10 | 0x20  # for mmap on Linux
Answer = tuple[bytes, bytes]
# audit events (https://docs.python.org/3/library/audit_events.html) of what reaches outside of the
# process
OF_FILES = "chmod chown link mkdir remove removexattr rename rmdir setxattr symlink truncate utime"
OF_PROCESSES = "exec kill killpg posix_spawn system"
REFUSED = {f"os.{name}" for name in f"{OF_FILES} {OF_PROCESSES}".split()}
REFUSED |= {f"socket.{name}" for name in ("bind", "connect", "sendmsg", "sendto")}
REFUSED |= {"signal.pthread_kill", "subprocess.Popen"}


class Child:
    """A forked process, seen from the parent (`pid` is its id) or from itself (`pid` is 0)."""

    def __init__(self, pid: int, pipe: int) -> None:
        self.pid = pid
        self.pipe = pipe

    def send(self, text: bytes, content: bytes) -> None:
        waiting = memoryview(HEAD.pack(len(text), len(content)) + text + content)
        while waiting:
            waiting = waiting[os.write(self.pipe, waiting) :]

    def receive(self, seconds: float) -> Answer | None:
        """Return the child's answer, and end the child; None if it ended before. TimeoutError if it
        took too long.
        """
        try:
            return self.read(time.monotonic() + seconds)
        finally:
            self.end()
            os.close(self.pipe)

    def read(self, until: float) -> Answer | None:
        poll = select.poll()
        poll.register(self.pipe, select.POLLIN)
        received = bytearray()
        wanted = HEAD.size
        while len(received) < wanted:
            left = until - time.monotonic()
            if left <= 0 or not poll.poll(1000 * left):
                raise TimeoutError
            part = os.read(self.pipe, 1 << 20)
            if not part:
                return None
            received += part
            if len(received) >= HEAD.size:
                wanted = HEAD.size + sum(HEAD.unpack_from(received))
        text = HEAD.size + HEAD.unpack_from(received)[0]
        return bytes(received[HEAD.size : text]), bytes(received[text:])

    def end(self) -> None:
        """Kill the child and its own children, and reap it."""
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                kill(self.pid, signal.SIGKILL)
        # reaped already if the program ignores SIGCHLD
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


def fork(kept: int = -1) -> Child:
    """Fork this process, and confine the child, which may write to the descriptor `kept`. OSError
    if the system refuses.
    """
    reader, writer = os.pipe()
    parent = os.getpid()
    try:
        pid = without_warning()
    except BaseException:
        os.close(reader)
        os.close(writer)
        raise
    if pid:
        os.close(writer)
        return Child(pid, reader)
    try:
        confine(parent, writer, kept)
    except BaseException:
        os._exit(1)
    return Child(0, writer)


def without_warning() -> int:
    """Fork without Python's warning about threads. `catch_warnings` would make warnings of the
    program appear twice.
    """
    rule = ("ignore", None, DeprecationWarning, None, 0)
    warnings.filters.insert(0, rule)  # type: ignore[attr-defined]
    try:
        return os.fork()
    finally:
        warnings.filters.remove(rule)  # type: ignore[attr-defined]


# ---- in the child


def confine(parent: int, pipe: int, kept: int) -> None:
    """Take from this process what it shares with others."""
    os.setsid()  # Ctrl-C at the terminal is for the parent
    kernel.end_with(parent)
    reset_signals()
    own_memory()
    own_descriptors(pipe, kept)
    builtins.open = io.open = opened
    sys.addaudithook(refuse)
    kernel.forbid_changes()


def reset_signals() -> None:
    """Take the program's signal handlers away."""
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)


def opened(file: Any, mode: str = "r", *args: Any, original: Any = open, **options: Any) -> Any:
    """Open a file for reading, as `open` does, or /dev/null in place of one for writing."""
    if set(mode).intersection("wax+"):
        file = os.devnull
        mode = mode.replace("x", "w")
    return original(file, mode, *args, **options)


def refuse(event: str, args: Any, refused: Any = REFUSED) -> None:
    """Refuse, as an audit hook, what would change something outside of this process."""
    if event in refused or (
        event == "open" and args[2] & os.O_ACCMODE != os.O_RDONLY and args[0] != os.devnull
    ):
        raise PermissionError(f"a copy of the process may not do this ({event})")


def own_memory() -> None:
    """Replace memory that other processes see (of a DataLoader's workers, files mapped for writing)
    by copies.
    """
    with open("/proc/self/maps") as file:
        lines = [line.split() for line in file]
    shared = [line[0].split("-") for line in lines if line[1][1] == "w" and line[1][3] == "s"]
    places = [(int(start, 16), int(end, 16) - int(start, 16)) for start, end in shared]
    if sum(size for _, size in places) > SHARED:
        raise MemoryError
    library = kernel.library()
    library.mmap.restype = ctypes.c_void_p
    for start, size in places:
        content = ctypes.string_at(start, size)
        arguments = (
            ctypes.c_void_p(start),
            ctypes.c_size_t(size),
            READ_WRITE,
            PRIVATE_FIXED_ANONYMOUS,
            -1,
        )
        if library.mmap(*arguments, ctypes.c_long(0)) != start:
            raise MemoryError
        ctypes.memmove(start, content, size)


def own_descriptors(pipe: int, kept: int) -> None:
    """Open files again that are open for reading, so that the parent's position stays; replace all
    other descriptors but these two by /dev/null.
    """
    numbers = [int(name) for name in os.listdir("/proc/self/fd")]
    null = os.open(os.devnull, os.O_RDWR)
    for number in numbers:
        if number in (pipe, kept, null):
            continue
        try:
            mode, access = (
                os.fstat(number).st_mode,
                fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE,
            )
        except OSError:  # it was that of the list itself
            continue
        is_file = stat.S_ISREG(mode) or stat.S_ISDIR(mode)
        if number > 2 and is_file and access == os.O_RDONLY and opened_again(number):
            continue
        os.dup2(null, number, number <= 2)


def opened_again(number: int) -> bool:
    """Open a file again under the same number, at the same position; return whether that was
    possible.
    """
    try:
        descriptor = os.open(f"/proc/self/fd/{number}", os.O_RDONLY)
        os.lseek(descriptor, os.lseek(number, 0, os.SEEK_CUR), os.SEEK_SET)
        os.dup2(descriptor, number, False)
        os.close(descriptor)
    except OSError:
        return False
    return True
