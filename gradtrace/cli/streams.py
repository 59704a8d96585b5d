"""The standard streams of a confined process: pipes, which its parent copies and counts.

The caller's own descriptors stay with the parent. A process that holds a pipe can neither overwrite
nor shorten the log that stdout is appended to, and no code in it can write more than the parent
copies.

    caller's stdin   -> thread of the parent -> pipe -> child's 0
    caller's stdout  <- thread of the parent <- pipe <- child's 1
    caller's stderr  <- thread of the parent <- pipe <- child's 2

The child's 0 is the null device if the command line names no stdin, and its 1 and 2 are one pipe
where the caller's are one file.
"""

from __future__ import annotations

import _thread
import io
import os
import select
import sys
import time

from gradtrace.annotations import Any, Callable
from gradtrace.cli import output

STDIN = 0
STDOUT = 1
STDERR = 2
PIECE = 1 << 18  # bytes of one read
REMEMBERED = 10_000  # bytes of what was copied last
PAUSE = 0.0005  # seconds between two looks at a pipe that is not yet empty
PATIENCE = 1.0  # seconds for copying what an ended process has left in its pipes


class Pipes:
    """The pipes between a process that is about to fork and its child."""

    def __init__(self, reads_stdin: bool) -> None:
        occupy_closed()
        self.output = os.pipe()
        # a terminal, 2>&1: the order of the two must stay
        one_file = os.path.sameopenfile(STDOUT, STDERR)
        self.errors = self.output if one_file else os.pipe()
        self.input = os.pipe() if reads_stdin and is_readable(STDIN) else None
        self.unreadable = reads_stdin and self.input is None

    def become_standard(self) -> None:
        """Make the pipes this process's standard streams; `isatty` and the width answer as for the
        caller's streams.
        """
        if output.is_terminal(sys.stdout):
            os.environ["COLUMNS"] = str(output.columns())
        sys.stdout, sys.stderr = whole(sys.stdout), whole(sys.stderr)
        for stream in (sys.stdin, sys.stdout, sys.stderr):
            if stream is not None:
                vars(stream)["isatty"] = constantly(output.is_terminal(stream))
        if isinstance(sys.stdout, io.TextIOWrapper):
            # letters that the caller's encoding has not
            sys.stdout.reconfigure(errors="backslashreplace")
        nothing = os.open(os.devnull, os.O_WRONLY if self.unreadable else os.O_RDONLY)
        os.dup2(nothing if self.input is None else self.input[0], STDIN)
        os.dup2(self.output[1], STDOUT)
        os.dup2(self.errors[1], STDERR)
        os.close(nothing)

    def all_ends(self) -> set[int]:
        return {*self.output, *self.errors, *(self.input or ())}


class WholeFile(io.FileIO):
    """A raw file that always writes everything.

    A write to a pipe that a timer signal interrupts is partial, and a text stream without a buffer
    (PYTHONUNBUFFERED) discards the rest.
    """

    def write(self, content: Any, /) -> int:
        """Write all bytes."""
        write_whole(self.fileno(), memoryview(content).cast("B"))
        return len(content)


def whole(stream: Any) -> Any:
    """Return a text stream, replaced by one that loses nothing if it has no buffer."""
    if not isinstance(getattr(stream, "buffer", None), io.FileIO):
        return stream
    raw: Any = WholeFile(stream.fileno(), "w", closefd=False)
    return io.TextIOWrapper(raw, stream.encoding, stream.errors, "\n", write_through=True)


def constantly(answer: bool) -> Callable[[], bool]:
    return lambda: answer


def occupy_closed() -> None:
    """Open the null device in place of each standard stream that is closed, so that no pipe gets
    its number.
    """
    while True:
        descriptor = os.open(os.devnull, os.O_RDWR)
        if descriptor > STDERR:
            os.close(descriptor)
            return


def is_readable(descriptor: int) -> bool:
    try:
        os.read(descriptor, 0)
    except OSError:
        return False
    return True


class Copier:
    """A thread that copies what a child prints, at most `most` bytes (0: without a limit), to
    stdout and stderr.

    `written` counts them, `over` says that there was more, `failure` is the error of writing to
    stdout; the pipes are closed then, as a reader that goes away does.
    """

    def __init__(self, pipes: Pipes, most: int) -> None:
        self.left = most or sys.maxsize
        self.written = 0
        self.last = b""  # what was copied last
        self.unended: set[int] = set()  # the targets whose last line has no end
        self.over = False
        self.failure: OSError | None = None
        self.targets = {pipes.errors[0]: STDERR, pipes.output[0]: STDOUT}
        self.screens = {target: Screen() for target in (STDOUT, STDERR) if os.isatty(target)}
        for end in pipes.all_ends() - {*self.targets, *(pipes.input or ())[1:]}:
            os.close(end)
        self.waiting = select.poll()
        for descriptor in self.targets:
            self.waiting.register(descriptor, select.POLLIN)
        self.copying = _thread.allocate_lock()  # held from before a read until after its write
        self.running = _thread.allocate_lock()
        self.running.acquire()
        _thread.start_new_thread(self.copy_all, ())
        if pipes.input is not None:
            _thread.start_new_thread(copy_stdin, (pipes.input[1],))

    def copy_all(self) -> None:
        try:
            while self.targets:
                for descriptor, _ in self.waiting.poll():
                    with self.copying:
                        self.copy(descriptor)
        finally:
            self.running.release()

    def copy(self, descriptor: int) -> None:
        """Copy once from a pipe that has something to read, or that the child has closed."""
        if descriptor not in self.targets:
            return
        content = os.read(descriptor, PIECE)
        self.over = len(content) > self.left
        content = content[: self.left]
        self.left -= len(content)
        self.written += len(content)
        self.last = (self.last + content)[-REMEMBERED:]
        if content:
            (self.unended.discard if content[-1:] == b"\n" else self.unended.add)(
                self.targets[descriptor]
            )
        screen = self.screens.get(self.targets[descriptor])
        try:
            write_whole(
                self.targets[descriptor], content if screen is None else screen.shown(content)
            )
        except OSError as error:
            if self.targets[descriptor] == STDOUT:
                self.failure = error
            self.close(descriptor)
            return
        if self.over:
            for open_pipe in tuple(self.targets):
                self.close(open_pipe)
        elif not content:
            self.close(descriptor)

    def has_printed(self, text: str) -> bool:
        """Whether a text is among the last that the child has printed."""
        return text.encode() in self.last

    def end_line(self) -> None:
        """End the line that the child has left on stderr, or on a terminal."""
        if STDERR in self.unended or (
            STDOUT in self.unended and os.path.sameopenfile(STDOUT, STDERR)
        ):
            os.write(STDERR, b"\n")

    def close(self, descriptor: int) -> None:
        self.waiting.unregister(descriptor)
        del self.targets[descriptor]
        os.close(descriptor)

    def settle(self, look: Callable[[], None]) -> None:
        """Wait until everything that the child has printed is copied; call `look` while waiting."""
        while not self.is_settled():
            look()
            time.sleep(PAUSE)

    def is_settled(self) -> bool:
        if not self.copying.acquire(timeout=PAUSE):
            return False
        try:
            return not select.select(list(self.targets), [], [], 0)[0]
        finally:
            self.copying.release()

    def finish(self, patience: float = -1) -> None:
        """Wait until the pipes of an ended child are empty, at most `patience` seconds unless that
        is negative.
        """
        self.running.acquire(timeout=patience)


class Screen:
    """What a terminal may get of a child's bytes: text, colours and the clearing of a line. Other
    codes, which could move the cursor, change the title or hide text, are written out.
    """

    def __init__(self) -> None:
        import codecs
        import re

        from gradtrace.views.cells import HARMFUL

        self.encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
        self.decoder = codecs.getincrementaldecoder(self.encoding)("backslashreplace")
        self.codes = re.compile(rf"\x1b\[[0-9;]*m|\x1b\[K|[{HARMFUL}]")
        self.cut = re.compile(r"\x1b(?:\[[0-9;]*)?\Z")
        self.kept = ""  # a code that the bytes so far end with, which may go on

    def shown(self, content: bytes | memoryview) -> bytes:
        """Return the bytes for the terminal; no bytes stand for the end."""
        text = self.kept + self.decoder.decode(content, not content)
        cut = self.cut.search(text) if content else None
        self.kept = "" if cut is None else cut[0]
        text = text[: len(text) - len(self.kept)]
        return self.codes.sub(written_out, text).encode(self.encoding, "backslashreplace")


def written_out(code: Any) -> str:
    """Return a code that a terminal may get, or the escape of any other."""
    text: str = code[0]
    return text if len(text) > 1 or text == "\r" else text.encode("unicode_escape").decode("ascii")


def write_whole(descriptor: int, content: bytes | memoryview) -> None:
    left: Any = memoryview(content)
    while left:
        try:
            left = left[os.write(descriptor, left) :]
        except BlockingIOError:  # the caller's stream does not block
            select.select([], [descriptor], [])


def copy_stdin(target: int) -> None:
    """Copy stdin to a pipe, until its end or until nobody reads the pipe."""
    try:
        while content := os.read(STDIN, PIECE):
            write_whole(target, content)
    except OSError:
        pass
    os.close(target)
