"""In a notebook the values of a cell's operations are kept for drawings, statistics and steps."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("IPython")

SHELL = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
for cell in cells:
    shell.run_cell(cell, store_history=True).raise_error()
"""
FIRST = """import gradtrace
x = gradtrace.tensor(2.0, requires_grad=True)
w = gradtrace.tensor(1.0, requires_grad=True)
y = (x + w) * (w + 1)
y.backward()
"""
NET = """import gradtrace
gradtrace.manual_seed(0)
data = gradtrace.ones(2, 4)
net = gradtrace.nn.Linear(4, 3)
out = net(data).relu().sum()
out.backward()
"""


@pytest.fixture
def printed(tmp_path):
    """printed(cell, ...) -> what the cells of a notebook print."""

    def run(*cells):
        env = {**os.environ, "IPYTHONDIR": str(tmp_path), "COLUMNS": "120", "NO_COLOR": "1"}
        command = [sys.executable, "-c", f"cells = {list(cells)!r}\n{SHELL}"]
        done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_the_guides_first_example_shows_every_value(printed):
    lines = printed(FIRST, "print(gradtrace.draw(y))").splitlines()
    assert lines[0].split()[:2] == ["y", "6"]
    assert [line.split()[3] for line in lines if " add #" in line] == ["3", "2"]
    drawn = printed(FIRST + "print(gradtrace.draw(y).svg())")
    assert "overwritten" not in drawn and "not kept" not in drawn


def test_statistics_have_no_blanks(printed):
    rows = printed(FIRST, "print(gradtrace.stats(y))").splitlines()
    assert [row.split()[2:7] for row in rows if row.startswith("add #")] == [
        ["add", *"3330"],
        ["add", *"2220"],
    ]


def test_an_input_is_known_after_backward(printed):
    text = printed(NET, "print(gradtrace.steps(out))")
    assert "not kept" not in text and "data" in text and "addmm" in text


def test_values_are_those_of_the_call(printed):
    text = printed(
        "import gradtrace\nw = gradtrace.tensor([1., 2.], requires_grad=True)\nh = w * 3\nh.add_(10)\ny = h.sum()\n",
        "print(gradtrace.draw(y))",
    )
    assert "[3, 6]" in text and "[13, 16]" in text


def test_outside_of_a_cell_a_freed_value_is_not_kept():
    program = FIRST.replace("y.backward()", "y.backward()\nprint(gradtrace.steps(y))")
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "(not kept)" in done.stdout and "overwritten" not in done.stdout


def test_an_error_has_the_frames_of_the_program_alone(tmp_path):
    """A frame of the library says nothing about the mistake; one of a function that it calls does."""
    cells = [
        "import gradtrace as torch\nx = torch.ones(2, requires_grad=True)",
        "(x * 2).backward()",
        "y = (x * 2).sum()\ny.register_hook(lambda g: g.reshape(7))\ny.backward()",
        "1 / 0",
    ]
    code = SHELL.replace(".raise_error()", "").replace("\nfor", "\nshell.colors = 'nocolor'\nfor")
    env = {**os.environ, "IPYTHONDIR": str(tmp_path), "COLUMNS": "120", "NO_COLOR": "1"}
    command = [sys.executable, "-c", f"cells = {cells!r}\n{code}"]
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    assert "gradtrace/" not in done.stdout
    assert done.stdout.count("Traceback") == 3
    assert "----> 1 (x * 2).backward()" in done.stdout
    assert "lambda g: g.reshape(7)" in done.stdout.split("ZeroDivisionError")[0]
    assert "RuntimeError: grad can be implicitly created only for scalar outputs" in done.stdout
    assert "ZeroDivisionError: division by zero" in done.stdout
