"""What a picture says of roots, sorted indices, hooks, and gradients that are tensors themselves."""

import json

import pytest

from gradtrace.cli.group import cli

X = "import torch\nx = torch.tensor([3., 1., 2.], requires_grad=True)\n"
SORTED = (
    X
    + "s, i = x.sort()\naux = s[1]\nloss = (s * torch.arange(3.)).sum()\nloss.backward()\nmore = s[0] * 2\n"
)
SECOND = (
    "import torch\nx = torch.tensor(1., requires_grad=True)\ny = torch.sin(x) * torch.exp(x)\n"
    "g, = torch.autograd.grad(y, x, create_graph=True)\nh, = torch.autograd.grad(g, x)\n"
)
HOOKED = (
    "import torch\nx = torch.tensor(1., requires_grad=True)\ny = x * 2\n"
    "y.register_hook(lambda g: g * 10)\ny.backward()\n"
)


@pytest.fixture
def command(tmp_path, monkeypatch):
    """command("graph", "program text", ...) -> stdout; the program is p.py."""
    from click.testing import CliRunner

    monkeypatch.chdir(tmp_path)

    def run(name, program, *args):
        (tmp_path / "p.py").write_text(program)
        result = CliRunner().invoke(cli, [name, "p.py", *args], prog_name="gradtrace")
        assert result.exit_code == 0, result.stderr
        return result.stdout

    return run


@pytest.fixture
def drawn(command, tmp_path):
    """drawn(program) -> (the nodes by label, the labels at both ends of each edge) of its graph."""

    def graph(program, *args):
        command("graph", program, "-o", "g.json", *args)
        document = json.loads((tmp_path / "g.json").read_text())
        names = {node["id"]: node["label"] for node in document["nodes"]}
        ends = {(names[edge["source"]], names[edge["target"]]) for edge in document["edges"]}
        return {node["label"]: node for node in document["nodes"]}, ends

    return graph


IN_PLACE = X + "y = x * 2\nz = y.sum()\ny.mul_(3)\nz.backward()\n"


@pytest.mark.parametrize(
    ("program", "root", "value"), [(SORTED, "loss", "8.0"), (IN_PLACE, "z", "12.0")]
)
def test_the_root_is_what_backward_was_called_on(drawn, command, program, root, value):
    nodes, _ = drawn(program)
    assert [label for label, node in nodes.items() if node.get("role") == "output"] == [root]
    assert command("eval", program, "--get", "root").strip() == value


@pytest.mark.parametrize("call", ["x.sort()", "x.sort(stable=True)", "x.topk(2)", "x.max(0)"])
def test_indices_are_a_result(drawn, call):
    nodes, ends = drawn(X + f"s, i = {call}\ns.sum().backward()\n")
    assert nodes["i"]["role"] == "result"
    (maker,) = [source for source, target in ends if target == "i"]
    assert (maker, "s") in ends and not any(source == "i" for source, _ in ends)


def test_indices_that_are_given_are_read(drawn):
    nodes, ends = drawn(X + "i = torch.tensor([2, 0])\n(x[i] * 2).sum().backward()\n")
    assert nodes["i"]["role"] == "data" and any(source == "i" for source, _ in ends)


def test_a_saved_result_is_the_tensor_that_it_is(drawn):
    nodes, ends = drawn(SECOND)
    assert all(
        any(target == label for _, target in ends)
        for label, node in nodes.items()
        if node.get("grad_fn")
    )
    assert ("torch.exp(x)", "mul") in ends


def test_a_gradient_is_a_result(drawn):
    nodes, ends = drawn(SECOND)
    assert nodes["h"]["role"] == "result"
    assert {("g", "grad"), ("x", "grad"), ("grad", "h")} <= ends


def test_a_gradient_of_real_pytorch_has_inputs(process_graph):
    _, ends = process_graph(SECOND)
    assert {("y", "grad"), ("x", "grad"), ("grad", "g"), ("g", "grad"), ("grad", "h")} <= ends


@pytest.fixture
def process_graph(tmp_path):
    """The same as `drawn` of a program that real PyTorch runs."""
    import subprocess
    import sys

    pytest.importorskip("torch")

    def graph(program):
        (tmp_path / "p.py").write_text(program)
        line = [
            sys.executable,
            "-m",
            "gradtrace",
            "graph",
            "--engine",
            "torch",
            "p.py",
            "-o",
            "g.json",
        ]
        subprocess.run(line, cwd=tmp_path, check=True, capture_output=True)
        document = json.loads((tmp_path / "g.json").read_text())
        names = {node["id"]: node["label"] for node in document["nodes"]}
        ends = {(names[edge["source"]], names[edge["target"]]) for edge in document["edges"]}
        return {node["label"]: node for node in document["nodes"]}, ends

    return graph


def test_a_hook_is_shown(drawn, command, tmp_path):
    nodes, _ = drawn(HOOKED)
    assert nodes["y"]["hooks"] == ["hook <lambda>: 1 → 10"]
    for style in ("data", "autograd"):
        command("graph", HOOKED, "-o", "g.svg", "--style", style)
        assert "hook &lt;lambda&gt;: 1 → 10</text>" in (tmp_path / "g.svg").read_text()
    said = command("why", HOOKED, "x")
    assert (
        "the hook <lambda> on line 4 turned the" in said and "gradient of y from 1 into 10" in said
    )
