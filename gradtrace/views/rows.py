"""Results as data: strict JSON, JSON Lines, CSV, TSV, Markdown or LaTeX.

Every command writes its results with this module, so that numbers and cells are written in the same
way everywhere:

    fields(record, "name line=span")   facts of a record for a JSON object
    write(results, format)             the document, its objects one on each line, or the rows of a
                                       table
"""

from __future__ import annotations

from io import StringIO
from operator import attrgetter

from gradtrace.annotations import Any, Callable, Iterable, NamedTuple, Sequence
from gradtrace.lazy_names import word_pairs, words
from gradtrace.trace.record import Value
from gradtrace.views import numbers
from gradtrace.views.cells import visible

Rows = Iterable[Sequence[str]]
VERSION = 1  # of every schema; fields are only ever added


class Results(NamedTuple):
    """The results of a command as data. `items` names the list of the document that JSON Lines
    have; `rows` are of anything that `cell` writes.
    """

    schema: str
    document: dict[str, Any]
    items: str
    columns: Sequence[str]
    rows: Iterable[Iterable[Any]]


def write(results: Results, format: str) -> str:
    """Return results in any format but the terminal's table, ended by a line break."""
    schema, document, items, columns, rows = results
    if format == "json":
        return dumps({"schema": schema, "version": VERSION, **document}) + "\n"
    if format == "jsonl":
        head = {"schema": f"{schema}/{items.removesuffix('s')}", "version": VERSION}
        return "".join(dumps({**head, **item}) + "\n" for item in document[items])
    return render(columns, ([cell(fact) for fact in row] for row in rows), format)


def fields(record: Any, names: str) -> dict[str, Any]:
    """Return facts of a record by name; "line=span" is the fact `span` under another name,
    "label=cell.label" that of a part.
    """
    pairs = [name.partition("=") for name in names.split()]
    return {name: attrgetter(fact or name)(record) for name, _, fact in pairs}


def cell(fact: Any) -> str:
    """Return a fact as the text of a cell, with every digit; "" for None."""
    if fact is None:
        return ""
    return numbers.full(fact) if isinstance(fact, Value) else str(fact)


def render(columns: Sequence[str], lines: Rows, format: str) -> str:
    """Return the rows in one of FORMATS, ended by a line break."""
    return FORMATS[format](columns, lines)


def dumps(data: Any) -> str:
    """Return data as strict JSON on one line, in ASCII."""
    import json

    return json.dumps(numbers.jsonable(data), allow_nan=False)


def csv_text(columns: Sequence[str], lines: Rows, separator: str = ",") -> str:
    import csv

    out = StringIO()
    writer = csv.writer(out, delimiter=separator, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(lines)
    return out.getvalue()


def tsv_text(columns: Sequence[str], lines: Rows) -> str:
    """Return the rows as TSV without quoting, for cut and awk: tabs and line breaks within a cell
    become spaces.
    """
    return "".join(
        "\t".join(" ".join(cell.split()) for cell in line) + "\n" for line in [columns, *lines]
    )


def markdown(columns: Sequence[str], lines: Rows) -> str:
    body = [[markdown_cell(cell) for cell in line] for line in lines]
    return "".join(
        f"| {' | '.join(line)} |\n" for line in [list(columns), ["---"] * len(columns), *body]
    )


def markdown_cell(text: str) -> str:
    text = visible(text)
    for mark in "\\`*_|<>[]":
        text = text.replace(mark, "\\" + mark)
    return " ".join(text.split())


NUMBER = frozenset("0123456789+-.e")
WORDS = ("inf", "nan", "-inf", "None", "")


LONG_NUMBER = r"-?\d+\.\d{6,}(?:e[+-]?\d+)?"
# characters of a cell: above it the column has lines of its own; where a cell ends
WIDE, LONGEST = 40, 240


def latex(columns: Sequence[str], lines: Rows) -> str:
    """Return a LaTeX table in the style of booktabs, at most as wide as the text; a comment names
    the packages it needs.

    Numbers have six digits, long texts wrap, very long ones end in dots. CSV and JSON have
    everything.
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
    """Return a cell's text in a length that fits a page; a long one is cut between two words, never
    within a number.
    """
    import re

    text = " ".join(cell.split())
    if is_numeric([text]) or text.startswith("["):
        text = re.sub(LONG_NUMBER, lambda match: f"{float(match[0]):.6g}", text)
    longest = LONGEST // 3 if text.startswith("[") else LONGEST
    return text if len(text) <= longest else text[:longest].rpartition(" ")[0] + " …"


def latex_column(cells: list[str], wrapped: int) -> str:
    if is_numeric(cells):
        return "r"
    return (
        rf">{{\raggedright\arraybackslash}}p{{{wrapped}cm}}"
        if any(len(cell) > WIDE for cell in cells)
        else "l"
    )


def is_numeric(cells: list[str]) -> bool:
    """Whether a column holds numbers, so that it is aligned right."""
    return any(cell not in WORDS for cell in cells) and all(
        cell in WORDS or (NUMBER.issuperset(cell) and any(map(str.isdigit, cell))) for cell in cells
    )


def latex_cell(text: str) -> str:
    if text[:1] == "-" and is_numeric([text]):
        return "$-$" + text[1:]
    return escaped(text)


# ---- TeX's letters; those that 8-bit fonts lack are for LuaLaTeX and XeLaTeX, and pdfLaTeX shows a question mark

# Each character, and how TeX writes it.
ESCAPES = word_pairs(r"""
    \ \textbackslash{}  { \{  } \}  $ \$  & \&  # \#  % \%  _ \_  ^ \textasciicircum{}  ~ \textasciitilde{}
    < \textless{}  > \textgreater{}  | \textbar{}  ' \textquotesingle{}  ` \textasciigrave{}
    … \ldots{}  – \textendash{}  — \textemdash{}  µ \ensuremath{\mu}
""")
GREEK = words("""
    alpha beta gamma delta varepsilon zeta eta theta iota kappa lambda mu nu xi o pi rho varsigma sigma tau upsilon
    varphi chi psi omega
""")
# Each character, and its name in TeX's mathematics.
SIGNS = word_pairs(r"""
    Γ Gamma  Δ Delta  Θ Theta  Λ Lambda  Ξ Xi  Π Pi  Σ Sigma  Υ Upsilon  Φ Phi  Ψ Psi  Ω Omega
    ε epsilon  ϕ phi  ϵ epsilon
    ∂ partial  · cdot  × times  ÷ div  − -  ∞ infty  √ surd  ≤ le  ≥ ge  ≠ ne  ≈ approx  ∑ sum  ∏ prod
    → rightarrow  ← leftarrow  ↔ leftrightarrow
    ² {}^2  ³ {}^3  ¹ {}^1  ⊙ odot  ∇ nabla  ± pm  ° {}^\circ  ✓ surd
""")
MATHS = {chr(0x3B1 + i): name for i, name in enumerate(GREEK)} | SIGNS


def escaped(text: str) -> str:
    """Return a line of text for TeX; control characters are shown as the terminal shows them."""
    # no dash of two
    return "".join(map(tex_letter, visible(text))).replace("--", "-{}-").replace("--", "-{}-")


def tex_letter(char: str) -> str:
    command = ESCAPES.get(char)
    if command is None and char in MATHS:
        name = MATHS[char]
        command = ESCAPES[char] = (
            rf"\ensuremath{{{name if name[0] in '-{' or name == 'o' else chr(92) + name}}}"
        )
    if command is not None:
        return command
    # \Umathchar is of XeTeX and LuaTeX alone; \pdftexversion some packages define in LuaTeX too
    return (
        char
        if " " <= char <= "~" or "¡" <= char <= "ÿ"
        else rf"\ifdefined\Umathchar {char}\else ?\fi{{}}"
    )


FORMATS: dict[str, Callable[[Sequence[str], Rows], str]] = {
    "csv": csv_text,
    "tsv": tsv_text,
    "md": markdown,
    "latex": latex,
}
