"""`gradtrace compare`: counters and columns; no time is asserted."""

import json


def test_the_notes_example(answer):
    text = answer("compare", "(x+w)*(w+1)", "--x", 2, "--w", 1, "--runs", 50)
    rows = {line[:13].strip(): line[13:].strip() for line in text.splitlines()}
    assert rows["built"].split("  ")[0] == "50 times" and rows["built"].endswith("once")
    assert rows["run"].startswith("50 times") and rows["run"].endswith("50 times")
    assert rows["results"] == "the same to the last bit"
    assert "while_loop" in rows["flexible"]


def test_json(answer):
    found = json.loads(
        answer(
            "compare",
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
    )
    assert (
        found["dynamic"]["built"] == 3
        and found["static"]["built"] == 1
        and found["same_results"] is True
    )
    assert found["static"]["operations"] < found["dynamic"]["operations"]


def test_what_cannot_be_frozen_has_one_side(gt, here):
    (here / "f.txt").write_text("y = x\nwhile y < 100:\n    y = y * 2\ny\n")
    done = gt("compare", "f.txt", "--x", 3)
    assert done.exit_code == 0 and "none: f.txt:2 depends on a value" in done.stdout
    assert "while_loop" in done.stderr
    assert json.loads(gt("compare", "f.txt", "--x", 3, "--format", "json").stdout)["static"] is None


def test_the_leaves_of_a_script_are_inputs(answer, here):
    (here / "notes.py").write_text(
        "import torch\nx = torch.tensor(2.0, requires_grad=True)\nw = torch.tensor(1.0, requires_grad=True)\n"
        "y = (x + w) * (w + 1)\ny.backward()\n"
    )
    found = json.loads(answer("compare", "notes.py", "--runs", 3, "--format", "json"))
    assert (found["dynamic"]["operations"], found["static"]["operations"]) == (6, 4)
    assert found["same_results"]
