"""The pytest plugin, in a project of its own with failing tests."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

pytest.importorskip("torch")

ROOT = Path(__file__).parents[1]
TESTS = """
import pytest
import torch


def attention(q, k, keep):
    scores = q @ k.T
    scores = scores.masked_fill(~keep, float("-inf"))
    return torch.softmax(scores, dim=-1)


def test_attention_is_finite():
    q = torch.randn(2, 4, requires_grad=True)
    keep = torch.tensor([[True, True], [False, False]])
    loss = (attention(q, q, keep) * torch.arange(2.0)).sum()
    assert not loss.isnan(), "loss is NaN"


def test_backward_twice():
    w = torch.ones(3, requires_grad=True)
    loss = (w * w).sum()
    loss.backward()
    loss.backward()


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(4, 4)
        self.head = torch.nn.Linear(4, 1)

    def forward(self, x):
        return self.head(self.body(x).detach())


@pytest.mark.parametrize("n", [2])
def test_all_parameters_get_gradients(n):
    model = Model()
    model(torch.ones(n, 4)).sum().backward()
    for name, p in model.named_parameters():
        assert p.grad is not None, name


@pytest.mark.no_gradtrace
def test_with_its_own_recording():
    import gradtrace.torch as gt

    with gt.record() as r:
        loss = torch.ones(2, requires_grad=True).sum()
    assert r.trace().operations and loss == 2


def test_that_passes():
    assert torch.ones(2).sum() == 2


def test_without_operations():
    assert 1 == 2
"""
ANSWERS = (
    "loss is nan: softmax on line 9 has a row in which every element is -inf",
    "loss's graph was used a second time: the backward on line 22 had freed what mul",
    "model.body.weight.grad is None: model(torch.ones(n, 4)).sum() depends on it",
)


def run_pytest(folder, *args, text=TESTS):
    (folder / "test_model.py").write_text(text)
    outside = {
        name: value for name, value in os.environ.items() if name not in ("CI", "BUILD_NUMBER")
    }  # longer lines
    environment = {
        **outside,
        "PYTHONPATH": str(ROOT),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "COLUMNS": "80",
    }
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "gradtrace.pytest_plugin",
        "-p",
        "no:cacheprovider",
        *args,
    ]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    ).stdout


def test_failing_tests_are_explained(tmp_path):
    shown = run_pytest(tmp_path, "--gradtrace", "test_model.py")
    assert "4 failed, 2 passed" in shown and shown.count(" gradtrace -") == 3, shown
    for answer in ANSWERS:
        assert answer in shown
    assert "gradtrace/torch/" not in shown.replace(os.sep, "/")  # the recorder's frames


def test_without_the_option_nothing_is_recorded(tmp_path):
    (tmp_path / "conftest.py").write_text(
        "import sys\ndef pytest_sessionfinish():\n    print('recorder', 'gradtrace.torch' in sys.modules)\n"
    )
    shown = run_pytest(tmp_path, "-s", "-k", "not own_recording")
    assert (
        "recorder False" in shown and "4 failed, 1 passed" in shown and " gradtrace -" not in shown
    ), shown


def test_the_package_announces_the_plugin():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"gradtrace": "gradtrace.pytest_plugin"}


STEP = """
import pytest
import torch

SCALE = 1.0


@pytest.mark.parametrize("size", [3, 5000])
def test_step(gradtrace_golden, size):
    w = torch.linspace(0.1, 1.0, size, requires_grad=True)
    with gradtrace_golden():
        hidden = w.exp() * SCALE
        loss = hidden.log().square().sum()
        loss.backward()


def test_two_steps(gradtrace_golden):
    w = torch.ones(2, requires_grad=True)
    for name in ("first", "second"):
        with gradtrace_golden(name, exact=True):
            (w * 2).sum().backward()
"""


def test_a_step_is_compared_with_its_stored_record(tmp_path):
    missing = run_pytest(tmp_path, text=STEP)
    assert "3 failed" in missing and "run this test with --gradtrace-update" in missing, missing
    assert "the record gradtrace_golden/test_model/test_step[3].gt does not exist" in missing
    assert "3 passed" in run_pytest(tmp_path, "--gradtrace-update", text=STEP)
    folder = tmp_path / "gradtrace_golden" / "test_model"
    names = [
        "test_step[3].gt",
        "test_step[5000].gt",
        "test_two_steps--first.gt",
        "test_two_steps--second.gt",
    ]
    assert sorted(one.name for one in folder.iterdir()) == names
    assert "3 passed" in run_pytest(tmp_path, "--gradtrace", text=STEP)  # recordings do not nest

    (folder / "test_step[3].gt").write_text("nothing")
    changed = run_pytest(tmp_path, text=STEP.replace("SCALE = 1.0", "SCALE = 1.5"))
    assert "2 failed, 1 passed" in changed, changed
    assert (
        "test_step[3].gt cannot be compared with this step: " in changed
        and "Traceback" not in changed
    )
    assert (
        "this step (B) differs from gradtrace_golden/test_model/test_step[5000].gt (A):" in changed
    )
    assert "B  test_model.py:12  mul 1.5\n     hidden = w.exp() * SCALE" in changed, changed
    assert max(map(len, changed.partition("this step (B)")[2].splitlines())) <= 80


def test_no_two_steps_share_a_record(tmp_path):
    text = STEP.replace("[3, 5000]", '["a+b", "a b"]').replace(
        "linspace(0.1, 1.0, size", "linspace(0.1, 1.0, 3"
    )
    assert "3 passed" in run_pytest(tmp_path, "--gradtrace-update", text=text)
    assert len(list((tmp_path / "gradtrace_golden" / "test_model").iterdir())) == 4


def test_two_steps_of_one_name_are_refused(tmp_path):
    shown = run_pytest(
        tmp_path, "--gradtrace-update", text=STEP.replace('("first", "second")', '("a", "a")')
    )
    assert "this test has a step named 'a' already" in shown, shown
