"""`gradtrace check`: gradients against finite differences; wrong derivatives are found and named, right ones pass."""

import json
from pathlib import Path

import pytest

NOTE = ("(x+w)*(w+1)", "--x", 2, "--w", 1)
SEEDS = Path(__file__).resolve().parents[1] / "recorded"

FUNCTION = """\
import torch
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, {arguments}):
        ctx.save_for_backward({arguments})
        return {forward}
    @staticmethod
    def backward(ctx, g):
        {arguments}, = ctx.saved_tensors
        return {backward}
x = torch.tensor({x}, requires_grad=True)
w = torch.tensor({w}, requires_grad=True)
loss = F.apply({arguments}).sum()
loss.backward()
"""

# id: (arguments, forward, wrong backward, right backward, x, order)
PLANTED = {
    "sign": ("x", "-x", "g", "-g", 2.0, 1),
    "sign of one operand": ("x, w", "x - w", "g, g", "g, -g", [1.0, 2.0], 1),
    "factor 2 of a square": ("x", "x * x", "x * g", "2 * x * g", [1.0, 2.0], 1),
    "factor 3 of a cube": ("x", "x ** 3", "x ** 2 * g", "3 * x ** 2 * g", [1.0, -2.0], 1),
    "factor of a mean": ("x", "x.mean()", "g.expand(3)", "g.expand(3) / 3", [1.0, 2.0, 3.0], 1),
    "operands exchanged": (
        "x, w",
        "x * w",
        "x * g, (w * g).sum()",
        "w * g, (x * g).sum()",
        [1.0, 2.0],
        1,
    ),
    "quotient": (
        "x, w",
        "x / w",
        "g / w, (g * x / w).sum()",
        "g / w, -(g * x / w ** 2).sum()",
        [1.0, 2.0],
        1,
    ),
    "broadcast not summed": (
        "x, w",
        "x * w",
        "w * g, (x * g)[0]",
        "w * g, (x * g).sum()",
        [1.0, 2.0],
        1,
    ),
    "broadcast averaged": ("x, w", "x + w", "g, g.mean()", "g, g.sum()", [1.0, 2.0], 1),
    "upstream forgotten": (
        "x",
        "x.exp()",
        "x.exp() * torch.ones_like(g)",
        "x.exp() * g",
        [0.5, 1.0],
        1,
    ),
    "derivative of the input": (
        "x",
        "x.sigmoid()",
        "x * (1 - x) * g",
        "x.sigmoid() * (1 - x.sigmoid()) * g",
        [0.5, 1.0],
        1,
    ),
    "tanh": ("x", "x.tanh()", "(1 - x.tanh()) * g", "(1 - x.tanh() ** 2) * g", [0.5, 1.0], 1),
    "log base": ("x", "x.log2()", "g / x", "g / (x * 0.6931471805599453)", [0.5, 1.0], 1),
    "square root": ("x", "x.sqrt()", "g / x.sqrt()", "g / (2 * x.sqrt())", [0.5, 1.0], 1),
    "trigonometric sign": ("x", "x.cos()", "x.sin() * g", "-x.sin() * g", [0.5, 1.0], 1),
    "transposed": (
        "x",
        "x.t() * torch.tensor([[1., 2.], [3., 4.]])",
        "g * torch.tensor([[1., 2.], [3., 4.]])",
        "(g * torch.tensor([[1., 2.], [3., 4.]])).t()",
        [[1.0, 2.0], [3.0, 4.0]],
        1,
    ),
    "one element": (
        "x",
        "x * 2",
        "2 * g * torch.tensor([1., 1., 0.])",
        "2 * g",
        [1.0, 2.0, 3.0],
        1,
    ),
    "dead side of a relu": ("x", "x.clamp(min=0)", "g", "g * (x > 0)", [1.0, -1.0], 1),
    "wrong at a kink": (
        "x",
        "x.clamp(min=0)",
        "torch.where(x == 0, 2 * g, g * (x > 0))",
        "g * (x > 0)",
        [1.0, 0.0],
        1,
    ),
    "none for an operand": ("x, w", "x * w", "w * g, None", "w * g, (x * g).sum()", [1.0, 2.0], 1),
    "second order detached": (
        "x",
        "x ** 3",
        "3 * x.detach() ** 2 * g",
        "3 * x ** 2 * g",
        [1.0, -2.0],
        2,
    ),
    "second order of the upstream": (
        "x",
        "x ** 2",
        "2 * x * g.detach()",
        "2 * x * g",
        [1.0, -2.0],
        2,
    ),
}


def script(arguments, forward, backward, x):
    return FUNCTION.format(arguments=arguments, forward=forward, backward=backward, x=x, w=3.0)


def planted_script(case, right):
    arguments, forward, wrong, correct, x, order = PLANTED[case]
    text = script(arguments, forward, correct if right else wrong, x)
    if case == "upstream forgotten":
        text = text.replace("F.apply(x).sum()", "(2 * F.apply(x)).sum()")
    if case == "second order of the upstream":
        text = text.replace("F.apply(x).sum()", "(F.apply(x) ** 2).sum()")
    return text, order


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", PLANTED)
def test_a_planted_mistake_is_found_and_named(gt, case):
    text, order = planted_script(case, right=False)
    result = gt("check", "-", "--order", order, "--format", "json", input=text)
    assert result.exit_code == 1, result.stdout + result.stderr
    found = json.loads(result.stdout)
    assert not found["passed"]
    assert [(w["name"], w["line"]) for w in found["wrong_operations"]] == [("F", 13)]
    assert "F.apply" in found["wrong_operations"][0]["source"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", PLANTED)
def test_the_right_derivative_passes(gt, case):
    text, _ = planted_script(case, right=True)
    result = gt("check", "-", "--order", 2, "--format", "json", input=text)
    found = json.loads(result.stdout)
    assert result.exit_code == 0, [e for e in found["elements"] if e["verdict"] == "wrong"]
    assert found["passed"] and found["functions"] == ["F"]
    assert "wrong" not in {e["verdict"] for e in found["elements"]}


def test_the_table(answer):
    lines = answer("check", *NOTE).splitlines()
    assert lines[0].split() == ["element", "analytic", "numeric", "error", "verdict"]
    assert [line.split()[:3] for line in lines[2:4]] == [["x", "2", "2"], ["w", "5", "5"]]
    assert lines[-1] == "all 2 derivatives of the result, in float64: no mistake found"


def test_points_without_a_derivative_are_told_as_such(answer):
    found = json.loads(
        answer(
            "check",
            "relu(x).sum() + round(w) + abs(v) + sqrt(u)",
            "--x",
            "0,1",
            "--w",
            0.5,
            "--v",
            0,
            "--u",
            0,
            "--format",
            "json",
        )
    )
    verdicts = {(e["leaf"], *e["index"]): e["verdict"] for e in found["elements"]}
    assert verdicts == {
        ("x", 0): "kink",
        ("x", 1): "ok",
        ("w",): "jump",
        ("v",): "kink",
        ("u",): "edge",
    }
    assert found["passed"]
    text = answer("check", "relu(x)", "--x", 0)
    assert "x: kink: the slope changes here from 0 to 1; any number between is a derivative" in text


def test_many_functions(answer):
    for expression in (
        "(x.exp() * x).sum()",
        "x.softmax(0)[0]",
        "x.std()",
        "(x @ x)",
        "x.cumsum(0).prod()",
        "x.norm()",
        "x.sort()[0][0] * 2",
        "logsumexp(x, 0)",
        "(x / (x * x + 1)).mean()",
        "x.view(3, 1).sum() ** 3",
    ):
        text = answer("check", "-e", expression, "--x", "0.5,-1.25,2", "--order", 2)
        assert "no mistake found" in text, expression


def test_a_second_derivative_is_labelled_as_one_along_a_vector(answer):
    text = answer("check", "x**3 * w", "--x", 2, "--w", 3, "--order", 2)
    assert [line.split()[:4] for line in text.splitlines()[4:6]] == [
        ["x", "2", "along", "v"],
        ["w", "2", "along", "v"],
    ]
    assert "2 along v: the derivative of the gradient's product with one fixed vector v" in text
    assert "along v" not in answer("check", "x**3", "--x", 2)
    table = answer("check", "x**3", "--x", 2, "--order", 2, "--format", "csv").splitlines()
    assert [line.rpartition(",")[2] for line in table] == ["along", "", "a fixed vector"]
    data = json.loads(answer("check", "x**3", "--x", 2, "--order", 2, "--format", "json"))
    assert [e["along"] for e in data["elements"]] == ["", "a fixed vector"]


def test_large_and_small_numbers(answer):
    for value in ("1e8", "1e-8", "-3e5"):
        assert "no mistake found" in answer("check", "sin(x*1e-3) * x", "--x", value)


def test_what_the_program_cuts_on_purpose(answer):
    text = answer("check", "x.detach() * x", "--x", 3)
    assert "cut" in text and "cuts gradients off, by detach() on line 1" in text


def test_a_saved_value_changed_behind_autograds_back(gt):
    source = "import torch\nx = torch.tensor(3., requires_grad=True)\ny = x ** 2\nx.data.mul_(10)\ny.backward()\n"
    result = gt("check", "-", input=source)
    assert result.exit_code == 1
    assert (
        "x is changed on line 4 after its value had been saved, behind autograd's back"
        in result.stdout
    )


@pytest.mark.slow
def test_modules_and_random_numbers(answer):
    source = """\
import torch
from torch import nn
net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Dropout(0.5), nn.Linear(4, 1))
loss = net(torch.randn(5, 3)).pow(2).mean()
loss.backward()
"""
    found = json.loads(answer("check", "-", "--seed", 1, "--format", "json", input=source))
    assert found["passed"] and found["root"] == "loss"
    assert {e["leaf"] for e in found["elements"]} == {
        "net.0.weight",
        "net.0.bias",
        "net.3.weight",
        "net.3.bias",
    }
    text = answer("check", "-", "--seed", 1, "--most", 2, input=source)
    assert "14 elements were not tried (--most)" in text


@pytest.mark.parametrize(
    "name", ["note_1_all_cells.py", "note_5_cells_4_5_6_myrelu.py", "picture_gradient_paths.py"]
)
def test_the_notes(answer, name):
    path = next(SEEDS.rglob(name))
    assert "no mistake found" in answer("check", path)


def test_outputs_that_are_no_numbers_are_weighted(answer):
    assert "all 3 derivatives of the result" in answer("check", "x * x", "--x", "1,2,3")


def test_nothing_to_check(refusal):
    code, error = refusal("check", "x*x", "--x", 1, "--no-grad", "x")
    assert code == 2 and "the result does not require grad" in error


def test_as_a_process(process):
    done = process("check", "-", input=planted_script("sign", right=False)[0])
    assert done.returncode == 1 and done.stderr == ""
    assert (
        "the derivative of F on line 13 is wrong: for its input 1, element 0, it gives 1"
        in done.stdout
    )


DRAWN = """\
import random
import numpy as np
import torch
from torch import nn
x = torch.rand(40)
w = torch.ones(40, requires_grad=True)
noise = torch.empty(40).normal_() + nn.functional.dropout(torch.ones(40), 0.25) + torch.normal(torch.ones(40), 2.0)
wide = torch.rand(40, dtype=torch.float64)
rate = random.random() * np.random.rand() * np.random.default_rng().random()
((x + noise + wide) * w).sum().backward()
"""


def analytic(answer, *words, **options):
    found = json.loads(answer("check", *words, "--format", "json", **options))
    assert found["passed"], found
    return [element["analytic"] for element in found["elements"]]


@pytest.mark.slow
def test_the_random_numbers_of_the_run_are_checked(answer):
    """float32 draws other numbers than float64; the check has those of the run, cast up."""
    gradient = json.loads(answer("eval", "-", "--seed", 5, "--get", "w.grad", input=DRAWN))
    assert analytic(answer, "-", "--seed", 5, input=DRAWN) == pytest.approx(
        gradient, rel=1e-6, abs=1e-6
    )


@pytest.mark.slow
def test_the_random_numbers_of_a_recorded_run_are_checked(answer, here):
    text = "".join(line for line in DRAWN.splitlines(keepends=True) if "random" not in line)
    (here / "drawn.py").write_text(text)
    answer("run", "./drawn.py", "-o", "drawn.gt")
    gradient = json.loads(answer("eval", "./drawn.gt", "--get", "w.grad"))
    assert analytic(answer, "./drawn.gt") == pytest.approx(gradient, rel=1e-6, abs=1e-6)


def test_the_random_numbers_of_inputs_are_those_of_the_run(answer):
    text = "import torch\nw: leaf\nx: data\n(w * x * torch.rand(30)).sum()\n"
    words = ("-", "--w", "randn(30)", "--x", "randn(30)", "--seed", 3)
    gradient = json.loads(answer("eval", *words, "--get", "w.grad", input=text))
    assert analytic(answer, *words, input=text) == pytest.approx(gradient, rel=1e-6, abs=1e-6)


@pytest.mark.slow
def test_random_numbers_that_the_program_does_not_seed_are_the_same_in_every_run(answer):
    text = DRAWN.replace("((x + noise + wide) * w)", "(w ** 2 * rate)")
    assert len(analytic(answer, "-", input=text)) == 40
