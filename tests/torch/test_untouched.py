"""Recording changes nothing: losses, gradients, parameters, buffers, optimizer and random state are bit-equal."""

import random
import subprocess
import sys
import warnings

import pytest

torch = pytest.importorskip("torch")
gt = pytest.importorskip("gradtrace.torch")

from tests.torch.models import FEATURES, MODELS  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
BUILDERS = {**MODELS, **FEATURES}
LEVELS = ["structure", "summary", "compare", "values", "precision"]
STEPS = 3
plain = {}


def build(name):
    torch.set_num_threads(1)
    random.seed(0)
    try:
        case = BUILDERS[name]()
    except ImportError as error:
        pytest.skip(str(error))
    torch.manual_seed(7)
    return case


def run(case, step):
    """The state after some steps, as tensors by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        losses = [step() for _ in range(STEPS)]
    return state(case, losses)


def state(case, losses):
    found = {f"loss of step {number}": loss for number, loss in enumerate(losses, 1)}
    for place, module in enumerate(case.modules):
        for name, parameter in module.named_parameters():
            found[f"parameter {place}.{name}"] = parameter
            found[f"gradient {place}.{name}"] = parameter.grad
        found.update({f"buffer {place}.{name}": buffer for name, buffer in module.named_buffers()})
    for place, holder in enumerate([*case.optimizers, *case.other]):
        found.update(leaves(f"state {place}", holder.state_dict()))
    found["torch's random state"] = torch.get_rng_state()
    found["Python's random state"] = hash(random.getstate())
    found["gradients enabled"] = torch.is_grad_enabled()
    return {name: copied(value) for name, value in found.items()}


def leaves(name, value):
    """The values in nested dictionaries and lists, by path."""
    if isinstance(value, dict):
        return {
            path: x
            for key, part in value.items()
            for path, x in leaves(f"{name}.{key}", part).items()
        }
    if isinstance(value, list | tuple):
        return {
            path: x
            for key, part in enumerate(value)
            for path, x in leaves(f"{name}.{key}", part).items()
        }
    return {name: value}


def copied(value):
    """Bytes of a tensor with its dtype and shape, so that nan is compared by its bits too."""
    if not isinstance(value, torch.Tensor):
        return value
    dense = (value.to_dense() if value.is_sparse else value).detach()
    return (
        str(dense.dtype),
        tuple(dense.shape),
        dense.contiguous().flatten().view(torch.uint8).numpy().tobytes(),
    )


def expected(name):
    if name not in plain:
        case = build(name)
        plain[name] = run(case, case.step)
    return plain[name]


def assert_same(found, wanted):
    assert found.keys() == wanted.keys()
    assert [name for name in wanted if found[name] != wanted[name]] == []


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", BUILDERS)
def test_a_recorded_run_is_bit_equal(name, level):
    wanted = expected(name)
    case = build(name)
    with gt.record(level=level) as recorded:
        found = run(case, case.step)
    assert_same(found, wanted)
    assert_traced(name, recorded)


def assert_traced(name, recorded):
    """The record is of this run: it has operations, and functions where a pass ran."""
    trace = recorded.trace()
    assert trace.operations, name
    if name not in ("evaluation", "fused inference"):
        assert trace.functions and trace.passes, name


@pytest.mark.parametrize("name", BUILDERS)
def test_a_guarded_run_is_bit_equal(name):
    wanted = expected(name)
    case = build(name)
    assert_same(run(case, gt.guard(case.step)), wanted)


def test_a_difference_would_be_seen():
    case = build("plain")
    found = run(case, case.step)
    wanted = expected("plain")
    assert_same(found, wanted)
    with torch.no_grad():
        case.modules[0][0].weight[0, 0] += 1e-7
    changed = state(case, [])
    assert [n for n in changed if changed[n] != wanted[n]] == ["parameter 0.0.weight"]


CONNECTED_LATE = """import sys, torch, torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
import gradtrace.torch as gt
made = torch.distributed.fsdp._fully_shard._fsdp_param_group.FSDPParamGroup
before = dict(vars(made))
torch.manual_seed(0)
with gt.record() as r:
    dist.init_process_group("gloo", init_method="file://" + sys.argv[1], rank=0, world_size=1)
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))
    fully_shard(model[0])
    fully_shard(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(2):
        optimizer.zero_grad()
        loss = model(torch.ones(3, 4)).mean()
        loss.backward()
        optimizer.step()
print(r.why())
print("restored" if dict(vars(made)) == before else "changed")
dist.destroy_process_group()
"""


def test_processes_that_are_connected_inside_the_recording(tmp_path):
    (tmp_path / "late.py").write_text(CONNECTED_LATE)
    command = [sys.executable, str(tmp_path / "late.py"), str(tmp_path / "meeting")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("Checked: 2 steps"), done.stdout + done.stderr
    assert done.stdout.endswith("restored\n"), done.stdout


def test_fsdp_that_a_program_imports_inside_the_recording(tmp_path):
    lines = CONNECTED_LATE.splitlines(keepends=True)
    inside = [
        line for line in lines if "FSDPParamGroup" not in line and "import fully_shard" not in line
    ]
    text = "".join(inside).replace(
        "before = dict(vars(made))\n", "import warnings; warnings.simplefilter('error')\n"
    )
    text = text.replace(
        "    model = ", "    from torch.distributed.fsdp import fully_shard\n    model = "
    )
    (tmp_path / "late.py").write_text(
        text.replace('print("restored" if dict(vars(made)) == before else "changed")\n', "")
    )
    command = [sys.executable, str(tmp_path / "late.py"), str(tmp_path / "meeting")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    answer = " ".join(done.stdout.split())
    assert answer.startswith("Checked: 2 steps"), done.stdout + done.stderr
    assert "all 4 parameters" in answer and "rank None" not in answer and not done.stderr, (
        done.stdout + done.stderr
    )


def test_no_warning_of_pytorch_s_is_raised_by_the_recording_itself():
    with warnings.catch_warnings(), gt.record() as record:
        warnings.simplefilter("error")
        w = torch.ones(3, requires_grad=True)
        kept = (w * 2).exp()
        kept.sum().backward()
    assert "from backward" in record.why("w")
