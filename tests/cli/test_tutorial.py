"""`gradtrace tutorial`: straight through as a process, and at a terminal."""

import shlex

import pytest

from gradtrace.cli.commands import tutorial
from gradtrace.cli.tutorial_steps import PROGRAMS, STEPS


@pytest.fixture(scope="module")
def exit_codes():
    """The exit codes that the steps' commands are meant to have; 0 where none is given."""
    return {"gradtrace check cube.py": 1}


@pytest.mark.parametrize("step", STEPS, ids=[step.title for step in STEPS])
def test_the_command_of_each_step_and_its_answer(gt, here, exit_codes, step):
    for name, text in PROGRAMS.items():
        (here / name).write_text(text)
    assert gt(*shlex.split(step.command)[1:]).exit_code == exit_codes.get(step.command, 0)
    assert not step.written or (here / step.written).read_text()
    question = step.question
    assert bool(question.command) != bool(question.words)
    assert step.program in (step.command.split()[-1], "")
    if question.command:
        float(gt(*shlex.split(question.command)[1:]).stdout)


@pytest.mark.parametrize(("program", "change", "command"), [
    ("line.txt", (), ("eval", "line.txt", "--w", "2", "--b", "1", "--get", "loss")),
    ("cube.py", ("g * 2", "g * 3"), ("check", "cube.py")),
])  # fmt: skip
def test_the_answers_in_words_are_right(answer, here, program, change, command):
    text = PROGRAMS[program]
    (here / program).write_text(text.replace(*change) if change else text)
    said = answer(*command)
    assert said == "0.0\n" or "no mistake found" in said


@pytest.mark.slow
def test_without_a_terminal_all_steps_from_one_on_are_printed(process):
    done = process("tutorial", "--start", "6", input="")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Step 5 of" not in done.stdout and done.stdout.count("\nQuestion: ") == 2
    assert "loss is nan: softmax on line 6" in done.stdout and "\nAnswer: -inf\n" in done.stdout
    assert (
        "wrong: 1 of 1 derivatives of y" in done.stdout and "This was the last step." in done.stdout
    )
    assert "\x1b" not in done.stdout
    assert (
        "\x1b[1mStep 7 of 7"
        in process("tutorial", "--no-input", "--start", "7", "--color", "always").stdout
    )


def test_the_list_of_steps(answer):
    lines = answer("tutorial", "--list").splitlines()
    assert len(lines) == len(STEPS) and lines[3] == "4  Why is it None?"


def test_a_step_that_is_not_there(refusal):
    assert refusal("tutorial", "--start", "99") == (
        2,
        f"gradtrace: no step 99; the tutorial has {len(STEPS)} steps; --list shows them\n",
    )


@pytest.mark.parametrize(("typed", "answers", "right"), [
    ("9", ["9.0"], True), ("9.1", ["9.0"], False), ("THREE", ["3", "three"], True), ("-inf", ["-inf"], True),
    ("", ["9.0"], False), ("nine", ["9.0"], False),
    ("b=1", ("1", "1.0"), True), ("b = 1.0", ("1",), True), ("b=2", ("1",), False),
    ("float('-inf')", ("-inf", 'float("-inf")'), True), ("float( '-inf' )", ('float("-inf")',), True),
])  # fmt: skip
def test_what_counts_as_right(typed, answers, right):
    assert tutorial.is_right(typed, answers) is right


def test_at_a_terminal(at_terminal):
    t = at_terminal("tutorial", until="Enter to run it> ")
    t.say(
        "x*x\n"
    )  # an expression in place of the command: its own error, and the same prompt again
    assert "no value for x" in t.until("Enter to run it> ")
    t.say('gradtrace eval "x*x" --x 7 --get x.grad\n')
    assert "14.0" in t.until("Enter to run it> ")
    t.say("gradtrace eval 'x\n")
    assert "quotation mark is not closed" in t.until("Enter to run it> ")
    t.say("\n")
    assert "MulBackward0" in t.until("Your answer")
    t.say("8\n")
    assert "Not quite." in t.until("Your answer")
    t.say("9\n")
    said = t.until("Enter to run it> ")
    assert "Right." in said and "Step 2 of" in said
    t.say("skip\n")
    assert "Step 3 of" in t.until("Enter to run it> ")
    t.say("\n")
    t.until("Your answer")
    t.say("\n")
    assert "The answer is MulBackward0." in t.until("Enter to run it> ")
    t.say("quit\n")
    assert "gradtrace tutorial --start 4" in t.until("\0")
    assert t.end() == 0


@pytest.mark.parametrize(("key", "code"), [("\x03", 130), ("\x04", 0)])
def test_ctrl_c_and_ctrl_d_leave_with_the_way_back(at_terminal, key, code):
    t = at_terminal("tutorial", "--start", "2", until="Enter to run it> ")
    t.say(key)
    said = t.until("\0", again=key)
    assert "To go on from here: gradtrace tutorial --start 2" in said and "Traceback" not in said
    assert t.end() == code
