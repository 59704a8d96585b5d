"""Errors: one form, the right exit code, never a traceback."""

import json
import re
from pathlib import Path

import pytest

CASES = [
    # source, options, exit code, the place, words of the message, the column of the caret
    ("x*", [], 2, "<expression>:1:", "", None),
    ("x**", [], 2, "<expression>:1:", "", None),
    ("sinn(x)", ["--x", "1"], 2, "<expression>:1:1:", "", 0),
    ("x*w", ["--x", "2"], 2, "<expression>:1:3:", "no value for w", 2),
    ("x.nothing", ["--x", "2"], 1, "<expression>:1:1:", "no attribute 'nothing'", 0),
    (
        "x + w",
        ["--x", "1,2", "--w", "1,2,3"],
        1,
        "<expression>:1:1:",
        "The size of tensor a (2) must match",
        0,
    ),
    (
        "1 + x @ w",
        ["--x", "[[1,2]]", "--w", "[[1,2]]"],
        1,
        "<expression>:1:5:",
        "cannot be multiplied",
        4,
    ),
    ("(yield)", [], 2, "<expression>:1:", "", None),
]


@pytest.mark.parametrize("source, options, code, place, words, column", CASES)
def test_form(refusal, source, options, code, place, words, column):
    status, said = refusal("eval", source, *options)
    lines = said.splitlines()
    assert status == code
    assert lines[0].startswith(place)
    assert words in lines[0]
    assert lines[1] == "    " + source
    assert set(lines[2]) <= set(" ^~") and lines[2].count("^") == 1
    if column is not None:
        assert lines[2].index("^") == 4 + column
    assert len(lines) == 3


def test_file_line_and_column(refusal, here):
    (here / "e.txt").write_text("a = x*2\nλ = a + 1; b = λ +  w\ny = b\n")
    code, said = refusal("eval", "e.txt", "--x", "1,2", "--w", "1,2,3")
    assert code == 1
    assert said.splitlines()[0].startswith("e.txt:2:16: RuntimeError: The size of tensor a (2)")
    assert "the inputs are x (2,), w (3,)" in said.splitlines()[0]
    assert said.splitlines()[1:] == ["    λ = a + 1; b = λ +  w", "                   ^~~~~~"]


def test_what_the_kernel_refuses(process, here):
    (here / "e.py").write_text("import socket\nsocket.socket()\n")
    done = process("eval", "e.py")
    assert done.returncode == 1 and done.stderr.startswith("e.py:2:1: PermissionError: ")
    assert "a program has no network" in done.stderr and len(done.stderr.splitlines()) == 3


def test_errors_as_json(refusal):
    code, said = refusal("eval", "x + w", "--x", "1,2", "--w", "1,2,3", "--errors", "json")
    found = json.loads(said)
    assert (found["schema"], found["version"], found["exit_code"]) == ("gradtrace/error", 1, code)
    assert (found["kind"], found["exception"]) == ("ProgramError", "RuntimeError")
    assert (found["file"], found["line"], found["column"]) == ("<expression>", 1, 1)
    assert found["source_line"] == "x + w"
    code, said = refusal("eval", "x", "--retian-graph", "--errors=json")
    found = json.loads(said)
    assert (found["kind"], found["file"], found["exit_code"]) == ("UsageError", None, 2)
    assert found["hint"] == "did you mean --retain-graph?"


def test_errors_as_annotations_of_github(refusal, here):
    (here / "a,b.py").write_text("import torch\n\ny = torch.ones(2) @ torch.ones(3)  # 100%\n")
    _, said = refusal("run", "./a,b.py", "--errors", "github")
    assert said.splitlines()[0].startswith("./a,b.py:3:5: ")
    assert (
        "::error file=a%2Cb.py,line=3,col=5,endColumn=34,title=gradtrace::RuntimeError: "
        in said.splitlines()[-1]
    )
    _, said = refusal("eval", "x*", "--errors=github")
    assert said.splitlines()[-1].startswith("::error title=gradtrace::")


def test_the_problem_matcher_finds_errors(refusal, here):
    (here / "e.py").write_text("import nothing\n")
    _, said = refusal("eval", "e.py")
    path = Path(__file__).parents[2] / "docs" / "how-to" / "gradtrace-matcher.json"
    (pattern,) = json.loads(path.read_text(encoding="utf-8"))["problemMatcher"][0]["pattern"]
    found = re.match(pattern["regexp"], said.splitlines()[0])
    assert found is not None and found.group(1, 2, 3) == ("e.py", "1", "1")


def test_control_and_bidirectional_characters_are_escaped(refusal):
    _, said = refusal("eval", "x + '\x1b[31m\u202e'", "--x", "1")
    assert "\x1b" not in said and "\u202e" not in said
    assert "\\x1b" in said and "\\u202e" in said


def test_long_lines_are_cut_around_the_place(refusal):
    source = " + ".join(["x"] * 200) + " + w"
    _, said = refusal("eval", source, "--x", "1")
    line, mark = said.splitlines()[1:3]
    assert len(line) <= 104 and line[mark.index("^")] == "w"


def test_wide_characters_before_the_caret(refusal):
    _, said = refusal("eval", "数 + w", "--数", "1")
    assert said.splitlines()[2] == "         ^"  # 数 takes two columns


def test_colour_of_errors(gt):
    assert "\x1b[31m" in gt("eval", "x*", "--color", "always").stderr
    assert "\x1b[" not in gt("eval", "x*").stderr


def test_debug_shows_the_traceback(gt):
    said = gt("eval", "x*", "--debug").stderr
    assert "Traceback" in said and said.splitlines()[-1].strip().startswith("^")


def test_a_fault_of_our_own_is_one_line(gt, monkeypatch):
    from gradtrace.views import table

    monkeypatch.setattr(table, "render", lambda *_: 1 / 0)
    result = gt("eval", "x*1", "--x", "1")
    assert result.exit_code == 70
    assert len(result.stderr.splitlines()) == 1 and "--debug" in result.stderr


def test_out_of_memory(gt, monkeypatch):
    from gradtrace.views import table

    def full(*_):
        raise MemoryError

    monkeypatch.setattr(table, "render", full)
    result = gt("eval", "x*1", "--x", "1")
    assert (result.exit_code, result.stderr) == (
        1,
        "gradtrace: out of memory; use smaller inputs\n",
    )


def test_a_default_that_is_no_value(refusal, here):
    (here / "e.txt").write_text("x: leaf = 1\nw: leaf = 'text'\ny = x*w\n")
    code, said = refusal("eval", "e.txt")
    assert code == 2 and said.startswith("e.txt:2:1: the default of w: ''text'' is a str")


def test_endless_recursion(refusal, here):
    (here / "e.txt").write_text("def f(a):\n    return f(a) + 1\ny = f(x)\n")
    code, said = refusal("eval", "e.txt", "--x", "1")
    assert code == 1 and len(said.splitlines()) <= 3


BACKWARD = """import torch
class Odd(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, g):
        return {}
y = Odd.apply(x)
"""


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("{}['k']", "s.py:8:16: KeyError: 'k'"),
        ("g * nothing()", "s.py:8:20: NameError: name 'nothing' is not defined"),
        ("1 / 0", "s.py:8:16: ZeroDivisionError: division by zero"),
        ("g.view(7)", "s.py:8:16: RuntimeError: shape '[7]' is invalid for input of size 1"),
    ],
)
def test_errors_of_the_programs_own_backward_have_their_place(refusal, here, body, said):
    (here / "s.py").write_text(BACKWARD.replace("{}", body))
    _, lines = refusal("eval", "s.py", "--x", "1")
    assert lines.startswith(said), lines


def test_the_programs_own_backward_runs_in_the_dtype_of_the_run(answer, here):
    (here / "s.py").write_text(BACKWARD.replace("{}", "g * torch.tensor(0.1)"))
    assert answer("eval", "s.py", "--x", "1", "--dtype", "float64", "--get", "x.grad") == "0.1\n"


@pytest.mark.parametrize("source", ["", "  ", "# nothing", "pass"])
def test_nothing_to_evaluate(refusal, source):
    code, said = refusal("eval", source)
    assert code == 2 and said.startswith("gradtrace: <expression> ") and len(said.splitlines()) == 1


@pytest.mark.parametrize("source", ["'text'", "lambda: 1", "def f():\n    pass"])
@pytest.mark.parametrize("command", ["eval", "graph"])
def test_no_tensor_to_show(refusal, command, source):
    assert refusal(command, source) == (
        2,
        "gradtrace: <expression> makes no tensor, so there is nothing to show\n",
    )


def test_a_leaf_as_the_output_has_a_place_too(refusal):
    assert refusal("eval", "x", "--x", "1,2")[1].startswith(
        "<expression>:1:1: RuntimeError: grad can be implicitly"
    )


def test_missing_files(refusal):
    assert refusal("run", "none.py") == (2, "gradtrace: no such file: 'none.py'\n")
    assert (
        "an expression that looks like a file's name is given with -e"
        in refusal("eval", "none.py")[1]
    )


def test_what_a_program_raises_or_warns_of_commands_no_terminal(refusal, gt, here):
    (here / "e.py").write_text("raise ValueError('\\x1b]0;title\\x07\\u202e\\nsecond')\n")
    code, said = refusal("run", "e.py")
    assert code == 1 and said.startswith(
        "e.py:1:1: ValueError: \\x1b]0;title\\x07\\u202e\nsecond\n"
    )
    (here / "w.py").write_text("import warnings\nwarnings.warn('\\x1b[2J')\n")
    said = gt("run", "w.py").stderr
    assert "\x1b" not in said and "\\x1b[2J" in said


def test_a_message_of_a_megabyte_is_cut(refusal, here):
    (here / "e.txt").write_text("a" * 900_000)
    code, said = refusal("eval", "e.txt")
    assert code == 2 and len(said) < 20_000


def test_an_error_in_backward_also_marks_the_operation_of_the_forward(tmp_path):
    import json
    import subprocess
    import sys
    from pathlib import Path

    text = "import torch\nw = torch.ones(3, requires_grad=True)\ny = w.exp()\ny.add_(1)\ny.sum().backward()\n"
    (tmp_path / "p.py").write_text(text)
    command = [sys.executable, "-m", "gradtrace", "run", "./p.py"]
    environment = {"PYTHONPATH": str(Path(__file__).parents[2])}
    said = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True
    ).stderr.splitlines()
    assert said[0].startswith(
        "./p.py:5:1: RuntimeError: one of the variables needed for gradient computation has been"
    )
    assert said[1] == "    y.sum().backward()"
    assert said[3:6] == [
        "./p.py:3:5: in the backward of this",
        "    y = w.exp()",
        "        ^~~~~~~",
    ]
    done = subprocess.run(
        [*command, "--errors=json"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert json.loads(done.stderr)["forward"] == {
        "line": 3,
        "column": 5,
        "source_line": "y = w.exp()",
    }
