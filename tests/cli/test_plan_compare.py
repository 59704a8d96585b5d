"""`gradtrace plan --compare`: counters and columns; no time is asserted."""

import json

import pytest


def test_the_notes_example(answer):
    text = answer("plan", "(x+w)*(w+1)", "--x", 2, "--w", 1, "--compare", "--runs", 50)
    rows = {line[:13].strip(): line[13:].strip() for line in text.splitlines()}
    assert rows["built"].split("  ")[0] == "50 times" and rows["built"].endswith("once")
    assert rows["run"].startswith("50 times") and rows["run"].endswith("50 times")
    assert rows["results"] == "the same to the last bit"
    assert "while_loop" in rows["flexible"]


def test_json(answer):
    found = json.loads(
        answer(
            "plan",
            "--compare",
            "(x*w).tanh().sum()",
            "--x",
            "randn(50,200)",
            "--w",
            "0.5",
            "--seed",
            1,
            "--runs",
            3,
            "--format",
            "json",
        )
    )["comparison"]
    assert (
        found["dynamic"]["built"] == 3
        and found["static"]["built"] == 1
        and found["same_results"] is True
    )
    assert found["static"]["operations"] < found["dynamic"]["operations"]


def test_what_cannot_be_frozen_has_one_side(gt, here):
    (here / "f.txt").write_text("y = x\nwhile y < 100:\n    y = y * 2\ny\n")
    done = gt("plan", "--compare", "f.txt", "--x", 3)
    assert done.exit_code == 0 and "none: f.txt:2 depends on a value" in done.stdout
    assert "while_loop" in done.stderr
    found = json.loads(gt("plan", "--compare", "f.txt", "--x", 3, "--format", "json").stdout)
    assert found["comparison"]["static"] is None and found["comparison"]["place"] == "f.txt:2"


def test_the_leaves_of_a_script_are_inputs(answer, here):
    (here / "notes.py").write_text(
        "import torch\nx = torch.tensor(2.0, requires_grad=True)\nw = torch.tensor(1.0, requires_grad=True)\n"
        "y = (x + w) * (w + 1)\ny.backward()\n"
    )
    found = json.loads(answer("plan", "--compare", "notes.py", "--runs", 3, "--format", "json"))
    sides = found["comparison"]
    assert (sides["dynamic"]["operations"], sides["static"]["operations"]) == (6, 4)
    assert sides["same_results"]
    assert [output["label"] for output in found["outputs"]] == ["y", "dy/dx", "dy/dw"]
    text = answer("plan", "--compare", "notes.py", "--runs", 3)
    assert (
        "= mul(" in text
        and "dy/dx -> " in text
        and "dy/dw -> " in text
        and "4 after the passes" in text
    )


@pytest.mark.parametrize(
    ("args", "hint"),
    [
        (["x*w", "--format", "dot"], "leave out -o, --format dot and --order"),
        (["x*w", "-o", "p.svg"], "leave out -o, --format dot and --order"),
        (["x*w", "--order", "2"], "leave out -o, --format dot and --order"),
        (["tf.py"], "leave out --compare"),
    ],
)
def test_what_cannot_be_compared(refusal, here, args, hint):
    (here / "tf.py").write_text("import tensorflow as tf\ny = tf.constant(1.) + 1\n")
    code, said = refusal("plan", *args, "--compare")
    assert code == 2 and hint in said


def test_compare_is_not_a_command(refusal):
    code, said = refusal("compare", "x*w")
    assert code == 2 and "no such command 'compare'" in said
