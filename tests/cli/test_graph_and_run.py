"""`gradtrace graph` and `gradtrace run`."""

import re
import sys

import pytest

EXPR = "a = x + w\nb = w + 1\ny = a * b\n"


@pytest.fixture
def expr(here):
    (here / "expr.txt").write_text(EXPR)
    return ("expr.txt", "--x", "2", "--w", "1")


def test_dot_on_stdout(answer, expr):
    said = answer("graph", *expr)
    assert said.startswith("digraph")
    assert said == answer("graph", *expr)
    assert all(f">{name}<" in said for name in "xwaby")
    assert "digraph" in answer("graph", *expr, "--style", "autograd")
    assert answer("graph", *expr, "--style", "autograd").count("AccumulateGrad") >= 2


@pytest.mark.parametrize(
    "suffix, head",
    [
        ("svg", b"<"),
        ("png", b"\x89PNG"),
        ("pdf", b"%PDF"),
        ("dot", b"digraph"),
        ("PNG", b"\x89PNG"),
        ("html", b"<!DOCTYPE html>"),
        ("mmd", b"flowchart"),
        ("json", b"{"),
        ("graphml", b"<?xml"),
        ("txt", b"y = a * b"),
    ],
)
def test_pictures(answer, expr, here, suffix, head):
    assert answer("graph", *expr, "-o", f"g.{suffix}") == ""
    content = (here / f"g.{suffix}").read_bytes()
    assert content.startswith(head)
    answer("graph", *expr, f"-oagain.{suffix}")
    assert (here / f"again.{suffix}").read_bytes() == content


@pytest.mark.slow
def test_animations(answer, expr, here):
    pytest.importorskip("PIL")
    for suffix, head in [("gif", b"GIF89a"), ("apng", b"\x89PNG"), ("webp", b"RIFF")]:
        answer("graph", *expr, "-o", f"g.{suffix}")
        content = (here / f"g.{suffix}").read_bytes()
        assert content.startswith(head)
        answer("graph", *expr, "-o", f"g.{suffix}")
        assert (here / f"g.{suffix}").read_bytes() == content


def test_an_animation_without_pillow_names_the_remedy(refusal, expr, here, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    code, said = refusal("graph", *expr, "-o", "g.gif")
    assert code == 1 and "needs Pillow" in said and "pip install pillow" in said
    assert not (here / "g.gif").exists()


def test_flags_of_the_picture(answer, expr):
    full = answer("graph", *expr)
    for flag in (
        "--no-legend",
        "--no-values",
        "--no-gradients",
        "--theme=dark",
        "--autograd-nodes",
    ):
        assert answer("graph", *expr, flag) != full, flag


def test_backward_flags_count(answer, expr):
    assert answer("graph", *expr, "--retain-grad", "all") != answer("graph", *expr)
    assert answer("graph", *expr, "--no-backward") != answer("graph", *expr)


def test_styles_and_extras(answer, expr):
    seen = {answer("graph", *expr)}
    for flags in (
        ["--style", "function"],
        ["--derivatives"],
        ["--levels"],
        ["--color-by", "grad-norm"],
    ):
        seen.add(answer("graph", *expr, *flags))
    assert len(seen) == 5
    assert "∂y/∂a = b = 2" in answer("graph", *expr, "--derivatives")


def test_folding(gt, here, refusal):
    (here / "loop.txt").write_text("y = x\nfor i in range(50):\n    y = sin(y) * w\n")
    given = ("graph", "loop.txt", "--x", "1", "--w", "2")
    result = gt(*given)
    assert "50 passes of 2" in result.stdout
    assert result.stderr.startswith(
        "gradtrace graph: 100 operations, folded into 1; --depth N and --expand NAME"
    )
    whole = gt(*given, "--depth", "all")
    assert whole.stderr == "" and "50 passes" not in whole.stdout
    assert gt(*given, "--depth", "0", "--expand", "all").stdout == whole.stdout
    (here / "long.txt").write_text("y = x\nfor i in range(300):\n    y = sin(y)\n")
    said = gt("graph", "long.txt", "--x", "1", "--depth", "all", "-o", "g.svg").stderr
    assert said == "gradtrace graph: laying out 601 nodes; --depth N folds them\n"
    code, said = refusal(*given, "--depth", "-1")
    assert code == 2 and "--depth: not a number of levels" in said


def test_output_files_that_are_refused(refusal, expr, here):
    for name, words in [
        ("-", "not -"),
        ("g.jpg", "cannot tell what to draw from 'g.jpg'"),
        ("g", "cannot tell what to draw"),
        ("none/g.dot", "make the folder first"),
    ]:
        code, said = refusal("graph", *expr, "-o", name)
        assert code == 2 and words in said
    assert not (here / "g.jpg").exists()


@pytest.mark.slow
def test_a_strip_that_nobody_could_read_is_refused(gt, here):
    (here / "loop.txt").write_text("y = x\nfor i in range(150):\n    y = sin(y)\n")
    result = gt("graph", "loop.txt", "--x", "1", "--depth", "all", "-o", "g.png")
    assert result.exit_code == 1 and not (here / "g.png").exists()
    assert "at 192 dpi the PNG would be" in result.stderr and "--depth N folds it" in result.stderr
    fits = result.stderr.partition("--dpi ")[2].partition(" ")[0]
    assert (
        gt("graph", "loop.txt", "--x", "1", "--depth", "all", "-o", "g.png", "--dpi", fits).stderr
        == ""
    )
    width = int.from_bytes((here / "g.png").read_bytes()[16:20], "big")
    assert 16_000 < width < 32_767
    assert gt("graph", "loop.txt", "--x", "1", "--depth", "all", "-o", "g.svg").stderr == ""


# ---- run


def test_run_prints_what_the_script_prints(gt, here):
    (here / "s.py").write_text(
        "import torch\nx = torch.tensor([1., 2.], requires_grad=True)\n(x * x).sum().backward()\nprint(x.grad)\n"
    )
    result = gt("run", "s.py")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "tensor([2., 4.])\n", "")


def test_run_takes_any_file_name_and_inputs(answer, here):
    (here / "plain").write_text("print(x * 2)\n")
    assert answer("run", "plain", "--x", "2,3").startswith("tensor([4., 6.]")
    assert answer("run", "-", "--x", "2", input="print(x.item())\n") == "2.0\n"


def test_an_uncaught_exception(gt, here):
    (here / "s.py").write_text(
        "import torch\nx = torch.ones(2, requires_grad=True)\nprint('before')\ny = (x * x).sum()\n"
        "y.backward()\ny.backward()  # again\nprint('after')\n"
    )
    result = gt("run", "s.py")
    assert (result.exit_code, result.stdout) == (1, "before\n")
    lines = result.stderr.splitlines()
    assert lines[0].startswith(
        "s.py:6:1: RuntimeError: Trying to backward through the graph a second time (or"
    )
    assert lines[0].endswith("after calling backward.")
    assert lines[1] == "    y.backward()  # again"
    assert lines[-1] == "to see why: gradtrace why s.py"
    assert gt("why", "s.py").stdout.startswith("y's graph was used a second time")


def test_the_programs_own_exception_is_not_explained(gt, here):
    (here / "s.py").write_text("raise RuntimeError('two\\nlines')\n")
    assert gt("run", "s.py").stderr.splitlines()[:2] == ["s.py:1:1: RuntimeError: two", "lines"]
    assert "gradtrace why" not in gt("run", "s.py").stderr


def test_uncaught_exceptions_look_as_pythons(gt, here):
    for code, last in [
        ("raise ValueError('bad')", "ValueError: bad"),
        ("raise ValueError", "ValueError"),
        ("{}['k']", "KeyError: 'k'"),
        ("assert 1 == 2", "AssertionError"),
        ("1/0", "ZeroDivisionError: division by zero"),
    ]:
        (here / "s.py").write_text(f"import torch\n{code}\n")
        result = gt("run", "s.py")
        assert result.exit_code == 1
        assert result.stderr.splitlines()[0].split(": ", 1)[1] == last
        assert result.stderr.startswith("s.py:2:")


def test_run_refuses_what_is_no_program(refusal, here):
    (here / "s.py").write_text("import torch\nx = = 2\n")
    code, said = refusal("run", "s.py")
    assert code == 2 and said.startswith("s.py:2:")
    assert refusal("run", "none.py")[0] == 2


def test_warnings_go_to_stderr(gt, here):
    (here / "s.py").write_text(
        "import torch\nx = torch.ones(2, requires_grad=True)\ny = x * 2\nprint(y.grad)\n"
    )
    result = gt("run", "s.py")
    assert result.stdout == "None\n"
    assert result.stderr.startswith(
        "s.py:4: UserWarning: The .grad attribute of a Tensor that is not a leaf"
    )
    assert result.stderr.endswith("\n  print(y.grad)\n")


@pytest.mark.parametrize("command", ["run", "eval", "why", "plan"])
def test_a_warning_has_its_line_and_source(command, gt, here):
    (here / "s.py").write_text(
        "import warnings\nimport torch\n\ndef careful(x):\n    warnings.warn('to \\x1b[31mred')\n"
        "    return torch.nn.functional.softmax(x)\n\n"
        "x = torch.ones(2, requires_grad=True)\ncareful(x).sum().backward()\n"
    )
    said = gt(command, "s.py").stderr
    assert "s.py:5: UserWarning: to " in said and "\x1b" not in said
    assert "\n  warnings.warn('to \\x1b[31mred')\n" in said
    assert "s.py:6: UserWarning: Implicit dimension choice for softmax" in said
    assert "\n  return torch.nn.functional.softmax(x)\n" in said


def test_a_warning_of_an_expression_has_no_line(gt):
    said = gt("eval", "ones(2,3,4).T").stderr
    assert said.startswith("<expression>: UserWarning: The use of `x.T` on tensors of dimension")


def test_create_graph_joins_the_two(answer):
    given = ("graph", "x*x*w", "--x", "3", "--w", "2")
    said = answer(*given, "--create-graph")
    assert (
        ">x.grad<" in said
        and ">w.grad<" in said
        and "the derivative&#39;s own graph" in said.replace("'", "&#39;")
    )
    assert "CopyBackwards" in answer(*given, "--create-graph", "--style", "autograd")
    assert "x.grad" not in answer(*given)


def test_infinite_constants_are_told(answer):
    assert "-inf" in answer("graph", "x.masked_fill(x > 0, -inf).exp().sum()", "--x", "1,-1")


# ---- large graphs

BEGIN = "import torch\ny = x = torch.tensor(0.5, requires_grad=True)\n"
LONG_LOOP = BEGIN + "for i in range(5000):\n    y = torch.sin(y) * 0.9\n"
STATEMENTS = BEGIN + "a = torch.sin(y)\ny = a * 0.9\n" * 5000


@pytest.mark.parametrize(
    "text, name",
    [
        (LONG_LOOP, "for i in range(5000)"),
        pytest.param(STATEMENTS, "sin, mul 0.9", marks=pytest.mark.slow),
    ],
)
def test_ten_thousand_operations_are_one_box(gt, here, text, name):
    (here / "long.py").write_text(text)
    result = gt("graph", "long.py", "-o", "g.svg")
    assert result.exit_code == 0, result.stderr
    assert (
        "10,000 operations, folded into 1" in result.stderr
        and "--depth all everything" in result.stderr
    )
    picture = (here / "g.svg").read_text()
    assert name in picture and len(picture) < 50_000


def test_a_source_beyond_the_limit_names_its_option(refusal, here):
    (here / "long.py").write_text(STATEMENTS)
    code, said = refusal("graph", "long.py", "--max-source", "100000")
    assert code != 0 and "--max-source" in said


FUNCTION = """\
import torch

def train():
    net = torch.nn.Linear(2, 1)
    data = torch.ones(3, 2)
    for _ in range(2):
        prediction = net(data)
        loss = prediction.square().mean()
        loss.backward()

train()
"""


def test_a_picture_has_the_names_of_a_functions_variables(answer, here):
    (here / "train.py").write_text(FUNCTION)
    answer("graph", "train.py", "--step", "2", "-o", "g.txt")
    text = (here / "g.txt").read_text()
    for name in ("loss = ", "prediction = ", "net.weight", "net.bias", "data"):
        assert name in text, text
    assert answer("why", "train.py", "loss").startswith("loss #2.grad is None: it is a non-leaf")


ISOLATED = """\
import torch
x2 = torch.tensor([-2.0, 1.0, 2.0], requires_grad=True)
torch.relu(x2).sum().backward()
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * 5
y.sum().backward()
"""


def test_a_leaf_with_a_gradient_that_is_not_drawn_is_told(gt, here):
    (here / "two.py").write_text(ISOLATED)
    drawn = gt("graph", "two.py", "-o", "g.txt")
    assert "not drawn, as y.sum() does not depend on it: x2; " in drawn.stderr
    assert "x2" not in (here / "g.txt").read_text()


def test_independent_examples_are_boxes_of_their_own(answer, here):
    """`graph_merge.py`: one box for all of them seemed to depend on all inputs."""
    example = (
        "x{0} = torch.tensor({0}.0, requires_grad=True)\n"
        "y{0} = torch.sin(x{0}) * x{0} + torch.exp(x{0}) - x{0} ** 2\n"
        "y{0}.backward()\n"
    )
    (here / "merge.py").write_text("import torch\n" + "".join(map(example.format, range(1, 15))))
    assert answer("graph", "merge.py").count("· 6 operations<") == 14


def test_lines_of_two_files_are_not_one_range(answer, here):
    names = ("sin", "cos", "tanh", "sigmoid", "exp")
    steps = [f"y = y.{names[number**3 % 11 % 5]}()\n" for number in range(70)]
    head = "import torch\n" * 300 + "y = torch.tensor(1.0, requires_grad=True)\n"
    (here / "helper.py").write_text(head + "".join(steps))
    (here / "main.py").write_text(
        "from helper import y\n" + "".join(reversed(steps)) + "y.backward()\n"
    )
    drawn = answer("graph", "main.py", "--allow-import", ".")
    ranges = [tuple(map(int, pair)) for pair in re.findall(r">lines (\d+)–(\d+)", drawn)]
    assert len(ranges) > 2
    assert all(not (first < 100 and last > 300) for first, last in ranges)
    assert re.search(r">lines 3\d\d–3\d\d of helper.py<", drawn)
