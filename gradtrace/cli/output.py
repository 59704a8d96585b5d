"""Writing results to stdout, whatever it can encode."""

from __future__ import annotations

import sys


def write(text: str) -> None:
    """`text` as it is; where stdout is not UTF-8, what it cannot encode is escaped."""
    stream = sys.stdout
    if stream is None:
        return
    try:
        stream.write(text)
    except UnicodeEncodeError:
        encoding = stream.encoding or "ascii"
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))


def speaks_unicode() -> bool:
    """Whether stdout can show rules, dots and superscripts."""
    return "utf" in (getattr(sys.stdout, "encoding", None) or "").lower()
