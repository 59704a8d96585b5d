"""Pairs of programs that compute the same in two ways: `gradtrace diff` finds them equal within the tolerance."""

HEAD = """import math
import torch
import torch.nn.functional as F
from torch import nn
torch.manual_seed(0)
"""

SEQUENTIAL = """net = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 3))
x = torch.randn(5, 6)
"""

ATTENTION = """x = torch.randn(2, 5, 8)
wq, wk, wv = [torch.randn(8, 8, requires_grad=True) for _ in range(3)]
q = x @ wq.t()
k = x @ wk.t()
v = x @ wv.t()
"""

NORM = """x = torch.randn(4, 6)
w = torch.randn(6, requires_grad=True)
b = torch.randn(6, requires_grad=True)
lead = nn.Linear(6, 6)
h = lead(x)
"""

LSTM = """cell = nn.LSTMCell(4, 3)
x = torch.randn(5, 2, 4)
h, c = torch.zeros(2, 3), torch.zeros(2, 3)
"""

TRAIN = """net = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2))
x, y = torch.randn(8, 4), torch.randn(8, 2)
"""

BATCH = """net = nn.Linear(4, 3)
x, y = torch.randn(6, 4), torch.randn(6, 3)
"""

# name: (what both begin with, the first way, the second way)
REWRITES = {
    "sequential against functional": (
        SEQUENTIAL,
        "loss = net(x).pow(2).mean()\nloss.backward()\n",
        "h = torch.tanh(F.linear(x, net[0].weight, net[0].bias))\n"
        "h = torch.relu(F.linear(h, net[2].weight, net[2].bias))\n"
        "loss = F.linear(h, net[4].weight, net[4].bias).pow(2).mean()\nloss.backward()\n",
    ),
    "linear against a product": (
        SEQUENTIAL,
        "loss = net(x).sum()\nloss.backward()\n",
        "h = net[1](x @ net[0].weight.t() + net[0].bias)\n"
        "h = net[3](h @ net[2].weight.t() + net[2].bias)\n"
        "loss = (h @ net[4].weight.t() + net[4].bias).sum()\nloss.backward()\n",
    ),
    "one product for queries, keys and values": (
        ATTENTION.partition("q =")[0],
        "q, k, v = (x @ wq.t()), (x @ wk.t()), (x @ wv.t())\n"
        "loss = (torch.softmax(q @ k.transpose(1, 2) / math.sqrt(8), -1) @ v).pow(2).sum()\nloss.backward()\n",
        "q, k, v = (x @ torch.cat([wq, wk, wv]).t()).chunk(3, dim=-1)\n"
        "loss = (torch.softmax(q @ k.transpose(1, 2) / math.sqrt(8), -1) @ v).pow(2).sum()\nloss.backward()\n",
    ),
    "attention by hand": (
        ATTENTION,
        "loss = F.scaled_dot_product_attention(q, k, v).pow(2).sum()\nloss.backward()\n",
        "scores = q @ k.transpose(-2, -1) / math.sqrt(8)\n"
        "loss = (scores.softmax(-1) @ v).pow(2).sum()\nloss.backward()\n",
    ),
    "layer_norm by hand": (
        NORM,
        "out = F.layer_norm(h, (6,), w, b)\nloss = out.sin().sum()\nloss.backward()\n",
        "mean = h.mean(-1, keepdim=True)\nvar = ((h - mean) ** 2).mean(-1, keepdim=True)\n"
        "out = (h - mean) / torch.sqrt(var + 1e-5) * w + b\nloss = out.sin().sum()\nloss.backward()\n",
    ),
    "an LSTM cell by hand": (
        LSTM,
        "for t in range(5):\n    h, c = cell(x[t], (h, c))\nloss = h.sum() + c.pow(2).sum()\nloss.backward()\n",
        "for t in range(5):\n"
        "    gates = F.linear(x[t], cell.weight_ih, cell.bias_ih) + F.linear(h, cell.weight_hh, cell.bias_hh)\n"
        "    i, f, g, o = gates.chunk(4, 1)\n"
        "    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)\n    h = torch.sigmoid(o) * torch.tanh(c)\n"
        "loss = h.sum() + c.pow(2).sum()\nloss.backward()\n",
    ),
    "cross_entropy by hand": (
        SEQUENTIAL + "y = torch.tensor([0, 2, 1, 1, 0])\n",
        "loss = F.cross_entropy(net(x), y)\nloss.backward()\n",
        "scores = net(x)\nlogs = scores - torch.logsumexp(scores, 1, keepdim=True)\n"
        "loss = -logs[torch.arange(5), y].mean()\nloss.backward()\n",
    ),
    "Adam by hand": (
        TRAIN,
        "opt = torch.optim.Adam(net.parameters(), lr=0.01)\nfor step in range(3):\n"
        "    loss = (net(x) - y).pow(2).mean()\n    opt.zero_grad()\n    loss.backward()\n    opt.step()\n",
        "params = list(net.parameters())\nm = [torch.zeros_like(p) for p in params]\n"
        "s = [torch.zeros_like(p) for p in params]\nfor step in range(3):\n"
        "    loss = (net(x) - y).pow(2).mean()\n    for p in params:\n        p.grad = None\n    loss.backward()\n"
        "    with torch.no_grad():\n        for k in range(len(params)):\n"
        "            g = params[k].grad\n            m[k] = 0.9 * m[k] + 0.1 * g\n"
        "            s[k] = 0.999 * s[k] + 0.001 * g * g\n"
        "            rate = 0.01 / (1 - 0.9 ** (step + 1))\n"
        "            params[k] -= rate * m[k] / ((s[k] / (1 - 0.999 ** (step + 1))).sqrt() + 1e-8)\n",
    ),
    "a loop against a batch": (
        BATCH,
        "loss = F.mse_loss(torch.tanh(net(x)), y)\nloss.backward()\n",
        "loss = 0.0\nfor i in range(6):\n    loss = loss + (torch.tanh(net(x[i])) - y[i]).pow(2).mean()\n"
        "loss = loss / 6\nloss.backward()\n",
    ),
    "checkpointing": (
        SEQUENTIAL + "from torch.utils.checkpoint import checkpoint\n",
        "loss = net(x).exp().mean()\nloss.backward()\n",
        "h = checkpoint(net[:3], x, use_reentrant=False)\nloss = net[3:](h).exp().mean()\nloss.backward()\n",
    ),
    "accumulation over micro-batches": (
        TRAIN,
        "opt = torch.optim.SGD(net.parameters(), lr=0.1)\nfor step in range(2):\n"
        "    loss = (net(x) - y).pow(2).mean()\n    opt.zero_grad()\n    loss.backward()\n    opt.step()\n",
        "opt = torch.optim.SGD(net.parameters(), lr=0.1)\nfor step in range(2):\n    opt.zero_grad()\n"
        "    for k in range(2):\n        part = slice(4 * k, 4 * k + 4)\n"
        "        loss = (net(x[part]) - y[part]).pow(2).mean() / 2\n        loss.backward()\n    opt.step()\n",
    ),
    "reordered statements": (
        ATTENTION.partition("q =")[0],
        "q = x @ wq\nk = x @ wk\nv = x @ wv\nloss = (q * k).sum() + v.tanh().sum()\nloss.backward()\n",
        "v = x @ wv\nlast = v.tanh().sum()\nk = x @ wk\nq = x @ wq\nloss = (q * k).sum() + last\nloss.backward()\n",
    ),
    "inserted logging": (
        TRAIN,
        "opt = torch.optim.SGD(net.parameters(), lr=0.1)\nfor step in range(3):\n    out = net(x)\n"
        "    loss = (out - y).pow(2).mean()\n    opt.zero_grad()\n    loss.backward()\n    opt.step()\n",
        "opt = torch.optim.SGD(net.parameters(), lr=0.1)\nfor step in range(3):\n    out = net(x)\n"
        "    spread = out.detach().std()\n    loss = (out - y).pow(2).mean()\n    size = loss.detach().sqrt() * 2\n"
        "    opt.zero_grad()\n    loss.backward()\n    norms = [p.grad.norm() for p in net.parameters()]\n"
        "    opt.step()\n",
    ),
    "other names and a function": (
        SEQUENTIAL,
        "loss = net(x).pow(2).mean()\nloss.backward()\n",
        "model = net\ndef forward(inputs):\n    hidden = inputs\n"
        "    for layer in model:\n        hidden = layer(hidden)\n"
        "    return hidden\nout = forward(x)\nerror = (out * out).sum() / out.numel()\nerror.backward()\n",
    ),
    "a product of two sums": (
        "x = torch.tensor(2.0, requires_grad=True)\nw = torch.tensor(3.0, requires_grad=True)\n",
        "y = (x + w) * (w + 1)\ny.backward()\n",
        "y = x * w + x + w * w + w\ny.backward()\n",
    ),
    "batch_norm by hand": (
        SEQUENTIAL,
        "bn = nn.BatchNorm1d(3)\nloss = bn(net(x)).sin().sum()\nloss.backward()\n",
        "bn = nn.BatchNorm1d(3)\nh = net(x)\nmean = h.mean(0)\nvar = h.var(0, unbiased=False)\n"
        "out = bn.weight * (h - mean) / torch.sqrt(var + bn.eps) + bn.bias\nloss = out.sin().sum()\nloss.backward()\n",
    ),
    "einsum against matmul": (
        ATTENTION,
        "loss = torch.matmul(q, k.transpose(1, 2)).tanh().sum() + v.sum()\nloss.backward()\n",
        "loss = torch.einsum('bid,bjd->bij', q, k).tanh().sum() + v.sum()\nloss.backward()\n",
    ),
    "a convolution as a product": (
        "x = torch.randn(2, 3, 6, 6)\nconv = nn.Conv2d(3, 4, 3, padding=1)\n",
        "loss = conv(x).relu().mean()\nloss.backward()\n",
        "columns = F.unfold(x, 3, padding=1)\nout = conv.weight.reshape(4, -1) @ columns + conv.bias.reshape(4, 1)\n"
        "loss = out.reshape(2, 4, 6, 6).relu().mean()\nloss.backward()\n",
    ),
}
