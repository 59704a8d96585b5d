"""Compare a run with the same program in PyTorch: values, gradients, flags, grad_fn names of every
variable.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from gradtrace.trace.record import TensorRecord, Trace, Value

CLOSE = {"float32": 1e-4, "float64": 1e-9}
ROUNDINGS = 8  # how many times the rounding of gradtrace's result that of PyTorch's may be


class Compared(NamedTuple):
    """One fact about one variable: `what` is "value", "grad", "is_leaf", "requires_grad" or
    "grad_fn".
    """

    name: str
    what: str
    ours: Any
    theirs: Any
    same: bool
    gap: float | None  # the largest difference of two elements
    # how far float64 is from gradtrace's numbers, where only that explains the gap
    rounding: float | None = None


def against(
    trace: Trace,
    theirs: dict[str, dict[str, Any]],
    roots: Sequence[dict[str, Any]] = (),
    wide: Trace | None = None,
) -> list[Compared]:
    """Compare the variables that both engines have; `theirs` and `roots` are PyTorch's report
    (`torch_child`), `wide` is gradtrace's run in float64 with the same random numbers.
    """
    named = dict(trace.names)
    wide_named = {} if wide is None else dict(wide.names)
    pairs = [(name, named[name], tensor) for name, tensor in theirs.items() if name in named]
    if len(roots) == len(trace.roots):
        ends = zip(trace.roots, roots, strict=True)
        pairs += [
            ("", root, tensor) for root, tensor in ends if trace.tensors[root].name not in theirs
        ]
    compared: list[Compared] = []
    for name, index, tensor in pairs:
        wide_index = wide_named.get(name)
        exact = None if wide is None or wide_index is None else wide.tensors[wide_index]
        compared += tensor_facts(trace.tensors[index], tensor, exact)
    return compared


def tensor_facts(
    tensor: TensorRecord, theirs: dict[str, Any], exact: TensorRecord | None
) -> Iterator[Compared]:
    """Yield the facts about one tensor: PyTorch's value and flags are those of the end."""
    label = tensor.label
    kept = tensor.is_leaf or tensor.retains_grad
    if tensor.is_current and (tensor.value is None or tensor.value.is_whole):
        yield numbers(
            label, "value", tensor.value, theirs["value"], None if exact is None else exact.value
        )
    if tensor.grad is None or tensor.grad.is_whole:
        grad = tensor.grad if kept else None
        yield numbers(label, "grad", grad, theirs["grad"], None if exact is None else exact.grad)
    for attribute in ("is_leaf", "requires_grad", "grad_fn") if tensor.is_current else ():
        ours = getattr(tensor, attribute)
        yield Compared(label, attribute, ours, theirs[attribute], ours == theirs[attribute], None)


def numbers(
    name: str, what: str, mine: Value | None, theirs: Any, exact: Value | None = None
) -> Compared:
    """Compare two arrays of numbers; either may be missing. `exact` has the numbers in float64, if
    they are known.
    """
    if mine is None or theirs is None:
        return Compared(
            name,
            what,
            None if mine is None else to_python(mine),
            theirs,
            mine is None and theirs is None,
            None,
        )
    ours = to_python(mine)
    a = flat(ours)
    b = flat(theirs)
    if len(a) != len(b):
        return Compared(name, what, ours, theirs, False, None)
    gap = largest_distance(a, b)
    size = max((abs(y) for y in b if math.isfinite(y)), default=0.0)
    if gap <= CLOSE.get(mine.dtype, 0.0) * max(size, 1e-6):
        return Compared(name, what, ours, theirs, True, gap)
    wide = [] if exact is None or not exact.is_whole else flat(to_python(exact))
    rounding = largest_distance(a, wide) if len(wide) == len(a) else 0.0
    no_digit_is_right = rounding >= max((abs(x) for x in wide), default=math.inf) / 2
    explained = rounding < math.inf and (gap <= ROUNDINGS * rounding or no_digit_is_right)
    return Compared(name, what, ours, theirs, explained, gap, rounding if explained else None)


def largest_distance(a: list[float], b: list[float]) -> float:
    return max((distance(x, y) for x, y in zip(a, b, strict=True)), default=0.0)


def to_python(value: Value) -> Any:
    return value.data if not value.shape else value.data.tolist()


def flat(data: Any) -> list[float]:
    """Return the numbers of nested lists, in order."""
    floats = []
    waiting = [data]
    while waiting:
        item = waiting.pop()
        if isinstance(item, list):
            waiting.extend(reversed(item))
        else:
            floats.append(float(str(item).lower()) if isinstance(item, str) else float(item))
    return floats


def distance(x: float, y: float) -> float:
    if x == y or (x != x and y != y):
        return 0.0
    return abs(x - y) if math.isfinite(x) and math.isfinite(y) else math.inf
