"""`gradtrace repl`: as a process on a pipe, and at a terminal of its own."""

import os
import re
import time

import pytest

NOTES = "w: leaf = 1.0\nx: data = 2\ny = (x + w) * (w + 1)\n"


@pytest.fixture
def talk(process):
    """talk(lines, ...) -> (exit code, stdout, stderr) of a session on a pipe."""

    def run(text, *args):
        done = process("repl", *args, input=text)
        assert "Traceback" not in done.stderr
        return done.returncode, done.stdout, done.stderr

    return run


def test_the_notes_example(talk):
    assert talk(NOTES + "y\ny.backward()\nw.grad\nw\nx.grad\n") == (
        0,
        "tensor(6., grad_fn=<MulBackward0>)\ntensor(5.)\ntensor(1., requires_grad=True)\n",
        "",
    )


def test_pytorchs_names_and_flags(talk):
    code, out, err = talk(
        "import torch\nt = torch.ones(2, requires_grad=True)\nt\ns = (t * t).sum()\ns\ns.backward()\n"
        "t.grad\nt.detach()\n_.requires_grad\n1 + 1\n'text'\nNone\n"
    )
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "tensor([1., 1.], requires_grad=True)",
        "tensor(2., grad_fn=<SumBackward0>)",
        "tensor([2., 2.])",
        "tensor([1., 1.])",
        "False",
        "2",
        "'text'",
    ]


def test_a_script_with_empty_lines_runs_as_it_is(talk):
    script = """\
import torch

class Double(torch.autograd.Function):

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):

        return g * 2

def f(x):
    if x > 0:
        return Double.apply(x)

    else:
        return x

w = torch.tensor(3., requires_grad=True)
for i in range(2):

    f(w).backward()
w.grad
text = '''two

lines'''
len(text)
"""
    assert talk(script) == (0, "tensor(4.)\n10\n", "")


def test_an_error_is_told_with_its_place_and_the_session_goes_on(talk):
    code, out, err = talk(
        "a = 1\nb = nope + a\nb +\nimport socket\na\ndef f(x):\n    return x / 0\nf(a)\n'on'\n"
    )
    assert (code, out) == (1, "1\n'on'\n")
    lines = err.splitlines()
    assert (
        lines[0].startswith("repl:2:5: NameError: name 'nope' is not defined")
        and lines[2] == "        ^~~~"
    )
    assert "repl:3:4: syntax error" in err
    assert (
        "ZeroDivisionError: division by zero" in err and "    return x / 0" in err
    )  # the line of an earlier entry


def test_questions_are_functions(talk):
    questions = 'why(w)\nwhy()\ntable()\ngraph(y)\ntrace(w)\npaths("w")\nstats()\n'
    code, out, err = talk(NOTES + "y.backward()\n" + questions)
    assert (code, err) == (0, "")
    assert "w.grad is 5, from backward on line 4.\n\n  line 1  w: leaf = 1.0\n" in out
    assert "x.grad is None: it is a leaf that was made without requires_grad=True.\n" in out
    assert re.search(r"^y +6 +\(\) +float64 +False +True +MulBackward0 +None", out, re.M)
    assert "├─ x + w   3   AddBackward0" in out and "      sum: 3 + 2, from w + 1, x + w\n" in out
    assert "w.grad = 2*1 + 3*1 = 5\n" in out and "no common subexpressions" in out


def test_a_graph_of_one_tensor_has_what_it_was_computed_from(talk):
    more = "z = w * 5\n"
    assert "w * 5" in talk(NOTES + more + "graph()\n")[1]
    out = talk(NOTES + more + "graph(y)\n")[1]
    assert out.startswith("y = (x + w) * (w + 1)   6   MulBackward0\n") and "w * 5" not in out


def test_a_graph_ends_at_its_tensor_also_after_a_later_backward(talk):
    lines = "w: leaf = [1.0, 2.0]\na = w * 2\nb = a.sum() * 3\nb.backward()\n"
    out = talk(lines + "graph(w)\n")[1]
    assert out.split() == ["w", "[1,", "2]", "(2,)", "leaf", "grad", "[6,", "6]"]
    out = talk(lines + "graph(a)\n")[1]
    assert out.startswith("a = w * 2 ") and "sum" not in out


def test_a_name_of_a_question_may_be_a_variable(talk):
    assert talk("graph = 3\ngraph + 1\ndel graph\nw: leaf = 2\ngraph(w)\n")[:2] == (
        0,
        "4\nw   2   leaf\n",
    )
    assert talk("w: leaf = 2\nfor i in range(2): why(w)\n\n")[1].count("w.grad is None") == 2


def test_why_backward_fails(talk):
    code, out, err = talk(NOTES + "y.backward()\ny.backward()\nwhy(w)\n")
    assert code == 1 and "Trying to backward through the graph a second time" in err
    assert "w.grad is 5, from backward on line 4." in out
    out = talk(NOTES + "y.backward()\ny.backward()\nwhy()\n1\nwhy()\n")[1]
    assert (
        "y's graph was used a second time: the backward on line 4 had freed what mul\nsaved." in out
    )
    assert (
        out.count("a second time") == 1 and "w.grad is 5" in out
    )  # told until something else was typed


def test_a_drawing(talk, here):
    assert talk(NOTES + 'graph("g.svg")\n')[1] == "written: g.svg\n"
    assert "</svg>" in (here / "g.svg").read_text()
    assert talk(NOTES + 'for t in (y,):\n    graph(t, "t.svg")\n\n')[1] == "written: t.svg\n"
    assert "end it in" in talk(NOTES + 'graph("g.what")\n')[2]


def test_a_file_is_written_only_if_its_name_was_typed_as_a_picture(talk, here):
    code, _, err = talk(NOTES + 'name = "g.svg"\ngraph(name)\nother = graph\nother("h.svg")\n')
    assert code == 1 and len(err.splitlines()) == 2
    assert not (here / "g.svg").exists() and not (here / "h.svg").exists()


def test_forgetting(talk):
    code, out, err = talk(NOTES + "forget()\nz = y * 2\nz.backward()\nw.grad\ntrace()\nwhy(w)\n")
    assert (code, err) == (0, "") and "tensor(10.)" in out
    assert "x + w  " not in out.split("backward 1")[0] and "w.grad is 10" in out


def test_what_is_asked_of_nothing_or_wrongly(talk):
    code, _, err = talk('why()\nw: leaf = 1\nwhy("nobody")\nwhy(w * 2)\n')
    assert code == 1 and len(err.splitlines()) == 3
    assert (
        "no tensor yet; for instance: w: leaf = 1.0" in err
        and "takes the tensor of a variable" in err
    )


def test_help_and_the_ways_out(talk):
    assert all(
        f"  {name}(" in talk("help()\n")[1]
        for name in ("why", "graph", "trace", "paths", "stats", "table")
    )
    for leave in ("exit()", "quit", "import sys\nsys.exit(0)\nquit()"):
        assert talk(f"1\n{leave}\n2\n")[:2] == (0, "1\n")
    assert talk("raise SystemExit(3)\n2\n")[:2] == (3, "")


def test_seeds_limits_and_dtypes(talk):
    assert talk("randn(2)\n", "--seed", "1") == talk("randn(2)\n", "--seed", "1")
    assert talk("randn(2)\n", "--seed", "1") != talk("randn(2)\n", "--seed", "2")
    assert (
        talk("x: leaf = 1\nx / 3\n", "--dtype", "float32")[1]
        == "tensor(0.3333, grad_fn=<DivBackward0>)\n"
    )
    code, out, err = talk("while True: pass\n\n1 + 1\n", "--max-seconds", "0.5")
    assert (code, out) == (1, "2\n") and "--max-seconds" in err


# ---- at a terminal


@pytest.fixture
def terminal(at_terminal):
    pytest.importorskip("readline")
    return lambda *args: at_terminal("repl", *args, until=">>> ")


def test_prompts_continuation_and_ctrl_d(terminal):
    t = terminal()
    t.say("w: leaf = 1.0\n")
    t.until(">>> ")
    t.say("w * 3\n")
    assert "tensor(3., grad_fn=<MulBackward0>)" in t.until("\r\n>>> ")
    t.say("for i in range(2):\n")
    t.until("... ")
    t.say("    print(i + 40)\n")
    t.until("... ")
    t.say("\n")
    assert "40\r\n41\r\n" in t.until(">>> ")
    t.say("\x04")
    t.until("\r\n")
    assert t.end() == 0


def test_ctrl_c_drops_what_is_typed_and_stops_what_runs(terminal):
    t = terminal()
    t.say("half a line")
    t.until("half a line")
    t.say("\x03")
    t.until(">>> ", again="\x03")
    t.say("x = 0\n")
    t.until(">>> ")
    t.say("while True: x = x + 1\n")
    t.until("... ")
    t.say("\n")
    t.until("\r\n")
    time.sleep(0.5)
    t.say("\x03")
    assert "interrupted" in t.until(">>> ")
    t.say("x > 0\n")
    assert "True" in t.until("\r\n>>> ")
    t.say("exit()\n")
    t.until("\r\n")
    assert t.end() == 0


def test_history_completion_and_the_file_of_history(terminal, here):
    t = terminal("--history", "past")
    t.say("long_name = 5\n")
    t.until(">>> ")
    t.say("long_\t + 1\n")
    assert "6" in t.until("\r\n>>> ")
    t.say("\x1b[A\n" if os.environ.get("TERM") else "\x10\n")
    assert "6" in t.until("\r\n>>> ")
    t.say("exit()\n")
    t.until("\r\n")
    assert t.end() == 0
    assert "long_name = 5" in (here / "past").read_text()
    assert not (here / "nothing").exists()
