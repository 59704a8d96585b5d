"""The exit codes of every command."""

from __future__ import annotations


class Exit:
    """The exit codes of the process."""

    OK = 0
    FAILED = 1  # the computation or a check failed
    USAGE = 2  # usage, syntax or input
    INTERNAL = 70  # a fault of gradtrace itself
    INTERRUPTED = 130  # Ctrl-C
    BROKEN_PIPE = 141  # the reader of our output has gone
