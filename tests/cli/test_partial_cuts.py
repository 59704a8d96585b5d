"""A gradient that is finite and lacks a path: `why` says where it was cut, without alarm where a cut is meant."""

import json

import pytest

HEAD = (
    "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\ntorch.manual_seed(0)\n"
)
LEAF = HEAD + "a = torch.tensor([1., 2.], requires_grad=True)\n"
NETS = HEAD + "net, head = nn.Linear(3, 3), nn.Linear(3, 3)\nx = torch.randn(4, 3)\n"

# id: (program, words of the sentence)
MISTAKES = {
    "a number by item()": (
        LEAF + "b = (a * 2).sum()\nloss = a.sum() + b.item() * a.mean()\nloss.backward()\n",
        "through b.item() on line 7 too, and no gradient comes back on that path: the gradient of a lacks it",
    ),
    "a number with a name": (
        LEAF + "k = float((a * 2).sum())\nloss = a.sum() + k * a.mean()\nloss.backward()\n",
        "through float((a * 2).sum()) on line 6 too",
    ),
    "a factor without history": (
        LEAF + "z = (a.detach() * a).sum()\nz.backward()\n",
        "mul on line 6 multiplies a by its own values without history (detach() on line 6)",
    ),
    "a number without a name": (
        NETS
        + "e = net(x).abs()\nloss = e.mean() + e.quantile(0.9).item() * e.sum()\nloss.backward()\n",
        "depends on e.quantile(0.9) through e.quantile(0.9).item() on line 8 too",
    ),
    "a factor by .data": (
        LEAF + "z = (a * a.data).sum()\nz.backward()\n",
        "by its own values without history (.data on",
    ),
}
MEANT = {
    "a target network": NETS
    + "with torch.no_grad():\n    target = head(x)\nF.mse_loss(net(x), target).backward()\n",
    "a bootstrapped target": NETS
    + "with torch.no_grad():\n    target = 1 + 0.9 * net(x).max(1).values\n"
    "((net(x)[:, 0] - target) ** 2).mean().backward()\n",
    "a metric": NETS
    + "loss = net(x).pow(2).mean()\nseen = loss.item() / 4\nprint(seen)\nloss.backward()\n",
    "a running mean": NETS
    + "total = 0.\nfor i in range(3):\n    loss = net(x).pow(2).mean()\n    loss.backward()\n"
    "    total = 0.9 * total + 0.1 * loss.item()\n",
    "an advantage": NETS
    + "v = head(x).mean(1)\nlogp = net(x).log_softmax(1)[:, 0]\nadvantage = 1 - v\n"
    "loss = -(logp * advantage.detach()).mean() + advantage.pow(2).mean()\nloss.backward()\n",
    "a shared trunk": NETS + "h = net(x)\nv, logp = head(h).mean(1), h.log_softmax(1)[:, 0]\n"
    "loss = -(logp * (1 - v.detach())).mean() + (1 - v).pow(2).mean()\nloss.backward()\n",
    "a straight-through estimator": NETS
    + "h = net(x)\nq = h.round()\ny = h + (q - h).detach()\ny.pow(2).mean().backward()\n",
    "a stop-gradient": NETS + "z1, z2 = net(x), net(x + 0.1)\np1, p2 = head(z1), head(z2)\n"
    "loss = -(F.cosine_similarity(p1, z2.detach()) + F.cosine_similarity(p2, z1.detach())).mean()\nloss.backward()\n",
    "truncated time": HEAD
    + "cell = nn.RNNCell(3, 3)\nx, h = torch.randn(6, 2, 3), torch.zeros(2, 3)\n"
    "for i in range(6):\n    h = cell(x[i], h)\n    if i % 2:\n"
    "        h.pow(2).mean().backward()\n        h = h.detach()\n",
    "a stable exponential": LEAF
    + "loss = (a - a.max().detach()).exp().sum().log()\nloss.backward()\n",
    "weights of losses": LEAF
    + "b = a.sum()\nc = a.pow(2).sum()\nloss = b + b.item() / c.item() * c\nloss.backward()\n",
    "a shift that cancels": LEAF
    + "m = a.max().item()\nloss = (a - m).exp().sum().log() + m\nloss.backward()\n",
    "a scale before a straight-through estimator": LEAF
    + "s = a.abs().max().item()\nq = (a.detach() / s).round() * s\n(a + (q - a).detach()).pow(2).sum().backward()\n",
    "a threshold": LEAF + "t = a.abs().mean().item()\na.clamp(0, t).sum().backward()\n",
    "a threshold in a comparison": NETS + "d = (net(x) - x).abs()\nc = 0.2 * d.max().item()\n"
    "loss = torch.where(d <= c, d, (d ** 2 + c ** 2) / (2 * c)).mean()\nloss.backward()\n",
    "a learned temperature": NETS
    + "log_alpha = nn.Parameter(torch.zeros(1))\nlogp = -net(x) ** 2\n"
    "alpha = log_alpha.exp().item()\nloss = (alpha * logp).mean() - (log_alpha * (logp - 1).detach()).mean()\n"
    "loss.backward()\n",
    "a moving average": NETS
    + "for i in range(2):\n    net.zero_grad()\n    F.mse_loss(net(x), head(x).detach()).backward()\n"
    "    with torch.no_grad():\n        for p, q in zip(head.parameters(), net.parameters()):\n"
    "            p.mul_(0.9).add_(q, alpha=0.1)\n",
}


@pytest.fixture
def ask(gt):
    """The answers about a program, as plain data."""

    def answers(program, *names):
        result = gt("why", "-", *names, "--format", "json", input=program)
        assert result.exit_code == 0, result.stderr
        return json.loads(result.stdout)["answers"]

    return answers


@pytest.mark.parametrize("case", MISTAKES)
def test_a_missing_path_is_said(ask, case):
    program, words = MISTAKES[case]
    first = ask(program)[0]
    assert first["cause"] == "partial cut" and words in first["sentence"], first
    assert not first["tried"] and first["advice"][0].startswith("leave it as it is"), first[
        "advice"
    ]


@pytest.mark.parametrize("case", MEANT)
def test_a_cut_that_is_meant_is_no_alarm(ask, case):
    assert all(one["cause"] != "partial cut" for one in ask(MEANT[case]))


def test_a_cut_that_is_meant_is_said_of_its_tensor(answer):
    text = answer(
        "why",
        "-",
        input=LEAF + "h = a * 2\nloss = (h + (h.round() - h).detach()).sum()\nloss.backward()\n",
    )
    assert (
        "a.grad is [2, 2], from backward on line 8; another path is cut by detach() on\n  line 7."
        in text
    )


def test_a_backward_without_parentheses_is_noticed(ask):
    first = ask(LEAF + "loss = a.sum()\nloss.backward\n")[0]
    assert first["cause"] == "not called"
    assert (
        first["sentence"] == "line 7 names loss.backward without parentheses, so it is not called."
    )
    assert first["tried"] == ["loss.backward() on line 7"]
    (named,) = ask(LEAF + "loss = a.sum()\nloss.backward\n", "a")
    assert (
        named["status"] == "none"
        and "line 7 names loss.backward without parentheses" in named["sentence"]
    )


def test_a_threshold_is_remarked_on_in_a_training(answer):
    loop = (
        "opt = torch.optim.SGD(net.parameters(), 0.01)\nfor i in range(2):\n    d = (net(x) - x).abs()\n"
        "    c = d.max().item()\n    loss = torch.where(d <= c / 5, d, d ** 2 + c).mean()\n"
        "    opt.zero_grad()\n    loss.backward()\n    opt.step()\n"
    )
    said = " ".join(answer("why", "-", input=NETS + loop).split())
    assert said.startswith("Checked: ")
    assert said.count("loss depends on d.max() through d.max().item() on line 10 too") == 1
