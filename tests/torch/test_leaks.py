"""Recording keeps nothing alive: no tensor and no graph, with Python's garbage collector off."""

import gc
import subprocess
import sys
import weakref

import pytest

torch = pytest.importorskip("torch")
gt = pytest.importorskip("gradtrace.torch")

from tests.torch.models import FEATURES, MODELS  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
LEVELS = ["structure", "summary", "compare", "values", "precision"]


@pytest.fixture(autouse=True)
def without_collection():
    """A cycle would keep what it holds until the collector runs, on a GPU long after its memory is needed."""
    torch.set_num_threads(1)
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def live_tensors():
    return sum(1 for thing in gc.get_objects() if issubclass(type(thing), torch.Tensor))


def train(name, steps, context):
    """Live tensors after the second step and after the last, for steps each in a context of its own."""
    case = {**MODELS, **FEATURES}[name]()
    counts = []
    for number in range(1, steps + 1):
        with context():
            case.step()
        if number in (2, steps):
            counts.append(live_tensors())
    return counts


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    "name", ["plain", "in place on views", "graph network", "checkpointing", "custom function"]
)
def test_a_thousand_recorded_steps_leave_nothing(name, level):
    early, late = train(name, 1000 if name == "plain" else 20, lambda: gt.record(level=level))
    assert late == early


@pytest.mark.parametrize("level", LEVELS)
def test_a_thousand_steps_in_one_record_hold_no_tensor_of_an_earlier_step(level):
    """The record has copies of small tensors, never the program's own."""
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, watched = torch.randn(8, 4), []
    with gt.record(level=level) as recorded:
        for _ in range(1000):
            optimizer.zero_grad()
            out = model(x)
            loss = out.square().mean()
            loss.backward()
            optimizer.step()
            watched += [weakref.ref(out), weakref.ref(loss), weakref.ref(model.weight.grad)]
        assert sum(tensor() is not None for tensor in watched) == 3
    assert len(recorded.trace().passes) == 1000


@pytest.mark.parametrize("level", LEVELS)
def test_a_graph_is_freed_when_the_program_drops_it(level):
    """Inside the block too, for that is when the memory is needed."""
    x = torch.randn(64, requires_grad=True)
    with gt.record(level=level) as recorded:
        h = x.tanh()
        watched = weakref.ref(h)
        loss = h.square().sum()
        loss.backward()
        del h, loss
        assert watched() is None
    assert len(recorded.trace().operations) >= 3


def test_a_model_is_freed_while_its_record_lives():
    case = MODELS["resnet"]()
    with gt.record(level="summary") as recorded:
        case.step()
    watched = [weakref.ref(p) for p in case.modules[0].parameters()]
    del case
    gc.collect()  # an optimizer is in a cycle of its own
    assert [name for name in watched if name() is not None] == []
    assert recorded.trace().functions


def test_nothing_of_the_recorder_stays_on():
    def state():
        from torch.overrides import _get_current_function_mode_stack as modes

        module = torch.nn.modules.module
        hooks = (
            module._global_forward_hooks,
            module._global_forward_pre_hooks,
            module._global_backward_hooks,
        )
        return (
            len(modes()),
            [len(h) for h in hooks],
            torch.autograd.graph._engine_run_backward,
            torch.Tensor.backward,
        )

    before = state()
    with gt.record(), pytest.raises(ZeroDivisionError):
        torch.ones(2, requires_grad=True).sum().backward()
        1 / 0  # noqa: B018
    assert state() == before


KEEPER = """
import gc, sys, torch
import gradtrace.torch as gt

assert "torch._dynamo" not in sys.modules
model = torch.nn.Linear(2, 1)
with gt.record() as recorded:
    # a module that is imported here keeps the functions that it finds
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    kept_call, kept_compile = torch.nn.Module._call_impl, torch.compile
    assert "torch._dynamo" in sys.modules
    model(torch.ones(2)).sum().backward()
    optimizer.step()
del recorded
gc.collect()
alive = [type(thing).__name__ for thing in gc.get_objects()]
print(alive.count("Recorder"), alive.count("Patches"), alive.count("Noted"))
kept_compile(torch.nn.Linear(2, 1), backend="eager")
print(kept_call(model, torch.ones(2)).shape, torch._dynamo.eval_frame._stance.stance)
"""


def test_a_module_that_is_imported_meanwhile_keeps_no_recorder():
    """torch._dynamo keeps the Module._call_impl of the moment at which the first optimiser loads it."""
    run = subprocess.run([sys.executable, "-c", KEEPER], capture_output=True, text=True)
    assert run.stdout.split("\n")[:2] == ["0 0 0", "torch.Size([1]) default"], run.stderr
