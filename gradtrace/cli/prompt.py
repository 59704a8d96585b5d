"""Read the entries of `gradtrace repl` from a terminal or a pipe, with Python's own console.

The process that owns the terminal reads them; a confined one runs them (`cli/repl.py`). At a
terminal a compound statement ends at an empty line, as at Python's prompt; in a pipe it ends before
the next statement, so that the functions of a script may contain empty lines.
"""

from __future__ import annotations

import ast
import code
import codeop
import os
import re
import sys
import warnings
from collections.abc import Callable, Generator, Iterator
from typing import Any

from gradtrace import __version__
from gradtrace.cli import output, report
from gradtrace.views.suffixes import SUFFIXES

FIRST = ">>> "
MORE = "... "
# how a line begins that belongs to the statement above
GOES_ON = re.compile(r"\s|(else|elif|except|finally)\b|#")
HISTORY = 10_000  # entries of a history file
WELCOME = (
    f"gradtrace {__version__}. why(w), graph(y), trace(y) ask about what was typed; help() "
    "lists them, Ctrl-D ends."
)
WORD_ENDS = " \t\n\"\\'`@$><=;|&{}()[]+-*/%,~^!"


def is_complete(text: str) -> bool:
    """Whether an entry needs no more lines: it is a statement, or has an error that more lines
    cannot fix.
    """
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
        if (
            entry
            and line.strip()
            and not GOES_ON.match(line)
            and is_complete("\n".join([*entry, ""]))
        ):
            yield "\n".join(entry)
            entry = []
        if entry or line.strip():
            entry.append(line)
        if len(entry) == 1 and is_complete(line):
            yield line
            entry = []
    if entry:
        yield "\n".join(entry)


def entries(names: Callable[[], list[str]], history: str | None) -> Generator[str, None, None]:
    """Yield the entries of stdin: typed at a terminal, where Tab completes `names`, or read from a
    pipe.
    """
    if not output.is_terminal(sys.stdin):
        yield from piped(sys.stdin)
        return
    readline = load()
    if readline is not None:
        prepare(readline, names, history)
    report.write(WELCOME)
    try:
        yield from Console().entries()
    finally:
        if readline is not None and history is not None:
            readline.set_history_length(HISTORY)
            readline.write_history_file(history)


def outputs_of(entry: str) -> list[str]:
    """Return the names of the files that an entry asks to write: those of pictures that `graph` is
    called with.
    """
    try:
        calls = [node for node in ast.walk(ast.parse(entry)) if isinstance(node, ast.Call)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    graphs = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "graph"]
    texts = [word.value for call in graphs for word in call.args if isinstance(word, ast.Constant)]
    return [
        text
        for text in texts
        if isinstance(text, str) and text.lower().endswith(tuple(f".{s}" for s in SUFFIXES))
    ]


class Console(code.InteractiveConsole):
    """Python's console, which collects the lines of an entry and hands it on instead of running
    it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.entry = ""

    def runsource(self, source: str, filename: str = "", symbol: str = "") -> bool:
        """Keep the entry; return whether it needs more lines."""
        self.entry = source
        return not is_complete(source)

    def entries(self) -> Iterator[str]:
        """Yield entries until the end of input (Ctrl-D). Ctrl-C discards an entry that is being
        typed.
        """
        needs_more = False
        while True:
            try:
                needs_more = self.push(self.raw_input(MORE if needs_more else FIRST))
                if not needs_more:
                    yield self.entry
            except KeyboardInterrupt:
                self.write("\n")
                self.resetbuffer()
                needs_more = False
            except EOFError:
                self.write("\n")
                return


def prepare(readline: Any, names: Callable[[], list[str]], history: str | None) -> None:
    """Have readline complete names, and remember entries in the file `history` too."""

    def complete(text: str, number: int) -> str | None:
        if not text.strip():
            return "    " if number == 0 else None
        matches = [name for name in names() if name.startswith(text)]
        return matches[number] if number < len(matches) else None

    readline.set_completer(complete)
    readline.set_completer_delims(WORD_ENDS)
    readline.parse_and_bind("tab: complete")
    readline.set_auto_history(True)
    if history is not None and os.path.exists(history):
        readline.read_history_file(history)


def load() -> Any:
    """Return the readline module; None if Python lacks it."""
    try:
        import readline
    except ImportError:
        return None
    return readline
