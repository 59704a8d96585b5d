"""Compare a run with the same program in PyTorch: values, gradients, flags, grad_fn names of every variable."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from gradtrace.trace.record import TensorRecord, Trace, Value

CLOSE = {"float32": 1e-4, "float64": 1e-9}


class Compared(NamedTuple):
    """One fact about one variable: `what` is "value", "grad", "is_leaf", "requires_grad" or "grad_fn"."""

    name: str
    what: str
    ours: Any
    theirs: Any
    same: bool
    gap: float | None  # the largest difference of two elements


def against(trace: Trace, theirs: dict[str, dict[str, Any]], roots: Sequence[dict[str, Any]] = ()) -> list[Compared]:
    """Compare the variables that both engines have; `theirs` and `roots` are PyTorch's report (`torch_child`)."""
    compared: list[Compared] = []
    named = dict(trace.names)
    for name, tensor in theirs.items():
        if name in named:
            compared += tensor_facts(trace.tensors[named[name]], tensor)
    if len(roots) == len(trace.roots):
        for root, tensor in zip(trace.roots, roots, strict=True):
            if trace.tensors[root].name not in theirs:
                compared += tensor_facts(trace.tensors[root], tensor)
    return compared


def tensor_facts(tensor: TensorRecord, theirs: dict[str, Any]) -> Iterator[Compared]:
    """Yield the facts about one tensor: PyTorch's value and flags are those of the end."""
    label = tensor.label
    if tensor.is_current:
        yield numbers(label, "value", tensor.value, theirs["value"])
    yield numbers(label, "grad", tensor.grad if tensor.is_leaf or tensor.retains_grad else None, theirs["grad"])
    for what in ("is_leaf", "requires_grad", "grad_fn") if tensor.is_current else ():
        ours = getattr(tensor, what)
        yield Compared(label, what, ours, theirs[what], ours == theirs[what], None)


def numbers(name: str, what: str, mine: Value | None, theirs: Any) -> Compared:
    """Compare two arrays of numbers; either may be missing."""
    if mine is None or theirs is None:
        return Compared(
            name, what, None if mine is None else to_python(mine), theirs, mine is None and theirs is None, None
        )
    ours = to_python(mine)
    a, b = flat(ours), flat(theirs)
    if len(a) != len(b):
        return Compared(name, what, ours, theirs, False, None)
    gap = max((distance(x, y) for x, y in zip(a, b, strict=True)), default=0.0)
    size = max((abs(y) for y in b if math.isfinite(y)), default=0.0)
    return Compared(name, what, ours, theirs, gap <= CLOSE.get(mine.dtype, 0.0) * max(size, 1e-6), gap)


def to_python(value: Value) -> Any:
    return value.data if not value.shape else value.data.tolist()


def flat(data: Any) -> list[float]:
    """Return the numbers of nested lists, in order."""
    found, waiting = [], [data]
    while waiting:
        item = waiting.pop()
        if isinstance(item, list):
            waiting.extend(reversed(item))
        else:
            found.append(float(str(item).lower()) if isinstance(item, str) else float(item))
    return found


def distance(x: float, y: float) -> float:
    if x == y or (x != x and y != y):
        return 0.0
    return abs(x - y) if math.isfinite(x) and math.isfinite(y) else math.inf
