"""Checks of memory overlap before an in-place operation: inside the target, and between operands
and target.

PyTorch's rules (ATen/MemoryOverlap.cpp): a target overlaps with itself if a dim has stride 0 and
more than one element; two dense tensors on one storage must not overlap partially.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.operators.op import records

if TYPE_CHECKING:
    from gradtrace.engine.data.types import Array

INTERNAL = (
    "unsupported operation: more than one element of the written-to tensor refers to a single "
    "memory location. Please clone() the tensor before performing the operation."
)
PARTIAL = (
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to "
    "a single memory location. Please clone() the tensor before performing the operation."
)


def refuse_overlap(name: str, target: Tensor, rest: tuple[object, ...]) -> None:
    """Raise RuntimeError if the result of an in-place operation would depend on the order of
    writing.
    """
    raw = target._data
    if type(raw) is not np.ndarray or (name == "assign" and rest[0] is target):
        return
    about = records[name].overlap
    # Writing one value everywhere, or whole rows, does not depend on the order of writing; PyTorch
    # lets these pass.
    if "idempotent" not in about and not raw.flags.c_contiguous and repeats(raw):
        raise RuntimeError(INTERNAL)
    reads = "reads" in about  # its operand must not be the target either
    for operand in () if "number" in about else rest:
        if isinstance(operand, Tensor) and type(operand._data) is np.ndarray:
            if operand._data is raw and not reads:
                continue
            if on_each_other(raw, operand._data, reads):
                raise RuntimeError(PARTIAL)


def repeats(raw: Array) -> bool:
    """Return whether several elements along a dim share a memory location."""
    return any(step == 0 and n > 1 for n, step in zip(raw.shape, raw.strides, strict=True))


def on_each_other(a: Array, b: Array, wholly_too: bool) -> bool:
    if not (a.size and b.size and dense(a) and dense(b)):
        return False
    start = a.__array_interface__["data"][0]
    start_b = b.__array_interface__["data"][0]
    if start == start_b and a.nbytes == b.nbytes:
        return wholly_too or a.ndim != b.ndim or steps(a) != steps(b)
    return bool(start < start_b + b.nbytes and start_b < start + a.nbytes)


def steps(raw: Array) -> list[int]:
    """Return the strides of dims with more than one entry; the others are arbitrary."""
    return [step for n, step in zip(raw.shape, raw.strides, strict=True) if n != 1]


def dense(raw: Array) -> bool:
    """Return whether the elements fill a contiguous block of memory, in any order of the dims."""
    if raw.flags.c_contiguous or raw.flags.f_contiguous:
        return True
    expected = raw.itemsize
    for step, n in sorted(
        (step, n) for n, step in zip(raw.shape, raw.strides, strict=True) if n != 1
    ):
        if step != expected:
            return False
        expected *= n
    return True
