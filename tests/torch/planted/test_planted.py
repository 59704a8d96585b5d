"""`why --engine torch` names the cause of each planted bug; `python -m tests.torch.planted` prints the score."""

import importlib.util

import pytest

from tests.torch.planted.bugs import ask, load_all, misses

BUGS = load_all()
HAS_TORCH = importlib.util.find_spec("torch") is not None

# Answers that are not right yet, with what they lack; a strict mark, so that the line goes when the answer is right.
WRONG: dict[str, str] = {
    "dead_relu": "does not say negative|below|<= ?0|< ?0|dead|at most 0|not positive",
    "fp16_overflow": "does not say float16|half|fp16",
    "function_wrong_derivative": "does not name function_wrong_derivative.py:21",
    "grad_mode_left_off": "does not name grad_mode_left_off.py:17",
    "half_underflow": "does not say underflow|too small|smallest",
    "hook_left_over": "does not name hook_left_over.py:13 or hook_left_over.py:12",
    "infinite_initial_scale": "does not name infinite_initial_scale.py:17",
    "loss_of_target_network": "does not name loss_of_target_network.py:21 or loss_of_target_network.py:14",
    "loss_scale_overflow": "does not name loss_scale_overflow.py:16",
    "maml_inner_step": "does not name maml_inner_step.py:21",
    "mask_wrong_way_round": "does not name mask_wrong_way_round.py:19",
    "parameter_copied_in_forward": "does not say new leaf|copy|copies|own leaf|history|cut|detach",
    "penalty_without_create_graph": "does not name penalty_without_create_graph.py:18",
    "reentrant_checkpoint": "does not name reentrant_checkpoint.py:35",
    "straight_through_backwards": "does not name straight_through_backwards.py:21",
    "sum_of_softmax": "does not name sum_of_softmax.py:15 or sum_of_softmax.py:14",
    "unused_head": "does not name unused_head.py:18",
    "weights_not_tied": "does not name weights_not_tied.py:19",
}


def bugs():
    for bug in BUGS:
        marks = [pytest.mark.xfail(reason=WRONG[bug.name], strict=True)] if bug.name in WRONG else []
        yield pytest.param(bug, marks=marks, id=bug.name)


@pytest.mark.slow
@pytest.mark.skipif(not HAS_TORCH, reason="needs PyTorch")
@pytest.mark.parametrize("bug", bugs())
def test_names_the_cause(bug):
    answer = ask(bug)
    assert misses(bug, answer) == [], f"{bug.cause}\n{answer}"


def test_there_are_sixty_bugs_and_each_says_what_an_answer_must_have():
    assert len(BUGS) >= 60
    assert [bug.name for bug in BUGS if not bug.lines or not bug.says] == []
    assert not WRONG.keys() - {bug.name for bug in BUGS}


def test_an_answer_is_judged_by_line_words_and_file():
    bug = next(bug for bug in BUGS if bug.name == "detach_in_helper")
    ((file, number),) = bug.lines
    right = f"encoder.weight.grad is None: hidden.detach() at {file}:{number} cuts it off."
    assert misses(bug, right) == []
    assert misses(bug, right.replace(f"{file}:{number}", f"line {number}")) == [f"does not name {file}:{number}"]
    assert misses(bug, right.replace("None", "zero")) == ["does not say None|no gradient"]
    assert misses(bug._replace(misleads=["cuts"]), right) == ["misleads by cuts"]
