"""One script on both engines, in a process of its own, and the differences between the two Traces."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
import types
import warnings
from pathlib import Path
from typing import Any

from tests.torch.twins.compare import differences

SEED = 0  # of both engines, which draw the same numbers
RECORDED = Path(__file__).parents[2] / "recorded"
SUBJECTS = ("behaviour", "distributions", "neighbours", "seeds", "tutorials")


def scripts() -> list[Path]:
    """Every recorded program of these subjects, as paths relative to their folder."""
    return [
        path.relative_to(RECORDED)
        for subject in SUBJECTS
        for path in sorted((RECORDED / subject).glob("*.py"))
    ]


def compare(name: Path) -> dict[str, str]:
    """The differences by aspect, found in a fork: what a script changes in a process stays there.

    "program" is the only aspect where PyTorch does not run the script as gradtrace does.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        with tempfile.TemporaryDirectory() as folder, os.fdopen(writer, "w") as out:
            os.chdir(folder)  # some scripts write files
            with contextlib.redirect_stdout(io.StringIO()):
                json.dump(both(RECORDED / name), out)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else {"program": "the process ended without an answer"}


def both(path: Path) -> dict[str, str]:
    warnings.simplefilter("ignore")
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            real, own = in_pytorch(path), in_gradtrace(path)
        return differences(own, real)
    except Exception as error:
        return {"program": f"{type(error).__name__}: {str(error).splitlines()[0]}"}


def in_gradtrace(path: Path) -> Any:
    """The Trace as `gradtrace why` makes it."""
    from gradtrace.cli import options, session
    from gradtrace.program.parse import parse

    program = parse(path.read_text(encoding="utf-8"), path.name)
    request = options.Request(
        program, options.Inputs(seed=SEED), options.Backward(no_backward=True)
    )
    return session.record(
        request, session.GRADIENTS._replace(detailed=None, failing=True, out=io.StringIO())
    )


def in_pytorch(path: Path) -> Any:
    """The Trace of the script as PyTorch ran it."""
    import torch

    import gradtrace.torch as gt

    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    module.__dict__["__file__"] = str(path)
    recording = gt.record(level="values")
    recording._env, recording._main = module.__dict__, str(path)
    torch.manual_seed(SEED)
    with contextlib.suppress(Exception), recording:
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), module.__dict__)
    return recording.trace()
