"""Capsules: a step that is written in one process and run again in another."""

import io
import json
import math
import os
import re
import signal
import socket
import subprocess
import sys
import zipfile
from collections import UserDict

import pytest

torch = pytest.importorskip("torch")
gt = pytest.importorskip("gradtrace.torch")

from gradtrace.errors import UsageError  # noqa: E402
from gradtrace.sandbox import kernel  # noqa: E402
from gradtrace.torch.capsule_models import in_locked_thread  # noqa: E402

PROGRAM = """
import random, sys
import numpy, torch
import gradtrace.torch as gt

def make():
    layers = torch.nn.Linear(6, 8), torch.nn.BatchNorm1d(8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1)
    return torch.nn.Sequential(*layers)

def step(model, batch):
    x = batch["x"] * random.random() * numpy.random.rand()
    loss = (model(x).squeeze(1) - torch.sqrt(batch["y"])).square().mean()
    loss.backward()
    return loss

if sys.argv[1] == "write":
    model = make()
    batch = {"x": torch.randn(5, 6), "y": torch.tensor([1.0, 2.0, float(sys.argv[3]), 4.0, 5.0])}
    step(model, batch)  # gradients and statistics from before the step
    gt.capsule(sys.argv[2], step, model, batch)
else:
    again = gt.replay(sys.argv[2], step, make)
    print(again.same_loss, again.same_gradients, again.notes)
    again.recorded.save(sys.argv[2] + ".gt")
    print(again.recorded.why())
"""


@pytest.fixture
def program(tmp_path):
    (tmp_path / "train.py").write_text(PROGRAM)

    def called(*args):
        command = [sys.executable, "train.py", *args]
        return subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
        )

    return called


def loss_of(model, batch):
    loss = model(batch).sum()
    loss.backward()
    return loss


def written(path, dtype=torch.float32, **options):
    model = torch.nn.Linear(3, 2).to(dtype)
    gt.capsule(path, loss_of, model, torch.ones(4, 3, dtype=dtype), out=io.StringIO(), **options)


@pytest.mark.parametrize("number", ["3", "-1"])
def test_another_process_repeats_the_step_bit_by_bit(program, tmp_path, number):
    first = program("write", "step.gtc", number)
    assert first.returncode == 0, first.stderr
    assert re.search(r"a capsule of [\d.]+ kB", first.stderr)
    second = program("replay", "step.gtc")
    assert second.stdout.startswith("True True []"), second.stdout + second.stderr
    assert ("sqrt" in second.stdout) == (number == "-1")
    assert (tmp_path / "step.gtc.gt").exists()


def test_bfloat16_is_kept_as_its_bits(tmp_path):
    written(tmp_path / "a.gtc", torch.bfloat16)
    again = gt.replay(tmp_path / "a.gtc", loss_of, torch.nn.Linear(3, 2).bfloat16())
    assert again[1:4] == (True, True, [])


def test_a_tensor_without_elements_is_kept_in_its_shape(tmp_path):
    def make():
        model = torch.nn.Linear(3, 2)
        model.register_buffer("empty", torch.zeros(0, 3))
        model.none = torch.nn.Parameter(torch.zeros(0))
        return model

    gt.capsule(tmp_path / "a.gtc", loss_of, make(), torch.ones(4, 3), out=io.StringIO())
    assert gt.replay(tmp_path / "a.gtc", loss_of, make)[1:4] == (True, True, [])


def test_a_step_that_differs_is_noticed(tmp_path):
    written(tmp_path / "a.gtc")
    again = gt.replay(
        tmp_path / "a.gtc", lambda model, batch: loss_of(model, 2 * batch), torch.nn.Linear(3, 2)
    )
    assert again[1:3] == (False, False)


def test_only_bad_steps_are_written_where_asked(tmp_path):
    written(tmp_path / "a.gtc", only_bad=True)
    assert not (tmp_path / "a.gtc").exists()


def test_a_capsule_beyond_the_limit_is_refused(tmp_path):
    with pytest.raises(UsageError, match="larger than the limit of 10 B"):
        written(tmp_path / "a.gtc", limit=10)


def test_another_model_is_an_error(tmp_path):
    written(tmp_path / "a.gtc")
    with pytest.raises(UsageError, match=r"differs from the capsule's .* in (weight|bias)"):
        gt.replay(tmp_path / "a.gtc", loss_of, torch.nn.Linear(3, 5))


def test_damaged_files_are_errors(tmp_path):
    path = tmp_path / "a.gtc"
    written(path)
    content = path.read_bytes()
    for damaged in (b"", b"text", content[: len(content) // 2]):
        path.write_bytes(damaged)
        with pytest.raises(UsageError, match="not a capsule"):
            gt.replay(path, loss_of, torch.nn.Linear(3, 2))
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("../evil", "x")
    with pytest.raises(UsageError, match="not a capsule"):
        gt.replay(path, loss_of, torch.nn.Linear(3, 2))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("arrays/0.npy", bytes(100_000_000))
    with pytest.raises(UsageError, match="far more than the file's"):
        gt.replay(path, loss_of, torch.nn.Linear(3, 2))


def changed(path, change):
    """Write a capsule again with a change of its document."""
    with zipfile.ZipFile(path) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    name = next(one for one in parts if not one.startswith("arrays/"))
    document = json.loads(parts[name])
    change(document)
    with zipfile.ZipFile(path, "w") as file:
        for one, content in {**parts, name: json.dumps(document).encode()}.items():
            file.writestr(one, content)


@pytest.mark.parametrize("change, told", [
    (lambda d: d.update(batch=["list", [["tensor", 0, "float32", [1]]] * 3]), "two tensors have one array|bytes than"),
    (lambda d: d.update(call={"divisor": "x"}), "how its model is called is damaged"),
    (lambda d: d.update(call={"autocast": "load"}), "how its model is called is damaged"),
])  # fmt: skip
def test_hostile_documents_are_errors(tmp_path, change, told):
    path = tmp_path / "a.gtc"
    written(path)
    changed(path, change)
    with pytest.raises(UsageError, match=told):
        gt.replay(path, loss_of, torch.nn.Linear(3, 2))


def test_a_capsule_names_no_file_that_is_read(tmp_path):
    path, pipe = tmp_path / "a.gtc", tmp_path / "pipe"
    written(path)
    os.mkfifo(pipe)
    (tmp_path / "a.txt").write_text("y")
    sources = {str(pipe): "x", "/dev/zero": "x", "/proc/kmsg": "x", str(tmp_path / "a.txt"): "x"}
    changed(path, lambda d: d.update(sources=sources, versions={"\x1b[2J": "1"}))
    assert gt.replay(path, loss_of, torch.nn.Linear(3, 2)).notes == []


def attempts(folder, port):
    yield lambda: socket.create_connection(("127.0.0.1", port))
    yield lambda: (folder / "secret").read_text()
    yield lambda: (folder / "new").write_text("1")
    yield lambda: subprocess.run(["true"], check=True)
    yield lambda: os.open("/proc/kmsg", os.O_RDONLY)


@pytest.mark.skipif(not kernel.offered().stands, reason="this kernel has no Landlock or no seccomp")
def test_a_model_is_built_without_files_and_network(tmp_path):
    (tmp_path / "secret").write_text("1")
    with socket.create_server(("127.0.0.1", 0)) as server:
        for attempt in attempts(tmp_path, server.getsockname()[1]):
            with pytest.raises(PermissionError):
                in_locked_thread(attempt)
    assert in_locked_thread(lambda: torch.nn.Linear(300, 300)(torch.ones(300, 300)).shape) == (
        300,
        300,
    )
    assert (tmp_path / "secret").read_text() == "1"  # this thread has kept its rights


KILLED = """
import os, signal, torch
import gradtrace.torch as gt
from gradtrace.torch import capsule_file

def put(*args):
    os.kill(os.getpid(), signal.SIGKILL)

capsule_file.put = put  # the document, which is written after the arrays
gt.capsule("a.gtc", lambda model, batch: model(batch).sum(), torch.nn.Linear(300, 300), torch.ones(2, 300))
"""


def test_a_process_killed_while_writing_leaves_the_old_file(tmp_path):
    written(tmp_path / "a.gtc")
    before = (tmp_path / "a.gtc").read_bytes()
    ended = subprocess.run(
        [sys.executable, "-c", KILLED], cwd=tmp_path, check=False, capture_output=True, timeout=60
    )
    assert ended.returncode == -signal.SIGKILL
    assert (tmp_path / "a.gtc").read_bytes() == before


def test_a_batch_that_cannot_be_written_is_an_error(tmp_path):
    with pytest.raises(UsageError, match="cannot have an object of type object"):
        gt.capsule(tmp_path / "a.gtc", loss_of, torch.nn.Linear(3, 2), [object()])


def test_a_batch_of_transformers_tokenizers_is_a_dict(tmp_path):
    def step(model, batch):
        return loss_of(model, batch["x"])

    gt.capsule(
        tmp_path / "a.gtc",
        step,
        torch.nn.Linear(3, 2),
        UserDict(x=torch.ones(4, 3)),
        out=io.StringIO(),
    )
    assert gt.replay(tmp_path / "a.gtc", step, torch.nn.Linear(3, 2))[1:4] == (True, True, [])


def test_a_path_in_a_missing_folder_is_an_error_before_the_step(tmp_path):
    with pytest.raises(UsageError, match=r"cannot write .*no such file or directory"):
        written(tmp_path / "missing" / "a.gtc")


def test_without_a_step_the_batch_must_be_a_dict_and_without_a_model_there_must_be_a_configuration(
    tmp_path,
):
    written(tmp_path / "a.gtc")
    with pytest.raises(UsageError, match="its batch is not a dict"):
        gt.replay(tmp_path / "a.gtc", None, torch.nn.Linear(3, 2))
    with pytest.raises(
        UsageError, match=r"no configuration from which its model .*Linear.* is built"
    ):
        gt.replay(tmp_path / "a.gtc", loss_of)


def guarded(folder, tensors=()):
    """The text of a guard whose second step is not finite, and the training's losses."""
    torch.manual_seed(0)
    model, told = torch.nn.Linear(3, 1), io.StringIO()

    @gt.guard(capsule=folder, out=told)
    def step(x):
        loss = torch.sqrt(model(x).square() - x.sum()).sum() + sum(one.sum() for one in tensors)
        loss.backward()
        return loss.item()

    return [step(torch.full((2, 3), scale)) for scale in (-1.0, 9.0, -2.0)], told.getvalue()


@pytest.mark.skipif(sys.platform != "linux", reason="a guard repeats a step only on Linux")
def test_a_guard_that_cannot_write_its_capsule_says_why_and_the_training_goes_on(tmp_path):
    wanted, told = guarded(None)
    assert "capsule" not in told
    assert math.isnan(wanted[1])
    (tmp_path / "file").write_text("")
    for folder, tensors, reason in (
        (tmp_path / "file", (), "FileExistsError"),
        (tmp_path / "file" / "below", (), "NotADirectoryError"),
        (
            tmp_path / "full",
            [torch.zeros(1, requires_grad=True)],
            "which is not a parameter of model",
        ),
    ):
        found, told = guarded(folder, tensors)
        assert len(found) == 3
        assert "no capsule of this step was written, since" in told.splitlines()[-1]
        assert reason in told.splitlines()[-1]
    assert list((tmp_path / "full").iterdir()) == []
    found, told = guarded(tmp_path / "new" / "folder")
    assert repr(found) == repr(wanted)
    assert (tmp_path / "new" / "folder" / "step-2.gtc").exists()
    guarded(tmp_path / "new" / "folder")
    assert sorted(one.name for one in (tmp_path / "new" / "folder").iterdir()) == [
        "step-2-2.gtc",
        "step-2.gtc",
    ]


def without_result(model, batch):
    model.zero_grad()
    model(batch).square().mean().backward()


def with_a_vector(model, batch):
    model.zero_grad()
    loss = model(batch).square()
    loss.backward(torch.ones_like(loss))


def with_one_element(model, batch):
    model.zero_grad()
    loss = model(batch).square().sum().reshape(1)
    loss.backward()
    return loss


@pytest.mark.parametrize("step", [without_result, with_a_vector])
def test_a_step_without_a_loss_is_compared_by_its_gradients_alone(tmp_path, step):
    gt.capsule(tmp_path / "a.gtc", step, torch.nn.Linear(3, 2), torch.ones(4, 3), out=io.StringIO())
    again = gt.replay(tmp_path / "a.gtc", step, torch.nn.Linear(3, 2))
    assert again[1:4] == (None, True, [])
    assert again.text().startswith(
        "loss: not compared, since the capsule or the step here has no loss"
    )
    assert not gt.replay(tmp_path / "a.gtc", loss_of, torch.nn.Linear(3, 2)).same_gradients


def test_a_loss_of_one_element_in_a_loop_is_not_another_loss(tmp_path):
    model = torch.nn.Linear(3, 2)
    gt.capsule("now")
    for x in gt.watch([torch.ones(4, 3)], model, capsule=tmp_path, out=io.StringIO()):
        with_one_element(model, x)
    again = gt.replay(tmp_path / "epoch-0-batch-0.gtc", with_one_element, torch.nn.Linear(3, 2))
    assert again[1:4] == (None, True, [])


def test_a_model_that_cannot_be_written_is_an_error(tmp_path):
    with pytest.raises(
        UsageError, match=r"a capsule cannot have a parameter without a shape: model\['weight'\]"
    ):
        gt.capsule(tmp_path / "a.gtc", loss_of, torch.nn.LazyLinear(2), torch.ones(4, 3))
    with pytest.raises(UsageError, match="got a model of type NoneType"):
        gt.capsule("now", loss_of)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("model, step, told", [
    (torch, loss_of, "the model cannot be called: <module 'torch'"),
    (lambda size: torch.nn.Linear(size, 2), loss_of, "the model cannot be called: missing a required argument: 'size'"),
    (torch.nn.Linear(3, 2), lambda batch: batch, "the step cannot be called: too many positional arguments"),
    (torch.nn.Linear(3, 2), 1, "the step cannot be called: 1 is not a callable object"),
])  # fmt: skip
def test_a_model_or_a_step_that_cannot_be_called_is_an_error(tmp_path, model, step, told):
    written(tmp_path / "a.gtc")
    with pytest.raises(UsageError) as caught:
        gt.replay(tmp_path / "a.gtc", step, model)
    assert caught.value.message.startswith(told)
