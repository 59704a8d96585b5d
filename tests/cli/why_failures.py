"""Scripts that fail with one of autograd's errors, for `test_why`: the cause, its lines, and words of the answer."""

from why_cases import LEAF

# id: (script, cause, name, lines of the evidence in order, words of the sentence)
FAILURES = {
    "modified by an operator": (
        LEAF + "a = w * 2\nb = a.exp()\nb += 1\nb.backward()\n",
        "modified in place",
        "b",
        [4, 5, 6, 6],
        "b was saved by exp on line 4 and changed in place by add_() on line 5",
    ),
    "modified by an index": (
        "import torch\nw = torch.ones(3, requires_grad=True)\na = w * 1\ny = (a * a).sum()\na[0] = 5.\ny.backward()\n",
        "modified in place",
        "a",
        [4, 5, 6, 6],
        "a was saved by mul on line 4",
    ),
    "modified leaf": (
        LEAF + "y = w ** 2\nwith torch.no_grad():\n    w.add_(1)\ny.backward()\n",
        "modified in place",
        "w",
        [3, 5, 6, 6],
        "w was saved by pow on line 3 and changed in place by add_() on line 5",
    ),
    "modified by an optimiser": (
        "import torch\nw = torch.tensor([3.], requires_grad=True)\nopt = torch.optim.SGD([w], lr=0.1)\n"
        "y = (w ** 2).sum()\n"
        "y.backward(retain_graph=True)\nopt.step()\ny.backward()\n",
        "modified in place",
        "w",
        [4, 6, 7, 7],
        "changed in place by an optimiser's step on line 6",
    ),
    "modified index": (
        "import torch\nimport torch.nn.functional as F\nw = torch.ones(5, 3, requires_grad=True)\n"
        "i = torch.tensor([1, 2])\ny = F.embedding(i, w).sum()\ni.zero_()\ny.backward()\n",
        "modified in place",
        "i",
        [5, 6, 7, 7],
        "i was saved by embedding on line 5 and changed in place by zero_() on line 6",
    ),
    "modified weights of classes": (
        "import torch\nx = torch.ones(2, 3, requires_grad=True)\nc = torch.ones(3)\n"
        "y = torch.nn.functional.cross_entropy(x, torch.tensor([1, 2]), weight=c)\nc.mul_(2)\ny.backward()\n",
        "modified in place",
        "c",
        [4, 5, 6, 6],
        "c was saved by nll_loss on line 4 and changed in place by mul_() on line 5",
    ),
    "modified indices of a result": (
        "import torch\nx = torch.ones(2, 3, requires_grad=True)\ny, where = x.max(1)\nwhere += 1\ny.sum().backward()\n",
        "modified in place",
        "where",
        [3, 4, 5, 5],
        "where was saved by max on line 3 and changed in place by add_() on line 4",
    ),
    "freed": (
        LEAF + "y = w ** 2\ny.backward()\ny.backward()\n",
        "freed",
        "y",
        [3, 4, 5, 5],
        "the backward on line 4 had freed what pow saved",
    ),
    "root without grad": (
        LEAF + "y = w.detach() * 2\ny.backward()\n",
        "detach",
        "y",
        [2, 3, 4],
        "y does not require grad: it comes from w through detach() on line 3",
    ),
    "root of plain data": (
        "import torch\nx = torch.tensor(2.)\nloss = x * 2\nloss.backward()\n",
        "no leaf requires grad",
        "loss",
        [2, 3, 4],
        "loss does not require grad: nothing that it was computed from",
    ),
    "not a scalar": (
        "import torch\nw = torch.ones(3, requires_grad=True)\ny = w * 2\ny.backward()\n",
        "not a scalar",
        "y",
        [3, 4],
        "y has the shape (3,)",
    ),
    "leaf in place": (
        LEAF + "w += 1\n",
        "leaf in place",
        "w",
        [2, 3],
        "w is a leaf that requires grad, and line 3",
    ),
    "leaf in place by a method": (
        LEAF + "w.add_(1)\n",
        "leaf in place",
        "w",
        [2, 3],
        "line 3 changes it",
    ),
    "flags of a non-leaf": (
        LEAF + "y = w * 2\ny.requires_grad = False\n",
        "not a leaf",
        "y",
        [3, 4],
        "y is computed",
    ),
    "grad of what was not used": (
        LEAF + "v = torch.tensor(1., requires_grad=True)\ny = v * 2\ntorch.autograd.grad(y, [w])\n",
        "unused",
        "w",
        [2, 5, 5],
        "w has no gradient from y",
    ),
    "grad for plain data": (
        LEAF + "x = torch.tensor(1.)\ny = w * x\ntorch.autograd.grad(y, x)\n",
        "no grad",
        "x",
        [3, 5],
        "x does not require grad",
    ),
    "retain_grad": (
        "import torch\nx = torch.tensor(1.)\ny = x * 2\ny.retain_grad()\n",
        "no leaf requires grad",
        "y",
        [2, 3, 4],
        "y does not require grad",
    ),
    "numpy": (LEAF + "w.numpy()\n", "numpy", "w", [2, 3], "w requires grad"),
    "integers": (
        "import torch\nw = torch.tensor([1, 2], requires_grad=True)\n",
        "integer",
        "the tensor",
        [2],
        "integers",
    ),
    "forward without apply": (
        "import torch\nclass F(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
        "        ctx.save_for_backward(x)\n        return x * 2\nw = torch.tensor(3., requires_grad=True)\n"
        "y = F.forward(None, w)\n",
        "forward without apply",
        "F",
        [8, 5],
        "F.forward was called directly on line 8",
    ),
    "no derivative": (
        "import torch\nw = torch.tensor(3., requires_grad=True)\ny = (w // 2) * 5\ny.backward()\n",
        "no derivative",
        "w",
        [3, 4],
        "floor_divide on line 3 has no derivative",
    ),
    "a gradient without create_graph": (
        "import torch\nx = torch.tensor(2., requires_grad=True)\ng, = torch.autograd.grad(x ** 2, x)\ng.backward()\n",
        "no create_graph",
        "g",
        [3, 4],
        "autograd.grad was called without create_graph=True",
    ),
    "the graph of the step before": (
        "import torch\nw = torch.tensor(0.5, requires_grad=True)\nh = torch.tensor(1.)\nfor t in range(2):\n"
        "    h = torch.tanh(w * h)\n    h.backward()\n",
        "freed",
        "h",
        [5, 6, 6, 6],
        "h's graph was used a second time: the backward on line 6",
    ),
}
