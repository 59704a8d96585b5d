"""What a capsule has besides the model and the batch, and capsules that are written when somebody asks."""

import gc
import io
import json
import os
import random
import signal
import subprocess
import sys
import zipfile

import numpy
import pytest

torch = pytest.importorskip("torch")
gt = pytest.importorskip("gradtrace.torch")

from gradtrace.errors import UsageError  # noqa: E402
from gradtrace.views.cells import bytes_text  # noqa: E402
from tests.torch.launching import torchrun  # noqa: E402

GENERATOR = torch.Generator()
SCALER = torch.amp.GradScaler("cpu", init_scale=64.0)


class Noise(torch.nn.Module):
    """A layer with a generator of its own."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 2)
        self.source = torch.Generator()

    def forward(self, x):
        return self.linear(x) + torch.rand(2, generator=self.source)


def noisy_step(model, batch):
    loss = (model(batch) * torch.rand(2, generator=GENERATOR)).sum()
    SCALER.scale(loss).backward()
    return loss


def squares(model, batch):
    loss = model(batch).square().sum()
    loss.backward()
    return loss


def saved(path, step, model, batch):
    gt.capsule(path, step, model, batch, out=io.StringIO())
    return path


def document_of(path):
    with zipfile.ZipFile(path) as file:
        return json.loads(file.read("record.json"))


def test_generators_and_scalers_of_the_program_are_restored(tmp_path):
    path = saved(tmp_path / "a.gtc", noisy_step, Noise(), torch.ones(4, 3))
    SCALER.load_state_dict({**SCALER.state_dict(), "scale": 2.0})
    again = gt.replay(path, noisy_step, Noise)
    assert again[1:4] == (True, True, [])
    assert SCALER.get_scale() == 64.0


class NoiseOfNumpy(torch.nn.Module):
    def __init__(self, kind="PCG64"):
        super().__init__()
        self.linear = torch.nn.Linear(3, 2)
        self.rng = numpy.random.Generator(getattr(numpy.random, kind)(1))

    def forward(self, x):
        return self.linear(x) * torch.tensor(self.rng.normal(size=2), dtype=x.dtype)


OF_PROGRAM = {
    "numpy": numpy.random.default_rng(1),
    "older": numpy.random.RandomState(1),
    "python": random.Random(1),
}


def draws_from_all(model, batch):
    drawn = (
        OF_PROGRAM["numpy"].normal()
        + OF_PROGRAM["older"].normal()
        + OF_PROGRAM["python"].gauss(0.0, 1.0)
    )
    loss = (model(batch) * drawn).sum()
    loss.backward()
    return loss


@pytest.mark.parametrize("kind", ["PCG64", "MT19937", "Philox", "SFC64"])
def test_generators_of_numpy_and_python_are_restored(tmp_path, kind):
    path = saved(tmp_path / "a.gtc", draws_from_all, NoiseOfNumpy(kind), torch.ones(4, 3))
    assert gt.replay(path, draws_from_all, lambda: NoiseOfNumpy(kind))[1:4] == (True, True, [])
    notes = gt.replay(path, squares, lambda: NoiseOfNumpy(kind)).notes
    assert (
        "the capsule has the state of the generator OF_PROGRAM['numpy'], which the step here does not name"
        in notes
    )


def test_a_generator_whose_state_the_capsule_lacks_is_named(tmp_path):
    path = saved(tmp_path / "a.gtc", squares, NoiseOfNumpy(), torch.ones(4, 3))
    changed(path, lambda document: document.update(generators=["dict", []]))
    note = "the capsule has no state of the generator model.rng, so it is as it is here"
    assert note in gt.replay(path, squares, NoiseOfNumpy).notes


@pytest.mark.parametrize("kind, key", [("MT19937", "pos"), ("Philox", "buffer_pos")])
def test_a_position_beyond_the_words_of_a_generator_is_an_error(tmp_path, kind, key):
    path = saved(tmp_path / "a.gtc", squares, NoiseOfNumpy(kind), torch.ones(4, 3))

    def change(document):
        text = json.dumps(document["generators"])
        place = text.index(f'"{key}", ["plain", ') + len(f'"{key}", ["plain", ')
        document["generators"] = json.loads(text[:place] + "9999" + text[text.index("]", place) :])

    changed(path, change)
    with pytest.raises(UsageError, match=f"{key} is out of range"):
        gt.replay(path, squares, lambda: NoiseOfNumpy(kind))


def test_a_guard_repeats_a_step_with_the_same_numbers_of_numpy():
    model, rng, told = torch.nn.Linear(1, 1), numpy.random.default_rng(1), io.StringIO()

    @gt.guard(out=told)
    def step():
        loss = (model(torch.ones(1, 1)) * float(rng.normal())).sum() / 0
        loss.backward()
        return loss

    step()
    assert "this step was repeated" in told.getvalue() and "another loss" not in told.getvalue()
    assert rng.normal() == numpy.random.default_rng(1).normal(size=2)[1]


def test_a_step_without_the_generator_of_the_capsule_is_told_so(tmp_path):
    path = saved(tmp_path / "a.gtc", noisy_step, Noise(), torch.ones(4, 3))
    assert gt.replay(path, squares, Noise).notes[:2] == [
        "the capsule has the state of the generator GENERATOR, which the step here does not name",
        "the capsule has the state of the GradScaler SCALER, which the step here does not name",
    ]


def test_the_generator_of_a_loaders_sampler_is_in_a_capsule(tmp_path):
    model = torch.nn.Linear(1, 1)
    loader = torch.utils.data.DataLoader(
        torch.ones(4, 1), 2, shuffle=True, generator=torch.Generator()
    )
    gt.capsule("now")
    told = io.StringIO()
    for x in gt.watch(loader, model, out=told, capsule=tmp_path):
        squares(model, x)
    path = tmp_path / "epoch-0-batch-0.gtc"
    assert told.getvalue().startswith(f"gradtrace guard: {path} has the state before this step")
    assert document_of(path)["generators"][1][0][0] == "loader.generator"
    assert gt.replay(path, squares, torch.nn.Linear(1, 1))[1:4] == (True, True, [])


def changed(path, change):
    """Write a capsule again with a change of its document."""
    with zipfile.ZipFile(path) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    document = json.loads(parts["record.json"])
    change(document)
    with zipfile.ZipFile(path, "w") as file:
        for name, content in {**parts, "record.json": json.dumps(document).encode()}.items():
            file.writestr(name, content)


def test_a_batch_of_a_device_that_is_not_here_is_put_where_the_model_is(tmp_path):
    path = saved(tmp_path / "a.gtc", squares, torch.nn.Linear(3, 2), torch.ones(4, 3))
    assert document_of(path)["devices"] == ["list", [["plain", "cpu"]]]
    changed(path, lambda document: document.update(devices=["list", [["plain", "cuda:7"]]]))
    again = gt.replay(path, squares, torch.nn.Linear(3, 2))
    assert again[1:3] == (True, True)
    assert again.notes == ["the batch was on cuda:7, which is not here: it is on cpu, as the model"]


def test_a_batch_of_an_older_capsule_has_no_devices(tmp_path):
    path = saved(tmp_path / "a.gtc", squares, torch.nn.Linear(3, 2), torch.ones(4, 3))
    for key in ("devices", "layouts", "generators", "scalers", "device_random", "rank"):
        changed(path, lambda document, key=key: document.pop(key))
    assert gt.replay(path, squares, torch.nn.Linear(3, 2))[1:4] == (True, True, [])


@pytest.mark.parametrize("change", [
    {"devices": ["list", [["plain", 1]]]},
    {"devices": ["dict", []]},
    {"layouts": ["list", [["list", [["plain", True], ["list", []]]]]]},
    {"layouts": ["list", [["list", [["plain", False], ["list", [["plain", -1], ["plain", 1]]]]]]]},
    {"generators": ["dict", [["g", ["plain", 1]]]]},
    {"scalers": ["dict", [["s", ["plain", 1]]]]},
    {"device_random": ["list", [["plain", 1]]]},
    {"rank": ["list", [["plain", "0"]]]},
    {"call": {"scale": 0}},
], ids=repr)  # fmt: skip
def test_damaged_fields_are_errors(tmp_path, change):
    path = saved(tmp_path / "a.gtc", squares, torch.nn.Linear(3, 2), torch.ones(4, 3))
    changed(path, lambda document: document.update(change))
    with pytest.raises(UsageError, match="damaged"):
        gt.replay(path, squares, torch.nn.Linear(3, 2))


@pytest.mark.parametrize("part, form", [
    (0, ["plain", 1]), (0, ["list", []]),
    (1, ["list", [["plain", 3], ["list", []], ["plain", None]]]), (1, ["dict", []]),
    (1, ["list", [["plain", 3], ["list", [["plain", 1]] * 3], ["plain", None]]]),
    (2, ["list", []]), (2, ["plain", 1]), (2, ["dict", [["a", ["plain", 1]]]]),
    (2, ["list", [["list", []], ["plain", 1], ["plain", 0], ["plain", 0]]]),
], ids=repr)  # fmt: skip
def test_damaged_random_states_are_errors(tmp_path, part, form):
    path = saved(tmp_path / "a.gtc", squares, torch.nn.Linear(3, 2), torch.ones(4, 3))

    def change(document):
        document["random"][1][part] = form

    changed(path, change)
    with pytest.raises(UsageError, match="its random states are damaged"):
        gt.replay(path, squares, torch.nn.Linear(3, 2))


def test_a_damaged_state_of_a_generator_is_an_error(tmp_path):
    path = saved(tmp_path / "a.gtc", noisy_step, Noise(), torch.ones(4, 3))
    changed(
        path,
        lambda document: document.update(generators=["dict", [["GENERATOR", document["batch"]]]]),
    )
    changed(path, lambda document: document.update(batch=["plain", None]))
    with pytest.raises(UsageError, match="the state of GENERATOR in the capsule does not fit"):
        gt.replay(path, noisy_step, Noise)


# ---- tensors of other kinds


class Expanded(torch.nn.Module):
    def __init__(self, value=1.0):
        super().__init__()
        self.linear = torch.nn.Linear(3, 2)
        self.register_buffer("scale", torch.tensor([value]).expand(4, 2))

    def forward(self, x):
        return self.linear(x) * self.scale


def test_an_expanded_buffer_is_restored(tmp_path):
    path = saved(tmp_path / "a.gtc", squares, Expanded(3.0), torch.ones(4, 3))
    model = Expanded()
    assert gt.replay(path, squares, model)[1:4] == (True, True, [])
    assert model.scale.stride() == (0, 0) and model.scale.eq(3.0).all()


def test_a_buffer_that_is_expanded_only_in_the_replay_is_restored(tmp_path):
    other = Expanded()
    other.scale = torch.arange(8.0).reshape(4, 2)
    path, model = saved(tmp_path / "a.gtc", squares, other, torch.ones(4, 3)), Expanded()
    assert gt.replay(path, squares, model)[1:4] == (True, True, [])
    assert model.scale.equal(other.scale)


def nested(tensors):
    return torch.nested.nested_tensor(tensors, layout=torch.jagged)


@pytest.mark.parametrize(("batch", "told", "remedy"), [
    (lambda: {"x": [nested([torch.ones(2, 3), torch.ones(1, 3)])]}, r"a nested tensor: batch\['x'\]\[0\]", "pad it"),
    (lambda: torch.ones(2, 3).to_sparse(), "a sparse tensor: batch", "make it dense"),
    (lambda: (1, torch.ones(2, 3, device="meta")), r"a tensor without elements: batch\[1\]", "meta device"),
], ids=["nested", "sparse", "meta"])  # fmt: skip
def test_tensors_that_a_capsule_cannot_have_are_named(tmp_path, batch, told, remedy):
    with pytest.raises(UsageError, match=told) as caught:
        gt.capsule(tmp_path / "a.gtc", squares, torch.nn.Linear(3, 2), batch())
    assert remedy in caught.value.hint
    assert not (tmp_path / "a.gtc").exists()


def test_a_conjugate_view_is_written_as_its_values(tmp_path):
    model = torch.nn.Linear(3, 2).to(torch.complex64)

    def step(model, batch):
        loss = model(batch).abs().sum()
        loss.backward()
        return loss

    batch = torch.randn(4, 3, dtype=torch.complex64).conj()
    assert batch.is_conj()
    path = saved(tmp_path / "a.gtc", step, model, [batch, batch.imag][0])
    assert gt.replay(path, step, torch.nn.Linear(3, 2).to(torch.complex64))[1:4] == (True, True, [])


SHARDED = """
import os, torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard
import gradtrace.torch as gt
from gradtrace.errors import UsageError

dist.init_process_group("gloo")
dist.device_mesh.init_device_mesh("cpu", (dist.get_world_size(),))
model = torch.nn.Linear(4, 2)
fully_shard(model)
try:
    gt.capsule("a.gtc", lambda model, batch: model(batch).sum(), model, torch.ones(2, 4))
except UsageError as error:
    print("REFUSED", error.message, "/", error.hint, flush=True)
plain = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 2))

def step(model, batch):
    loss = model(batch).square().sum()
    loss.backward()
    return loss

gt.capsule("step.gtc", step, plain, torch.full((2, 4), 1.0 + dist.get_rank()))
dist.barrier()
dist.destroy_process_group()
"""


@pytest.mark.slow
def test_each_rank_writes_a_capsule_of_its_own_and_a_sharded_parameter_is_refused(tmp_path):
    said = torchrun(tmp_path, SHARDED)
    assert (
        said.count(
            "REFUSED a capsule cannot have a part of a tensor that several processes hold (DTensor)"
        )
        == 2
    )
    assert "model['weight'] / write the capsule in a run of one process" in said
    assert sorted(one.name for one in tmp_path.glob("*.gtc")) == [
        "step.rank0.gtc",
        "step.rank1.gtc",
    ]
    again = gt.replay(tmp_path / "step.rank1.gtc", squares, torch.nn.Linear(4, 2))
    assert again.same_loss and not again.same_gradients
    assert again.notes[0].startswith(
        "the capsule is of rank 1 of 2: its gradients are means over the ranks"
    )


def penalized(model, batch):
    loss = model(batch).square().mean()
    (gradient,) = torch.autograd.grad(loss, batch, create_graph=True)
    (loss + gradient.norm()).backward()
    return loss


def test_a_gradient_with_respect_to_the_batch_is_replayed(tmp_path):
    path = saved(
        tmp_path / "a.gtc", penalized, torch.nn.Linear(3, 2), torch.randn(4, 3, requires_grad=True)
    )
    assert gt.replay(path, penalized, torch.nn.Linear(3, 2))[1:4] == (True, True, [])


@pytest.mark.parametrize(("batch", "strides"), [
    (torch.rand(2, 3, 4, 5).contiguous(memory_format=torch.channels_last), (60, 1, 15, 3)),
    (torch.rand(2, 3, 4, 10)[..., ::2], (120, 40, 10, 2)),
    (torch.rand(3, 1, 5).expand(2, 3, 4, 5), (0, 5, 0, 1)),
    (torch.rand(40).as_strided((2, 3, 4, 5), (10, 4, 2, 1)), (10, 4, 2, 1)),
    (torch.rand(2, 3, 4, 500)[..., ::100], (60, 20, 5, 1)),
], ids=["channels_last", "sliced", "expanded", "overlapping", "wide"])  # fmt: skip
def test_a_batch_has_its_strides_in_a_replay(tmp_path, batch, strides):
    seen = []

    def step(model, batch):
        seen.append((batch.stride(), batch.clone()))
        return squares(model, batch)

    path = saved(tmp_path / "a.gtc", step, torch.nn.Linear(5, 2), batch)
    assert gt.replay(path, step, torch.nn.Linear(5, 2))[1:3] == (True, True)
    (_, values), (again, same_values) = seen
    assert values.equal(same_values)
    assert again == strides


# ---- asked for


def test_asking_without_a_step_is_an_error(tmp_path):
    with pytest.raises(UsageError, match="got no step"):
        gt.capsule(tmp_path / "a.gtc")
    with pytest.raises(UsageError, match="cannot wait for signal 9"):
        gt.capsule("now", on=signal.SIGKILL)


def trained(folder, asked_at=None):
    """The parameters after a training under a guard, and what the guard said."""
    torch.manual_seed(0)
    model, told = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Dropout(0.5)), io.StringIO()
    optimizer = torch.optim.Adam(model.parameters(), 0.1)

    @gt.guard(capsule=folder, out=told)
    def step(x):
        optimizer.zero_grad()
        loss = model(x).square().sum()
        loss.backward()
        optimizer.step()
        return loss

    for number in range(1, 6):
        if number == asked_at:
            gt.capsule("now")
        step(torch.full((4, 3), float(number)))
    return [p.detach() for p in model.parameters()], told.getvalue()


def of_two(model, batch):
    model.zero_grad()
    return squares(model, batch)


def test_the_next_step_is_written_when_asked_and_changes_nothing(tmp_path):
    found, told = trained(tmp_path, asked_at=3)
    wanted, nothing = trained(tmp_path)
    assert all(map(torch.equal, found, wanted)) and nothing == ""
    assert [one.name for one in tmp_path.iterdir()] == ["step-3.gtc"]
    size = bytes_text((tmp_path / "step-3.gtc").stat().st_size)
    assert (
        told
        == f"gradtrace guard: {tmp_path / 'step-3.gtc'} has the state before this step ({size})\n"
    )
    again = gt.replay(
        tmp_path / "step-3.gtc",
        of_two,
        torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Dropout()),
    )
    assert again[1:4] == (True, True, [])
    assert again.answer == ""
    assert "all values of this step are finite" in again.text()


def test_an_asked_capsule_that_cannot_be_written_is_told_and_the_training_goes_on(tmp_path):
    (tmp_path / "file").write_text("")
    found, told = trained(tmp_path / "file", asked_at=3)
    assert told.startswith(
        "gradtrace guard: no capsule of this step was written, since FileExistsError"
    )
    assert all(map(torch.equal, found, trained(tmp_path)[0]))


def test_a_step_that_raises_has_no_asked_capsule(tmp_path):
    told = io.StringIO()

    @gt.guard(capsule=tmp_path, out=told)
    def step(x):
        raise ZeroDivisionError

    gt.capsule("now")
    with pytest.raises(ZeroDivisionError):
        step(1.0)
    assert "no capsule of this step was written, since " in told.getvalue()
    assert list(tmp_path.iterdir()) == []


def test_a_loop_that_is_left_in_an_asked_pass_is_told_in_its_own_words(tmp_path):
    told = io.StringIO()
    gt.capsule("now")
    for _ in gt.watch([torch.ones(1, 2)], torch.nn.Linear(2, 1), capsule=tmp_path, out=told):
        break
    gc.collect()
    assert told.getvalue().endswith(
        "no capsule of this step was written, since the loop was left in it\n"
    )
    assert list(tmp_path.iterdir()) == []


SIGNALLED = """
import os, signal, torch
import gradtrace.torch as gt

model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
signal.signal(signal.SIGUSR1, lambda number, frame: print("own handler"))
gt.capsule("now", on=signal.SIGUSR1)
for number, x in enumerate(gt.watch([torch.ones(1, 2)] * 6, model, optimizer, capsule="capsules")):
    optimizer.zero_grad()
    model(x).square().sum().backward()
    optimizer.step()
    if number in (1, 3):
        os.kill(os.getpid(), signal.SIGUSR1)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGUSR1")
def test_a_signal_asks_for_a_capsule_each_time(tmp_path):
    (tmp_path / "train.py").write_text(SIGNALLED)
    done = subprocess.run(
        [sys.executable, "train.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout == "own handler\n" * 2
    assert sorted(os.listdir(tmp_path / "capsules")) == [
        "epoch-0-batch-2.gtc",
        "epoch-0-batch-4.gtc",
    ]


# ---- the samples that are to blame


@pytest.mark.parametrize("where", ["input", "function"])
def test_a_bad_sample_of_a_large_batch_is_named(tmp_path, where):
    def step(model, batch):
        x = torch.sqrt(batch) if where == "function" else batch
        loss = model(x).mean()
        loss.backward()
        return loss

    batch = torch.rand(300, 400)
    batch[217, 5] = -1.0 if where == "function" else float("nan")
    path = saved(
        tmp_path / "a.gtc",
        step,
        torch.nn.Sequential(torch.nn.Linear(400, 100), torch.nn.Tanh()),
        batch,
    )
    again = gt.replay(path, step, torch.nn.Sequential(torch.nn.Linear(400, 100), torch.nn.Tanh()))
    name = "torch.sqrt(batch)" if where == "function" else "batch"
    assert f"sample 217 of {name}, of 300, is not finite" in again.answer


def test_no_sample_is_named_where_all_are_bad_or_the_rows_are_not_samples(tmp_path):
    def step(model, batch):
        loss = (model(batch) @ torch.sqrt(model.table)).mean()
        loss.backward()
        return loss

    def make():
        model = torch.nn.Linear(300, 300)
        model.table = torch.nn.Parameter(torch.arange(300.0)[:, None].expand(300, 300) - 1)
        return model

    path = saved(tmp_path / "a.gtc", step, make(), torch.rand(300, 300))
    again = gt.replay(path, step, make)
    assert "sqrt" in again.answer
    assert "sample" not in again.answer


@pytest.mark.parametrize("size", [4, 400])
def test_the_infinities_of_a_mask_are_no_bad_samples(tmp_path, size):
    def step(model, batch):
        x, mask = batch
        scores = model(x) + mask
        loss = torch.log(torch.softmax(scores, 1).sum() * 0)
        loss.backward()
        return loss

    mask = torch.zeros(8, size)
    mask[2:4, 0] = float("-inf")
    path = saved(tmp_path / "a.gtc", step, torch.nn.Linear(5, size), (torch.rand(8, 5), mask))
    again = gt.replay(path, step, torch.nn.Linear(5, size))
    assert "log" in again.answer
    assert "sample" not in again.answer


def test_a_sample_with_nan_is_named_beside_a_masks_infinities(tmp_path):
    def step(model, batch):
        x, mask = batch
        loss = torch.softmax(torch.sqrt(x @ model.weight.T) + mask, 1).square().sum()
        loss.backward()
        return loss

    def make():
        model = torch.nn.Linear(5, 400)
        torch.nn.init.ones_(model.weight)
        return model

    x, mask = torch.ones(8, 5), torch.zeros(8, 400)
    mask[2:4, 0] = float("-inf")
    x[6] = -1.0
    path = saved(tmp_path / "a.gtc", step, make(), (x, mask))
    assert (
        "sample 6 of torch.sqrt(x @ model.weight.T), of 8, is not finite"
        in gt.replay(path, step, make).answer
    )


def backward_of_a_generator(loss):
    torch.autograd.backward(one for one in [loss, 2 * loss])


def backward_of_an_edge(loss):
    torch.autograd.backward([torch.autograd.graph.get_gradient_edge(loss)], [torch.ones(())])


def backward_of_a_complex_root(loss):
    root = loss * (1 + 2j)
    torch.autograd.backward([root], [torch.ones_like(root)])


def gradients_without_backward(loss):
    (found,) = torch.autograd.grad(loss, [WEIGHT])
    WEIGHT.grad = found


WEIGHT = torch.nn.Parameter(torch.ones(3))


class Weighted(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = WEIGHT

    def forward(self, x):
        return self.weight * x


@pytest.mark.parametrize(("backward", "roots"), [
    (backward_of_a_generator, 2), (backward_of_a_complex_root, 0), (gradients_without_backward, 1),
    pytest.param(backward_of_an_edge, 0, marks=pytest.mark.skipif(
        torch.__version__ < "2.5", reason="PyTorch 2.4 does not start at an edge with a gradient")),
])  # fmt: skip
def test_asking_leaves_every_kind_of_backward_as_it_is(tmp_path, backward, roots):
    def pure(model, x):
        WEIGHT.grad = None
        loss = model(x).square().sum()
        backward(loss)
        return loss

    model = Weighted()
    guarded = gt.guard(capsule=tmp_path, out=io.StringIO())(lambda x: pure(model, x))
    guarded(torch.ones(3))
    wanted = WEIGHT.grad
    gt.capsule("now")
    guarded(torch.ones(3))
    assert WEIGHT.grad.equal(wanted)
    assert len(document_of(tmp_path / "step-2.gtc")["roots"]) == roots
    assert gt.replay(tmp_path / "step-2.gtc", pure, model)[1:4] == (True, True, [])


def sparse_embedding():
    torch.manual_seed(0)
    return torch.nn.Embedding(20, 4, sparse=True)


def test_sparse_gradients_have_checksums(tmp_path):
    model, told = sparse_embedding(), io.StringIO()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    words = torch.tensor([3, 1, 3])

    @gt.guard(capsule=tmp_path, out=told)
    def step(x):
        optimizer.zero_grad()
        loss = squares(model, x)
        optimizer.step()
        return loss

    gt.capsule("now")
    step(words)
    assert "step-1.gtc has the state before this step" in told.getvalue()
    path = saved(tmp_path / "a.gtc", of_two, sparse_embedding(), words)
    for one in (tmp_path / "step-1.gtc", path):
        assert gt.replay(one, of_two, sparse_embedding)[1:4] == (True, True, [])
    assert not gt.replay(
        path, lambda model, x: 2 * squares(model, x[:2]), sparse_embedding
    ).same_gradients


def scaled_step(model, batch):
    model.zero_grad()
    loss = model(batch).square().sum()
    SCALER.scale(loss).backward()
    return loss


def unscaled_step(model, batch):
    loss = scaled_step(model, batch)
    for p in model.parameters():
        p.grad /= SCALER.get_scale()
    return loss


def test_a_scalers_own_division_of_the_gradients_is_no_part_of_the_step(tmp_path):
    model = torch.nn.Linear(3, 2)
    optimizer, scaler = torch.optim.Adam(model.parameters()), SCALER
    gt.capsule("now")
    for x in gt.watch(
        [torch.rand(4, 3)], model, optimizer, scaler, capsule=tmp_path, out=io.StringIO()
    ):
        scaled_step(model, x)
        scaler.step(optimizer)
        scaler.update()
    (path,) = tmp_path.iterdir()
    changed(
        path,
        lambda document: document.update(
            scalers=["dict", [["SCALER", document["scalers"][1][0][1]]]]
        ),
    )
    assert gt.replay(path, scaled_step, torch.nn.Linear(3, 2))[2:4] == (True, [])
    again = gt.replay(path, unscaled_step, torch.nn.Linear(3, 2))
    assert not again.same_gradients
    (note,) = again.notes
    assert note.startswith(
        "the step has a GradScaler: gradients that it has divided by its scale have other bits"
    )


ONE_PROCESS = """
import torch, torch.distributed as dist
import gradtrace.torch as gt

dist.init_process_group("gloo", init_method="file://" + __import__("os").path.abspath("store"), rank=0, world_size=1)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 2))

def step(model, batch):
    loss = model(batch).square().sum()
    loss.backward()
    return loss

gt.capsule("step.gtc", step, model, torch.ones(2, 3))
dist.destroy_process_group()
"""


def test_the_only_rank_has_its_own_gradients(tmp_path):
    subprocess.run([sys.executable, "-c", ONE_PROCESS], cwd=tmp_path, check=True, timeout=120)
    (path,) = tmp_path.glob("*.gtc")
    assert gt.replay(path, squares, torch.nn.Linear(3, 2))[1:4] == (True, True, [])


@pytest.mark.parametrize("place", ["input", "target", "none"])
def test_a_sample_that_stands_out_is_named_where_all_is_finite(tmp_path, place):
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    x, y = torch.randn(16, 4), torch.randn(16, 1)
    if place == "input":
        x[5] *= 1000
    if place == "target":
        y[3] = 1000.0

    def step(net, batch):
        loss = (net(batch[0]) - batch[1]).square().mean()
        loss.backward()
        return loss

    gt.capsule(tmp_path / "spike.gtc", step, model, (x, y))
    text = gt.replay(tmp_path / "spike.gtc", step, torch.nn.Linear(4, 1)).text()
    assert "all values of this step are finite" in text
    sample = {"input": "sample 5 of batch[0] is ", "target": "sample 3 of batch[1] is "}
    assert sample.get(place, "") in text
    assert ("sample" in text) is (place != "none")
