"""`gradtrace.torch.guard`: a bad step is repeated under a recorder, and leaves everything as the step itself did."""

import io
import random

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
    assert "1 update came before; the repetition computed with the parameters after that" in out.getvalue()
    assert "sqrt on line" in out.getvalue()


def gradients(model):
    return [None if p.grad is None else p.grad.clone() for p in model.parameters()]


def equal(found, wanted):
    """Whether two lists of tensors (or None) are bit-equal."""
    pairs = list(zip(found, wanted, strict=True))
    return all(
        a is b if a is None or b is None else torch.equal(a.nan_to_num(7.0), b.nan_to_num(7.0)) for a, b in pairs
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
            loss = model(torch.randn(6, 4) * (float("inf") if number == poison else 1)).square().mean()
            loss.backward()
            losses.append(loss.detach())
        seen.append((number, [*found, *losses, *gradients(model), *(b.clone() for b in model.buffers())]))
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
    runs = [values for number, values in seen if number == poison]
    assert len(runs) == 2
    entered = slice(6, None) if way == "in one call" else slice(None)  # the gradients that it discards are not kept
    assert equal(runs[1][entered], runs[0][entered])
    assert equal(runs[0], dict(alone)[poison])
    assert equal(state, wanted)
    assert told.count("gradtrace guard:") == 1


def test_gradients_that_a_step_changes_for_the_first_time_are_said_to_be_lost():
    seen, state, told = accumulating(CLEARS["after a change"], 5)
    _, wanted, _ = accumulating(CLEARS["after a change"], 5, guarded=False)
    assert "gradtrace guard: 6 gradients from before this step could not be restored" in told
    first, second = (values for number, values in seen if number == 5)
    assert first[0].any() and not second[0].any()
    assert equal(state, wanted)


def test_a_step_that_cannot_be_repeated_is_told():
    model, batches, out = nn.Linear(2, 1), iter([1.0, 2.0, 3.0]), io.StringIO()

    @gt.guard(out=out)
    def step():
        (model(torch.full((1, 2), next(batches))).sum() + (model.bias * 0).sqrt().sum()).backward()

    step()
    assert "the repetition gave other gradients than the step" in out.getvalue()


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
    assert len(seen) == 2
    assert torch.equal(*seen)
    assert model.mean is seen[0]
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
        moments = [v for o in optimizers for s in o.state_dict()["state"].values() for v in s.values()]
        return [*judge.parameters(), *made.parameters(), *moments], out.getvalue(), seen

    state, told, seen = run(guarded=True)
    assert equal(state, run(guarded=False)[0])
    assert "log on line" in told
    assert len(seen) == 2 and equal(seen[1:], seen[:1])


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
            assert out.getvalue().startswith("gradtrace guard: a gradient is not finite"), (index, value)
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
    assert len(seen) == 5
    assert torch.equal(seen[3], seen[4])
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

    found, wanted = run(guarded=True), run(guarded=False)
    assert len(found) == len(wanted) + 6
    for number in range(1, 10):
        values = [value for which, value in found if which == number]
        first = [value for which, value in wanted if which == number]
        assert values == (first if number % 3 else [*first[:2], *first[:2], first[2]])


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
    assert seen == [wanted, wanted]
