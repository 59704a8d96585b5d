"""`gradtrace trace`: the steps of forward and backward, in the engine's order, as table and as data."""

import json

import pytest

NOTE = """\
from functools import partial
import torch
x = torch.tensor(3., requires_grad=True)
y1 = x + 1
y2 = 2*x
loss = (y1-y2)**2
def show(name, grad):
    print(name, grad)
y1.register_hook(partial(show, 'y1'))
y2.register_hook(lambda g: g * 10)
loss.backward()
"""


@pytest.fixture
def steps(answer):
    """The steps of a source as plain data."""

    def read(*args, **extra):
        return [
            json.loads(line)
            for line in answer("trace", *args, "--format", "jsonl", **extra).splitlines()
        ]

    return read


def backward(found):
    return [step for step in found if step["kind"] == "backward"]


def test_the_notes_example_as_a_table(answer):
    text = answer("trace", "(x+w)*(w+1)", "--x", 2, "--w", 1)
    assert [line.split() for line in text.splitlines() if "AddBackward0" in line] == [
        ["1", "1", "x+w", "add", "x,", "w", "3", "AddBackward0"],
        ["2", "1", "w+1", "add", "1", "w,", "1", "2", "AddBackward0"],
        ["6", "AddBackward0", "w+1", "3", "1", "w", "3"],
        ["7", "AddBackward0", "x+w", "2", "1", "x", "2"],
    ]
    assert "backward 1: from (x+w)*(w+1) with 1; saved values freed" in text
    assert "sum: 3 + 2, from w+1, x+w" in text
    assert "freed: x+w, w+1: 16 B" in text


def test_order_contributions_and_hooks(steps):
    found = steps("-", input=NOTE)
    assert [s["of"] for s in backward(found)] == [
        "loss",
        "y1-y2",
        "y2",
        "y1",
        "x",
    ]  # the later created runs first
    y2, y1, x = backward(found)[2:]
    assert y2["upstream"] == 40 and y2["hooks"][0]["before"] == 4 and y2["hooks"][0]["after"] == 40
    assert y2["hooks"][0]["changed"] and not y1["hooks"][0]["changed"]
    assert y1["hooks"][0]["name"] == "partial(show)"
    assert y1["sent"] == [{"to": "x", "tensor": 0, "local": 1, "downstream": -4}]
    assert x["contributions"] == [{"source": "y2", "value": 80}, {"source": "y1", "value": -4}]
    assert (x["grad_before"], x["grad_after"]) == (None, 76)
    assert [s["grad_dropped"] for s in backward(found)] == [True, True, True, True, False]


def test_a_hook_keeps_its_name_whatever_its_object_says_of_itself(steps):
    hook = "class Double(list):\n    def __call__(self, g):\n        return g * 2\n"
    source = "import torch\nx = torch.tensor(3., requires_grad=True)\ny = x * 2\ny.retain_grad()\n"
    found = steps("-", input=f"{hook}{source}y.register_hook(Double())\n(y * 1).backward()\n")
    names = [used["name"] for step in backward(found) for used in step["hooks"]]
    assert sorted(names) == ["Double", "retain_grad"]


def test_a_second_pass_adds_to_the_first(answer):
    source = "import torch\nx = torch.tensor(2., requires_grad=True)\nfor i in range(2):\n    (x*x).backward()\n"
    text = answer("trace", "-", input=source)
    assert "x.grad = 4 + 4 = 8" in text
    assert [line for line in text.splitlines() if line.startswith("backward")] == [
        "backward 1, line 4: from x*x #1 with 1; saved values freed",
        "backward 2, line 4: from x*x #2 with 1; saved values freed",
    ]


def test_forward_and_backward_alternate_as_they_ran(steps):
    source = (
        "import torch\nw = torch.tensor(1., requires_grad=True)\nfor i in range(2):\n    loss = (w-3)**2\n"
        "    loss.backward()\n    w.grad.zero_()\n"
    )
    assert [s["kind"] for s in steps("-", input=source)] == [
        "forward",
        "forward",
        "start",
        "backward",
        "backward",
        "backward",
        "end",
        "forward",
    ] * 2


def test_a_function_of_the_program(steps):
    source = """\
import torch
class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)
    @staticmethod
    def backward(ctx, grad):
        x, = ctx.saved_tensors
        grad = grad.clone()
        grad[x < 0] = 0
        return grad
x = torch.tensor([-1., 7.], requires_grad=True)
y = MyReLU.apply(x)
(y * torch.tensor([-2.5, 4.5])).sum().backward()
"""
    found = steps("-", input=source)
    turn = next(s for s in found if s.get("function") == "MyReLUBackward")
    assert turn["upstream"] == [-2.5, 4.5]
    assert turn["sent"] == [
        {"to": "x", "tensor": turn["sent"][0]["tensor"], "local": [0, 1], "downstream": [0, 4.5]}
    ]
    assert turn["freed"] == [{"name": "saved_tensors[0]", "label": "x", "bytes": 8}]
    inside = [s["op"] for s in found if s["kind"] == "forward" and s["step"] > turn["step"]]
    assert inside == ["clone", "lt", "index_put_"]  # what its backward called


def test_what_was_saved_and_its_bytes(steps):
    saved = {
        s["op"]: s["saved"]
        for s in steps("(x.exp() * x).sum()", "--x", "1,2,3")
        if s["kind"] == "forward"
    }
    assert saved["exp"] == [{"name": "result", "label": "x.exp()", "bytes": 24}]
    assert [(item["label"], item["bytes"]) for item in saved["mul"]] == [("x.exp()", 24), ("x", 24)]
    assert saved["sum"] == []


def test_an_overwritten_value_is_shown_as_it_was(steps):
    source = "import torch\nx = torch.ones(2, requires_grad=True)\ny = x * 2\ny.add_(1)\nz = y.sum()\nz\n"
    made = [
        (s["op"], s["outputs"][0]["value"])
        for s in steps("-", input=source)
        if s["kind"] == "forward"
    ]
    assert made == [("mul", [2, 2]), ("add_", [3, 3]), ("sum", 6)]


def test_autograd_grad_and_chosen_inputs(steps):
    source = (
        "import torch\nx = torch.tensor(3., requires_grad=True)\ny = x**3\n"
        "g, = torch.autograd.grad(y, x, create_graph=True)\n"
    )
    found = steps("-", input=source)
    start = next(s for s in found if s["kind"] == "start")
    assert (start["stores"], start["create_graph"], start["inputs"]) == (False, True, ["x"])
    assert backward(found)[-1]["upstream"] == 27


def test_follow_one_tensor(answer, refusal):
    text = answer("trace", "-", "--follow", "y1", input=NOTE)
    assert "AddBackward0" in text and "SubBackward0" in text
    assert "MulBackward0" not in text and "PowBackward0" not in text
    code, error = refusal("trace", "x*w", "--x", 1, "--w", 2, "--follow", "v")
    assert code == 2 and "--follow: no tensor 'v' here" in error


def test_every_format(answer):
    source = ("x*x", "--x", 3)
    document = json.loads(answer("trace", *source, "--format", "json"))
    assert (document["schema"], document["version"]) == ("gradtrace/trace", 1)
    assert [s["step"] for s in document["steps"]] == [1, 2, 3, 4, 5]
    assert (
        answer("trace", *source, "--format", "csv")
        .splitlines()[0]
        .startswith("step,kind,line,name,tensor")
    )
    assert answer("trace", *source, "--format", "md").startswith("| step | kind |")


@pytest.mark.slow
def test_many_operations_are_written_as_they_are_read(answer):
    text = answer(
        "trace", "y = x\nfor i in range(5000):\n    y = y * 1.0001\n", "--x", 1, "--format", "jsonl"
    )
    assert text.count("\n") == 2 * 5000 + 3


def test_as_a_process_on_a_narrow_terminal(process):
    done = process("trace", "-", input=NOTE)
    assert done.returncode == 0 and "loss.grad is dropped" in done.stdout
    assert "y1 tensor(-4.)" in done.stderr  # what the program prints is not the command's result
