"""Pairs of programs that differ in one planted place, deep in a stack. The place is marked with `# HERE` in each."""

from typing import NamedTuple

from tests.compare.rewrites import HEAD

STACK = """class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q = nn.Linear(d, d)
        self.k = nn.Linear(d, d)
        self.v = nn.Linear(d, d)
        self.out = nn.Linear(d, d)
    def forward(self, x):
        q = self.q(x)
        k = self.k(x)
        v = self.v(x)
        scores = q @ k.transpose(-2, -1)
        scores = scores / math.sqrt(8)
        weights = torch.softmax(scores, -1)
        mixed = weights @ v
        return self.out(mixed)
class Block(nn.Module):
    def __init__(self, d, deep):
        super().__init__()
        self.deep = deep
        self.first = nn.LayerNorm(d)
        self.attention = Attention(d)
        self.second = nn.LayerNorm(d)
        self.up = nn.Linear(d, 2 * d)
        self.down = nn.Linear(2 * d, d)
        self.drop = nn.Dropout(0.1)
    def forward(self, x):
        h = self.first(x)
        x = x + self.attention(h)
        h = self.second(x)
        h = self.up(h)
        h = torch.tanh(h)
        h = self.down(h)
        h = self.drop(h)
        return x + h
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(8, deep) for deep in range(4)])
        self.norm = nn.BatchNorm1d(8)
        self.head = nn.Linear(8, 3)
    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        x = x.mean(1)
        x = self.norm(x)
        return self.head(x)
net = Net()
xs = torch.randn(3, 4, 5, 8)
ys = torch.randint(0, 3, (3, 4))
SETUP
opt = torch.optim.Adam(net.parameters(), lr=0.01)
for step in range(2):
    x = xs[step]
    y = ys[step]
    out = net(x)
    loss = F.cross_entropy(out, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


class Planted(NamedTuple):
    """The lines of A that are replaced in B, each by its new text; what is expected; the text of A for both to begin
    with. `lines` are where it may point: texts of lines of A and of B.
    """

    old: str
    new: str
    kind: tuple[str, ...]
    a: tuple[str, ...]  # a line of A that is the place holds one of these
    b: tuple[str, ...]
    words: str = ""
    setup: str = ""


FORWARD, ONLY = ("forward",), ("only", "forward")
PLANTED = {
    "another eps in one block": Planted(
        "SETUP",
        "net.blocks[2].second.eps = 1e-3",
        FORWARD,
        ("self.second(x)",),
        ("self.second(x)",),
        "eps=1e-05 in A, 0.001 in B",
    ),
    "BatchNorm in eval": Planted(
        "SETUP",
        "net.norm.eval()",
        FORWARD,
        ("self.norm(x)",),
        ("self.norm(x)",),
        "training in A, eval in B",
    ),
    "one Dropout in eval": Planted(
        "SETUP",
        "net.blocks[1].drop.eval()",
        ("random", "forward"),
        ("self.drop(h)",),
        ("self.drop(h)", "x + h"),
        "eval in B|train against eval",
    ),
    "another draw of Dropout": Planted(
        "SETUP",
        "torch.manual_seed(5)",
        ("random",),
        ("self.drop(h)",),
        ("self.drop(h)",),
        "another draw",
    ),
    "another probability of Dropout": Planted(
        "SETUP",
        "net.blocks[1].drop.p = 0.6",
        ("random", "forward"),
        ("self.drop(h)",),
        ("self.drop(h)",),
    ),
    "a forgotten transpose": Planted(
        "q = self.q(x)",
        "q = self.q(x) if x.shape[1] != 5 or not TURN else F.linear(x, self.q.weight.t(), self.q.bias)",
        FORWARD + ONLY,
        ("self.q(x)",),
        ("self.q(x)",),
        "",
    ),
    "a missing scale": Planted(
        "scores = scores / math.sqrt(8)",
        "scores = scores",
        ONLY,
        ("math.sqrt",),
        ("torch.softmax",),
        "B = A * 2.82843",
    ),
    "another scale": Planted(
        "math.sqrt(8)",
        "8",
        FORWARD,
        ("math.sqrt",),
        ("scores / 8",),
        "B = A * 0.353553|in A, 8 in B",
    ),
    "a mask": Planted(
        "weights = torch.softmax(scores, -1)",
        "weights = torch.softmax(scores.masked_fill(torch.ones(5, 5).triu(1) > 0, -1e9), -1)",
        ONLY,
        ("torch.softmax",),
        ("masked_fill",),
    ),
    "softmax over another dim": Planted(
        "torch.softmax(scores, -1)",
        "torch.softmax(scores, -2)",
        FORWARD,
        ("torch.softmax",),
        ("torch.softmax",),
        "dim=",
    ),
    "the weights not normalised": Planted(
        "weights = torch.softmax(scores, -1)",
        "weights = torch.exp(scores)",
        ONLY,
        ("torch.softmax",),
        ("torch.exp",),
    ),
    "a dtype cast": Planted(
        "h = torch.tanh(h)",
        "h = torch.tanh(h.half().float())",
        ONLY,
        ("torch.tanh",),
        (".half()",),
        "",
    ),
    "another activation": Planted(
        "h = torch.tanh(h)", "h = torch.sigmoid(h)", ONLY, ("torch.tanh",), ("torch.sigmoid",)
    ),
    "a sign": Planted("return x + h", "return x - h", FORWARD + ONLY, ("x + h",), ("x - h",)),
    "a parameter that was not loaded": Planted(
        "SETUP",
        "with torch.no_grad():\n    net.blocks[2].up.weight.mul_(0).add_(torch.ones(16, 8) * 0.1)",
        ("parameter", "only"),
        ("self.up(h)",),
        ("self.up(h)", ".mul_(0)"),
    ),
    "another initialisation": Planted(
        "SETUP",
        "nn.init.eye_(net.blocks[3].attention.v.weight)",
        ("parameter", "only"),
        ("self.v(x)",),
        ("self.v(x)", "eye_"),
    ),
    "a weight transposed at loading": Planted(
        "SETUP",
        "k = net.blocks[1].attention.k\nwith torch.no_grad():\n    k.weight.copy_(k.weight.t().clone())",
        ("parameter", "only"),
        ("self.k(x)",),
        ("self.k(x)", "copy_"),
        "the transposed of A",
    ),
    "another order of the data": Planted(
        "SETUP",
        "xs = torch.stack([xs[0], xs[1].flip(0), xs[2]])",
        ("input", "forward", "only"),
        ("xs[step]", "net(x)", "self.first(x)"),
        ("xs[step]", "net(x)", "flip", "self.first(x)"),
        "",
    ),
    "detach in one branch": Planted(
        "x = x + self.attention(h)",
        "x = x + self.attention(h.detach())",
        ("backward",),
        ("self.attention(h)", "self.first(x)", "self.q(x)", "self.v(x)"),
        ("self.attention(h.detach())",),
        "detach",
    ),
    "a custom backward": Planted(
        "h = torch.tanh(h)",
        "h = Scaled.apply(h)",
        ("backward", "only"),
        ("torch.tanh",),
        ("Scaled.apply",),
        "",
    ),
    "weight decay": Planted(
        "lr=0.01", "lr=0.01, weight_decay=0.1", ("update",), ("opt.step()",), ("opt.step()",), ""
    ),
    "another learning rate": Planted(
        "lr=0.01",
        "lr=0.02",
        ("update",),
        ("opt.step()",),
        ("opt.step()",),
        "lr=0.01 in A, 0.02 in B",
    ),
    "other betas": Planted(
        "lr=0.01", "lr=0.01, betas=(0.5, 0.999)", ("update",), ("opt.step()",), ("opt.step()",), ""
    ),
    "another optimiser": Planted(
        "torch.optim.Adam",
        "torch.optim.SGD",
        ("update",),
        ("opt.step()",),
        ("opt.step()",),
        "Adam in A, SGD in B",
    ),
    "gradients not cleared": Planted(
        "    opt.zero_grad()\n", "", ("backward",), ("",), ("",), "not cleared"
    ),
    "clipped gradients": Planted(
        "    loss.backward()\n",
        "    loss.backward()\n    nn.utils.clip_grad_norm_(net.parameters(), 0.01)\n",
        ("only",),
        ("opt.step()",),
        ("clip_grad_norm_",),
        "only B clips the gradients before the update, to a norm of 0.01",
    ),
    "a residual left out": Planted(
        "return x + h", "return h if self.deep == 2 else x + h", ONLY, ("x + h",), ("",), ""
    ),
    "another reduction": Planted(
        "F.cross_entropy(out, y)",
        "F.cross_entropy(out, y, reduction='sum')",
        FORWARD,
        ("F.cross_entropy",),
        ("F.cross_entropy",),
        "",
    ),
    "label smoothing": Planted(
        "F.cross_entropy(out, y)",
        "F.cross_entropy(out, y, label_smoothing=0.1)",
        FORWARD + ONLY,
        ("F.cross_entropy",),
        ("F.cross_entropy",),
        "",
    ),
    "a mean over another dim": Planted(
        "x = x.mean(1)", "x = x.amax(1)", ONLY, ("x.mean(1)",), ("x.amax(1)",)
    ),
}
EXTRA = {
    "a custom backward": (
        "class Scaled(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
        "        out = torch.tanh(x)\n"
        "        ctx.save_for_backward(out)\n        return out\n    @staticmethod\n    def backward(ctx, g):\n"
        "        (out,) = ctx.saved_tensors\n        return g * (1 - out)\n"
    ),
    "a forgotten transpose": "TURN = True\n",
}


def programs(name):
    """Return the two programs of a planted difference."""
    planted = PLANTED[name]
    first = HEAD + EXTRA.get(name, "") + STACK
    second = first.replace(planted.old, planted.new)
    assert first != second, name
    return first.replace("SETUP\n", ""), second.replace("SETUP\n", "")
