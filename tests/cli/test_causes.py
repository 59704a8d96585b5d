"""The causes that `gradtrace why` finds: each with its line and its advice, and not in a neighbouring right program."""

import json
import re
from pathlib import Path

import pytest
from why_cases import GRADIENTS
from why_causes import CAUSES, NAMED
from why_failures import FAILURES
from why_questions import QUESTIONS

ROOT = Path(__file__).parents[2]


@pytest.fixture
def ask(gt):
    """The answers about a program as plain data."""

    def answers(program, *names):
        result = gt("why", "-", *names, "--format", "json", input=program)
        assert result.exit_code in (0, 1), result.stderr
        return json.loads(result.stdout)["answers"]

    return answers


def places(answer):
    return {e["line"]: e["source"] for e in answer["evidence"] if e["line"]}


@pytest.mark.sampled(14)
@pytest.mark.parametrize("case", CAUSES)
def test_a_cause_of_a_run(ask, case):
    program, cause, line, words, advice, wrong, right = CAUSES[case]
    first = ask(program)[0]
    assert first["cause"] == cause, first
    assert words in first["sentence"], first["sentence"]
    assert places(first)[line] == program.split("\n")[line - 1].strip()
    assert any(advice in one for one in first["advice"]), first["advice"]
    assert wrong in program
    assert all(one["cause"] != cause for one in ask(program.replace(wrong, right)))


@pytest.mark.parametrize(
    ("options", "change", "cause"),
    [
        ("lr=3.0, weight_decay=False", "", "diverges"),
        ("lr=0.1, momentum=False", "torch.nn.utils.clip_grad_norm_([w], 1e-9)", "clipped to 0"),
    ],
)
def test_an_option_of_an_optimiser_may_be_a_flag(ask, options, change, cause):
    program = (
        "import torch\n"
        "w = torch.tensor([1.0], requires_grad=True)\n"
        f"opt = torch.optim.SGD([w], {options})\n"
        "for step in range(12):\n"
        "    opt.zero_grad()\n"
        "    loss = (w**2).sum()\n"
        "    loss.backward()\n"
        f"    {change}\n"
        "    opt.step()\n"
    )
    assert ask(program)[0]["cause"] == cause


@pytest.mark.parametrize("case", NAMED)
def test_a_cause_of_a_gradient(ask, case):
    program, name, status, cause, line, words, advice, wrong, right = NAMED[case]
    names = [name] if name else []
    first = ask(program, *names)[0]
    assert (first["status"], first["cause"]) == (status, cause), first
    assert words in first["sentence"], first["sentence"]
    assert places(first)[line] == program.split("\n")[line - 1].strip()
    assert any(advice in one for one in first["advice"]), first["advice"]
    assert wrong in program
    assert all(one["cause"] != cause for one in ask(program.replace(wrong, right), *names))


def test_a_named_gradient_gets_the_cause_of_the_run(ask):
    program, cause, line, words, *_ = CAUSES["divergence"]
    (answer,) = ask(program, "net.weight")
    assert (answer["status"], answer["cause"]) == ("nan", cause) or words in answer["sentence"]
    assert line in places(answer)


@pytest.mark.parametrize(
    "lines",
    [
        "def adapt(m):\n    m[2] = nn.Linear(4, 1)\nadapt(net)\n",
        "net[2].weight = nn.Parameter(torch.ones(1, 4))\n",
        "setattr(net, '2', nn.Linear(4, 1))\n",
    ],
)
def test_what_replaced_a_parameter_is_shown(answer, lines):
    start = (
        "import torch\nfrom torch import nn\n"
        "net = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1))\n"
        "opt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
    )
    loop = (
        "for _ in range(3):\n    opt.zero_grad()\n    loss = (net(torch.ones(5, 2)) - 1).pow(2).mean()\n"
        "    loss.backward()\n    opt.step()\n"
    )
    text = answer("why", "-", input=start + lines + loop)
    replacing = next(line for line in lines.splitlines() if "nn." in line)
    assert replacing.strip() in text and "net.2.weight is made here" in text


def test_the_words_fit_80_columns_and_five_pieces_of_evidence(gt):
    for program, *_ in CAUSES.values():
        text = gt("why", "-", input=program).stdout
        head, _, fix = re.split(
            r"\n(To fix it \(tried.*\)|A direction|Directions)(?:, not tried)?:\n", text
        )[:3]
        assert all(len(line) <= 80 for line in text.split("\n")), text
        assert fix.startswith("  - ")
        assert head.count("\n  line ") + head.count("\n   line ") <= 5


def test_a_function_that_is_estimated_on_purpose_is_not_told(ask):
    straight = (
        "import torch\nclass Sign(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
        "        return torch.sign(x)\n    @staticmethod\n    def backward(ctx, g):\n        return g\n"
        "x = torch.randn(4, requires_grad=True)\nSign.apply(x).sum().backward()\n"
    )
    assert all(one["cause"] != "wrong backward" for one in ask(straight))
    reversal = straight.replace("torch.sign(x)", "x.clone()").replace("return g\n", "return -g\n")
    assert all(one["cause"] != "wrong backward" for one in ask(reversal))


def test_a_check_of_a_function_prints_nothing(gt):
    program = (
        "import torch\nclass F(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
        "        print('forward')\n        return x * 2\n    @staticmethod\n    def backward(ctx, g):\n"
        "        return g * 2\nx = torch.ones(2, requires_grad=True)\nF.apply(x).sum().backward()\n"
    )
    assert gt("why", "-", input=program).stderr.count("forward") == 1


def test_the_documentation_lists_every_code():
    listed = set(re.findall(r"^\| `(.+?)` \|", (ROOT / "docs/why.md").read_text(), re.M))
    expected = {case[1] for case in CAUSES.values()} | {case[3] for case in NAMED.values()}
    expected |= {case[3] for case in (*GRADIENTS.values(), *QUESTIONS.values())} | {
        c[1] for c in FAILURES.values()
    }
    assert expected <= listed


def test_an_answer_of_a_recorded_run_is_that_of_its_source(gt, here):
    (here / "p.py").write_text(CAUSES["gradients that accumulate"][0])
    gt("graph", "p.py", "-o", "run.gt")
    assert gt("why", "run.gt").stdout == gt("why", "p.py").stdout


def test_computed_while_gradients_were_switched_off(ask):
    program = (
        "import torch\nx = torch.ones(2, requires_grad=True)\nwith torch.set_grad_enabled({}):\n    c = x * 3\n"
        "(c.sum() + x.sum()).backward()\n"
    )
    (answer,) = ask(program.format(False), "c")
    assert answer["cause"] == "set_grad_enabled" and "mul on line 4" in answer["sentence"]
    assert ask(program.format(True), "c")[0]["cause"] == "non-leaf"
