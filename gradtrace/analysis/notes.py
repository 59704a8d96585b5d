"""Notes as cells: notebooks (JSON), notebook text with `In [n]:`, Markdown with fenced code. Text in, cells out.

What such a text shows as printed is the cell's record. This tells code and output apart: in notebook text a paragraph
after a cell's code that is not Python, or nothing but what a tensor prints as, is output; in Markdown a block after a
line that announces a result. A block in which `>>>` stands before a result is neither; it is listed, not run.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from gradtrace.errors import UsageError

PROMPT = re.compile(r"^In \[(\d+|\*| )\]:\s*$")
FENCE = re.compile(r"^[\s>*\-]*(`{3,}|~{3,})\s*(\w*)\s*$")
RESULT = re.compile(r"(结果|输出|[Rr]esult|[Oo]utput|[Pp]rints)")
INLINE = re.compile(r"`([^`]+)`")
MARKDOWN = re.compile(r"^(#+ |[-*] |> |\||!\[|\$|\d+\. |---)")


class Cell(NamedTuple):
    """A piece of code (or what is listed and not run: `skipped` says why), with what its text says that it prints.

    `line` is where the code begins in the file; `record` is None if nothing is recorded; `record_at` are the first line
    of the record and the one after its last (None in a notebook's JSON, and of a result within a line of text).
    """

    label: str
    line: int
    code: str
    record: str | None = None
    record_at: tuple[int, int] | None = None
    skipped: str = ""


def cells(name: str, text: str) -> list[Cell]:
    """The cells of a document. UsageError if it has none."""
    if text.lstrip().startswith("{") and name.endswith(".ipynb"):
        found = from_json(name, text)
    elif any(PROMPT.match(line) for line in text.split("\n")):
        found = list(from_prompts(text.split("\n")))
    else:
        found = list(from_fences(text.split("\n")))
    if not found:
        raise UsageError(f"{name} holds no cells", "a notebook, text with In [n]: cells, or Markdown with fenced code")
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
        found.append(Cell(label, number, joined(cell.get("source", "")), recorded(cell.get("outputs", []))))
    return found


def joined(source: Any) -> str:
    return source if isinstance(source, str) else "".join(source)


def recorded(outputs: Any) -> str | None:
    """What a notebook's cell printed, its result, or its error's last line."""
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
    """The notebook with new outputs, by the number of the cell."""
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
        yield Cell(f"In [{number}]", start + 2, code, text, record)


def split(lines: list[str], start: int, end: int) -> tuple[int, tuple[int, int] | None]:
    """Where a cell's code ends, and where its output is (None: there is none)."""
    code_end = start
    for first, last in paragraphs(lines, start, end):
        code = "\n".join(lines[start:last])
        part = "\n".join(lines[first:last])
        if first == start or lines[first][:1].isspace() or (is_python(code) and not is_printed(part)):
            code_end = last
            continue
        return code_end, None if MARKDOWN.match(lines[first]) or is_prose(part) else (first, last)
    return code_end, None


def paragraphs(lines: list[str], start: int, end: int) -> Iterator[tuple[int, int]]:
    """Stretches of lines without an empty one between."""
    first: int | None = None
    for i in range(start, end):
        if lines[i].strip() and first is None:
            first = i
        elif not lines[i].strip() and first is not None:
            yield first, i
            first = None
    if first is not None:
        yield first, end


def is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


def is_printed(text: str) -> bool:
    """Whether text that happens to be Python is what was printed: `tensor([5.])`, `x_grad: tensor(4.)`, `True`."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError):
        return True
    return bool(body) and all(map(is_shown_value, body))


def is_shown_value(node: ast.stmt) -> bool:
    if isinstance(node, ast.AnnAssign):
        return node.value is None
    if not isinstance(node, ast.Expr):
        return False
    value = node.value
    if isinstance(value, ast.Call):
        return ast.unparse(value.func) in ("tensor", "array", "torch.Size")
    return isinstance(value, (ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.UnaryOp, ast.Name))


def is_prose(text: str) -> bool:
    """Whether text is a sentence, not output: it begins with a letter that no program prints first by itself."""
    return "\u4e00" <= text.lstrip()[:1] <= "\u9fff" or bool(re.search(r"[\u4e00-\u9fff]{4,}", text))


# ---- Markdown


def from_fences(lines: list[str]) -> Iterator[Cell]:
    """Blocks of code, each with the result that the text after it shows."""
    waiting: Cell | None = None
    after = 0
    number = 0
    for first, last, language in fences(lines):
        body = [line.removeprefix(lines[first - 1][: indent_of(lines[first - 1])]) for line in lines[first:last]]
        text = "\n".join(body) + "\n"
        announced = any(RESULT.search(line) and not INLINE.search(line) for line in lines[after : first - 1])
        if waiting is not None:
            if announced and (language not in ("python", "py") or not is_python(text) or is_printed(text)):
                yield waiting._replace(record=text, record_at=(first, last))
                waiting, after = None, last + 1
                continue
            yield inline(waiting, lines, after, first - 1)
            waiting = None
        after = last + 1
        number += 1
        label = f"block {number}"
        reason = unrunnable(text, language)
        if reason:
            yield Cell(label, first + 1, text, None, None, reason)
        else:
            waiting = Cell(label, first + 1, text)
    if waiting is not None:
        yield inline(waiting, lines, after, len(lines))


def indent_of(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def fences(lines: list[str]) -> Iterator[tuple[int, int, str]]:
    """The bodies of fenced blocks: first line, the one after the last, the language."""
    opened: tuple[int, str, str] | None = None
    for i, line in enumerate(lines):
        found = FENCE.match(line)
        if found is None:
            continue
        if opened is None:
            opened = (i + 1, found.group(1), found.group(2).lower())
        elif found.group(1).startswith(opened[1]) and not found.group(2):
            yield opened[0], i, opened[2]
            opened = None


def unrunnable(text: str, language: str) -> str:
    if language not in ("python", "py"):
        return f"it is marked {language}, not python" if language else "it is not marked as python"
    if any(line.lstrip().startswith(">>>") for line in text.split("\n")):
        return "results stand in it after >>>"
    return "" if is_python(text) else "it is not Python"


def inline(cell: Cell, lines: list[str], start: int, end: int) -> Cell:
    """The cell with a result that stands in a line after it: "The result is `tensor([5.])`."."""
    for line in [line for line in lines[start:end] if line.strip()][:1]:
        found = INLINE.search(line)
        if found is not None and RESULT.search(line[: found.start()]):
            return cell._replace(record=found.group(1) + "\n")
    return cell


# ---- rewriting


def updated_text(text: str, found: list[tuple[Cell, str]]) -> str:
    """The text with new records: for each cell that has one, what it printed now."""
    lines = text.split("\n")
    for cell, printed in sorted(found, key=lambda pair: pair[0].line, reverse=True):
        fresh = printed.rstrip("\n").split("\n")
        if cell.record_at is not None:
            lines[cell.record_at[0] : cell.record_at[1]] = fresh
        elif cell.record is not None and len(fresh) == 1:
            old = f"`{cell.record.rstrip()}`"
            place = next((i for i in range(cell.line, len(lines)) if old in lines[i]), None)
            if place is not None:
                lines[place] = lines[place].replace(old, f"`{fresh[0]}`", 1)
    return "\n".join(lines)
