"""The elements of tensors in the CPU's memory as numpy arrays, and a buffer for many small copies
of them.

`Tensor.numpy()` would forbid the program to resize the tensor's storage; an array made from the
address does not.
"""

from __future__ import annotations

import ctypes
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
quietly: Callable[[F], F] = (
    (lambda function: function) if numpy is None else numpy.errstate(all="ignore")
)

PLAIN = (torch.Tensor, torch.nn.Parameter)
NAMES = ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool")
CODES = {} if numpy is None else {getattr(torch, name): numpy.dtype(name).str for name in NAMES}
FIRST, CHUNK = 4096, 262_144  # elements of the first and of the last arrays of a pool
FAR = 2**40  # an address that is not the offset of a view
copy_memory = ctypes.memmove


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
        and (tensor.data_ptr() >= FAR or not has_no_memory(tensor))
    )


def has_no_memory(tensor: Any) -> bool:
    """Whether a dense tensor has no elements in memory: a derivative that is zero everywhere, or a
    parameter that FSDP has freed. The address of a view of a freed one is its offset.
    """
    return bool(tensor.data_ptr() == tensor.storage_offset() * tensor.element_size())


def is_freed(tensor: Any) -> bool:
    """Whether the memory of a dense tensor was freed, as FSDP does: PyTorch must not read it."""
    if tensor.layout is not torch.strided or tensor.is_meta or not tensor.numel():
        return False
    return bool(tensor.untyped_storage().size() == 0)


def array_of(tensor: Any) -> Any:
    """Return a read-only array on a tensor's memory, in its shape. It must not outlive the
    tensor.
    """
    memory = Memory()
    interface = {
        "data": (tensor.data_ptr(), True),
        "shape": tuple(tensor.shape),
        "typestr": CODES[tensor.dtype],
    }
    if not tensor.is_contiguous():
        size = tensor.element_size()
        interface["strides"] = tuple([size * stride for stride in tensor.stride()])
    memory.__array_interface__ = interface
    return numpy.asarray(memory)


def octets_of(tensor: Any) -> bytes:
    """Return the bytes of a readable contiguous tensor."""
    return ctypes.string_at(tensor.data_ptr(), tensor.numel() * tensor.element_size())


class Chunk:
    """An array that is filled with copies of tensors, one after the other."""

    __slots__ = ("address", "array", "room", "size", "used")

    def __init__(self, array: Any) -> None:
        self.array = array
        self.address: int = array.ctypes.data
        self.room: int = array.size
        self.size: int = array.itemsize
        self.used = 0

    def take(self, tensor: Any, count: int) -> int:
        """Copy the elements of a readable tensor, in row-major order, and return the place of the
        first one. A copy of memory takes a tenth of the time of an assignment by numpy.
        """
        start = self.used
        self.used = end = start + count
        if tensor.is_contiguous():
            copy_memory(self.address + start * self.size, tensor.data_ptr(), count * self.size)
        else:
            self.array[start:end].reshape(tensor.shape)[...] = array_of(tensor)
        return start


class Pool:
    """A buffer for many small copies, which would otherwise fragment the program's memory."""

    def __init__(self) -> None:
        self.chunks: dict[Any, Chunk] = {}  # by dtype

    def copy(self, tensor: Any, shape: tuple[int, ...], count: int) -> Any:
        """Return an array with a copy of a readable tensor of `count` elements."""
        dtype = tensor.dtype
        chunk = self.chunks.get(dtype)
        if chunk is None or chunk.used + count > chunk.room:
            # the first use of memory takes long
            room = FIRST if chunk is None else min(4 * chunk.room, CHUNK)
            chunk = self.chunks[dtype] = Chunk(numpy.empty(max(room, count), CODES[dtype]))
        start = chunk.take(tensor, count)
        elements = chunk.array[start : start + count]
        return elements if len(shape) == 1 else elements.reshape(shape)
