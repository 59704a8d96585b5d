"""`gradtrace.torch.guard`: a bad step is repeated under a recorder, and leaves everything as the step itself did."""

import io

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

import gradtrace.torch as gt  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


def training(guarded):
    """Three steps, the last one with a log of zero; the state afterwards, what the guard wrote, and the guard."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    x = torch.randn(6, 4)
    told = io.StringIO()

    def step(scale):
        optimizer.zero_grad()
        loss = torch.log(model(x).abs() * scale).mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    run = gt.guard(step, out=told) if guarded else step
    losses = [run(scale) for scale in (1.0, 1.0, 0.0)]
    state = [*losses, *model.state_dict().values(), *(p.grad for p in model.parameters()), torch.get_rng_state()]
    moments = [v for s in optimizer.state_dict()["state"].values() for v in s.values()]
    return [*state, *moments], told.getvalue(), run


def test_a_bad_step_is_explained_and_nothing_else_changes():
    wanted, nothing, _ = training(guarded=False)
    found, told, run = training(guarded=True)
    assert not nothing
    for a, b in zip(found, wanted, strict=True):
        assert torch.equal(a.nan_to_num(7.0), b.nan_to_num(7.0))
    assert told.startswith("gradtrace guard: a gradient is not finite; this step was repeated under a recorder:")
    assert "log on line" in told
    assert "12 of 12 elements of" in told and "are 0" in told
    assert run.guard.recorded.trace().passes


def test_it_answers_once_by_default():
    model = nn.Linear(2, 1)
    told = io.StringIO()

    @gt.guard(out=told)
    def step():
        loss = model(torch.ones(1, 2)).sum() * float("nan")
        loss.backward()
        return loss

    step()
    step()
    assert told.getvalue().count("gradtrace guard:") == 1


def test_a_good_step_says_nothing():
    model = nn.Linear(2, 1)
    told = io.StringIO()

    @gt.guard(out=told)
    def step():
        loss = model(torch.ones(1, 2)).sum()
        loss.backward()
        return loss

    assert step().item() == model(torch.ones(1, 2)).item()
    assert told.getvalue() == ""


def test_a_second_backward_after_the_update_is_checked_too():
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    out = io.StringIO()

    @gt.guard(out=out)
    def step():
        model.weight.sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        (model.weight * 0).sqrt().sum().backward()

    step()
    assert "a gradient is not finite" in out.getvalue()
