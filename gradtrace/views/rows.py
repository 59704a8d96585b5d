"""Rows of text cells -> CSV, TSV, Markdown or LaTeX; and plain data -> strict JSON.

Every command that has rows writes them through here, so that a cell is quoted in one way everywhere.
"""

from __future__ import annotations

from io import StringIO

from gradtrace.annotations import Any, Callable, Iterable, Sequence
from gradtrace.views.cells import visible

Rows = Iterable[Sequence[str]]
LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
}


def render(columns: Sequence[str], lines: Rows, format: str) -> str:
    """The rows in one of FORMATS, ended by a line break."""
    return FORMATS[format](columns, lines)


def dumps(data: Any) -> str:
    """Strict JSON on one line, in ASCII."""
    import json

    return json.dumps(data, allow_nan=False)


def csv_text(columns: Sequence[str], lines: Rows, separator: str = ",") -> str:
    import csv

    out = StringIO()
    writer = csv.writer(out, delimiter=separator, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(lines)
    return out.getvalue()


def tsv_text(columns: Sequence[str], lines: Rows) -> str:
    """No quoting, as cut and awk want it: tabs and line breaks within a cell become spaces."""
    return "".join("\t".join(" ".join(cell.split()) for cell in line) + "\n" for line in [columns, *lines])


def markdown(columns: Sequence[str], lines: Rows) -> str:
    body = [[markdown_cell(cell) for cell in line] for line in lines]
    return "".join(f"| {' | '.join(line)} |\n" for line in [list(columns), ["---"] * len(columns), *body])


def markdown_cell(text: str) -> str:
    text = visible(text)
    for mark in "\\`*_|<>[]":
        text = text.replace(mark, "\\" + mark)
    return " ".join(text.split())


def latex(columns: Sequence[str], lines: Rows) -> str:
    """A tabular environment; it needs no package."""
    body = [" & ".join(latex_cell(cell) for cell in line) + r" \\" for line in [columns, *lines]]
    body.insert(1, r"\hline")
    return "\n".join([rf"\begin{{tabular}}{{{'l' * len(columns)}}}", *body, r"\end{tabular}", ""])


def latex_cell(text: str) -> str:
    return " ".join("".join(LATEX.get(char, char) for char in visible(text)).split())


FORMATS: dict[str, Callable[[Sequence[str], Rows], str]] = {
    "csv": csv_text,
    "tsv": tsv_text,
    "md": markdown,
    "latex": latex,
}
