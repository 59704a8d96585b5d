"""Files that an earlier commit saved (eaf71bb, version 0.2.0) give the answers that their programs give today.

`records_of_0_2/` has each program beside its file. `model.gt` is a recorded run of real PyTorch, with what that commit
answered about it in `model.json`: {command: stdout}, but for `stats`, where the update of a bias that starts at 0 was
"inf" then, and what shows gradients (`eval`, `graph`), which the trace for pictures had of the first step alone. `diff`
counted two states of BatchNorm before its first call, which are not compared any more. The output of a flat picture had
the shape `cds` then, and pictures did not count parameters.
"""

import json
import re
import shutil
from pathlib import Path

import pytest

SAVED = Path(__file__).parent / "records_of_0_2"
ARGUMENTS = {"e.txt": ["--seed", "5", "--x", "1,2,4"]}
COMMANDS = [
    "eval", "eval --all", "eval --format json", "eval --format csv", "trace", "trace --format jsonl", "stats", "why",
    "graph", "graph --style autograd", "graph --derivatives", "paths", "check",
]  # fmt: skip


@pytest.fixture
def saved(here):
    return shutil.copytree(SAVED, here, dirs_exist_ok=True)


NUMBER = re.compile(r"-?\d+\.\d+(?:e[-+]\d+)?")


COUNT = re.compile(r"\d+ values")

# The number that the program itself gives to a step, which an earlier file does not have.
OWN_NUMBER = re.compile(r"\s\((?:counted from 1|\w+=\d+(?:,\s\w+=\d+)*)\)")


def unnumbered(text):
    return " ".join(OWN_NUMBER.sub("", text).split())


def assert_same_but_for_rounding(a, b):
    """Compare texts; numbers may differ in float32's last digits, as products of matrices do between processors."""
    assert NUMBER.sub("#", a) == NUMBER.sub("#", b)
    pairs = zip(NUMBER.findall(a), NUMBER.findall(b), strict=True)
    assert [
        (x, y) for x, y in pairs if float(x) != pytest.approx(float(y), rel=2e-5, abs=1e-8)
    ] == []


@pytest.mark.sampled(8)
@pytest.mark.parametrize("program", ["loop.py", "view.py", "bad.py", "e.txt", "failing.py"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_answers_as_its_program_does_today(gt, saved, program, command):
    from_file = gt(*command.split(), Path(program).with_suffix(".gt"))
    from_program = gt(*command.split(), program, *ARGUMENTS.get(program, []))
    assert from_file.exit_code == from_program.exit_code
    assert_same_but_for_rounding(unnumbered(from_file.stdout), unnumbered(from_program.stdout))
    assert from_program.stdout or from_program.exit_code


@pytest.mark.parametrize("command, stdout", json.loads((SAVED / "model.json").read_text()).items())
def test_a_run_of_pytorch_answers_as_it_did(gt, saved, command, stdout):
    answer = gt(*command.split(), "model.gt").stdout
    assert COUNT.sub("# values", answer) == COUNT.sub("# values", stdout)
