"""`gradtrace why` names the cause of each planted bug, and none in programs that are right.

`python -m tests.planted` prints the score.
"""

import importlib.metadata
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.planted.bugs import answer_of, corrected, load_all, misses, read_printed, why

ROOT = Path(__file__).parents[2]
BUGS = load_all()
HAS_TORCH = importlib.util.find_spec("torch") is not None
# the first PyTorch in which a bug does no harm
HARMLESS = {"acos_of_one": ((2, 15), "clamp passes no gradient at its bounds")}
# what is not found, and why
MISSED: dict[str, str] = {}
# a program without a tensor (static graphs), and what shows an error or a NaN on purpose
OTHER = {
    "note_2_cell_6_tf1_static",
    "note_4_static_while_loop_tf1",
    "note_5_cell_3_second_backward",
}
OTHER |= {"note_5_cells_20_26_24_tensorboard", "mixed_precision"}
FOLDERS = ("examples", "tests/recorded/tutorials", "tests/recorded/seeds")
RIGHT = [
    path
    for folder in FOLDERS
    for path in sorted((ROOT / folder).glob("*.py"))
    if path.stem not in OTHER
]


def asked(engine):
    bugs = [bug for bug in BUGS if engine in bug.engines]
    return pytest.mark.parametrize("bug", bugs, ids=lambda bug: bug.name)


def version():
    return tuple(int(part) for part in importlib.metadata.version("torch").split(".")[:2])


@pytest.mark.slow
@asked("gradtrace")
def test_gradtrace_names_the_cause(bug):
    answer = answer_of(bug, "gradtrace")
    assert misses(bug, answer) == [], f"{bug.cause}\n{answer.printed}"


@pytest.mark.slow
@pytest.mark.skipif(not HAS_TORCH, reason="needs PyTorch")
@asked("torch")
def test_torch_names_the_cause(bug):
    first, reason = HARMLESS.get(bug.name, ((99,), ""))
    if version() >= first:
        pytest.skip(f"in PyTorch {'.'.join(map(str, first))} {reason}")
    if bug.missing:
        pytest.skip(f"needs {', '.join(bug.missing)}")
    answer = answer_of(bug, "torch")
    lacks = misses(bug, answer)
    if bug.name in MISSED:
        assert lacks and not any(text.startswith("misleads") for text in lacks)
        pytest.xfail(MISSED[bug.name])
    assert lacks == [], f"{bug.cause}\n{answer.printed}"


@pytest.mark.slow
@pytest.mark.skipif(not HAS_TORCH, reason="needs PyTorch")
@pytest.mark.parametrize(
    "bug", [bug for bug in BUGS if len(bug.right) == 2], ids=lambda bug: bug.name
)
def test_nothing_is_wrong_without_the_bug(bug, tmp_path):
    if bug.missing:
        pytest.skip(f"needs {', '.join(bug.missing)}")
    script = tmp_path / "right.py"
    script.write_text(corrected(bug), encoding="utf-8")
    assert why(bug, "--engine", "torch", script=script).stdout.startswith("Checked")


@pytest.mark.slow
@pytest.mark.parametrize("path", RIGHT, ids=lambda path: path.stem)
def test_nothing_is_wrong_with_a_program_that_is_right(path):
    command = [sys.executable, "-m", "gradtrace", "why", str(path), "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)["answers"]
    known = {answer["name"] for answer in answers}
    assert "" not in known and all(answer["status"] != "found" for answer in answers)


def test_there_are_many_bugs_and_each_says_what_an_answer_must_have():
    asked_of_torch = [bug for bug in BUGS if "torch" in bug.engines]
    assert len(asked_of_torch) >= 148 and len(BUGS) >= 210
    in_library_models = [bug for bug in BUGS if bug.name.startswith("lib_")]
    assert len(in_library_models) >= 60 and len(MISSED) <= 8
    assert [bug.name for bug in BUGS if not bug.lines] == []
    assert [bug.name for bug in asked_of_torch if not bug.must] == []


def test_an_answer_is_judged_by_line_words_and_file():
    bug = next(bug for bug in BUGS if bug.name == "detach_in_helper")
    ((file, number),) = bug.lines
    right = f"encoder.weight.grad is None: hidden.detach() at {file}:{number} cuts it off."

    def lacks(text, bug=bug):
        return misses(bug, read_printed(bug, text))

    assert lacks(right) == []
    assert lacks(right.replace(f"{file}:{number}", f"line {number}")) == [
        f"does not name {file}:{number}"
    ]
    assert lacks(right.replace("None", "zero")) == ["does not say None|no gradient"]
    assert lacks(right, bug._replace(never=["cuts"])) == ["misleads by cuts"]
