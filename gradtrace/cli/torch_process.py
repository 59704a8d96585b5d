"""Run a program in real PyTorch, in a subprocess."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from gradtrace.cli.inputs import prepare
from gradtrace.cli.options import Request
from gradtrace.errors import ProgramError, UsageError
from gradtrace.sandbox import channel
from gradtrace.views import numbers

DTYPES = ("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool")
CHILD = Path(__file__).with_name("torch_child.py")


def variables(request: Request, python: str | None) -> dict[str, Any]:
    """Return PyTorch's gradients of the program's variables. UsageError if PyTorch is missing, ProgramError if it
    fails.
    """
    from gradtrace.trace.values import frozen

    given = {
        name: {"value": numbers.jsonable(frozen(t)), "dtype": t.dtype.name, "requires_grad": t.requires_grad}
        for name, t in prepare(request).items()
    }
    question = {
        "dtype": request.dtype,
        "imports_torch": request.program.imports_torch,
        "inputs": given,
        "backward": not request.how.no_backward,
    }
    if channel.is_open():
        content = channel.ask_with("torch", json.dumps(question).encode())
    else:
        content = answer_of(request.program.source.text, question, python, request.budget.seconds)
    try:
        answer: dict[str, Any] = json.loads(content)
    except ValueError as error:
        raise UsageError(f"cannot ask PyTorch: {error}", "name a Python that has it: --python PATH") from None
    if answer.get("missing"):
        raise UsageError(
            f"PyTorch is not installed here: {answer['error']}",
            "pip install 'gradtrace[compare]', or name a Python that has it: --python PATH",
        )
    if "error" in answer:
        raise ProgramError(f"in PyTorch the program fails: {answer['error']}", "")
    return answer


def answer_of(text: str, request: dict[str, Any], python: str | None, seconds: float) -> bytes:
    """Run a program's text in real PyTorch, with full rights, and return its answer, which is JSON."""
    command = [python or sys.executable, "-I", str(CHILD)]
    job = json.dumps({**request, "text": text}).encode()
    try:
        return subprocess.run(command, input=job, capture_output=True, timeout=seconds).stdout
    except OSError as error:
        raise UsageError(f"cannot ask PyTorch: {error}", "name a Python that has it: --python PATH") from None
    except subprocess.TimeoutExpired:
        raise ProgramError(f"PyTorch took longer than {seconds:g} s", "raise --max-seconds") from None


def checked_request(word: dict[str, Any]) -> dict[str, Any]:
    """Return what a confined process asks, if it is data alone: names of dtypes, flags and numbers."""
    inputs = word.get("inputs")
    plain = isinstance(inputs, dict) and all(
        isinstance(one, dict)
        and set(one) == {"value", "dtype", "requires_grad"}
        and one["dtype"] in DTYPES
        and type(one["requires_grad"]) is bool
        for one in inputs.values()
    )
    flags = type(word.get("imports_torch")) is type(word.get("backward")) is bool
    if not plain or not flags or word.get("dtype") not in DTYPES or len(word) != 4:
        raise UsageError("the inputs for PyTorch are not data", "please report this")
    return word
