"""Commands in the documentation whose output is not shown there: each runs, and writes the file that the page shows.

Those with an output stand between cog's marks (`test_pages`), and CI compares the output.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gradtrace.trace.flight_log import FlightWriter

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    *sorted(DOCS.rglob("*.md")),
]
CHECKED = re.compile(r"<!-- \[\[\[cog.*?<!-- \[\[\[end\]\]\] -->", re.DOTALL)  # by cog, in CI
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
SHELL = ("", "sh", "yaml")
COMMAND = re.compile(r"^(?:\$ |- run: )?((?:.*\| )?gradtrace .*)")
NUMBER = re.compile(rb"-?\d+\.\d+(?:e[+-]?\d+)?")
# what the documentation's names of files stand for
STAND_INS = {
    "model.py": "examples/mlp.py",
    "train.py": "docs/programs/trains.py",
    "model.txt": "examples/black_scholes.txt",
    "formulas/pricing.txt": "examples/black_scholes.txt",
    "old.txt": "examples/shared.txt",
    "new.txt": "examples/shared.txt",
}
NOT_RUN = {
    "python3 -m venv": "the first stage of .ci/run installs in this way",
    "run.rank": "tests/torch/test_shared_training.py starts several processes",
    "step.rank": "tests/torch/test_ranks.py and test_shared_training.py start several processes",
    "replay capsules/step-37": "tests/torch/test_replay.py runs it, with transformers",
    "tcp://host": "tests/batch/test_cluster.py starts a scheduler of its own",
}
NEEDS = {
    "--engine torch": "torch",
    "gradtrace replay": "torch",
    ".parquet": "pyarrow",
    "--workers": "distributed",
}

NET = """import os
import torch
import gradtrace.torch as gt

def make():
    return torch.nn.Linear(3, 1)

def step(model, batch):
    loss = torch.log(model(batch)).sum()
    loss.backward()
    return loss

if __name__ == "__main__":
    os.makedirs("capsules", exist_ok=True)
    gt.capsule("capsules/step-8.gtc", step, make(), torch.ones(2, 3))
"""


def commands(page):
    for language, fence in FENCE.findall(CHECKED.sub("", page.read_text(encoding="utf-8"))):
        for line in fence.splitlines() if language in SHELL else ():
            if (found := COMMAND.match(line)) and not any(part in line for part in NOT_RUN):
                yield re.split(r"\s{2,}#", found[1])[0].strip()


@pytest.fixture
def place(tmp_path):
    """A folder with what the commands of a page read."""
    folder = tmp_path
    for name in ("examples", "tests"):
        (folder / name).symlink_to(ROOT / name)
    shutil.copytree(DOCS / "programs", folder / "docs" / "programs")
    (folder / "docs" / "notes.md").write_text("```python\nprint(1 + 1)\n```\n```\n2\n```\n")
    (folder / "formulas").mkdir()
    for name, source in STAND_INS.items():
        shutil.copy(ROOT / source, folder / name)
    (folder / "gradtrace").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gradtrace "$@"\n')
    (folder / "gradtrace").chmod(0o755)
    return folder


def test_no_command_stands_in_another_kind_of_fence():
    """Such a command would neither be run here nor by cog."""
    found = [
        f"{page.relative_to(ROOT)}: {line}"
        for page in PAGES
        for language, fence in FENCE.findall(CHECKED.sub("", page.read_text(encoding="utf-8")))
        for line in fence.splitlines()
        if language not in SHELL and COMMAND.match(line)
    ]
    assert found == []


def same_but_for_rounding(one, other):
    """Whether two files are the same but for the last digits of numbers, in which processors differ."""
    if one == other:
        return True
    numbers = [[float(number) for number in NUMBER.findall(file)] for file in (one, other)]
    return NUMBER.split(one) == NUMBER.split(other) and numbers[0] == pytest.approx(
        numbers[1], rel=1e-3, abs=1e-6
    )


FOUND = {"gradtrace stats run.gt": 1}  # the exit code of a command that finds a NaN or infinity


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [page for page in PAGES if any(commands(page))], ids=lambda page: page.stem
)
def test_the_commands_of_a_page_run(place, page):
    """In their order: some read what one before them wrote."""
    env = {
        **os.environ,
        "PATH": f"{place}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "NO_COLOR": "1",
    }
    for command in commands(page):
        if any(
            part in command and importlib.util.find_spec(module) is None
            for part, module in NEEDS.items()
        ):
            continue
        made_before(command, place, env)
        done = subprocess.run(
            ["bash", "-c", command], cwd=place, env=env, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == FOUND.get(command, 0), (command, done.stderr)
        assert "Traceback" not in done.stderr, (command, done.stderr)
        if written := re.search(r" -o (\S+)", command):
            path = place / written[1]
            assert any(path.iterdir()) if path.is_dir() else path.stat().st_size, command
            shown = DOCS / "gallery" / path.name
            if page.stem == "gallery" and shown.exists():
                again = same_but_for_rounding(path.read_bytes(), shown.read_bytes())
                assert again, f"{path.name} is another picture; run: python docs/make_gallery.py"


def made_before(command, place, env):
    """Make what a command reads and another program has written."""
    if ".parquet" in command and not (place / "big.parquet").exists():
        table(place / "big.parquet")
    if ".gtlog" in command:
        log = FlightWriter(place / "run.gtlog", ("time", "loss"), 10)
        log.append(1, np.ones((3, 2)))
        log.close()
    if ".gtc" in command:
        (place / "net.py").write_text(NET)
        subprocess.run(
            [sys.executable, "net.py"],
            cwd=place,
            env=env,
            capture_output=True,
            check=True,
            timeout=300,
        )


def table(path):
    """A table of the inputs of examples/black_scholes.txt."""
    import pyarrow
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"S": [90.0, 100.0, 110.0] * 10, "K": [100.0] * 30}), path)
