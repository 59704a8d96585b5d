"""Tables in LaTeX: what they say, and, where a TeX is installed, that they compile."""

import shutil
import subprocess

import pytest

from gradtrace.views import rows
from gradtrace.views.rows import escaped


def compiler():
    """The first TeX that has what a table loads; None if there is none."""
    for name in ("lualatex", "xelatex", "pdflatex", "tectonic"):
        if not shutil.which(name):
            continue
        needed = ["kpsewhich", "adjustbox.sty", "booktabs.sty"]
        paths = (
            None
            if name == "tectonic"
            else subprocess.run(needed, capture_output=True, text=True, check=False)
        )
        if paths is None or len(paths.stdout.splitlines()) == len(needed) - 1:
            return name
    return None


COMPILER = compiler()


def test_escapes():
    assert escaped("a_b λ ∂x -- … 100%") == (
        r"a\_b \ensuremath{\lambda} \ensuremath{\partial}x -{}- \ldots{} 100\%"
    )


def test_a_table_in_the_manner_of_booktabs():
    text = rows.render(["name", "value"], [["a_1", "-2.5"], ["b & c", "1e-05"]], "latex")
    assert text.splitlines() == [
        r"% \usepackage{adjustbox,array,booktabs,textcomp}",
        r"\begin{adjustbox}{max width=\textwidth}",
        r"\begin{tabular}{lr}",
        r"\toprule",
        r"name & value \\",
        r"\midrule",
        r"a\_1 & $-$2.5 \\",
        r"b \& c & 1e-05 \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{adjustbox}",
    ]


def test_a_table_for_a_page():
    matrix = str([[i / 7 for i in range(30)] for _ in range(9)])
    text = rows.render(
        ["value", "advice"], [["0.12345678901234567", "a b " * 80], [matrix, ""]], "latex"
    )
    cells = text.splitlines()[6:8]
    assert cells[0].startswith("0.123457 & a b") and cells[0].endswith(r"a b \ldots{} \\")
    assert (
        cells[1].startswith("[[0.0, 0.142857, 0.285714")
        and cells[1].endswith(r", \ldots{} &  \\")
        and len(cells[1]) < 100
    )
    assert text.splitlines()[2].count("p{6cm}") == 2


@pytest.mark.skipif(COMPILER is None, reason="no TeX with adjustbox and booktabs is installed")
def test_a_table_compiles(tmp_path):
    cells = ["λ", "a_b", r"\x", "50%", "汉", "-1", "2", "3"] + ["x"] * 8
    table = rows.render(["name", "a long title of a column"] * 8, [cells], "latex")
    packages = "\\usepackage{adjustbox,array,booktabs,textcomp}"
    text = f"\\documentclass{{article}}{packages}\\begin{{document}}{table}\\end{{document}}"
    (tmp_path / "table.tex").write_text(text, encoding="utf-8")
    flags = [] if COMPILER == "tectonic" else ["-interaction=nonstopmode", "-halt-on-error"]
    done = subprocess.run(
        [COMPILER, *flags, "table.tex"], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "table.pdf").stat().st_size > 1000 and "Overfull" not in done.stdout
