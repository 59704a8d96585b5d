"""What a confined process may ask of its broker.

Each handler gets the broker and the request, a JSON object that nobody trusts; it ends the child if
that is not what the child's own code would send. Names and paths come from the command line, which
`broker.grants` was made of.
"""

from __future__ import annotations

import io
import os
import time

from gradtrace.annotations import Any, Callable
from gradtrace.cli.broker import LATE, Broker, garbled, word_of
from gradtrace.errors import UsageError

Request = dict[str, Any]
MOST_DPI = 100_000
MOST_PIXELS = 65_536  # of a film's side
MOST_SECONDS = 86_400
MARKUP = (".html", ".svg")  # what a browser would run scripts of
MOST_MARKUP = 256 << 20  # bytes of such a file


def write_output(broker: Broker, request: Request) -> None:
    """Write an output of the command line, if what the child sends is of its kind."""
    from gradtrace import files

    name, path = output_of(broker, request)
    if name != path:
        make_log_folder(name)

    suffix = os.path.splitext(path)[1].lower()

    def fill(file: Any) -> None:
        if suffix not in MARKUP:
            broker.copy_to(file, lambda start: check_kind(path, start))
            return
        whole = io.BytesIO()
        broker.copy_to(whole, lambda start: check_kind(path, start), MOST_MARKUP)
        from gradtrace.views import markup

        markup.check(whole.getvalue(), suffix)
        file.write(whole.getvalue())

    files.write_output(path, fill)
    broker.written.append(path)
    broker.say({"ok": True})


def output_of(broker: Broker, request: Request) -> tuple[str, str]:
    """Return the name and the path of the output that a request names by its number."""
    number = request.get("output")
    if type(number) is not int or not 0 <= number < len(broker.outputs):
        raise garbled()
    return broker.outputs[number]


def check_kind(path: str, start: bytes) -> None:
    """Raise UsageError if the first bytes of an output do not fit its suffix."""
    from gradtrace.cli import destination

    suffix = os.path.splitext(path)[1].lower()
    beginnings = destination.BEGINNINGS.get(suffix)
    if suffix == ".mp4":
        beginnings = (b"ftyp",)
        start = start[4:]
    if beginnings is not None and not start.lower().startswith(beginnings):
        raise UsageError(
            f"what the program's process made is not a {suffix} file", "please report this"
        )


def make_log_folder(name: str) -> None:
    """Create the folder of --tensorboard."""
    try:
        os.makedirs(name, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageError(
            f"cannot write into '{name}': {reason}", "choose another --tensorboard"
        ) from error


def show_output(broker: Broker, request: Request) -> None:
    """Show an output in the browser, once, that was written before: graph --open."""
    from gradtrace.cli.commands import graph

    _, path = output_of(broker, request)
    if not broker.grants.shows or path not in broker.written:
        raise garbled()
    broker.grants = broker.grants._replace(shows=False)
    graph.show_file(path)
    broker.say({"ok": True})


# ---- the parts of a table


def part_folder(broker: Broker) -> Any:
    from gradtrace.batch import parts

    if not broker.grants.folder:
        raise garbled()
    return parts.Folder(broker.grants.folder)


def prepare_parts(broker: Broker, request: Request) -> None:
    facts = request.get("facts")
    resume = request.get("resume")
    if not isinstance(facts, dict) or type(resume) is not bool:
        raise garbled()
    broker.say({"ok": True, "there": part_folder(broker).prepare(facts, resume)})


def write_part(broker: Broker, request: Request) -> None:
    from gradtrace.batch import formats

    first = request.get("first")
    kind = request.get("kind")
    if not is_row(first) or kind not in formats.FORMATS:
        raise garbled()

    def fill(stream: Any) -> dict[str, int]:
        word = broker.copy_to(stream, lambda start: check_kind(f"part.{kind}", start))
        if not is_row(word.get("end")) or not is_row(word.get("bad")):
            raise garbled()
        return {"end": word["end"], "bad": word["bad"]}

    part_folder(broker).write(first, kind, fill)
    broker.say({"ok": True})


def finish_parts(broker: Broker, request: Request) -> None:
    if not is_row(request.get("rows")):
        raise garbled()
    part_folder(broker).finish(request["rows"])
    broker.say({"ok": True})


def is_row(value: object) -> bool:
    """Whether a value is a number of rows, of at most twelve digits."""
    return is_count(value, 10**12)


def is_count(value: object, most: int) -> bool:
    return type(value) is int and 0 <= value <= most


def is_seconds(value: object) -> bool:
    return type(value) in (int, float) and 0 <= value <= MOST_SECONDS  # type: ignore[operator]


# ---- drawing


def render(broker: Broker, request: Request) -> None:
    """Draw DOT texts in another confined process, which can be stopped."""
    from gradtrace.views import image

    format = request.get("format")
    dpi = request.get("dpi")
    limit = request.get("time_limit")
    if format not in image.FORMATS or not is_count(dpi, MOST_DPI) or not is_seconds(limit):
        raise garbled()
    text = broker.content()
    with Interruptible():
        seconds = broker.at_most(float(str(limit)))
        picture = image.drawn_apart(
            text, str(format), int(str(dpi)), seconds, broker.drawing_limits(seconds)
        )
    broker.say_data(picture)


def film(broker: Broker, request: Request) -> None:
    """Have ffmpeg, confined, join frames to an MP4."""
    from gradtrace.views import animation

    sides = request.get("width"), request.get("height")
    if not all(is_count(side, MOST_PIXELS) and side for side in sides):
        raise garbled()
    frames = broker.content()
    with Interruptible():
        seconds = broker.at_most(600.0)
        limits = broker.drawing_limits(seconds)
        encoded = animation.encoded(frames, int(str(sides[0])), int(str(sides[1])), seconds, limits)
    broker.say_data(encoded)


# ---- the rest


def list_tensorboards(broker: Broker, request: Request) -> None:
    from gradtrace.views import tensorboard_notebook

    broker.say({"ok": True, "running": tensorboard_notebook.running()})


def read_entry(broker: Broker, request: Request) -> None:
    """Read the next entry of `gradtrace repl`, without a clock; then the clock runs until the child
    asks again.
    """
    from gradtrace.cli import output, prompt

    names = request.get("names")
    if (
        broker.entries is None
        or not isinstance(names, list)
        or not all(isinstance(name, str) for name in names)
    ):
        raise garbled()
    # Tab writes them to a terminal
    broker.names, broker.deadline = list(filter(str.isprintable, names)), None
    with Interruptible():
        entry = next(broker.entries, None)
    broker.interrupts = 0
    broker.copier.left = broker.grants.printed
    outputs = [] if entry is None else prompt.outputs_of(entry)
    broker.outputs = tuple((name, name) for name in outputs)
    broker.seconds = broker.grants.entry_seconds
    broker.deadline = time.monotonic() + broker.seconds + LATE
    broker.say({"ok": True, "text": entry, "outputs": outputs, "columns": output.columns()})


class Interruptible:
    """Context manager: Ctrl-C raises KeyboardInterrupt in this process, at a prompt and in work for
    the child.
    """

    def __enter__(self) -> None:
        import _signal  # type: ignore[import-not-found]  # signal itself loads enum

        self.before = _signal.getsignal(_signal.SIGINT)
        if self.before is not _signal.SIG_IGN:
            _signal.signal(_signal.SIGINT, _signal.default_int_handler)

    def __exit__(self, *_: object) -> None:
        import _signal

        _signal.signal(_signal.SIGINT, self.before)


def ask_torch(broker: Broker, request: Request) -> None:
    """Run the program in real PyTorch: `check --against torch`."""
    if broker.grants.torch is None:
        raise garbled()
    inputs = word_of(broker.content())
    with Interruptible():
        answer = broker.grants.torch(inputs)
    broker.say_data(answer)


def run_command(broker: Broker, request: Request) -> None:
    """Run a command line of the document that `verify` reads, in a process of its own that gets no
    right.
    """
    from gradtrace.cli import console

    words = request.get("words")
    if broker.grants.commands is None or not console.are_words(words):
        raise garbled()
    program = broker.content()
    with Interruptible():
        answer = broker.grants.commands(words, program, broker.at_most(broker.seconds))  # type: ignore[arg-type]
    if not answer:
        raise garbled()
    broker.say_data(answer)


def ask_cluster(broker: Broker, request: Request) -> None:
    """Have a cluster compute the parts of a table: `map --scheduler`."""
    if broker.grants.cluster is None:
        raise garbled()
    word = word_of(broker.content())
    if set(word) != {"table", "there", "constants"}:
        raise garbled()
    try:
        with Interruptible():
            answer = broker.grants.cluster(word)
    except (AttributeError, TypeError, ValueError):
        raise garbled() from None
    broker.say_data(answer)


HANDLERS: dict[str, Callable[[Broker, Request], None]] = {
    "write": write_output,
    "open": show_output,
    "prepare": prepare_parts,
    "part": write_part,
    "finish": finish_parts,
    "render": render,
    "film": film,
    "tensorboards": list_tensorboards,
    "entry": read_entry,
    "torch": ask_torch,
    "cluster": ask_cluster,
    "command": run_command,
}
