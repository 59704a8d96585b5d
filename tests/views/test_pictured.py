"""What a picture shows of a program: what its loss was computed from, from leaves and inputs on."""

import json
import subprocess
import sys

import pytest

STEP = """
import torch
torch.manual_seed(0)
w = torch.empty(3, 4, requires_grad=True)
b = torch.zeros(4, requires_grad=True)
with torch.no_grad():
    w.uniform_(-1, 1)
    w.mul_(0.5).add_(0.1)
    b.fill_(0.5)
b.data.add_(1)
raw = torch.randint(0, 255, (8, 3))
x = raw.float() / 255
x = (x - x.mean(0)) / x.std(0)
y = torch.randint(0, 4, (8,))
logits = x @ w + b
loss = torch.nn.functional.cross_entropy(logits, y)
accuracy = (logits.argmax(1) == y).float().mean()
with torch.no_grad():
    error = torch.nn.functional.cross_entropy(x[:2] @ w + b, y[:2])
loss.backward()
"""


def gradtrace(folder, text, *args):
    (folder / "s.py").write_text(text)
    command = [sys.executable, "-m", "gradtrace", args[0], "s.py", *args[1:]]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def nodes(folder, text, *options):
    gradtrace(folder, text, "graph", "-o", "s.json", *options)
    return json.loads((folder / "s.json").read_text())["nodes"]


def labels(found, kind="tensor"):
    return [node["label"] for node in found if node["kind"] == kind]


def test_a_picture_begins_at_leaves_and_prepared_data(tmp_path):
    found = nodes(tmp_path, STEP)
    assert {"w", "b", "x", "y", "logits", "loss"} <= set(labels(found))
    assert not {"raw", "raw.float()", "accuracy", "error"} & set(labels(found))
    assert [node["role"] for node in found if node["label"] == "x"] == ["data"]
    assert (
        set(labels(found, "operation")) & {"div 255", "argmax dim=1", "uniform_", "mul_", "fill_"}
        == set()
    )


def test_everything_is_drawn_on_request(tmp_path):
    found = nodes(tmp_path, STEP, "--depth", "all")
    assert {"raw", "accuracy", "error"} <= set(labels(found))


def test_what_is_left_out_is_named(tmp_path):
    said = gradtrace(tmp_path, STEP, "graph", "-o", "s.svg")
    assert (
        "not drawn, as loss does not depend on it: accuracy, error; --depth all draws everything"
        in said
    )
    assert "not drawn" not in gradtrace(tmp_path, STEP, "graph", "-o", "s.svg", "--depth", "all")


def test_one_or_two_operations_without_grad_are_drawn(tmp_path):
    text = "import torch\nw, x = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0)\n"
    text += "z = x * 2 + 1\ny = w * z\ny.backward()\n"
    assert {"x", "x * 2", "z"} <= set(labels(nodes(tmp_path, text)))


def test_a_detached_tensor_keeps_what_it_was_computed_from(tmp_path):
    text = "import torch\nw = torch.ones(1, requires_grad=True)\n"
    text += "c = (w * 3).detach() * 2 + 1\ny = (w * c).sum()\ny.backward()\n"
    assert "w * 3" in labels(nodes(tmp_path, text))


def test_without_backward_in_the_program_all_its_variables_are_drawn(tmp_path):
    text = (
        "import torch\nw = torch.tensor(2.0, requires_grad=True)\nd = w.detach() > 1\ny = w * 3\n"
    )
    assert "d" in labels(nodes(tmp_path, text))


@pytest.mark.parametrize("suffix", ["svg", "html", "png", "dot", "json", "mmd", "graphml", "txt"])
@pytest.mark.parametrize("count", [1, 45, 300])
def test_any_number_of_branches_is_drawn(tmp_path, count, suffix):
    """Leaves with and without grad, each in a stack of its own, beside operations that are boxes."""
    lines = [f"p{i} = torch.tensor([1.0, {i}.0], requires_grad={i % 3 > 0})" for i in range(count)]
    operands = ", ".join(f"p{i}" for i in range(count))
    text = "\n".join(
        [
            "import torch",
            "w = torch.ones(1, requires_grad=True)",
            *lines,
            f"y = torch.cat([w, {operands}])",
        ]
    )
    gradtrace(tmp_path, f"{text}\nloss = y.sum()\nloss.backward()\n", "graph", "-o", f"s.{suffix}")
    assert (tmp_path / f"s.{suffix}").stat().st_size > 100


@pytest.mark.parametrize("style", ["data", "function", "autograd"])
def test_stacks_of_two_kinds_of_leaves_are_drawn_flat(tmp_path, style):
    lines = [f"p{i} = torch.tensor([1.0, {i}.0], requires_grad={i % 3 > 0})" for i in range(150)]
    operands = ", ".join(f"p{i}" for i in range(150))
    text = "\n".join(
        [
            "import torch",
            *lines,
            f"y = torch.cat([{operands}])",
            "loss = y.sum()",
            "loss.backward()\n",
        ]
    )
    gradtrace(
        tmp_path,
        text,
        "graph",
        "-o",
        "s.svg",
        "--style",
        style,
        "--direction",
        "down",
        "--fit",
        "800x300",
    )


def test_any_attribute_of_ctx_can_be_drawn(tmp_path):
    text = """
import torch
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.name = "square"
        ctx.save_for_backward(x)
        return x * x
    @staticmethod
    def backward(ctx, g):
        return 2 * ctx.saved_tensors[0] * g
x = torch.tensor(3.0, requires_grad=True)
y = Square.apply(x)
y.backward()
"""
    gradtrace(tmp_path, text, "graph", "-o", "s.svg")
    assert "SquareBackward" in (tmp_path / "s.svg").read_text()


def test_a_leaf_made_by_operations_leads_to_the_loss(tmp_path):
    text = "import torch\nw = torch.linspace(-1, 1, 9).reshape(3, 3).requires_grad_()\nx = torch.ones(3, 1)\n"
    text += "h = w @ x\ny = torch.tanh(h)\nloss = y.sum()\nloss.backward()\n"
    assert {"w", "x", "h", "y", "loss"} <= set(labels(nodes(tmp_path, text)))
