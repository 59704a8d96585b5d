"""A cell of a note, and the treatment of notebook-only lines in its code.

`%magic` and `!shell` lines are not run, but listed. In `%time statement` the statement is run.
"""

from __future__ import annotations

import ast
import re
import shlex
from typing import NamedTuple

MAGIC = re.compile(r"^(\s*)(%{1,2}|!|\?)\s*([\w./-]+)(.*)$")
ASSIGNED = re.compile(r"^\s*[\w, ]+=\s*([%!])\s*([\w-]+)")
HELP = re.compile(r"^(\s*)[\w.]+\?{1,2}\s*$")
RUN_BY = ("time", "timeit", "capture", "prun")  # magics that run the code after them
MAGIC_CELL = re.compile(r"%%gradtrace(\s|$)")
NO_EFFECT = re.compile(r"^\s*(pass|#.*)?\s*$")


class Cell(NamedTuple):
    """A piece of code with its record, the output that the note shows. `skipped` is the reason for
    not running it.

    `line` is the first line of the code in the file. `record` is None without a recorded output.
    `record_at` has the record's first line and the line after its last (None in a notebook's JSON,
    and for a result within a line of text), and `prefix` is the text before each of these lines.
    `left_out` names the lines that are not Python and were not run. A `doctest` shows the value of
    each expression; with `ellipsis`, `...` in its record stands for any text. `command` has the
    words of a command line of gradtrace, without its name: of a terminal's block, whose code is the
    line itself, or of a notebook's magic (`is_magic`), whose program is the code.
    """

    label: str
    line: int
    code: str
    record: str | None = None
    record_at: tuple[int, int] | None = None
    skipped: str = ""
    prefix: str = ""
    left_out: tuple[str, ...] = ()
    doctest: bool = False
    ellipsis: bool = False
    command: tuple[str, ...] = ()
    is_magic: bool = False


def runnable(label: str, line: int, text: str) -> Cell:
    """Return a cell without the lines that are not Python, or with the reason why it cannot run."""
    magic, _, program = text.lstrip().partition("\n")
    if MAGIC_CELL.match(magic):
        return magic_cell(label, line, magic, program)
    code, left_out, reason = without_magics(text)
    if left_out and all(map(NO_EFFECT.match, code.split("\n"))):
        reason = f"it has only {', '.join(left_out)}"
    if reason:
        return Cell(label, line, text, skipped=reason)
    reason = "" if is_python(code) else "it is not Python"
    return Cell(label, line, code, left_out=left_out, skipped=reason)


def magic_cell(label: str, line: int, magic: str, program: str) -> Cell:
    """Return the cell of `%%gradtrace why w` above a program."""
    try:
        _, *words = shlex.split(magic)
    except ValueError as error:
        reason = f"its first line is not a command line: {str(error).lower()}"
        return Cell(label, line, program, skipped=reason)
    if not words or not program.strip():
        reason = "it is a %%gradtrace cell without a command or a program"
        return Cell(label, line, program, skipped=reason)
    return Cell(label, line, program, command=(words[0], "-", *words[1:]), is_magic=True)


def without_magics(text: str) -> tuple[str, tuple[str, ...], str]:
    """Return the code with `%magic` and `!shell` lines replaced by `pass`, the names of these, and
    the reason why the cell cannot run ("" if it can).

    The line numbers stay the same.
    """
    if is_python(text):
        return text, (), ""
    lines = text.split("\n")
    left_out = []
    for i, line in enumerate(lines):
        assigned = ASSIGNED.match(line)
        if assigned is not None:
            return text, (), f"it uses the result of {assigned[1]}{assigned[2]}"
        match = MAGIC.match(line)
        if match is None:
            if helped := HELP.match(line):
                left_out.append(line.strip())
                lines[i] = f"{helped[1]}pass"
            continue
        indent, sign, name, rest = match.groups()
        if sign == "%%":
            if name not in RUN_BY:
                return text, (), f"it is a %%{name} cell"
            lines[i] = ""
        elif sign == "%" and name in RUN_BY and rest.strip():
            lines[i] = indent + re.sub(r"^(\s*-\w+(\s+\d+)?)*\s*", "", rest)
        else:
            left_out.append(sign + name)
            lines[i] = f"{indent}pass"
    return "\n".join(lines), tuple(left_out), ""


def is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def is_printed(text: str) -> bool:
    """Whether text that is valid Python is nevertheless output: `tensor([5.])`, `x_grad:
    tensor(4.)`, `True`.
    """
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
