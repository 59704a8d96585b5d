"""`gradtrace stats`: numbers about every node, and the reports made of them."""

import json

import pytest

NOTE = ("(x+w)*(w+1)", "--x", 2, "--w", 1)
DEEP = """\
import torch
from torch import nn
torch.manual_seed(0)
layers = []
for i in range(12):
    layers += [nn.Linear(4, 4), nn.{layer}]
net = nn.Sequential(*layers)
loss = net(torch.randn(3, 4)).sum()
loss.backward()
"""


@pytest.fixture
def document(answer):
    def read(*args, **extra):
        return json.loads(answer("stats", *args, "--format", "json", **extra))

    return read


def test_the_notes_example(answer, document):
    found = document(*NOTE)
    assert found["structure"]["levels"] == [["x", "w"], ["x+w", "w+1"], ["(x+w)*(w+1)"]]
    assert (found["structure"]["depth"], found["structure"]["width"]) == (3, 2)
    assert found["structure"]["common"] == [] and found["structure"]["dead"] == []
    assert found["memory"] == {
        "saved_bytes": 16,
        "saved_tensors": 2,
        "freed": True,
        "leaf_gradient_bytes": 16,
        "retained_bytes": 24,
    }
    assert found["device"] == "cpu"
    text = answer("stats", *NOTE)
    assert "levels (each can run at once): {x, w} {x+w, w+1} {(x+w)*(w+1)}" in text
    assert "retain_grad on every non-leaf would keep 24 B more" in text
    assert "no common subexpressions" in text and "no dead nodes" in text


def test_numbers_of_values_and_gradients(document):
    (x, y, total) = document("relu(x).sum()", "--x", "3,-4,0,0")["nodes"]
    assert (x["value"]["norm"], x["value"]["mean"], x["value"]["largest"], x["value"]["zeros"]) == (5, -0.25, 4, 0.5)
    assert (x["grad"]["norm"], x["grad"]["zeros"]) == (1, 0.75)
    assert (y["level"], y["depth"], y["grad"]["largest"]) == (1, 1, 1)
    assert (total["level"], total["depth"]) == (2, 0)


def test_what_is_computed_twice_or_for_nothing(document):
    found = document("-", "--x", 2, "--w", 1, input="unused = x * 5\ny = (x + w) * (x + w)\n")["structure"]
    assert found["common"] == [["x + w #1", "x + w #2"]]
    assert found["dead"] == ["unused"]
    chained = document("-", "--x", 2, input="a = sin(x) * 2\nb = sin(x) * 2\ny = a - b\n")["structure"]["common"]
    assert chained == [["sin(x) #1", "sin(x) #2"], ["a", "b"]]


def test_the_first_bad_node(document, answer, gt):
    found = document("(x + log(v)).sum() * 2", "--x", 1, "--v", 0)["bad"]
    assert [(b["where"], b["op"], b["line"]) for b in found] == [("forward", "log", 1), ("backward", "log", 1)]
    assert found[0]["inputs"] == [{"label": "v", "value": 0}]
    assert document("sqrt(x * 0)", "--x", 1)["bad"][0]["where"] == "backward"
    result = gt("stats", "sqrt(x*0)", "--x", 1, "--anomaly")
    assert result.exit_code == 1
    assert result.stdout == "first bad node in backward: the derivative of sqrt on line 1 is not finite (x*0 is 0)\n"
    assert answer("stats", *NOTE, "--anomaly") == "every value and every gradient is finite\n"


def test_vanishing_and_exploding_gradients(document, answer):
    found = document("-", input=DEEP.format(layer="Sigmoid()"))
    assert found["verdict"].startswith("vanishing: ")
    assert [m["name"] for m in found["modules"]] == [f"net.{i}" for i in range(0, 24, 2)]
    norms = [m["norm"] for m in found["modules"]]
    assert norms == sorted(norms)  # the further from the result, the smaller
    assert document("-", input=DEEP.format(layer="Identity()"))["verdict"] == ""
    source = "y = x\nfor i in range(30):\n    y = y * 3\n"
    assert document("-", "--x", 1, input=source)["verdict"].startswith("exploding: ")
    text = answer("stats", "-", input=DEEP.format(layer="Sigmoid()"))
    assert "mean |grad|" in text and "vanishing: " in text


def test_long_tables_show_what_stands_out(answer):
    source = "y = x\nfor i in range(100):\n    y = y * 1.01\n"
    assert "61 more nodes are not shown (--all)" in answer("stats", "-", "--x", 1, input=source)
    assert "more nodes" not in answer("stats", "-", "--x", 1, "--all", input=source)


def test_formats(answer):
    assert answer("stats", *NOTE, "--format", "csv").startswith("label,op,module,level,depth,line,norm")
    lines = answer("stats", *NOTE, "--format", "jsonl").splitlines()
    assert [json.loads(line)["label"] for line in lines] == ["x", "w", "x+w", "w+1", "(x+w)*(w+1)"]


def test_as_a_process(process):
    done = process("stats", "-", input=DEEP.format(layer="Tanh()"))
    assert (done.returncode, done.stderr) == (0, "")
    assert "module" in done.stdout


def test_gradients_of_which_nothing_is_finite_are_no_zeros(gt, here):
    (here / "p.py").write_text(
        "import torch\nm = torch.nn.Linear(2, 1)\nx = torch.ones(3, 2)\n"
        "y = torch.sqrt((m(x) * 0).sum())\ny.backward()\n"
    )
    said = gt("stats", "p.py").stdout
    (row,) = [line for line in said.splitlines() if line.startswith("m ")]
    assert row.split() == ["m", "3", "nan", "nan", "0", "3", "NaN"]
