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
def document(gt):
    def read(*args, **extra):
        done = gt("stats", *args, "--format", "json", **extra)
        found = json.loads(done.stdout)
        assert done.exit_code == (1 if found.get("bad") else 0)
        return found

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
    assert (x["value"]["norm"], x["value"]["mean"], x["value"]["largest"], x["value"]["zeros"]) == (
        5,
        -0.25,
        4,
        0.5,
    )
    assert (x["grad"]["norm"], x["grad"]["zeros"]) == (1, 0.75)
    assert (y["level"], y["depth"], y["grad"]["largest"]) == (1, 1, 1)
    assert (total["level"], total["depth"]) == (2, 0)


def test_what_is_computed_twice_or_for_nothing(document):
    found = document("-", "--x", 2, "--w", 1, input="unused = x * 5\ny = (x + w) * (x + w)\n")[
        "structure"
    ]
    assert found["common"] == [["x + w #1", "x + w #2"]]
    assert found["dead"] == ["unused"]
    chained = document("-", "--x", 2, input="a = sin(x) * 2\nb = sin(x) * 2\ny = a - b\n")[
        "structure"
    ]["common"]
    assert chained == [["sin(x) #1", "sin(x) #2"], ["a", "b"]]


def test_the_first_bad_node(document, answer, gt):
    found = document("(x + log(v)).sum() * 2", "--x", 1, "--v", 0)["bad"]
    assert [(b["where"], b["op"], b["line"]) for b in found] == [
        ("forward", "log", 1),
        ("backward", "log", 1),
    ]
    assert found[0]["inputs"] == [{"label": "v", "value": 0}]
    assert document("sqrt(x * 0)", "--x", 1)["bad"][0]["where"] == "backward"
    result = gt("stats", "sqrt(x*0)", "--x", 1, "--anomaly")
    assert result.exit_code == 1
    assert (
        result.stdout
        == "first bad node in backward: the derivative of sqrt on line 1 is not finite (x*0 is 0)\n"
    )
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
    assert answer("stats", *NOTE, "--format", "csv").startswith(
        "label,op,module,level,depth,line,norm"
    )
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


DIVERGING = """import torch
from torch import nn
torch.manual_seed(0)
X = torch.randn(32, 8)
y = torch.randn(32, 1)
m = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.SGD(m.parameters(), lr=50)
for step in range(30):
    opt.zero_grad()
    loss = nn.functional.mse_loss(m(X), y)
    loss.backward()
    opt.step()
"""


def test_a_loop_that_diverges(gt, here):
    (here / "steep.py").write_text(DIVERGING)
    said = gt("stats", "steep.py").stdout
    lines = said.splitlines()
    assert len(lines) <= 60 and max(map(len, lines)) <= 85 and "…" not in said
    rows = [line.split() for line in lines[2:32]]
    assert [int(row[0]) for row in rows] == list(range(1, 31))
    assert [row[1] for row in rows[3:6]] == ["inf", "nan", "nan"]
    assert (
        "Inf in the loss: mse_loss, line 10" in lines[5]
        and "NaN in m.0.weight before the step" in lines[6]
    )
    verdict = "diverging: the loss is inf first in step 4 (step=3) and NaN first in step 5 (step=4)"
    assert verdict in " ".join(said.split())
    assert "step 4, the first with a value that is not finite" in said
    assert "first bad node in forward: mse_loss on line 10" in said


def test_a_loop_as_data(gt, here):
    (here / "steep.py").write_text(DIVERGING)
    found = json.loads(gt("stats", "steep.py", "--format", "json").stdout)["training"]
    assert (found["first_inf"], found["first_nan"], found["diverges"], found["step"]) == (
        4,
        5,
        True,
        4,
    )
    first = found["steps"][0]
    assert [p["name"] for p in first["parameters"]] == [
        "m.0.weight",
        "m.0.bias",
        "m.2.weight",
        "m.2.bias",
    ]
    assert first["grad_norm"] == pytest.approx(
        sum(p["grad_norm"] ** 2 for p in first["parameters"]) ** 0.5
    )
    assert found["steps"][3]["bad"] == {
        "where": "forward", "label": "the loss", "op": "mse_loss", "what": "Inf", "line": 10
    }  # fmt: skip
    lines = [
        json.loads(line)
        for line in gt("stats", "steep.py", "--format", "jsonl").stdout.splitlines()
    ]
    assert [line["step"] for line in lines] == list(range(1, 31)) and lines[4]["loss"] == "NaN"
    table = gt("stats", "steep.py", "--format", "csv").stdout.splitlines()
    assert len(table) == 31 and table[0].endswith("m.2.bias.grad_norm,m.2.bias.update")


def test_the_numbers_of_a_loop(answer, here):
    (here / "loop.py").write_text(
        "import torch\nw = torch.tensor([3., 4.], requires_grad=True)\nfor i in range(40):\n"
        "    loss = (w * w).sum() / 2\n    loss.backward()\n    with torch.no_grad():\n        w -= 0.5 * w.grad\n"
        "    w.grad = None\n"
    )
    steps = json.loads(answer("stats", "loop.py", "--format", "json"))["training"]["steps"]
    assert [s["loss"] for s in steps[:3]] == [12.5, 3.125, 0.78125]
    assert [s["grad_norm"] for s in steps[:3]] == [5, 2.5, 1.25]
    assert all(
        s["parameters"] == [{"name": "w", "grad_norm": s["grad_norm"], "update": 0.5}]
        for s in steps
    )
    small = answer("stats", "loop.py", "--max-record", 0)
    assert small == answer("stats", "loop.py")
    assert "the loss falls from 12.5" in small and "more steps are not shown (--all)" in small
    assert len(answer("stats", "loop.py", "--all").splitlines()) > len(small.splitlines()) + 5
    whole = answer("stats", "loop.py", "--step", "all")
    assert "200 operations" in whole
    assert answer("stats", "loop.py", "--step", 2).startswith("node")


@pytest.mark.parametrize("engine", [[], ["--engine", "torch"]])
def test_the_gradients_norm_is_that_of_what_the_optimiser_holds(document, here, engine):
    if engine:
        pytest.importorskip("torch")
    (here / "loop.py").write_text(
        "import torch\nw = torch.tensor([3., 4.], requires_grad=True)\nkept = torch.zeros(1, requires_grad=True)\n"
        "opt = torch.optim.SGD([w], lr=0.5)\nfor i in range(3):\n    opt.zero_grad()\n"
        "    loss = (w * w).sum() / 2 + 10 * kept.sum()\n    loss.backward()\n    opt.step()\n"
    )
    steps = document("loop.py", *engine)["training"]["steps"]
    assert [s["grad_norm"] for s in steps] == [5, 2.5, 1.25]
    assert [p["grad_norm"] for s in steps for p in s["parameters"] if p["name"] == "kept"] == [
        10,
        20,
        30,
    ]


def test_parameters_that_are_written_through_data_are_in_every_step(document, here):
    script = """\
import torch
a = torch.arange(1.0, 3.0).view(2)
a.requires_grad = True
for i in range(3):
    a.grad = None
    (a * a).sum().backward()
    a.data += -0.1 * a.grad
"""
    (here / "loop.py").write_text(script)
    steps = document("loop.py")["training"]["steps"]
    assert [s["parameters"][0]["name"] for s in steps] == ["a"] * 3
    assert [s["grad_norm"] for s in steps] == pytest.approx([20**0.5 * 0.8**i for i in range(3)])
    assert [s["update"] for s in steps[:2]] == pytest.approx([0.2, 0.2])


def test_updates_beyond_the_budget_are_still_known(answer, here):
    (here / "loop.py").write_text(
        "import torch\nw = torch.full((30, 30), 2., requires_grad=True)\nopt = torch.optim.SGD([w], lr=0.25)\n"
        "for i in range(4):\n    opt.zero_grad()\n    loss = (w * w).sum() / 2\n    loss.backward()\n    opt.step()\n"
    )
    steps = json.loads(answer("stats", "loop.py", "--format", "json", "--max-record", 0))[
        "training"
    ]["steps"]
    assert [s["update"] for s in steps] == [0.25] * 4
    assert [s["grad_norm"] for s in steps] == [pytest.approx(60 * 0.75**i) for i in range(4)]


UNUSED = """\
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(2, 1)
        self.head = nn.LazyLinear(3)
    def forward(self, x):
        return self.body(x)
net = Net()
net.head.bias.requires_grad = False
alone = nn.UninitializedParameter()
print(net.head.weight)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(2):
    optimizer.zero_grad()
    net(torch.ones(1, 2)).sum().backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    "command",
    [
        "stats",
        "why",
        "why --precision",
        "trace",
        "graph",
        "page -o out.html",
        "run -o out.gt",
        "run",
    ],
)
def test_a_program_whose_parameters_have_no_shape_yet(gt, here, command):
    (here / "lazy.py").write_text(UNUSED)
    name, *options = command.split()
    result = gt(name, "lazy.py", *options)
    assert "fault of gradtrace" not in result.stderr and result.exit_code in (0, 1)
    if command == "why":
        assert "No operation of these steps reads net.head.weight" in " ".join(
            result.stdout.split()
        )


BAD_LOOP = """import torch
w = torch.ones(2, requires_grad=True)
for i in range(3):
    (w * w).log().sum().backward()
    with torch.no_grad():
        w -= w.grad * (1 if i else 0.5)
    w.grad = None
"""


@pytest.mark.parametrize("more", [[], ["--anomaly"], ["--format", "json"], ["--step", "all"]])
def test_nan_is_exit_code_1_in_every_form(gt, here, more):
    (here / "bad.py").write_text(BAD_LOOP)
    assert gt("stats", "log(x)", "--x", "-1", *more).exit_code == 1
    assert gt("stats", "log(x)", "--x", "2", *more).exit_code == 0
    assert gt("graph", "bad.py", "-o", "bad.gt").exit_code == 0
    for source in ("bad.py", "bad.gt"):
        assert gt("stats", source, *more).exit_code == 1
        assert gt("eval", source).exit_code == gt("why", source).exit_code == 0
