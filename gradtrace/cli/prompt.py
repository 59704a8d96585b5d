"""Read the entries of `gradtrace repl` from a terminal or a pipe.

An entry is a statement, of one or more lines, or a line that begins with a colon. At a terminal a compound statement
ends at an empty line, as at Python's prompt; in a pipe it ends before the next statement, so that the functions of
a script may contain empty lines.
"""

from __future__ import annotations

import codeop
import os
import re
import sys
import warnings
from collections.abc import Callable, Generator, Iterator
from typing import Any

from gradtrace import __version__
from gradtrace.cli import colour, report

FIRST, MORE = ">>> ", "... "
GOES_ON = re.compile(r"\s|(else|elif|except|finally)\b|#")  # how a line begins that belongs to the statement above
HISTORY = 10_000  # entries of a history file
WELCOME = "gradtrace {version}. :help lists the commands, Ctrl-D ends."
WORD_ENDS = " \t\n\"\\'`@$><=;|&{}()[]+-*/%,~^!"


def is_complete(text: str) -> bool:
    """Whether an entry needs no more lines: it is a statement, or has an error that more lines cannot fix."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return codeop.compile_command(text, symbol="single") is not None
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError):
        return True


def piped(stream: Any) -> Iterator[str]:
    """Yield the entries in a stream of lines."""
    entry: list[str] = []
    for line in stream:
        line = line.rstrip("\n")
        if entry and line.strip() and not GOES_ON.match(line) and is_complete("\n".join([*entry, ""])):
            yield "\n".join(entry)
            entry = []
        if entry or line.strip():
            entry.append(line)
        if len(entry) == 1 and (is_meta(line) or is_complete(line)):
            yield line
            entry = []
    if entry:
        yield "\n".join(entry)


def is_meta(line: str) -> bool:
    return line.lstrip().startswith(":")


def entries(names: Callable[[], list[str]], history: str | None) -> Generator[str, None, None]:
    """Yield the entries of stdin: typed at a terminal, where Tab completes `names`, or read from a pipe."""
    if not colour.is_terminal(sys.stdin):
        yield from piped(sys.stdin)
        return
    terminal = Terminal(names, history)
    report.write(WELCOME.format(version=__version__))
    try:
        yield from terminal.entries()
    finally:
        terminal.close()


def outputs_of(entry: str) -> list[str]:
    """Return the names of the files that an entry asks to write: that of `:graph FILE`."""
    words = entry.strip().split(None, 1)
    return [words[1].strip()] if is_meta(entry) and len(words) == 2 else []


class Terminal:
    """The entries that a person types, with line editing, history and completion if Python has readline."""

    def __init__(self, names: Callable[[], list[str]], history: str | None) -> None:
        self.names = names
        self.history = history
        self.readline = load()
        if self.readline is not None:
            self.readline.set_completer(self.complete)
            self.readline.set_completer_delims(WORD_ENDS)
            self.readline.parse_and_bind("tab: complete")
            self.readline.set_auto_history(True)
            if history is not None and os.path.exists(history):
                self.readline.read_history_file(history)

    def complete(self, text: str, number: int) -> str | None:
        """Return the name at index `number` among those that start with `text`, for readline."""
        if not text.strip():
            return "    " if number == 0 else None
        matches = [name for name in self.names() if name.startswith(text)]
        return matches[number] if number < len(matches) else None

    def entries(self) -> Iterator[str]:
        """Yield entries until the end of input (Ctrl-D). Ctrl-C discards an entry that is being typed."""
        while True:
            try:
                yield self.entry()
            except KeyboardInterrupt:
                sys.stdout.write("\n")
            except EOFError:
                sys.stdout.write("\n")
                return

    def entry(self) -> str:
        lines = [input(FIRST)]
        while not is_meta(lines[0]) and lines[0].strip() and not is_complete("\n".join(lines)):
            lines.append(input(MORE))
        return "\n".join(lines)

    def close(self) -> None:
        if self.readline is not None and self.history is not None:
            self.readline.set_history_length(HISTORY)
            self.readline.write_history_file(self.history)


def load() -> Any:
    """Return the readline module; None if Python lacks it."""
    try:
        import readline
    except ImportError:
        return None
    return readline
