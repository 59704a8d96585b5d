"""The figures of a program, drawn by the real matplotlib after the program has ended.

    drawings = Drawings()                     # lang.run(..., drawings=drawings) fills it
    figures.draw(drawings, tell)              # writes the files into the folder of --allow-write

matplotlib runs in a separate process (`figure_process.py` starts it, `figure_worker.py` is its program), which receives
the calls as plain data and returns bytes. Nothing that it returns is trusted: the names of files come from the recorded
calls, each picture must be of the kind that its name says, and one wrong answer discards all of them. The files are
written here, and only through `lang/permission.py`.
"""

from __future__ import annotations

import json
import os
import struct
from importlib.util import find_spec

from gradtrace.annotations import Any, Callable, NamedTuple
from gradtrace.errors import GradtraceError
from gradtrace.lang import permission
from gradtrace.lang.budget import Meter
from gradtrace.lang.figures import Drawings
from gradtrace.limits import advice
from gradtrace.views.figure_process import draw_calls

LONGEST = 120.0  # seconds of drawing
STARTING = 10.0  # further seconds, for starting matplotlib
MEMORY = 6_000_000_000  # bytes of the drawing process
MARGIN = 1_000_000  # bytes of answers in addition to the pictures: headers and errors
LONGEST_ERROR = 2000  # bytes
HEADER = struct.Struct("!IBI")  # of an answer: the number of its call, its kind, and the length of what follows
PICTURE, ERROR, END = range(3)
SUFFIXES = {".png": "png", ".svg": "svg", ".pdf": "pdf", ".jpg": "jpg", ".jpeg": "jpg"}
STARTS = {"png": b"\x89PNG\r\n\x1a\n", "svg": b"<?xml", "pdf": b"%PDF-", "jpg": b"\xff\xd8\xff"}
MISSING = "matplotlib is not installed, so figures are not drawn: pip install 'gradtrace[plot]'"


class Ending(NamedTuple):
    """A call that makes pictures of one kind: `savefig`, with the name of the file, or `show`, with None."""

    name: str | None
    kind: str


class Reply(NamedTuple):
    """A checked answer of the worker to the call of this number: a picture, or the text of an error."""

    call: int
    content: bytes | str


class WrongAnswer(Exception):
    """Raised for an answer that the worker does not give."""


def draw(drawings: Drawings, tell: Callable[[str], Any]) -> None:
    """Write the figures that the calls save or show; `tell` is called with a line for each figure and each error."""
    meter = drawings.meter
    endings = endings_of(drawings.calls)
    if meter is None or not endings:
        return
    if not is_installed():
        tell(f"gradtrace: {MISSING}\n")
        return
    if os.name == "nt":  # the drawing process inherits a pipe, which Windows does not offer
        tell("gradtrace: figures: a script's figures are not drawn on Windows\n")
        return
    for ending in endings.values():
        if ending.kind not in STARTS:
            formats = ", ".join(STARTS)
            tell(f"gradtrace: figures: savefig: the format '{printable(ending.kind)}' is none of {formats}\n")
    seconds, most = min(meter.budget.seconds, LONGEST), meter.budget.output_bytes + MARGIN
    content, finished = draw_calls(job_of(drawings.calls, endings, seconds), seconds + STARTING, most)
    if len(content) > most:
        limit = meter.budget.output_bytes
        tell(f"gradtrace: figures: they have more than {limit} bytes, so none is written; {advice('output_bytes')}\n")
        return
    try:
        replies = checked_replies(content, len(drawings.calls), endings, finished)
    except WrongAnswer as error:
        tell(f"gradtrace: figures: the drawing process gave a wrong answer ({error}), so no figure is written\n")
        return
    if not finished:
        tell("gradtrace: figures: matplotlib did not finish drawing them\n")
    write(replies, endings, meter, tell)


def is_installed() -> bool:
    return find_spec("matplotlib") is not None


# ---- the calls


def endings_of(calls: list[dict[str, Any]]) -> dict[int, Ending]:
    """Return the calls that make pictures, by their numbers."""
    found = {}
    for number, call in enumerate(calls):
        path: Any = call.get("path")
        if path and path[-1] == [".", "show"]:
            found[number] = Ending(None, "png")
        elif path and path[-1] == [".", "savefig"]:
            found[number] = saved_file(call)
    return found


def saved_file(call: dict[str, Any]) -> Ending:
    """Return the file of a `savefig`: its format decides the suffix, and the suffix the format if there is none."""
    name: str = call["args"][0] if call["args"] else call["kwargs"]["fname"]
    suffix = os.path.splitext(name)[1].lower()
    wanted = call["kwargs"].get("format")
    kind = wanted.lower() if isinstance(wanted, str) else suffix[1:] or "png"
    kind = SUFFIXES.get(f".{kind}", kind)
    return Ending(name if SUFFIXES.get(suffix) == kind else f"{name}.{kind}", kind)


def job_of(calls: list[dict[str, Any]], endings: dict[int, Ending], seconds: float) -> bytes:
    kinds = {str(number): ending.kind for number, ending in endings.items() if ending.kind in STARTS}
    return json.dumps({"calls": calls, "kinds": kinds, "seconds": seconds, "bytes": MEMORY}).encode("ascii")


# ---- the answer


def checked_replies(content: bytes, calls: int, endings: dict[int, Ending], finished: bool) -> list[Reply]:
    """Return the answers that a worker wrote; raise WrongAnswer if figure_worker.py does not write that.

    They have the order of the calls. A call gets at most one answer, `show` a picture of each figure (of which there
    are no more than calls before it) and perhaps an error. The last answer of a worker that was not killed is END.
    """
    replies: list[Reply] = []
    position, last, count = 0, -1, 0
    while position + HEADER.size <= len(content):
        number, kind, size = HEADER.unpack_from(content, position)
        position += HEADER.size
        if kind == END:
            if (number, size, position) != (calls, 0, len(content)):
                raise WrongAnswer("it goes on after its end")
            return replies
        if not last <= number < calls:
            raise WrongAnswer("out of order")
        count = count + 1 if number == last else 1
        if position + size > len(content):
            break
        piece = content[position : position + size]
        position, last = position + size, number
        replies.append(checked_reply(number, kind, piece, endings.get(number)))
        most = number + 1 if number in endings and endings[number].name is None else 1
        if count > most or (count > 1 and type(replies[-2].content) is str):
            raise WrongAnswer("too many answers to one call")
    if finished:
        raise WrongAnswer("it is cut short")
    return replies


def checked_reply(number: int, kind: int, content: bytes, ending: Ending | None) -> Reply:
    if kind == ERROR and len(content) <= LONGEST_ERROR:
        return Reply(number, content.decode("utf-8", "replace"))
    if kind != PICTURE or ending is None:
        raise WrongAnswer("not an answer to its call")
    if not is_picture(content, ending.kind):
        raise WrongAnswer(f"not a picture in the format {printable(ending.kind)}")
    return Reply(number, content)


def is_picture(content: bytes, kind: str) -> bool:
    start = STARTS.get(kind)
    return start is not None and content.startswith(start) and (kind != "svg" or b"<svg" in content[:2000])


# ---- the files


def write(replies: list[Reply], endings: dict[int, Ending], meter: Meter, tell: Callable[[str], Any]) -> None:
    """Write the pictures; those that were shown are figure_1.png, figure_2.png and so on."""
    shown = 0
    for reply in replies:
        if isinstance(reply.content, str):
            tell(f"gradtrace: figures: {printable(reply.content)}\n")
            continue
        name = endings[reply.call].name
        if name is None:
            shown += 1
            name = os.path.join(meter.budget.allow_write, f"figure_{shown}.png")
        try:
            with permission.create(permission.inside(name, meter), meter) as file:
                file.write(reply.content)
                tell(f"gradtrace: figures: wrote {file.name}\n")
        except GradtraceError as error:
            tell(f"gradtrace: figures: {error.message}; {error.hint}\n")
            return


def printable(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text)
