"""`gradtrace.torch.guard`: a bad step is repeated under a recorder, and leaves everything as the step itself did."""

import contextlib
import io
import os
import random
import signal
import sys
import time
import weakref
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

import gradtrace.torch as gt  # noqa: E402

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("forkable")]


def training(guarded):
    """Three steps, the last one with a log of zero; the state afterwards, what the guard wrote, and the guard."""
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 2)
    )
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
    state = [
        *losses,
        *model.state_dict().values(),
        *(p.grad for p in model.parameters()),
        torch.get_rng_state(),
    ]
    moments = [v for s in optimizer.state_dict()["state"].values() for v in s.values()]
    return [*state, *moments], told.getvalue(), run


def test_a_bad_step_is_explained_and_nothing_else_changes():
    wanted, nothing, _ = training(guarded=False)
    found, told, run = training(guarded=True)
    assert not nothing
    for a, b in zip(found, wanted, strict=True):
        assert torch.equal(a.nan_to_num(7.0), b.nan_to_num(7.0))
    assert told.startswith(
        "gradtrace guard: a gradient is not finite; this step was repeated under a recorder:"
    )
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


def test_a_gradient_that_was_good_before_the_update_is_checked_again_after_a_change():
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    out = io.StringIO()

    @gt.guard(out=out)
    def step():
        model.weight.sum().backward()
        optimizer.step()
        (model.weight * 0).sqrt().sum().backward()

    step()
    assert "a gradient is not finite" in out.getvalue()
    assert (
        "1 update came before; the repetition computed with the parameters after that"
        in out.getvalue()
    )
    assert "sqrt on line" in out.getvalue()


def gradients(model):
    return [None if p.grad is None else p.grad.clone() for p in model.parameters()]


def equal(found, wanted):
    """Whether two lists of tensors (or None) are bit-equal."""
    pairs = list(zip(found, wanted, strict=True))
    return all(
        a is b if a is None or b is None else torch.equal(a.nan_to_num(7.0), b.nan_to_num(7.0))
        for a, b in pairs
    )


def accumulating(clear, poison, guarded=True):
    """Eight steps of gradient accumulation. `clear` runs at the start of each step, with its number; the step with
    number `poison` has a bad batch. Every run of a step notes what it saw; the list, the state, what was told.
    """
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    told, seen = io.StringIO(), []

    def step(number):
        found = gradients(model)
        clear(number, model)
        losses = []
        for _ in range(2):
            loss = (
                model(torch.randn(6, 4) * (float("inf") if number == poison else 1)).square().mean()
            )
            loss.backward()
            losses.append(loss.detach())
        seen.append(
            (number, [*found, *losses, *gradients(model), *(b.clone() for b in model.buffers())])
        )
        if number % 4 == 3:
            optimizer.step()
            optimizer.zero_grad()
        return losses[-1]

    run = gt.guard(step, out=told) if guarded else step
    for number in range(8):
        run(number)
    moments = [s["momentum_buffer"] for s in optimizer.state_dict()["state"].values()]
    state = [*model.state_dict().values(), *gradients(model), torch.get_rng_state(), *moments]
    return seen, state, told.getvalue()


OTHER = "the repetition gave another loss or other gradients than the step"
CLEARS = {
    "over calls": lambda number, model: None,
    "in one call": lambda number, model: model.zero_grad(),
    "to zero in place": lambda number, model: model.zero_grad(set_to_none=False),
    "after a change": lambda number, model: model.zero_grad() if number < 5 else None,
}


@pytest.mark.parametrize("poison", [1, 3, 6])
@pytest.mark.parametrize("way", ["over calls", "in one call", "to zero in place"])
def test_a_repeated_step_finds_the_gradients_of_the_steps_before(way, poison):
    seen, state, told = accumulating(CLEARS[way], poison)
    alone, wanted, _ = accumulating(CLEARS[way], poison, guarded=False)
    assert [number for number, _ in seen] == list(range(8))
    assert equal(dict(seen)[poison], dict(alone)[poison])
    assert equal(state, wanted)
    assert OTHER not in told
    assert told.count("gradtrace guard:") == 1


def test_gradients_that_a_step_changes_for_the_first_time_are_said_to_be_lost():
    seen, state, told = accumulating(CLEARS["after a change"], 5)
    _, wanted, _ = accumulating(CLEARS["after a change"], 5, guarded=False)
    assert "gradtrace guard: 6 gradients from before this step could not be restored" in told
    assert len(seen) == 8
    assert equal(state, wanted)


def test_a_step_that_depends_on_something_hidden_is_told():
    model, out = nn.Linear(2, 1), io.StringIO()
    hidden = ([iter([1.0, 2.0, 3.0])],)

    @gt.guard(out=out)
    def step():
        (
            model(torch.full((1, 2), next(hidden[0][0]))).sum() + (model.bias * 0).sqrt().sum()
        ).backward()

    step()
    assert OTHER in out.getvalue()
    assert "sqrt on line" in out.getvalue()
    assert next(hidden[0][0]) == 2.0


def test_a_repetition_that_was_finite_gives_no_cause():
    model, out = nn.Linear(2, 1), io.StringIO()
    hidden = ([iter([0.0, 1.0])],)

    @gt.guard(out=out)
    def step():
        (model(torch.ones(1, 2)).sum() / next(hidden[0][0])).backward()

    step()
    assert OTHER in out.getvalue()
    assert "where everything was finite" in out.getvalue()
    assert "model.weight: 2 of 2 elements infinite" in out.getvalue()


@pytest.mark.parametrize(
    "made", [lambda: iter(zip([1.0])), lambda: (x for x in [1.0])], ids=["zip", "generator"]
)
def test_a_step_that_draws_from_an_iterator_is_not_repeated(made):
    model, out, batches = nn.Linear(2, 1), io.StringIO(), made()

    @gt.guard(out=out)
    def step():
        x = next(batches)
        (model(torch.ones(1, 2)).sum() / 0 + (x[0] if isinstance(x, tuple) else x)).backward()

    step()
    assert (
        "was not repeated, since it takes values from batches, which is an iterator"
        in out.getvalue()
    )
    assert (
        "2 of 2 gradients are not finite: model.weight: 2 of 2 elements infinite" in out.getvalue()
    )


def children(process):
    """Return the ids of the processes that a process has started; other tests may have left some."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            parents[path.parent.name] = path.read_text().rpartition(")")[2].split()[1]
    return {child for child, parent in parents.items() if parent == str(process)}


def test_a_repetition_that_hangs_is_ended(monkeypatch):
    model, out, parent = nn.Linear(2, 1), io.StringIO(), os.getpid()
    before = children(parent)
    monkeypatch.setattr(sys.modules["gradtrace.torch.guard_call"], "SECONDS", 0.2)

    @gt.guard(out=out)
    def step():
        if os.getpid() != parent:
            time.sleep(60)
        (model(torch.ones(1, 2)).sum() / 0).backward()

    begun = time.monotonic()
    step()
    assert time.monotonic() - begun < 20
    assert "gave no answer within" in out.getvalue()
    assert children(parent) <= before


def test_a_process_with_several_threads_of_openmp_repeats_its_step():
    """A fork does not have them, and waiting for them would not end."""
    model = nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 900, 10))
    optimizer, out = torch.optim.AdamW(model.parameters()), io.StringIO()
    x, before = torch.randn(16, 3, 32, 32), torch.get_num_threads()

    @gt.guard(out=out)
    def step(scale):
        torch.set_num_threads(2)
        optimizer.zero_grad()
        loss = torch.log(model(x).square().sum() * scale)
        loss.backward()
        optimizer.step()

    try:
        step(1.0)
        step(0.0)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert "log on line" in " ".join(out.getvalue().split())


def test_a_repetition_that_a_signal_ends_is_told():
    """The program's handler is not called in the copy of the process."""
    model, out, seen = nn.Linear(2, 1), io.StringIO(), []

    @gt.guard(out=out)
    def step():
        signal.raise_signal(signal.SIGUSR1)
        (model(torch.ones(1, 2)).sum() / 0).backward()

    before = signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(number))
    try:
        step()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert seen == [signal.SIGUSR1]
    assert "repeating this step in a copy of the process ended early" in out.getvalue()


def test_a_failure_of_the_guard_does_not_reach_the_training(monkeypatch):
    model, out = nn.Linear(2, 1), io.StringIO()

    @gt.guard(out=out)
    def step():
        loss = (model(torch.ones(1, 2)).sum() / 0).detach()
        return loss

    def fails(reach):
        raise ValueError("not known")

    monkeypatch.setattr(sys.modules["gradtrace.torch.guard_call"], "hindrance", fails)
    assert step().isinf()
    assert (
        "the loss is not finite; looking for the reason failed: ValueError: not known"
        in out.getvalue()
    )


def test_a_process_with_an_accelerator_does_not_repeat(monkeypatch):
    model, out, runs = nn.Linear(2, 1), io.StringIO(), []

    @gt.guard(out=out)
    def step():
        runs.append(1)
        loss = model(torch.ones(1, 2)).sum() / 0
        loss.backward()
        return loss

    monkeypatch.setattr(sys.modules["gradtrace.torch.private"], "accelerator", lambda: "cuda")
    step()
    assert runs == [1]
    assert "this step was not repeated, since PyTorch can use cuda here" in out.getvalue()
    assert "What is known without it: the loss is " in out.getvalue()
    assert (
        "2 of 2 gradients are not finite: model.weight: 2 of 2 elements infinite" in out.getvalue()
    )


def test_the_record_from_the_child_answers_saves_and_draws(tmp_path):
    model = nn.Linear(2, 1)

    @gt.guard(out=io.StringIO())
    def step():
        (model(torch.ones(1, 2)).sum() / 0).backward()

    step()
    recorded = step.guard.recorded
    assert recorded.why(model.weight) == recorded.why("model.weight")
    assert "div" in recorded.stats()
    recorded.save(tmp_path / "step.gt")
    assert (tmp_path / "step.gt").stat().st_size > 1000
    recorded.draw(tmp_path / "step.html")
    assert (tmp_path / "step.html").stat().st_size > 1000


def test_shared_memory_of_the_parent_stays():
    model, shared = nn.Linear(2, 1), torch.zeros(3).share_memory_()

    @gt.guard(out=io.StringIO())
    def step():
        shared.add_(1)
        (model(torch.ones(1, 2)).sum() / 0).backward()

    step()
    assert shared.tolist() == [1.0, 1.0, 1.0]


def test_buffers_that_are_assigned_and_generators_are_restored():
    class Noisy(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(3))
            self.register_buffer("mean", torch.ones(3))

        def forward(self, noise):
            self.mean = 0.5 * self.mean + noise
            return (self.w * self.mean).sum()

    model, generator, seen = Noisy(), torch.Generator().manual_seed(1), []

    @gt.guard(out=io.StringIO())
    def step():
        loss = model(torch.rand(3, generator=generator)) / 0
        loss.backward()
        seen.append(model.mean)

    step()
    assert model.mean is seen[0]
    assert len(seen) == 1
    torch.rand(3, generator=(other := torch.Generator().manual_seed(1)))
    assert torch.equal(generator.get_state(), other.get_state())


def test_the_second_of_two_updates_is_explained_and_the_first_is_made_once():
    """A GAN's step: the update of the discriminator is fine, the loss of the generator is not."""

    def run(guarded):
        torch.manual_seed(0)
        made, judge, out = nn.Linear(2, 2), nn.Linear(2, 1), io.StringIO()
        optimizers = [torch.optim.Adam(m.parameters(), lr=0.1) for m in (judge, made)]
        seen = []

        def step(z):
            optimizers[0].zero_grad()
            judge(made(z).detach()).mean().backward()
            optimizers[0].step()
            optimizers[1].zero_grad()
            generated = (judge(made(z)) * 0).log().mean()
            generated.backward()
            seen.append(made.weight.grad.clone())
            optimizers[1].step()
            return generated.detach()

        (gt.guard(step, out=out) if guarded else step)(torch.randn(4, 2))
        moments = [
            v for o in optimizers for s in o.state_dict()["state"].values() for v in s.values()
        ]
        return [*judge.parameters(), *made.parameters(), *moments], out.getvalue(), seen

    state, told, seen = run(guarded=True)
    assert equal(state, run(guarded=False)[0])
    assert "log on line" in told
    assert len(seen) == 1


SHAPES = [(64, 64), (200,), (5000,), (), (1,), (3, 1, 2), (16, 3, 3, 3)]


class Many(nn.Module):
    """Parameters of many shapes, in several types."""

    def __init__(self, *types):
        super().__init__()
        shapes = [(shape, kind) for kind in types for shape in SHAPES]
        self.all = nn.ParameterList([torch.ones(shape, dtype=kind) for shape, kind in shapes])


SLOW = [  # types, and whether the optimiser makes an update
    ((torch.float32,), False),
    ((torch.float64,), True),
    ((torch.bfloat16,), True),
    ((torch.float16,), False),
    ((torch.complex64, torch.float32), True),
]


@pytest.mark.parametrize(
    ("types", "update"),
    [((torch.float32,), True), *(pytest.param(*one, marks=pytest.mark.slow) for one in SLOW)],
    ids=str,
)
def test_one_bad_element_of_one_gradient_is_found_in_its_step(types, update):
    model = Many(*types)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    wrong = {"index": None, "value": 0.0}
    out = io.StringIO()

    def step():
        optimizer.zero_grad()
        for index, one in enumerate(model.all):
            one.grad = torch.ones_like(one)
            if index == wrong["index"]:
                one.grad.view(-1)[-1] = wrong["value"]
        if update:
            optimizer.step()

    guarded = gt.guard(step, out=out, limit=10_000)
    guarded()
    assert out.getvalue() == ""
    for index in range(len(model.all)):
        for value in (float("nan"), float("-inf")):
            wrong.update(index=index, value=value)
            guarded()
            assert out.getvalue().startswith("gradtrace guard: a gradient is not finite"), (
                index,
                value,
            )
            out.truncate(out.seek(0))
            wrong.update(index=None)
            guarded()
            assert out.getvalue() == ""
            with torch.no_grad():
                for one in model.all:
                    one.fill_(1)


def test_large_finite_gradients_are_not_an_error():
    model = nn.Linear(2, 1)
    out = io.StringIO()
    gt.guard(lambda: (model(torch.full((1, 2), 1e30)) * 1e8).sum().backward(), out=out)()
    assert model.weight.grad.min() > 1e37
    assert out.getvalue() == ""


def test_a_sparse_gradient_is_checked_and_restored():
    torch.manual_seed(0)
    table = nn.Embedding(5, 2, sparse=True)
    scale, out, seen = [1.0], io.StringIO(), []

    @gt.guard(out=out)
    def step():
        (table(torch.tensor([1, 3])) * scale[0]).sum().backward()
        seen.append(table.weight.grad.to_dense())

    for scale[0] in (1.0, 2.0, 3.0, float("inf")):
        step()
    assert len(seen) == 4
    assert OTHER not in out.getvalue()
    assert out.getvalue().count("gradtrace guard:") == 1


@pytest.mark.parametrize("draw", ["random", "randn", "python", "torch"])
def test_random_numbers_are_the_same_in_the_repetition_and_go_on_as_without(draw):
    numpy = pytest.importorskip("numpy")
    draws = {
        "random": numpy.random.rand,
        "randn": numpy.random.randn,
        "python": random.random,
        "torch": lambda: torch.rand(()).item(),
    }
    drawn = draws[draw]

    def run(guarded):
        numpy.random.seed(3)
        random.seed(3)
        torch.manual_seed(3)
        weight, seen = nn.Linear(1, 1), []

        def step(number):
            seen.append((number, drawn()))
            ((weight.weight * drawn()).sum() / (number % 3)).backward()
            weight.zero_grad() if number % 3 else None
            seen.append((number, drawn()))

        one = gt.guard(step, out=io.StringIO(), limit=10) if guarded else step
        for number in range(1, 10):
            one(number)
            seen.append((number, drawn()))
        return seen

    assert run(guarded=True) == run(guarded=False)


def test_a_normal_number_that_numpy_keeps_is_used_once():
    numpy = pytest.importorskip("numpy")
    weight, seen = nn.Linear(1, 1), []

    @gt.guard(out=io.StringIO())
    def step(scale, draw):
        if draw:
            seen.append(numpy.random.randn())
        (weight.weight / scale).sum().backward()

    numpy.random.seed(3)
    numpy.random.randn()  # this makes two numbers, and keeps one
    step(1.0, draw=False)
    numpy.random.randn()
    step(0.0, draw=True)
    numpy.random.seed(3)
    wanted = [numpy.random.randn() for _ in range(3)][-1]
    assert seen == [wanted]


class Unreadable:
    """An object that cannot be looked at, like a proxy of what is gone."""

    @property
    def __class__(self):
        raise ReferenceError("weakly-referenced object no longer exists")


def test_a_variable_that_cannot_be_looked_at_does_not_stop_the_training():
    out, odd = io.StringIO(), Unreadable()
    w = torch.ones(2, requires_grad=True)

    @gt.guard(out=out)
    def step(x):
        assert odd is not None
        loss = (w * x).log().sum()
        loss.backward()
        return loss

    assert step(torch.ones(2)).item() == 0 and step(torch.zeros(2)).isinf()
    assert (
        out.getvalue().count("the training is not guarded: looking at the step's variables failed")
        == 1
    )


def test_one_guard_for_two_models():
    out = io.StringIO()
    torch.manual_seed(0)
    a, b = nn.Linear(2, 1), nn.Linear(2, 1)

    @gt.guard(out=out)
    def step(model, x):
        loss = model(x).log().sum()
        loss.backward()

    step(a, torch.ones(1, 2) * 50 * a.weight.detach().sign())
    with torch.no_grad():
        b.weight.fill_(1.0)
        b.bias.fill_(0.0)
    step(b, torch.zeros(1, 2))
    assert (
        "gradient is not finite" in out.getvalue() or "gradients are not finite" in out.getvalue()
    ), out.getvalue()


def test_a_metric_beside_the_loss_may_be_infinite():
    out = io.StringIO()
    w = torch.ones(2, requires_grad=True)

    @gt.guard(out=out)
    def step():
        loss = w.sum()
        loss.backward()
        return {"loss": loss, "best": torch.tensor(float("inf"))}

    step()
    assert out.getvalue() == ""


class KeepsItsOutput(nn.Module):
    """A module whose last output is there to be looked at; `counted` it reads itself."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.output = None
        self.counted = 0

    def forward(self, x):
        self.counted = self.counted + 1
        self.output = self.linear(x) / (self.counted != 3)
        return self.output.square()


def test_what_a_module_only_stores_is_not_kept_over_the_next_step():
    model, outputs, kept, told = KeepsItsOutput(), [], [], io.StringIO()

    @gt.guard(out=told)
    def step(x):
        loss = model(x).sum()
        kept.append([one() is not None for one in outputs])
        loss.backward()
        return loss.detach()

    for _ in range(3):
        step(torch.ones(2, 4))
        outputs.append(weakref.ref(model.output))
    assert kept == [[], [False], [False, False]]
    assert "div on line" in told.getvalue()  # by zero, as `counted` was restored
    assert "another loss" not in told.getvalue()


unrelated = nn.Linear(1, 1)


def test_gradients_of_what_the_step_does_not_name_are_not_its_own():
    unrelated.weight.grad = torch.full((1, 1), float("nan"))
    model, told = nn.Linear(2, 1), io.StringIO()

    @gt.guard(out=told)
    def step(x):
        loss = model(x).sum()
        loss.backward()
        return loss.detach()

    step(torch.ones(1, 2))
    assert told.getvalue() == ""
    model.bias.grad.fill_(float("nan"))  # that of the step's own model is
    step(torch.ones(1, 2))
    assert "1 of 2 gradients are not finite: model.bias: 1 of 1 elements NaN" in told.getvalue()


def in_the_first_and_one_more(x):
    """64 x 64: one row with a number below 0."""
    return torch.cat([x[:5].square() + 1, -x[5:6].square() - 1, x[6:].square() + 1])


NO_SAMPLES = {
    "weights of the classes": (
        8,
        lambda m, x: (m(x) * (torch.arange(8.0) - 1).clamp(min=0).log()).square().mean(),
    ),
    "a factor for each time step": (
        8,
        lambda m, x: (
            m(x) * (torch.arange(8.0) - 3).div((torch.arange(8.0) - 3).abs())[:, None]
        ).mean(),
    ),
    "features first": (64, lambda m, x: in_the_first_and_one_more(m(x).T).log().mean()),
    "features first, large": (
        64,
        lambda m, x: m(x).T.add(torch.eye(64)[7][:, None] * -1e9).add(1e5).sqrt().mean(),
    ),
    "shuffled": (
        8,
        lambda m, x: m(x[torch.arange(7, -1, -1)]).add(x.flip(0) * 0).abs().sub(1).sqrt().mean(),
    ),
    "sorted": (
        64,
        lambda m, x: m(x[x.abs().sum(1).argsort(descending=True)]).square().exp().mean(),
    ),
}


@pytest.mark.parametrize("case", NO_SAMPLES)
def test_rows_that_are_not_the_samples_of_a_batch_are_not_called_so(case):
    size, loss_of = NO_SAMPLES[case]
    torch.manual_seed(0)
    model = nn.Linear(size, size)
    told = io.StringIO()

    @gt.guard(out=told)
    def step(x):
        loss = loss_of(model, x)
        loss.backward()
        return loss

    x = torch.randn(size, size)
    if case in ("shuffled", "sorted"):
        x[5] = 1e30
    step(x)
    assert "repeated under a recorder" in told.getvalue()
    assert "sample" not in told.getvalue(), told.getvalue()


@pytest.mark.parametrize("size", [8, 64])
def test_a_sample_is_named_by_the_whole_text_of_what_it_is_in(size):
    model = nn.Linear(size, size)
    told = io.StringIO()

    @gt.guard(out=told)
    def step(x):
        loss = (model(x[:, range(size)[0] :]) * 1e30).square().mean()
        loss.backward()
        return loss

    x = torch.zeros(size, size)
    x[5] = 1e15
    nn.init.ones_(model.weight)
    step(x)
    assert (
        f"sample 5 of model(x[:, range(size)[0] :]) * 1e30, of {size}, is not finite"
        in told.getvalue()
    )


@pytest.mark.parametrize("pick", ["gather", "take_along_dim"])
def test_a_sample_is_named_behind_what_picks_a_column(capsys, pick):
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 3)
    y = torch.tensor([[0], [1], [2], [0], [1], [2]])

    @gt.guard
    def step(x):
        p = model(x)
        picked = p.gather(1, y) if pick == "gather" else torch.take_along_dim(p, y, 1)
        loss = (picked + 10).sqrt().mean()
        loss.backward()
        return loss

    x = torch.randn(6, 4)
    x[5] = -1000 * model.weight.detach()[2]
    step(x)
    assert "sample 5 of " in capsys.readouterr().err
