"""Print results to stdout, in its encoding and its width: for a terminal in colours, for a pipe plain, or as data."""

from __future__ import annotations

import sys

from gradtrace.annotations import TYPE_CHECKING, Any, Callable
from gradtrace.cli import colour
from gradtrace.views import cells
from gradtrace.views.layout import LayoutOptions

if TYPE_CHECKING:
    from gradtrace.cli.options import Look

CHUNK = 8192  # characters at a time: an unbuffered stream does not tell that it wrote only a part of a long text


class _State:
    """Whether text for stdout has styles."""

    __slots__ = ("is_styled",)

    def __init__(self) -> None:
        self.is_styled = False


state = _State()


def write(text: str) -> None:
    """Write `text` to stdout; escape characters that its encoding lacks, and those that would control a terminal."""
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


def speaks_unicode(stream: Any) -> bool:
    """Whether the encoding of `stream` has box-drawing lines, dots and superscripts."""
    return "utf" in (getattr(stream, "encoding", None) or "").lower()


def options(look: Look) -> LayoutOptions:
    """Return the layout options that fit stdout."""
    width = colour.columns() if colour.is_terminal(sys.stdout) else None
    state.is_styled = colour.wanted(look.color, sys.stdout)
    return LayoutOptions(width, state.is_styled, not speaks_unicode(sys.stdout), look.all)


def show(look: Look, as_text: Callable[..., str], as_data: Callable[..., str], *results: Any) -> None:
    """Print results: by `as_text`, which gets layout options, or by `as_data`, which gets a format."""
    write(as_text(*results, options(look)) if look.format == "table" else as_data(*results, look.format))
