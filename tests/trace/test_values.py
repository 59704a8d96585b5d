"""What a trace keeps of a tensor's contents: as they were when made, whole or as a summary."""

import math

import numpy as np
import pytest
from statements import leaf, run

import gradtrace
from gradtrace.errors import NotKeptError
from gradtrace.limits import Budget
from gradtrace.program.parse import parse
from gradtrace.program.run import run as run_program
from gradtrace.trace.array_summary import BINS, summarize
from gradtrace.trace.capture import capture
from gradtrace.trace.keeper import SMALL, Keeper
from gradtrace.trace.sketches import equal_bits, relative_difference
from gradtrace.trace.steps import Watch
from gradtrace.trace.values import Value, frozen, summarized
from gradtrace.views import numbers


def recorded(text, *, watched=False, budget=Budget(), **inputs):
    """The trace of a program in the language."""
    watch = Watch() if watched else None
    program = parse(text, "text", budget)
    done = run_program(program, inputs, record=Keeper, watcher=watch, budget=budget)
    return capture(done, everything=True, watch=watch)


def values(trace):
    return {
        t.label: t.value.data if not t.value.shape else t.value.data.tolist() for t in trace.tensors
    }


def test_a_view_has_the_value_that_it_was_made_with():
    text = (
        "import torch\nw = torch.tensor([1., 2.], requires_grad=True)\nv = w[0]\nloss = v * 3\nloss.backward()\n"
        "with torch.no_grad():\n    w *= 100\n"
    )
    for watched in (False, True):
        trace = recorded(text, watched=watched)
        assert values(trace) == {"w (version 0)": [1, 2], "v": 1, "loss": 3, "w": [100, 200]}
        old, new = trace.tensor("w").first, trace.tensor("w")
        assert [o.tensor for o in trace.operations[0].inputs if o.tensor is not None] == [old]
        assert trace.tensors[old].requires_grad and trace.tensors[old].grad == new.grad
        assert trace.tensors[old].function == new.function


def test_edges_never_point_back_in_time():
    trace = recorded(
        "import torch\nw = torch.ones(3, requires_grad=True)\nfor i in range(3):\n    loss = (w * w).sum()\n"
        "    loss.backward()\n    with torch.no_grad():\n        w -= 0.1 * w.grad\n    w.grad = None\n"
    )
    for operation in trace.operations:
        assert all(o.tensor is None or o.tensor < min(operation.outputs) for o in operation.inputs)
    assert trace.tensor("w").version == 3


def test_an_optimiser_makes_versions_where_they_are_read():
    trace = recorded(
        "import torch\nw = torch.tensor([4.], requires_grad=True)\nopt = torch.optim.SGD([w], lr=0.25)\n"
        "for i in range(2):\n    opt.zero_grad()\n    loss = (w * w).sum()\n    loss.backward()\n    opt.step()\n"
    )
    versions = [t for t in trace.tensors if t.first == trace.tensor("w").first]
    assert [t.value.data.tolist() for t in versions] == [[4], [2], [1]]
    assert [t.grad.data.tolist() for t in versions] == [[8], [4], [4]]
    assert [t.name for t in versions] == [None, None, "w"]


@pytest.mark.parametrize("change", ["w.data.add_(10)", "w.data = w.data + 10"])
def test_changes_that_autograd_does_not_see(change):
    trace = recorded(
        f"import torch\nw = torch.tensor([1., 2.], requires_grad=True)\na = w * 2\n{change}\nb = w * 2\n"
    )
    found = values(trace)
    assert (found["a"], found["b"], found["w"], found["w (version 0)"]) == (
        [2, 4],
        [22, 24],
        [11, 12],
        [1, 2],
    )


def test_a_view_that_is_read_again_is_taken_again():
    trace = recorded("import torch\nw = torch.zeros(2)\nv = w[0]\na = v + 1\nw += 5\nb = v + 1\n")
    assert (values(trace)["a"], values(trace)["b"]) == (1, 6)
    again = trace.operations[-2]
    assert (again.name, again.inputs[0].tensor) == ("select", trace.tensor("w").id)
    assert again.outputs == (trace.operations[-1].inputs[0].tensor,)


def test_scalars_of_the_calculator():
    trace = recorded("a = x * 2\na += 1\nb = a * 3\na *= 10", x=leaf(1.0))
    assert values(trace) == {"x": 1, "a (version 0)": 2, "a (version 1)": 3, "b": 9, "a": 30}


def test_initialising_a_parameter_makes_no_version():
    trace = recorded("import torch\nm = torch.nn.Linear(2, 1)\ny = m(torch.ones(1, 2))\n")
    assert not any(t.version for t in trace.tensors)
    assert not any(o.name == "uniform_" for o in trace.operations)


def test_gradients_as_each_pass_left_them():
    trace = recorded(
        "import torch\nw = torch.ones(300, requires_grad=True)\n"
        "for i in range(3):\n    (w * (i + 1)).sum().backward()\n",
        watched=True,
    )
    kept = [step for step in trace.steps if step.grad_after is not None]
    assert [step.grad_after.data[0] for step in kept] == [1, 3, 6]
    assert [step.grad_before and step.grad_before.data[0] for step in kept] == [None, 1, 3]
    assert [step.upstream[0].data[0] for step in kept] == [1, 2, 3]


def test_a_gradient_that_a_hook_or_the_program_changes():
    trace = recorded(
        "import torch\nw = torch.ones(300, requires_grad=True)\ny = (w * 2).sum()\ny.backward()\nw.grad.mul_(7)\n",
        watched=True,
    )
    last = trace.steps[-1]
    assert (last.grad_after.data[0], last.upstream[0].data[0], trace.tensor("w").grad.data[0]) == (
        2,
        2,
        14,
    )


# ---- summaries


def test_large_arrays_beyond_the_budget_are_summaries():
    text = "w = randn(40, 50)\nfor i in range(4):\n    loss = (w * 2).sum()\n    w.mul_(0.5)\n"
    whole = recorded("import torch\nfrom torch import randn\n" + text)
    assert all(t.value.is_whole for t in whole.tensors)
    few = recorded(
        "import torch\nfrom torch import randn\n" + text, budget=Budget(record_bytes=10_000)
    )
    kept = [t.value.is_whole for t in few.tensors]
    assert (
        not all(kept) and few.tensor("w").value.is_whole
    )  # a named tensor is whole as it is at the end
    for ours, theirs in zip(few.tensors, whole.tensors, strict=True):
        assert ours.value.shape == theirs.value.shape and ours.value.all_finite
        assert ours.value.is_whole or ours.value.kept.shape == (40, 50)


def test_summaries_of_a_run_can_be_compared_with_the_elements():
    text = (
        "import torch\nw = torch.randn(40, 50, requires_grad=True)\nv = w.t()\nu = v * 2\n"
        "loss = (u.t() * w).sum()\nloss.backward()\n"
    )
    gradtrace.manual_seed(0)
    whole = recorded(text, watched=True)
    gradtrace.manual_seed(0)
    few = recorded(text, budget=Budget(record_bytes=100), watched=True)
    pairs = [(a.value, b.value) for a, b in zip(few.tensors, whole.tensors, strict=True)]
    for one, other in zip(few.steps, whole.steps, strict=True):
        pairs += zip(one.upstream, other.upstream, strict=True)
    summaries = [(a, b) for a, b in pairs if a is not None and not a.is_whole]
    assert {a.shape for a, _ in summaries} == {(40, 50), (50, 40)}
    for ours, theirs in summaries:
        assert equal_bits(ours, theirs) is True and relative_difference(ours, theirs) == 0


def test_what_needs_elements_that_are_not_there_says_so():
    value = summarized(summarize(np.arange(600.0).reshape(20, 30)))
    with pytest.raises(NotKeptError, match=r"shape \(20, 30\) were not kept, only a summary"):
        value.data  # noqa: B018
    assert (value.numel, value.zeros, value.all_zero, value.all_finite) == (600, 1, False, True)
    assert numbers.short(value) == numbers.short(frozen(np.arange(600.0).reshape(20, 30)))
    assert numbers.jsonable(value)["summary"]["maximum"] == 599
    assert len(numbers.sparkline(value)) == BINS


@pytest.mark.parametrize(
    "array",
    [
        np.linspace(-3, 5, 400),
        np.zeros(300),
        np.full(300, 7.5, np.float32),
        np.array([math.nan, math.inf, -math.inf, 2.0, 0.0] * 60),
        np.full(300, math.nan),
        np.array([1e308, -1e308] * 150),
        np.arange(-150, 150),
        np.arange(300) % 2 == 0,
        np.empty((0, 3)),
        np.linspace(0, 1, 600, dtype=np.float16).reshape(20, 30).T,
    ],
)
def test_a_summary_says_what_the_elements_say(array):
    found = summarize(array)
    with np.errstate(all="ignore"):
        finite = array[np.isfinite(array)]
    assert (found.shape, found.dtype, found.device) == (array.shape, array.dtype.name, "cpu")
    assert (found.nan, found.inf) == (int(np.isnan(array).sum()), int(np.isinf(array).sum()))
    assert (found.zeros, sum(found.histogram)) == (int((array == 0).sum()), finite.size)
    if finite.size:
        assert (found.minimum, found.maximum) == (finite.min(), finite.max())
        assert len(found.histogram) == BINS
        with np.errstate(all="ignore"):
            wide = finite.astype(float) / 16
            assert found.mean == pytest.approx(wide.mean() * 16, abs=1e-12)
            assert found.norm == pytest.approx(np.hypot.reduce(wide) * 16)
    whole = Value(array.shape, array.dtype.name, array)
    assert whole.summary == found and whole == Value(array.shape, array.dtype.name, array.copy())


def test_a_summary_of_a_number():
    assert frozen(-2.0).summary[3:9] == (-2.0, -2.0, -2.0, 2.0, 2.0, 0)
    assert frozen(math.nan).summary.nan == 1 and frozen(math.inf).summary.inf == 1


# ---- the keeper


def test_a_run_that_writes_nothing_keeps_nothing():
    done = run("y = x\nfor i in range(50):\n    y = y * x\n", x=leaf([1.0] * 500))
    assert not done.keeper.wrote and done.keeper._scanned == 0


def test_a_storage_is_copied_once_for_all_its_views():
    records = []
    keeper = Keeper(records)
    base = gradtrace.ones(40, 40)
    views = [base.t(), base[1:], base.view(-1)]
    records.append(("stack", (base, *views), base.clone(), 0))
    before = keeper.room
    keeper.before_write(base)
    assert before - keeper.room == base._data.nbytes > SMALL
    base._data[...] = 5
    versions = [keeper.version_read(tensor, 0) for tensor in (base, *views)]
    assert all(
        version.array.shape == tuple(t.shape)
        for version, t in zip(versions, (base, *views), strict=True)
    )
    assert all((version.array == 1).all() for version in versions)
