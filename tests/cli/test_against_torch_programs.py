"""`gradtrace check --against torch` of every example, model and program of the documentation, all of which agree."""

import json
from pathlib import Path

import pytest

from tests.cli.test_against_torch import PYTHON, needs_torch

ROOT = Path(__file__).resolve().parents[2]
VALUES = {"notes.txt": ("--x", 2, "--w", 1), "shared.txt": ("--x", 0.5)}
PROGRAMS = sorted(
    path
    for folder in ("examples", "docs/models", "docs/programs")
    for path in (ROOT / folder).iterdir()
    if path.suffix in (".py", ".txt")
)
pytestmark = needs_torch


def against(gt, source, *options, input=None):
    asked = (
        "check",
        source,
        *options,
        "--against",
        "torch",
        "--python",
        PYTHON,
        "--format",
        "json",
    )
    done = gt(*asked, input=input)
    assert done.stdout, done.stderr
    return done.exit_code, json.loads(done.stdout)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_the_documentations_programs(gt, path):
    code, found = against(gt, path, *VALUES.get(path.name, ()))
    assert code == 0 and found["passed"], [fact for fact in found["facts"] if not fact["same"]]


def test_a_linear_layer_with_a_backward_of_its_own(gt):
    code, found = against(gt, "-", input="""\
import torch
from torch import nn
layer = nn.Linear(3, 2)
loss = layer(torch.randn(40, 3)).pow(2).mean()
loss.backward()
""")  # fmt: skip
    grads = {fact["name"]: fact["theirs"] for fact in found["facts"] if fact["what"] == "grad"}
    assert (
        code == 0
        and {"layer.weight", "layer.bias"} <= set(grads)
        and grads["layer.weight"] is not None
    )


def test_one_backward_of_the_result_of_a_program_that_calls_none(gt):
    text = "import torch\nfrom torch import nn\nlayer = nn.Linear(3, 2)\nlayer(torch.ones(1, 3)).sum()\nlayer.eval()\n"
    code, found = against(gt, "-", input=text)
    facts = {(fact["name"], fact["what"]): fact["theirs"] for fact in found["facts"]}
    assert code == 0 and facts["layer.weight", "grad"] == [[1, 1, 1], [1, 1, 1]]
    assert facts["layer(torch.ones(1, 3)).sum()", "grad_fn"] == "SumBackward0"


def test_random_numbers_of_the_run_and_of_its_inputs(gt):
    code, found = against(gt, "(x * w * rand(30)).sum()", "--x", "randn(30)", "--w", 2)
    assert code == 0 and found["passed"]
    code, found = against(gt, "(x * w * rand(30)).sum()", "--x", "randn(30)", "--w", 2, "--seed", 7)
    assert code == 0 and found["passed"]


@pytest.mark.parametrize("options", [
    ("--grad-tensors", "1,3"), ("--grad-tensors", "1,3", "--backward", 2, "--retain-graph"),
    ("--grad-tensors", "1,3", "--inputs", "w"), ("--no-backward",), ("--grad-tensors", "1,1", "--create-graph"),
])  # fmt: skip
def test_backward_as_the_options_say(gt, options):
    code, found = against(gt, "x * w", "--x", "1,2", "--w", "3,4", *options)
    assert code == 0 and found["passed"], found


def test_several_results_and_a_retained_gradient(gt):
    text = "y = x * 2\n(y * 3, y + x)\n"
    code, found = against(gt, "-", "--x", 5, "--retain-grad", "y", input=text)
    facts = {(fact["name"], fact["what"]): fact["theirs"] for fact in found["facts"]}
    assert (
        code == 0
        and facts["y", "grad"] == 4
        and facts["x", "grad"] == 9
        and facts["y * 3", "value"] == 30
    )


def test_a_real_difference_is_found(gt):
    text = """\
import torch
w = torch.ones(3, requires_grad=True)
k = 2.0 if torch.__version__.endswith("gradtrace") else 2.001
loss = (w * k).sum()
loss.backward()
"""
    code, found = against(gt, "-", input=text)
    apart = {(fact["name"], fact["what"]) for fact in found["facts"] if not fact["same"]}
    assert code == 1 and apart == {("loss", "value"), ("w", "grad")}


def test_long_arrays_are_shortened(gt):
    done = gt(
        "check",
        "x * 2",
        "--x",
        "ones(300)",
        "--grad-tensors",
        "ones(300)",
        "--against",
        "torch",
        "--all",
    )
    assert done.exit_code == 0 and "[1, 1, 1, 1, ...] (300 elements)" in done.stdout
    assert max(map(len, done.stdout.splitlines())) < 200


def test_names_of_options_are_whole_names_in_pytorch(gt, here):
    text = "import torch\ntorch.manual_seed(0)\nm = torch.nn.Linear(2, 1)\n"
    text += "x = torch.ones(3, 2)\nloss = m(x).sum()\n"
    (here / "p.py").write_text(text)
    same = gt("check", "p.py", "--against", "torch", "--inputs", "weight")
    assert same.exit_code == 0 and "all the same" in same.stdout
    refused = gt("check", "p.py", "--against", "torch", "--inputs", "m(x)")
    assert refused.exit_code == 2 and "has no name by which PyTorch can be asked" in refused.stderr
