"""The cells of Markdown: fences and doctest blocks.

A fence marked python is code. The next fence after it is its record if it is bare or marked as
output (`text`, `output`, `console`) and no heading stands between. A python fence after a line that
announces a result is a record too if it is not code, and so is an indented block right after the
code, as nbconvert writes outputs. A fence that begins with `>>> ` is run as doctest does, with one
cell for each example. In a fence that shows a terminal, each `$ gradtrace ...` is a cell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile

from gradtrace.documents import consoles, doctests
from gradtrace.documents.cells import Cell, is_printed, is_python, runnable

FENCE = re.compile(r"^[\s>*\-]*(`{3,}|~{3,})\s*([^`]*?)\s*$")
RESULT = re.compile(r"(结果|输出|[Rr]esult|[Oo]utput|[Pp]rints)")
INLINE = re.compile(r"`([^`]+)`")
INDENT = "    "
EMPTY = re.compile(r"\n{3,}")
HEADING = re.compile(r"^#{1,6} ")
CODE = {"python", "py", "python3", "py3", "ipython", "ipython3", "pycon"}
OUTPUT = {
    "",
    "text",
    "txt",
    "output",
    "out",
    "console",
    "plain",
    "plaintext",
    "none",
    "stdout",
    "result",
    "pytb",
}
SHELLS = consoles.LANGUAGES - {"", "console", "text"}
SHELL = re.compile(r"^\s*(\$|>|#) \S")


def from_fences(lines: list[str]) -> Iterator[Cell]:
    """Return the blocks of code, each with the result that the text after it shows."""
    waiting: Cell | None = None
    after = 0
    number = 0
    for first, last, info in fences(lines):
        language = language_of(info)
        indent = indent_of(lines[first - 1], lines[first:last])
        text = "\n".join(line.removeprefix(indent) for line in lines[first:last]) + "\n"
        between = lines[after : first - 1]
        if waiting is not None:
            if is_record(text, language, between):
                yield waiting._replace(record=text, record_at=(first, last), prefix=indent)
                waiting = None
                after = last + 1
                continue
            yield inline(waiting, lines, after, first - 1)
            waiting = None
        after = last + 1
        number += 1
        label = f"block {number}"
        if is_doctest(text, language):
            yield from doctests.examples(text, label, first + 1, indent)
            continue
        if consoles.is_console(text, language):
            yield from consoles.commands(text, label, first + 1, indent)
            continue
        cell = code_cell(label, first + 1, text, language)
        if cell.skipped:
            yield cell
        else:
            waiting = cell
    if waiting is not None:
        yield inline(waiting, lines, after, len(lines))


def not_code(language: str) -> str:
    """Return why a fence of another language is not run."""
    if language in SHELLS:
        return f"it is marked {language}: lines for a shell, without recorded output"
    return f"it is marked {language}" if language else "it is not marked as python"


def code_cell(label: str, line: int, text: str, language: str) -> Cell:
    """Return the cell of a fence: code to run, or code that is not run, with the reason."""
    if language not in CODE:
        return Cell(label, line, text, skipped=not_code(language))
    if any(code_line.lstrip().startswith(">>>") for code_line in text.split("\n")):
        return Cell(label, line, text, skipped="results stand in it after >>>")
    return runnable(label, line, text)


def language_of(info: str) -> str:
    """Return the language in a fence's info string, such as `python x=1`; a directive in braces is
    not a language.
    """
    return info if info.startswith("{") else re.split(r"[\s,{]", info)[0].lower()


def is_record(text: str, language: str, between: list[str]) -> bool:
    """Whether a fence after code is the output of the code; `between` are the lines between the
    two.
    """
    announced = any(RESULT.search(line) and not INLINE.search(line) for line in between)
    if announced and (language not in CODE or not is_python(text) or is_printed(text)):
        return True
    if language not in OUTPUT or any(HEADING.match(line) for line in between):
        return False
    return not SHELL.match(text) and not is_doctest(text, language)


def is_doctest(text: str, language: str) -> bool:
    """Whether a block begins with a doctest prompt and is marked python, as output, or not at
    all.
    """
    first = next((line for line in text.split("\n") if line.strip()), "")
    return first.lstrip().startswith(">>> ") and language in CODE | OUTPUT | {"doctest"}


def indent_of(opening: str, body: list[str]) -> str:
    """Return the text before each line of a fence's body: a list item's indentation, or the marks
    of a quotation.
    """
    match = re.match(r"[\s>*\-]*", opening)
    mark = match[0] if match else ""
    written = [line for line in body if line.strip()]
    for prefix in (mark, " " * len(mark)):
        if all(line.startswith(prefix) for line in written):
            return prefix
    return ""


def fences(lines: list[str]) -> Iterator[tuple[int, int, str]]:
    """Yield fenced blocks: first line of the body, the line after its last, the info string."""
    opened: tuple[int, str, str] | None = None
    for i, line in enumerate(lines):
        match = FENCE.match(line)
        if match is None:
            continue
        if opened is None:
            opened = (i + 1, match[1], match[2])
        elif match[1].startswith(opened[1]) and not match[2]:
            yield opened[0], i, opened[2]
            opened = None


def inline(cell: Cell, lines: list[str], start: int, end: int) -> Cell:
    """Return the cell with the result in the indented block after it, or in the sentence: "The
    result is `tensor([5.])`.".
    """
    first = next((i for i in range(start, end) if lines[i].strip()), end)
    if first == end:
        return cell
    is_at_margin = lines[start - 1].startswith(("`", "~"))
    if is_at_margin and lines[first].startswith(INDENT):
        block = list(takewhile(is_indented, lines[first:end]))
        while not block[-1].strip():
            block.pop()
        # Empty lines separate what was printed from the value of the cell.
        record = EMPTY.sub("\n", "\n".join(line.removeprefix(INDENT) for line in block)) + "\n"
        place = (first, first + len(block))
        return cell._replace(record=record, record_at=place, prefix=INDENT)
    match = INLINE.search(lines[first])
    if match is not None and RESULT.search(lines[first][: match.start()]):
        return cell._replace(record=match[1] + "\n")
    return cell


def is_indented(line: str) -> bool:
    """Whether a line can be part of an indented block, as empty lines can."""
    return line.startswith(INDENT) or not line.strip()
