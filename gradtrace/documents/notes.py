"""Read notes as cells: notebooks (JSON), notebook text with `In [n]:`, Markdown with fenced code.

A cell's record is the output that the note shows for it. In notebook text this is a paragraph after
a cell's code that is not Python, or that is only the printed form of a tensor; `fences` has the
rules for Markdown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from gradtrace.documents.cells import Cell, is_printed, is_python, runnable, without_magics
from gradtrace.documents.fences import from_fences
from gradtrace.errors import UsageError
from gradtrace.trace import fields

PROMPT = re.compile(r"^In \[(\d+|\*| |None)\]:\s*$")
# its first two words; several more follow
SENTENCE = re.compile(r"[A-Z][a-z]* [a-z]+ (?=([\w'*`$,-]+ ){3})")
ERROR = re.compile(r"\w*(Error|Exception|Warning)\b")
MARKDOWN = re.compile(r"^(#+ |[-*] |> |\||!\[|\$|\d+\. |---)")


def cells(name: str, text: str) -> list[Cell]:
    """Return the cells of a document. UsageError if it has none."""
    if text.lstrip().startswith("{") and name.endswith(".ipynb"):
        notebook_cells = from_json(name, text)
    elif any(PROMPT.match(line) for line in text.split("\n")):
        notebook_cells = list(from_prompts(text.split("\n")))
    else:
        notebook_cells = list(from_fences(text.split("\n")))
    if not notebook_cells:
        forms = "a notebook, text with In [n]: cells, or Markdown with fenced code"
        raise UsageError(f"{name} holds no cells", f"give {forms}")
    return notebook_cells


# ---- notebooks


def from_json(name: str, text: str) -> list[Cell]:
    """Return the code cells of a notebook. UsageError for a document or a cell that is not as
    nbformat says.
    """
    number = 0
    notebook_cells = []
    try:
        for number, cell in enumerate(
            fields.listed(fields.mapped(json.loads(text)).get("cells")), 1
        ):
            if (
                fields.mapped(cell).get("cell_type") == "code"
                and joined(cell.get("source", "")).strip()
            ):
                notebook_cells.append(code_cell(number, cell))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{name} is not a notebook: {error}") from None
    except fields.Damaged as error:
        where = f"cell {number}: " if number else ""
        raise UsageError(
            f"{name} is not a notebook: {where}{error}", "nbformat describes its fields"
        ) from None
    return notebook_cells


def code_cell(number: int, cell: dict[str, Any]) -> Cell:
    count = cell.get("execution_count")
    label = f"In [{count}]" if type(count) is int and count else f"cell {number}"
    return runnable(label, number, joined(cell.get("source", "")))._replace(
        record=recorded(cell.get("outputs", []))
    )


def joined(source: Any) -> str:
    """Return a text, which may be a list of lines. Damaged if it is neither."""
    return source if isinstance(source, str) else "".join(map(fields.text, fields.listed(source)))


def recorded(outputs: Any) -> str | None:
    """Return the recorded output of a notebook's cell: printed text, result, or the last line of
    its error.
    """
    parts = []
    for out in map(fields.mapped, fields.listed(outputs)):
        kind = out.get("output_type")
        if kind == "stream" and out.get("name", "stdout") == "stdout":
            parts.append(joined(out.get("text", "")))
        elif kind in ("execute_result", "display_data"):
            parts.append(joined(fields.mapped(out.get("data", {})).get("text/plain", "")) + "\n")
        elif kind == "error":
            parts.append(
                f"{fields.text(out.get('ename', ''))}: {fields.text(out.get('evalue', ''))}\n"
            )
    return "".join(parts) if parts else None


def updated_json(text: str, changes: list[tuple[Cell, str]]) -> str:
    """Return the notebook's JSON with the present outputs of some cells."""
    document: Any = json.loads(text)
    for cell, printed in changes:
        stream = {
            "output_type": "stream",
            "name": "stdout",
            "text": printed.splitlines(keepends=True),
        }
        document["cells"][cell.line - 1]["outputs"] = [stream] if printed else []
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n" if changes else text


# ---- notebook text


def from_prompts(lines: list[str]) -> Iterator[Cell]:
    starts = [i for i, line in enumerate(lines) if PROMPT.match(line)]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        number = PROMPT.match(lines[start]).group(1)  # type: ignore[union-attr]
        code_end, record = split(lines, start + 1, end)
        code = "\n".join(lines[start + 1 : code_end]).rstrip() + "\n"
        text = None if record is None else "\n".join(lines[record[0] : record[1]]) + "\n"
        if code.strip():
            yield runnable(f"In [{number}]", start + 2, code)._replace(
                record=text, record_at=record
            )


def split(lines: list[str], start: int, end: int) -> tuple[int, tuple[int, int] | None]:
    """Return the end of a cell's code, and of its output (None without output)."""
    code_end = start
    for first, last in paragraphs(lines, start, end):
        code = without_magics("\n".join(lines[start:last]))[0]
        part = "\n".join(lines[first:last])
        if (
            first == start
            or lines[first][:1].isspace()
            or (is_python(code) and not is_printed(part))
        ):
            code_end = last
            continue
        is_text = MARKDOWN.match(lines[first]) or is_prose(part, "\n".join(lines[start:code_end]))
        return code_end, None if is_text else (first, last)
    return code_end, None


def paragraphs(lines: list[str], start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield runs of consecutive lines that are not empty."""
    first: int | None = None
    for i in range(start, end):
        if lines[i].strip() and first is None:
            first = i
        elif not lines[i].strip() and first is not None:
            yield first, i
            first = None
    if first is not None:
        yield first, end


def is_prose(text: str, code: str) -> bool:
    """Whether text is a sentence, not output: it has words, and `code` does not contain them."""
    if "\u4e00" <= text.lstrip()[:1] <= "\u9fff" or re.search(r"[\u4e00-\u9fff]{4,}", text):
        return True
    sentence = SENTENCE.match(text)
    return bool(sentence) and not ERROR.match(text) and sentence[0] not in code  # type: ignore[index]


# ---- rewriting


def updated_text(text: str, changes: list[tuple[Cell, str]]) -> tuple[str, list[Cell]]:
    """Return the text with each record replaced by the cell's present output, and the cells of
    these; a result within a sentence is replaced only by one line.
    """
    lines = text.split("\n")
    rewritten = []
    for cell, printed in sorted(changes, key=lambda pair: pair[0].line, reverse=True):
        fresh = printed.rstrip("\n").split("\n") if printed else []
        if cell.record_at is not None:
            lines[cell.record_at[0] : cell.record_at[1]] = [cell.prefix + line for line in fresh]
            rewritten.append(cell)
        elif cell.record is not None and len(fresh) == 1:
            old = f"`{cell.record.rstrip()}`"
            place = next((i for i in range(cell.line, len(lines)) if old in lines[i]), None)
            if place is not None:
                lines[place] = lines[place].replace(old, f"`{fresh[0]}`", 1)
                rewritten.append(cell)
    return "\n".join(lines), rewritten[::-1]
