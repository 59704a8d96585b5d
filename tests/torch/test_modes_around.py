"""A record does not depend on the modes around it, and what records, guards and flight recorders do themselves is seen
by no mode and no class of the program.
"""

import contextlib

import pytest

torch = pytest.importorskip("torch")
gt = pytest.importorskip("gradtrace.torch")

from torch import nn  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

from tests.torch.test_modes import (  # noqa: E402
    KINDS,
    LEVELS,
    Functions,
    Operations,
    Scaled,
    first_difference,
    name_of,
    no_mode_is_left,
    outcome,
)

pytestmark = pytest.mark.filterwarnings("ignore")
AROUND = {
    "a device": lambda: torch.device("cpu"),
    "functions": lambda: Functions("f", []),
    "operations": lambda: Operations("o", []),
}


def training(around):
    """A step whose custom Function, NaN, factories and backward are in a mode."""
    torch.manual_seed(0)
    x, w = torch.randn(64, 32).requires_grad_(), torch.randn(64, 32)
    h = x.log()
    for _ in range(40):  # their statistics are computed when a buffer is full
        h = h * 0.99
    with around:
        y = Scaled.apply(h, []) * w + torch.zeros(64, 32)
        z = checkpoint(lambda t: t.exp() * 2, y, use_reentrant=False)
        z.sum().backward()
    return x


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("around", AROUND)
def test_a_record_is_the_same_in_a_mode(level, around):
    traces = []
    for context in (contextlib.nullcontext(), AROUND[around]()):
        with gt.record(level) as recorded:
            x = training(context)
        traces.append(recorded.trace())
    plain, found = traces
    assert [one.name for one in found.operations] == [one.name for one in plain.operations]
    assert "isnan" not in {one.name for one in found.operations}
    summaries = [
        [t.value.summary for t in trace.tensors if t.value is not None] for trace in traces
    ]
    assert list(map(repr, summaries[1])) == list(map(repr, summaries[0]))
    if level in ("summary", "compare", "precision"):
        products = [
            found.tensors[one.outputs[0]].value.summary
            for one in found.operations
            if one.name == "mul"
        ]
        assert {one.nan for one in products[:40]} == {int(x.detach().log().isnan().sum())}


def test_answers_are_computed_on_the_cpu_and_are_not_seen():
    x = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
    log = []
    torch.set_default_device("meta")
    try:
        with gt.record() as recorded:
            x.log().sum().backward()
        with Functions("f", log), Operations("o", log):
            answer = recorded.why()
            recorded.stats()
            recorded.steps()
            explained = gt.why(x)
    finally:
        torch.set_default_device(None)
    assert "log" in answer
    assert "norm" in explained
    assert log == []


class Seen(torch.Tensor):
    """A class of the program that notes the functions that it sees."""

    log = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.log.append(name_of(func))
        return super().__torch_function__(func, types, args, kwargs or {})


@pytest.mark.parametrize("level", LEVELS)
def test_a_subclass_sees_only_the_calls_of_the_program(level):
    def run():
        Seen.log = []
        x = torch.arange(4.0).as_subclass(Seen).requires_grad_()
        y = (x * 2).exp()
        y[0].item()
        y.sum().backward()
        p = x.data
        p.add_(1)
        x.grad.zero_()
        x.grad = None
        x.requires_grad_(False)
        torch.tensor([p[0], p[1]])
        return Seen.log

    if level == "precision" and not has_subclasses_in_dispatch_modes():
        pytest.skip("PyTorch 2.4 makes no tensor of a subclass in a TorchDispatchMode")
    wanted = run()
    with gt.record(level):
        found = run()
    assert found == wanted


def has_subclasses_in_dispatch_modes():
    try:
        with Operations("", []):
            torch.arange(4.0).as_subclass(Seen)
    except RuntimeError:
        return False
    return True


# ---- guards and flight recorders


def trained(log, watched):
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Linear(3, 4, device="cpu"),
        nn.BatchNorm1d(4, device="cpu"),
        nn.Linear(4, 1, device="cpu"),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)

    def step(x):
        optimizer.zero_grad()
        loss = Scaled.apply(model(x), log).square().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss

    step, end = watched(step, model, optimizer, scaler)
    losses = []
    for _ in range(3):
        losses.append(step(torch.randn(5, 3, device="cpu")))
        end(losses[-1])
    return [*losses, *model.parameters()]


def as_it_is(step, model, optimizer, scaler):
    return step, lambda loss: None


def with_guard(step, model, optimizer, scaler):
    return gt.guard(step, spike=1000.0), lambda loss: None


def with_flight(path):
    def watched(step, model, optimizer, scaler):
        flight = gt.flight(path, model, optimizer, every=2, outputs=True)
        return step, flight.step

    return watched


@pytest.mark.parametrize("kind", ["guard", "flight", "flight in a recording"])
@pytest.mark.parametrize("around", KINDS)
def test_modes_see_nothing_of_a_guard_or_a_flight_recorder(kind, around, tmp_path):
    watched = with_guard if kind == "guard" else with_flight(tmp_path / "run.gtlog")
    recording = gt.record() if "recording" in kind else contextlib.nullcontext()
    kinds = KINDS[around], KINDS[around]
    torch.set_default_device("cpu")
    try:
        wanted = outcome(lambda log: trained(log, as_it_is), contextlib.nullcontext(), *kinds)
        found = outcome(lambda log: trained(log, watched), recording, *kinds)
    finally:
        torch.set_default_device(None)
    assert found == wanted, first_difference(found, wanted)
    assert no_mode_is_left()
