"""Names in a record: the end of one after a dot is enough; the examples of README and the how-to run as written."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
ROOT = Path(__file__).resolve().parents[2]
MODEL = """\
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(3, 4)
        self.decoder = nn.Linear(4, 1)

    def forward(self, x):
        return self.decoder(self.encoder(x).tanh())

model = Model()
batch = torch.ones(2, 3)
"""
TRAIN = MODEL + (
    "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\nfor step in range(14):\n    optimizer.zero_grad()\n"
    "    loss = model(batch).mean()\n    loss.backward()\n    optimizer.step()\n"
)


def block(page):
    """Return the first example of a page that records a step in Python."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    return next(
        text for text in blocks if "import gradtrace.torch as gt" in text and "gt.record()" in text
    )


def run_python(folder, text):
    (folder / "step.py").write_text(text)
    return subprocess.run([sys.executable, "step.py"], cwd=folder, capture_output=True, text=True)


@pytest.mark.parametrize("page", ["README.md", "docs/how-to/pytorch.md"])
def test_the_example_runs_as_written(tmp_path, page):
    done = run_python(tmp_path, MODEL + block(page))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "step.gt").exists() and (tmp_path / "step.html").exists()
    if page.startswith("docs"):
        assert done.stdout.startswith("model.encoder.weight.grad is between")


@pytest.mark.parametrize("page", ["README.md", "docs/how-to/pytorch.md"])
def test_the_commands_of_the_pages_run_as_written(tmp_path, page):
    (tmp_path / "train.py").write_text(TRAIN)
    commands = re.findall(
        r"^gradtrace (why --engine torch train\.py.*?)(?: #.*)?$", (ROOT / page).read_text(), re.M
    )
    assert commands
    for command in commands:
        words = [sys.executable, "-m", "gradtrace", *command.split()]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        if "encoder.weight" in command:
            assert done.stdout.startswith("model.encoder.weight.grad is between")


def test_a_name_of_several_and_of_none(tmp_path):
    asked = (
        "\nfor name in ('weight', 'encoder.wieght', 'model.encoder.bias', 'nothing.like.it'):\n"
        + (
            "    try:\n        print(r.why(name))\n    except Exception as error:\n"
            "        print(type(error).__name__, error)\n"
        )
    )
    done = run_python(tmp_path, MODEL + block("docs/how-to/pytorch.md") + asked)
    assert done.returncode == 0, done.stderr
    several = (
        "several names end with 'weight'; give one of model.encoder.weight and model.decoder.weight"
    )
    assert several in done.stdout
    assert "no tensor 'encoder.wieght' here; did you mean model.encoder.weight?" in done.stdout
    assert "model.encoder.bias.grad is" in done.stdout
    assert "no tensor 'nothing.like.it' here; there are " in done.stdout
