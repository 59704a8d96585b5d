"""Rows of text cells -> CSV, TSV, Markdown or LaTeX; and plain data -> strict JSON.

Every command that has rows writes them with this module, so that cells are quoted in the same way everywhere.
"""

from __future__ import annotations

from io import StringIO

from gradtrace.annotations import Any, Callable, Iterable, Sequence
from gradtrace.views.cells import visible
from gradtrace.views.tex import escaped

Rows = Iterable[Sequence[str]]


def render(columns: Sequence[str], lines: Rows, format: str) -> str:
    """Return the rows in one of FORMATS, ended by a line break."""
    return FORMATS[format](columns, lines)


def dumps(data: Any) -> str:
    """Return data as strict JSON on one line, in ASCII."""
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
    """Return the rows as TSV without quoting, for cut and awk: tabs and line breaks within a cell become spaces."""
    return "".join("\t".join(" ".join(cell.split()) for cell in line) + "\n" for line in [columns, *lines])


def markdown(columns: Sequence[str], lines: Rows) -> str:
    body = [[markdown_cell(cell) for cell in line] for line in lines]
    return "".join(f"| {' | '.join(line)} |\n" for line in [list(columns), ["---"] * len(columns), *body])


def markdown_cell(text: str) -> str:
    text = visible(text)
    for mark in "\\`*_|<>[]":
        text = text.replace(mark, "\\" + mark)
    return " ".join(text.split())


NUMBER = frozenset("0123456789+-.e")
WORDS = ("inf", "nan", "-inf", "None", "")


LONG_NUMBER = r"-?\d+\.\d{6,}(?:e[+-]?\d+)?"
WIDE, LONGEST = 40, 240  # characters of a cell: above it the column has lines of its own; where a cell ends


def latex(columns: Sequence[str], lines: Rows) -> str:
    """Return a LaTeX table in the style of booktabs, at most as wide as the text; a comment names the packages it
    needs.

    Numbers have six digits, long texts wrap, very long ones end in dots. CSV and JSON have everything.
    """
    body = [[latex_text(cell) for cell in line] for line in lines]
    wrapped = 6 if len(columns) <= 6 else 3  # cm
    places = "".join(latex_column([line[i] for line in body], wrapped) for i in range(len(columns)))
    rows = [" & ".join(latex_cell(cell) for cell in line) + r" \\" for line in [columns, *body]]
    return "\n".join(
        [
            r"% \usepackage{adjustbox,array,booktabs,textcomp}",
            r"\begin{adjustbox}{max width=\textwidth}",
            rf"\begin{{tabular}}{{{places}}}",
            r"\toprule",
            rows[0],
            r"\midrule",
            *rows[1:],
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{adjustbox}",
            "",
        ]
    )


def latex_text(cell: str) -> str:
    """Return a cell's text in a length that fits a page; a long one is cut between two words, never within a number."""
    import re

    text = " ".join(cell.split())
    if is_numeric([text]) or text.startswith("["):
        text = re.sub(LONG_NUMBER, lambda found: f"{float(found[0]):.6g}", text)
    longest = LONGEST // 3 if text.startswith("[") else LONGEST
    return text if len(text) <= longest else text[:longest].rpartition(" ")[0] + " …"


def latex_column(cells: list[str], wrapped: int) -> str:
    if is_numeric(cells):
        return "r"
    return rf">{{\raggedright\arraybackslash}}p{{{wrapped}cm}}" if any(len(cell) > WIDE for cell in cells) else "l"


def is_numeric(cells: list[str]) -> bool:
    """Whether a column holds numbers, so that it is aligned right."""
    return any(cell not in WORDS for cell in cells) and all(
        cell in WORDS or (NUMBER.issuperset(cell) and any(map(str.isdigit, cell))) for cell in cells
    )


def latex_cell(text: str) -> str:
    if text[:1] == "-" and is_numeric([text]):
        return "$-$" + text[1:]
    return escaped(text)


FORMATS: dict[str, Callable[[Sequence[str], Rows], str]] = {
    "csv": csv_text,
    "tsv": tsv_text,
    "md": markdown,
    "latex": latex,
}
