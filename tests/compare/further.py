"""Further pairs of PyTorch programs: rewrites that are right, and differences that are planted in a training."""

from typing import NamedTuple


class Pair(NamedTuple):
    """Two programs that differ in one place. `lines_a` and `lines_b` are texts of which the line of the place, or the
    one where its module or optimiser is made, holds one; the reason holds one of `words`, and its kind is `kind`, if
    they are given.
    """

    a: str
    b: str
    lines_a: str
    lines_b: str
    words: str = ""
    kind: str = ""


REWRITES: dict[str, tuple[str, str]] = {}
PLANTED: dict[str, Pair] = {}
HEAD = "import math\nimport torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n\n"

# ---------- rewrites
GPT_BODY = """
class Block(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.ln1 = nn.LayerNorm(d)
        self.q = nn.Linear(d, d)
        self.k = nn.Linear(d, d)
        self.v = nn.Linear(d, d)
        self.out = nn.Linear(d, d)
        self.ln2 = nn.LayerNorm(d)
        self.up = nn.Linear(d, 4 * d)
        self.down = nn.Linear(4 * d, d)

    def forward(self, x):
        b, t, d = x.shape
        h = self.ln1(x)
        q, k, v = (f(h).view(b, t, self.heads, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(a.transpose(1, 2).reshape(b, t, d))
        return x + self.down(F.gelu(self.up(self.ln2(x)), approximate="tanh"))


class GPT(nn.Module):
    def __init__(self, vocab, length, d, heads, layers):
        super().__init__()
        self.tok = nn.Embedding(vocab, d)
        self.pos = nn.Embedding(length, d)
        self.blocks = nn.ModuleList(Block(d, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(d)

    def forward(self, ids):
        x = self.tok(ids) + self.pos(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.norm(x) @ self.tok.weight.t()


net = GPT(67, 16, 24, 4, 2)
with torch.no_grad():
    net.tok.weight.copy_(ref.transformer.wte.weight)
    net.pos.weight.copy_(ref.transformer.wpe.weight)
    net.norm.load_state_dict(ref.transformer.ln_f.state_dict())
    for ours, theirs in zip(net.blocks, ref.transformer.h):
        ours.ln1.load_state_dict(theirs.ln_1.state_dict())
        ours.ln2.load_state_dict(theirs.ln_2.state_dict())
        for n, m in enumerate((ours.q, ours.k, ours.v)):
            m.weight.copy_(theirs.attn.c_attn.weight[:, 24 * n : 24 * n + 24].t())
            m.bias.copy_(theirs.attn.c_attn.bias[24 * n : 24 * n + 24])
        for m, c in ((ours.out, theirs.attn.c_proj), (ours.up, theirs.mlp.c_fc), (ours.down, theirs.mlp.c_proj)):
            m.weight.copy_(c.weight.t())
            m.bias.copy_(c.bias)
"""
GPT_HEAD = (
    HEAD
    + """from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
config = GPT2Config(vocab_size=67, n_positions=16, n_embd=24, n_layer=2, n_head=4, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
ref = GPT2LMHeadModel(config)
"""
)
GPT_TRAINING = """
torch.manual_seed(1)
data = torch.randint(0, 67, (3, 2, 16))
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
for ids in data:
    logits = FORWARD
    loss = F.cross_entropy(logits[:, :-1].reshape(-1, 67), ids[:, 1:].reshape(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
REWRITES["a ported GPT-2"] = (
    GPT_HEAD + "net = ref\n" + GPT_TRAINING.replace("FORWARD", "net(ids).logits"),
    GPT_HEAD + GPT_BODY + GPT_TRAINING.replace("FORWARD", "net(ids)"),
)
REWRITES["GPT-2 with either attention"] = (
    GPT_HEAD.replace("attn_pdrop=0.0", "attn_pdrop=0.0, attn_implementation='eager'")
    + "net = ref\n"
    + GPT_TRAINING.replace("FORWARD", "net(ids).logits"),
    GPT_HEAD + "net = ref\n" + GPT_TRAINING.replace("FORWARD", "net(ids).logits"),
)

PROJECTED = (
    HEAD
    + """
class Three(nn.Module):
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
        return self.out(F.scaled_dot_product_attention(q, k, v))

"""
)
TRAIN = """
torch.manual_seed(3)
xs = torch.randn(3, 4, 5, 16)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x in xs:
    loss = net(x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
REWRITES["three projections against one, by .data"] = (
    PROJECTED + "torch.manual_seed(0)\nnet = Three(16)\n" + TRAIN,
    PROJECTED
    + """
class One(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.qkv = nn.Linear(d, 3 * d)
        self.out = nn.Linear(d, d)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        w = (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])).softmax(-1)
        return self.out(w @ v)

torch.manual_seed(0)
old = Three(16)
net = One(16)
net.qkv.weight.data = torch.cat([old.q.weight, old.k.weight, old.v.weight]).detach()
net.qkv.bias.data = torch.cat([old.q.bias, old.k.bias, old.v.bias]).detach()
net.out.load_state_dict(old.out.state_dict())
"""
    + TRAIN,
)
REWRITES["three projections against one, by load_state_dict"] = (
    PROJECTED
    + "torch.manual_seed(0)\nold = Three(16)\nstate = old.state_dict()\nnet = Three(16)\nnet.load_state_dict(state)\n"
    + TRAIN,
    PROJECTED
    + """
class One(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.qkv = nn.Linear(d, 3 * d)
        self.out = nn.Linear(d, d)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        return self.out(F.scaled_dot_product_attention(q, k, v))

torch.manual_seed(0)
old = Three(16)
state = old.state_dict()
net = One(16)
net.load_state_dict({
    "qkv.weight": torch.cat([state["q.weight"], state["k.weight"], state["v.weight"]]),
    "qkv.bias": torch.cat([state["q.bias"], state["k.bias"], state["v.bias"]]),
    "out.weight": state["out.weight"], "out.bias": state["out.bias"],
})
"""
    + TRAIN,
)
REWRITES["a buffer against a constant"] = (
    HEAD
    + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(16, 16)
        self.register_buffer("mask", torch.tril(torch.ones(5, 5)))
        self.register_buffer("scale", torch.tensor(4.0))

    def forward(self, x):
        h = self.lin(x)
        s = h @ h.transpose(-1, -2) / self.scale
        return s.masked_fill(self.mask == 0, float("-inf")).softmax(-1) @ h

torch.manual_seed(0)
net = Net()
"""
    + TRAIN,
    HEAD
    + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(16, 16)

    def forward(self, x):
        h = self.lin(x)
        s = h @ h.transpose(-1, -2) / 4
        mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
        return s.masked_fill(~mask, float("-inf")).softmax(-1) @ h

torch.manual_seed(0)
net = Net()
"""
    + TRAIN,
)
REWRITES["tied weights against one tensor used twice"] = (
    HEAD
    + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(20, 16)
        self.mid = nn.Linear(16, 16)
        self.head = nn.Linear(16, 20, bias=False)
        self.head.weight = self.emb.weight

    def forward(self, ids):
        return self.head(self.mid(self.emb(ids)).relu())

torch.manual_seed(0)
net = Net()
torch.manual_seed(5)
opt = torch.optim.Adam(net.parameters(), lr=0.01)
for step in range(3):
    ids = torch.randint(0, 20, (4, 6))
    loss = F.cross_entropy(net(ids).view(-1, 20), ids.view(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    HEAD
    + """
torch.manual_seed(0)
emb = nn.Embedding(20, 16)
mid = nn.Linear(16, 16)
torch.manual_seed(5)
opt = torch.optim.Adam([emb.weight, *mid.parameters()], lr=0.01)
for step in range(3):
    ids = torch.randint(0, 20, (4, 6))
    h = torch.relu(mid(emb.weight[ids]))
    logits = h @ emb.weight.T
    loss = F.cross_entropy(logits.view(-1, 20), ids.view(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
)
CONVOLVED = (
    HEAD
    + """
torch.manual_seed(0)
conv = nn.Conv2d(3, 8, 3, padding=1)
head = nn.Linear(8, 2)
opt = torch.optim.SGD([*conv.parameters(), *head.parameters()], lr=0.1, momentum=0.9)
torch.manual_seed(1)
for step in range(3):
    x = torch.randn(4, 3, 8, 8)
    y = torch.randint(0, 2, (4,))
    h = CONV
    h = h.relu().mean((2, 3))
    loss = F.cross_entropy(head(h), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
)
REWRITES["a convolution by unfold"] = (
    CONVOLVED.replace("CONV", "conv(x)"),
    CONVOLVED.replace(
        "CONV",
        "(conv.weight.view(8, -1) @ F.unfold(x, 3, padding=1) + conv.bias[:, None]).view(4, 8, 8, 8)",
    ),
)
IMAGES = (
    HEAD
    + """
torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3, stride=2), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(72, 3))
A
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
torch.manual_seed(1)
for step in range(3):
    x = torch.randn(4, 3, 8, 8)
    y = torch.randint(0, 3, (4,))
    B
    loss = F.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
)
REWRITES["a network in channels_last"] = (
    IMAGES.replace("A\n", "\n", 1).replace("    B\n", ""),
    IMAGES.replace("A\n", "net = net.to(memory_format=torch.channels_last)\n", 1).replace(
        "B\n", "x = x.to(memory_format=torch.channels_last)\n"
    ),
)
OPTIMISED = (
    HEAD
    + """
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(16, 40), nn.GELU(), nn.LayerNorm(40), nn.Linear(40, 40), nn.GELU(), nn.Linear(40, 1))
opt = OPT
x = torch.randn(8, 16)
y = torch.randn(8, 1)
for step in range(4):
    loss = F.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
)
REWRITES["a fused AdamW"] = (
    OPTIMISED.replace("OPT", "torch.optim.AdamW(net.parameters(), lr=1e-2)"),
    OPTIMISED.replace("OPT", "torch.optim.AdamW(net.parameters(), lr=1e-2, fused=True)"),
)
REWRITES["a foreach SGD"] = (
    OPTIMISED.replace("OPT", "torch.optim.SGD(net.parameters(), lr=1e-2, momentum=0.9)"),
    OPTIMISED.replace(
        "OPT", "torch.optim.SGD(net.parameters(), lr=1e-2, momentum=0.9, foreach=True)"
    ),
)
REWRITES["a fused SGD"] = (
    OPTIMISED.replace("OPT", "torch.optim.SGD(net.parameters(), lr=1e-2, momentum=0.9)"),
    OPTIMISED.replace(
        "OPT", "torch.optim.SGD(net.parameters(), lr=1e-2, momentum=0.9, fused=True)"
    ),
)
REWRITES["a foreach Adam"] = (
    OPTIMISED.replace("OPT", "torch.optim.Adam(net.parameters(), lr=1e-2, foreach=False)"),
    OPTIMISED.replace("OPT", "torch.optim.Adam(net.parameters(), lr=1e-2, foreach=True)"),
)
REWRITES["a group for each parameter"] = (
    OPTIMISED.replace("OPT", "torch.optim.AdamW(net.parameters(), lr=1e-2)"),
    OPTIMISED.replace(
        "OPT",
        "torch.optim.AdamW([{'params': [p]} for p in reversed(list(net.parameters()))], lr=1e-2)",
    ),
)
LOADED = (
    HEAD
    + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
LAYERS

    def forward(self, x):
        h = self.first(x).tanh()
        return self.second(h) + self.skip(x)

state = torch.load("state.pt") if False else None
torch.manual_seed(7)
weights = {"first.weight": torch.randn(16, 16) / 4, "first.bias": torch.zeros(16), "second.weight": torch.randn(16, 16) / 4,
           "second.bias": torch.zeros(16), "skip.weight": torch.randn(16, 16) / 4, "skip.bias": torch.ones(16)}
torch.manual_seed(0)
net = Net()
net.load_state_dict(weights)
"""
    + TRAIN
)
LAYERS = [
    "        self.first = nn.Linear(16, 16)",
    "        self.second = nn.Linear(16, 16)",
    "        self.skip = nn.Linear(16, 16)",
]
REWRITES["modules made in another order"] = (
    LOADED.replace("LAYERS", "\n".join(LAYERS)),
    LOADED.replace("LAYERS", "\n".join(LAYERS[::-1])),
)
REWRITES["an initialisation that load_state_dict overwrites"] = (
    LOADED.replace("LAYERS", "\n".join(LAYERS)),
    LOADED.replace(
        "LAYERS",
        "\n".join(LAYERS)
        + "\n        for p in self.parameters():\n            if p.dim() > 1:\n                nn.init.xavier_uniform_(p)\n            else:\n                nn.init.normal_(p, std=0.02)",
    ),
)
REWRITES["an initialisation that copy_ overwrites"] = (
    HEAD
    + """
torch.manual_seed(3)
w, b = torch.randn(16, 16), torch.randn(16)
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(16, 16), nn.Tanh())
nn.init.orthogonal_(net[0].weight)
with torch.no_grad():
    net[0].weight.copy_(w)
    net[0].bias.copy_(b)
"""
    + TRAIN,
    HEAD
    + """
torch.manual_seed(3)
w, b = torch.randn(16, 16), torch.randn(16)
lin = nn.Linear(16, 16)
nn.init.kaiming_normal_(lin.weight)
nn.init.zeros_(lin.bias)
net = nn.Sequential(lin, nn.Tanh())
net[0].weight.data.copy_(w)
net[0].bias.data.copy_(b)
"""
    + TRAIN,
)
MIXED = (
    HEAD
    + """
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 1))
opt = torch.optim.SGD(net.parameters(), lr=1e-2)
x = torch.randn(32, 16)
y = torch.randn(32, 1)
for step in range(3):
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=ENABLED):
        out = net(x)
    loss = F.mse_loss(out.float(), y)
    opt.zero_grad()
    loss.backward()
    CLIP
    opt.step()
"""
)
REWRITES["autocast and SGD"] = (
    MIXED.replace("ENABLED", "False").replace("    CLIP\n", ""),
    MIXED.replace("ENABLED", "True").replace("    CLIP\n", ""),
)
REWRITES["autocast and clipped gradients"] = tuple(
    MIXED.replace("ENABLED", e).replace("CLIP", "nn.utils.clip_grad_norm_(net.parameters(), 1.0)")
    for e in ("False", "True")
)
REWRITES["autocast and AdamW"] = tuple(
    MIXED.replace("ENABLED", e).replace("    CLIP\n", "").replace("SGD", "AdamW")
    for e in ("False", "True")
)
LOGGED = (
    HEAD
    + """
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 3))
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 10)
xs, ys = torch.randn(4, 8, 16), torch.randint(0, 3, (4, 8))
for x, y in zip(xs, ys):
    out = net(x)
    loss = F.cross_entropy(out, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
"""
)
REWRITES["logged metrics"] = (
    LOGGED,
    LOGGED.replace(
        "    loss = F.cross_entropy(out, y)\n",
        "    loss = F.cross_entropy(out, y)\n    with torch.no_grad():\n        acc = (out.argmax(-1) == y).float().mean()\n        entropy = -(out.softmax(-1) * out.log_softmax(-1)).sum(-1).mean()\n",
    ).replace(
        "    opt.step()\n",
        "    gnorm = torch.stack([p.grad.norm() for p in net.parameters()]).norm()\n    wnorm = sum(p.detach().pow(2).sum() for p in net.parameters()).sqrt()\n    hist = [(p.grad * p).sum().item() for p in net.parameters()]\n    opt.step()\n    print(acc.item(), entropy.item(), gnorm.item(), wnorm.item())\n",
    ),
)
ROOTED = (
    HEAD
    + """
class RMS(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))

    def forward(self, x):
        return RMSFORM

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(16, 16), RMS(16), nn.Linear(16, 16), nn.SiLU(), RMS(16), nn.Linear(16, 4))
"""
    + TRAIN
)
REWRITES["rsqrt against a division"] = (
    ROOTED.replace(
        "RMSFORM", "self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))"
    ),
    ROOTED.replace(
        "RMSFORM", "x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt() * self.weight"
    ),
)
REWRITES["accumulation that is divided"] = (
    OPTIMISED.replace("OPT", "torch.optim.SGD(net.parameters(), lr=1e-2)"),
    OPTIMISED.replace("OPT", "torch.optim.SGD(net.parameters(), lr=1e-2)").replace(
        "    loss = F.mse_loss(net(x), y)\n    opt.zero_grad()\n    loss.backward()\n",
        "    opt.zero_grad()\n    for i in range(0, 8, 4):\n        loss = F.mse_loss(net(x[i : i + 4]), y[i : i + 4]) / 2\n        loss.backward()\n",
    ),
)
REWRITES["clipping by hand"] = (
    OPTIMISED.replace("OPT", "torch.optim.SGD(net.parameters(), lr=1e-2)").replace(
        "    opt.step()", "    nn.utils.clip_grad_norm_(net.parameters(), 0.5)\n    opt.step()"
    ),
    OPTIMISED.replace("OPT", "torch.optim.SGD(net.parameters(), lr=1e-2)").replace(
        "    opt.step()",
        "    total = torch.sqrt(sum(p.grad.pow(2).sum() for p in net.parameters()))\n    if total > 0.5:\n        for p in net.parameters():\n            p.grad.mul_(0.5 / total)\n    opt.step()",
    ),
)
CELLS = (
    HEAD
    + """
torch.manual_seed(0)
A
head = nn.Linear(12, 1)
opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
torch.manual_seed(2)
x = torch.randn(6, 3, 5)
for step in range(2):
    B
    loss = head(h).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
)
REWRITES["an LSTM by its cell"] = (
    CELLS.replace("A\n", "rnn = nn.LSTM(5, 12)\n", 1).replace(
        "B\n", "out, _ = rnn(x)\n    h = out[-1]\n"
    ),
    CELLS.replace("A\n", "rnn = nn.LSTMCell(5, 12)\n", 1).replace(
        "B\n",
        "h = c = torch.zeros(3, 12)\n    for t in range(6):\n        h, c = rnn(x[t], (h, c))\n",
    ),
)
REWRITES["clamped gradients"] = (
    OPTIMISED.replace("OPT", "torch.optim.SGD(net.parameters(), lr=1e-2)").replace(
        "    opt.step()",
        "    for p in net.parameters():\n        p.grad.clamp_(-0.01, 0.01)\n    opt.step()",
    ),
    OPTIMISED.replace("OPT", "torch.optim.SGD(net.parameters(), lr=1e-2)").replace(
        "    opt.step()", "    nn.utils.clip_grad_value_(net.parameters(), 0.01)\n    opt.step()"
    ),
)
NORMED = (
    HEAD
    + """
torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 4, 3), nn.BatchNorm2d(4))
OPTS
opt = torch.optim.AdamW(net.parameters(), lr=1e-2)
for step in range(3):
    x = torch.randn(4, 3, 8, 8)
    loss = (net(x).mean((2, 3)) - 1).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
)
REWRITES["a bias before BatchNorm"] = (
    NORMED.replace("OPTS\n", ""),
    NORMED.replace("OPTS\n", "").replace(
        "    x = torch.randn(4, 3, 8, 8)\n",
        "    x = torch.randn(4, 3, 8, 8).contiguous(memory_format=torch.channels_last)\n",
    ),
)
REWRITES["a checkpoint in a training"] = (
    OPTIMISED.replace("OPT", "torch.optim.Adam(net.parameters(), lr=1e-2)"),
    OPTIMISED.replace("OPT", "torch.optim.Adam(net.parameters(), lr=1e-2)")
    .replace(
        "net(x)", "net[3:](torch.utils.checkpoint.checkpoint(net[:3], x, use_reentrant=False))"
    )
    .replace("import math\n", "import math\nimport torch.utils.checkpoint\n"),
)


# ---------- planted: (a, b, wanted text in line of A, of B, word of the reason)
def plant(name, text, old, new, a, b, words="", kind=""):
    assert old in text, name
    assert words or kind, name
    PLANTED[name] = Pair(text, text.replace(old, new), a, b, words, kind)


TRAINED = (
    HEAD
    + """
class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.qkv = nn.Linear(d, 3 * d)
        self.out = nn.Linear(d, d)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        scores = q @ k.transpose(-1, -2)
        scores = scores / math.sqrt(q.shape[-1])
        weights = scores.softmax(-1)
        return self.out(weights @ v)


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm1 = nn.LayerNorm(d)
        self.att = Attention(d)
        self.norm2 = nn.LayerNorm(d)
        self.up = nn.Linear(d, 4 * d)
        self.act = nn.GELU()
        self.drop = nn.Dropout(0.1)
        self.down = nn.Linear(4 * d, d)

    def forward(self, x):
        x = x + self.att(self.norm1(x))
        h = self.act(self.up(self.norm2(x)))
        h = self.down(self.drop(h))
        return x + h


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block(16) for _ in range(3))
        self.bn = nn.BatchNorm1d(16)
        self.head = nn.Linear(16, 5)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        x = self.bn(x.mean(1))
        return self.head(x)


torch.manual_seed(0)
net = Net()
ema = [p.detach().clone() for p in net.parameters()]
opt = torch.optim.AdamW(net.parameters(), lr=1e-2, weight_decay=0.01)
sched = torch.optim.lr_scheduler.StepLR(opt, 2, gamma=0.5)
torch.manual_seed(1)
xs = torch.randn(4, 8, 6, 16)
ys = torch.randint(0, 5, (4, 8))
for x, y in zip(xs, ys):
    out = net(x)
    loss = F.cross_entropy(out, y)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 0.5)
    opt.step()
    sched.step()
    with torch.no_grad():
        for e, p in zip(ema, net.parameters()):
            e.mul_(0.9).add_(p, alpha=0.1)
"""
)
plant(
    "the eps of a LayerNorm",
    TRAINED,
    "self.norm2 = nn.LayerNorm(d)",
    "self.norm2 = nn.LayerNorm(d, eps=1e-3)",
    "self.norm2 = |self.norm2(x)",
    "self.norm2 = |self.norm2(x)",
    "eps",
)
plant(
    "the eps of AdamW",
    TRAINED,
    "weight_decay=0.01)",
    "weight_decay=0.01, eps=1e-3)",
    "opt = |opt.step",
    "opt = |opt.step",
    "eps=1e-08 in A, 0.001 in B",
)
plant(
    "the betas of AdamW",
    TRAINED,
    "weight_decay=0.01)",
    "weight_decay=0.01, betas=(0.9, 0.95))",
    "opt = |opt.step",
    "opt = |opt.step",
    "betas=(0.9, 0.999) in A, (0.9, 0.95) in B",
)
plant(
    "no weight decay",
    TRAINED,
    "weight_decay=0.01)",
    "weight_decay=0.0)",
    "opt = |opt.step",
    "opt = |opt.step",
    "weight_decay=0.01 in A, 0 in B",
)
plant(
    "the momentum of BatchNorm",
    TRAINED,
    "nn.BatchNorm1d(16)",
    "nn.BatchNorm1d(16, momentum=0.3)",
    "self.bn",
    "self.bn",
    "momentum",
)
plant(
    "label smoothing",
    TRAINED,
    "F.cross_entropy(out, y)",
    "F.cross_entropy(out, y, label_smoothing=0.1)",
    "F.cross_entropy",
    "F.cross_entropy",
    "label_smoothing",
)
plant(
    "a detached branch",
    TRAINED,
    "x = x + self.att(self.norm1(x))",
    "x = x + self.att(self.norm1(x.detach()))",
    "self.norm1(x)",
    ".detach()",
    "detach",
)
plant(
    "no residual",
    TRAINED,
    "return x + h",
    "return h",
    "return x + h",
    "self.down(self.drop(h))|return h",
    "",
    kind="only",
)
plant(
    "no clipping",
    TRAINED,
    "    nn.utils.clip_grad_norm_(net.parameters(), 0.5)\n",
    "",
    "clip_grad|opt.step",
    "opt.step|loss.backward",
    "clip",
)
plant(
    "another limit of clipping",
    TRAINED,
    "net.parameters(), 0.5)",
    "net.parameters(), 1.0)",
    "clip_grad",
    "clip_grad",
    "",
    kind="forward",
)
plant(
    "clipping before backward",
    TRAINED,
    "    loss.backward()\n    nn.utils.clip_grad_norm_(net.parameters(), 0.5)\n",
    "    nn.utils.clip_grad_norm_(net.parameters(), 0.5)\n    loss.backward()\n",
    "clip_grad|opt.step",
    "clip_grad|opt.step",
    "clip",
)
plant(
    "clipping after the update",
    TRAINED,
    "    nn.utils.clip_grad_norm_(net.parameters(), 0.5)\n    opt.step()\n",
    "    opt.step()\n    nn.utils.clip_grad_norm_(net.parameters(), 0.5)\n",
    "clip_grad|opt.step",
    "clip_grad|opt.step",
    "clip",
)
plant(
    "gradients that add up",
    TRAINED,
    "    opt.zero_grad()\n",
    "",
    "zero_grad|loss.backward|opt.step",
    "loss.backward|opt.step",
    "not cleared",
)
plant(
    "no scale of the scores",
    TRAINED,
    "        scores = scores / math.sqrt(q.shape[-1])\n",
    "",
    "math.sqrt",
    "softmax|q @ k",
    "B = A * 4",
)
plant(
    "the tanh form of gelu",
    TRAINED,
    "nn.GELU()",
    "nn.GELU(approximate='tanh')",
    "nn.GELU|self.act(",
    "nn.GELU|self.act(",
    "tanh",
)
plant(
    "the decay of an average of weights",
    TRAINED,
    "e.mul_(0.9).add_(p, alpha=0.1)",
    "e.mul_(0.99).add_(p, alpha=0.01)",
    "e.mul_",
    "e.mul_",
    "",
    kind="forward",
)
plant(
    "the p of Dropout",
    TRAINED,
    "nn.Dropout(0.1)",
    "nn.Dropout(0.2)",
    "nn.Dropout|self.drop(h)",
    "nn.Dropout|self.drop(h)",
    "p=0.1 in A, 0.2 in B",
)
plant(
    "the seed of the data",
    TRAINED,
    "torch.manual_seed(1)\n",
    "torch.manual_seed(2)\n",
    "manual_seed(1)|xs =",
    "manual_seed(2)|xs =",
    "seed",
)
plant(
    "the seed of the parameters",
    TRAINED,
    "torch.manual_seed(0)\n",
    "torch.manual_seed(4)\n",
    "manual_seed(0)|net = Net|nn.L",
    "manual_seed(4)|net = Net|nn.L",
    "seed",
)
plant(
    "an earlier draw",
    TRAINED,
    "for x, y in zip(xs, ys):\n",
    "noise = torch.rand(3)\nfor x, y in zip(xs, ys):\n",
    "self.drop(h)",
    "noise|self.drop(h)",
    "draw",
)
plant(
    "the gamma of a schedule",
    TRAINED,
    "gamma=0.5",
    "gamma=0.9",
    "sched|opt.step",
    "sched|opt.step",
    "lr",
)
plant(
    "no step of the schedule", TRAINED, "    sched.step()\n", "", "sched|opt.step", "opt.step", "lr"
)
plant(
    "a linear in bfloat16",
    TRAINED,
    "        return self.head(x)\n",
    "        return F.linear(x.bfloat16(), self.head.weight.bfloat16(), self.head.bias.bfloat16()).float()\n",
    "self.head(x)",
    "bfloat16",
    "bfloat16",
)
plant(
    "the learning rate",
    TRAINED,
    "lr=1e-2",
    "lr=1.1e-2",
    "opt = |opt.step",
    "opt = |opt.step",
    "lr=0.01 in A, 0.011 in B",
)
plant(
    "no decay of biases",
    TRAINED,
    "opt = torch.optim.AdamW(net.parameters(), lr=1e-2, weight_decay=0.01)",
    "opt = torch.optim.AdamW([{'params': [p for p in net.parameters() if p.dim() > 1], 'weight_decay': 0.01}, {'params': [p for p in net.parameters() if p.dim() < 2], 'weight_decay': 0.0}], lr=1e-2)",
    "opt = |opt.step",
    "opt = |opt.step",
    "weight_decay=0.01 in A, 0 in B",
)
plant(
    "BatchNorm in eval mode",
    TRAINED,
    "opt = torch.optim.AdamW",
    "net.bn.eval()\nopt = torch.optim.AdamW",
    "self.bn(",
    "self.bn(",
    "eval",
)
plant(
    "a block in eval mode",
    TRAINED,
    "opt = torch.optim.AdamW",
    "net.blocks[1].eval()\nopt = torch.optim.AdamW",
    "self.drop(h)",
    "self.drop(h)|self.down",
    "eval",
)
plant(
    "the reduction of the loss",
    TRAINED,
    "F.cross_entropy(out, y)",
    "F.cross_entropy(out, y, reduction='sum')",
    "F.cross_entropy",
    "F.cross_entropy",
    "sum",
)
plant(
    "a factor of the loss",
    TRAINED,
    "    loss.backward()\n",
    "    (loss * 2).backward()\n",
    "loss.backward|F.cross_entropy",
    "(loss * 2)",
    "* 2|A * 2",
)
plant(
    "a layer in no optimiser",
    TRAINED,
    "opt = torch.optim.AdamW(net.parameters()",
    "opt = torch.optim.AdamW([p for n, p in net.named_parameters() if 'head' not in n]",
    "opt = |opt.step",
    "opt = |opt.step",
    "optimi",
)
plant(
    "a frozen layer",
    TRAINED,
    "opt = torch.optim.AdamW(",
    "net.head.requires_grad_(False)\nopt = torch.optim.AdamW(",
    "self.head|opt",
    "requires_grad_|self.head|opt",
    "",
    kind="backward",
)
ACCUMULATED = (
    HEAD
    + """
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(8, 16), torch.randn(8, 1)
for step in range(3):
    opt.zero_grad()
    for i in range(0, 8, 4):
        loss = F.mse_loss(net(x[i : i + 4]), y[i : i + 4]) / 2
        loss.backward()
    opt.step()
"""
)
plant(
    "a micro-batch that is not divided",
    ACCUMULATED,
    " / 2\n",
    "\n",
    "/ 2",
    "F.mse_loss|loss.backward",
    "",
    kind="only",
)
PLANTED["micro-batches that are not divided"] = Pair(
    HEAD
    + """
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(8, 16), torch.randn(8, 1)
for step in range(3):
    opt.zero_grad()
    loss = F.mse_loss(net(x), y)
    loss.backward()
    opt.step()
""",
    ACCUMULATED.replace(" / 2\n", "\n"),
    "F.mse_loss|loss.backward",
    "F.mse_loss|loss.backward",
    "2",
)
plant(
    "the momentum of SGD",
    IMAGES.replace("A\n", "\n", 1).replace("    B\n", ""),
    "momentum=0.9",
    "momentum=0.95",
    "opt = |opt.step",
    "opt = |opt.step",
    "momentum=0.9 in A, 0.95 in B",
)
plant(
    "the momentum of a BatchNorm in Sequential",
    NORMED.replace("OPTS\n", "") + "net.eval()\nout = net(x)\n",
    "nn.BatchNorm2d(4)",
    "nn.BatchNorm2d(4, momentum=0.01)",
    "BatchNorm2d(4)",
    "momentum=0.01",
    "momentum",
)
plant(
    "targets in another order",
    TRAINED,
    "ys = torch.randint(0, 5, (4, 8))\n",
    "ys = torch.randint(0, 5, (4, 8))\nys = ys.flip(1)\n",
    "ys = |in zip(xs, ys)",
    "flip",
    "order",
)
plant(
    "normalised inputs",
    TRAINED,
    "    out = net(x)\n",
    "    x = (x - x.mean()) / x.std()\n    out = net(x)\n",
    "xs|net(x)|norm1",
    "x.std|x.mean",
    "",
    kind="only",
)
plant(
    "another activation",
    TRAINED,
    "self.act = nn.GELU()",
    "self.act = nn.SiLU()",
    "self.act",
    "self.act",
    "",
    kind="forward",
)
plant(
    "a norm after the attention",
    TRAINED,
    "x = x + self.att(self.norm1(x))",
    "x = self.norm1(x + self.att(x))",
    "norm1",
    "norm1",
    "",
    kind="forward",
)
plant(
    "weights of classes",
    TRAINED,
    "F.cross_entropy(out, y)",
    "F.cross_entropy(out, y, weight=torch.tensor([1.0, 2, 1, 1, 1]))",
    "F.cross_entropy",
    "F.cross_entropy",
    "only B gives a further tensor",
)


FUNCTION = """import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class ResBlock(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.conv1 = nn.Conv2d(ch, ch, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(ch)
        self.conv2 = nn.Conv2d(ch, ch, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(ch)

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return F.relu(x + y)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.layers = nn.Sequential(ResBlock(8), ResBlock(8))
        self.drop = nn.Dropout(0.2)
        self.fc = nn.Linear(8, 4)

    def forward(self, x):
        x = self.layers(self.stem(x))
        x = x.mean(dim=(2, 3))
        return self.fc(self.drop(x))


def train(model, loader, optimizer, scheduler):
    for epoch in range(2):
        model.train()
        for images, labels in loader:
            optimizer.zero_grad()
            logits = model(images)
            loss = F.cross_entropy(logits, labels)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        scheduler.step()


def main():
    torch.manual_seed(0)
    model = Net()
    images = torch.randn(16, 3, 8, 8)
    labels = torch.randint(0, 4, (16,))
    loader = DataLoader(TensorDataset(images, labels), batch_size=8, shuffle=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
    train(model, loader, optimizer, scheduler)


if __name__ == "__main__":
    main()
"""


def rewrite(name, *edits, base=FUNCTION):
    text = base
    for old, new in edits:
        assert old in text, (name, old)
        text = text.replace(old, new)
    REWRITES[name] = (base, text)


rewrite(
    "logging in a training function",
    (
        "            loss.backward()\n",
        "            loss.backward()\n            gn = sum(p.grad.norm() ** 2 for p in model.parameters()) ** 0.5\n            print(epoch, loss.item(), gn.item(), (logits.argmax(1) == labels).float().mean().item())\n",
    ),
)
rewrite("foreach in a training function", ("weight_decay=1e-4", "weight_decay=1e-4, foreach=True"))
rewrite(
    "functions for modules",
    ("F.relu(x + y)", "torch.clamp(x + y, min=0)"),
    ("x.mean(dim=(2, 3))", "F.adaptive_avg_pool2d(x, 1).flatten(1)"),
)
rewrite(
    "nll_loss of log_softmax",
    ("F.cross_entropy(logits, labels)", "F.nll_loss(F.log_softmax(logits, dim=1), labels)"),
)
rewrite(
    "clipping without foreach",
    (
        "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)",
        "torch.nn.utils.clip_grad_norm_([p for p in model.parameters() if p.requires_grad], max_norm=1.0, foreach=False)",
    ),
)
rewrite(
    "channels_last in a training function",
    ("    model = Net()\n", "    model = Net().to(memory_format=torch.channels_last)\n"),
    ("logits = model(images)", "logits = model(images.to(memory_format=torch.channels_last))"),
)
rewrite(
    "a schedule as a function",
    ("StepLR(optimizer, 1, gamma=0.5)", "LambdaLR(optimizer, lambda e: 0.5**e)"),
)
rewrite(
    "gradients set to zero", ("optimizer.zero_grad()", "optimizer.zero_grad(set_to_none=False)")
)
rewrite(
    "weight decay by hand",
    ("momentum=0.9, weight_decay=1e-4)", "momentum=0.9)"),
    ("            torch.nn.utils.clip", "            torch.nn.utils.clip"),
    (
        "            optimizer.step()\n",
        "            for p in model.parameters():\n                p.grad.add_(p.detach(), alpha=1e-4)\n            optimizer.step()\n",
    ),
)
rewrite(
    "autocast in a training function",
    (
        "            logits = model(images)\n",
        "            with torch.autocast('cpu', dtype=torch.bfloat16):\n                logits = model(images)\n            logits = logits.float()\n",
    ),
)
rewrite(
    "an evaluation after each epoch",
    (
        "        scheduler.step()\n",
        "        scheduler.step()\n        model.eval()\n        with torch.no_grad():\n            acc = (model(images).argmax(1) == labels).float().mean()\n        print('acc', acc)\n",
    ),
)
# a GRU by hand, a VAE in two ways
RECURRENT = (
    HEAD
    + """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(6, 10, batch_first=True)
        self.out = nn.Linear(10, 1)

    def forward(self, x):
        h, _ = self.gru(x)
        return self.out(h[:, -1])

torch.manual_seed(1)
model = Model()
opt = torch.optim.RMSprop(model.parameters(), lr=1e-2)
x, y = torch.randn(5, 4, 6), torch.randn(5, 1)
for _ in range(3):
    loss = ((model(x) - y) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
)
rewrite(
    "a GRU by hand",
    (
        "        h, _ = self.gru(x)\n        return self.out(h[:, -1])\n",
        """        g = self.gru
        h = torch.zeros(x.shape[0], 10)
        for t in range(x.shape[1]):
            ri, zi, ni = F.linear(x[:, t], g.weight_ih_l0, g.bias_ih_l0).chunk(3, 1)
            rh, zh, nh = F.linear(h, g.weight_hh_l0, g.bias_hh_l0).chunk(3, 1)
            r, z = torch.sigmoid(ri + rh), torch.sigmoid(zi + zh)
            n = torch.tanh(ni + r * nh)
            h = (1 - z) * n + z * h
        return self.out(h)
""",
    ),
    base=RECURRENT,
)
rewrite(
    "MultiheadAttention by hand",
    (
        "        self.gru = nn.GRU(6, 10, batch_first=True)\n",
        "        self.att = nn.MultiheadAttention(6, 2, batch_first=True)\n",
    ),
    ("        self.out = nn.Linear(10, 1)", "        self.out = nn.Linear(6, 1)"),
    ("        h, _ = self.gru(x)\n", "        h, _ = self.att(x, x, x, need_weights=False)\n"),
    base=RECURRENT,
)
ATTENDED = REWRITES["MultiheadAttention by hand"][1]
REWRITES["MultiheadAttention by hand"] = (
    ATTENDED,
    ATTENDED.replace(
        "        h, _ = self.att(x, x, x, need_weights=False)\n",
        """        a = self.att
        q, k, v = F.linear(x, a.in_proj_weight, a.in_proj_bias).chunk(3, -1)
        q, k, v = (t.reshape(5, 4, 2, 3).transpose(1, 2) for t in (q, k, v))
        w = (q @ k.mT * 3**-0.5).softmax(-1)
        h = a.out_proj((w @ v).transpose(1, 2).reshape(5, 4, 6))
""",
    ),
)
VARIATIONAL = (
    HEAD
    + """
torch.manual_seed(2)
enc = nn.Linear(8, 6)
dec = nn.Linear(3, 8)
params = [*enc.parameters(), *dec.parameters()]
opt = torch.optim.Adam(params, lr=1e-2)
x = torch.rand(7, 8)
for step in range(3):
    mu, logvar = enc(x).chunk(2, 1)
    z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)
    rec = dec(z)
    bce = F.binary_cross_entropy_with_logits(rec, x, reduction="sum")
    kl = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    loss = (bce + kl) / 7
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
)
rewrite(
    "a VAE in other words",
    (
        "    z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)\n",
        "    std = logvar.mul(0.5).exp()\n    eps = torch.randn(7, 3)\n    z = eps.mul(std).add(mu)\n",
    ),
    (
        '    bce = F.binary_cross_entropy_with_logits(rec, x, reduction="sum")\n',
        "    p = torch.sigmoid(rec)\n    bce = -(x * torch.log(p) + (1 - x) * torch.log(1 - p)).sum()\n",
    ),
    (
        "    kl = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())\n",
        "    kl = 0.5 * (mu**2 + logvar.exp() - 1 - logvar).sum()\n",
    ),
    base=VARIATIONAL,
)
DECAYED = (
    HEAD
    + """
torch.manual_seed(3)
a = nn.Linear(6, 6)
b = nn.Linear(6, 2)
x, y = torch.randn(4, 6), torch.randn(4, 2)
opt = torch.optim.AdamW([*a.parameters(), *b.parameters()], lr=1e-2, weight_decay=0.1)
for i in range(3):
    h = torch.tanh(a(x))
    loss = F.mse_loss(b(h), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
)
rewrite(
    "a transposed Parameter",
    (
        "a = nn.Linear(6, 6)\n",
        "a = nn.Linear(6, 6)\nw = nn.Parameter(a.weight.detach().t().clone())\nc = nn.Parameter(a.bias.detach().clone())\n",
    ),
    ("[*a.parameters(), *b.parameters()]", "[w, c, *b.parameters()]"),
    ("torch.tanh(a(x))", "torch.tanh(x @ w + c)"),
    base=DECAYED,
)
rewrite(
    "a Parameter in two halves",
    (
        "b = nn.Linear(6, 2)\n",
        "b = nn.Linear(6, 2)\nw1, w2 = (nn.Parameter(t.clone()) for t in a.weight.detach().split(3))\n",
    ),
    ("[*a.parameters(), *b.parameters()]", "[w1, w2, a.bias, *b.parameters()]"),
    ("torch.tanh(a(x))", "torch.tanh(F.linear(x, torch.cat([w1, w2]), a.bias))"),
    base=DECAYED,
)

plant(
    "the rate in a training function",
    FUNCTION,
    "lr=0.1",
    "lr=0.2",
    "optimizer",
    "optimizer",
    "lr=0.1 in A, 0.2 in B",
)
plant(
    "nesterov",
    FUNCTION,
    "momentum=0.9,",
    "momentum=0.9, nesterov=True,",
    "optimizer",
    "optimizer",
    "nesterov",
)
plant(
    "no schedule in a training function",
    FUNCTION,
    "scheduler.step()",
    "pass",
    "scheduler|optimizer",
    "optimizer",
    "lr=",
)
plant(
    "a DataLoader that shuffles",
    FUNCTION,
    "shuffle=True",
    "shuffle=False",
    "loader|model(images)|self.stem",
    "loader|model(images)|self.stem",
    "",
    kind="random",
)
plant(
    "the p of Dropout before a head",
    FUNCTION,
    "self.drop = nn.Dropout(0.2)",
    "self.drop = nn.Dropout(0.25)",
    "self.drop",
    "self.drop",
    "p=0.2 in A, 0.25 in B",
)
plant(
    "relu before BatchNorm",
    FUNCTION,
    "y = F.relu(self.bn1(self.conv1(x)))",
    "y = self.bn1(F.relu(self.conv1(x)))",
    "self.bn1",
    "self.bn1",
    "",
    kind="only",
)
plant(
    "a convolution without bias",
    FUNCTION,
    "self.conv2 = nn.Conv2d(ch, ch, 3, padding=1)",
    "self.conv2 = nn.Conv2d(ch, ch, 3, padding=1, bias=False)",
    "self.conv2",
    "self.conv2",
    "bias",
)
plant(
    "another pooling",
    FUNCTION,
    "x.mean(dim=(2, 3))",
    "x.amax(dim=(2, 3))",
    "x.mean",
    "x.amax",
    "",
    kind="forward",
)
plant(
    "clipping by value",
    FUNCTION,
    "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)",
    "torch.nn.utils.clip_grad_value_(model.parameters(), 1.0)",
    "clip_grad_norm_",
    "clip_grad_value_",
    "",
    kind="backward",
)
plant(
    "no zero_grad in a training function",
    FUNCTION,
    "            optimizer.zero_grad()\n            logits",
    "            logits",
    "zero_grad|backward",
    "backward",
    "not cleared",
)
plant(
    "zero_grad before the update",
    FUNCTION,
    "            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n",
    "            optimizer.zero_grad()\n            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n",
    "step|clip|backward",
    "zero_grad",
    "",
    kind="update",
)
plant(
    "an initialisation of the head",
    FUNCTION,
    "    images = torch.randn",
    "    nn.init.kaiming_normal_(model.fc.weight)\n    images = torch.randn",
    "self.fc|self.fc =",
    "kaiming|self.fc",
    "",
    kind="parameter",
)
plant(
    "the eps of a BatchNorm",
    FUNCTION,
    "self.bn2 = nn.BatchNorm2d(ch)",
    "self.bn2 = nn.BatchNorm2d(ch, eps=1e-2)",
    "self.bn2",
    "self.bn2",
    "eps",
)
plant(
    "the momentum of a BatchNorm in a function",
    FUNCTION,
    "self.bn2 = nn.BatchNorm2d(ch)",
    "self.bn2 = nn.BatchNorm2d(ch, momentum=0.5)",
    "self.bn2",
    "self.bn2",
    "momentum",
)
plant(
    "a detached state",
    RECURRENT,
    "h, _ = self.gru(x)",
    "h, _ = self.gru(x)\n        h = h.detach()",
    "self.out(h|self.gru(x)",
    "h.detach()",
    "detach",
)
plant(
    "the alpha of RMSprop",
    RECURRENT,
    "lr=1e-2)",
    "lr=1e-2, alpha=0.9)",
    "opt",
    "opt",
    "alpha=0.99 in A, 0.9 in B",
)
plant("the eps of RMSprop", RECURRENT, "lr=1e-2)", "lr=1e-2, eps=1e-4)", "opt", "opt", "eps")
plant(
    "a factor of a term",
    VARIATIONAL,
    "loss = (bce + kl) / 7",
    "loss = (bce + 4 * kl) / 7",
    "kl",
    "4 * kl",
    "",
    kind="only",
)
plant(
    "a missing half",
    VARIATIONAL,
    "torch.exp(0.5 * logvar)",
    "torch.exp(logvar)",
    "torch.exp",
    "torch.exp",
    "",
    kind="only",
)
plant(
    "a seed in each step",
    VARIATIONAL,
    "for step in range(3):\n",
    "for step in range(3):\n    torch.manual_seed(step)\n",
    "randn_like",
    "randn_like",
    "manual_seed",
)
plant(
    "inputs rounded to half",
    VARIATIONAL,
    "x = torch.rand(7, 8)",
    "x = torch.rand(7, 8).half().float()",
    "x = |enc(x)",
    "half",
    "",
    kind="only",
)
plant(
    "a result rounded to bfloat16",
    DECAYED,
    "    loss = F.mse_loss(b(h), y)",
    "    loss = F.mse_loss(b(h).bfloat16().float(), y)",
    "b(h)|mse",
    "bfloat16",
    "bfloat16",
)
plant(
    "a layer in bfloat16",
    DECAYED.replace("a(x)", "a(x.to(a.weight.dtype)).float()"),
    "a = nn.Linear(6, 6)\n",
    "a = nn.Linear(6, 6).bfloat16()\n",
    "a = |a(x)",
    "a = |a(x",
    "bfloat16",
)
plant(
    "Adam for AdamW",
    DECAYED,
    "torch.optim.AdamW",
    "torch.optim.Adam",
    "opt",
    "opt",
    "AdamW in A, Adam in B",
)
plant(
    "another loss",
    DECAYED,
    "F.mse_loss(b(h), y)",
    "F.l1_loss(b(h), y)",
    "mse_loss",
    "l1_loss",
    "",
    kind="forward",
)
plant(
    "backward twice",
    DECAYED,
    "    loss.backward()\n",
    "    loss.backward(retain_graph=True)\n    loss.backward()\n",
    "loss.backward|mse",
    "loss.backward|mse",
    "2",
)
plant(
    "weights clamped after the update",
    DECAYED,
    "    opt.step()\n",
    "    opt.step()\n    b.weight.data.clamp_(-0.3, 0.3)\n",
    "opt.step|b(h)",
    "clamp_",
    "",
    kind="only",
)
VIT = (
    HEAD
    + """
class Enc(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.norm1 = nn.LayerNorm(d)
        self.attn = nn.MultiheadAttention(d, h, batch_first=True)
        self.norm2 = nn.LayerNorm(d)
        self.mlp = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))

    def forward(self, x):
        h = self.norm1(x)
        x = x + self.attn(h, h, h, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class ViT(nn.Module):
    def __init__(self, d=16, h=2):
        super().__init__()
        self.patch = nn.Conv2d(3, d, 4, stride=4)
        self.cls = nn.Parameter(torch.zeros(1, 1, d))
        self.pos = nn.Parameter(torch.randn(1, 5, d) * 0.02)
        self.blocks = nn.ModuleList(Enc(d, h) for _ in range(2))
        self.norm = nn.LayerNorm(d)
        self.head = nn.Linear(d, 3)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(x.shape[0], -1, -1), x], 1) + self.pos
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x[:, 0]))


torch.manual_seed(0)
net = ViT()
opt = torch.optim.AdamW(net.parameters(), lr=1e-3, weight_decay=0.05)
torch.manual_seed(1)
for step in range(2):
    x = torch.randn(4, 3, 8, 8)
    y = torch.randint(0, 3, (4,))
    loss = F.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
)
TIMM = VIT.replace(
    "net = ViT()\n",
    """src = ViT()


class Attn(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.qkv = nn.Linear(d, 3 * d)
        self.proj = nn.Linear(d, d)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, self.h, d // self.h).permute(2, 0, 3, 1, 4).unbind(0)
        w = (q * (d // self.h) ** -0.5) @ k.transpose(-2, -1)
        return self.proj((w.softmax(-1) @ v).transpose(1, 2).reshape(b, n, d))


class Block(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.ln_a = nn.LayerNorm(d)
        self.attention = Attn(d, h)
        self.ln_b = nn.LayerNorm(d)
        self.fc1 = nn.Linear(d, 2 * d)
        self.fc2 = nn.Linear(2 * d, d)

    def forward(self, x):
        x = x + self.attention(self.ln_a(x))
        return x + self.fc2(F.gelu(self.fc1(self.ln_b(x))))


class Timm(nn.Module):
    def __init__(self, d=16, h=2):
        super().__init__()
        self.cls_token = nn.Parameter(torch.zeros(1, 1, d))
        self.pos_embed = nn.Parameter(torch.zeros(1, 5, d))
        self.embed = nn.Linear(48, d)
        self.layers = nn.Sequential(*[Block(d, h) for _ in range(2)])
        self.fc_norm = nn.LayerNorm(d)
        self.classifier = nn.Linear(d, 3)

    def forward(self, x):
        x = F.unfold(x, 4, stride=4).transpose(1, 2)
        x = self.embed(x)
        x = torch.cat((self.cls_token.repeat(x.shape[0], 1, 1), x), dim=1)
        x = self.layers(x + self.pos_embed)
        return self.classifier(self.fc_norm(x)[:, 0])


net = Timm()
s = src.state_dict()
new = {"cls_token": s["cls"], "pos_embed": s["pos"], "embed.weight": s["patch.weight"].flatten(1), "embed.bias": s["patch.bias"],
       "fc_norm.weight": s["norm.weight"], "fc_norm.bias": s["norm.bias"], "classifier.weight": s["head.weight"], "classifier.bias": s["head.bias"]}
for i in range(2):
    o, n = f"blocks.{i}.", f"layers.{i}."
    for a, b in (("norm1", "ln_a"), ("norm2", "ln_b"), ("mlp.0", "fc1"), ("mlp.2", "fc2"), ("attn.out_proj", "attention.proj")):
        for w in ("weight", "bias"):
            new[f"{n}{b}.{w}"] = s[f"{o}{a}.{w}"]
    new[n + "attention.qkv.weight"], new[n + "attention.qkv.bias"] = s[o + "attn.in_proj_weight"], s[o + "attn.in_proj_bias"]
net.load_state_dict(new)
""",
)
REWRITES["a ported ViT"] = (VIT, TIMM)
rewrite(
    "two groups of AdamW",
    (
        "opt = torch.optim.AdamW(net.parameters(), lr=1e-3, weight_decay=0.05)",
        "opt = torch.optim.AdamW([{'params': [p for p in net.parameters() if p.ndim > 1]}, {'params': [p for p in net.parameters() if p.ndim <= 1]}], lr=1e-3, weight_decay=0.05)",
    ),
    base=VIT,
)
rewrite(
    "positions added before cat",
    (
        "torch.cat([self.cls.expand(x.shape[0], -1, -1), x], 1) + self.pos",
        "torch.cat([self.cls.expand(len(x), -1, -1) + self.pos[:, :1], x + self.pos[:, 1:]], 1)",
    ),
    base=VIT,
)
rewrite(
    "a ViT under autocast",
    (
        "    loss = F.cross_entropy(net(x), y)\n",
        "    with torch.autocast('cpu', torch.bfloat16):\n        out = net(x)\n    loss = F.cross_entropy(out.float(), y)\n",
    ),
    base=VIT,
)
rewrite(
    "other names of modules",
    ("self.gru", "self.rnn"),
    ("self.out", "self.readout"),
    ("model", "net"),
    base=RECURRENT,
)
rewrite(
    "terms in another order",
    ("    bce =", "    kl = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())\n    bce ="),
    ("    kl = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())\n    loss", "    loss"),
    base=VARIATIONAL,
)
rewrite(
    "a step with a closure",
    ("    loss.backward()\n    opt.step()\n", "    loss.backward()\n    opt.step(lambda: loss)\n"),
    base=DECAYED,
)
rewrite(
    "gradients by autograd.grad",
    (
        "    loss.backward()\n",
        "    ps = [*a.parameters(), *b.parameters()]\n    for p, g in zip(ps, torch.autograd.grad(loss, ps)):\n        p.grad = g\n",
    ),
    base=DECAYED,
)
rewrite(
    "a Sequential",
    (
        "a = nn.Linear(6, 6)\nb = nn.Linear(6, 2)\n",
        "a = nn.Linear(6, 6)\nb = nn.Linear(6, 2)\nnet = nn.Sequential(a, nn.Tanh(), b)\n",
    ),
    (
        "    h = torch.tanh(a(x))\n    loss = F.mse_loss(b(h), y)\n",
        "    loss = F.mse_loss(net(x), y)\n",
    ),
    ("[*a.parameters(), *b.parameters()]", "net.parameters()"),
    base=DECAYED,
)
rewrite(
    "an average of weights added",
    ("for i in range(3):\n", "import copy\navg = copy.deepcopy(b)\nfor i in range(3):\n"),
    (
        "    opt.step()\n",
        "    opt.step()\n    with torch.no_grad():\n        for p, q in zip(avg.parameters(), b.parameters()):\n            p.lerp_(q, 0.1)\n",
    ),
    base=DECAYED,
)
rewrite("a print added", ("import math\n", "import math\n\nprint(1)\n"), base=DECAYED)
rewrite("drop_last", ("batch_size=8, shuffle=True", "batch_size=8, shuffle=True, drop_last=True"))
rewrite(
    "a block with in-place operations",
    (
        "        y = F.relu(self.bn1(self.conv1(x)))\n        y = self.bn2(self.conv2(y))\n        return F.relu(x + y)\n",
        "        out = self.conv1(x)\n        out = self.bn1(out)\n        out = out.relu()\n        out = self.conv2(out)\n        out = self.bn2(out)\n        out += x\n        return out.relu_()\n",
    ),
)
rewrite(
    "relu in place",
    ("F.relu(self.bn1(self.conv1(x)))", "F.relu(self.bn1(self.conv1(x)), inplace=True)"),
)
AVERAGED = DECAYED.replace(
    "for i in range(3):\n", "import copy\navg = copy.deepcopy(b)\nfor i in range(3):\n"
).replace(
    "    opt.step()\n",
    "    opt.step()\n    with torch.no_grad():\n        for p, q in zip(avg.parameters(), b.parameters()):\n            p.copy_(0.9 * p + 0.1 * q)\n",
)
plant(
    "the decay of a copied model",
    AVERAGED,
    "0.9 * p + 0.1 * q",
    "0.99 * p + 0.01 * q",
    "p.copy_",
    "p.copy_",
    "0.9",
)
plant(
    "an average of clamped weights",
    AVERAGED,
    "0.9 * p + 0.1 * q",
    "0.9 * p + 0.1 * q.detach().clamp(-0.2, 0.2)",
    "p.copy_",
    "clamp",
    "",
    kind="only",
)
plant(
    "a factor of a norm",
    VIT,
    "self.norm1(x)\n",
    "self.norm1(x) * 0.5\n",
    "self.norm1|self.attn",
    "* 0.5",
    "",
    kind="only",
)
plant("no positions", VIT, " + self.pos\n", "\n", "self.pos", "torch.cat", "", kind="only")
plant(
    "another pooling of tokens",
    VIT,
    "x[:, 0]",
    "x.mean(1)",
    "x[:, 0]",
    "x.mean(1)",
    "",
    kind="forward",
)
plant(
    "values without a norm",
    VIT,
    "h, h, h, need_weights=False",
    "h, h, x, need_weights=False",
    "self.attn",
    "self.attn",
    "",
    kind="forward",
)
plant(
    "the weight decay of a ViT",
    VIT,
    "weight_decay=0.05",
    "weight_decay=0.5",
    "opt",
    "opt",
    "weight_decay=0.05 in A, 0.5 in B",
)
plant(
    "frozen positions",
    VIT,
    "opt = ",
    "net.pos.requires_grad = False\nopt = ",
    "self.pos|opt",
    "requires_grad = False",
    "",
    kind="backward",
)
plant(
    "a detached residual",
    VIT,
    "x = x + self.attn(h, h, h, need_weights=False)[0]",
    "x = x.detach() + self.attn(h, h, h, need_weights=False)[0]",
    "x + self.attn|self.norm1",
    "x.detach()",
    "detach",
)
plant(
    "normalised gradients",
    RECURRENT,
    "    opt.zero_grad()\n    loss.backward()\n",
    "    opt.zero_grad()\n    loss.backward()\n    for p in model.parameters():\n        p.grad /= p.grad.norm() + 1e-6\n",
    "opt.step|backward",
    "p.grad /=",
    "",
    kind="only",
)
plant(
    "another time step",
    RECURRENT,
    "h[:, -1]",
    "h[:, 0]",
    "h[:, -1]|self.out",
    "h[:, 0]|self.out",
    "",
    kind="forward",
)
plant(
    "a rate that is set in the loop",
    RECURRENT,
    "for _ in range(3):\n",
    "for _ in range(3):\n    if _ == 2:\n        opt.param_groups[0]['lr'] = 1e-3\n",
    "opt",
    "opt|lr",
    "lr=0.01 in A, 0.001 in B",
)
plant(
    "a detached term",
    VARIATIONAL,
    "bce + kl",
    "bce + kl.detach()",
    "bce + kl|kl =",
    "kl.detach",
    "detach",
)
plant(
    "the reduction of a term",
    VARIATIONAL,
    ', reduction="sum"',
    ', reduction="mean"',
    "binary_cross",
    "binary_cross",
    "sum in A, mean in B",
)
plant(
    "no Dropout",
    FUNCTION,
    "self.fc(self.drop(x))",
    "self.fc(x)",
    "self.drop(x)",
    "self.fc(x)",
    "",
    kind="random",
)
plant(
    "another dilation",
    FUNCTION,
    "self.conv1 = nn.Conv2d(ch, ch, 3, padding=1)",
    "self.conv1 = nn.Conv2d(ch, ch, 3, padding=2, dilation=2)",
    "self.conv1",
    "self.conv1",
    "dilation",
)
plant(
    "a leaky relu",
    FUNCTION,
    "return F.relu(x + y)",
    "return F.leaky_relu(x + y)",
    "F.relu(x + y)",
    "F.leaky_relu",
    "",
    kind="forward",
)
plant(
    "another limit in a training function",
    FUNCTION,
    "model.parameters(), 1.0",
    "model.parameters(), 0.1",
    "clip_grad",
    "clip_grad",
    " in A, ",
)
plant(
    "clipping of the head alone",
    FUNCTION,
    "clip_grad_norm_(model.parameters(), 1.0",
    "clip_grad_norm_(model.fc.parameters(), 1.0",
    "clip_grad",
    "clip_grad",
    "",
    kind="forward",
)
plant(
    "label smoothing in a training function",
    FUNCTION,
    "F.cross_entropy(logits, labels)",
    "F.cross_entropy(logits, labels, label_smoothing=0.2)",
    "F.cross",
    "F.cross",
    "label_smoothing",
)
plant(
    "scaled images",
    FUNCTION,
    "logits = model(images)",
    "logits = model(images * 0.5)",
    "model(images)|self.stem",
    "images * 0.5",
    "",
    kind="only",
)
plant(
    "two steps in an iteration",
    FUNCTION,
    "            optimizer.step()\n",
    "            optimizer.step()\n            optimizer.step()\n",
    "optimizer.step",
    "optimizer.step",
    "",
    kind="update",
)
plant(
    "the weight decay in a training function",
    FUNCTION,
    "weight_decay=1e-4",
    "weight_decay=1e-2",
    "optim",
    "optim",
    "weight_decay",
)
plant(
    "a call before the training",
    FUNCTION,
    "    train(model,",
    "    model(images)\n    train(model,",
    "in loader",
    "in loader",
    "only B draws with dropout",
)
