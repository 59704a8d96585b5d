"""The cells of a Jupytext script: Python with `# %%` (percent format) or `# +` and `# -` (light format) between cells.

Such a file stores no outputs. A cell's record is a comment at its end that begins with `# Output:`, `# Out:` or `# ->`,
or the text cell after it, read as Markdown: its first fence, or a result in a line of text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gradtrace.documents.cells import Cell, runnable
from gradtrace.documents.fences import fences, inline, is_record, language_of

PERCENT = re.compile(r"^# ?%%(%*)(.*)$")
LIGHT = re.compile(r"^# ?([+-])(\s.*)?$")
HEADER = re.compile(r"^# ?(---|jupyter:|jupytext:)")
TEXT = re.compile(r"\[(markdown|md|raw)\]")
OTHER = re.compile(r"\[?(\w+)\]?\s*$")
MARK = re.compile(r"^# ?(Out(put)?\s*:|->|=>)\s*(.*)$", re.IGNORECASE)


def is_script(name: str, lines: list[str]) -> bool:
    """Whether a file is a script in a Jupytext format."""
    if not name.endswith((".py", ".ipy")):
        return False
    return any(PERCENT.match(line) for line in lines) or any(re.match(r"^# ?\s*jupytext:", line) for line in lines[:30])


def from_script(lines: list[str]) -> Iterator[Cell]:
    """Return the code cells, each with its record, which is in the last comment of the cell or in the text cell after
    it.
    """
    number = 0
    parts = list(split(lines))
    for i, (first, last, is_text, about) in enumerate(parts):
        if is_text or not any(line.strip() and not line.startswith("#") for line in lines[first:last]):
            continue
        number += 1
        cell = runnable(
            f"cell {number}", first + 1, "\n".join(map(uncommented_magic, lines[first:last])).rstrip() + "\n"
        )
        if "skip-execution" in about or '"eval": false' in about:
            cell = cell._replace(skipped="its options say that it is not run")
        if cell.skipped:
            yield cell
            continue
        marked = of_comment(lines, first, last)
        if marked is not None:
            yield cell._replace(record=marked[2], record_at=marked[:2], prefix=marked[3])
        elif i + 1 < len(parts) and parts[i + 1][2]:
            yield of_text(cell, lines, parts[i + 1][0], parts[i + 1][1])
        else:
            yield cell


def uncommented_magic(line: str) -> str:
    """Return a line without the `# ` that Jupytext writes before magics: `# %matplotlib inline`, `# !pip list`."""
    return re.sub(r"^(\s*)# ?([%!][a-zA-Z])", r"\1\2", line)


def split(lines: list[str]) -> Iterator[tuple[int, int, bool, str]]:
    """Split a script into cells: first line, end, whether it is text, and the text of its marker."""
    if any(PERCENT.match(line) for line in lines):
        starts = [i for i, line in enumerate(lines) if PERCENT.match(line)]
        for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
            about = PERCENT.match(lines[start])[2]  # type: ignore[index]
            yield start + 1, end, bool(TEXT.search(about)), about
        return
    yield from split_light(lines)


def split_light(lines: list[str]) -> Iterator[tuple[int, int, bool, str]]:
    """Split the light format: paragraphs of comments are text; other paragraphs, and code from `# +` to `# -`, are
    code.
    """
    start = header_end(lines)
    i = start
    while i < len(lines):
        marker = LIGHT.match(lines[i])
        if marker and marker[1] == "+":
            ends = (j for j in range(i + 1, len(lines)) if LIGHT.match(lines[j]))
            end = next(ends, len(lines))
            yield i + 1, end, False, marker[2] or ""
            i = end + (end < len(lines) and LIGHT.match(lines[end])[1] == "-")  # type: ignore[index]
        elif not lines[i].strip() or marker:
            i += 1
        else:
            end = next((j for j in range(i, len(lines)) if ends_paragraph(lines, j)), len(lines))
            yield i, end, all(line.startswith("#") for line in lines[i:end]), ""
            i = end


def ends_paragraph(lines: list[str], i: int) -> bool:
    """Whether an empty line ends a paragraph: the next line is not indented."""
    if LIGHT.match(lines[i]):
        return True
    following = next((line for line in lines[i:] if line.strip()), "")
    return not lines[i].strip() and not following[:1].isspace()


def header_end(lines: list[str]) -> int:
    """Return the line at which the YAML header in comments ends."""
    if not lines or not re.match(r"^# ?---\s*$", lines[0]):
        return 0
    return next((i + 1 for i in range(1, len(lines)) if re.match(r"^# ?---\s*$", lines[i])), 0)


def of_comment(lines: list[str], first: int, last: int) -> tuple[int, int, str, str] | None:
    """Return the record in a comment at a cell's end: its lines, its text, and the prefix of each line."""
    end = last
    while end > first and not lines[end - 1].strip():
        end -= 1
    start = end
    while start > first and lines[start - 1].startswith("#"):
        start -= 1
    for i in range(start, end):
        found = MARK.match(lines[i])
        if found is None:
            continue
        if found[3]:
            return i, i + 1, found[3] + "\n", lines[i][: found.start(3)]
        body = [uncommented(line) for line in lines[i + 1 : end]]
        return (i + 1, end, "\n".join(body) + "\n", "# ") if body else None
    return None


def uncommented(line: str) -> str:
    return line.removeprefix("#").removeprefix(" ")


def of_text(cell: Cell, lines: list[str], first: int, last: int) -> Cell:
    """Return the cell with the record in the text cell after it."""
    text = [uncommented(line) for line in lines[first:last]]
    for start, end, info in fences(text):
        body = "\n".join(text[start:end]) + "\n"
        if is_record(body, language_of(info), text[: start - 1]):
            return cell._replace(record=body, record_at=(first + start, first + end), prefix="# ")
        return cell
    return inline(cell, text, 0, len(text))
