"""Modes of the program see under a recording what they see without one: the same calls in the same order, with the
same results. None of the recorder's own operations reaches them, or a class of the program.
"""

import contextlib
import threading

import pytest

torch = pytest.importorskip("torch")
gt = pytest.importorskip("gradtrace.torch")

import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402
from torch.overrides import TorchFunctionMode  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")
LEVELS = ["structure", "summary", "compare", "values", "precision"]


def name_of(function):
    owner = getattr(function, "__self__", None)
    name = getattr(function, "__name__", str(function))
    return f"{owner.__name__}.{name}" if name in ("__get__", "__set__", "__delete__") else name


class Functions(TorchFunctionMode):
    """Notes the functions that it sees."""

    def __init__(self, name, log):
        super().__init__()
        self.name = name
        self.log = log

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.log.append((self.name, name_of(func)))
        return func(*args, **(kwargs or {}))


class Operations(TorchDispatchMode):
    """Notes the operations that it sees."""

    def __init__(self, name, log):
        super().__init__()
        self.name = name
        self.log = log

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.log.append((self.name, str(func)))
        return func(*args, **(kwargs or {}))


class Scaled(torch.autograd.Function):
    """Makes tensors in forward and in backward, on the device that is the default there."""

    @staticmethod
    def forward(ctx, x, log):
        ctx.save_for_backward(x)
        ctx.log = log
        log.append(("forward", str(torch.zeros(2).device), torch.get_default_dtype()))
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        ctx.log.append(("backward", str(torch.zeros(2).device)))
        return gradient * x.sign(), None


class Nested(torch.autograd.Function):
    """Differentiates another Function in its forward."""

    @staticmethod
    def forward(ctx, x, log):
        with torch.enable_grad():
            inner = x.detach().requires_grad_()
            out = Scaled.apply(F.softplus(inner), log)
            (ctx.slope,) = torch.autograd.grad(out.sum(), inner)
        return out.detach()

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.slope, None


stored_apply = Scaled.apply


# ---- programs: each returns the tensors that must be equal to the bit


def leaf(*shape):
    return torch.randn(*shape, device="cpu").requires_grad_()


def functions(log):
    x = leaf(4, 6)
    y = F.softmax(F.gelu(x), -1) + F.dropout(F.layer_norm(x, (6,)), 0.3)
    y = y + torch.einsum("ij,kj->ik", y, y).sum() + torch.norm(y) + F.pad(y, (1, 1)).mean()
    torch.nn.init.xavier_uniform_(torch.empty(3, 3, device="cpu"))
    loss = F.cross_entropy(y, torch.tensor([0, 1, 2, 3], device="cpu")) + y.split(2)[0].sum()
    loss.backward()
    return [loss, x.grad]


def custom_functions(log):
    x = leaf(3)
    y = Scaled.apply(x.exp(), log) + stored_apply(x, log) + Nested.apply(x, log)
    y.sum().backward()
    return [y, x.grad]


def checkpoints(log):
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.4), nn.ReLU()).to("cpu")
    results = []
    for is_reentrant in (True, False):
        x = leaf(3, 4)
        y = checkpoint(lambda x: Scaled.apply(model(x), log), x, use_reentrant=is_reentrant)
        y.square().mean().backward()
        results += [y, x.grad]
    return [*results, *(p.grad for p in model.parameters())]


def hooks(log):
    model = nn.Linear(4, 4, device="cpu")
    model.register_forward_hook(lambda module, args, out: out * 2)
    model.register_full_backward_hook(
        lambda module, sent, got: (sent[0] + torch.ones(4, device="cpu"),)
    )
    model.weight.register_post_accumulate_grad_hook(
        lambda p: log.append(("accumulated", float(p.grad.norm())))
    )
    x = leaf(2, 4)
    x.register_hook(lambda g: g.clamp(-1, 1) + torch.zeros(4, device=g.device))
    y = model(x).tanh()
    y.grad_fn.register_prehook(lambda got: (got[0] * 3,))
    y.grad_fn.register_hook(lambda sent, got: (sent[0].abs(),))
    y.retain_grad()
    y.sum().backward()
    return [y, y.grad, x.grad, model.weight.grad]


def backward_in_a_mode(log):
    x = leaf(3, 3)
    y = Scaled.apply(x.sigmoid(), log).sum()
    x.register_hook(lambda g: g * torch.ones(3, 3, device=g.device))
    with Functions("around backward", log):
        torch.autograd.backward(y, retain_graph=True)
        (first,) = torch.autograd.grad(y, x, create_graph=True, retain_graph=True)
        first.sum().backward()
    with torch.device("cpu"):
        Scaled.apply(x.sigmoid(), log).sum().backward()
    return [x.grad, first]


def updates(log):
    model = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1)).to("cpu")
    x = torch.randn(5, 3, device="cpu")
    losses = []
    for kind in (torch.optim.SGD, torch.optim.AdamW, torch.optim.LBFGS):
        optimizer = kind(
            model.parameters(), lr=torch.tensor(0.1) if kind is torch.optim.AdamW else 0.1
        )

        def closure(optimizer=optimizer):
            optimizer.zero_grad(set_to_none=False)
            loss = model(x).square().mean()
            loss.backward()
            return loss

        for _ in range(2):
            losses.append(optimizer.step(closure))
        optimizer.zero_grad()
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with torch.autocast("cpu", torch.bfloat16):
        loss = model(x).float().square().mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return [*losses, loss, *model.parameters()]


def values(log):
    x = leaf(3)
    p = nn.Parameter(x.detach() * 2)
    p.data = p.data + 1
    p.grad = torch.ones(3, device="cpu")
    p.grad.add_(1)
    log.append(("numbers", x.sum().item(), x.tolist(), float(p.max())))
    torch.tensor([x[0].item(), 1.0], device="cpu")
    p.requires_grad_(False)
    p.requires_grad = True
    y = (p * x).detach_()
    y[0] = 3
    q, r = torch.ones(2, device="cpu"), torch.zeros(2, device="cpu")
    torch.utils.swap_tensors(q, r)
    (x * p).sum().backward()
    del x.grad
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t + 0):
        z = x.exp().square().sum()
    z.backward()
    nan = (torch.randn(40, 60, device="cpu") - 9).log() + x.sum()
    for _ in range(30):
        nan = nan * 0.99  # their statistics are computed when a buffer is full
    nan.sum().backward()
    return [p, p.grad, y, q, r, x.grad, nan]


def evaluation(log):
    """A layer takes its fused path for inference only outside of function modes."""
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, device="cpu").eval()
    with torch.no_grad():
        return [layer(torch.randn(2, 5, 8, device="cpu"))]


def devices(log):
    x = leaf(2)

    def made():
        log.append(("device", str(torch.zeros(1).device)))
        return Scaled.apply(x, log)

    for kind in ("meta", "cpu"):
        with torch.device(kind), Functions("in a device", log):
            made()
            with torch.device("cpu"):
                y = made()
            torch.autograd.grad(made().sum().to("cpu"), x, allow_unused=True)
    torch.set_default_device("meta")
    made()
    with torch.device("cpu"), Functions("in a device", log):
        made().sum().backward()
    torch.set_default_device(None)
    made()
    return [x.grad, y]


def threads(log):
    """Another thread has modes of its own."""
    model, results = nn.Linear(3, 3, device="cpu"), []

    def work():
        with Functions("thread", log), torch.device("cpu"):
            x = torch.ones(2, 3).requires_grad_()
            y = Scaled.apply(model(x), log)
            y.sum().backward()
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            optimizer.step()
            optimizer.zero_grad()
            results.extend([x.grad, y])

    worker = threading.Thread(target=work)
    worker.start()
    worker.join()
    y = Scaled.apply(model(torch.ones(3, device="cpu")), log)
    return [*results, y]


PROGRAMS = [
    functions,
    custom_functions,
    checkpoints,
    hooks,
    backward_in_a_mode,
    updates,
    values,
    evaluation,
    devices,
    threads,
]
KINDS = {
    "no mode": [],
    "functions": [Functions],
    "two of functions": [Functions, Functions],
    "operations": [Operations],
    "both": [Operations, Functions],
}
# the modes before the recording and inside of it
OFTEN = [("no mode", "no mode"), ("functions", "two of functions"), ("both", "both")]
PAIRS = [(before, inside) for before in KINDS for inside in KINDS]
ALL_MODES = [
    pair if pair in OFTEN else pytest.param(pair, marks=pytest.mark.slow) for pair in PAIRS
]


def bits(tensor):
    if tensor is None or tensor.is_meta:
        return None if tensor is None else tuple(tensor.shape)
    return (
        str(tensor.dtype),
        tuple(tensor.shape),
        tensor.detach().contiguous().flatten().view(torch.uint8).tolist(),
    )


def outcome(program, recording, before, inside):
    """What the modes and the Functions of a program noted, its results, and the random state after it."""
    torch.manual_seed(3)
    log = []
    with contextlib.ExitStack() as stack:
        for number, kind in enumerate(before):
            stack.enter_context(kind(f"before {number}", log))
        stack.enter_context(recording)
        for number, kind in enumerate(inside):
            stack.enter_context(kind(f"inside {number}", log))
        results = program(log)
    return log, [bits(one) for one in results], torch.get_rng_state().tolist()


def first_difference(found, wanted):
    pairs = enumerate(zip(found[0], wanted[0], strict=False))
    at = next((i for i, (one, other) in pairs if one != other), min(len(found[0]), len(wanted[0])))
    return found[0][max(0, at - 3) : at + 3], wanted[0][max(0, at - 3) : at + 3]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("modes", ALL_MODES, ids=" - ".join)
def test_modes_see_what_they_see_without_a_recording(program, level, modes):
    kinds = [KINDS[one] for one in modes]
    wanted = outcome(program, contextlib.nullcontext(), *kinds)
    recorded = gt.record(level=level)
    found = outcome(program, recorded, *kinds)
    assert found == wanted, first_difference(found, wanted)
    assert no_mode_is_left()
    assert recorded.trace().operations


def no_mode_is_left():
    return not torch._C._len_torch_function_stack() and not torch._C._len_torch_dispatch_stack()
