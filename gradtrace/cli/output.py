"""Print results to stdout, in its encoding and its width: for a terminal in colours, for a pipe
plain, or as data.
"""

from __future__ import annotations

import os
import sys

from gradtrace.annotations import TYPE_CHECKING, Any, Callable
from gradtrace.views import cells
from gradtrace.views.layout import LayoutOptions

if TYPE_CHECKING:
    from gradtrace.cli.options import Look

# characters at a time: an unbuffered stream does not tell that it wrote only a part of a long text
CHUNK = 8192
FALLBACK = 80  # columns, where the terminal does not say


class _State:
    """Whether text for stdout has styles."""

    __slots__ = ("is_styled",)

    def __init__(self) -> None:
        self.is_styled = False


state = _State()


def write(text: str) -> None:
    """Write `text` to stdout; escape characters that its encoding lacks, and those that would
    control a terminal.
    """
    stream = sys.stdout
    if stream is None:
        return
    text = cells.harmless(text, styled=state.is_styled)
    for start in range(0, len(text), CHUNK):
        part = text[start : start + CHUNK]
        try:
            stream.write(part)
        except UnicodeEncodeError:
            encoding = stream.encoding or "ascii"
            stream.write(part.encode(encoding, "backslashreplace").decode(encoding))


def write_json(data: Any) -> None:
    """Write plain data as one JSON document, with an end of line."""
    from gradtrace.views.rows import dumps

    write(dumps(data) + "\n")


def wants_colour(choice: str | None, stream: Any) -> bool:
    """Whether to colour output to `stream`: by --color, else NO_COLOR, else FORCE_COLOR, else if it
    is a terminal.
    """
    if choice in ("always", "never"):
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    force = os.environ.get("FORCE_COLOR")
    if force:
        return force not in ("0", "false")
    return is_terminal(stream) and os.environ.get("TERM") != "dumb"


def is_terminal(stream: Any) -> bool:
    """Whether `stream` (which may be None, or closed) is a terminal."""
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):
        return False


def columns() -> int:
    """Return the width of the terminal like shutil.get_terminal_size, without importing the slow
    shutil.
    """
    try:
        asked = int(os.environ["COLUMNS"])
    except (KeyError, ValueError):
        asked = 0
    if asked > 0:
        return asked
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or FALLBACK  # type: ignore[union-attr]
    except (AttributeError, ValueError, OSError):
        return FALLBACK


def look_of(stream: Any, color: str | None = None) -> LayoutOptions:
    """Return the layout options that fit a stream: its width if it is a terminal, colours, and
    whether it has letters for lines, dots and superscripts. `color` is the choice of --color.
    """
    width = columns() if is_terminal(stream) else None
    speaks_unicode = "utf" in (getattr(stream, "encoding", None) or "").lower()
    return LayoutOptions(width, wants_colour(color, stream), not speaks_unicode)


def options(look: Look) -> LayoutOptions:
    """Return the layout options that fit stdout."""
    chosen = look_of(sys.stdout, look.color)
    state.is_styled = chosen.color
    return chosen._replace(all=look.all)


def show(
    look: Look, as_text: Callable[..., str], as_data: Callable[..., str], *results: Any
) -> None:
    """Print results: by `as_text`, which gets layout options, or by `as_data`, which gets a
    format.
    """
    write(
        as_text(*results, options(look))
        if look.format == "table"
        else as_data(*results, look.format)
    )
