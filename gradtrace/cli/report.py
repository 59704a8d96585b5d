"""Report errors on stderr in one form, and return their exit codes.

    file:line:column: what; what to do        or, without a place,  gradtrace eval: what; what to do
        the source line
        ^~~~~

`--errors json` writes one object instead:

    schema "gradtrace/error", version 1, kind (the class of error: "UsageError", "ParseError", "ProgramError", ...),
    exception (for a ProgramError the Python exception: "RuntimeError", else null), message, hint, file, line, column,
    source_line (null without a place), exit_code, forward (for an error in backward the line, column and
    source_line of the operation that was differentiated, else null)

and `--errors github` the text, then a line that GitHub Actions shows as an annotation in the pull
request:

    ::error file=loss.py,line=3,col=5,endColumn=9,title=gradtrace::what; what to do
"""

from __future__ import annotations

import sys

from gradtrace.annotations import Any, NamedTuple
from gradtrace.cli import output
from gradtrace.cli.exits import Exit
from gradtrace.errors import GradtraceError, ProgramError
from gradtrace.views import cells, layout
from gradtrace.views.layout import LayoutOptions

INDENT = "    "
LONG = 4_000  # characters of a message
NARROWEST = 40  # columns of a source line with its margin
LONGEST = 100  # columns of a source line where stderr is not a terminal


class Settings(NamedTuple):
    """The options about reporting errors."""

    form: str = "text"
    debug: bool = False
    color: str | None = None
    args: tuple[str, ...] = ()  # the command line

    @classmethod
    def of(cls, args: list[str]) -> Settings:
        """Read the settings from the raw arguments, since errors can occur before click has parsed
        them.
        """
        return cls(
            _option(args, "--errors") or "text",
            "--debug" in args,
            _option(args, "--color"),
            tuple(args),
        )


def _option(args: list[str], name: str) -> str | None:
    for i, arg in enumerate(args):
        if arg == name and i + 1 < len(args):
            return args[i + 1]
        if arg.startswith(name + "="):
            return arg[len(name) + 1 :]
    return None


class Report(NamedTuple):
    """An error as plain data."""

    kind: str
    exception: str | None
    message: str
    hint: str
    place: Any
    exit_code: int
    prefix: str = "gradtrace"  # stands where the place would
    forward: Any = None  # the place of the operation whose backward failed
    next_command: str = ""  # the command that explains the error, if there is one
    in_torch: str = ""  # the command that runs the program in real PyTorch, if it needs that


def escaped(text: str) -> str:
    """Escape control characters, except line breaks, in a program's text."""
    return "\n".join(map(cells.visible, text.split("\n")))


def shortened(text: str) -> str:
    """Shorten a message that contains a very long name or value, by cutting out its middle."""
    return text if len(text) <= LONG else f"{text[: LONG // 2]}…{text[-LONG // 4 :]}"


def show(error: Exception, settings: Settings) -> int:
    """Write the error to stderr and return the exit code."""
    if settings.debug:
        import traceback

        traceback.print_exception(error, file=sys.stderr)
    report = describe(error)
    if isinstance(error, GradtraceError) and error.missing:
        report = in_torch(report, error, settings)
    report = report._replace(message=shortened(report.message), hint=shortened(report.hint))
    if settings.form == "json":
        write(as_json(report))
        return report.exit_code
    write(
        "\n".join(lines(report, settings)), styled=output.wants_colour(settings.color, sys.stderr)
    )
    if settings.form == "github":
        write(as_annotation(report))
    return report.exit_code


def interrupted() -> int:
    write("gradtrace: interrupted")
    return Exit.INTERRUPTED


def write(text: str, *, styled: bool = False) -> None:
    """Write a line to stderr, without characters that control a terminal; do nothing if stderr is
    closed.
    """
    stream = sys.stderr
    if stream is None:
        return
    text = cells.harmless(text, styled=styled)
    try:
        stream.write(text + "\n")
        stream.flush()
    except UnicodeEncodeError:
        stream.write(text.encode("ascii", "backslashreplace").decode("ascii") + "\n")
    except (OSError, ValueError):
        return


def describe(error: Exception) -> Report:
    """Return the report of any exception that a command may raise."""
    if isinstance(error, ProgramError):
        return program_error(error)
    if isinstance(error, GradtraceError):
        return Report(
            type(error).__name__, None, error.message, error.hint, error.place, error.exit_code
        )
    if is_clicks(error):
        return click_error(error)
    if isinstance(error, MemoryError):
        return Report("MemoryError", None, "out of memory", "use smaller inputs", None, Exit.FAILED)
    if isinstance(error, OSError):
        return Report("OSError", None, _os_message(error), "", None, Exit.FAILED)
    message = f"a fault of gradtrace itself: {type(error).__name__}: {error}"
    return Report(
        "InternalError", type(error).__name__, message, "--debug shows where", None, Exit.INTERNAL
    )


def program_error(error: ProgramError) -> Report:
    cause = error.__cause__
    name, colon, message = error.message.partition(": ")
    if cause is not None:
        name = type(cause).__name__
        message = str(cause)
    elif not colon or not name.isidentifier():
        name = ""
        message = error.message
    return Report(
        "ProgramError",
        name or None,
        message,
        error.hint,
        error.place,
        error.exit_code,
        forward=error.forward,
        next_command=getattr(error, "next_command", ""),
    )


def in_torch(report: Report, error: GradtraceError, settings: Settings) -> Report:
    """Return the report with the command that runs the program in PyTorch, if it needs that."""
    from gradtrace.cli import torch_engine

    if error.hint.startswith(("nearest:", "did you mean")) or not torch_engine.needs_torch(error):
        return report
    is_package = not error.missing.startswith("torch")
    return report._replace(
        message=f"{report.message}: it needs PyTorch" if is_package else report.message,
        hint="" if is_package else report.hint,
        in_torch=torch_engine.command_line(list(settings.args)),
    )


def is_clicks(error: Exception) -> bool:
    """Whether the error is one of click's, found out without importing click."""
    click = sys.modules.get("click")
    return click is not None and isinstance(error, click.ClickException)


# options of earlier versions
RENAMED = {
    "gradtrace map --to": "--format",
    "gradtrace map --from": "--data-format",
    "gradtrace diff --to": "--set-b",
    "gradtrace replay --step": "--step-function",
    "gradtrace tutorial --step": "--start",
}


def click_error(error: Any) -> Report:
    """Return the report of an error that click raised."""
    import click

    path = getattr(getattr(error, "ctx", None), "command_path", "gradtrace")
    close = getattr(error, "possibilities", None)
    unknown = isinstance(error, click.NoSuchOption)
    renamed = RENAMED.get(f"{path} {error.option_name}") if unknown else None
    if renamed is not None:
        close = [renamed]
    message = f"no such option '{error.option_name}'" if unknown else error.format_message()
    message = message.rstrip(".").replace("\n", " ").replace("\t", " ")
    message = message[:1].lower() + message[1:]
    hint = f"did you mean {close[0]}?" if close else getattr(error, "there", f"see {path} --help")
    return Report("UsageError", None, message, hint, None, Exit.USAGE, path)


def _os_message(error: OSError) -> str:
    reason = (error.strerror or str(error)).lower()
    return f"{error.filename}: {reason}" if error.filename else f"cannot write the output: {reason}"


# ---- as text


def lines(report: Report, settings: Settings) -> list[str]:
    """Return the lines of an error report: place, message and hint; the source line; a caret below
    it.
    """
    look = output.look_of(sys.stderr, settings.color)
    message = sentence(report)
    place = layout.paint(where(report) + ":", "bold", look)
    head = [f"{place} {layout.paint(message, 'red', look)}{_hint(report.hint, message)}"]
    body = [*excerpt(report.place, look), *of_forward(report, look)]
    if report.hint and _is_prose(message):
        body.append(f"{layout.paint('hint:', 'bold', look)} {cells.visible(report.hint)}")
    if report.next_command:
        body.append(f"to see why: {cells.visible(report.next_command)}")
    if report.in_torch:
        body.append(cells.visible(report.in_torch))
    return head + body


def sentence(report: Report) -> str:
    """Return the message, after the class name if it is an uncaught Python exception."""
    text = escaped(report.message) if report.exception else cells.visible(report.message)
    if report.exception is None or report.kind == "InternalError":
        return text
    return f"{report.exception}: {text}" if text else report.exception


def _is_prose(message: str) -> bool:
    """PyTorch's messages end with a full stop; after one of those the hint takes a line of its
    own.
    """
    return message.endswith((".", "!", "?")) or len(message) > 160


def _hint(hint: str, message: str) -> str:
    return f"; {cells.visible(hint)}" if hint and not _is_prose(message) else ""


def of_forward(report: Report, look: LayoutOptions) -> list[str]:
    """Return the lines about the forward operation whose backward failed, if it has another
    place.
    """
    place = report.forward
    start = report.place
    if place is None or (
        start is not None and (place.line, place.column) == (start.line, start.column)
    ):
        return []
    at = layout.paint(spot(place) + ":", "bold", look)
    return [f"{at} in the backward of this", *excerpt(place, look)]


def spot(place: Any) -> str:
    return f"{cells.visible(place.name)}:{place.line}:{place.column}"


def where(report: Report) -> str:
    place = report.place
    return report.prefix if place is None else spot(place)


def excerpt(place: Any, look: LayoutOptions) -> list[str]:
    """Return the source line, cut to the terminal's width around the place, and a line with a
    caret.
    """
    if place is None or not place.text:
        return []
    columns = max(NARROWEST, look.width or LONGEST) - len(INDENT)
    text, start, length = window(place.text, place.column - 1, max(1, place.width), columns)
    mark = (
        " " * cells.width(text[:start])
        + "^"
        + "~" * (max(1, cells.width(text[start : start + length])) - 1)
    )
    return [INDENT + layout.code(text, look), INDENT + layout.paint(mark, "green", look)]


def window(source: str, column: int, length: int, columns: int) -> tuple[str, int, int]:
    """Return a part of a source line, at most `columns` wide, and the start and length of the
    marked text in it.
    """
    before = source[:column]
    marked = source[column : column + length]
    after = source[column + length :]
    before, marked, after = (
        cells.visible(part) for part in (before.lstrip(), marked, after.rstrip())
    )
    text = before + marked + after
    if cells.width(text) <= columns:
        return text, len(before), len(marked)
    if cells.width(before) > columns // 2:
        before = "…" + before[-(columns // 3) :]
    text = cells.clip(before + marked + after, columns)
    return text, len(before), max(1, min(len(marked), len(text) - len(before) - 1))


def clip(text: str, columns: int = 40) -> str:
    """Return a user's word for use in an error message: on one line and not too long."""
    return cells.clip(cells.visible(text), columns)


# ---- for GitHub

ESCAPES = {"%": "%25", "\r": "%0D", "\n": "%0A"}
IN_PROPERTIES = {**ESCAPES, ":": "%3A", ",": "%2C"}


def as_annotation(report: Report) -> str:
    """Return the workflow command that annotates a line of a file, or the whole run without a place
    in a file.

    https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands#setting-an-error-message
    """
    place = report.place
    message = sentence(report)
    facts = {"title": report.prefix}
    if place is not None and not place.name.startswith("<"):
        ends = {
            "line": place.line,
            "col": place.column,
            "endColumn": place.column + max(1, place.width),
        }
        facts = {"file": place.name.removeprefix("./"), **ends, **facts}
    named = ",".join(f"{name}={_escaped(str(fact), IN_PROPERTIES)}" for name, fact in facts.items())
    said = "; ".join(
        filter(None, (message, cells.visible(report.hint), cells.visible(report.in_torch)))
    )
    return f"::error {named}::{_escaped(said, ESCAPES)}"


def _escaped(text: str, escapes: dict[str, str]) -> str:
    return "".join(escapes.get(char, char) for char in text)


# ---- as JSON


def as_json(report: Report) -> str:
    import json

    place = report.place
    document = {
        "schema": "gradtrace/error",
        "version": 1,
        "kind": report.kind,
        "exception": report.exception,
        "message": report.message,
        "hint": "; ".join(filter(None, (report.hint, report.in_torch))),
        "file": place.name if place else None,
        **(as_plain(place) or dict.fromkeys(("line", "column", "source_line"))),
        "exit_code": int(report.exit_code),
        "forward": as_plain(report.forward),
    }
    return json.dumps(document)


def as_plain(place: Any) -> dict[str, Any] | None:
    return (
        None
        if place is None
        else {"line": place.line, "column": place.column, "source_line": place.text}
    )
