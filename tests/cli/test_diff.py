"""`gradtrace diff`: two programs, or one with two inputs."""

import json

import pytest

LOOP = "y = x\nwhile y < 20:\n    y = y * 2\n"


@pytest.fixture
def document(gt):
    def read(*args, **extra):
        result = gt("diff", *args, "--format", "json", **extra)
        assert result.exit_code in (0, 1), result.stderr
        return result.exit_code, json.loads(result.stdout)

    return read


def statuses(found):
    return [(row["status"], row["label"]) for row in found["rows"]]


def test_two_programs(document, gt):
    code, found = document("(x+w)*(w+1)", "(x+w)*(w+2)", "--x", 2, "--w", 1)
    assert code == 1 and not found["same_structure"]
    assert statuses(found) == [
        ("changed", "x"),
        ("changed", "w"),
        ("changed", "x+w"),
        ("only A", "w+1"),
        ("only B", "w+2"),
        ("changed", "(x+w)*(w+1)"),
    ]
    assert found["rows"][1]["grads"] == [5, 6] and found["rows"][1]["grad_gap"] == 1
    text = gt("diff", "(x+w)*(w+1)", "(x+w)*(w+2)", "--x", 2, "--w", 1).stdout
    assert "A has 3 operations, B has 3: 1 tensor only in A, 1 only in B, 4 changed" in text
    assert [line[0] for line in text.splitlines()[2:8]] == ["~", "~", "~", "-", "+", "~"]


def test_one_program_with_two_inputs(document, gt):
    code, found = document("(x+w)*(w+1)", "--x", 2, "--w", 1, "--to", "x=3")
    assert code == 1 and found["same_structure"]
    assert found["rows"][0]["values"] == [2, 3]
    assert (
        "the same graph of 3 operations; 5 tensors with other values or gradients"
        in gt("diff", "(x+w)*(w+1)", "--x", 2, "--w", 1, "--to", "x=3").stdout
    )


def test_graphs_that_depend_on_values(document):
    _, found = document("-", "--x", 3, "--to", "x=6", input=LOOP)
    assert found["operations"] == [7, 5]
    assert ("only A", "y * 2 #2") in statuses(found)


def test_no_difference(document, gt):
    assert document("x*x", "x*x", "--x", 3)[0] == 0
    assert gt("diff", "x*x", "x*x", "--x", 3).stdout.endswith(
        "no difference: 1 operation, the same values and gradients\n"
    )
    assert document("x*x", "x * x", "--x", 3)[1]["same"]


def test_programs_with_other_variables(document):
    code, found = document("x*w", "x*v", "--x", 2, "--w", 3, "--to", "v=3")
    assert statuses(found) == [("same", "x"), ("only A", "w"), ("only B", "v"), ("same", "x*w")] and code == 1


def test_shapes_and_long_programs(document):
    _, found = document("x.sum()", "--x", "1,2", "--to", "x=1,2,3")
    assert not found["same_structure"] and found["rows"][0]["value_gap"] is None
    one = "y = x\n" + "y = y + 1\n" * 40 + "y = y * 2\n" + "y = y + 1\n" * 40
    _, found = document("-e", one, one.replace("y * 2", "y * 3"), "--x", 1)
    assert [s for s, _ in statuses(found)].count("only A") == 1


def test_drawings(gt, here):
    assert gt("diff", "-", "--x", 3, "--to", "x=6", "-o", "d.dot", input=LOOP).exit_code == 1
    text = (here / "d.dot").read_text()
    assert text.startswith("digraph diff {") and "#ffd6d6" in text and "3 → 6" in text
    gt("diff", "x*x", "--x", 3, "--to", "x=6", "-o", "d.svg")
    assert "</svg>" in (here / "d.svg").read_text()


def test_what_is_refused(refusal):
    for args, words in [
        (("x*x", "--x", 3), "there is nothing to compare with"),
        (("x*x", "x+x", "x-x", "--x", 3), "unexpected extra argument 'x-x'"),
        (("x*x", "x*v", "--x", 3), "no value for v"),
        (("x*x", "--x", 3, "--to", "x=1", "-o", "d.txt"), "end it in .svg"),
    ]:
        code, error = refusal("diff", *args)
        assert code == 2 and words in error


def test_as_a_process(process):
    done = process("diff", "x*x", "x**2", "--x", 3)
    assert (done.returncode, done.stderr) == (1, "")
    assert "only in A" in done.stdout
