"""`check_model` and `gradtrace check --model`: bugs are found, healthy models pass, on both engines; nothing of the
user's changes.
"""

import copy
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gradtrace
from gradtrace.analysis.probes import REMARK, WRONG, check_model
from gradtrace.errors import UsageError
from tests.probed.bugs import BUGS, healthy_mlp, vectors
from tests.probed.healthy import HEALTHY, OF_TORCH

ENGINES = ["gradtrace", pytest.param("torch", marks=pytest.mark.slow)]
SLOW = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]


def engine_named(name):
    return gradtrace if name == "gradtrace" else pytest.importorskip("torch")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", BUGS)
def test_a_silent_bug_is_named(name, engine):
    engine = engine_named(engine)
    make, code, text = BUGS[name]
    engine.manual_seed(1)
    probes = check_model(*make(engine)).probes
    named = [p for p in probes if p.code == code and p.verdict in (WRONG, REMARK)]
    assert any(text in p.sentence for p in named), probes


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("make", HEALTHY)
def test_a_healthy_model_passes(make, engine):
    engine = engine_named(engine)
    engine.manual_seed(1)
    checked = check_model(*make(engine))
    assert checked.passed, checked


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("make", OF_TORCH)
def test_a_healthy_model_of_another_package_passes(make):
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    pytest.importorskip("peft")
    torch.manual_seed(1)
    checked = check_model(*make(torch), steps=40)
    assert checked.passed, checked


def test_the_line_is_that_of_the_first_module_that_mixes_samples():
    make, _, _ = BUGS["softmax_over_the_batch"]
    probe = next(p for p in check_model(*make(gradtrace)).probes if p.code == "samples")
    line = Path(probe.file).read_text().splitlines()[probe.line - 1]
    assert line.strip() == "return self.b(torch.softmax(self.a(x), dim=0))"
    assert probe.measured > 0


def state_of(engine, model, optimizer, batch):
    """Everything that a check must leave as it is."""
    tensors = [*model.parameters(), *model.buffers(), *batch]
    return {
        "values": [t.detach().numpy().tobytes() for t in tensors],
        "ids": [id(t) for t in tensors],
        "gradients": [
            None if p.grad is None else p.grad.numpy().tobytes() for p in model.parameters()
        ],
        "flags": [p.requires_grad for p in model.parameters()],
        "modes": [m.training for m in model.modules()],
        "hooks": [list(m._forward_hooks.items()) for m in model.modules()],
        "attributes": [sorted(vars(m)) for m in model.modules()],
        "optimizer": repr(optimizer.state_dict()),
        "random": (engine.get_rng_state().tolist(), random.getstate(), repr(np.random.get_state())),
        "grad mode": engine.is_grad_enabled(),
    }


@pytest.mark.parametrize("engine", ENGINES)
def test_nothing_of_the_user_changes(engine):
    engine = engine_named(engine)
    nn = engine.nn
    model = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 3))
    optimizer = engine.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x, y = vectors(engine)
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
    model[0].weight.requires_grad_(False)
    model[1].eval()
    model[3].register_forward_hook(lambda module, args, output: output * 2)
    before = state_of(engine, model, optimizer, (x, y))
    check_model(model, (x, y), nn.functional.cross_entropy, optimizer, steps=5)
    assert state_of(engine, model, optimizer, (x, y)) == before


def test_without_a_loss_it_says_so():
    model, (x, _), _ = healthy_mlp(gradtrace)
    checked = check_model(model, x)
    assert checked.passed
    assert "not tried  learning: without a loss" in str(checked)


@pytest.mark.parametrize(
    ("model", "batch", "text"),
    [
        (3, None, "a int is not a Module"),
        (gradtrace.nn.Linear(2, 1), gradtrace.ones(3, 5), "cannot be called"),
    ],
)
def test_a_call_that_cannot_be_checked(model, batch, text):
    with pytest.raises(UsageError, match=text):
        check_model(model, batch)


def test_one_sample_says_nothing_of_others():
    model, (x, y), loss = healthy_mlp(gradtrace)
    assert "not tried  samples" in str(check_model(model, (x[:1], y[:1]), loss, steps=1))


def test_batch_dim_names_the_axis_of_the_samples():
    make = next(make for make in HEALTHY if make.__name__ == "time_first")
    arguments = make(gradtrace)
    probe = next(
        p for p in check_model(*arguments, batch_dim=1, steps=1).probes if p.code == "samples"
    )
    assert probe.verdict == "ok", probe


# ---- the command line

PROGRAM = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(6, 16)
        self.b = nn.Linear(16, 3)

    def forward(self, x):
        h = torch.relu(self.a(x))
        h = h - h.mean(0)
        return self.b(h)

torch.manual_seed(0)
net = Net()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
x, y = torch.randn(12, 6), torch.arange(12) % 3
total = torch.zeros(())
for epoch in range(3):
    optimizer.zero_grad()
    loss = criterion(net(x), y)
    total += loss.detach()
    loss.backward()
    optimizer.step()
    print("epoch", epoch)
"""
RIGHT = PROGRAM.replace("        h = h - h.mean(0)\n", "")
ADDED = RIGHT.replace(
    "(net(x), y)", "(net(x), y) + 0.01 * sum((p * p).sum() for p in net.parameters())"
)


def command(folder, text, *options):
    path = folder / "train.py"
    path.write_text(text)
    line = [sys.executable, "-m", "gradtrace", "check", "--model", str(path), *options]
    return subprocess.run(
        line, capture_output=True, text=True, cwd=ROOT, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )


def in_engine(engine):
    if engine == "torch":
        pytest.importorskip("torch")
        return ("--engine", "torch")
    return ()


@pytest.mark.parametrize("engine", ENGINES)
def test_the_command_names_the_bug_and_its_line(tmp_path, engine):
    done = command(tmp_path, PROGRAM, *in_engine(engine))
    assert done.returncode == 1, done.stderr
    wrong = [line for line in done.stdout.splitlines() if line.startswith("wrong")]
    assert len(wrong) == 1
    assert "first in the result of b (Linear) (train.py:14)" in wrong[0]
    assert "epoch" not in done.stdout + done.stderr  # the program ends at its first backward


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("text", [RIGHT, ADDED], ids=["one loss", "sum of losses"])
def test_the_command_learns_the_batch_with_the_loss_and_optimizer_of_the_program(
    tmp_path, engine, text
):
    done = command(tmp_path, text, *in_engine(engine), "--format", "json", "--steps", "60")
    assert done.returncode == 0, done.stdout + done.stderr
    document = json.loads(done.stdout)
    assert document["schema"] == "gradtrace/check-model"
    assert document["passed"]
    learning = next(p for p in document["probes"] if p["code"] == "learning")
    assert "(Adam" in learning["sentence"]
    assert learning["measured"] < 0.7


@pytest.mark.parametrize("engine", ENGINES)
def test_a_program_without_a_step_says_what_to_call(tmp_path, engine):
    done = command(
        tmp_path,
        "import torch\nprint(torch.nn.Linear(2, 1)(torch.ones(3, 2)))\n",
        *in_engine(engine),
    )
    assert done.returncode == 2
    assert "check_model(model, batch, loss_fn)" in done.stderr


def test_check_in_torch_is_for_models(tmp_path):
    line = [
        sys.executable,
        "-m",
        "gradtrace",
        "check",
        "--engine",
        "torch",
        str(tmp_path / "train.py"),
    ]
    (tmp_path / "train.py").write_text(RIGHT)
    done = subprocess.run(line, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 2
    assert "check --engine torch takes --model" in done.stderr


@pytest.mark.slow
def test_the_two_engines_say_the_same():
    torch = pytest.importorskip("torch")
    texts = []
    for engine in (gradtrace, torch):
        engine.manual_seed(3)
        texts.append(str(check_model(*copy.copy(BUGS["dropout_forever"][0](engine)), steps=5)))
    assert texts[0] == texts[1]
