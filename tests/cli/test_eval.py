"""`gradtrace eval`: values, gradients, leaf status, and backward's flags."""

import json

import pytest

NOTES = ("(x+w)*(w+1)", "--x", "2", "--w", "1")


def rows(table):
    """The table's cells by the first column."""
    lines = table.split("\n\n")[0].splitlines()
    return {line.split("  ")[0]: line.split()[1:] for line in lines[2:]}


def test_the_notes_example(answer):
    said = answer("eval", *NOTES)
    header, rule, *_ = said.split("\n\n")[0].splitlines()
    assert header.split() == [
        "name",
        "value",
        "shape",
        "dtype",
        "is_leaf",
        "requires_grad",
        "grad_fn",
        "grad",
    ]
    assert set(rule) <= set("─")
    found = rows(said)
    assert found["x"] == ["2", "()", "float64", "True", "True", "None", "2"]
    assert found["w"] == ["1", "()", "float64", "True", "True", "None", "5"]
    assert found["(x+w)*(w+1)"] == [
        "6",
        "()",
        "float64",
        "False",
        "True",
        "MulBackward0",
        "None",
        "¹",
    ]
    assert len(found) == 5
    assert "¹ non-leaf: not retained (--retain-grad)" in said
    assert all(len(line) <= 80 for line in said.splitlines())


def test_names_of_a_file(answer, here):
    (here / "expr.txt").write_text("a = x + w\nb = w + 1\ny = a * b\n")
    said = answer("eval", "expr.txt", "--x", "2", "--w", "1")
    assert list(rows(said)) == ["x", "w", "a", "b", "y"]


@pytest.mark.parametrize(
    "path, expected",
    [
        ("w.grad", "5.0"),
        ("x.grad", "2.0"),
        ("w", "1.0"),
        ("w.value", "1.0"),
        ("root", "6.0"),
        ("root.value", "6.0"),
        ("x.shape", "()"),
        ("x.dtype", "float64"),
        ("x.is_leaf", "True"),
        ("root.is_leaf", "False"),
        ("root.grad_fn", "MulBackward0"),
        ("x.grad_fn", "None"),
        ("(x+w)*(w+1)", "6.0"),
        ("(x+w).grad_fn", "AddBackward0"),
        ("x+w", "3.0"),
        ("w+1.value", "2.0"),
        ("root.requires_grad", "True"),
        ("x.kind", "leaf"),
    ],
)
def test_get(answer, path, expected):
    assert answer("eval", *NOTES, "--get", path) == expected + "\n"


def test_get_keeps_every_digit(answer):
    said = answer("eval", "x/3", "--x", "1", "--get", "root", "--get", "x.grad")
    assert said == f"{1 / 3!r}\n{1 / 3!r}\n"
    assert (
        answer("eval", "x*1", "--x", "0.1,1e-300", "--no-backward", "--get", "x")
        == "[0.1, 1e-300]\n"
    )


def test_get_elements(answer, refusal):
    args = ("(x*x).sum()", "--x", "1,2;3,4")
    said = answer(
        "eval",
        *args,
        "--get",
        "x.grad[0,1]",
        "--get",
        "x[1]",
        "--get",
        "x.grad[-1,-1]",
        "--get",
        "x.shape",
    )
    assert said.splitlines() == ["4.0", "[3.0, 4.0]", "8.0", "(2, 2)"]
    assert "outside of shape (2, 2)" in refusal("eval", *args, "--get", "x[2]")[1]
    assert "'[a]' is not an index" in refusal("eval", *args, "--get", "x[a]")[1]
    assert "has no elements" in refusal("eval", *args, "--get", "x.shape[0]")[1]


def test_get_errors(refusal):
    code, said = refusal("eval", *NOTES, "--get", "x", "--get", "z.grad")
    assert code == 2 and "no tensor 'z' here; there are x, w, root" in said
    assert "no field 'gradd'; did you mean grad?" in refusal("eval", *NOTES, "--get", "x.gradd")[1]
    _, said = refusal("eval", "weight*2", "--weight", "1", "--get", "wieght")
    assert "did you mean weight?" in said


def test_get_of_a_gradient_that_is_none_says_why(gt):
    result = gt("eval", *NOTES, "--get", "root.grad")
    assert (result.exit_code, result.stdout) == (0, "None\n")
    assert "root.grad is None: non-leaf: not retained" in result.stderr


def test_get_as_json(answer):
    said = answer(
        "eval",
        *NOTES,
        "--get",
        "w.grad",
        "--get",
        "x.shape",
        "--get",
        "root.grad",
        "--format",
        "json",
    )
    assert [json.loads(line) for line in said.splitlines()] == [5.0, [], None]


# ---- backward's flags


def test_retain_grad(answer, refusal, here):
    said = answer(
        "eval",
        *NOTES,
        "--retain-grad",
        "all",
        "--get",
        "(x+w).grad",
        "--get",
        "w+1.grad",
        "--get",
        "root.grad",
    )
    assert said.splitlines() == ["2.0", "3.0", "1.0"]
    (here / "e.txt").write_text("a = x*2\nb = a*3\ny = a*b\n")
    said = answer(
        "eval", "e.txt", "--x", "1", "--retain-grad", "a", "--get", "a.grad", "--get", "b.grad"
    )
    assert said.splitlines() == ["12.0", "None"]
    said = answer("eval", "e.txt", "--x", "1", "--retain-grad", "a,b", "--get", "b.grad")
    assert said == "2.0\n"
    assert "no tensor 'q'" in refusal("eval", "e.txt", "--x", "1", "--retain-grad", "q")[1]
    assert (
        answer("eval", *NOTES, "--retain-grad", "(x + w)", "--get", "x+w.grad", "--get", "w+1.grad")
        == "2.0\nNone\n"
    )


def test_second_backward(refusal, answer):
    code, said = refusal("eval", *NOTES, "--backward", "2")
    assert code == 1
    assert (
        "RuntimeError: Trying to backward through the graph a second time (or directly access saved tensors"
        in said
    )
    assert "hint: --retain-graph" in said
    assert "<expression>:1:1:" in said
    assert (
        answer("eval", *NOTES, "--backward", "2", "--retain-graph", "--get", "w.grad") == "10.0\n"
    )
    assert (
        answer(
            "eval", *NOTES, "--backward", "3", "--retain-graph", "--zero-grad", "--get", "w.grad"
        )
        == "5.0\n"
    )
    assert (
        answer("eval", "x+1", "--x", "1", "--backward", "2", "--get", "x.grad") == "2.0\n"
    )  # nothing was saved


def test_create_graph(answer):
    said = answer("eval", *NOTES, "--create-graph")
    assert "grad.grad_fn" in said.splitlines()[0]
    assert answer("eval", *NOTES, "--create-graph", "--get", "w.grad.grad_fn") != "None\n"
    assert answer("eval", *NOTES, "--get", "w.grad.grad_fn") == "None\n"


def test_create_graph_gives_no_advice_on_memory(gt):
    assert gt("eval", *NOTES, "--create-graph").stderr == ""


def test_grad_tensors(refusal, answer):
    code, said = refusal("eval", "x*w", "--x", "2,3", "--w", "1,1")
    assert code == 1
    assert (
        "grad can be implicitly created only for scalar outputs" in said
        and "--grad-tensors" in said
    )
    args = ("x*w", "--x", "2,3", "--w", "1,1", "--grad-tensors")
    assert answer("eval", *args, "1,1", "--get", "w.grad") == "[2.0, 3.0]\n"
    assert answer("eval", *args, "1,-2", "--get", "w.grad") == "[2.0, -6.0]\n"
    code, said = refusal("eval", *args, "1,1,1")
    assert code == 1 and "Mismatch in shape: grad_output[0] has a shape of torch.Size([3])" in said
    assert refusal("eval", *args, "abc")[0] == 2
    assert (
        "got 1 tensors and 2 gradients" in refusal("eval", *args, "1,1", "--grad-tensors", "1,1")[1]
    )


def test_inputs(answer, refusal):
    said = answer("eval", *NOTES, "--inputs", "w", "--get", "w.grad", "--get", "x.grad")
    assert said.splitlines() == ["5.0", "None"]
    assert "no tensor 'q'" in refusal("eval", *NOTES, "--inputs", "q")[1]


def test_no_backward(answer):
    assert (
        answer("eval", *NOTES, "--no-backward", "--get", "w.grad", "--get", "root") == "None\n6.0\n"
    )


def test_outputs(answer, refusal, here):
    (here / "e.txt").write_text("a = x*2\nb = x*3\nc = x*5\n")

    def grad(*args):
        return answer("eval", "e.txt", "--x", "1", *args, "--get", "x.grad").strip()

    assert grad() == "5.0"
    assert grad("--output", "a") == "2.0"
    assert grad("--output", "a,b") == "5.0"
    assert (
        grad("--output", "a", "--output", "b", "--grad-tensors", "1", "--grad-tensors", "10")
        == "32.0"
    )
    assert (
        answer("eval", "e.txt", "--x", "1", "--output", "a,b", "--format", "value") == "2.0\n3.0\n"
    )
    code, said = refusal("eval", "e.txt", "--x", "1", "--output", "q")
    assert code == 2 and "'q'" in said


def test_nothing_to_differentiate(answer, refusal):
    said = answer("eval", "x+1", "--x", "2", "--no-grad", "x")
    assert rows(said)["x+1"][0] == "3"
    assert answer("eval", "x > 1", "--x", "2", "--format", "value") == "True\n"
    code, said = refusal("eval", "x+1", "--x", "2", "--no-grad", "x", "--backward", "1")
    assert (
        code == 1
        and "element 0 of tensors does not require grad and does not have a grad_fn" in said
    )


def test_a_program_that_calls_backward_itself(answer, here):
    (here / "s.py").write_text(
        "import torch\nw = torch.tensor(3., requires_grad=True)\ny = w*w\ny.backward()\n"
    )
    assert answer("eval", "s.py", "--get", "w.grad") == "6.0\n"


def test_what_a_program_prints_is_no_result(gt, here):
    (here / "s.txt").write_text("print('hello')\ny = x*x\n")
    result = gt("eval", "s.txt", "--x", "2", "--format", "value")
    assert (result.stdout, result.stderr) == ("4.0\n", "hello\n")


def test_plain_numbers(answer):
    assert answer("eval", "2+3", "--format", "value") == "5\n"
    assert "5" in answer("eval", "2+3")


def test_nan_and_inf(answer):
    assert answer("eval", "x/0", "--x", "1", "--format", "value") == "inf\n"
    assert answer("eval", "x/x", "--x", "0", "--format", "value") == "nan\n"
    assert answer("eval", "log(x)", "--x", "-1", "--format", "value") == "nan\n"
    assert answer("eval", "exp(x)", "--x", "1000", "--format", "value") == "inf\n"


def test_colour(answer):
    assert "\x1b[" not in answer("eval", *NOTES)
    assert "\x1b[" in answer("eval", *NOTES, "--color", "always")
    assert "\x1b[" in answer("eval", *NOTES, env={"FORCE_COLOR": "1"})
    assert "\x1b[" not in answer("eval", *NOTES, env={"FORCE_COLOR": "0"})
    assert "\x1b[" not in answer("eval", *NOTES, env={"FORCE_COLOR": "1", "NO_COLOR": "1"})
    assert "\x1b[" in answer("eval", *NOTES, "--color=always", env={"NO_COLOR": "1"})
    assert "\x1b[" not in answer("eval", *NOTES, "--color", "never", env={"FORCE_COLOR": "1"})


def test_long_tables_leave_unnamed_results_out(answer, here):
    (here / "loop.txt").write_text("y = x\nfor i in range(100):\n    y = y + x * i\n")
    short, full = (
        answer("eval", "loop.txt", "--x", "1"),
        answer("eval", "loop.txt", "--x", "1", "--all"),
    )
    assert (
        len(short.splitlines()) < 10
        and "unnamed intermediate results are not shown (--all)" in short
    )
    assert len(full.splitlines()) > 200
    assert (
        len(json.loads(answer("eval", "loop.txt", "--x", "1", "--format", "json"))["tensors"]) > 200
    )


def test_values_overwritten_in_place(answer, here):
    (here / "e.txt").write_text("a = x*2\na += 1\ny = a*3\n")
    said = answer("eval", "e.txt", "--x", "1")
    assert rows(said)["a"][0] == "3"
    assert said.split("a (version 0)")[1].split()[0] == "2"


def test_a_plain_number_goes_by_its_text(answer):
    assert list(rows(answer("eval", "2+3"))) == ["2+3"]


def test_flags_that_come_too_late_are_told(gt, here):
    (here / "s.py").write_text(
        "import torch\nw = torch.tensor(3., requires_grad=True)\ny = w*w\ny.backward()\n"
    )
    result = gt("eval", "s.py", "--retain-grad", "all", "--create-graph", "--get", "w.grad")
    assert (result.exit_code, result.stdout) == (0, "6.0\n")
    assert result.stderr == (
        "gradtrace: the program calls backward itself: --create-graph, --retain-grad have no effect; "
        "write backward(create_graph=True), retain_grad() in it\n"
    )
    assert (
        "the output does not require grad"
        in gt("eval", "x+1", "--x", "1", "--no-grad", "x", "--zero-grad").stderr
    )


def test_booleans_stay_booleans_in_data(answer, here):
    (here / "m.txt").write_text("m: data = [True, False]\nx: leaf = [1, 2]\ny = x[m].sum()\n")
    assert answer("eval", "m.txt", "--get", "m.dtype", "--get", "x.grad") == "bool\n[1.0, 0.0]\n"
