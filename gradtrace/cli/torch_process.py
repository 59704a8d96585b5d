"""Run a program in real PyTorch, in a subprocess."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradtrace.cli import values
from gradtrace.cli.inputs import evaluator, prepare
from gradtrace.cli.options import Request, names
from gradtrace.errors import ProgramError, UsageError
from gradtrace.sandbox import channel
from gradtrace.views import numbers
from gradtrace.views.names import full_name

if TYPE_CHECKING:
    from gradtrace.trace import Trace

DTYPES = (
    "float64",
    "float32",
    "float16",
    "bfloat16",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint8",
    "bool",
)
CALL_FLAGS = ("retain_graph", "create_graph", "zero_grad")
CALL_NAMES = ("outputs", "inputs", "retain_grad")
STATE = re.compile("([0-9a-f]{2})*")
CHILD = Path(__file__).with_name("torch_child.py")


def variables(request: Request, python: str | None, trace: Trace | None = None) -> dict[str, Any]:
    """Return PyTorch's values and gradients of the program's variables.

    `trace` is gradtrace's own run of the request: if the command called backward in it, PyTorch
    calls it in the same way. UsageError if PyTorch is missing, ProgramError if the program fails.
    """
    import gradtrace

    inputs = {
        name: {**plain(tensor), "requires_grad": tensor.requires_grad}
        for name, tensor in prepare(request).items()
    }
    question = {
        "dtype": request.dtype,
        "imports_torch": request.program.imports_torch,
        "random_state": bytes(gradtrace.get_rng_state().tolist()).hex(),
        "inputs": inputs,
        "backward": backward_call(request, trace)
        if trace is not None and trace.backward_runs
        else None,
    }
    if channel.is_open():
        content = channel.ask_with("torch", json.dumps(question).encode())
    else:
        content = answer_of(request.program.source.text, question, python, request.budget.seconds)
    try:
        answer: dict[str, Any] = json.loads(content)
    except ValueError as error:
        raise UsageError(
            f"cannot ask PyTorch: {error}", "name a Python that has it: --python PATH"
        ) from None
    if answer.get("missing"):
        raise UsageError(
            f"PyTorch is not installed here: {answer['error']}",
            "pip install 'gradtrace[compare]', or name a Python that has it: --python PATH",
        )
    if "error" in answer:
        raise ProgramError(f"in PyTorch the program fails: {answer['error']}", "")
    return answer


def plain(tensor: Any) -> dict[str, Any]:
    """Return a tensor's value and dtype as data for JSON."""
    from gradtrace.trace.values import frozen

    return {"value": numbers.jsonable(frozen(tensor)), "dtype": tensor.dtype.name}


def backward_call(request: Request, trace: Trace) -> dict[str, Any]:
    """Return how the command called backward. Without `outputs` it was called on the program's last
    expression, some of whose tensors have no name.
    """
    how = request.how
    roots = [trace.tensors[root] for root in trace.roots]
    evaluate = evaluator(request.dtype, request.budget)
    vectors = [values.read(text, "--grad-tensors", evaluate) for text in how.grad_tensors]
    dtypes = [root.dtype for root in roots]
    return {
        "outputs": [root.name for root in roots] if all(root.name for root in roots) else [],
        "vectors": [
            plain(values.tensor(raw, dtypes[min(i, len(dtypes) - 1)], True))
            for i, raw in enumerate(vectors)
        ],
        "count": trace.backward_runs,
        "retain_graph": how.retain_graph,
        "create_graph": how.create_graph,
        "zero_grad": how.zero_grad,
        "inputs": named_in_torch(trace, names(how.inputs), "--inputs"),
        "retain_grad": named_in_torch(trace, names(how.retain_grad), "--retain-grad"),
    }


def named_in_torch(trace: Trace, words: Iterable[str], option: str) -> list[str]:
    """Return the whole names of tensors; UsageError for one that has no name in the program."""
    ids = dict(trace.names)
    whole = []
    for word in words:
        name = word if word == "all" else full_name(word, ids, option)
        if name is None:
            raise UsageError(
                f"{option}: '{word}' has no name by which PyTorch can be asked", "give it a name"
            )
        whole.append(name)
    return whole


def answer_of(text: str, request: dict[str, Any], python: str | None, seconds: float) -> bytes:
    """Run a program's text in real PyTorch, with full rights, and return its answer, which is
    JSON.
    """
    command = [python or sys.executable, "-I", str(CHILD)]
    job = json.dumps({**request, "text": text}).encode()
    try:
        return subprocess.run(command, input=job, capture_output=True, timeout=seconds).stdout
    except OSError as error:
        raise UsageError(
            f"cannot ask PyTorch: {error}", "name a Python that has it: --python PATH"
        ) from None
    except subprocess.TimeoutExpired:
        raise ProgramError(
            f"PyTorch took longer than {seconds:g} s", "raise --max-seconds"
        ) from None


def checked_request(word: dict[str, Any]) -> dict[str, Any]:
    """Return what a confined process asks, if it is data alone: names of dtypes, flags, names and
    numbers.
    """
    inputs = word.get("inputs")
    state = word.get("random_state")
    is_data = (
        set(word) == {"dtype", "imports_torch", "random_state", "inputs", "backward"}
        and word["dtype"] in DTYPES
        and type(word["imports_torch"]) is bool
        and isinstance(state, str)
        and STATE.fullmatch(state)
        and isinstance(inputs, dict)
        and all(map(is_input, inputs.values()))
        and (word["backward"] is None or is_call(word["backward"]))
    )
    if not is_data:
        raise UsageError("the inputs for PyTorch are not data", "please report this")
    return word


def is_input(word: Any) -> bool:
    """Whether a word describes an input of the program."""
    return is_tensor(word, "requires_grad") and type(word["requires_grad"]) is bool


def is_tensor(word: Any, *more: str) -> bool:
    """Whether a word describes a tensor as `plain` does, with the further keys in `more`."""
    return (
        isinstance(word, dict)
        and set(word) == {"value", "dtype", *more}
        and word["dtype"] in DTYPES
    )


def is_call(word: Any) -> bool:
    """Whether a word describes a call of backward."""
    if not isinstance(word, dict) or set(word) != {"count", "vectors", *CALL_FLAGS, *CALL_NAMES}:
        return False
    named = (word[key] for key in CALL_NAMES)
    return (
        type(word["count"]) is int
        and all(type(word[key]) is bool for key in CALL_FLAGS)
        and all(
            isinstance(listed, list) and all(isinstance(name, str) for name in listed)
            for listed in named
        )
        and isinstance(word["vectors"], list)
        and all(map(is_tensor, word["vectors"]))
    )
