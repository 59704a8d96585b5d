"""Run the rest of a command line in a confined child; this process keeps the rights, and uses them
on request.

`confine` forks. In the child it returns, with the rights given up: the child parses, runs and draws
the program, and prints. The parent never returns from it: it answers the child's requests, watches
the clock, and exits with the child's exit code. What a request may lead to is decided by the
command line alone, which the parent has read before the fork: the child names an output by its
number, never by a path.

    child                                       parent
    reads the source, runs it, prints           waits; ends the child at the deadline
    prints, into pipes                          copies it to stdout and stderr, and counts
                                                (streams.py)
    "write", output 0, bytes                    writes the file that -o names, if the bytes are of
                                                its kind
    "render", DOT                               draws in a confined process, returns the picture
    "open"                                      shows the written file in the browser
    "torch"                                     runs the program in real PyTorch (check --against
                                                torch)
    "command"                                   runs a command line of a document, which gets no
                                                right (verify)
"""

from __future__ import annotations

import os
import stat
import sys
import time

from gradtrace.annotations import Any, Callable
from gradtrace.cli import guard, streams
from gradtrace.cli.grants import MOST_SCRATCH, Grants
from gradtrace.errors import BudgetError, GradtraceError
from gradtrace.sandbox import channel, scratch
from gradtrace.sandbox.channel import (
    ASK,
    DATA,
    END,
    HEADER,
    KINDS,
    LONGEST_WORD,
    PIECE,
    SAY,
    SEEK,
    STOP,
    Channel,
)
from gradtrace.sandbox.growth import Growth

LATE = 0.25  # seconds that the child has, after its deadline, to say so itself
TICK = 0.05  # seconds between two looks at the child's limits
QUICK_TICK = 0.01  # the same for a child that can write files: in a TICK it could write 100 MB
# bytes of what is sent to be drawn or joined, which this process keeps in memory
MOST_CONTENT = 1 << 30
MOST_THREADS = 2000
FACTS = (b"RssAnon:", b"RssShmem:", b"Threads:")  # of /proc/PID/status
PATIENCE = 3  # interrupts until a child that does not end is killed
LAST_WORDS = 5.0  # seconds that it has after the first


class _State:
    """`is_console`: this process is the console script's own, which may fork."""

    __slots__ = ("is_console",)

    def __init__(self) -> None:
        self.is_console = False


state = _State()


def enable() -> None:
    """Confine the programs of this process's command line; only the console script asks for
    that.
    """
    state.is_console = True


def confine(grants: Grants, args: list[str]) -> None:
    """Fork; return in the child, which is confined, and end in the parent as the child ends. A
    command line without a stranger's program or data, such as a typed expression, is not forked.

    UsageError if the command line requires the kernel's wall and there is none.
    """
    if (
        channel.is_open()
        or not state.is_console
        or (grants.needs_no_wall and not requires_wall(args))
    ):
        return
    if not hasattr(os, "fork"):
        from gradtrace.cli import confined
        from gradtrace.sandbox.kernel import Walls

        confined.check_walls(Walls(0, False), grants, args)
        return
    folders = make_folder(grants.write)
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    pipes = streams.Pipes(grants.reads_stdin and sys.stdin is not None)
    scratch.prepare(grants.scratch)  # before the fork: this process sees how large it grows
    temporary = scratch.create_folder() if grants.temporary else ""
    growths = growths_of(grants, temporary)  # measured before the child can write
    requests = os.pipe()
    answers = os.pipe()
    parent = os.getpid()
    try:
        pid = os.fork()
        if pid == 0:
            pipes.become_standard()
            from gradtrace.cli import confined

            confined.begin(grants, Channel(answers[0], requests[1]), parent, args, temporary)
            return
        os.close(requests[1])
        os.close(answers[0])
        copier = streams.Copier(pipes, grants.printed)
        status = Broker(
            pid, Channel(requests[0], answers[1]), copier, grants, args, growths
        ).serve()
    finally:
        if os.getpid() == parent:
            remove_folders(folders)
            if temporary:
                scratch.remove_folder(temporary)
    raise SystemExit(status)


def requires_wall(args: list[str]) -> bool:
    """Whether --require-wall is given, before the program's own arguments."""
    return "--require-wall" in (args[: args.index("--")] if "--" in args else args)


def make_folder(path: str) -> list[str]:
    """Create a folder, since rights can be granted only for what is there; return the new folders,
    innermost first.
    """
    new: list[str] = []
    while path and not os.path.exists(path):
        new.append(path)
        path = os.path.dirname(path)
    for folder in reversed(new):
        try:
            os.mkdir(folder)
        except OSError:
            return []  # the program's attempt to write says why
    return new


def remove_folders(folders: list[str]) -> None:
    """Remove the new folders into which nothing was written."""
    for folder in folders:
        try:
            os.rmdir(folder)
        except OSError:
            return


class Ended(Exception):
    """The child is to be killed; `report` is the error to show."""

    def __init__(self, report: GradtraceError) -> None:
        self.report = report


class Stopped(Exception):
    """The child gave up what it was sending, and expects no answer."""


class Broker:
    """The parent's side of a confined child."""

    def __init__(
        self,
        pid: int,
        pipe: Channel,
        copier: streams.Copier,
        grants: Grants,
        args: list[str],
        growths: list[tuple[Growth, GradtraceError]] | None = None,
    ) -> None:
        self.pid = pid
        self.pipe = pipe
        self.copier = copier
        self.grants = grants
        self.args = args
        self.growths = growths or []
        self.tick = QUICK_TICK if self.growths else TICK
        self.next_look = 0.0
        os.set_blocking(pipe.outgoing, False)  # a child that reads no answers stops only itself
        self.seconds = grants.seconds or 0.0
        self.deadline = None if grants.seconds is None else time.monotonic() + grants.seconds + LATE
        self.outputs = grants.outputs
        self.names: list[str] = []
        self.entries = None if grants.prompt is None else grants.prompt(lambda: self.names)
        self.interrupts = 0
        self.interrupted_at = 0.0
        self.has_ended = False
        self.written: list[str] = []
        self.sent = 0  # bytes that the child has had written to outputs

    def serve(self) -> int:
        """Answer requests until the child ends; return the exit code of the command line."""
        self.pass_on_interrupts()
        try:
            try:
                while self.answered():
                    pass
            except (EOFError, OSError):
                pass  # the child closed its end: it ends, or never asks again
            except KeyboardInterrupt:  # of what was done for the child
                os.kill(self.pid, 2)
            code = self.waited()
            self.check_growth(at_end=True)
            self.copier.finish(-1 if code >= 0 and not self.interrupts else streams.PATIENCE)
            self.check_output()
        except KeyboardInterrupt:  # the child goes on in spite of Ctrl-C
            from gradtrace.cli import report

            self.kill()
            self.copier.finish(streams.PATIENCE)
            return report.interrupted()
        except Ended as end:
            self.kill()
            self.copier.finish(streams.PATIENCE)
            # the child has reported it, and took long to exit
            if self.copier.has_printed(end.report.message):
                return end.report.exit_code
            self.copier.end_line()
            return guard.report_error(end.report, self.args)
        except BaseException:  # this process is to end
            self.kill()
            raise
        finally:
            if self.entries is not None:
                self.entries.close()
        if self.copier.failure is not None:
            return guard.report_error(self.copier.failure, self.args)
        return code if code >= 0 else self.crashed(-code)

    def pass_on_interrupts(self) -> None:
        import _signal  # type: ignore[import-not-found]  # signal itself loads enum

        def pass_on(number: int, frame: Any) -> None:
            if self.has_ended:  # and what it printed is still being copied
                raise KeyboardInterrupt
            self.interrupts += 1
            self.interrupted_at = time.monotonic()
            os.kill(self.pid, _signal.SIGINT if self.interrupts < PATIENCE else _signal.SIGKILL)

        if _signal.getsignal(_signal.SIGINT) is not _signal.SIG_IGN:
            _signal.signal(_signal.SIGINT, pass_on)

    # ---- the child's end

    def waited(self) -> int:
        """Wait for the child's end; return its exit code, or the negative number of the signal that
        ended it.
        """
        while True:
            ended_pid, status = os.waitpid(self.pid, os.WNOHANG)
            if ended_pid:
                self.has_ended = True
                return os.waitstatus_to_exitcode(status)
            self.check_limits()
            time.sleep(0.0005)

    def at_most(self, seconds: float) -> float:
        """Return `seconds`, or what the clock leaves of them."""
        return (
            seconds
            if self.deadline is None
            else max(0.1, min(seconds, self.deadline - time.monotonic()))
        )

    def drawing_limits(self, seconds: float) -> Any:
        """Return the limits of a process that draws for the child, for at most so many seconds."""
        from gradtrace.sandbox import confine

        memory = self.grants.most_memory if self.grants.memory else None
        return confine.Limits(memory=memory, cpu_seconds=cpu_seconds(seconds))

    def kill(self) -> None:
        if not self.has_ended:
            os.kill(self.pid, 9)
            os.waitpid(self.pid, 0)
            self.has_ended = True

    def check_limits(self) -> None:
        """End the child if its time is over or its memory too large, whatever it does about it."""
        self.check_time()
        self.check_output()
        self.check_growth()
        memory, threads = use_of(self.pid)
        if self.grants.memory and (memory > self.grants.most_memory or self.scratch_is_full()):
            from gradtrace.program.budget import out_of_memory

            raise Ended(out_of_memory("memory_bytes"))
        if threads > MOST_THREADS:
            raise Ended(
                GradtraceError(
                    f"the program's process has more than {MOST_THREADS:,} threads", "start fewer"
                )
            )

    def check_growth(self, *, at_end: bool = False) -> None:
        """End the child if all files together that it has written to a folder are too large."""
        for growth, error in self.growths:
            if growth.is_over(self.pid, at_end=at_end):
                raise Ended(error)

    def scratch_is_full(self) -> bool:
        """Whether the nameless file, on some systems in memory, is larger than a drawing needs
        it.
        """
        file = scratch.descriptor()
        return not self.grants.scratch and file >= 0 and os.fstat(file).st_size > MOST_SCRATCH

    def look(self) -> None:
        """Check the limits, at most once in a TICK: also of a child that never stops sending."""
        now = time.monotonic()
        if now >= self.next_look:
            self.next_look = now + self.tick
            self.check_limits()

    def check_time(self) -> None:
        if self.interrupts and time.monotonic() > self.interrupted_at + LAST_WORDS:
            raise KeyboardInterrupt
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise Ended(self.late())

    def check_output(self) -> None:
        if self.copier.over:
            from gradtrace.limits import advice

            said = f"the program's process wrote more than {self.grants.output_bytes} bytes"
            raise Ended(BudgetError(said, advice("output_bytes")))
        for descriptor in (streams.STDOUT, streams.STDERR):
            check_room(descriptor, self.copier.written)

    def late(self) -> BudgetError:
        from gradtrace.limits import advice

        return BudgetError(f"the program ran longer than {self.seconds:g} s", advice("seconds"))

    def crashed(self, number: int) -> int:
        """Report the end of the child by a signal, and return the exit code."""
        import signal

        from gradtrace.cli.exits import Exit

        if number == signal.SIGINT or self.interrupts >= PATIENCE:
            return Exit.INTERRUPTED
        if number == signal.SIGPIPE:
            return Exit.BROKEN_PIPE
        if number == signal.SIGXCPU:
            return guard.report_error(self.late(), self.args)
        name = signal.Signals(number).name
        message = f"the process that ran the program was ended by {name}"
        hint = "please report this with the program"
        if number == signal.SIGKILL:
            hint = "the machine may lack memory: lower --max-memory"
        return guard.report_error(GradtraceError(message, hint), self.args)

    # ---- frames, of which none is trusted

    def receive(self) -> tuple[bytes, bytes]:
        header = self.read(HEADER)
        kind = header[:1]
        size = int.from_bytes(header[1:], "little")
        if kind not in KINDS or size > (PIECE if kind in (DATA, SEEK) else LONGEST_WORD):
            raise garbled()
        return kind, self.read(size)

    def read(self, size: int) -> bytes:
        import select

        parts: list[bytes] = []
        waiting = select.poll()
        waiting.register(self.pipe.incoming, select.POLLIN)
        while size:
            self.look()
            if not waiting.poll(1000 * self.tick):
                continue
            part = os.read(self.pipe.incoming, min(size, PIECE))
            if not part:
                raise EOFError
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def send(self, kind: bytes, body: bytes | memoryview = b"") -> None:
        import select

        left = memoryview(kind + len(body).to_bytes(HEADER - 1, "little") + bytes(body))
        waiting = select.poll()
        waiting.register(self.pipe.outgoing, select.POLLOUT)
        while left:
            self.look()
            if waiting.poll(1000 * self.tick):
                left = left[os.write(self.pipe.outgoing, left) :]

    def say(self, word: dict[str, Any]) -> None:
        import json

        self.send(SAY, json.dumps(word).encode())

    def say_data(self, content: bytes) -> None:
        self.say({"ok": True})
        view = memoryview(content)
        for start in range(0, len(view), PIECE):
            self.send(DATA, view[start : start + PIECE])
        self.send(END)

    def answered(self) -> bool:
        """Answer one request."""
        kind, body = self.receive()
        if kind != ASK:
            raise garbled()
        request = word_of(body)
        from gradtrace.cli import requests

        handler = requests.HANDLERS.get(str(request.get("ask")))
        if handler is None:
            raise garbled()
        # what this process now writes or shows comes after what the child has printed
        self.copier.settle(self.look)
        try:
            handler(self, request)
        except Stopped:
            pass
        except OSError as error:
            self.say(
                {"error": "OSError", "number": error.errno, "message": error.strerror or str(error)}
            )
        except GradtraceError as error:
            self.say({"error": type(error).__name__, "message": error.message, "hint": error.hint})
        return True

    def copy_to(
        self, file: Any, check: Callable[[bytes], None], most: float = float("inf")
    ) -> dict[str, Any]:
        """Copy what the child sends, at most `most` bytes, to a file; return the word at its end.
        The first bytes are checked.
        """
        self.say({"ok": True})
        start = bytearray(16)
        failure = None
        position = size = 0
        while True:
            kind, body = self.receive()
            if kind == DATA:
                if position < len(start):
                    start[position : position + len(body)] = body[: len(start) - position]
                position += len(body)
                size = max(size, position)
                if size > most:
                    raise garbled()
                self.sent += len(body)
                if most == float("inf"):
                    check_room(file.fileno(), self.sent)
                if failure is None:
                    failure = attempted(lambda body=body: file.write(body))  # type: ignore[misc]
            elif kind == SEEK and len(body) == 8:
                position = int.from_bytes(body, "little")
                if position > size:  # a hole, which no writer of gradtrace leaves
                    raise garbled()
                failure = failure or attempted(lambda to=position: file.seek(to))  # type: ignore[misc]
            elif kind == END:
                break
            elif kind == STOP:
                raise Stopped
            else:
                raise garbled()
        if failure is not None:
            raise failure
        check(bytes(start[:size]))
        return word_of(body)

    def content(self) -> bytes:
        """Return what the child sends after a request."""
        import io

        file = io.BytesIO()
        self.copy_to(file, lambda start: None, MOST_CONTENT)
        return file.getvalue()


def growths_of(grants: Grants, temporary: str) -> list[tuple[Growth, GradtraceError]]:
    """Return the measure of each folder that the child may write to, with the error to report when
    it is over.
    """
    from gradtrace.limits import advice

    growths: list[tuple[Growth, GradtraceError]] = []
    if grants.write and grants.output_bytes:
        said = f"the program wrote more than {grants.output_bytes} bytes below '{grants.write}'"
        growth = Growth(grants.write, grants.most_written, grants.largest_file)
        growths.append((growth, BudgetError(said, advice("output_bytes"))))
    if temporary:
        said = f"the program's temporary files are larger than {MOST_SCRATCH >> 20} MB"
        growth = Growth(temporary, MOST_SCRATCH, grants.largest_file)
        growths.append(
            (
                growth,
                BudgetError(said, "keep less in temporary files, or write below --allow-write DIR"),
            )
        )
    return growths


def check_room(descriptor: int, written: int) -> None:
    """End the child if what it has had written, now to this regular file, takes up more than what
    is left free.

    Small outputs are written as long as the disk has room.
    """
    is_large = written > MOST_SCRATCH and stat.S_ISREG(os.fstat(descriptor).st_mode)
    if is_large and written > scratch.free_bytes(descriptor):
        said = "the output takes up more of the disk than it leaves free"
        raise Ended(GradtraceError(said, "make room on the disk, or write to another one"))


def attempted(job: Callable[[], Any]) -> OSError | None:
    """Do the job; return its OSError, which is raised when the child has sent everything."""
    try:
        job()
    except OSError as error:
        return error
    return None


def cpu_seconds(seconds: float) -> int:
    """Return how much processor time a process with a thread on each processor may take in so many
    seconds.
    """
    return int((seconds + 5) * (os.cpu_count() or 1)) + 1


def use_of(pid: int) -> tuple[int, int]:
    """Return the bytes of memory that a process has for itself and its number of threads; 0 where
    the system does not tell.
    """
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            lines = [line.split() for line in file]
    except OSError:
        return 0, 0
    facts = {line[0]: int(line[1]) for line in lines if line and line[0] in FACTS}
    return 1024 * (facts.get(b"RssAnon:", 0) + facts.get(b"RssShmem:", 0)), facts.get(
        b"Threads:", 0
    )


def word_of(body: bytes) -> dict[str, Any]:
    import json

    try:
        word = json.loads(body)
    except (ValueError, RecursionError):
        raise garbled() from None
    if not isinstance(word, dict):
        raise garbled()
    return word


def garbled() -> Ended:
    return Ended(
        GradtraceError(
            "the process that ran the program did not keep to its protocol", "please report this"
        )
    )
