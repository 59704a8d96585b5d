"""A cause that `why` names explains the run: a number on a path to the loss, a write that made a gradient 0, the end of
a range that overflows, gradients that stay over updates.
"""

import re

import pytest

pytest.importorskip("torch")
from tests.healthy.test_sentences import HEAD, in_gradtrace, in_pytorch

pytestmark = pytest.mark.filterwarnings("ignore")
both_engines = pytest.mark.parametrize("ask", [in_gradtrace, in_pytorch])

TWO_LAYERS = """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
    def forward(self, x):
        return FORWARD
def norm_of(p):
    return p.norm().item()
net, log = Net(), []
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(2):
    loss = net(torch.randn(8, 4)).pow(2).mean()
    BODY
    opt.zero_grad()
    loss.backward()
    opt.step()
END
"""
NORMS = "{n: p.norm().item() for n, p in net.named_parameters()}"
# id: (forward, a statement before backward, one at the end)
ONLY_SHOWN = {
    "norms printed at the end": ("self.a(x)", "", f"print({NORMS})"),
    "norms kept in each step": ("self.a(x)", f"log.append({NORMS})", ""),
    "means of detached weights": (
        "self.a(x)",
        "log.append({n: p.detach().abs().mean().item() for n, p in net.named_parameters()})",
        "",
    ),
    "weights as arrays": (
        "self.a(x)",
        "",
        "w = {n: p.detach().numpy().copy() for n, p in net.named_parameters()}",
    ),
    "a sum under no_grad": (
        "self.a(x)",
        "",
        "with torch.no_grad():\n    print(sum(p.pow(2).sum() for p in net.parameters()))",
    ),
    "a tensor that is printed": ("self.a(x)", "print(net.b.weight.norm())", ""),
    "an f-string": ("self.a(x)", "print(f'{float(net.b.weight.norm()):.3f}')", ""),
    "a function of the program": ("self.a(x)", "log.append(norm_of(net.b.weight))", ""),
    "a list of numbers": ("self.a(x)", "", "print(net.b.weight.tolist())"),
    "a condition": ("self.a(x)", "assert net.b.weight.abs().max().item() < 100", ""),
    "a comparison": ("self.a(x)", "log.append((net.b.weight > 0).sum().item())", ""),
}
CUT = {
    "a factor": ("self.a(x)", "loss = loss * net.b.weight.norm().item()", ""),
    "a function of the program": ("self.a(x)", "loss = loss + norm_of(net.b.weight)", ""),
    "variables": (
        "self.a(x)",
        "s = float(net.b.weight.norm())\n    t = 2 * s\n    loss = loss * t",
        "",
    ),
    "a new tensor": ("self.a(x)", "loss = loss * torch.tensor(net.b.weight.norm().item())", ""),
    "a list": (
        "self.a(x)",
        "parts = [p.norm().item() for p in net.b.parameters()]\n    loss = loss + sum(parts)",
        "",
    ),
    "a dict": (
        "self.a(x)",
        "d = {}\n    d['w'] = net.b.weight.norm().item()\n    loss = loss + d['w']",
        "",
    ),
    "an attribute": (
        "self.a(x)",
        "net.s = net.b.weight.norm().item()\n    loss = loss * net.s",
        "",
    ),
    "forward": ("self.a(x) * self.b.weight.norm().item()", "", ""),
}


def written(path, forward, body, end):
    text = TWO_LAYERS.replace("FORWARD", forward).replace(
        "    BODY\n", f"    {body}\n" if body else ""
    )
    path.write_text(HEAD + text.replace("END\n", f"{end}\n" if end else ""))
    return path


@pytest.mark.sampled(8)
@both_engines
@pytest.mark.parametrize("case", ONLY_SHOWN)
def test_a_number_that_is_only_shown_does_not_explain_a_gradient(tmp_path, capfd, case, ask):
    path = written(tmp_path / "train.py", *ONLY_SHOWN[case])
    for names in ((), ("net.b.weight",)):
        answer = " ".join(ask(path, "why", *names).split())
        assert re.search(
            "net.b.weight.grad is None(, and 1 more like it)?: net.b is (not used for loss|never used): no operation "
            "(that leads to loss )?reads its parameters",
            answer,
        ), answer
        assert "left the graph" not in answer and "without ." not in answer, answer


@both_engines
@pytest.mark.parametrize("case", CUT)
def test_a_number_that_reaches_the_loss_explains_a_gradient(tmp_path, case, ask):
    path = written(tmp_path / "train.py", *CUT[case])
    answer = " ".join(ask(path, "why").split())
    assert re.search(
        r"net.b.weight.grad is None.*(left the graph as a Python number|copied into a new)", answer
    ), answer


# id: (program, names, what the answer must contain and what it must not)
NONE = {
    "a layer cut by detach": (
        "enc, head = nn.Linear(4, 4), nn.Linear(4, 1)\n"
        "opt = torch.optim.SGD([*enc.parameters(), *head.parameters()], lr=0.1)\n"
        "for step in range(3):\n    h = enc(torch.randn(8, 4)).detach()\n    loss = head(h).pow(2).mean()\n"
        "    opt.zero_grad()\n    loss.backward()\n    opt.step()\n"
        "print([p.norm().item() for p in enc.parameters()])\n",
        "",
        r"enc.weight.grad is None, .* only through detach\(\) on line 7",
        "item",
    ),
    "a target network": (
        "net, target, log_alpha = nn.Linear(4, 1), nn.Linear(4, 1), torch.zeros((), requires_grad=True)\n"
        "opt, opt_a = torch.optim.SGD(net.parameters(), lr=0.1), torch.optim.SGD([log_alpha], lr=0.1)\n"
        "for step in range(2):\n    x = torch.randn(8, 4)\n    with torch.no_grad():\n"
        "        goal = 1 + 0.9 * target(x)\n    loss = (net(x) - goal).pow(2).mean()\n"
        "    opt.zero_grad()\n    loss.backward()\n    opt.step()\n"
        "    a_loss = -(log_alpha * (net(x).detach().mean() - 2)).mean()\n"
        "    opt_a.zero_grad()\n    a_loss.backward()\n    opt_a.step()\n"
        "    print(loss.item(), log_alpha.exp().item())\n",
        "target.weight",
        "loss depends on it only through (linear|t) on line 9, which ran under no_grad",
        "item",
    ),
    "autograd.grad": (
        "x = torch.tensor(2.0, requires_grad=True)\ny = x ** 2\ng = torch.autograd.grad(y, x)[0]\n"
        "print(f'{g}, {x.grad}')\nx2 = torch.tensor(2.0, requires_grad=True)\ny2 = x2 ** 2\ny2.backward()\n",
        "x",
        "autograd.grad returns gradients, it stores none in .grad",
        "left the graph",
    ),
    "a Hessian": (
        "from torch.autograd.functional import hessian\nxh = torch.tensor(2.0, requires_grad=True)\n"
        "H = hessian(lambda t: t ** 4, xh)\nprint(H.item())\nx5 = torch.tensor(2.0, requires_grad=True)\n"
        "y5 = x5 ** 3\ny5.backward()\n",
        "xh",
        "autograd.grad returns gradients, it stores none in .grad",
        "left the graph",
    ),
    "another result": (
        "w = torch.tensor(2.0, requires_grad=True)\nx = torch.tensor(3.0)\ny = w * x\nprint('y =', y.item())\n"
        "a = torch.tensor(1.0, requires_grad=True)\nb = a * 5\nb.backward()\n",
        "w",
        "what was computed from it is not part of b",
        "left the graph",
    ),
}


@both_engines
@pytest.mark.parametrize("case", NONE)
def test_what_explains_a_gradient_of_none(tmp_path, capfd, case, ask):
    program, names, said, never = NONE[case]
    path = tmp_path / "train.py"
    path.write_text(HEAD + program)
    answer = " ".join(ask(path, "why", *names.split()).split())
    assert re.search(said, answer), answer
    assert never not in answer, answer


def test_a_checkpoint_explains_a_gradient_whose_parameter_is_printed(tmp_path, capfd):
    path = tmp_path / "train.py"
    path.write_text(
        HEAD
        + "from torch.utils.checkpoint import checkpoint\nblock, head = nn.Linear(4, 4), nn.Linear(4, 1)\n"
        "opt = torch.optim.SGD([*block.parameters(), *head.parameters()], lr=0.1)\n"
        "for step in range(3):\n    x = torch.randn(8, 4)\n"
        "    loss = head(checkpoint(block, x, use_reentrant=True)).pow(2).mean()\n"
        "    opt.zero_grad()\n    loss.backward()\n    opt.step()\n"
        "print([p.norm().item() for p in block.parameters()])\n"
    )
    answer = " ".join(in_pytorch(path, "why").split())
    assert (
        "no recorded operation that leads to loss reads them, and checkpoint(use_reentrant=True) on line 9"
        in answer
    )
    assert "item" not in answer, answer


# ---- writes to gradients

DEAD = (
    "model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))\n"
    "START"
    "opt = torch.optim.SGD(model.parameters(), lr=0.1)\n"
    "for step in range(3):\n    loss = (model(torch.randn(16, 4)) - 1).pow(2).mean()\n"
    "    opt.zero_grad()\n    loss.backward()\n    WRITE\n    opt.step()\n"
)
NEGATIVE = "nn.init.constant_(model[0].bias, -100.0)\n"
WRITES = {
    "clip_grad_norm_": "nn.utils.clip_grad_norm_(model.parameters(), 1.0)",
    "clip_grad_norm_ one by one": "nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=False)",
    "clip_grad_value_": "nn.utils.clip_grad_value_(model.parameters(), 0.5)",
    "a factor": "for p in model.parameters(): p.grad.mul_(0.5)",
    "a division": "for p in model.parameters(): p.grad /= 4",
}


@both_engines
@pytest.mark.parametrize("write", WRITES)
def test_a_write_to_zeros_does_not_explain_them(tmp_path, write, ask):
    path = tmp_path / "train.py"
    path.write_text(HEAD + DEAD.replace("START", NEGATIVE).replace("WRITE", WRITES[write]))
    for names in ((), ("model.2.weight",)):
        answer = " ".join(ask(path, "why", *names).split())
        assert re.search(
            "model.2.weight.grad is 0.*relu on line 8 gets nothing but negative numbers", answer
        ), answer
        assert "set to zero" not in answer, answer


def test_a_write_of_several_gradients_to_zeros_does_not_explain_them(tmp_path):
    path = tmp_path / "train.py"
    write = "torch._foreach_mul_([p.grad for p in model.parameters()], 0.5)"
    path.write_text(HEAD + DEAD.replace("START", NEGATIVE).replace("WRITE", write))
    assert "set to zero" not in in_pytorch(path, "why", "model.2.weight")


@both_engines
@pytest.mark.parametrize(
    "first",
    [
        "model[2].weight.grad.mul_(0.0)",
        "model[2].weight.grad.zero_()",
        "opt.zero_grad(set_to_none=False)",
    ],
)
def test_the_first_write_that_leaves_zeros_explains_them(tmp_path, first, ask):
    path = tmp_path / "train.py"
    write = f"{first}\n    nn.utils.clip_grad_norm_(model.parameters(), 1.0)"
    path.write_text(HEAD + DEAD.replace("START", "").replace("WRITE", write))
    answer = " ".join(ask(path, "why", "model.2.weight").split())
    assert (
        "model.2.weight.grad is 0: it was set to zero on line 10, where it was between" in answer
    ), answer


@both_engines
@pytest.mark.parametrize(("norm", "is_said"), [(1000.0, False), (0.001, True)])
def test_a_clip_is_named_if_it_changed_the_gradient(tmp_path, norm, is_said, ask):
    path = tmp_path / "train.py"
    write = f"nn.utils.clip_grad_norm_(model.parameters(), {norm})"
    path.write_text(HEAD + DEAD.replace("START", "").replace("WRITE", write))
    assert ("clip_grad_norm_" in ask(path, "why", "model.2.weight")) is is_said


# ---- the end that overflows

POINTS = {
    "exp": ("torch.linspace(-120, 100, 50)", "torch.exp(w * x)", "w * x goes up to 100"),
    "expm1": ("torch.linspace(-300, 100, 50)", "torch.expm1(w * x)", "w * x goes up to 100"),
    "cosh": ("torch.linspace(-120, 50, 50)", "torch.cosh(w * x)", "w * x goes down to -120"),
    "sinh": ("torch.linspace(-20, 150, 50)", "torch.sinh(w * x)", "w * x goes up to 150"),
    "pow": ("torch.linspace(-3, 1e20, 50)", "(w * x) ** 2", "w * x goes up to 1e+20"),
    "square": ("torch.linspace(-1e20, 3, 50)", "torch.square(w * x)", "w * x goes down to -1e+20"),
    "mul": ("torch.linspace(-3, 1e30, 50)", "w * x * 1e10", "w * x goes up to 1e+30"),
    "log": ("torch.linspace(0, 10, 50)", "torch.log(w * x)", "1 of 50 elements of w * x are 0"),
    "log below 0": (
        "torch.linspace(-3, 10, 50)",
        "torch.log(w * x)",
        "negative number (w * x goes down to -3)",
    ),
    "log1p": (
        "torch.linspace(-3, 10, 50)",
        "torch.log1p(w * x)",
        "outside of [-1, inf) (w * x goes down to -3)",
    ),
    "sqrt": (
        "torch.linspace(-3, 10, 50)",
        "torch.sqrt(w * x)",
        "negative number (w * x goes down to -3)",
    ),
    "its derivative": (
        "torch.linspace(0, 10, 50)",
        "torch.sqrt(w * x)",
        "1 of 50 elements of w * x are 0",
    ),
    "acos": (
        "torch.linspace(-0.5, 1.5, 50)",
        "torch.acos(w * x)",
        "outside of [-1, 1] (w * x goes up to 1.5)",
    ),
    "reciprocal": (
        "torch.linspace(-5, 7, 49).index_fill(0, torch.tensor([3]), 1e-40)",
        "torch.reciprocal(w[1:] * x)",
        "an element of w[1:] * x is 1e-40",
    ),
    "div": ("torch.linspace(1e-40, 7, 50)", "w / x", "x goes down to 1e-40"),
    "div of large numbers": (
        "torch.linspace(-3, 1e38, 50)",
        "w * x / 1e-5",
        "w * x goes up to 1e+38",
    ),
    "softplus by hand": (
        "torch.linspace(-500, 200, 50)",
        "torch.log(1 + torch.exp(w * x))",
        "w * x goes up to 200",
    ),
    "a sum": ("torch.linspace(-3, 3e38, 50)", "(w * x).sum()", "w * x goes up to 3e+38"),
}


@pytest.mark.sampled(20)
@both_engines
@pytest.mark.parametrize("limit", ["", "1000"])
@pytest.mark.parametrize("case", POINTS)
def test_the_end_of_the_range_that_is_not_finite_is_named(tmp_path, monkeypatch, case, limit, ask):
    numbers, call, said = POINTS[case]
    if limit and (case in ("reciprocal", "div", "div of large numbers") or ask is in_pytorch):
        pytest.skip("only the statistics of the elements are known")
    if limit:
        monkeypatch.setenv("GRADTRACE_MAX_RECORD", limit)
        numbers, said = numbers.replace("50)", "5000)"), said.replace("of 50", "of 5000")
    path = tmp_path / "train.py"
    size = 5000 if limit else 50
    given = f"w = torch.ones({size}, requires_grad=True)\nx = {numbers}\n"
    path.write_text(f"{HEAD}{given}y = {call}\nloss = y.sum()\nloss.backward()\n")
    answer = " ".join(ask(path, "why").split())
    assert said in answer, answer


# ---- gradients over updates

MICRO = (
    "net = nn.Linear(4, 1)\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\nx = torch.randn(4, 2, 4)\n"
    "for step in range(STEPS):\n    opt.zero_grad()\n    for i in range(4):\n"
    "        loss = net(x[i]).pow(2).mean() / 4\n        loss.backward()\n    opt.step()\n"
)


@both_engines
@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.parametrize("share", [" / 4", ""])
def test_micro_batches_of_an_update_accumulate_on_purpose(tmp_path, steps, share, ask):
    path = tmp_path / "train.py"
    path.write_text(HEAD + MICRO.replace("STEPS", str(steps)).replace(" / 4", share))
    answer = " ".join(ask(path, "why").split())
    counted = "3 steps, loss [^;]*; 2 parameters changed by SGD and by nothing else; all 2"
    if steps == 1:
        counted = "2 parameters changed by SGD and by nothing else; all 2"
    assert re.match(f"Checked: {counted} parameters have gradients", answer), answer
    answer = " ".join(ask(path, "why", "net.weight").split())
    assert re.search(
        r"4 passes added up (for the update on line 12|since it was cleared on line 8)", answer
    ), answer
    assert "zero_grad()," not in answer and "before each backward" not in answer, answer


@both_engines
def test_gradients_that_stay_over_updates_accumulate(tmp_path, ask):
    path = tmp_path / "train.py"
    path.write_text(HEAD + MICRO.replace("STEPS", "2").replace("    opt.zero_grad()\n", ""))
    answer = " ".join(ask(path, "why").split())
    assert "no zero_grad() clears them between the steps" in answer, answer


# ---- zeros by design

LEFT_IN = {
    "a module": "class Metric(nn.Module):\n    def forward(self, p):\n        return (p - 1).pow(2).mean().item()\n"
    "value = Metric()(layer(x))\n",
    "a tuple": "def step(x):\n    out = layer(x)\n    return (out - 1).pow(2).mean().item(), out\n"
    "value, out = step(x)\n",
    "a method": "class Trainer:\n    def loss(self, x):\n        return float((layer(x) - 1).pow(2).mean())\n"
    "value = Trainer().loss(x)\n",
}


@both_engines
@pytest.mark.parametrize("place", LEFT_IN)
def test_a_number_explains_a_run_that_trains_nothing(tmp_path, place, ask):
    text = "layer, x = nn.Linear(3, 1), torch.ones(2, 3)\nopt = torch.optim.SGD(layer.parameters(), lr=0.1)\n"
    text += (
        LEFT_IN[place]
        + "loss = torch.tensor(value, requires_grad=True)\nloss.backward()\nopt.step()\n"
    )
    (tmp_path / "p.py").write_text(HEAD + text)
    said = " ".join(ask(tmp_path / "p.py", "why").split())
    assert "layer.weight.grad is None" in said and "left the graph as a Python number" in said
    assert "Checked: " not in said


@both_engines
def test_an_update_by_data_does_not_clear_gradients(tmp_path, ask):
    text = "w, x = torch.ones(3, requires_grad=True), torch.arange(3.0)\nfor i in range(3):\n"
    text += "    loss = ((w * x).sum() - 1) ** 2\n    loss.backward()\n    w.data = w.data - 0.01 * w.grad\n"
    (tmp_path / "p.py").write_text(HEAD + text)
    assert "gradients accumulate" in ask(tmp_path / "p.py", "why")


ADAPTERS = """class Adapter(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.up = nn.Linear(8, 2, bias=False), nn.Linear(2, 8, bias=False)
        nn.init.zeros_(self.up.weight)
    def forward(self, x):
        return x + self.up(self.down(x))
model = nn.Sequential(Adapter(), nn.Tanh(), Adapter())
model[2].down.weight.data.zero_()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(16, 8)
for step in range(STEPS):
    loss = model(x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


@both_engines
@pytest.mark.parametrize("steps", [1, 2])
def test_a_dead_adapter_is_told_from_those_that_start_at_0(tmp_path, steps, ask):
    path = tmp_path / "train.py"
    path.write_text(HEAD + ADAPTERS.replace("STEPS", str(steps)))
    answer = " ".join(ask(path, "why").split())
    assert re.match(
        r"model.2.(up|down).weight.grad is 0, and 1 more like it: .*model.2.down.weight is 0",
        answer,
    ), answer
