"""Blocks of a terminal in Markdown: each `$ gradtrace ...` is a cell, and the lines up to the next
`$` are its record.

Only plain command lines are cells to run: nothing of a shell (pipes, redirections, variables, other
programs).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from gradtrace.documents.cells import Cell

PROMPT = "$ "
COMMAND = re.compile(r"^\$ gradtrace(\s|$)", re.MULTILINE)
LANGUAGES = {"", "console", "bash", "sh", "shell", "shell-session", "terminal", "text"}
QUOTED = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
SHELL = re.compile(r"[|&;<>()`$*?~{}\n]|^\s*\w+=")
IN_QUOTES = re.compile(r"[`$]")


def is_console(text: str, language: str) -> bool:
    """Whether a block shows a terminal in which gradtrace is called."""
    return language in LANGUAGES and text.startswith(PROMPT) and COMMAND.search(text) is not None


def commands(text: str, label: str, line: int, indent: str) -> Iterator[Cell]:
    """Yield the command lines of a block that begins on `line` of the file; `indent` is before each
    of its lines.
    """
    lines = text.removesuffix("\n").split("\n")
    starts = [i for i, text_line in enumerate(lines) if text_line.startswith(PROMPT)]
    for number, (start, end) in enumerate(zip(starts, [*starts[1:], len(lines)], strict=True), 1):
        first = start + 1
        while first < end and lines[first - 1].endswith("\\"):
            first += 1
        code = "\n".join(lines[start:first]).removeprefix(PROMPT)
        output = "\n".join(lines[first:end]).strip("\n")
        record, place = (
            (None, None) if not output else (f"{output}\n", (line - 1 + first, line - 1 + end))
        )
        name = f"{label}.{number}" if len(starts) > 1 else label
        yield command_cell(name, line + start, code)._replace(
            record=record, record_at=place, prefix=indent
        )


def command_cell(label: str, line: int, code: str) -> Cell:
    """Return the cell of a command line: its words, or the reason why it is not run."""
    joined = code.replace("\\\n", " ")
    unquoted = QUOTED.sub(
        lambda match: "'" if match[0][0] == "'" or not IN_QUOTES.search(match[0]) else "$", joined
    )
    try:
        words = shlex.split(joined, comments=True)
    except ValueError as error:
        return Cell(label, line, code, skipped=f"it is not a command line: {str(error).lower()}")
    if SHELL.search(unquoted):
        return Cell(
            label, line, code, skipped="it needs a shell, and only plain command lines are run"
        )
    if words[:1] != ["gradtrace"]:
        return Cell(label, line, code, skipped="it is another program's command line")
    return Cell(label, line, code, command=tuple(words[1:]))
