"""`spike=` of the guards: a loss far above those of the steps before it is reported, with a capsule, a few times."""

import io

import numpy
import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

import gradtrace.torch as gt  # noqa: E402
from gradtrace.analysis.facts import names_scaler  # noqa: E402
from gradtrace.errors import UsageError  # noqa: E402
from gradtrace.torch.guard_losses import LossLevels  # noqa: E402

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("forkable")]
STEPS = 120


def batches(spikes):
    torch.manual_seed(1)
    return [torch.randn(8, 4) * (30 if number in spikes else 1) for number in range(STEPS)]


class Training:
    """Steps of a model with dropout, whose batches at `spikes` are too large; `how` is "step" or "loop"."""

    def __init__(self, how, spikes=(), is_guarded=True, **options):
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.2), nn.Linear(8, 1))
        self.optimizer = torch.optim.Adam(self.model.parameters(), 1e-3)
        self.told, self.losses = io.StringIO(), []
        step = self.step
        loader = batches(spikes)
        if is_guarded and how == "step":
            step = gt.guard(out=self.told, **options)(step)
        if is_guarded and how == "loop":
            loader = gt.watch(loader, self.model, self.optimizer, out=self.told, **options)
        for x in loader:
            self.losses.append(step(x))

    def step(self, x):
        self.optimizer.zero_grad()
        loss = self.model(x).square().mean()
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def state(self):
        return [*self.model.state_dict().values(), *self.losses, torch.get_rng_state()]


def again(model, x):
    model.zero_grad()
    loss = model(x).square().mean()
    loss.backward()
    return loss


def make():
    return nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.2), nn.Linear(8, 1))


@pytest.mark.parametrize(
    ("how", "file"), [("step", "step-81.gtc"), ("loop", "epoch-0-batch-80.gtc")]
)
def test_a_loss_far_above_the_others_gets_a_capsule_and_nothing_else_changes(tmp_path, how, file):
    found = Training(how, {80}, spike=20, capsule=tmp_path)
    wanted = Training(how, {80}, is_guarded=False)
    assert all(map(torch.equal, found.state(), wanted.state()))
    told = found.told.getvalue()
    assert (
        f"backward began at {found.losses[80]:.4g}, " in told
        and " robust deviations above the median of the steps" in told
    )
    assert "this step was repeated under a recorder, where everything was finite.\n" in told
    assert "another loss" not in told and "What is known" not in told
    assert [one.name for one in tmp_path.iterdir()] == [file]
    replay = gt.replay(tmp_path / file, again, make)
    assert replay[1:4] == (True, True, [])


def test_a_few_capsules_are_written_of_many_such_losses(tmp_path):
    spikes = set(range(20, STEPS, 12))
    found = Training("step", spikes, spike=20, capsule=tmp_path)
    assert found.told.getvalue().count("robust deviations") == len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize("options", [{}, {"spike": 20}, {"spike": 12.5}])
def test_a_healthy_training_says_nothing(options):
    spikes = () if options else {80}  # without the option no loss is judged
    assert Training("step", spikes, **options).told.getvalue() == ""


def test_nan_is_answered_after_a_spike():
    told = io.StringIO()
    model = nn.Linear(4, 1)

    @gt.guard(out=told, spike=20)
    def step(x):
        model.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        return loss.detach()

    for x in batches({30}):
        step(x)
    assert "robust deviations" in told.getvalue()
    step(torch.full((8, 4), float("nan")))
    assert "the loss is not finite; this step was repeated under a recorder:" in told.getvalue()


@pytest.mark.parametrize("spike", [0, -1.0, float("nan")])
def test_only_a_positive_number_is_taken(spike):
    with pytest.raises(UsageError, match="spike is"):
        gt.guard(spike=spike)


def far(losses, spike=12.0):
    levels = LossLevels(spike)
    return [what for loss in losses if (what := levels.far((0, 1), loss))]


def test_losses_that_were_as_large_before_or_are_mostly_0_are_not_reported():
    assert far([30.0 + i % 7 if i % 3 == 2 else 1.0 + 0.01 * (i % 5) for i in range(60)]) == []
    assert far([0.3 * i if i % 9 == 8 else 0.0 for i in range(60)]) == []
    assert len(far([*(1.0 + 0.01 * (i % 5) for i in range(60)), 30.0])) == 1


@pytest.mark.parametrize("tail", ["exponential", "chi-squared", "normal"])
def test_losses_with_a_long_tail_are_not_reported_and_a_spike_among_them_is(tail):
    alarms = found = 0
    for seed in range(200):
        draw = numpy.random.default_rng(seed)
        losses = {
            "exponential": draw.exponential,
            "chi-squared": draw.standard_gamma,
            "normal": draw.normal,
        }
        losses = losses[tail](**({"shape": 0.5} if tail == "chi-squared" else {}), size=500) + 3 * (
            tail == "normal"
        )
        alarms += bool(far(losses.tolist()))
        found += bool(far([*losses[:60].tolist(), 10 * losses[10:60].max()]))
    assert alarms <= 2 and found == 200


def run(steps, backward):
    """Run guarded steps, each with a loss and what `backward(loss, parameter)` does with it."""
    told, parameter = io.StringIO(), torch.ones((), requires_grad=True)
    optimizer = torch.optim.SGD([parameter], 0.0)

    @gt.guard(out=told, spike=12)
    def step(number, size):
        optimizer.zero_grad()
        backward(number, parameter * size)
        optimizer.step()

    for number in range(steps):
        step(number, 500.0 if number == steps - 1 else 1.0 + 0.01 * (number % 5))
    return told.getvalue()


def test_a_pass_that_only_some_steps_have_does_not_shift_the_places():
    def backward(number, loss):
        if number % 8 == 7:
            (loss * 100).backward(retain_graph=True)
        loss.backward()

    told = run(39, backward)
    assert told.count("backward began at") == told.count("backward began at 500, ") == 1


def test_a_loss_is_judged_without_the_scale_of_the_scaler_that_has_scaled_it():
    one, two = (torch.amp.GradScaler("cpu", init_scale=size) for size in (2.0**10, 2.0**4))
    told = run(30, lambda number, loss: (one if number % 2 else two).scale(loss).backward())
    assert "backward began at 500, before a GradScaler's scale, " in told
    assert "backward began at 500, " in run(30, lambda number, loss: (one, loss.backward()))


def test_what_follows_a_spike_in_the_same_step_is_checked():
    told = run(30, lambda number, loss: loss.backward())
    assert told.count("repeated") == 1
    told, weights = io.StringIO(), [torch.ones((), requires_grad=True) for _ in range(2)]
    optimizers = [torch.optim.SGD([one], 0.0) for one in weights]

    @gt.guard(out=told, spike=12)
    def step(*sizes):
        for weight, optimizer, size in zip(weights, optimizers, sizes):
            optimizer.zero_grad()
            (weight * size).backward()
            optimizer.step()

    for number in range(30):
        step(1.0 + 0.01 * (number % 5), 1.0)
    step(500.0, float("nan"))
    assert (
        "backward began at 500" in told.getvalue()
        and "a gradient is not finite; this step" in told.getvalue()
    )


def test_a_scale_method_of_another_class_is_not_a_grad_scaler():
    class Units:
        scale = torch.mul

    weight, units = torch.ones((), requires_grad=True), Units
    with gt.record() as recorded:
        loss = weight * 2.0
        units.scale(loss, 100.0).backward()
    assert not names_scaler(recorded.trace()._replace(source_text="", files=()))
