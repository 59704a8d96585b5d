"""Whether to colour: the one place that decides it."""

from __future__ import annotations

import os

from gradtrace.annotations import Any

CHOICES = ("auto", "always", "never")


def wanted(choice: str | None, stream: Any) -> bool:
    """Whether output to `stream` is coloured: --color over NO_COLOR over FORCE_COLOR over whether it is a terminal."""
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
