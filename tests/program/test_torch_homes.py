"""The module of torch that a name belongs to, which the hints of unknown names say."""

import subprocess
import sys
from pathlib import Path

import pytest

from gradtrace.program.torch_homes import home_of, needs_pytorch, pytorch_has


def test_a_name_of_gradtrace_has_its_home():
    assert home_of("quantile") == "torch.quantile"
    assert home_of("dropout") == "F.dropout"  # torch.dropout has no defaults
    assert home_of("Linear") == "nn.Linear"
    assert home_of("det") == "torch.det"
    assert home_of("eigvalsh") == "torch.linalg.eigvalsh"
    assert home_of("bessel_j0") == home_of("nonexist") == home_of("__name__") == ""


def test_a_name_of_pytorch_alone_is_known():
    assert needs_pytorch("rfft").startswith("torch.fft.rfft needs PyTorch")
    assert needs_pytorch("quantile") == needs_pytorch("onnx") == ""
    assert pytorch_has("torch.fft.rfft") and pytorch_has("torch.onnx.export")
    assert not pytorch_has("torch.nonexist") and not pytorch_has("torch.fft.nonexist")


def test_the_table_is_that_of_pytorch():
    torch = pytest.importorskip("torch")
    if not torch.__version__.startswith("2.13"):
        pytest.skip("the table is of PyTorch 2.13")
    code = "from tools import torch_only as t; print(t.TARGET.read_text() == t.text())"
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], cwd=root, capture_output=True, text=True
    )
    assert done.stdout == "True\n", done.stderr
