"""Programs for torch, run with gradtrace in its place, against what they printed under the real library."""

from __future__ import annotations

import contextlib
import io
import re
import warnings
from pathlib import Path

import pytest

from gradtrace import lang

TESTS = Path(__file__).resolve().parents[1]
PROGRAMS = sorted([*TESTS.glob("nn/programs/*.py"), *TESTS.glob("func/programs/*.py")])
IMPORTS = (
    (r"^import torch\.([\w.]+) as", r"import gradtrace.\1 as"),
    (r"^from torch([\w.]*) import", r"from gradtrace\1 import"),
    (r"^import torch$", "import gradtrace as torch"),
)


def printed(path: Path) -> str:
    """What the program prints with gradtrace as torch; classes are shown under PyTorch's names."""
    source = path.read_text()
    for pattern, replacement in IMPORTS:
        source = re.sub(pattern, replacement, source, flags=re.MULTILINE)
    out = io.StringIO()
    with contextlib.redirect_stdout(out), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(source, str(path), "exec"), {"__name__": "__main__"})
    return out.getvalue().replace("<class 'gradtrace.engine.tensor.Tensor'>", "<class 'torch.Tensor'>")


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: f"{path.parts[-3]}-{path.stem}")
def test_prints_what_torch_prints(path: Path) -> None:
    assert printed(path) == path.with_suffix(".out").read_text()


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: f"{path.parts[-3]}-{path.stem}")
def test_the_language_prints_it_too(path: Path) -> None:
    out = io.StringIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lang.run(lang.parse(path.read_text(), path.name), stdout=out)
    assert out.getvalue() == path.with_suffix(".out").read_text()
