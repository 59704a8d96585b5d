"""Drawings as TikZ, and tables in LaTeX: what they say, and, where a TeX is installed, that they compile."""

import re
import shutil
import subprocess

import pytest
import trace_samples as samples

import gradtrace
from gradtrace.views import render, rows
from gradtrace.views.dot import DotOptions
from gradtrace.views.fold import fold
from gradtrace.views.model import model
from gradtrace.views.tex import escaped


def compiler():
    """The first TeX that has what a drawing and a table load; None if there is none."""
    for name in ("lualatex", "xelatex", "pdflatex", "tectonic"):
        if not shutil.which(name):
            continue
        needed = ["kpsewhich", "standalone.cls", "adjustbox.sty", "booktabs.sty", "tikz.sty"]
        found = None if name == "tectonic" else subprocess.run(needed, capture_output=True, text=True, check=False)
        if found is None or len(found.stdout.splitlines()) == len(needed) - 1:
            return name
    return None


COMPILER = compiler()


def drawn(trace, style="data"):
    return render.render(model(trace, style, fold(trace)), DotOptions(style=style), "tex").decode()


def names(text):
    """The texts of a drawing's nodes."""
    return re.findall(r"\\gradtracefit\{[\d.]+bp\}\{(.*)\}\};$", text, re.MULTILINE)


@pytest.mark.parametrize("style", ["data", "function", "autograd"])
def test_it_has_what_the_drawing_has(style):
    text = drawn(samples.notes(), style)
    assert {"x", "w"} <= set(names(text))
    svg = render.render(model(samples.notes(), style), DotOptions(style=style), "svg").decode()
    assert len(names(text)) == len([t for t in re.findall(r"<text[^>]*>([^<]*)</text>", svg) if t.strip()])
    assert text.count("{") == text.count("}") and text == drawn(samples.notes(), style)


def test_a_sparkline_is_bars():
    w = gradtrace.linspace(0, 1, 40).requires_grad_()
    picture = gradtrace.draw(w * 2)
    text = render.render(picture.model, picture.options, "tex").decode()
    assert text.count("rectangle") >= 16 and not set("▁▂▃▄▅▆▇█") & set(text)


@pytest.mark.parametrize(
    "name", [r"a\b", "a_b", "50%", "#1", "{x}", "x^2", "a~b", "x & y", "$x$", "λ", "汉", "a--b", "\n"]
)
def test_hostile_names_are_text(name):
    text = drawn(samples.hostile(name))
    body = text[text.index(r"\begin{tikzpicture}") :]
    assert not re.search(r"(?<!\\)[#%&$]", body.replace("\\\\", "")) or "汉" in name
    assert body.count(r"\end{document}") == 1


def test_escapes():
    assert escaped("a_b λ ∂x -- … 100%") == (r"a\_b \ensuremath{\lambda} \ensuremath{\partial}x -{}- \ldots{} 100\%")


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
    text = rows.render(["value", "advice"], [["0.12345678901234567", "a b " * 80], [matrix, ""]], "latex")
    cells = text.splitlines()[6:8]
    assert cells[0].startswith("0.123457 & a b") and cells[0].endswith(r"a b \ldots{} \\")
    assert (
        cells[1].startswith("[[0.0, 0.142857, 0.285714")
        and cells[1].endswith(r", \ldots{} &  \\")
        and len(cells[1]) < 100
    )
    assert text.splitlines()[2].count("p{6cm}") == 2


@pytest.mark.skipif(COMPILER is None, reason="no TeX with TikZ, standalone, adjustbox and booktabs is installed")
@pytest.mark.parametrize("what", ["drawing", "table"])
def test_it_compiles(tmp_path, what):
    names_in = ["λ", "a_b", r"\x", "50%", "汉"]
    text = drawn(samples.hostile(" ".join(names_in)))
    if what == "table":
        table = rows.render(
            ["name", "a long title of a column"] * 8, [names_in + ["-1", "2", "3"] + ["x"] * 8], "latex"
        )
        packages = "\\usepackage{adjustbox,array,booktabs,textcomp}"
        text = f"\\documentclass{{article}}{packages}\\begin{{document}}{table}\\end{{document}}"
    (tmp_path / "g.tex").write_text(text, encoding="utf-8")
    flags = [] if COMPILER == "tectonic" else ["-interaction=nonstopmode", "-halt-on-error"]
    done = subprocess.run([COMPILER, *flags, "g.tex"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "g.pdf").stat().st_size > 1000 and "Overfull" not in done.stdout


@pytest.mark.parametrize("name", ["汉字", "ひらがな", "한글"])
def test_eastern_names_have_a_font_or_a_warning(name):
    text = drawn(samples.hostile(f"{name}_a"))
    assert text.splitlines()[0].endswith("Compile with lualatex or xelatex: it has Chinese, Japanese or Korean text.")
    head, body = text.split(r"\begin{document}")
    assert rf"\gradtraceeastern{{{name}}}" in body and r"\gradtracetry{Noto Sans CJK SC}" in head
    assert r"\usepackage{fontspec}" in head and "PackageWarning" in head
    assert "fontspec" not in drawn(samples.notes()) and text.count("{") == text.count("}")


def test_letters_that_pdflatex_lacks_have_a_font(tmp_path):
    text = drawn(samples.hostile("вес"))
    head, body = text.split(r"\begin{document}")
    assert text.splitlines()[0].endswith("Compile with lualatex or xelatex: it has letters that pdflatex lacks.")
    assert r"\setsansfont{DejaVu Sans}" in head and r"\ifdefined\Umathchar в\else ?\fi" in body
    if shutil.which("lualatex") is None or COMPILER is None:
        return
    (tmp_path / "g.tex").write_text(text, encoding="utf-8")
    flags = ["-interaction=nonstopmode", "-halt-on-error"]
    done = subprocess.run(["lualatex", *flags, "g.tex"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "Missing character" not in (tmp_path / "g.log").read_text("utf-8", "replace")
