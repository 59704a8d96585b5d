"""Every script prints what PyTorch printed, byte for byte but for addresses."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fork_server import WARM_UP_ARRAYS, ForkServer

HERE = Path(__file__).parent
RECORDED = sorted(path.relative_to(HERE).with_suffix("") for path in HERE.glob("*/*.out"))

# Where gradtrace differs, and why; a strict mark, so that the line goes when the difference does.
DIFFERS: dict[str, str] = {}


def scripts() -> list[object]:
    marks = {name: pytest.mark.xfail(reason=why, strict=True) for name, why in DIFFERS.items()}
    return [pytest.param(name, marks=marks.get(name.as_posix(), ()), id=name.as_posix()) for name in RECORDED]


def run(script: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gradtrace", "run", str(script)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize("name", scripts())
def test_prints_what_pytorch_prints(name: Path, is_forked: bool, fork_server: Callable[..., ForkServer]) -> None:
    script = (HERE / name).with_suffix(".py")
    if is_forked:
        done = fork_server(WARM_UP_ARRAYS).run(["run", str(script)], cwd=Path.cwd(), env=os.environ)
    else:
        done = run(script)
    expected = (HERE / name).with_suffix(".out").read_text(encoding="utf-8")
    assert re.sub("0x[0-9a-f]+", "0xADDR", done.stdout) == expected, done.stderr
    assert done.returncode == 0


def test_random_cells_of_the_fifth_note() -> None:
    """Cells 1 to 3: the loss is the mean of the squared differences, and backward prints nothing."""
    done = run(HERE / "seeds/note_5_cells_1_3_forward_backward.py")
    assert done.returncode == 0, done.stderr
    first, *rows = done.stdout.splitlines()
    assert re.fullmatch(r"tensor\(\d+\.\d{4}\)", first)
    assert len(rows) == 10
    assert rows[0].startswith("tensor([[") and rows[-1].endswith("]])")
    assert len({len(row.rstrip(",)]")) for row in rows}) == 1
    assert not done.stderr


def test_the_tensorboard_cells_of_the_fifth_note(tmp_path: Path) -> None:
    """One event file in the folder that the note names, and the one line that the note prints."""
    pytest.importorskip("tensorboardX")
    script = HERE / "seeds/note_5_cells_20_26_24_tensorboard.py"
    command = [sys.executable, "-m", "gradtrace", "run", str(script), "--allow-write", "data"]
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": str(HERE.parent.parent)}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=120)
    assert (done.returncode, done.stdout) == (0, "No known TensorBoard instances running.\n"), done.stderr
    (file,) = (tmp_path / "data/tensorboard/2_3_autograph").iterdir()
    assert file.name.startswith("events.out.tfevents.")


def test_second_backward_of_the_fifth_note() -> None:
    done = run(HERE / "seeds/note_5_cell_3_second_backward.py")
    assert done.returncode == 1
    assert "Trying to backward through the graph a second time" in done.stderr
    assert "note_5_cell_3_second_backward.py:" in done.stderr
