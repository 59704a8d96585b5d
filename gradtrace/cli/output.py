"""Write results to stdout in its encoding."""

from __future__ import annotations

import sys

from gradtrace.annotations import Any
from gradtrace.views import cells

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


def speaks_unicode() -> bool:
    """Whether stdout's encoding has box-drawing lines, dots and superscripts."""
    return "utf" in (getattr(sys.stdout, "encoding", None) or "").lower()
