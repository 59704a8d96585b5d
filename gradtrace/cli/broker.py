"""Run the rest of a command line in a confined child; this process keeps the rights, and uses them on request.

`confine` forks. In the child it returns, with the rights given up: the child parses, runs and draws the program, and
prints. The parent never returns from it: it answers the child's requests, watches the clock, and exits with the child's
exit code. What a request may lead to is decided by the command line alone, which the parent has read before the fork:
the child names an output by its number, never by a path.

    child                                       parent
    reads the source, runs it, prints           waits; ends the child at the deadline
    "write", output 0, bytes                    writes the file that -o names, if the bytes are of its kind
    "render", DOT                               draws in a confined process, returns the picture
    "figures", plotting calls                   the same, by matplotlib
    "open"                                      shows the written file in the browser
    "torch"                                     runs the program in real PyTorch (check --against torch)
"""

from __future__ import annotations

import os
import sys
import time

from gradtrace.annotations import TYPE_CHECKING, Any, Callable, NamedTuple
from gradtrace.cli import guard
from gradtrace.errors import BudgetError, GradtraceError, UsageError
from gradtrace.sandbox import channel
from gradtrace.sandbox.channel import ASK, DATA, END, HEADER, KINDS, LONGEST_WORD, PIECE, SAY, SEEK, STOP, Channel

if TYPE_CHECKING:
    from collections.abc import Generator

LATE = 0.25  # seconds that the child has, after its deadline, to say so itself
PATIENCE = 3  # interrupts until a child that does not end is killed


class Grants(NamedTuple):
    """What a command line asks for, beyond computing and printing.

    read      files and folders that the child may read
    write     the folder of --allow-write, or ""
    outputs   the names of the files to write, each with its path
    seconds   time limit, or None
    memory    bytes of the program's values
    process   bytes of address space
    written   bytes of a file below `write`
    torch     runs the program in real PyTorch on inputs that the child describes: `check --against torch`
    folder    the folder for the parts of a table, or ""
    scratch   a folder for a nameless file of intermediate results, or ""
    prompt    yields the entries of `gradtrace repl`, of which each may take `entry_seconds`; gets the names to complete
    """

    read: tuple[str, ...] = ()
    write: str = ""
    outputs: tuple[tuple[str, str], ...] = ()
    seconds: float | None = None
    memory: int = 0
    process: int = 0
    written: int = 0
    torch: Callable[[dict[str, Any]], bytes] | None = None
    folder: str = ""
    scratch: str = ""
    prompt: Callable[[Callable[[], list[str]]], Generator[str, None, None]] | None = None
    entry_seconds: float = 0.0


class _State:
    """`enabled`: the process is the command line's own, and may fork."""

    __slots__ = ("enabled",)

    def __init__(self) -> None:
        self.enabled = False


state = _State()


def enable() -> None:
    """Confine the programs of this process's command line; only the console script asks for that."""
    state.enabled = hasattr(os, "fork")


def confine(grants: Grants, args: list[str]) -> None:
    """Fork; return in the child, which is confined, and end in the parent as the child ends."""
    if not state.enabled or channel.is_open():
        return
    made = make_folder(grants.write)
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    requests, answers = os.pipe(), os.pipe()
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        os.close(requests[0])
        os.close(answers[1])
        from gradtrace.cli import confined

        confined.begin(grants, Channel(answers[0], requests[1]), parent)
        return
    os.close(requests[1])
    os.close(answers[0])
    broker = Broker(pid, Channel(requests[0], answers[1]), grants, args)
    try:
        status = broker.serve()
    finally:
        remove_folders(made)
    raise SystemExit(status)


def make_folder(path: str) -> list[str]:
    """Create a folder, since rights can be granted only for what is there; return the new folders, innermost first."""
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


def remove_folders(made: list[str]) -> None:
    """Remove the new folders into which nothing was written."""
    for folder in made:
        try:
            os.rmdir(folder)
        except OSError:
            return


class Ended(Exception):
    """The child is to be killed; `report` is the error to show."""

    def __init__(self, report: GradtraceError) -> None:
        self.report = report


class interruptible:
    """Context manager: Ctrl-C raises KeyboardInterrupt here, as at a prompt."""

    def __enter__(self) -> None:
        import _signal

        self.before = _signal.getsignal(_signal.SIGINT)
        if self.before is not _signal.SIG_IGN:
            _signal.signal(_signal.SIGINT, _signal.default_int_handler)

    def __exit__(self, *_: object) -> None:
        import _signal

        _signal.signal(_signal.SIGINT, self.before)


class Stopped(Exception):
    """The child gave up what it was sending, and expects no answer."""


class Broker:
    """The parent's side of a confined child."""

    def __init__(self, pid: int, pipe: Channel, grants: Grants, args: list[str]) -> None:
        self.pid, self.pipe, self.grants, self.args = pid, pipe, grants, args
        self.seconds = grants.seconds
        self.deadline = None if grants.seconds is None else time.monotonic() + grants.seconds + LATE
        self.outputs = grants.outputs
        self.names: list[str] = []
        self.entries = None if grants.prompt is None else grants.prompt(lambda: self.names)
        self.interrupts = 0
        self.written: list[str] = []

    def serve(self) -> int:
        """Answer requests until the child ends; return the exit code of the command line."""
        self.pass_on_interrupts()
        try:
            try:
                while self.answered():
                    pass
            except (EOFError, OSError):
                pass  # the child closed its end: it ends, or never asks again
            code = self.waited()
        except Ended as end:
            self.kill()
            return guard.report_error(end.report, self.args)
        finally:
            if self.entries is not None:
                self.entries.close()
        return code if code >= 0 else self.crashed(-code)

    def pass_on_interrupts(self) -> None:
        import _signal

        def pass_on(number: int, frame: Any) -> None:
            self.interrupts += 1
            os.kill(self.pid, _signal.SIGINT if self.interrupts < PATIENCE else _signal.SIGKILL)

        if _signal.getsignal(_signal.SIGINT) is not _signal.SIG_IGN:
            _signal.signal(_signal.SIGINT, pass_on)

    # ---- the child's end

    def waited(self) -> int:
        """Wait for the child's end; return its exit code, or the negative number of the signal that ended it."""
        while True:
            if self.deadline is None:
                _, status = os.waitpid(self.pid, 0)
                return os.waitstatus_to_exitcode(status)
            found, status = os.waitpid(self.pid, os.WNOHANG)
            if found:
                return os.waitstatus_to_exitcode(status)
            self.check_clock()
            time.sleep(0.0005)

    def kill(self) -> None:
        os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)

    def check_clock(self) -> None:
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise Ended(self.late())

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
        what, hint = f"the process that ran the program was ended by {name}", "please report this with the program"
        if number == signal.SIGKILL:
            hint = "the machine may lack memory: lower --max-memory"
        return guard.report_error(GradtraceError(what, hint), self.args)

    # ---- frames, of which none is trusted

    def receive(self) -> tuple[bytes, bytes]:
        header = self.read(HEADER)
        kind, size = header[:1], int.from_bytes(header[1:], "little")
        if kind not in KINDS or size > (PIECE if kind in (DATA, SEEK) else LONGEST_WORD):
            raise garbled()
        return kind, self.read(size)

    def read(self, size: int) -> bytes:
        import select

        parts: list[bytes] = []
        waiting = select.poll()
        waiting.register(self.pipe.incoming, select.POLLIN)
        while size:
            left = None if self.deadline is None else max(0, self.deadline - time.monotonic()) * 1000 + 1
            if not waiting.poll(left):
                self.check_clock()
                continue
            part = os.read(self.pipe.incoming, min(size, PIECE))
            if not part:
                raise EOFError
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def say(self, word: dict[str, Any]) -> None:
        import json

        self.pipe.send(SAY, json.dumps(word).encode())

    def say_data(self, content: bytes) -> None:
        self.say({"ok": True})
        view = memoryview(content)
        for start in range(0, len(view), PIECE):
            self.pipe.send(DATA, view[start : start + PIECE])
        self.pipe.send(END)

    def answered(self) -> bool:
        """Answer one request."""
        kind, body = self.receive()
        if kind != ASK:
            raise garbled()
        request = word_of(body)
        handler = HANDLERS.get(request.get("ask", ""))
        if handler is None:
            raise garbled()
        try:
            handler(self, request)
        except Stopped:
            pass
        except OSError as error:
            self.say({"error": "OSError", "number": error.errno, "message": error.strerror or str(error)})
        except GradtraceError as error:
            self.say({"error": type(error).__name__, "message": error.message, "hint": error.hint})
        return True

    # ---- requests

    def output(self, request: dict[str, Any]) -> tuple[str, str]:
        """Return the name and the path of the output that a request names by its number."""
        number = request.get("output")
        if type(number) is not int or not 0 <= number < len(self.outputs):
            raise garbled()
        return self.outputs[number]

    def write(self, request: dict[str, Any]) -> None:
        """Write an output of the command line."""
        from gradtrace import files

        name, path = self.output(request)
        if name != path:
            make_log_folder(name)
        files.write_output(path, lambda file: self.copy_to(file, lambda start: check_kind(path, start)))
        self.written.append(path)
        self.say({"ok": True})

    def copy_to(self, file: Any, check: Callable[[bytes], None]) -> dict[str, Any]:
        """Copy what the child sends to a file; return the word at its end. The first bytes are checked."""
        self.say({"ok": True})
        start, failure = bytearray(16), None
        position = filled = 0
        while True:
            kind, body = self.receive()
            if kind == DATA:
                if position < len(start):
                    start[position : position + len(body)] = body[: len(start) - position]
                    filled = min(len(start), max(filled, position + len(body)))
                position += len(body)
                if failure is None:
                    failure = attempted(lambda body=body: file.write(body))  # type: ignore[misc]
            elif kind == SEEK and len(body) == 8:
                position = int.from_bytes(body, "little")
                failure = failure or attempted(lambda to=position: file.seek(to))  # type: ignore[misc]
            elif kind == END:
                break
            elif kind == STOP:
                raise Stopped
            else:
                raise garbled()
        if failure is not None:
            raise failure
        check(bytes(start[:filled]))
        return word_of(body)

    def parts(self) -> Any:
        """Return the folder for the parts of a table."""
        from gradtrace.batch import parts

        if not self.grants.folder:
            raise garbled()
        return parts.Folder(self.grants.folder)

    def prepare_parts(self, request: dict[str, Any]) -> None:
        facts, resume = request.get("facts"), request.get("resume")
        if not isinstance(facts, dict) or type(resume) is not bool:
            raise garbled()
        self.say({"ok": True, "there": self.parts().prepare(facts, resume)})

    def write_part(self, request: dict[str, Any]) -> None:
        from gradtrace.batch import formats

        first, kind = request.get("first"), request.get("kind")
        if not is_row(first) or kind not in formats.FORMATS:
            raise garbled()

        def fill(stream: Any) -> dict[str, int]:
            word = self.copy_to(stream, lambda start: check_kind(f".{kind}", start))
            if not is_row(word.get("end")) or not is_row(word.get("bad")):
                raise garbled()
            return {"end": word["end"], "bad": word["bad"]}

        self.parts().write(first, kind, fill)
        self.say({"ok": True})

    def finish_parts(self, request: dict[str, Any]) -> None:
        if not is_row(request.get("rows")):
            raise garbled()
        self.parts().finish(request["rows"])
        self.say({"ok": True})

    def content(self) -> bytes:
        """Return what the child sends after a request."""
        import io

        file = io.BytesIO()
        self.copy_to(file, lambda start: None)
        return file.getvalue()

    def render(self, request: dict[str, Any]) -> None:
        """Draw DOT texts in a confined process."""
        from gradtrace.views import image

        format, dpi = request.get("format"), request.get("dpi")
        limit = request.get("time_limit")
        if format not in image.FORMATS or type(dpi) is not int or type(limit) not in (int, float):
            raise garbled()
        text = self.content()
        left = limit if self.deadline is None else min(limit, self.deadline - time.monotonic())
        self.say_data(image.drawn_apart(text, format, dpi, max(0.1, left)))

    def draw_figures(self, request: dict[str, Any]) -> None:
        """Have matplotlib draw recorded plotting calls in a confined process."""
        from gradtrace.views import figure_process

        self.say_data(figure_process.answers(self.content()))

    def open(self, request: dict[str, Any]) -> None:
        """Show a file in the browser that was written before."""
        from gradtrace.cli.commands import graph

        _, path = self.output(request)
        if path not in self.written:
            raise garbled()
        graph.show_file(path)
        self.say({"ok": True})

    def list_tensorboards(self, request: dict[str, Any]) -> None:
        from gradtrace.views import summary

        self.say({"ok": True, "running": summary.running()})

    def read_entry(self, request: dict[str, Any]) -> None:
        """Read the next entry of `gradtrace repl`, without a clock; then the clock runs until the child asks again."""
        from gradtrace.cli import prompt

        names = request.get("names")
        if self.entries is None or not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise garbled()
        self.names, self.deadline = names, None
        with interruptible():
            entry = next(self.entries, None)
        self.interrupts = 0
        outputs = [] if entry is None else prompt.outputs_of(entry)
        self.outputs = tuple((name, name) for name in outputs)
        self.seconds = self.grants.entry_seconds
        self.deadline = time.monotonic() + self.seconds + LATE
        self.say({"ok": True, "text": entry, "outputs": outputs})

    def ask_torch(self, request: dict[str, Any]) -> None:
        if self.grants.torch is None:
            raise garbled()
        self.say_data(self.grants.torch(word_of(self.content())))


HANDLERS: dict[str, Callable[[Broker, dict[str, Any]], None]] = {
    "write": Broker.write,
    "prepare": Broker.prepare_parts,
    "part": Broker.write_part,
    "finish": Broker.finish_parts,
    "render": Broker.render,
    "figures": Broker.draw_figures,
    "open": Broker.open,
    "tensorboards": Broker.list_tensorboards,
    "entry": Broker.read_entry,
    "torch": Broker.ask_torch,
}


def is_row(value: object) -> bool:
    """Whether a value is a number of rows, of at most twelve digits."""
    return type(value) is int and 0 <= value < 10**12


def make_log_folder(name: str) -> None:
    """Create the folder of --tensorboard."""
    try:
        os.makedirs(name, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageError(f"cannot write into '{name}': {reason}", "choose another --tensorboard") from error


def attempted(job: Callable[[], Any]) -> OSError | None:
    """Do the job; return its OSError, which is raised when the child has sent everything."""
    try:
        job()
    except OSError as error:
        return error
    return None


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
    return Ended(GradtraceError("the process that ran the program did not keep to its protocol", "please report this"))


def check_kind(path: str, start: bytes) -> None:
    """Raise UsageError if the first bytes of an output do not fit its suffix."""
    from gradtrace.cli import destination

    suffix = os.path.splitext(path)[1].lower()
    beginnings = destination.BEGINNINGS.get(suffix)
    if beginnings is not None and not start.lower().startswith(beginnings):
        raise UsageError(f"what the program's process made is not a {suffix} file", "please report this")
