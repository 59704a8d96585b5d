"""Figures of a program: nothing without --allow-write, files of the real matplotlib with it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PLOT = """import matplotlib.pyplot as plt
import numpy as np
x = np.linspace(0, 1, 20)
line, = plt.plot(x, x ** 2, 'r-', label='a')
plt.title('T'); plt.legend(loc='best'); plt.grid(True)
"""


def run(text: str, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gradtrace", "run", "-", *options]
    env = {"PYTHONPATH": str(ROOT), "PATH": "", "HOME": str(Path.home())}
    return subprocess.run(command, input=text, cwd=folder, env=env, capture_output=True, text=True, timeout=300)


def test_without_permission_nothing_is_drawn_and_that_is_said_once(tmp_path: Path) -> None:
    done = run(PLOT + "plt.savefig('a.png')\nplt.show()\nfig, ax = plt.subplots(2, 2)\nprint(ax.shape)", tmp_path)
    assert (done.returncode, done.stdout) == (0, "(2, 2)\n")
    assert done.stderr.count("figures are not drawn") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_savefig_and_show_write_files_of_matplotlib(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    text = PLOT + (
        "plt.savefig('one.png', dpi=40)\nplt.savefig('out/two.pdf')\nplt.savefig('three.svg')\nplt.show()\n"
        "fig, axes = plt.subplots(1, 2)\naxes[0].imshow([[0, 1], [1, 0]]); axes[1].hist([1, 2, 2])\nplt.show()\n"
    )
    done = run(text, tmp_path, "--allow-write", "out")
    assert done.returncode == 0, done.stderr
    files = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert sorted(files) == ["figure_1.png", "figure_2.png", "one.png", "three.svg", "two.pdf"]
    assert files["one.png"][:4] == b"\x89PNG" and files["two.pdf"][:4] == b"%PDF" and b"<svg" in files["three.svg"]
    assert "error" not in done.stderr.lower()


@pytest.mark.slow
def test_figures_saved_before_an_error_are_written(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    done = run(PLOT + "plt.savefig('one.png')\n1 / 0\n", tmp_path, "--allow-write", "out")
    assert done.returncode == 1 and "ZeroDivisionError" in done.stderr
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["one.png"]


@pytest.mark.slow
def test_what_the_drawing_process_refuses(tmp_path: Path) -> None:
    """Names and arguments that lead to files, programs or code are left out; the figure is drawn without them."""
    pytest.importorskip("matplotlib")
    (tmp_path / "matplotlibrc").write_text("text.usetex: True\nbackend: module://nothing\n")
    text = PLOT + (
        "plt.rcParams['text.usetex'] = True\nplt.rcParams.update({'backend': 'module://os', 'font.size': 8})\n"
        "plt.text(0, 0, 'x', usetex=True)\nplt.title('x', fontproperties='/etc/passwd')\n"
        "plt.style.use('/etc/passwd')\nplt.legend(prop={'fname': '/etc/passwd'})\nplt.os.system('touch made')\n"
        "plt.gcf().canvas.print_figure('made')\nplt.figure(figsize=(1e5, 1e5))\nplt.savefig('big.png', dpi=1e6)\n"
        "plt.close()\nplt.savefig('one.png', metadata={'a': 'b'})\n"
    )
    done = run(text, tmp_path, "--allow-write", "out")
    assert done.returncode == 0, done.stderr
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["one.png"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["matplotlibrc", "out"]
    assert "pixels" in done.stderr and "Traceback" not in done.stderr
