"""A record's size is proportional to the run: what grows faster would make a long run's record unusable."""

from functools import partial

import pytest

torch = pytest.importorskip("torch")
gt = pytest.importorskip("gradtrace.torch")

from gradtrace.torch import recording  # noqa: E402
from tests.counting import instructions  # noqa: E402

STEPS = (100, 400)  # both long enough for a picture to be folded


def network(steps):
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x = torch.ones(2, 3)
    for _ in range(steps):
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()


def by_hand(steps):
    """Each step makes a view of the weight, which is then updated in place."""
    w = torch.ones(2, 2, requires_grad=True)
    for _ in range(steps):
        (torch.ones(3, 2) @ w.t()).sum().backward()
        with torch.no_grad():
            w -= 0.01 * w.grad
            w.grad.zero_()


def aside(steps):
    """Each step also computes what nothing depends on, which pictures leave out."""
    w = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.01)
    for _ in range(steps):
        (w * 2).max()
        optimizer.zero_grad()
        (w * w).sum().backward()
        optimizer.step()


def in_a_row(steps):
    """Each step computes with the result of the one before, and one pass goes back through all."""
    h = torch.ones(8, requires_grad=True)
    for _ in range(steps):
        h = torch.tanh(h * 1.01)
    h.sum().backward()


def recorded(program, steps):
    with gt.record() as r:
        program(steps)
    return r.trace()


def drawn(trace):
    return str(recording.picture(trace, None, {}).model.nodes)


def answered(trace):
    return recording.answers(trace, None)


WORK = [answered, recording.statistics, recording.in_order, recording.file_content, drawn]


@pytest.mark.parametrize("program", [network, by_hand])
def test_ids_held_by_the_changes_of_a_loop_grow_with_its_steps(program):
    few, many = (
        sum(map(len, {id(c.tensors): c.tensors for c in recorded(program, steps).changes}.values()))
        for steps in (10, 40)
    )
    assert few < many < 4.5 * few


@pytest.mark.parametrize("program", [network, by_hand])
def test_a_change_still_names_every_version_of_its_tensor(program):
    trace = recorded(program, 5)
    by_first = {}
    for t in trace.tensors:
        by_first.setdefault(t.first, set()).add(t.id)
    updates = [c for c in trace.changes if not c.of_grad]
    assert len(updates) >= 5
    for change in updates:
        leaf = trace.tensors[change.tensors[0]]
        assert leaf.is_leaf
        assert by_first[leaf.first] <= set(change.tensors)


@pytest.mark.parametrize("program", [network, by_hand, aside, in_a_row])
@pytest.mark.parametrize("work", WORK)
def test_work_grows_with_the_steps(program, work):
    few, many = (recorded(program, steps) for steps in STEPS)
    work(few)  # what a first call loads
    assert instructions(lambda: work(many)) < 4.4 * instructions(lambda: work(few))


@pytest.mark.parametrize("program", [network, by_hand, aside])
def test_work_of_recording_and_building_grows_with_the_steps(program):
    recorded(program, STEPS[0])
    few, many = (instructions(partial(recorded, program, steps)) for steps in STEPS)
    assert many < 4.4 * few


def test_a_long_recorded_loop_is_drawn_as_one_box():
    """It has no scope of its own, and 400 calls of a model are no overview."""
    found = recording.picture(recorded(network, 400), None, {}).model
    assert [(g.copies, g.name) for g in found.groups] == [(400, "linear, relu, linear, sum")]
    assert len(found.nodes) <= 4


def test_a_box_of_many_steps_counts_its_parameters_once(tmp_path):
    """Each step has versions of its own of them."""
    path = tmp_path / "loop.dot"
    recording.picture(recorded(network, 400), path, {})
    assert "21 parameters" in path.read_text()


def test_what_a_loop_takes_its_items_from_is_named_without_the_loop():
    """The place of such a call is the whole loop: thousands of characters in the label of each item."""
    rows = torch.ones(4, 2, requires_grad=True)
    loader = (rows[i] * 2 for i in range(4))
    data = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(torch.ones(4, 2)), batch_size=2
    )
    with gt.record() as r:
        for (batch,) in data:
            loss = (batch * next(loader)).sum()
            loss.backward()
    trace = r.trace()
    collated = [o for o in trace.operations if o.name == "stack"]
    assert [o.text for o in collated] == ["data"] * 2
    assert all(o.span.end_line == o.span.line for o in collated)


def batches():
    samples = torch.utils.data.TensorDataset(torch.ones(64, 3), torch.zeros(64, 1))
    return iter(torch.utils.data.DataLoader(samples, batch_size=32))


def test_a_batch_of_a_loader_is_one_box():
    """A DataLoader takes each sample by itself and stacks them."""
    loader = batches()
    with gt.record() as r:
        x, y = next(loader)
        spread = (x - y).square().mean()
    found = r.draw().model
    stacks = [g for g in found.groups if g.kind == "batch"]
    assert [(g.name, len(g.operations)) for g in stacks] == [("stack of 32", 33)] * 2
    assert [found.trace.tensors[found.results[g.id]].name for g in stacks] == ["x", "y"]
    assert len(found.nodes) <= 12 and spread == 1


def test_a_batch_from_which_a_loss_is_differentiated_is_an_input():
    loader, model = batches(), torch.nn.Linear(3, 1)
    with gt.record() as r:
        x, y = next(loader)
        loss = (model(x) - y).square().mean()
        loss.backward()
    drawn = r.draw().model
    assert [t.name for t in drawn.trace.tensors if t.kind == "data"] == ["x", "y"]
    assert not [g for g in drawn.groups if g.kind == "batch"]
    assert len(drawn.nodes) <= 12
    assert len(r.draw(depth=1_000_000).model.nodes) > 64


def test_a_gather_with_gradients_is_shown_piece_by_piece():
    w = torch.ones(9, 2, requires_grad=True)
    with gt.record() as r:
        torch.stack([w[i] for i in range(9)]).sum().backward()
    assert not r.draw().model.groups


def test_many_tensors_between_two_boxes_are_one_edge():
    w = torch.ones(2, requires_grad=True)
    with gt.record() as r:
        torch.stack([w * i for i in range(300)]).sum().backward()
    found = r.draw().model
    assert len(found.nodes) < 6
    assert 300 in [edge.times for edge in found.edges if edge.source != "t0"]


def test_values_are_kept_up_to_a_limit(monkeypatch, tmp_path):
    def kept(limit):
        monkeypatch.setenv("GRADTRACE_MAX_RECORD", limit)
        weight = torch.ones(50, 50, requires_grad=True)
        with gt.record(level="values") as run:
            for _ in range(3):
                weight = weight * 2.0
        run.save(tmp_path / "run.gt")
        tensors = [t.value for t in run.trace().tensors if t.shape == (50, 50)]
        assert all(value.norm == pytest.approx(50 * 2**i) for i, value in enumerate(tensors))
        return [value.is_whole for value in tensors], (tmp_path / "run.gt").stat().st_size

    few, small = kept("20000")  # two tensors of 10,000 bytes
    assert few == [True, True, False, False]
    everything, large = kept("1000000")
    assert everything == [True] * 4 and large >= small
    monkeypatch.setenv("GRADTRACE_MAX_RECORD", "much")
    with pytest.raises(ValueError, match="GRADTRACE_MAX_RECORD must be a number of bytes"):
        gt.record(level="values").__enter__()
    with gt.record():  # another recording can begin
        pass
