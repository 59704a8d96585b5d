"""`gradtrace diff` on pairs of PyTorch programs that are alike in a way which is not the cause: no false "equal", no
false alarm, and no reason that is not one.
"""

from typing import NamedTuple

import pytest

pytest.importorskip("torch")
from gradtrace.analysis.compare.reasons import settings_of
from gradtrace.trace.record import GroupRecord, OptimiserRecord


class Misleading(NamedTuple):
    """Two programs: B has `new` in place of `old`. `kind` is that of the first difference, "" if they are equal; the
    reason is `reason`, or begins with it if that ends with "...". `line` is a text in the line of the place in A.
    """

    a: str
    old: str
    new: str
    kind: str
    reason: str = ""
    line: str = ""


VECTOR = """import torch
torch.manual_seed(0)
x = torch.tensor([1.0, 2.0, 4.0])
w = torch.tensor([1.0, 5.0, 4.0], requires_grad=True)
h = (w * x).tanh()
loss = h.sum()
loss.backward()
"""
ROWS = """import torch
w = torch.tensor([1.0, 2.0, 4.0], requires_grad=True)
rows = torch.tensor([[1.0, 2.0, 3.0], [5.0, 1.0, 7.0], [0.5, 0.2, 9.0]])
h = torch.tanh(rows * w)
last = h[-1]
loss = last.sum()
loss.backward()
"""
DETACHED = """import torch
x = torch.tensor([1.0, 2.0, 4.0])
y = (x * 2).sin().detach()
"""
NORM = """import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4, momentum=0.1, track_running_stats=False))
x = torch.randn(5, 3)
loss = net(x).pow(3).sum()
loss.backward()
"""
CLIPPED = """import torch
torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(5, 3)
for step in range(2):
    opt.zero_grad()
    net(x).pow(2).sum().backward()
    opt.step()
opt.zero_grad()
net(x).pow(2).sum().backward()
torch.nn.utils.clip_grad_norm_(net.parameters(), 1e-3)
print(net.weight.grad)
"""
ONE_HOT = """import torch
w = torch.tensor([1.0, 2.0, 4.0], requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
for values in ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]):
    x = torch.tensor(values)
    loss = (w * x).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
EMBEDDED = """import torch
torch.manual_seed(0)
emb = torch.nn.Embedding(6, 4)
opt = torch.optim.Adam(emb.parameters(), lr=0.1)
ids = torch.tensor([0, 1, 2])
for step in range(3):
    opt.zero_grad()
    loss = emb(ids).pow(2).sum()
    loss.backward()
    opt.step()
"""
DECAYED = """import torch
torch.manual_seed(0)
net = torch.nn.Linear(3, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(5, 3)
for step in range(2):
    opt.zero_grad()
    net(x).pow(2).sum().backward()
    for p in net.parameters():
        p.grad.add_(p.detach(), alpha=0.1)
    opt.step()
"""
CLIPPED_ADAM = """import torch
torch.manual_seed(0)
net = torch.nn.Linear(3, 2)
opt = torch.optim.Adam(net.parameters(), lr=0.1)
x = torch.randn(5, 3)
net(x).pow(2).sum().backward()
torch.nn.utils.clip_grad_norm_(net.parameters(), 0.1)
opt.step()
"""
LAYERS = """import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2))
x = torch.randn(8, 4)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    opt.zero_grad()
    h = net(x)
    loss = h.softmax(0).pow(2).sum()
    loss.backward()
    opt.step()
"""
SCALED_GRADIENTS = """import torch
torch.manual_seed(0)
net = torch.nn.Linear(3, 2)
opt = torch.optim.Adam(net.parameters(), lr=0.1)
net(torch.randn(5, 3)).pow(2).sum().backward()
for p in net.parameters():
    p.grad.mul_(0.5)
opt.step()
"""
ORDERED = """import torch
torch.manual_seed(0)
net = torch.nn.Linear(4, 1)
data = torch.randn(6, 4)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for n in range(6):
    loss = net(data[n]).pow(2).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""

PAIRS = {
    "a constant that the loss does not depend on": Misleading(LAYERS, "net(x)", "net(x) + 3.0", ""),
    "a decay of a bias whose gradient is a rounding": Misleading(
        LAYERS, ".sum()", ".sum() + 1e-3 * net[2].bias.pow(2).sum()", "only"
    ),
    "one weight cast to another dtype": Misleading(
        LAYERS,
        "net(x)",
        "net[2](net[1](nn.functional.linear(x, net[0].weight.bfloat16().float(), net[0].bias)))",
        "only",
        "only B casts float32 to bfloat16 here",
    ),
    "another factor of gradients that Adam's first step hides": Misleading(
        SCALED_GRADIENTS, "mul_(0.5)", "mul_(0.25)", "forward", "0.5 in A, 0.25 in B"
    ),
    "a fixed order of rows is not a draw": Misleading(
        ORDERED, "range(6)", "reversed(range(6))", "forward", "index=0 in A, 5 in B"
    ),
    "another optimiser after the same edit": Misleading(
        SCALED_GRADIENTS, "Adam(", "AdamW(", "update", "Adam in A, AdamW in B..."
    ),
    "a fixed index is not a draw": Misleading(
        ROWS, "h[-1]", "h[0]", "forward", "index=-1 in A, 0 in B"
    ),
    "a fixed row of an input is not a draw": Misleading(
        ROWS, "h = torch.tanh(rows * w)\nlast = h[-1]", "last = torch.tanh(rows[0] * w)", "only"
    ),
    "a detached result is a result": Misleading(
        DETACHED, "x * 2", "x * 3", "forward", "2 in A, 3 in B"
    ),
    "a seed in a function that never runs": Misleading(
        VECTOR,
        "x = torch.tensor([1.0, 2.0, 4.0])",
        "def unused():\n    torch.manual_seed(1)\n    return torch.randn(3)\nx = torch.tensor([1.3, 2.0, 4.7])",
        "input",
    ),
    "a seed is not the reason of constants": Misleading(
        VECTOR,
        "torch.manual_seed(0)\nx = torch.tensor([1.0, 2.0, 4.0])",
        "torch.manual_seed(1)\nx = torch.tensor([1.3, 2.0, 4.7])",
        "input",
    ),
    "a dropout after the input": Misleading(
        VECTOR.replace("h.sum()", "torch.nn.functional.dropout(h, 0.2).sum()"),
        "x = torch.tensor([1.0, 2.0, 4.0])\nw = torch.tensor([1.0, 5.0, 4.0], requires_grad=True)\n"
        "h = (w * x).tanh()\nloss = torch.nn.functional.dropout(h, 0.2).sum()",
        "x = torch.tensor([1.3, 2.0, 4.7])\nw = torch.tensor([1.0, 5.0, 4.0], requires_grad=True)\n"
        "h = (w * x).tanh()\nloss = h.sum()",
        "input",
    ),
    "a momentum without running statistics": Misleading(NORM, "momentum=0.1", "momentum=0.3", ""),
    "a momentum of running statistics": Misleading(
        NORM.replace(", track_running_stats=False", ""),
        "momentum=0.1",
        "momentum=0.3",
        "forward",
        "momentum=0.1 in A, 0.3 in B",
    ),
    "a gradient clipped after the last step": Misleading(
        CLIPPED,
        "torch.nn.utils.clip_grad_norm_(net.parameters(), 1e-3)\n",
        "",
        "only",
        "only A clips the gradients...",
    ),
    "an input with the norm of a gradient": Misleading(
        ONE_HOT,
        "[0.0, 1.0, 0.0]",
        "[0.0, 0.0, 1.0]",
        "input",
        "the same numbers in another order",
        "(w * x)",
    ),
    "an unnamed input that equals a gradient": Misleading(
        ONE_HOT.replace("    x = torch.tensor(values)\n", "")
        .replace("(w * x)", "(w * torch.tensor(values))")
        .replace("[0.0, 1.0, 0.0]", "[1.0, 0.0, 0.0]"),
        "[1.0, 0.0, 0.0])",
        "[0.0, 0.0, 1.0])",
        "input",
        "the same numbers in another order",
        "(w * ",
    ),
    "rows that train in one run": Misleading(
        EMBEDDED, ".pow(2).sum()\n", ".pow(2).sum() + 1e-7 * emb.weight.pow(2).sum()\n", "update"
    ),
    "an optimiser's weight decay": Misleading(
        DECAYED,
        "lr=0.1)\nx = torch.randn(5, 3)\nfor step in range(2):\n    opt.zero_grad()\n"
        "    net(x).pow(2).sum().backward()\n    for p in net.parameters():\n"
        "        p.grad.add_(p.detach(), alpha=0.1)\n",
        "lr=0.1, weight_decay=0.1)\nx = torch.randn(5, 3)\nfor step in range(2):\n    opt.zero_grad()\n"
        "    net(x).pow(2).sum().backward()\n",
        "",
    ),
    "another weight decay of the optimiser": Misleading(
        DECAYED,
        "lr=0.1)\nx = torch.randn(5, 3)\nfor step in range(2):\n    opt.zero_grad()\n"
        "    net(x).pow(2).sum().backward()\n    for p in net.parameters():\n"
        "        p.grad.add_(p.detach(), alpha=0.1)\n",
        "lr=0.1, weight_decay=0.2)\nx = torch.randn(5, 3)\nfor step in range(2):\n    opt.zero_grad()\n"
        "    net(x).pow(2).sum().backward()\n",
        "only",
        "only A changes the gradient after backward...",
    ),
    "a clip that Adam's first step hides": Misleading(
        CLIPPED_ADAM,
        "torch.nn.utils.clip_grad_norm_(net.parameters(), 0.1)\n",
        "",
        "only",
        "only A clips the gradients...",
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_an_answer_is_true(verdict, name):
    pair = PAIRS[name]
    assert pair.old in pair.a
    code, found = verdict("torch", pair.a, pair.a.replace(pair.old, pair.new))
    first = found["first"]
    if not pair.kind:
        assert (code, found["verdict"], first) == (0, "equal", None)
        return
    assert (code, found["verdict"]) == (1, "differ")
    reason, is_begin, _ = pair.reason.partition("...")
    assert first["kind"] == pair.kind
    assert first["reason"].startswith(reason) if is_begin else first["reason"] == reason, first[
        "reason"
    ]
    assert pair.line in pair.a.splitlines()[first["a"]["line"] - 1]


def test_a_seed_is_the_reason_of_draws(verdict):
    first = "import torch\ntorch.manual_seed(0)\nx = torch.randn(3)\nw = torch.ones(3, requires_grad=True)\n"
    first += "(w * x).sum().backward()\n"
    _, found = verdict("torch", first, first.replace("seed(0)", "seed(1)"))
    assert found["first"]["kind"] == "random"
    assert "torch.manual_seed(0) (line 2) in A" in found["first"]["reason"]


def test_an_edited_gradient_differs_if_it_must_be_exact(verdict, gt):
    pair = PAIRS["an optimiser's weight decay"]
    assert verdict("torch", pair.a, pair.a.replace(pair.old, pair.new))[0] == 0
    assert gt("diff", "./a.gt", "./b.gt", "--exact").exit_code == 1


def test_a_group_without_options_has_those_of_its_optimiser():
    group = GroupRecord((), 0.1, ())
    optimiser = OptimiserRecord(
        "SGD", (), 0, 0.1, None, 0, 0, None, options=("momentum=0.9",), groups=(group,)
    )
    assert settings_of(optimiser, group) == {"momentum": "0.9"}
    assert settings_of(optimiser, group._replace(options=("momentum=0",))) == {"momentum": "0"}
