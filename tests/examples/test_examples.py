"""Every file of `examples/` runs, as a process; the scripts print what PyTorch 2.13 printed (`NAME.out`)."""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*.py"))


def gradtrace(*arguments: str, folder: Path = EXAMPLES.parent) -> str:
    command = [sys.executable, "-m", "gradtrace", *arguments]
    paths = os.pathsep.join(filter(None, [str(EXAMPLES.parent), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def values(*arguments: str) -> dict[str, float]:
    """`name` and `name.grad` of each named tensor."""
    document = json.loads(gradtrace("eval", *arguments, "--format", "json"))
    found = {}
    for tensor in document["tensors"]:
        if tensor["name"]:
            found[tensor["name"]], found[tensor["name"] + ".grad"] = tensor["value"], tensor["grad"]
    return found


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_script_prints_what_pytorch_prints(script: Path) -> None:
    assert gradtrace("run", f"./examples/{script.name}") == (HERE / f"{script.stem}.out").read_text(
        encoding="utf-8"
    )


def test_notes() -> None:
    found = values("examples/notes.txt", "--x", "2", "--w", "1")
    assert (found["y"], found["x.grad"], found["w.grad"]) == (6, 2, 5)


def test_shared() -> None:
    found = values("examples/shared.txt", "--x", "0.5")
    assert math.isclose(found["x.grad"], (2 * math.sin(0.5) + 1) * math.cos(0.5), rel_tol=1e-15)


def test_defaults() -> None:
    found = values("examples/defaults.txt")
    error = [0.2 - 0.8 + 0.3 + 0.5 - 1, 0.8 - 2.0 + 0.6 + 0.5]
    assert found["w.grad"] == pytest.approx(
        [error[0] * a + error[1] * b for a, b in ((1, 4), (2, 5), (3, 6))]
    )
    assert found["b.grad"] == pytest.approx(sum(error))


def test_black_scholes() -> None:
    """Price and Greeks by the closed formulas."""
    found = values("examples/black_scholes.txt")
    s, k, t, sigma, r = 100.0, 105.0, 0.5, 0.25, 0.03
    d1 = (math.log(s / k) + (r + sigma**2 / 2) * t) / (sigma * math.sqrt(t))
    d2 = d1 - sigma * math.sqrt(t)

    def cdf(z: float) -> float:
        return 0.5 * math.erfc(-z / math.sqrt(2))

    density = math.exp(-d1 * d1 / 2) / math.sqrt(2 * math.pi)
    discount = k * math.exp(-r * t)
    assert found["price"] == pytest.approx(s * cdf(d1) - discount * cdf(d2), rel=1e-12)
    assert found["S.grad"] == pytest.approx(cdf(d1), rel=1e-12)
    assert found["sigma.grad"] == pytest.approx(s * density * math.sqrt(t), rel=1e-12)
    assert found["r.grad"] == pytest.approx(t * discount * cdf(d2), rel=1e-12)
    theta = -s * density * sigma / (2 * math.sqrt(t)) - r * discount * cdf(d2)
    assert -found["T.grad"] == pytest.approx(theta, rel=1e-12)
    assert found["K.grad"] is None


def test_nan() -> None:
    found = values("examples/nan.txt")
    assert found["x.grad"] == ["NaN", 0.25]


LISTED = re.findall(
    r"^\| \[(.+?)\]\((.+?)\) \| (.+?) \| `gradtrace (.+?)` \|$",
    (EXAMPLES / "README.md").read_text(encoding="utf-8"),
    re.MULTILINE,
)


def test_every_example_is_listed() -> None:
    files = sorted(path.name for path in [*SCRIPTS, *EXAMPLES.glob("*.txt")])
    assert sorted(name for name, *_ in LISTED) == files
    for name, link, _, command in LISTED:
        assert link == name and f"examples/{name}" in command


def commands() -> list[str]:
    """What README and the files themselves tell to try, but for the scripts that run above."""
    told = [command for *_, command in LISTED]
    for path in EXAMPLES.glob("*.txt"):
        told += re.findall(
            r"^#     gradtrace (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE
        )
    return sorted({command for command in told if not command.startswith("run ")})


@pytest.mark.parametrize("command", commands())
def test_commands_to_try(command: str, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    arguments = shlex.split(command)
    said = gradtrace(*arguments, folder=tmp_path)
    pictures = [tmp_path / name for option, name in pairwise(arguments) if option == "-o"]
    assert said or pictures
    assert all(picture.stat().st_size > 1000 for picture in pictures)
