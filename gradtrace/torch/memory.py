"""The elements of tensors in the CPU's memory as numpy arrays, and a buffer for many small copies of them.

`Tensor.numpy()` would forbid the program to resize the tensor's storage; an array made from the address does not.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, TypeVar

import torch

F = TypeVar("F", bound=Callable[..., Any])
numpy: Any
try:
    numpy = importlib.import_module("numpy")
except ImportError:  # PyTorch does not need numpy; without it only single numbers are kept whole
    numpy = None
# a function's decorator: the program's settings may make overflows errors
quietly: Callable[[F], F] = (lambda function: function) if numpy is None else numpy.errstate(all="ignore")

PLAIN = (torch.Tensor, torch.nn.Parameter)
NAMES = ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool")
CODES = {} if numpy is None else {getattr(torch, name): numpy.dtype(name).str for name in NAMES}
CHUNK = 262_144  # elements


class Memory:
    """An address in the form that numpy reads."""

    __slots__ = ("__array_interface__",)
    __array_interface__: dict[str, Any]


def is_readable(tensor: Any) -> bool:
    """Whether `array_of` can read a tensor."""
    return (
        tensor.is_cpu
        and type(tensor) in PLAIN
        and tensor.dtype in CODES
        and tensor.layout is torch.strided
        and not tensor.is_neg()
        and tensor.data_ptr() != 0  # a derivative that is zero everywhere may have no elements in memory
    )


def array_of(tensor: Any) -> Any:
    """Return a read-only array on a tensor's memory, in its shape. It must not outlive the tensor."""
    memory = Memory()
    found = {"data": (tensor.data_ptr(), True), "shape": tuple(tensor.shape), "typestr": CODES[tensor.dtype]}
    if not tensor.is_contiguous():
        size = tensor.element_size()
        found["strides"] = tuple([size * stride for stride in tensor.stride()])
    memory.__array_interface__ = found
    return numpy.asarray(memory)


class Pool:
    """A buffer for many small copies, which would otherwise fragment the program's memory."""

    def __init__(self) -> None:
        self.chunks: dict[Any, tuple[Any, int]] = {}  # by dtype: the present chunk, how much of it is used

    def copy(self, array: Any) -> Any:
        """Return a copy of an array of at most `CHUNK` elements, in the same shape."""
        count = array.size
        chunk, used = self.chunks.get(array.dtype, (None, 0))
        if chunk is None or used + count > CHUNK:
            chunk, used = numpy.empty(CHUNK, array.dtype), 0
        self.chunks[array.dtype] = chunk, used + count
        found = chunk[used : used + count].reshape(array.shape)
        found[...] = array
        return found
