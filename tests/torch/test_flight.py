"""The flight recorder: what it notes of real training, that it changes nothing, and that its file survives."""

import copy
import os
import signal
import subprocess
import sys
import weakref

import numpy as np
import pytest

torch = pytest.importorskip("torch")
gt = pytest.importorskip("gradtrace.torch")

from gradtrace.trace import flight_log  # noqa: E402


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.gtlog"


def log_of(path):
    with open(path, "rb") as stream:
        return flight_log.read(str(path), stream)


def column(log, name):
    """The noted numbers of a column."""
    at = log.columns.index(name)
    return log.numbers[log.noted[:, at], at]


def net():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3))


def train(model, optimizer, steps, flight=None, scaler=None):
    """Train on random batches; return the norms of each step's gradients, computed beside the recorder."""
    generator, norms = torch.Generator().manual_seed(1), []
    for _ in range(steps):
        x, y = (
            torch.randn(5, 8, generator=generator),
            torch.randint(0, 3, (5,), generator=generator),
        )
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        norms.append(
            [
                float(torch.cat([p.grad.flatten() for p in layer.parameters()]).norm())
                for layer in model[::2]
            ]
        )
        optimizer.step()
        if flight is not None:
            flight.step(loss)
    return np.array(norms)


def test_gradients_updates_and_moments_are_noted(path):
    model = net()
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    before = copy.deepcopy(model.state_dict())
    with gt.flight(path, model, optimizer, every=4) as flight:
        norms = train(model, optimizer, 10, flight)
        assert flight.steps == 10
    log = log_of(path)
    assert log.columns[:3] == ("time", "loss", "lr") and log.steps.tolist() == list(range(1, 11))
    assert np.allclose(
        np.stack([column(log, "grad 0"), column(log, "grad 2")], 1), norms, rtol=1e-5
    )
    old = torch.cat([before["0.weight"].flatten(), before["0.bias"]]).norm()
    assert column(log, "weight 0")[0] == pytest.approx(float(old), rel=1e-5)
    assert column(log, "update 0")[0] == pytest.approx(
        0.01 * 144**0.5 / float(old), rel=1e-2
    )  # Adam's first step is lr
    state = [optimizer.state[p]["exp_avg"] for p in model[2].parameters()]
    assert column(log, "exp_avg 2")[-1] == pytest.approx(
        float(torch.cat([m.flatten() for m in state]).norm()), rel=1e-5
    )
    assert len(column(log, "exp_avg 2")) == 3  # at the steps 4 and 8, and at the end


def test_training_is_not_changed(path):
    states = []
    for recorded in (False, True):
        model = net()
        optimizer = torch.optim.Adam(model.parameters(), 0.01)
        flight = gt.flight(path, model, optimizer, outputs=True) if recorded else None
        train(model, optimizer, 30, flight)
        if flight is not None:
            flight.close()
        states.append(
            [
                *(p.detach().numpy().tobytes() for p in model.parameters()),
                torch.get_rng_state().numpy().tobytes(),
            ]
        )
    assert states[0] == states[1]


def test_a_large_parameter_is_sampled(path):
    torch.manual_seed(0)
    model = torch.nn.Linear(300, 400, bias=False)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    old = model.weight.detach().clone()
    with gt.flight(path, model, optimizer) as flight:
        loss = model(torch.randn(50, 300)).square().sum()
        loss.backward()
        optimizer.step()
        flight.step(loss)
    true = float((model.weight.detach() - old).norm() / old.norm())
    assert column(log_of(path), "update model")[0] == pytest.approx(true, rel=0.1)


def test_only_what_a_step_did_is_noted(path):
    model = net()
    optimizer = torch.optim.SGD(model[2].parameters(), 0.1)
    with gt.flight(path, model, optimizer) as flight:
        for i in range(6):  # accumulation: every second step updates
            loss = model(torch.randn(4, 8)).sum()
            loss.backward()
            if i % 2:
                optimizer.step()
            flight.step(loss if i else None)
    log = log_of(path)
    assert [name for name in log.columns if name.startswith("grad")] == ["grad 2"]
    assert log.noted[:, log.columns.index("grad 2")].tolist() == [False, True] * 3
    assert log.noted[:, 1].tolist() == [False, *[True] * 5]


def test_a_step_that_a_scaler_skips_has_its_scale_and_no_gradient(path):
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    with gt.flight(path, model, optimizer, scaler=scaler, every=1) as flight:
        for factor in (1.0, float("inf"), 1.0):
            optimizer.zero_grad()
            loss = model(torch.ones(2, 8)).sum() * factor
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            flight.step(loss)
    log = log_of(path)
    assert column(log, "loss scale").tolist() == [1024.0, 512.0, 512.0]
    assert log.noted[:, log.columns.index("grad 0")].tolist() == [True, False, True]


def test_nan_is_noted_as_nan(path):
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with gt.flight(path, model, optimizer) as flight:
        loss = model(torch.full((2, 8), float("nan"))).sum()
        loss.backward()
        optimizer.step()
        flight.step(loss)
    assert np.isnan(column(log_of(path), "grad 0")).tolist() == [True]


class Kept:
    def __init__(self):
        self.rows = []

    def log(self, values, step):
        self.rows.append((step, values))


def test_numbers_go_to_a_tracker(path):
    model, kept = net(), Kept()
    optimizer = torch.optim.SGD(model.parameters(), 0.25)
    with gt.flight(path, model, optimizer, every=3, log=kept) as flight:
        train(model, optimizer, 5, flight)
    assert [step for step, _ in kept.rows] == [1, 2, 3, 4, 5]
    assert kept.rows[0][1].keys() == {
        "loss",
        "lr",
        "grad 0",
        "grad 2",
        "weight 0",
        "weight 2",
        "update 0",
        "update 2",
    }
    assert kept.rows[4][1]["lr"] == 0.25 and "time" not in kept.rows[4][1]


def test_numbers_go_to_tensorboard(path, tmp_path):
    writer = pytest.importorskip("tensorboardX").SummaryWriter(str(tmp_path / "runs"))
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), 0.25)
    with gt.flight(path, model, optimizer, log=writer) as flight:
        train(model, optimizer, 5, flight)
    writer.close()
    (events,) = (tmp_path / "runs").iterdir()
    assert b"grad/0" in events.read_bytes() and events.read_bytes().count(b"loss") == 5


def test_a_resumed_run_continues_or_begins_again(path):
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for steps in (7, 5):
        with gt.flight(path, model, optimizer, every=2) as flight:
            train(model, optimizer, steps, flight)
    assert log_of(path).steps.tolist() == list(range(1, 13))
    with gt.flight(path, model, optimizer) as flight:
        flight.step(0.5, number=10)
        flight.step(0.25)
    log = log_of(path)
    assert log.steps.tolist() == list(range(1, 12)) and column(log, "loss")[-2:].tolist() == [
        0.5,
        0.25,
    ]


def test_each_process_has_its_own_file(path, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    model = net()
    gt.flight(path, model, torch.optim.SGD(model.parameters(), 0.1)).close()
    assert [one.name for one in path.parent.iterdir()] == ["run.rank1.gtlog"]


def test_another_model_is_refused(path):
    model = net()
    gt.flight(path, model, torch.optim.SGD(model.parameters(), 0.1)).close()
    with pytest.raises(ValueError, match="another model or optimizer"):
        other = torch.nn.Linear(2, 2)
        gt.flight(path, other, torch.optim.SGD(other.parameters(), 0.1))


def test_an_optimizer_of_another_model_is_refused(path):
    with pytest.raises(ValueError, match="no parameter of the optimizer is the model's"):
        gt.flight(path, net(), torch.optim.SGD(net().parameters(), 0.1))
    assert not path.exists()


def test_hooks_are_taken_off(path):
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    flight = gt.flight(path, model, optimizer, outputs=True)
    train(model, optimizer, 2, flight)
    flight.close()
    flight.close()
    train(model, optimizer, 2, flight)
    assert (
        log_of(path).steps.tolist() == [1, 2]
        and not optimizer._optimizer_step_pre_hooks
        and not model[0]._forward_hooks
    )


KILLED = """
import os, torch
import gradtrace.torch as gt
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.01)
flight = gt.flight("run.gtlog", model, optimizer, every=10)
for i in range(1, 10_000):
    optimizer.zero_grad()
    loss = model(torch.ones(2, 4)).square().mean()
    loss.backward()
    optimizer.step()
    flight.step(loss)
    if i == 137:
        os.kill(os.getpid(), 9)
"""


def test_a_killed_process_loses_the_last_few_steps(tmp_path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    killed = subprocess.run(
        [sys.executable, "-c", KILLED], cwd=tmp_path, env=environment, check=False
    )
    assert killed.returncode == -signal.SIGKILL
    assert log_of(tmp_path / "run.gtlog").steps.tolist() == list(range(1, 131))


def test_modules_are_joined_until_there_are_few(path):
    layers = [torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)) for _ in range(40)]
    model = torch.nn.Sequential(*layers)
    with gt.flight(path, model, torch.optim.SGD(model.parameters(), 0.1)) as flight:
        assert len(flight.groups.names) == 40
    assert [n for n in log_of(path).columns if n.startswith("grad")][:2] == ["grad 0", "grad 1"]


def test_a_parameter_has_columns_of_its_own_on_request(path):
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with gt.flight(path, model, optimizer, parameters="2.*") as flight:
        norms = train(model, optimizer, 30, flight)
    log = log_of(path)
    grads = [name for name in log.columns if name.startswith("grad")]
    assert grads == ["grad 0", "grad 2.weight", "grad 2.bias"]
    assert column(log, "grad 0") == pytest.approx(norms[:, 0], rel=1e-5)
    parts = np.hypot(column(log, "grad 2.weight"), column(log, "grad 2.bias"))
    assert parts == pytest.approx(norms[:, 1], rel=1e-5)


def test_half_precision_and_missing_gradients(path):
    model = net().to(torch.bfloat16)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with gt.flight(path, model, optimizer) as flight:
        model[2].bias.requires_grad_(False)
        loss = (model(torch.ones(2, 8, dtype=torch.bfloat16)) * 1e3).sum()
        loss.backward()
        optimizer.step()
        flight.step(loss)
    assert column(log_of(path), "grad 2")[0] == pytest.approx(
        float(model[2].weight.grad.float().norm()), rel=1e-4
    )


def test_gradients_of_a_closure_are_those_of_its_step(path):
    weight = torch.nn.Parameter(torch.zeros(1))
    model = torch.nn.ParameterList([weight])
    optimizer = torch.optim.SGD([weight], 0.1)
    with gt.flight(path, model, optimizer) as flight:
        for factor in (1.0, 2.0, 3.0):

            def closure(factor=factor):
                optimizer.zero_grad()
                loss = (weight * factor).sum()
                loss.backward()
                return loss

            flight.step(optimizer.step(closure))
    assert column(log_of(path), "grad model").tolist() == [1.0, 2.0, 3.0]


def test_rates_are_those_of_a_loaded_state(path):
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), 1.0)
    with gt.flight(path, model, optimizer) as flight:
        optimizer.load_state_dict(optimizer.state_dict())
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
        for _ in range(3):
            train(model, optimizer, 1, flight)
            schedule.step()
    assert column(log_of(path), "lr").tolist() == [1.0, 0.5, 0.25]


def test_a_fused_optimizer_under_a_scaler(path):
    weight = torch.nn.Parameter(torch.zeros(1))
    model = torch.nn.ParameterList([weight])
    optimizer = torch.optim.Adam([weight], 0.1, fused=True)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    with gt.flight(path, model, optimizer, scaler=scaler, every=1) as flight:
        for factor in (1.0, float("inf"), 1.0):
            optimizer.zero_grad()
            scaler.scale((weight * factor).sum()).backward()
            scaler.step(optimizer)
            scaler.update()
            flight.step()
    log = log_of(path)
    assert column(log, "grad model").tolist() == [1.0, 1.0]
    assert log.noted[:, log.columns.index("grad model")].tolist() == [True, False, True]


def test_complex_parameters_and_channels_last(path):
    torch.manual_seed(0)
    model = torch.nn.Conv2d(3, 8, 3).to(memory_format=torch.channels_last)
    model.phase = torch.nn.Parameter(torch.tensor([3.0 + 4.0j]))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with gt.flight(path, model, optimizer) as flight:
        (model(torch.ones(1, 3, 5, 5)).sum() + model.phase.abs().sum()).backward()
        optimizer.step()
        flight.step(0.0)
    grads = [p.grad for p in model.parameters()]
    true = sum(float(g.abs().square().sum()) for g in grads) ** 0.5
    assert column(log_of(path), "grad model")[0] == pytest.approx(true, rel=1e-5)


def test_outputs_are_those_of_training(path):
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with gt.flight(path, model, optimizer, outputs=True) as flight:
        with torch.no_grad():
            model(torch.full((1, 8), 1e6))
        train(model, optimizer, 1, flight)
    assert column(log_of(path), "output 0")[0] < 100


def test_an_optimizer_that_accelerate_has_wrapped(path):
    accelerate = pytest.importorskip("accelerate")
    model, optimizer = net(), None
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    model, optimizer = accelerate.Accelerator(cpu=True).prepare(model, optimizer)
    with gt.flight(path, model, optimizer) as flight:
        model(torch.ones(2, 8)).sum().backward()
        optimizer.step()
        flight.step(0.0)
    assert len(column(log_of(path), "grad 0")) == 1


def test_steps_are_counted_from_1(path):
    model = net()
    flight = gt.flight(path, model, torch.optim.SGD(model.parameters(), 0.1))
    with flight, pytest.raises(ValueError, match="counted from 1"):
        flight.step(0.5, number=0)
    assert len(log_of(path).steps) == 0


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("step.gt", "step.rank1.gt"),
        ("./run", "./run.rank1"),
        ("out.d/step", "out.d/step.rank1"),
        ("a{rank}.gt", "a1.gt"),
    ],
)
def test_the_name_of_a_process_s_own_file(name, own):
    from gradtrace.torch.recording import name_for

    assert name_for(name, 1) == own and name_for(name, None) == name


def test_no_memory_of_a_parameter_that_was_moved_is_kept(path):
    model = torch.nn.Linear(300, 300)
    memory = np.zeros((300, 300), np.float32)
    model.weight.data = torch.from_numpy(memory)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    held = weakref.ref(memory)
    del memory
    with gt.flight(path, model, optimizer) as flight:
        model(torch.ones(2, 300)).sum().backward()
        optimizer.step()
        flight.step()
        assert held() is not None
        model.weight.data = torch.ones(300, 300)
        assert held() is None
        optimizer.step()
        flight.step()
    assert log_of(path).steps.tolist() == [1, 2]


def test_a_small_file_has_all_rows_that_fit_in_it(path):
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with gt.flight(path, model, optimizer, megabytes=0.02) as flight:
        train(model, optimizer, 300, flight)
    log = log_of(path)
    assert len(log.steps) == log.rows > 100
    assert log.steps[-1] == 300
    assert 19_000 < path.stat().st_size <= 20_000
