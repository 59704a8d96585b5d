"""The two readers of arguments, with click and without, say the same; and the well-formed case needs no click."""

import sys

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gradtrace.cli import plain, source
from gradtrace.cli.group import cli

LEFT = 99  # the exit code that stands for "click must read it"
QUIET = settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])


class Plain:
    """`plain` as the test runner calls a command."""

    name = "gradtrace"

    @staticmethod
    def main(args, prog_name=None, **extra):
        source.forget()
        status = plain.run(list(args))
        sys.exit(LEFT if status is None else status)


def outcome(group, args, text):
    result = CliRunner().invoke(group, args, input=text, prog_name="gradtrace")
    return result.exit_code, result.stdout, result.stderr


def both(args, text="2"):
    """What `plain` gives for the arguments, which is what click gives; None if it leaves them to click."""
    found = outcome(Plain, args, text)
    if found[0] == LEFT:
        assert found[1:] == ("", ""), args
        return None
    assert found == outcome(cli, args, text), args
    return found


@pytest.fixture(autouse=True)
def empty(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "e.txt").write_text("a = x + w\ny = a * w\n")
    (tmp_path / "p.json").write_text('{"x": 2, "w": 1}')


SOURCES = [
    "x*w",
    "(x+w)*(w+1)",
    "e.txt",
    "./e.txt",
    "-",
    "(x*w).sum()",
    "x*",
    "exp(-x)*w",
    "-x*w",
    "",
    "1/0",
    "no.txt",
]
VARIABLES = [
    ["--x", "2"],
    ["--x=-1e-3"],
    ["--x", "1,2"],
    ["--w", "-1"],
    ["--w=[[1,2],[3,4]]"],
    ["--x", "@none.npy"],
    ["-s", "x=3"],
    ["-sw=1"],
    ["--params", "p.json"],
    ["--x", ""],
    ["--w", "nan"],
    ["--λ", "1"],
    ["--x"],
]
OPTIONS = [
    ["--get", "w.grad"], ["--get=y"], ["--get", "none"], ["--format", "json"], ["--format=value"], ["--format", "x"],
    ["--backward", "2"], ["--backward", "0"], ["--backward", "1_0"], ["--backward", "x"], ["--retain-graph"],
    ["--create-graph"], ["--retain-grad", "all"], ["--no-grad", "w,x"], ["--no-grad=w"], ["--no-backward"], ["--all"],
    ["--grad-tensors", "1"], ["--inputs", "x"], ["--output", "a"], ["--zero-grad"], ["--zero-grad=1"], ["--seed", "1"],
    ["--dtype", "float32"], ["--dtype", "int8"], ["--max-output", "1"], ["--max-seconds", "0.5"],
    ["--max-seconds", "0"],
    ["--max-record", "9999"], ["--max-source=2"], ["--max-source", "many"], ["--errors", "json"], ["--color=always"],
    ["--debug=x"], ["--help"], ["--help-all"], ["-h"], ["--"],
    ["--retian-graph"], ["-e", "x*x"], ["-o", "g.dot"], ["-og.dot"],
    ["-o", "g"], ["--style", "autograd"], ["--dpi", "5"], ["more"], ["-x"], ["--no-legend"],
]  # fmt: skip
COMMANDS = ["eval", "graph", "run", "why", "trace", "paths", "evil"]
PARTS = st.lists(st.sampled_from([*VARIABLES, *OPTIONS]), max_size=4)


@QUIET
@given(st.sampled_from(COMMANDS), st.sampled_from(SOURCES), PARTS, st.integers(0, 4), st.booleans())
def test_both_readers_say_the_same(command, text, parts, place, full):
    parts = [["--x", "2"], ["--w", "1"], *parts] if full else parts
    parts = [*parts[:place], [text], *parts[place:]]
    both([command, *(word for part in parts for word in part)])


SOLVED = [["--x", "2"], ["--w=1"]]
GOOD = st.lists(st.sampled_from([p for p in OPTIONS if p[0] in (
    "--retain-graph", "--create-graph", "--no-backward", "--all", "--zero-grad", "--retain-grad", "--errors",
) and p != ["--zero-grad=1"]]), max_size=3, unique_by=tuple)  # fmt: skip


@QUIET
@given(st.sampled_from(["x*w", "(x+w)*(w+1)", "e.txt"]), GOOD, st.permutations(range(6)))
def test_the_well_formed_is_read_without_click(text, options, order):
    parts = [[text], *SOLVED, *options]
    words = [word for place in order if place < len(parts) for word in parts[place]]
    assert both(["eval", *words])[0] == 0


@pytest.mark.parametrize(
    "words",
    [
        ["eval", "x*w", "--x", "2", "--w", "3", "--get", "w.grad", "--get", "x.grad"],
        ["eval", "-", "--x", "2"],
        ["eval", "-e", "e.txt.sum()", "-s", "e=1"],
        ["eval", "learning_rate*2", "--learning-rate", "3"],
        ["eval", "µ*2", "--µ", "3"],
        ["eval", "x*inputs", "--x", "1", "-s", "inputs=3", "--inputs", "x"],
        [
            "eval",
            "(x+w)*(w+1)",
            "--x",
            "2",
            "--w",
            "1",
            "--backward",
            "2",
            "--retain-graph",
            "--zero-grad",
        ],
        ["graph", "x*w", "--x", "2", "--w", "3", "--theme", "dark", "-o", "g.dot"],
        ["run", "e.txt", "--params", "p.json", "--max-output", "100", "--max-seconds", "2.5"],
        ["eval", "x*", "--x", "2"],
        ["eval", "x*w", "--x", "2"],
        ["eval", "x*w", "--x", "1,2", "--w", "1"],
        ["eval", "none.txt"],
    ],
)
def test_words_that_need_no_click(words):
    assert both(words, "x*x") is not None


@pytest.mark.parametrize(
    "words",
    [[], ["eval"], ["--help"], ["eval", "x", "-h"], ["x*w"], ["eval", "x*w", "--z", "1"], ["eval", "x", "--x"],
     ["eval", "x", "y"], ["eval", "x", "--x", "1", "--backward", "0"], ["eval", "x", "--x", "1", "--all=1"],
     ["graph", "x", "--x", "1", "-o", "g.bmp"]],
)  # fmt: skip
def test_words_for_click(words):
    assert both(words) is None


def test_limits_of_the_environment_are_click_s_to_read(monkeypatch):
    words = ["eval", "x*x", "--x", "2"]
    assert both(words) is not None
    monkeypatch.setenv("GRADTRACE_MAX_OUTPUT", "many")
    assert both(words) is None


def test_a_source_that_can_be_read_once_is_read_once(process):
    done = process("eval", "-", "--z", "1", input="x*x")
    assert done.stderr == "gradtrace eval: no such option '--z'; the variables are x\n"
