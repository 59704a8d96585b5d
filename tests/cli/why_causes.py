"""Causes that `why` names without a name, for `test_causes`: each in a small program, with a neighbour that is right.

id: (program, cause, its line, words of the sentence, words of the advice, what to replace in it to make it right, by what)
"""

TORCH = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\ntorch.manual_seed(0)\n"  # lines 1 to 4
NET = (
    TORCH + "net = nn.Linear(2, 1)\n"
    "opt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
    "x, y = torch.randn(6, 2), torch.randn(6, 1)\n"
)  # what follows is from line 8 on
STEP = "    opt.zero_grad()\n    loss.backward()\n    opt.step()\n"
LOOP = "for i in range(4):\n    loss = ((net(x) - y) ** 2).mean()\n" + STEP

CAUSES = {
    "steps uphill": (
        TORCH + "x, y = torch.randn(6, 2), torch.randn(6)\nw = torch.zeros(2, requires_grad=True)\n"
        "for i in range(9):\n    loss = ((x @ w - y) ** 2).mean()\n    loss.backward()\n"
        "    with torch.no_grad():\n        w += 0.5 * w.grad\n    w.grad = None\n",
        "ascent", 11, "line 11 adds the gradient to w", "w -= 0.5 * w.grad", "w += ", "w -= ",
    ),
    # ---- order
    "nan in a row of the data": (
        TORCH + "x = torch.tensor([[1., 2.],\n                  [3., float('nan')]])\n"
        "net = nn.Linear(2, 1)\nloss = net(x).sum()\nloss.backward()\n",
        "nan in data", 6, "row 1 of x already holds nan on line 6", "x[~torch.isnan(x).any(1)]", "float('nan')", "4.",
    ),
    "nan written into the data": (
        TORCH + "x = torch.ones(4, 2)\nx[2] = float('nan')\nnet = nn.Linear(2, 1)\nnet(x).sum().backward()\n",
        "nan in data", 6, "line 6 writes nan into x", "torch.isnan(x)", "float('nan')", "5.",
    ),
    "0 / 0": (
        NET + "x = torch.ones(6, 2)\nx = (x - x.mean(0)) / x.std(0)\n" + LOOP,
        "0 / 0", 9, "div on line 9 divides 0 by x.std(0)", "x.std(0) + 1e-8", "/ x.std(0)", "/ (x.std(0) + 1e-8)",
    ),
    "0 * inf": (
        TORCH + "w = torch.ones(3, requires_grad=True)\nmask = torch.tensor([1., 0., 1.])\n"
        "bias = (1 - mask) * float('-inf')\nloss = (w + bias).softmax(0)[0]\nloss.backward()\n",
        "0 * inf", 7, "multiplies 0 by -inf", "masked_fill",
        "(1 - mask) * float('-inf')", "torch.zeros(3).masked_fill(mask == 0, float('-inf'))",
    ),
    "a softmax over nothing": (
        TORCH + "w = torch.ones(2, 3, requires_grad=True)\nmask = torch.tensor([[1, 1, 0], [0, 0, 0]])\n"
        "scores = w.masked_fill(mask == 0, float('-inf'))\nloss = scores.softmax(-1)[0, 0] + scores.softmax(-1).sum()\n"
        "loss.backward()\n",
        "empty softmax", 7, "has a row in which every element is -inf: masked_fill on line 7", "~(mask == 0).all(",
        "[0, 0, 0]", "[0, 1, 0]",
    ),
    "the spread of one sample": (
        NET + "for xs in (x[:5], x[5:]):\n    loss = net(xs).std(0).sum()\n    loss.backward()\n    opt.step()\n"
        "    opt.zero_grad()\n",
        "spread of one", 9, "std on line 9 is taken over 1 element", "correction=0", "x[5:]", "x[4:]",
    ),
    "an overflow": (
        TORCH + "w = torch.tensor([100.], requires_grad=True)\nloss = (torch.exp(w) / torch.exp(w)).sum()\nloss.backward()\n",
        "not finite", 6, "exp on line 6 already gave [inf]", "torch.softmax", "100.", "10.",
    ),
    "an underflow before a logarithm": (
        TORCH + "z = torch.tensor([200., 0.], requires_grad=True)\np = torch.softmax(z, 0)\nloss = -torch.log(p)[1]\n"
        "loss.backward()\n",
        "not finite", 7, "what softmax on line 6 gave is less than float32 holds", "z.log_softmax(0)",
        "200.", "20.",
    ),
    "a nan loss with finite gradients": (
        NET + "with torch.no_grad():\n    p = torch.zeros(2)\n    entropy = (p * p.log()).sum()\n"
        "loss = net(x).mean() + entropy\nloss.backward()\n",
        "not finite", 10, "loss is nan: log on line 10 already gave", "xlogy", "torch.zeros(2)", "torch.full((2,), 0.5)",
    ),
    "sqrt at 0": (
        TORCH + "x = torch.zeros(3, requires_grad=True)\nloss = (x ** 2).sum().sqrt()\nloss.backward()\n",
        "not finite", 6, "the derivative of sqrt on line 6 is not finite", "+ 1e-12", "torch.zeros", "torch.ones",
    ),
    # ---- loops
    "divergence": (
        TORCH + "x = torch.randn(8, 1) * 20\nnet = nn.Linear(1, 1)\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
        "for i in range(12):\n    loss = ((net(x) - 3 * x) ** 2).mean()\n" + STEP,
        "diverges", 7, "the steps overshoot with lr=0.1 on line 7", "in place of lr=0.1", "lr=0.1", "lr=0.001",
    ),
    "a step that kills every unit": (
        TORCH + "net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3))\n"
        "opt = torch.optim.SGD(net.parameters(), lr=500)\nx, y = torch.rand(64, 8), torch.randint(0, 3, (64,))\n"
        "for i in range(8):\n    loss = F.cross_entropy(net(x), y)\n" + STEP,
        "stopped", 6, "it is 0 since step 3 (i=2), and step 2 (i=1) with lr=500 on line 6 made net.0",
        "a much smaller lr in place of lr=500", "lr=500", "lr=0.05",
    ),
    "gradients that accumulate": (
        NET + LOOP.replace("    opt.zero_grad()\n", ""),
        "accumulated", 10, "no zero_grad() clears them", "opt.zero_grad() before backward on line 10",
        "    opt.step()", "    opt.step()\n    opt.zero_grad()",
    ),
    "gradients cleared before the step": (
        NET + LOOP.replace(STEP, "    loss.backward()\n    opt.zero_grad()\n    opt.step()\n"),
        "cleared early", 11, "before step() on line 12 uses them", "before backward()",
        "    opt.zero_grad()\n    opt.step()", "    opt.step()\n    opt.zero_grad()",
    ),
    "an optimiser without a step": (
        NET + LOOP.replace("    opt.step()\n", ""),
        "no step", 6, "opt.step() is not called", "opt.step() after backward on line 11",
        "loss.backward()", "loss.backward()\n    opt.step()",
    ),
    "a parameter bound again": (
        TORCH + "w = torch.ones(2, requires_grad=True)\nfor i in range(2):\n    loss = (w * w).sum()\n    loss.backward()\n"
        "    w = w - 0.1 * w.grad\n",
        "rebound", 9, "line 9 binds w to a new tensor", "with torch.no_grad(): w -= 0.1 * w.grad",
        "    w = w - 0.1 * w.grad", "    with torch.no_grad():\n        w -= 0.1 * w.grad\n    w.grad = None",
    ),
    "layers in a plain list": (
        TORCH + "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.layers = [nn.Linear(2, 2), nn.Linear(2, 2)]\n        self.out = nn.Linear(2, 1)\n"
        "    def forward(self, x):\n        for layer in self.layers:\n            x = layer(x)\n        return self.out(x)\n"
        "net = Net()\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\nx, y = torch.randn(6, 2), torch.randn(6, 1)\n" + LOOP,
        "plain container", 8, "self.layers on line 8 is a plain list", "nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])",
        "[nn.Linear(2, 2), nn.Linear(2, 2)]", "nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])",
    ),
    "an optimiser of what was replaced": (
        NET + "net = nn.Linear(2, 1)\n" + LOOP,
        "stale optimiser", 8, "before line 8 replaced net", "make the optimiser after line 8",
        "x, y = torch.randn(6, 2), torch.randn(6, 1)\nnet = nn.Linear(2, 1)", "x, y = torch.randn(6, 2), torch.ones(6, 1)",
    ),
    "an optimiser of a copy": (
        TORCH + "w = torch.ones(2, requires_grad=True)\nopt = torch.optim.SGD([w.detach().clone().requires_grad_()], lr=0.1)\n"
        "for i in range(3):\n    loss = (w * w).sum()\n" + STEP,
        "other tensors", 6, "holds a copy of w", "[w]", "[w.detach().clone().requires_grad_()]", "[w]",
    ),
    "an optimiser of another model": (
        NET + "other = nn.Linear(2, 1)\n" + LOOP.replace("net(x)", "other(x)"),
        "other tensors", 10, "loss is computed from other on line 10", "compute loss with net instead of other",
        "other(x)", "net(x)",
    ),
    # ---- cuts
    "a detach left over": (
        TORCH + "a, b = nn.Linear(2, 2), nn.Linear(2, 1)\nx = torch.randn(6, 2)\n"
        "opt = torch.optim.SGD([*a.parameters(), *b.parameters()], lr=0.1)\nfor i in range(2):\n"
        "    loss = b(a(x).detach()).mean()\n" + STEP,
        "detach", 9, "only through detach() on line 9", "leave out .detach()", ".detach()", "",
    ),
    "gradients taken as constants": (
        NET + "x.requires_grad_()\nfor i in range(2):\n    g, = torch.autograd.grad(torch.tanh(net(x)).sum(), x)\n"
        "    loss = net(x).mean() + g.norm()\n" + STEP,
        "no create_graph", 10, "without create_graph=True, so g is a constant in loss", "x, create_graph=True)",
        "sum(), x)", "sum(), x, create_graph=True)",
    ),
    # ---- numbers
    "a gradient that vanishes": (
        TORCH + "w = torch.ones(3, requires_grad=True)\nh = w\nfor i in range(20):\n    h = torch.sigmoid(h)\n"
        "h.sum().backward()\n",
        "vanishes", 8, "sigmoid on line 8, 20 times a factor of about 0.2", "nn.ReLU()", "torch.sigmoid", "torch.relu",
    ),
    "a gradient that explodes": (
        TORCH + "W = (torch.eye(3) * 3).requires_grad_()\nh = torch.ones(1, 3)\nfor i in range(30):\n    h = h @ W\n"
        "h.sum().backward()\n",
        "explodes", 8, "mm on line 8, 30 times a factor of about", "clip_grad_norm_", "torch.eye(3) * 3", "torch.eye(3)",
    ),
    "a unit that is dead": (
        NET + "nn.init.constant_(net.bias, -50.)\nfor i in range(2):\n    loss = torch.relu(net(x)).mean()\n" + STEP,
        "dead relu", 10, "relu on line 10 lets nothing back", "leaky_relu", "-50.", "0.5",
    ),
    # ---- errors
    "a wrong dtype": (
        TORCH + "x = torch.ones(3, 2, dtype=torch.float64)\nnet = nn.Linear(2, 1)\nnet(x).sum().backward()\n",
        "wrong dtype", 5, "x, made on line 5, is float64", "dtype=torch.float32 on line 5", "float64", "float32",
    ),
    "labels that are no integers": (
        TORCH + "labels = torch.tensor([0., 1., 0.])\nnet = nn.Linear(2, 2)\nx = torch.ones(3, 2)\n"
        "F.cross_entropy(net(x), labels).backward()\n",
        "wrong dtype", 5, "labels, made on line 5, is float32", "labels.long()", "[0., 1., 0.]", "[0, 1, 0]",
    ),
    "a wrong shape": (
        TORCH + "x = torch.ones(3, 2, 4)\nnet = nn.Linear(8, 1)\nx = x.view(-1, 4)\nnet(x).sum().backward()\n",
        "wrong shape", 7, "on line 7 has the shape (6, 4)", "flatten(1)", "x.view(-1, 4)", "x.view(-1, 8)",
    ),
    "a gradient of a wrong shape": (
        TORCH + "class Mm(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x, w):\n"
        "        ctx.save_for_backward(x, w)\n        return x @ w\n    @staticmethod\n    def backward(ctx, g):\n"
        "        x, w = ctx.saved_tensors\n        gw = g.t() @ x\n        return g @ w.t(), gw\n"
        "w = torch.randn(3, 2, requires_grad=True)\nMm.apply(torch.randn(4, 3), w).sum().backward()\n",
        "wrong gradient shape", 13, "Mm.backward returns g.t() @ x on line 13 for input 1, of shape (2, 3)", "x.t() @ g",
        "g.t() @ x", "x.t() @ g",
    ),
    "rows changed while iterating": (
        TORCH + "w = torch.ones(2, 3, requires_grad=True)\np = w.exp()\nfor row in p:\n    row /= row.sum()\n"
        "p.sum().backward()\n",
        "row in place", 8, "one of several views that unbind on line 7 gives of p", "torch.stack([row / row.sum() for row in p])",
        "for row in p:\n    row /= row.sum()", "p = torch.stack([row / row.sum() for row in p])",
    ),
    "a state carried over": (
        TORCH + "w = torch.ones(2, requires_grad=True)\nh = torch.zeros(2)\nfor i in range(3):\n    h = torch.tanh(w + h)\n"
        "    loss = h.sum()\n    loss.backward()\n",
        "freed", 8, "line 8 carries h from step 1 (i=0) into step 2 (i=1)", "h = h.detach()", "(w + h)", "(w + h.detach())",
    ),
    "a sum of losses": (
        NET + "total = 0\nfor i in range(3):\n    total = total + net(x).pow(2).mean()\n    total.backward()\n",
        "freed", 10, "line 10 carries total", "total += loss.item()", "total.backward()", "pass\ntotal.backward()",
    ),
    "a state whose weights have changed": (
        NET.replace("nn.Linear(2, 1)", "nn.Linear(2, 2)") + "h = x\nfor i in range(3):\n    h = torch.tanh(net(h))\n"
        "    opt.zero_grad()\n    h.sum().backward(retain_graph=True)\n    opt.step()\n",
        "carried over", 10, "opt.step() on line 13 has changed the weights", "h = h.detach()", "net(h)", "net(h.detach())",
    ),
    "two losses of one turn": (
        NET + "for i in range(2):\n    out = net(x)\n    out.pow(2).mean().backward()\n    out.exp().mean().backward()\n",
        "freed", 11, "line 11 uses out, made on line 9, again", "retain_graph=True",
        "backward()\n    out", "backward(retain_graph=True)\n    out",
    ),
    "labels out of range": (
        TORCH + "net = nn.Linear(2, 3)\nlabels = torch.tensor([1, 3])\nF.cross_entropy(net(torch.ones(2, 2)), labels).backward()\n",
        "out of range", 6, "labels, made on line 6, goes up to 3", "nn.Linear(..., 4)", "[1, 3]", "[1, 2]",
    ),
    # ---- without a sign
    "a wrong backward": (
        TORCH + "class Cube(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
        "        ctx.save_for_backward(x)\n        return x ** 3\n    @staticmethod\n    def backward(ctx, g):\n"
        "        x, = ctx.saved_tensors\n        return g * 2 * x ** 2\nx = torch.ones(2, requires_grad=True)\n"
        "Cube.apply(x).sum().backward()\n",
        "wrong backward", 13, "disagrees with finite differences of its forward", "gradcheck", "2 * x ** 2", "3 * x ** 2",
    ),
    "shapes that broadcast": (
        NET + "y = torch.randn(6)\nloss = F.mse_loss(net(x), y)\nloss.backward()\n",
        "broadcast", 9, "they broadcast to (6, 6)", ".squeeze(1)", "net(x)", "net(x).squeeze(1)",
    ),
    "a softmax twice": (
        TORCH + "net = nn.Linear(2, 3)\np = torch.softmax(net(torch.ones(4, 2)), 1)\n"
        "F.cross_entropy(p, torch.tensor([0, 1, 2, 0])).backward()\n",
        "softmax twice", 6, "has already made probabilities", "give cross_entropy the logits", "torch.softmax(net(torch.ones(4, 2)), 1)",
        "net(torch.ones(4, 2))",
    ),
    "nll_loss of logits": (
        TORCH + "net = nn.Linear(2, 3)\nz = net(torch.ones(4, 2)) + 3\nF.nll_loss(z, torch.tensor([0, 1, 2, 0])).backward()\n",
        "no logarithm", 7, "needs log-probabilities", "F.cross_entropy(z, target)", "F.nll_loss(z,", "F.cross_entropy(z,",
    ),
    "a softmax over the batch": (
        TORCH + "net = nn.Linear(2, 3)\nz = torch.log_softmax(net(torch.ones(4, 2)), 0)\n"
        "F.nll_loss(z, torch.tensor([0, 1, 2, 0])).backward()\n",
        "softmax over the batch", 6, "the 4 samples of the batch, not over the 3 classes", "dim=1 in place of dim=0",
        "torch.ones(4, 2)), 0)", "torch.ones(4, 2)), 1)",
    ),
    "a softmax that is summed": (
        NET.replace("nn.Linear(2, 1)", "nn.Linear(2, 3)") + "for i in range(2):\n    p = torch.softmax(net(x), dim=-1)\n"
        "    loss = 1 - p.sum(-1).mean()\n" + STEP,
        "constant sum", 10, "sum on line 10 adds up a whole softmax", "p.max(1)", "p.sum(-1)", "p.max(-1).values",
    ),
    "a layer that is not used": (
        TORCH + "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.a = nn.Linear(2, 1)\n        self.b = nn.Linear(2, 1)\n"
        "    def forward(self, x):\n        return self.a(x) + self.a(x)\n"
        "net = Net()\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\nx, y = torch.randn(6, 2), torch.randn(6, 1)\n" + LOOP,
        "unused layer", 9, "self.b on line 9 is never used", "call self.b in forward", "+ self.a(x)", "+ self.b(x)",
    ),
    # ---- training in models like those of libraries
    "a schedule of zeros": (
        NET + "plan = torch.optim.lr_scheduler.LambdaLR(opt, lambda step: step // 100)\n" + LOOP + "    plan.step()\n",
        "zero rate", 8, "all 4 steps of the optimiser on line 6 are made with lr=0, which LambdaLR on line 8 sets",
        "/ in place of //", "step // 100", "step / 100",
    ),
    "a schedule that is over": (
        NET + "plan = torch.optim.lr_scheduler.LambdaLR(opt, lambda step: max(0.0, 1 - step / 2))\n" + LOOP
        + "    plan.step()\n",
        "zero rate", 8, "steps 3 to 4 of 4 steps of the optimiser on line 6 are made with lr=0", "4 or more",
        "step / 2", "step / 4",
    ),
    "a schedule that grows": (
        NET + "plan = torch.optim.lr_scheduler.ExponentialLR(opt, gamma=3.0)\n"
        + LOOP.replace("range(4)", "range(9)") + "    plan.step()\n",
        "diverges", 8, "ExponentialLR on line 8 has raised the learning rate from 0.1 to 656 by then", "a factor below 1",
        "gamma=3.0", "gamma=0.9",
    ),
    "a schedule before the step": (
        NET + "plan = torch.optim.lr_scheduler.StepLR(opt, 1, 0.5)\n"
        + LOOP.replace("    opt.step()\n", "    plan.step()\n    opt.step()\n"),
        "early schedule", 13, "plan.step() on line 13 comes before the optimiser's step on line 14", "behind opt.step()",
        "    plan.step()\n    opt.step()", "    opt.step()\n    plan.step()",
    ),
    "a discriminator that reaches the generator": (
        TORCH + "g, d = nn.Linear(2, 2), nn.Linear(2, 1)\nopt_g = torch.optim.SGD(g.parameters(), lr=0.1)\n"
        "opt_d = torch.optim.SGD(d.parameters(), lr=0.1)\nfor i in range(3):\n    opt_g.zero_grad()\n    opt_d.zero_grad()\n"
        "    d_loss = d(g(torch.randn(4, 2))).mean() - d(torch.randn(4, 2)).mean()\n    d_loss.backward()\n    opt_d.step()\n"
        "    g_loss = -d(g(torch.randn(4, 2))).mean()\n    g_loss.backward()\n    opt_g.step()\n",
        "another loss", 12, "opt_g.step() on line 16 also uses the gradients of d_loss: backward on line 12",
        "opt_g.zero_grad() right before backward on line 15", "d(g(torch.randn(4, 2))).mean() - d", "d(g(torch.randn(4, 2)).detach()).mean() - d",
    ),
    "micro-batches that are added up": (
        NET + "for i in range(8):\n    loss = F.mse_loss(net(x), y)\n    loss.backward()\n    if i % 4 == 3:\n"
        "        opt.step()\n        opt.zero_grad()\n",
        "undivided", 10, "uses the sum of 4 passes on line 10, undivided", "(loss / 4).backward()",
        "F.mse_loss(net(x), y)", "F.mse_loss(net(x), y) / 4",
    ),
    "a clip of everything": (
        NET + LOOP.replace("    opt.step()", "    nn.utils.clip_grad_norm_(net.parameters(), 0.0)\n    opt.step()"),
        "clipped to 0", 12, "clip_grad_norm_ on line 12 makes every gradient 0", "a norm above 0", "(), 0.0)", "(), 1.0)",
    ),
    "a clip of scaled gradients": (
        NET + "scaler = torch.amp.GradScaler('cpu')\n"
        "for i in range(4):\n    loss = ((net(x) - y) ** 2).mean()\n    opt.zero_grad()\n"
        "    scaler.scale(loss).backward()\n    nn.utils.clip_grad_norm_(net.parameters(), 1.0)\n"
        "    scaler.step(opt)\n    scaler.update()\n",
        "clipped while scaled", 13, "are still multiplied by the loss scale", "scaler.unscale_(opt) before line 13",
        "    nn.utils.clip", "    scaler.unscale_(opt)\n    nn.utils.clip",
    ),
    "a validation that stays": (
        TORCH + "net = nn.Sequential(nn.Linear(2, 8), nn.BatchNorm1d(8), nn.Linear(8, 1))\n"
        "opt = torch.optim.SGD(net.parameters(), lr=0.01)\nx, y = torch.randn(6, 2), torch.randn(6, 1)\ndef validate():\n"
        "    net.eval()\n    with torch.no_grad():\n        return F.mse_loss(net(x), y)\nfor i in range(3):\n"
        "    loss = F.mse_loss(net(x), y)\n" + STEP + "    validate()\n",
        "evaluation mode", 9, "from step 2 (i=1) on the model runs in evaluation mode, where BatchNorm1d on line 13",
        "net.train() after the validation", "for i in range(3):\n", "for i in range(3):\n    net.train()\n",
    ),
    "an average with history": (
        NET + "mean = torch.zeros(1)\n" + LOOP + "    mean = 0.9 * mean + 0.1 * net.bias\n",
        "kept history", 14, "line 14 computes mean from mean of the step before", "with torch.no_grad(): mean = ",
        "0.1 * net.bias", "0.1 * net.bias.detach()",
    ),
    "a view for a transpose": (
        TORCH + "net = nn.Linear(2, 3)\nx = net(torch.randn(4, 5, 2))\nz = x.view(5, 4, 3)\nz.cumsum(0).mean().backward()\n",
        "view for transpose", 7, "view on line 7 gives (5, 4, 3) of (4, 5, 3) and keeps the order of the numbers",
        "x.transpose(0, 1)", "x.view(5, 4, 3)", "x.transpose(0, 1)",
    ),
    "heads by a view": (
        TORCH + "net = nn.Linear(8, 8)\nq = net(torch.randn(2, 5, 8)).view(2, 4, 5, 2)\nscores = q @ q.transpose(2, 3)\n"
        "scores.mean().backward()\n",
        "view for transpose", 6, "view on line 6 gives (2, 4, 5, 2) of (2, 5, 8)", "view(2, 5, 4, 2) and then transpose(1, 2)",
        ".view(2, 4, 5, 2)", ".view(2, 5, 4, 2).transpose(1, 2)",
    ),
    "a softmax over the queries": (
        TORCH + "q = torch.randn(2, 4, 3, requires_grad=True)\nk = torch.randn(2, 5, 3)\n"
        "w = (q @ k.transpose(1, 2) / 2).softmax(dim=1)\n(w @ k).pow(2).mean().backward()\n",
        "softmax over the queries", 7, "dim=1, the 4 queries, and bmm on line 8 sums over the 5 keys", "dim=-1",
        "softmax(dim=1)", "softmax(dim=2)",
    ),
    "a log_softmax over the tokens": (
        TORCH + "net = nn.Linear(2, 3)\nz = net(torch.randn(4, 5, 2)).log_softmax(1)\n"
        "F.nll_loss(z.flatten(0, 1), torch.randint(0, 3, (20,))).backward()\n",
        "softmax over the batch", 6, "dim=1, 5 of the 20 samples of the batch, not over the 3 classes", "dim=-1",
        "log_softmax(1)", "log_softmax(-1)",
    ),
    "a divergence without its minus": (
        TORCH + "net = nn.Linear(2, 4)\nmu, s = net(torch.ones(6, 2)).chunk(2, 1)\nfit = (mu - 1).pow(2).mean()\n"
        "kl = 0.5 * (1 + s - mu.pow(2) - s.exp()).sum()\nloss = fit + kl\nloss.backward()\n",
        "negative kl", 8, "a KL divergence is never negative, its minus sign is missing", "- 0.5 * torch.sum",
        "kl = 0.5", "kl = -0.5",
    ),
    "data that saturate": (
        TORCH + "net, out = nn.Linear(8, 8), nn.Linear(8, 1)\nx = torch.rand(8, 8) * 1000\n"
        "h = torch.sigmoid(net(x))\nout(h).mean().backward()\n",
        "large inputs", 7, "sigmoid on line 7 is saturated from the start", "scale the data to about -1 to 1", "* 1000", "* 1",
    ),
    "a head that the optimiser lacks": (
        TORCH + "net = nn.Sequential(nn.Linear(2, 4), nn.LayerNorm(4), nn.Linear(4, 1))\n"
        "opt = torch.optim.SGD(net[:2].parameters(), lr=0.1)\nx, y = torch.randn(6, 2), torch.randn(6, 1)\n" + LOOP,
        "other tensors", 6, "get gradients and never change: the optimiser on line 6 does not hold them",
        "give the optimiser these too", "net[:2]", "net",
    ),
    "a tensor in place of a Parameter": (
        TORCH + "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.a = nn.Linear(2, 1)\n"
        "        self.b = torch.zeros(1, requires_grad=True)\n    def forward(self, x):\n        return self.a(x) + self.b\n"
        "net = Net()\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\nx, y = torch.randn(6, 2), torch.randn(6, 1)\n" + LOOP,
        "other tensors", 9, "self.b on line 9 is a tensor, not an nn.Parameter", "self.b = nn.Parameter(torch.zeros(1))",
        "torch.zeros(1, requires_grad=True)", "nn.Parameter(torch.zeros(1))",
    ),
    # ---- a path that is cut
    "a number in a loss": (
        NET + "fit = F.mse_loss(net(x), y)\nscale = fit.item()\nloss = fit + scale * net.weight.pow(2).sum()\nloss.backward()\n",
        "partial cut", 9, "loss depends on fit through fit.item() on line 9 too", "compute with fit itself", "fit.item()", "fit",
    ),
    "a factor without history": (
        NET + "h = net(x)\nloss = (h.detach() * h - y).pow(2).mean()\nloss.backward()\n",
        "partial cut", 9, "multiplies h by its own values without history (detach() on line 9)", "leave out .detach()",
        "h.detach() * h", "h * h",
    ),
    "a backward without parentheses": (
        NET + LOOP.replace("backward()", "backward"),
        "not called", 11, "line 11 names loss.backward without parentheses", "loss.backward() on line 11",
        "loss.backward\n", "loss.backward()\n",
    ),
    "a step without parentheses": (
        NET + LOOP.replace("opt.step()", "opt.step"),
        "not called", 12, "line 12 names opt.step without parentheses", "opt.step() on line 12", "opt.step\n", "opt.step()\n",
    ),
    # ---- half precision
    "a result beyond float16": (
        TORCH + "w = torch.full((2,), 300., requires_grad=True)\nh = w.half() * w.half()\nloss = h.float().sum()\n"
        "loss.backward()\n",
        "not finite", 6, "float16 holds nothing larger than 65504", "bfloat16", "300.", "3.",
    ),
    "a loss scale beyond float16": (
        TORCH + "w = torch.ones(2, requires_grad=True)\nloss = w.half().float().sum()\nscaled = loss * 2.0**24\n"
        "scaled.backward()\n",
        "gradient overflow", 7, "mul on line 7 made it 1.67772e+07 times as large", "GradScaler", "2.0**24", "2.0**10",
    ),
}  # fmt: skip

# Answers about a tensor by its name: id: (program, name, status, cause, line, words, advice, replaced, by)
NAMED = {
    "a table by torch.tensor": (
        TORCH + "a = torch.tensor(1., requires_grad=True)\nv = torch.ones(2, requires_grad=True)\ndef f():\n"
        "    c = a.cos()\n    return torch.tensor([c, c * 2])\n(f() * v).sum().backward()\n",
        "a", "none", "copied", 9, "copied into a new tensor on line 9", "torch.stack([c, c * 2])",
        "torch.tensor([c", "torch.stack([c",
    ),
    "a straight-through estimate the wrong way round": (
        TORCH + "w = torch.tensor([0.2, 0.8], requires_grad=True)\nhard = torch.round(w)\ny = hard + (w - hard).detach()\n"
        "y.sum().backward()\n",
        "w", "zero", "straight-through reversed", 7, "on line 7 is the wrong way round", "w + (hard - w).detach()",
        "hard + (w - hard)", "w + (hard - w)",
    ),
    "a softmax over one class": (
        TORCH + "w = torch.ones(2, 1, requires_grad=True)\nz = torch.ones(3, 2) @ w\n"
        "F.cross_entropy(z, torch.zeros(3, dtype=torch.long)).backward()\n",
        "w", "zero", "one class", 7, "over only one class", "binary_cross_entropy_with_logits",
        "w = torch.ones(2, 1,", "w = torch.randn(2, 2,",
    ),
    "a mask the wrong way round": (
        TORCH + "w = torch.ones(3, requires_grad=True)\ntokens = torch.tensor([1, 2, 3])\nmask = (tokens == 0).float()\n"
        "(w * mask).sum().backward()\n",
        "w", "zero", "mask", 7, "mask, which it is multiplied by on line 8, is 0", "tokens != 0", "==", "!=",
    ),
    "both factors at zero": (
        TORCH + "a = torch.zeros(2, 2, requires_grad=True)\nb = torch.zeros(2, 1, requires_grad=True)\n"
        "(torch.ones(3, 2) @ a @ b).sum().backward()\n",
        "a", "zero", "zero factor", 6, "b, which it is multiplied by on line 7, is 0", "nn.init.normal_(b",
        "b = torch.zeros", "b = torch.ones",
    ),
    "clipped by an infinite norm": (
        TORCH + "w = torch.ones(2, requires_grad=True)\ng = torch.zeros(1, requires_grad=True)\n"
        "(w.sum() * 2 + g.sqrt()).sum().backward()\nnn.utils.clip_grad_norm_([w, g], 1.0)\n",
        "w", "zero", "clipped to 0", 8, "the norm of all gradients was inf: g.grad held inf, from sqrt on line 7",
        "error_if_nonfinite", "torch.zeros(1", "torch.ones(1",
    ),
    "a winner that takes all": (
        TORCH + "a = torch.zeros(2, requires_grad=True)\nb = torch.ones(2, requires_grad=True)\n"
        "torch.stack([a, b]).max(0).values.sum().backward()\n",
        "a", "zero", "not chosen", 7, "chose other elements", "logsumexp", "a = torch.zeros", "a = 2 + torch.zeros",
    ),
    "a hook left over": (
        TORCH + "w = torch.ones(2, requires_grad=True)\nw.register_hook(lambda g: g * 0)\n(w * 2).sum().backward()\n",
        "w", "zero", "hook", 6, "the hook <lambda> on line 6 replaced the gradient by zero", "remove()", "g * 0", "g * 1",
    ),
    "a hook on the way": (
        TORCH + "w = torch.ones(2, requires_grad=True)\nh = w * 2\nh.register_hook(lambda g: g * 10)\nh.sum().backward()\n",
        "w", "gradient", "hook on the way", 8, "the hook <lambda> on line 7 turned the gradient of h from [1, 1] into [10, 10]",
        "return nothing from the hook", "lambda g: g * 10", "lambda g: None",
    ),
    "a Parameter made of a result": (
        TORCH + "w = torch.ones(2, requires_grad=True)\np = nn.Parameter(w * 2)\n(p * p).sum().backward()\n",
        "w", "none", "copied", 6, "nn.Parameter() on line 6", "leave out nn.Parameter", "nn.Parameter(w * 2)", "(w * 2)",
    ),
    "gradients turned off for good": (
        TORCH + "w = torch.ones(2, requires_grad=True)\ntorch.set_grad_enabled(False)\na = w * 2\n"
        "torch.set_grad_enabled(True)\n(a + torch.ones(2, requires_grad=True)).sum().backward()\n",
        "w", "none", "set_grad_enabled", 6, "set_grad_enabled(False) on line 6", "no_grad",
        "torch.set_grad_enabled(False)", "torch.set_grad_enabled(True)",
    ),
    "a factor that a relu made zero": (
        TORCH + "w = torch.ones(2, requires_grad=True)\nh = torch.relu(torch.tensor([-3., -1.]))\n(w * h).sum().backward()\n",
        "w", "zero", "dead relu", 6, "relu on line 6 gets nothing but negative numbers", "leaky_relu", "-3.", "3.",
    ),
    "a mask that leaves nothing": (
        TORCH + "w = torch.ones(2, requires_grad=True)\nx = torch.tensor([0., 5.])\nh = x * (x == 0).float()\n"
        "(w * h).sum().backward()\n",
        "w", "zero", "mask", 7, "mul on line 7 multiplies each element that is not 0 by a 0", "x != 0", "==", "!=",
    ),
    "a gradient below float16": (
        TORCH + "w = torch.ones(100, requires_grad=True)\n(w.half().mean().float() * 1e-6).backward()\n",
        "w", "zero", "underflow", 6, "the smallest float16", "GradScaler", "1e-6", "1.0",
    ),
    "a gradient that is None where it is used": (
        TORCH + "w = torch.ones(2, requires_grad=True)\n(w.detach() * torch.ones(2, requires_grad=True)).sum().backward()\n"
        "print(w.grad.norm())\n",
        "", "failed", "detach", 6, "w.grad is None on line 7: ", "leave out .detach()", ".detach()", "",
    ),
}  # fmt: skip
