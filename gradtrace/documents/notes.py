"""Read notes as cells: notebooks (JSON), notebook text with `In [n]:`, Markdown with fenced code (also MyST's and
Quarto's), Jupytext scripts.

A cell's record is the output that the note shows for it. In notebook text this is a paragraph after a cell's code that
is not Python, or that is only the printed form of a tensor; `fences` and `scripts` have the rules for the
other formats.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from gradtrace.documents.cells import Cell, is_printed, is_python, runnable, without_magics
from gradtrace.documents.fences import from_fences
from gradtrace.documents.scripts import from_script, is_script
from gradtrace.errors import UsageError

PROMPT = re.compile(r"^In \[(\d+|\*| |None)\]:\s*$")
SENTENCE = re.compile(r"[A-Z][a-z]* [a-z]+ (?=([\w'*`$,-]+ ){3})")  # its first two words; several more follow
ERROR = re.compile(r"\w*(Error|Exception|Warning)\b")
MARKDOWN = re.compile(r"^(#+ |[-*] |> |\||!\[|\$|\d+\. |---)")


def cells(name: str, text: str) -> list[Cell]:
    """Return the cells of a document. UsageError if it has none."""
    if text.lstrip().startswith("{") and name.endswith(".ipynb"):
        found = from_json(name, text)
    elif any(PROMPT.match(line) for line in text.split("\n")):
        found = list(from_prompts(text.split("\n")))
    elif is_script(name, text.split("\n")):
        found = list(from_script(text.split("\n")))
    else:
        found = list(from_fences(text.split("\n")))
    if not found:
        known = "a notebook, text with In [n]: cells, Markdown with fenced code, or a Jupytext script"
        raise UsageError(f"{name} holds no cells", f"give {known}")
    return found


# ---- notebooks


def from_json(name: str, text: str) -> list[Cell]:
    try:
        document: Any = json.loads(text)
        raw = document["cells"]
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{name} is not a notebook: {error}") from None
    found = []
    for number, cell in enumerate(raw, 1):
        if cell.get("cell_type") != "code":
            continue
        count = cell.get("execution_count")
        label = f"In [{count}]" if count else f"cell {number}"
        code = joined(cell.get("source", ""))
        if not code.strip():
            continue
        found.append(runnable(label, number, code)._replace(record=recorded(cell.get("outputs", []))))
    return found


def joined(source: Any) -> str:
    return source if isinstance(source, str) else "".join(source)


def recorded(outputs: Any) -> str | None:
    """Return the recorded output of a notebook's cell: printed text, result, or the last line of its error."""
    parts = []
    for out in outputs:
        if out.get("output_type") == "stream" and out.get("name", "stdout") == "stdout":
            parts.append(joined(out.get("text", "")))
        elif out.get("output_type") in ("execute_result", "display_data"):
            parts.append(joined(out.get("data", {}).get("text/plain", "")) + "\n")
        elif out.get("output_type") == "error":
            parts.append(f"{out.get('ename')}: {out.get('evalue')}\n")
    return "".join(parts) if parts else None


def updated_json(text: str, outputs: dict[int, str]) -> str:
    """Return the notebook's JSON with new outputs, by the number of the cell."""
    document: Any = json.loads(text)
    for number, cell in enumerate(document["cells"], 1):
        if number in outputs:
            shown = outputs[number]
            stream = {"output_type": "stream", "name": "stdout", "text": shown.splitlines(keepends=True)}
            cell["outputs"] = [stream] if shown else []
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


# ---- notebook text


def from_prompts(lines: list[str]) -> Iterator[Cell]:
    starts = [i for i, line in enumerate(lines) if PROMPT.match(line)]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        number = PROMPT.match(lines[start]).group(1)  # type: ignore[union-attr]
        code_end, record = split(lines, start + 1, end)
        code = "\n".join(lines[start + 1 : code_end]).rstrip() + "\n"
        text = None if record is None else "\n".join(lines[record[0] : record[1]]) + "\n"
        if code.strip():
            yield runnable(f"In [{number}]", start + 2, code)._replace(record=text, record_at=record)


def split(lines: list[str], start: int, end: int) -> tuple[int, tuple[int, int] | None]:
    """Return the end of a cell's code, and of its output (None without output)."""
    code_end = start
    for first, last in paragraphs(lines, start, end):
        code = without_magics("\n".join(lines[start:last]))[0]
        part = "\n".join(lines[first:last])
        if first == start or lines[first][:1].isspace() or (is_python(code) and not is_printed(part)):
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


def updated_text(text: str, found: list[tuple[Cell, str]]) -> str:
    """Return the text with each record replaced by the cell's present output."""
    lines = text.split("\n")
    for cell, printed in sorted(found, key=lambda pair: pair[0].line, reverse=True):
        fresh = printed.rstrip("\n").split("\n") if printed else []
        if cell.record_at is not None:
            lines[cell.record_at[0] : cell.record_at[1]] = [cell.prefix + line for line in fresh]
        elif cell.record is not None and len(fresh) == 1:
            old = f"`{cell.record.rstrip()}`"
            place = next((i for i in range(cell.line, len(lines)) if old in lines[i]), None)
            if place is not None:
                lines[place] = lines[place].replace(old, f"`{fresh[0]}`", 1)
    return "\n".join(lines)
