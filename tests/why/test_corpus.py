"""`gradtrace why` on planted bugs, and on programs with none."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.why.corpus import PROGRAMS, judge

ROOT = Path(__file__).parents[2]
BUGS = sorted(PROGRAMS.glob("*.py"))
# a program without a tensor (static graphs), and what shows an error or a NaN on purpose
OTHER = {"tf1_training", "note_2_cell_6_tf1_static", "note_4_static_while_loop_tf1", "note_5_cell_3_second_backward"}
OTHER |= {"note_5_cells_20_26_24_tensorboard", "mixed_precision"}
FOLDERS = ("examples", "tests/parity/programs", "tests/parity/seeds")
RIGHT = [path for folder in FOLDERS for path in sorted((ROOT / folder).glob("*.py")) if path.stem not in OTHER]


@pytest.mark.slow
@pytest.mark.parametrize("path", BUGS, ids=lambda path: path.stem)
def test_a_planted_bug_is_answered_by_its_cause(path):
    said, text = judge(path)
    assert said == "right", text


@pytest.mark.slow
@pytest.mark.parametrize("path", RIGHT, ids=lambda path: path.stem)
def test_nothing_is_wrong_with_a_program_that_is_right(path):
    command = [sys.executable, "-m", "gradtrace", "why", str(path), "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)["answers"]
    known = {answer["name"] for answer in answers}
    assert "" not in known and all(answer["status"] != "found" for answer in answers)
