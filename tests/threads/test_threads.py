"""What `gradtrace why` says of small programs from public threads is true of their runs.

A program of `torch/` has the header of a planted bug (`tests/planted/bugs.py`); without a `line` no line is to blame.
"""

import importlib.util
from pathlib import Path

import pytest

from tests.planted.bugs import HEADER, Bug, misses, places, read_printed, why

# those without a header are asked about in test_own_words.py
PROGRAMS = [
    script
    for script in sorted((Path(__file__).parent / "torch").glob("*.py"))
    if script.read_text(encoding="utf-8").startswith("# engine:")
]
HAS_TORCH = importlib.util.find_spec("torch") is not None


def load(script):
    """Return the program as a bug, and whether its header names a line."""
    header = {}
    for line in script.read_text(encoding="utf-8").splitlines():
        match = HEADER.fullmatch(line)
        if match is None:
            break
        header.setdefault(match[1], []).append(match[2])
    lines = [place for text in header.get("line", ()) for place in places(script, text)]
    ask = " ".join(header.get("ask", ())).split()
    must = header.get("must", [])
    never = header.get("never", [])
    needs = " ".join(header.get("needs", ())).split()
    return Bug(script, header["engine"], ask, "", lines, must, never, needs, [])


@pytest.mark.slow
@pytest.mark.skipif(not HAS_TORCH, reason="needs PyTorch")
@pytest.mark.parametrize("script", PROGRAMS, ids=lambda script: script.stem)
def test_what_is_said_is_true(script):
    bug = load(script)
    if bug.missing:
        pytest.skip(f"needs {', '.join(bug.missing)}")
    done = why(bug, "--engine", "torch", script=script)
    answer = read_printed(bug, done.stdout or done.stderr)
    lacks = [text for text in misses(bug, answer) if bug.lines or text != "does not name "]
    assert lacks == [], answer.printed


@pytest.mark.slow
@pytest.mark.skipif(not HAS_TORCH, reason="needs PyTorch")
def test_a_warning_of_pytorch_names_the_line_of_the_program(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(
        "import torch\n"
        "x = torch.ones(3, requires_grad=True)\n"
        "y = 2 * x\n"
        "y.sum().backward()\n"
        "print(y.grad)\n"
    )
    bug = load(PROGRAMS[0])._replace(ask=["x"])
    done = why(bug, "--engine", "torch", script=script)
    assert "train.py:5: UserWarning: The .grad attribute" in done.stderr
