"""Pictures: every format, the child process, the fallbacks, and a machine without fonts."""

import io
import os
import re
import subprocess
import sys

import pytest
import trace_samples as samples

from gradtrace.errors import RenderError, UsageError
from gradtrace.program.parse import parse
from gradtrace.program.run import run as run_program
from gradtrace.trace.capture import capture
from gradtrace.trace.keeper import Keeper
from gradtrace.views import dot, image, render
from gradtrace.views.model import model

SIGNATURES = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}


@pytest.mark.parametrize("format", image.FORMATS)
def test_formats_and_repeatable_bytes(format):
    source = dot.source(samples.notes())
    picture = image.render(source, format)
    assert picture.startswith(SIGNATURES[format])
    assert picture == image.render(source, format)


def test_pdf_has_no_time_of_day():
    assert b"/CreationDate (D:20000101000000" in image.render(dot.source(samples.square()), "pdf")


def test_unknown_format():
    with pytest.raises(UsageError, match="unknown picture format 'bmp'"):
        image.render("digraph {}", "bmp")


def test_dpi_scales_png():
    source = dot.source(samples.square())
    sizes = [
        int.from_bytes(image.render(source, "png", dpi=dpi)[16:20], "big") for dpi in (72, 144)
    ]
    assert sizes[1] == pytest.approx(2 * sizes[0], abs=2)


def test_a_png_is_made_for_slides_and_holds_its_resolution():
    from PIL import Image

    source = dot.source(samples.square())
    for dpi in (None, 300):
        picture = Image.open(io.BytesIO(image.render(source, "png", dpi=dpi)))
        picture.load()
        assert picture.info["dpi"] == pytest.approx((dpi or 192,) * 2, abs=0.02)
        points = float(re.search(rb'svg width="([\d.]+)pt', image.render(source, "svg"))[1])
        assert picture.width == pytest.approx(points * (dpi or 192) / 72, abs=3)


def test_node_count():
    assert image.node_count(dot.source(samples.square(), dot.DotOptions(legend=False))) == 3


def test_child_draws_the_same(monkeypatch):
    source = dot.source(samples.notes())
    here = image.render(source, "svg")
    monkeypatch.setattr(image, "IN_PROCESS", 0)
    assert image.render(source, "svg") == here


def test_modules_in_the_current_folder_are_not_taken(monkeypatch, tmp_path):
    (tmp_path / "pygraphviz.py").write_text("raise SystemExit('wrong module')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.setattr(image, "IN_PROCESS", 0)
    assert image.render(dot.source(samples.square()), "svg").startswith(b"<?xml")


def test_time_limit_stops_the_child(monkeypatch):
    monkeypatch.setattr(image, "IN_PROCESS", 0)
    with pytest.raises(RenderError, match=r"took more than 0\.01 s"):
        image.render(dot.source(samples.chain(50)), "svg", time_limit=0.01)


@pytest.mark.parametrize("limit", [0, 1000])
def test_broken_text_is_an_error_with_graphviz_words(monkeypatch, limit, capfd):
    monkeypatch.setattr(image, "IN_PROCESS", limit)
    with pytest.raises(RenderError, match="syntax error"):
        image.render("digraph { a [label=<<B>>] ->", "svg")
    assert capfd.readouterr().err == ""


def test_no_renderer_names_both_remedies(monkeypatch):
    monkeypatch.setattr(image, "pygraphviz_works", lambda: False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(RenderError) as caught:
        image.render("digraph {}", "svg")
    assert "pip install pygraphviz" in caught.value.hint
    assert "apt-get install graphviz" in caught.value.hint


def test_system_dot_is_the_fallback(monkeypatch, tmp_path):
    program = tmp_path / "dot"
    program.write_text(
        '#!/bin/sh\necho drawn "$@"\n'
    )  # confined: it may start the system's programs
    program.chmod(0o755)
    monkeypatch.setattr(image, "pygraphviz_works", lambda: False)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    assert image.render("digraph {}", "svg") == b"drawn -Tsvg\n"
    assert image.render("digraph {}", "png", dpi=90) == b"drawn -Tpng -Gdpi=90\n"


def test_stderr_stays_clean(capfd):
    image.render(dot.source(samples.square()), "png")
    assert capfd.readouterr().err == ""


def draw_in_a_fresh_process(**environment):
    code = (
        "import sys; from gradtrace.views import image;"
        "image.FONT_FOLDERS = ('/nowhere',) if sys.argv[1] else image.FONT_FOLDERS;"
        "print(image.render('digraph { a [label=\"▁▃█ λ W\" fontname=\"DejaVu Sans\"] }', 'pdf').count(b'DejaVu'))"
    )
    return subprocess.run(
        [sys.executable, "-c", code, "bare"],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )


@pytest.mark.skipif(sys.platform != "linux", reason="fontconfig finds fonts on Linux")
def test_a_machine_without_fonts_uses_ours():
    done = draw_in_a_fresh_process()
    assert done.stderr == ""
    assert int(done.stdout) > 0


def test_several_are_drawn_by_one_child(monkeypatch):
    sources = [dot.source(trace) for trace in (samples.notes(), samples.square(), samples.chain(5))]
    each = [image.render(source, "png", dpi=50) for source in sources]
    assert image.render_many(sources, "png", dpi=50) == each
    monkeypatch.setattr(image, "IN_PROCESS", 0)
    assert image.render_many(sources, "png", dpi=50) == each
    assert image.render_many([], "png") == []
    with pytest.raises(RenderError, match="syntax error"):
        image.render_many([sources[0], "digraph {"], "png")


def test_a_png_that_is_far_too_long_is_refused_before_it_is_laid_out(monkeypatch):
    program = (
        "import torch\nx = torch.ones(1, requires_grad=True)\nfor i in range(900):\n    x = x * 2\n"
    )
    chain = model(capture(run_program(parse(program, name="s.py"), record=Keeper)))
    monkeypatch.setattr(image, "draw", None)
    monkeypatch.setattr(image, "drawn_apart", None)
    with pytest.raises(RenderError, match=r"at 192 dpi the PNG would be about [0-9,]+ pixels long"):
        render.render(chain, dot.DotOptions(), "png")
