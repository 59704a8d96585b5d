"""The steps of a training loop and its backward passes: --step and --pass."""

import json

import pytest

LOOP = """import torch
w = torch.tensor(5.0, dtype=torch.float64, requires_grad=True)
x = torch.tensor(2.0, dtype=torch.float64)
for i in range(4):
    loss = (w * x - 6) ** 2
    loss.backward()
    with torch.no_grad():
        w -= 0.125 * w.grad
    w.grad = None
"""
OPTIMISER = """import torch
torch.manual_seed(0)
m = torch.nn.Linear(3, 2)
opt = torch.optim.SGD(m.parameters(), lr=0.5)
x = torch.tensor([[1., 2., 3.]])

def train(count):
    for step in range(count):
        opt.zero_grad()
        for part in range(2):
            loss = (m(x) ** 2).sum()
            loss.backward()
        opt.step()
    return loss

last = train(3)
"""


@pytest.fixture
def loop(here):
    (here / "loop.py").write_text(LOOP)
    return "loop.py"


def rows(table):
    return {line.split("  ")[0]: line.split() for line in table.split("\n\n")[0].splitlines()[2:]}


@pytest.mark.parametrize("step", [1, 2, 4])
def test_eval_of_a_step_shows_it_as_it_was(answer, loop, step):
    w = 5.0
    for _ in range(step - 1):
        w -= 0.125 * 2 * (2 * w - 6) * 2
    found = json.loads(answer("eval", loop, "--step", step, "--format", "json"))
    named = {t["name"]: t for t in found["tensors"] if t["name"]}
    assert named["loss"]["value"] == (2 * w - 6) ** 2
    read = next(t for t in found["tensors"] if t["kind"] == "leaf")
    assert (read["value"], read["grad"]) == (w, 4 * (2 * w - 6))


def test_trace_of_a_step_or_a_pass(answer, loop):
    steps = json.loads(answer("trace", loop, "--step", 3, "--format", "json"))["steps"]
    assert [s["pass"] for s in steps if s["kind"] == "start"] == [3]
    assert [s["op"] for s in steps if s["kind"] == "forward"] == [
        "mul",
        "sub",
        "pow",
        "mul",
        "sub_",
    ]
    only = json.loads(answer("trace", loop, "--pass", 3, "--format", "json"))["steps"]
    assert [s["op"] for s in only if s["kind"] == "forward"] == ["mul", "sub", "pow"]
    assert [s["pass"] for s in only if s["kind"] == "start"] == [3]
    assert answer("trace", loop, "--step", "all") == answer("trace", loop)


def test_why_of_a_step(answer, loop):
    assert "w.grad is None" in answer("why", loop, "w")
    assert "w.grad is 16, from backward on line 6" in answer("why", loop, "w", "--step", 1)
    assert "w.grad is 0" in answer("why", loop, "w", "--step", 3)


def test_a_picture_is_of_the_last_step(gt, here, loop):
    def drawn(*args):
        result = gt("graph", loop, "-o", "g.json", *args)
        assert result.exit_code == 0
        nodes = json.loads((here / "g.json").read_text())["nodes"]
        return result.stderr, {n["label"]: n["value"] for n in nodes if n.get("value") is not None}

    said, last = drawn()
    assert "the last step of the loop, step 4" in said
    assert last == {"x": 2, "w": 3, "w * x": 6, "w * x - 6": 0, "loss": 0}
    said, first = drawn("--step", 1)
    assert said == "" and first == {"x": 2, "w": 5, "w * x": 10, "w * x - 6": 4, "loss": 16}
    assert drawn("--pass", 1)[1] == first
    assert len(drawn("--step", "all")[1]) >= len(last)


def test_steps_end_with_the_optimiser(answer, here):
    (here / "train.py").write_text(OPTIMISER)
    for step in (1, 2, 3):
        said = answer("trace", "train.py", "--step", step, "--format", "json")
        steps = json.loads(said)["steps"]
        assert [s["pass"] for s in steps if s["kind"] == "start"] == [2 * step - 1, 2 * step]
        assert [s["op"] for s in steps if s["kind"] == "forward"] == [
            "t",
            "addmm",
            "pow",
            "sum",
        ] * 2


def test_what_is_no_step(refusal, here, loop):
    code, said = refusal("eval", loop, "--step", 5)
    assert code == 2 and "no step 5; the loop has the steps 1 to 4" in said
    assert (
        "no backward pass 9; the program has the passes 1 to 4"
        in refusal("trace", loop, "--pass", 9)[1]
    )
    assert "choose two parts" in refusal("eval", loop, "--step", 1, "--pass", 1)[1]
    assert "'0' is not a step" in refusal("eval", loop, "--step", 0)[1]
    (here / "line.py").write_text(
        "import torch\nx = torch.ones(1, requires_grad=True)\n(x * 2).sum().backward()\n"
    )
    assert "no training loop" in refusal("eval", "line.py", "--step", 1)[1]


def test_passes_over_one_graph_are_not_steps(refusal, here):
    (here / "again.py").write_text(
        "import torch\nx = torch.ones(1, requires_grad=True)\ny = (x * 2).sum()\n"
        "for i in range(3):\n    y.backward(retain_graph=True)\n"
    )
    assert "no training loop" in refusal("trace", "again.py", "--step", 1)[1]


def test_why_names_the_first_step_that_went_wrong(answer, here):
    (here / "steep.py").write_text(
        "import torch\nw = torch.tensor(3., requires_grad=True)\nopt = torch.optim.SGD([w], lr=50)\n"
        "for i in range(30):\n    opt.zero_grad()\n    loss = w ** 4\n    loss.backward()\n    opt.step()\n"
    )
    said = " ".join(answer("why", "steep.py", "w").split())
    assert "w.grad is nan: step 2 (i=1) with lr=50 on line 3 makes w 5.8e+09 times as large" in said
    assert "the loss is inf in step 3 (i=2)" in said
