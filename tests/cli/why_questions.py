"""What people ask in forums about gradients, as scripts for `test_why`, in the form of `why_cases`."""

QUESTIONS = {
    "an optimiser of the tensor before": (
        "import torch\n"
        "w = torch.tensor(3., requires_grad=True)\n"
        "opt = torch.optim.SGD([w], lr=0.1)\n"
        "w = torch.tensor(5., requires_grad=True)\n"
        "(w * w).backward()\n"
        "opt.step()\n",
        "w", "gradient", "stale optimiser", 3, "the optimiser of line 3 holds the w of line 2",
    ),
    "rewrapped": (
        "import torch\n"
        "w = torch.tensor([1., 2.], requires_grad=True)\n"
        "v = torch.tensor(w * 2, requires_grad=True)\n"
        "v.sum().backward()\n",
        "w", "none", "copied", 3, "copied into a new tensor on line 3",
    ),
    "a list rewrapped": (
        "import torch\n"
        "a = torch.tensor(1., requires_grad=True)\n"
        "b = torch.tensor(2., requires_grad=True)\n"
        "x = torch.tensor([a * 2, b])\n"
        "loss = (x ** 2).sum() + torch.ones(1, requires_grad=True).sum()\n"
        "loss.backward()\n",
        "a", "none", "copied", 4, "copied into a new tensor on line 4",
    ),
    "requires_grad too late": (
        "import torch\n"
        "w = torch.tensor(3.)\n"
        "y = w * 2\n"
        "w.requires_grad_()\n"
        "v = torch.tensor(1., requires_grad=True)\n"
        "(y * v).backward()\n",
        "w", "none", "late", 3, "did not require grad yet",
    ),
    "mask made float": (
        "import torch\n"
        "w = torch.tensor(3., requires_grad=True)\n"
        "mask = (w > 2).float()\n"
        "v = torch.tensor(1., requires_grad=True)\n"
        "(mask * v).backward()\n",
        "w", "none", "comparison", 3, "a comparison (gt) on line 3",
    ),
    "float()": (
        "import torch\n"
        "w = torch.tensor(3., requires_grad=True)\n"
        "v = torch.tensor(1., requires_grad=True)\n"
        "loss = float(w) * v\n"
        "loss.backward()\n",
        "w", "none", "item", 4, "left the graph as a Python number on line 4",
    ),
    "an index": (
        "import torch\n"
        "x = torch.tensor([1., 2., 3.], requires_grad=True)\n"
        "t = torch.tensor([5., 6., 7.], requires_grad=True)\n"
        "i = x.argmax()\n"
        "loss = t[i]\n"
        "loss.backward()\n",
        "x", "none", "index", 5, "only chooses which element is taken on line 5",
    ),
    "a model under no_grad": (
        "import torch\n"
        "import torch.nn as nn\n"
        "net = nn.Linear(2, 1)\n"
        "head = nn.Linear(1, 1)\n"
        "x = torch.ones(1, 2)\n"
        "with torch.no_grad():\n"
        "    h = net(x)\n"
        "head(h).sum().backward()\n",
        "net.weight", "none", "no_grad", 7, "on line 7, which ran under no_grad",
    ),
    "a state detached in a loop": (
        "import torch\n"
        "h0 = torch.tensor(1., requires_grad=True)\n"
        "w = torch.tensor(0.5, requires_grad=True)\n"
        "h = h0\n"
        "for t in range(3):\n"
        "    h = h.detach()\n"
        "    h = torch.tanh(w * h)\n"
        "h.backward()\n",
        "h0", "none", "detach", 6, "only through detach() on line 6",
    ),
    "zero_grad() of an optimiser": (
        "import torch\n"
        "lin = torch.nn.Linear(2, 1)\n"
        "opt = torch.optim.SGD(lin.parameters(), lr=0.1)\n"
        "lin(torch.ones(1, 2)).sum().backward()\n"
        "opt.step()\n"
        "opt.zero_grad()\n"
        "print(lin.weight.grad)\n",
        "lin.weight", "none", "cleared", 6, "it was set to None on line 6",
    ),
    "an unused layer": (
        "import torch\n"
        "import torch.nn as nn\n"
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.a = nn.Linear(2, 1)\n"
        "        self.b = nn.Linear(2, 1)\n"
        "    def forward(self, x):\n"
        "        return self.a(x)\n"
        "net = Net()\n"
        "net(torch.ones(1, 2)).sum().backward()\n",
        "net.b.weight", "none", "unused", 11, "nothing was computed from it",
    ),
    "a loop that accumulates": (
        "import torch\n"
        "w = torch.tensor(3., requires_grad=True)\n"
        "for i in range(5):\n"
        "    loss = w * w\n"
        "    loss.backward()\n",
        "w", "gradient", "accumulated", 5, "5 passes added up",
    ),
    "a way cut off": (
        "import torch\n"
        "w = torch.tensor(0.5, requires_grad=True)\n"
        "h = torch.tensor(1.)\n"
        "for t in range(3):\n"
        "    h = torch.tanh(w * h.detach())\n"
        "h.backward()\n",
        "w", "gradient", "backward", 5, "w.grad is 0.224132",
    ),
    "sqrt at 0": (
        "import torch\n"
        "x = torch.zeros(1, requires_grad=True)\n"
        "y = torch.sqrt(x * 2)\n"
        "y.sum().backward()\n",
        "x", "nan", "not finite", 3, "the derivative of sqrt on line 3 is not finite",
    ),
    "0 * inf": (
        "import torch\n"
        "x = torch.tensor(0., requires_grad=True)\n"
        "y = x * torch.tensor(float('inf'))\n"
        "y.backward()\n",
        "x", "nan", "inf in data", 3, "torch.tensor(float('inf')) already holds inf on line 3",
    ),
    "where does not mask": (
        "import torch\n"
        "x = torch.tensor([0., 4.], requires_grad=True)\n"
        "y = torch.where(x > 0, torch.sqrt(x), torch.zeros(2))\n"
        "y.sum().backward()\n",
        "x", "nan", "not finite", 3, "the derivative of sqrt on line 3",
    ),
    "log at 0": (
        "import torch\n"
        "x = torch.zeros(1, requires_grad=True)\n"
        "y = (x * torch.log(x)).sum()\n"
        "y.backward()\n",
        "x", "nan", "not finite", 3, "log on line 3 already gave [-inf]",
    ),
    "log of an underflown softmax": (
        "import torch\n"
        "x = torch.tensor([200., 0.], requires_grad=True)\n"
        "loss = -torch.log(torch.softmax(x, 0))[1]\n"
        "loss.backward()\n",
        "x", "nan", "not finite", 3, "log on line 3 already gave",
    ),
    "overflow in exp": (
        "import torch\n"
        "x = torch.tensor(100., requires_grad=True)\n"
        "y = torch.exp(x) - torch.exp(x)\n"
        "y.backward()\n",
        "x", "nan", "not finite", 3, "exp on line 3 already gave inf in forward (x is 100)",
    ),
    "an exploding loop": (
        "import torch\n"
        "w = torch.tensor(5., requires_grad=True)\n"
        "h = torch.tensor(1.)\n"
        "for t in range(80):\n"
        "    h = h * w\n"
        "h.backward()\n",
        "w", "nan", "not finite", 5, "mul on line 5 already gave inf in forward",
    ),
    "a vanishing loop": (
        "import torch\n"
        "h0 = torch.tensor(1., requires_grad=True)\n"
        "w = torch.tensor(0.01)\n"
        "h = h0\n"
        "for t in range(40):\n"
        "    h = h * w\n"
        "h.backward()\n",
        "h0", "zero", "underflow", 6, "it has shrunk to",
    ),
    "dropout of everything": (
        "import torch\n"
        "w = torch.tensor(3., requires_grad=True)\n"
        "y = torch.nn.functional.dropout(w * 2, p=1.0)\n"
        "y.backward()\n",
        "w", "zero", "dropout", 3, "dropout on line 3 dropped every element",
    ),
    "padding_idx": (
        "import torch\n"
        "emb = torch.nn.Embedding(3, 2, padding_idx=0)\n"
        "emb(torch.tensor([0, 0])).sum().backward()\n",
        "emb.weight", "zero", "padding", 3, "nothing but rows at padding_idx",
    ),
    "zeros to start with": (
        "import torch\n"
        "w1 = torch.zeros(2, 2, requires_grad=True)\n"
        "w2 = torch.zeros(2, 1, requires_grad=True)\n"
        "x = torch.ones(1, 2)\n"
        "((x @ w1) @ w2).sum().backward()\n",
        "w1", "zero", "zero factor", 5, "w2, which it is multiplied by on line 5, is 0",
    ),
    "softmax saturated": (
        "import torch\n"
        "x = torch.tensor([[1000., 0.]], requires_grad=True)\n"
        "loss = torch.nn.functional.cross_entropy(x, torch.tensor([0]))\n"
        "loss.backward()\n",
        "x", "zero", "saturated", 3, "log_softmax on line 3 is saturated",
    ),
    "maximum": (
        "import torch\n"
        "x = torch.tensor([-1.], requires_grad=True)\n"
        "y = torch.maximum(x, torch.zeros(1))\n"
        "y.sum().backward()\n",
        "x", "zero", "not chosen", 3, "maximum on line 3 chose other elements",
    ),
    "norm at 0": (
        "import torch\n"
        "x = torch.zeros(3, requires_grad=True)\n"
        "y = x.norm()\n"
        "y.backward()\n",
        "x", "zero", "zero derivative", 3, "the derivative of vector_norm on line 3 is 0",
    ),
}  # fmt: skip
