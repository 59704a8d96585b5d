"""A picture that cannot be made, as a process: exit code, what is wrong, what to do, and no half file."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXPR = ("graph", "x*w", "--x", "2", "--w", "1")


def process(here, *arguments, **environment):
    path = os.pathsep.join([*environment.pop("first", []), str(ROOT)])
    return subprocess.run(
        [sys.executable, "-m", "gradtrace", *map(str, arguments)],
        cwd=here,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path, **environment},
        timeout=120,
    )


def refused(here, *arguments, code=2, **environment):
    done = process(here, *arguments, **environment)
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert "Traceback" not in done.stderr and done.stderr.startswith("gradtrace")
    return done.stderr


@pytest.fixture
def bare(here):
    """The environment of a machine without pygraphviz and without a `dot`."""
    (here / "stub").mkdir()
    (here / "stub" / "pygraphviz.py").write_text(
        "raise ImportError('libcgraph.so: cannot open shared object file')\n"
    )
    return {"first": [str(here / "stub")], "PATH": str(here)}


@pytest.mark.parametrize("suffix", ["svg", "png", "pdf", "html", "gif"])
def test_no_renderer(here, bare, suffix):
    if suffix == "gif":
        pytest.importorskip("PIL")
    said = refused(here, *EXPR, "-o", f"g.{suffix}", code=1, **bare)
    assert "no Graphviz to draw with" in said
    assert (
        "pip install pygraphviz" in said
        and "apt-get install graphviz" in said
        and "-o FILE.dot" in said
    )
    assert not (here / f"g.{suffix}").exists()


@pytest.mark.parametrize("suffix", ["dot", "mmd", "json", "graphml", "txt"])
def test_what_needs_no_renderer(here, bare, suffix):
    done = process(here, *EXPR, "-o", f"g.{suffix}", **bare)
    assert (done.returncode, done.stderr) == (0, "") and (here / f"g.{suffix}").stat().st_size > 50


@pytest.mark.parametrize("name", ["g.jpg", "g", "svg", "g.svg.gz", ""])
def test_unknown_suffix(here, name):
    said = refused(here, *EXPR, "-o", name)
    assert f"cannot tell what to draw from '{name}'" in said and ".svg, .png, .pdf" in said
    assert list(here.iterdir()) == []


def test_a_folder_as_output(here):
    (here / "d.svg").mkdir()
    assert "cannot write 'd.svg': is a directory; name a file in it" in refused(
        here, *EXPR, "-o", "d.svg"
    )


def test_no_such_folder_is_told_before_the_program_runs(here):
    (here / "p.txt").write_text("print('ran')\nx * 2\n")
    said = refused(here, "graph", "p.txt", "--x", "1", "-o", "none/g.svg")
    assert said == (
        "gradtrace: cannot write 'none/g.svg': no such file or directory; make the folder first: mkdir -p 'none'\n"
    )


def test_a_file_where_a_folder_should_be(here):
    (here / "file").write_text("kept")
    assert "not a directory; choose another place with -o" in refused(
        here, *EXPR, "-o", "file/g.svg"
    )


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="no file can be made in Linux's /proc")
def test_an_unwritable_place(here):
    assert "cannot write '/proc/g.svg'" in (said := refused(here, *EXPR, "-o", "/proc/g.svg"))
    assert "choose another place with -o" in said


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a full disk")
def test_a_full_disk(here):
    os.symlink("/dev/full", here / "g.svg")
    said = refused(here, *EXPR, "-o", "g.svg")
    assert "cannot write 'g.svg': no space left on device" in said


@pytest.mark.skipif(sys.platform != "linux", reason="fontconfig finds fonts on Linux")
def test_a_machine_without_fonts_gets_the_same_picture(here):
    """The fonts come with gradtrace."""
    assert process(here, *EXPR, "-o", "with.pdf").returncode == 0
    (here / "fonts.conf").write_text(
        '<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig/>'
    )
    code = (
        "from gradtrace.views import image; image.FONT_FOLDERS = ('/nowhere',); import sys; "
        "from gradtrace.cli.main import main; sys.argv[0] = 'gradtrace'; sys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *EXPR, "-o", "bare.pdf"],
        cwd=here,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert b"DejaVu" in (here / "bare.pdf").read_bytes()


def test_without_tensorboardx(here):
    (here / "stub").mkdir()
    (here / "stub" / "tensorboardX.py").write_text("raise ImportError('no')\n")
    said = refused(here, *EXPR, "--tensorboard", "runs", code=1, first=[str(here / "stub")])
    assert "needs tensorboardX" in said and "pip install 'gradtrace[tensorboard]'" in said
    assert not (here / "runs").exists()
