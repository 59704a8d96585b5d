"""The steps of a recorded training loop: which calls, values and gradients belong to each."""

import pytest

torch = pytest.importorskip("torch")
gt = pytest.importorskip("gradtrace.torch")

from gradtrace.analysis.training import training  # noqa: E402
from gradtrace.trace.window import step_window  # noqa: E402


def weight():
    return torch.tensor([1.0, -2.0], requires_grad=True)


def operators(trace):
    return [
        [one.name for one in trace.operations[slice(*step.operations)]] for step in trace.training
    ]


def update(w, rate):
    with torch.no_grad():
        w -= rate * w.grad
        w.grad = None


def by_hand(w):
    for _ in range(3):
        loss = (w * w).sum()
        loss.backward()
        with torch.no_grad():
            w -= 0.1 * w.grad
        w.grad = None


def by_a_helper(w):
    for _ in range(3):
        (w * w).sum().backward()
        update(w, 0.1)


def by_data(w):
    for _ in range(3):
        (w * w).sum().backward()
        w.data -= 0.1 * w.grad
        w.grad.zero_()


def one_step(w):
    loss = (w * w).sum()
    loss.backward()
    update(w, 0.1)
    return loss


def in_a_function(w):
    for _ in range(3):
        one_step(w)


def by_an_optimizer(w):
    optimizer = torch.optim.SGD([w], lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        loss = (w * w).sum()
        loss.backward()
        optimizer.step()


def within_blocks(w):
    optimizer = torch.optim.SGD([w], lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        with torch.enable_grad():
            loss = (w * w).sum()
        try:
            loss.backward()
        except ValueError:
            continue
        optimizer.step()


def with_branches(w):
    for i in range(4):
        if i == 3:
            continue
        (w * w).sum().backward()
        if i > 5:
            continue
        if i < 5:
            update(w, 0.1)


def while_a_loss_is_large(w):
    optimizer = torch.optim.SGD([w], lr=0.1)
    while (loss := (w * w).sum()).item() > 1.5:
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def while_it_falls(w):
    loss = torch.tensor(9.0)
    while loss.item() > 3.0:
        loss = (w * w).sum()
        loss.backward()
        update(w, 0.1)


LOOPS = [
    by_hand,
    by_a_helper,
    by_data,
    in_a_function,
    by_an_optimizer,
    within_blocks,
    with_branches,
    while_a_loss_is_large,
    while_it_falls,
]


@pytest.mark.parametrize("loop", LOOPS, ids=lambda one: one.__name__)
def test_each_step_has_its_own_loss_gradient_and_update(loop):
    w = weight()
    with gt.record() as r:
        loop(w)
    trace = r.trace()
    rows = training(trace).rows
    assert [row.number for row in rows] == list(range(1, len(rows) + 1))
    for number, row in enumerate(rows):
        left = 0.8**number  # of w
        assert row.loss == pytest.approx(5 * left**2)
        assert row.grad_norm == pytest.approx(2 * 5**0.5 * left)
        assert row.update == pytest.approx(0.2)
    for step in operators(trace):
        assert step[:2] == ["mul", "sum"]


def test_what_zero_grad_clears_next_is_the_gradient_of_its_step():
    w = weight()
    with gt.record() as r:
        by_an_optimizer(w)
    for number in (1, 2, 3):
        step = step_window(r.trace(), number)
        (found,) = [t for t in step.tensors if t.is_leaf and t.requires_grad]
        assert found.value.data.tolist() == pytest.approx(
            [0.8 ** (number - 1), -2 * 0.8 ** (number - 1)]
        )
        assert found.grad.data.tolist() == pytest.approx(
            [2 * 0.8 ** (number - 1), -4 * 0.8 ** (number - 1)]
        )


def test_a_second_update_keeps_the_gradient_of_the_first():
    w = weight()
    optimizer = torch.optim.SGD([w], lr=0.1)
    with gt.record() as r:
        (w * w).sum().backward()
        optimizer.step()
        w.grad = torch.ones(2)
        optimizer.step()
    first = r.trace().tensors[0]
    assert first.grad.data.tolist() == [2.0, -4.0]


def test_what_runs_before_the_loop_belongs_to_no_step():
    w = weight()
    with gt.record() as r:
        start = torch.zeros(2).add(1)
        for _ in range(2):
            (w * start).sum().backward()
        (w - start).abs()
    assert operators(r.trace()) == [["mul", "sum"]] * 2


def test_what_runs_between_two_epochs_belongs_to_no_step():
    w = weight()
    optimizer = torch.optim.SGD([w], lr=0.1)
    with gt.record() as r:
        for _ in range(2):
            for scale in (1.0, 2.0):
                optimizer.zero_grad()
                (w * scale).sum().backward()
                optimizer.step()
                w.detach().abs().max().item()
            with torch.no_grad():
                w.exp().mean().item()
    assert operators(r.trace()) == [["mul", "sum", "detach", "abs", "max"]] * 4


def test_several_passes_before_an_update_are_one_step():
    w = weight()
    optimizer = torch.optim.SGD([w], lr=0.1)
    with gt.record() as r:
        for i in range(4):
            (w * w).sum().backward()
            if i % 2:
                optimizer.step()
                optimizer.zero_grad()
    trace = r.trace()
    assert [step.passes for step in trace.training] == [(0, 2), (2, 4)]
    assert operators(trace) == [["mul", "sum"] * 2] * 2
    assert [row.grad_norm for row in training(trace).rows] == pytest.approx(
        [4 * 5**0.5, 4 * 5**0.5 * 0.6]
    )


def test_a_pass_after_the_loop_belongs_to_no_step():
    w = weight()
    with gt.record() as r:
        optimizer = torch.optim.SGD([w], lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            (w * w).sum().backward()
            optimizer.step()
        (w * 1000).sum().backward()
    trace = r.trace()
    assert [step.passes for step in trace.training] == [(0, 1), (1, 2), (2, 3)]
    assert training(trace).rows[-1].loss == pytest.approx(5 * 0.8**4)


def test_a_generator_that_is_updated_less_often_ends_the_steps():
    w, v = weight(), weight()
    critic, generator = torch.optim.SGD([w], lr=0.1), torch.optim.SGD([v], lr=0.1)
    with gt.record() as r:
        for _ in range(3):
            for _ in range(2):
                (w * w).sum().backward()
                critic.step()
            v.exp().mean().backward()
            generator.step()
    assert operators(r.trace()) == [["mul", "sum", "mul", "sum", "exp", "mean"]] * 3


def trained(w, optimizer):
    for _ in range(2):
        optimizer.zero_grad()
        (w * w).sum().backward()
        optimizer.step()


def evaluated(w):
    with torch.no_grad():
        return (w - 1).abs().mean().item()


def test_an_evaluation_in_a_function_belongs_to_no_step():
    w = weight()
    optimizer = torch.optim.SGD([w], lr=0.1)
    with gt.record() as r:
        for _ in range(2):
            trained(w, optimizer)
            evaluated(w)
    assert operators(r.trace()) == [["mul", "sum"]] * 4


def test_passes_over_one_graph_are_not_steps():
    w = weight()
    with gt.record() as r:
        loss = (w * w).sum()
        for _ in range(3):
            loss.backward(retain_graph=True)
    assert r.trace().training == ()


def test_numbers_filled_in_through_data_begin_the_parameter_again():
    with gt.record() as r:
        layer = torch.nn.Linear(2, 1)
        layer.weight.data.normal_(0, 0.02)
        layer.bias.data.zero_()
        layer(torch.ones(3, 2)).sum().backward()
    trace = r.trace()
    assert [one.name for one in trace.operations] == ["linear", "sum"]
    read = [trace.tensors[one.tensor] for one in trace.operations[0].inputs[1:]]
    assert [t.version for t in read] == [0, 0]
    assert read[0].value.data.tolist() == layer.weight.tolist()
    assert read[1].value.data.tolist() == [0.0]


def test_a_number_filled_in_through_data_is_a_new_version():
    layer = torch.nn.Linear(2, 1)
    with gt.record() as r:
        layer(torch.ones(3, 2))
        layer.bias.data.fill_(0)
        layer(torch.ones(3, 2)).sum().backward()
    trace = r.trace()
    linear = [one for one in trace.operations if one.name == "linear"][-1]
    assert trace.tensors[linear.inputs[2].tensor].value.data.tolist() == [0.0]


def test_optimisers_that_step_in_a_row_end_one_step():
    layers = [torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)]
    optimizers = [torch.optim.SGD(layer.parameters(), lr=0.1) for layer in layers]
    with gt.record() as r:
        for _ in range(3):
            loss = layers[1](layers[0](torch.ones(4, 2))).mean()
            for optimizer in optimizers:
                optimizer.zero_grad()
            loss.backward()
            for optimizer in optimizers:
                optimizer.step()
    assert operators(r.trace()) == [["linear", "linear", "mean"]] * 3
    assert [one.steps for one in r.trace().optimisers] == [3, 3]


def test_a_step_that_a_scaler_skips_ends_its_iteration():
    w = torch.tensor([300.0], requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**18)
    with gt.record() as r:
        for _ in range(5):
            optimizer.zero_grad()
            loss = w.half().float().sum()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
    assert [step.passes for step in r.trace().training] == [(i, i + 1) for i in range(5)]
    assert [one.steps for one in r.trace().optimisers] == [2]
    assert str(r.why()).startswith("Checked: 5 steps")


def test_the_rates_of_an_optimisers_steps_are_noted_where_they_change():
    w = weight()
    optimizer = torch.optim.SGD([w], lr=0.5)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    with gt.record() as r:
        for _ in range(5):
            optimizer.zero_grad()
            (w * w).sum().backward()
            optimizer.step()
            scheduler.step()
    assert r.trace().optimisers[0].rates == ((1, 0.5), (3, 0.25), (5, 0.125))
