"""Recorded programs on both engines: the two Traces agree, but for what `twins/reasons.py` lists."""

import os
import sys

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("gradtrace.torch")

from tests.torch.twins.reasons import DIFFERS, REASONS  # noqa: E402
from tests.torch.twins.runs import RECORDED, compare, scripts  # noqa: E402

VERSION = "2.13."  # the PyTorch whose graphs gradtrace builds


@pytest.fixture(scope="module", autouse=True)
def loaded():
    """What every run imports is imported once, before the forks."""
    import gradtrace.cli.session
    import gradtrace.program.run
    import gradtrace.trace.capture  # noqa: F401

    torch.set_num_threads(1)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="runs scripts in forks")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("script", scripts(), ids=str)
def test_both_engines_make_the_same_trace(script):
    if "tensorboard" in script.name:
        pytest.importorskip("tensorboard")
    found = compare(script)
    others = found.keys() ^ DIFFERS.get(str(script), {}).keys()
    if others and "program" not in found and not torch.__version__.startswith(VERSION):
        pytest.skip(
            f"gradtrace has the graphs of PyTorch {VERSION}x; {torch.__version__} differs: {sorted(others)}"
        )
    assert not others, "\n".join(f"{a}: {t}" for a, t in found.items())


def test_every_difference_has_a_script_and_a_reason():
    assert [name for name in DIFFERS if not (RECORDED / name).exists()] == []
    used = {reason for aspects in DIFFERS.values() for reason in aspects.values()}
    assert used == REASONS.keys()


@pytest.mark.skipif(sys.platform == "win32", reason="runs scripts in forks")
def test_a_difference_is_told_with_both_lines():
    from tests.torch.twins.compare import same

    assert same("w = (2,) [1.0 0.30001]", "w = (2,) [1.0 0.3]")
    assert not same("w = (2,) [1.0 0.4]", "w = (2,) [1.0 0.3]")
    assert not same("line 1000 AddBackward0", "line 1001 AddBackward0")
