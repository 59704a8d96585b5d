"""Blocks of a terminal in Markdown: each `$ gradtrace ...` is a cell, and the lines up to the next
`$` are its record.

Only plain command lines are cells to run: nothing of a shell (pipes, redirections, variables, other
programs).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from itertools import pairwise

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
    for number, (start, end) in enumerate(pairwise([*starts, len(lines)]), 1):
        first = start + 1
        while first < end and lines[first - 1].endswith("\\"):
            first += 1
        code = "\n".join(lines[start:first]).removeprefix(PROMPT)
        output = "\n".join(lines[first:end]).strip("\n")
        name = f"{label}.{number}" if len(starts) > 1 else label
        cell = command_cell(name, line + start, code)._replace(prefix=indent)
        if output:
            place = (line - 1 + first, line - 1 + end)
            cell = cell._replace(record=f"{output}\n", record_at=place)
        yield cell


def command_cell(label: str, line: int, code: str) -> Cell:
    """Return the cell of a command line: its words, or the reason why it is not run."""
    joined = code.replace("\\\n", " ")
    unquoted = QUOTED.sub(quoted_syntax, joined)
    try:
        words = shlex.split(joined, comments=True)
    except ValueError as error:
        return Cell(label, line, code, skipped=f"it is not a command line: {str(error).lower()}")
    if SHELL.search(unquoted):
        reason = "it needs a shell, and only plain command lines are run"
        return Cell(label, line, code, skipped=reason)
    if words[:1] != ["gradtrace"]:
        return Cell(label, line, code, skipped="it is another program's command line")
    return Cell(label, line, code, command=tuple(words[1:]))


def quoted_syntax(match: re.Match[str]) -> str:
    """Return "$" for a quoted text in which the shell would substitute something, else "'"."""
    return "$" if match[0][0] == '"' and IN_QUOTES.search(match[0]) else "'"
