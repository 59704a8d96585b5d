"""`why --engine torch` names the cause of each planted bug; `python -m tests.torch.planted` prints the score."""

import importlib.metadata
import importlib.util

import pytest

from tests.torch.planted.bugs import ask, load_all, misses

BUGS = load_all()
HAS_TORCH = importlib.util.find_spec("torch") is not None
# the first PyTorch in which a bug does no harm
HARMLESS = {"acos_of_one": ((2, 15), "clamp passes no gradient at its bounds")}


def version():
    return tuple(int(part) for part in importlib.metadata.version("torch").split(".")[:2])


@pytest.mark.slow
@pytest.mark.skipif(not HAS_TORCH, reason="needs PyTorch")
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_names_the_cause(bug):
    first, reason = HARMLESS.get(bug.name, ((99,), ""))
    if version() >= first:
        pytest.skip(f"in PyTorch {'.'.join(map(str, first))} {reason}")
    answer = ask(bug)
    assert misses(bug, answer) == [], f"{bug.cause}\n{answer}"


def test_there_are_sixty_bugs_and_each_says_what_an_answer_must_have():
    assert len(BUGS) >= 60
    assert [bug.name for bug in BUGS if not bug.lines or not bug.says] == []


def test_an_answer_is_judged_by_line_words_and_file():
    bug = next(bug for bug in BUGS if bug.name == "detach_in_helper")
    ((file, number),) = bug.lines
    right = f"encoder.weight.grad is None: hidden.detach() at {file}:{number} cuts it off."
    assert misses(bug, right) == []
    assert misses(bug, right.replace(f"{file}:{number}", f"line {number}")) == [f"does not name {file}:{number}"]
    assert misses(bug, right.replace("None", "zero")) == ["does not say None|no gradient"]
    assert misses(bug._replace(misleads=["cuts"]), right) == ["misleads by cuts"]
