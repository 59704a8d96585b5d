"""Run a program in real PyTorch, in a subprocess."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradtrace.cli import session
from gradtrace.cli.options import Backward, Inputs
from gradtrace.errors import ProgramError, UsageError
from gradtrace.views import numbers

if TYPE_CHECKING:
    from gradtrace.lang import Program

CHILD = Path(__file__).with_name("torch_child.py")


def variables(program: Program, inputs: Inputs, how: Backward, python: str | None, seconds: float) -> dict[str, Any]:
    """Return PyTorch's gradients of the program's variables. UsageError if PyTorch is missing, ProgramError if it
    fails.
    """
    from gradtrace.trace.values import frozen

    dtype = session.dtype_of(program, inputs.dtype)
    tensors = session.prepare(program, inputs, dtype)
    given = {
        name: {"value": numbers.jsonable(frozen(t)), "dtype": t.dtype.name, "requires_grad": t.requires_grad}
        for name, t in tensors.items()
    }
    request = {
        "text": program.source.text,
        "dtype": dtype,
        "imports_torch": program.imports_torch,
        "inputs": given,
        "backward": not how.no_backward,
    }
    command = [python or sys.executable, "-I", str(CHILD)]
    try:
        done = subprocess.run(command, input=json.dumps(request), capture_output=True, text=True, timeout=seconds)
        answer: dict[str, Any] = json.loads(done.stdout)
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot ask PyTorch: {error}", "name a Python that has it: --python PATH") from None
    except subprocess.TimeoutExpired:
        raise ProgramError(f"PyTorch took longer than {seconds:g} s", "raise --max-seconds") from None
    if answer.get("missing"):
        raise UsageError(
            f"PyTorch is not installed here: {answer['error']}",
            "pip install 'gradtrace[compare]', or name a Python that has it: --python PATH",
        )
    if "error" in answer:
        raise ProgramError(f"in PyTorch the program fails: {answer['error']}", "")
    return answer
