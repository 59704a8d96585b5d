"""What `why` advises was tried in the run, or is called a direction."""

import json

import pytest

LEAF = "import torch\nw = torch.tensor(2., requires_grad=True)\n"
MASKED = (
    "import torch\nscores = torch.zeros(2, 3, requires_grad=True)\n"
    "keep = torch.tensor([[True, True, False], [False, False, False]])\n"
    "masked = scores.masked_fill(~keep, float('-inf'))\nattention = torch.softmax(masked, dim=1)\n"
    "loss = (attention * torch.arange(3.)).sum()\nloss.backward()\n"
)
# id: (program, name or "", what was tried with success, what must not be advised)
TRIED = {
    "a root of 0": (LEAF + "y = torch.sqrt(w - 2)\ny.backward()\n", "w", "torch.sqrt((w - 2) + 1e-12) on line 3", "(x"),
    "a quotient": (LEAF + "y = (w - 2) / (w - 2)\ny.backward()\n", "", "(w - 2) / ((w - 2) + 1e-8) on line 3", "x /"),
    "a product of equal shapes": (
        "import torch\na = torch.ones(2, 3, requires_grad=True)\nb = torch.ones(2, 3)\n(a @ b).sum().backward()\n",
        "", "transpose the second: a @ b.t() on line 4", "b @ b",
    ),
    "a mask without an element": (MASKED, "", "~keep & keep.any(-1, keepdim=True)", "mask[~mask"),
    "a mask of fewer dimensions": (
        "import torch\nscores = torch.zeros(2, 3, 3, requires_grad=True)\npad = torch.zeros(3, 3).bool()\n"
        "pad[1] = True\nattention = scores.masked_fill(pad, float('-inf')).softmax(2)\n"
        "(attention * torch.arange(3.)).sum().backward()\n",
        "", "pad & ~pad.all(-1, keepdim=True)", "all(2",
    ),
    "a function that is not imported": (
        "from torch import log, sigmoid, tensor\nw = tensor(-200., requires_grad=True)\nlog(sigmoid(w)).backward()\n",
        "", "torch.nn.functional.logsigmoid(w) on line 3, with import torch", "(x",
    ),
    "a function that is imported": (
        "from torch import sqrt, tensor\nw = tensor(2., requires_grad=True)\ny = sqrt(w - 2)\ny.backward()\n",
        "w", "sqrt((w - 2) + 1e-12) on line 3", "torch.",
    ),
    "a module with another name": (
        "import torch as th\nw = th.tensor(2., requires_grad=True)\ny = th.sqrt(w - 2)\ny.backward()\n",
        "w", "th.sqrt((w - 2) + 1e-12) on line 3", "torch.",
    ),
    "rows that are 0": (
        MASKED, "", "scores.masked_fill(~keep, -1e9) on line 4, and .masked_fill(~keep, 0.) after softmax on line 5",
        "mask == 0",
    ),
    "a detached tensor": (
        LEAF + "y = w.detach() * torch.ones(1, requires_grad=True)\ny.backward()\n",
        "w", "leave out .detach()", "w.data",
    ),
    "no backward": (LEAF + "loss = w * 3\n", "w", "call loss.backward()", "requires_grad="),
    "a changed result": (LEAF + "a = w.exp()\na += 1\na.backward()\n", "", "a = a + 1 on line 4", "+="),
    "a second backward": (LEAF + "y = w ** 2\ny.backward()\ny.backward()\n", "", "retain_graph=True", "w **"),
    "several elements": (
        "import torch\nw = torch.ones(3, requires_grad=True)\ny = w * 2\ny.backward()\n",
        "", "y.sum().backward()", "w.sum",
    ),
}  # fmt: skip
# id: (program, advice that was tried without success)
FAILED = {
    "a root of a negative number": (
        LEAF + "y = torch.sqrt(w - 3)\ny.backward()\n",
        "(w - 3).clamp(min=1e-12).sqrt() on line 3; but w.grad is 0 then",
    ),
    "a logarithm of 0": (
        LEAF + "y = (w - 2).log()\ny.backward()\n",
        "torch.log((w - 2).clamp(min=1e-8)) on line 3; but w.grad is 0 then",
    ),
}


@pytest.fixture
def ask(gt):
    """The first answer about a program, as plain data."""

    def answer(program, *names):
        result = gt("why", "-", *names, "--format", "json", input=program)
        assert result.exit_code in (0, 1), result.stderr
        return json.loads(result.stdout)["answers"][0]

    return answer


@pytest.mark.parametrize("case", TRIED)
def test_what_helps_is_tried(ask, case):
    program, name, helps, never = TRIED[case]
    answer = ask(program, *filter(None, [name]))
    assert any(helps in one for one in answer["tried"]), answer["advice"]
    assert all(never not in one for one in answer["advice"]), answer["advice"]
    assert answer["advice"][: len(answer["tried"])] == answer["tried"]


@pytest.mark.parametrize("case", FAILED)
def test_a_gradient_of_0_is_not_a_fix(ask, case):
    program, advice = FAILED[case]
    answer = ask(program)
    assert not answer["tried"] and advice in answer["advice"]


def test_the_masked_rows_are_0_as_advised(answer):
    program = MASKED.replace("float('-inf')", "-1e9").replace(
        "dim=1)", "dim=1).masked_fill(~keep, 0.)"
    )
    document = json.loads(
        answer("eval", "-", "--format", "json", "--output", "attention", input=program)
    )
    (rows,) = [row["value"] for row in document["tensors"] if row["name"] == "attention"]
    assert rows == [[0.5, 0.5, 0.0], [0.0, 0.0, 0.0]]


def test_what_cannot_be_tried_is_a_direction(answer):
    text = answer("why", "-", "a", input=LEAF + "a = w * 2\na.backward()\n")
    assert "Directions, not tried:\n  - call a.retain_grad()" in text and "To fix it" not in text


def test_backward_is_not_advised_on_what_does_not_require_grad(gt, ask):
    answer = ask(LEAF + "with torch.no_grad():\n    loss = w * 3\n", "w")
    assert "loss does not require grad" in answer["sentence"]
    assert not any("backward()" in one for one in answer["advice"])


def test_every_way_that_is_cut_is_said(ask):
    program = (
        LEAF
        + "v = torch.tensor(3., requires_grad=True)\nloss = w.detach() + w.item() * 3 + v\nloss.backward()\n"
    )
    assert (
        "only through detach() on line 4, and through item() on line 4"
        in ask(program, "w")["sentence"]
    )


def test_a_trial_prints_and_writes_nothing(gt, here):
    lines = (
        "import numpy as np\nfrom torch.utils.tensorboard import SummaryWriter\nprint('once')\n"
        "with SummaryWriter('out/runs') as log:\n    log.add_scalar('x', 1., 0)\nnp.save('out/w.npy', np.zeros(3))\n"
    )
    program = LEAF + lines + "y = torch.sqrt(w - 2)\ny.backward()\n"
    result = gt("why", "-", "--allow-write", "out", input=program)
    assert result.stderr.count("once") == 1
    assert "(tried: w.grad is finite then):\n  - torch.sqrt((w - 2) + 1e-12) on" in result.stdout
    written = sorted(
        path.name.partition(".")[0] for path in (here / "out").rglob("*") if path.is_file()
    )
    assert written == ["events", "w"]  # once each


@pytest.mark.slow
def test_a_long_run_is_not_repeated_for_long(gt):
    import time

    program = LEAF + "for i in range(60000):\n    y = torch.sqrt(w - 3)\ny.backward()\n"
    begin = time.monotonic()
    assert gt("why", "-", input=program).exit_code == 0
    once = time.monotonic()
    assert gt("eval", "-", input=program).exit_code == 0
    assert once - begin < 3 * (time.monotonic() - once) + 12


def test_a_record_of_pytorch_is_tried_on_this_engine(process, here):
    pytest.importorskip("torch")
    (here / "p.py").write_text(LEAF + "y = torch.sqrt(w - 2)\ny.backward()\n")
    result = process("why", "--engine", "torch", "p.py")
    assert (
        "To fix it (tried: w.grad is finite then):\n  - torch.sqrt((w - 2) + 1e-12) on line 3\n"
        in result.stdout
    )
