"""`gradtrace why`: each cause in a small script; the answer must name the cause and the line that shows it."""

import json

import pytest
from why_cases import GRADIENTS, LEAF
from why_failures import FAILURES
from why_questions import QUESTIONS


@pytest.fixture
def ask(gt):
    """The answers about a script as plain data, with the exit code."""

    def answer(script, *names):
        result = gt("why", "-", *names, "--format", "json", input=script)
        assert result.exit_code in (0, 1), result.stderr
        return result.exit_code, json.loads(result.stdout)["answers"]

    return answer


@pytest.mark.sampled(40)
@pytest.mark.parametrize("case", [*GRADIENTS, *QUESTIONS])
def test_the_cause_of_a_gradient(ask, case):
    script, name, status, cause, line, words = {**GRADIENTS, **QUESTIONS}[case]
    code, (answer,) = ask(script, name)
    assert code == 0
    assert (answer["status"], answer["cause"]) == (status, cause), answer
    assert words in answer["sentence"], answer["sentence"]
    shown = {e["line"]: e["source"] for e in answer["evidence"] if e["line"]}
    assert line in shown, answer
    assert shown[line] == script.split("\n")[line - 1].strip()
    assert answer["advice"] or status in ("gradient", "zero")


@pytest.mark.parametrize("case", FAILURES)
def test_the_cause_of_an_error(ask, case):
    script, cause, name, lines, words = FAILURES[case]
    code, (answer,) = ask(script)
    assert code == 1
    assert (answer["status"], answer["cause"], answer["name"]) == ("failed", cause, name), answer
    assert words in answer["sentence"], answer["sentence"]
    assert [e["line"] for e in answer["evidence"] if e["line"]] == lines, answer["evidence"]
    assert answer["advice"]


def test_any_other_error_is_told_with_its_place(ask):
    code, (answer,) = ask("x = 1\ny = [1][x]\n")
    assert code == 1 and answer["cause"] == "IndexError" and answer["evidence"][0]["line"] == 2


def test_a_name_that_a_failure_came_before(gt):
    script = LEAF + "y = w.foo()\nloss = y.sum()\n"
    told = gt("why", "-", "loss", input=script)
    line = script[: script.index("foo")].count("\n") + 1
    assert (
        told.exit_code == 2
        and f"the program failed on line {line} with AttributeError" in told.stderr
    )


def test_the_text(answer):
    assert (
        answer(
            "why",
            "-",
            "w",
            input=LEAF
            + "a = w.detach()\nv = torch.ones(1, requires_grad=True)\n(a * v).backward()\n",
        )
        == """\
w.grad is None: a * v depends on it only through detach() on line 3.

  line 2  w = torch.tensor(3., requires_grad=True)
          w is a leaf that requires grad
  line 3  a = w.detach()
          detach() gives a tensor without history
  line 5  (a * v).backward()
          backward runs from a * v

To fix it (tried: w.grad is there then):
  - leave out .detach() there
"""
    )


def test_an_overview_of_all_variables(answer):
    text = answer("why", "(x+w)*(w+1)", "--x", 2, "--w", 1, "--no-grad", "x")
    assert text == (
        "x.grad is None: this input does not require grad (data, or --no-grad).\nw.grad is 5, from backward.\n"
    )


def test_a_function_called_without_apply(answer):
    script = (
        "import torch\nclass Double(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
        "        return x * 2\n    @staticmethod\n    def backward(ctx, g):\n        return g * 200\n"
        "w = torch.tensor(3., requires_grad=True)\nDouble.forward(None, w).backward()\n"
    )
    text = answer("why", "-", "w", input=script)
    assert "w.grad is 2" in text and "note: Double.forward without apply runs as plain code" in text
    assert "w.grad is 200" in answer(
        "why", "-", "w", input=script.replace("forward(None, w)", "apply(w)")
    )


def test_names(answer, refusal):
    assert answer("why", "x*w", "x.grad", "w", "--x", 2, "--w", 1).count("from backward") == 2
    assert answer("why", "-e", "x*w", "x", "--x", 2, "--w", 1).startswith("x.grad is 1")
    code, error = refusal("why", "x*w", "v", "--x", 2, "--w", 1)
    assert code == 2 and "NAME: no tensor 'v' here; there are x, w, root" in error


def test_formats(answer):
    for format in ("json", "jsonl", "csv", "tsv", "md", "latex"):
        assert "from backward" in answer("why", "x*w", "x", "--x", 2, "--w", 1, "--format", format)


def test_as_a_process(process):
    done = process("why", "-", input=LEAF + "y = w ** 2\ny.backward()\ny.backward()\n")
    assert done.returncode == 1 and done.stderr == ""
    assert done.stdout.startswith(
        "y's graph was used a second time: the backward on line 4 had freed what pow\nsaved.\n"
    )


def test_tensors_with_one_reason_share_a_line(gt, here):
    (here / "p.py").write_text(
        "import torch\na = torch.ones(2)\nb = torch.ones(2)\nw = torch.ones(2, requires_grad=True)\n"
        "y = (a * b * w).sum()\ny.backward()\n"
    )
    said = gt("why", "p.py").stdout
    assert (
        "a.grad is None: it is a leaf that was made without requires_grad=True.\n  Likewise b.\n"
        in said
    )
    assert "w.grad is [1, 1]" in said


def test_records_without_a_rank_are_not_taken_for_ranks(gt, refusal, here):
    (here / "a.py").write_text(
        "import torch\nw = torch.ones(2, requires_grad=True)\n(w * w).sum().backward()\n"
    )
    for name in ("a.gt", "b.gt"):
        assert gt("run", "a.py", "-o", name).exit_code == 0
    code, said = refusal("why", "a.gt", "b.gt")
    assert code == 2 and "not of several processes" in said and "gradtrace diff A B" in said


FORGET_GATE = """\
import torch
torch.manual_seed(0)
lstm = torch.nn.LSTM(3, 4)
with torch.no_grad():
    lstm.bias_ih_l0[4:8].fill_(1)
opt = torch.optim.SGD(lstm.parameters(), lr=0.1)
for _ in range(2):
    loss = lstm(torch.ones(5, 2, 3))[0].pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


def test_a_part_that_was_filled_hides_no_gradient(answer, here):
    """An initialisation writes to a slice of a parameter before anything is computed with it."""
    (here / "gates.py").write_text(FORGET_GATE)
    text = answer("why", "gates.py", "lstm.bias_ih_l0", "--step", "1")
    assert text.startswith("lstm.bias_ih_l0.grad is between ")
