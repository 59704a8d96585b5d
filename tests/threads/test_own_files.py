"""The programs, notes and command lines of own/ that are asked about as a user would, as processes."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent / "own"
ROOT = Path(__file__).parents[2]


def run(*args):
    env = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200"}
    command = [sys.executable, "-m", "gradtrace", *args]
    return subprocess.run(command, cwd=HERE, env=env, capture_output=True, text=True, timeout=60)


TERMS = {
    "cut_term": "the term torch.tensor(wrong).mean() of loss on line 10 has no gradient",
    "cut_term2": "the term acc of loss on line 10 has no gradient: it depends on the parameters only through "
    "integers (argmax on line 9)",
    "cut_term3": "the term reg of loss on line 10 has no gradient: it was made from the numbers of net.weight.norm()",
    "cut_term4": "loss depends on net.weight.norm() through net.weight.norm().item() on line 9 too, and no gradient "
    "comes back",
    "cut_term5": "the term reg of loss on line 10 has no gradient: it depends on the parameters only through .data",
}


@pytest.mark.parametrize("name", TERMS)
def test_a_term_without_a_gradient_is_named_with_its_cut(name):
    told = " ".join(run("why", f"{name}.py").stdout.split())
    assert told.startswith(TERMS[name])


def test_independent_examples_are_blocks_of_their_own():
    done = run("graph", "graph_merge.py")
    assert "84 operations, folded into 14" in done.stderr
    assert all(f"x{number}\\nshape ()" in done.stdout for number in range(1, 15))


def test_a_leaf_that_is_not_drawn_is_named():
    done = run("graph", "graph_isolated.py")
    assert "not drawn, as y.sum() does not depend on it: x2" in done.stderr
    assert "x2" not in done.stdout


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nb_repr.ipynb", "4 addresses"),
        ("nb_repr.md", "4 addresses"),
        ("nb_repr.txt", "4 addresses"),
        ("nbconvert.md", "1 no record, 1 same"),
    ],
)
def test_a_note_agrees(name, said):
    done = run("verify", name)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, f"{name}: {said}")


HINTS = (
    "it is 'torch.quantile' here",
    "write torch.linalg.det",
    "it is 'torch.cdist' here",
    "it is 'torch.matrix_exp' here",
    "factorial(x) is exp(lgamma(x + 1)) for x > -1",
    "a comma makes two values; 1.5 is one number",
    "--no-backward leaves this call out",
    "no such file: 'notebook.ipynb'",
)
LINES = (HERE / "unnamed_torch.sh").read_text().splitlines()[1:]


@pytest.mark.parametrize(("line", "hint"), list(zip(LINES, HINTS, strict=True)))
def test_a_command_line_gets_the_hint_that_helps(line, hint):
    _, *words = shlex.split(line, comments=True)
    assert hint in run(*words).stderr
