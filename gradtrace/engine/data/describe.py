"""The size, dtype, device and memory layout of a tensor, which do not depend on its history."""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any
from gradtrace.engine.data import dtypes
from gradtrace.engine.data.state import state
from gradtrace.engine.data.tensor_fields import TensorExtras

if TYPE_CHECKING:
    from typing import SupportsIndex, overload

    from gradtrace.engine.data.types import Shape


class Size(tuple[int, ...]):
    """A tensor's shape: a tuple that prints like torch.Size."""

    __slots__ = ()

    def numel(self) -> int:
        return dtypes.count(self)

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def __add__(self, other: tuple[int, ...]) -> Size:  # type: ignore[override]
        return Size(tuple(self) + tuple(other))

    if TYPE_CHECKING:

        @overload
        def __getitem__(self, index: SupportsIndex) -> int: ...

        @overload
        def __getitem__(self, index: slice) -> Size: ...

    def __getitem__(self, index: SupportsIndex | slice) -> Size | int:
        item = tuple.__getitem__(self, index)
        return Size(item) if isinstance(item, tuple) else item


class layout(str):
    """How a tensor is stored, by PyTorch's name."""

    __slots__ = ()
    __repr__ = str.__str__


class memory_format(str):
    """The order of a tensor's elements in memory, by PyTorch's name."""

    __slots__ = ()
    __repr__ = str.__str__


STRIDED = layout("torch.strided")
DEVICES = """cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, mps, meta,
hpu, mtia, privateuseone""".replace("\n", " ")


class device:
    """The name of a device, and a context in which new tensors are on it.

    Tensors are on the CPU: `check_device` refuses the others where one is used.
    """

    __slots__ = ("index", "type")

    def __init__(self, type: str | device | int = "cpu", index: int | None = None) -> None:
        self.type, colon, number = str(type).partition(":")
        if isinstance(type, int):
            raise RuntimeError("Cannot access accelerator device when none is available.")
        if self.type not in DEVICES.split(", "):
            raise RuntimeError(
                f"Expected one of {DEVICES} device type at start of device string: {self.type}"
            )
        if colon and number not in map(str, range(128)):  # an index is a signed byte in PyTorch
            raise RuntimeError(f"Invalid device string: '{type}'")
        if index is not None:
            if not isinstance(index, int) or isinstance(index, bool):
                kind = index.__class__.__name__
                raise TypeError(f"device(): argument 'index' (position 2) must be int, not {kind}")
            if colon:
                message = (
                    "type (string) must not include an index because index was passed explicitly"
                )
                raise RuntimeError(f"{message}: {type}")
            if index < 0:
                raise RuntimeError("Device index must not be negative")
        self.index = int(number) if colon else index

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        return f"device(type='{self.type}'{'' if self.index is None else f', index={self.index}'})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __enter__(self) -> device:
        state.devices += (self,)
        return self

    def __exit__(self, *exc: object) -> None:
        state.devices = state.devices[:-1]


CPU = device()


def check_device(value: Any) -> None:
    """Raise the error of a PyTorch without GPUs for every device except the CPU; None is that of
    new tensors.
    """
    value = get_default_device() if value is None else value
    if value is CPU:
        return
    kind = device(value).type
    if kind in ("cuda", "xpu"):
        raise AssertionError(f"Torch not compiled with {kind.upper()} enabled")
    if kind == "meta":
        raise RuntimeError(
            "gradtrace has no tensors without values: --engine torch runs programs that use 'meta'"
        )
    if kind != "cpu":
        raise RuntimeError(f"PyTorch is not linked with support for {kind} devices")


def get_default_device() -> device:
    """Return the device of new tensors (torch.get_default_device)."""
    return state.devices[-1] if state.devices else CPU


def set_default_device(device: Any) -> None:
    """Set the device of new tensors outside of a `with` of a device; None for the CPU
    (torch.set_default_device).
    """
    check_device(device or CPU)
    state.devices = (type(CPU)(device or CPU), *state.devices[1:])


def contiguous_strides(shape: Shape) -> Shape:
    """Return the strides that PyTorch gives a new tensor, in elements; without elements, numpy
    gives zeros.
    """
    steps = []
    step = 1
    for size in reversed(shape):
        steps.append(step)
        step *= max(size, 1)
    return tuple(reversed(steps))


def no_arguments(name: str, extra: tuple[object, ...]) -> TypeError:
    """Return PyTorch's error for arguments of a method that has none."""
    return TypeError(f"TensorBase.{name}() takes no arguments ({len(extra)} given)")


class Described:
    """The properties of Tensor that depend only on its raw data."""

    __slots__ = ()

    _data: Any
    _x: TensorExtras | None

    @property
    def dtype(self) -> dtypes.dtype:
        return dtypes.of_raw(self._data)

    @property
    def shape(self) -> Size:
        raw = self._data
        return Size(raw.shape) if type(raw) not in (float, bool) else Size()

    @property
    def ndim(self) -> int:
        return getattr(self._data, "ndim", 0)

    @property
    def device(self) -> device:
        return CPU

    @property
    def is_meta(self) -> bool:
        return False

    @property
    def is_cpu(self) -> bool:
        return True

    @property
    def layout(self) -> str:
        return STRIDED

    @property
    def is_cuda(self) -> bool:
        return False

    is_sparse = is_quantized = is_mps = is_xpu = is_nested = False

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.numel() * self.itemsize

    def numel(self, *extra: object) -> int:
        if extra:
            raise no_arguments("numel", extra)
        return getattr(self._data, "size", 1)

    nelement = numel

    def dim(self, *extra: object) -> int:
        if extra:
            raise no_arguments("dim", extra)
        return self.ndim

    ndimension = dim

    def element_size(self) -> int:
        return self.dtype.itemsize

    if TYPE_CHECKING:

        @overload
        def size(self) -> Size: ...

        @overload
        def size(self, dim: int) -> int: ...

    def size(self, dim: int | None = None) -> Size | int:
        if dim is None:
            return self.shape
        if not hasattr(dim, "__index__"):
            raise TypeError(
                f"size(): argument 'dim' (position 1) must be int, not {type(dim).__name__}"
            )
        n = self.ndim
        if not -n <= dim < n:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-n or -1}, "
                f"{max(n - 1, 0)}], but got {dim})"
            )
        return self.shape[dim]

    if TYPE_CHECKING:

        @overload
        def stride(self) -> Shape: ...

        @overload
        def stride(self, dim: int) -> int: ...

    def stride(self, dim: int | None = None) -> Shape | int:
        raw = self._data
        steps = () if type(raw) in (float, bool) else tuple(s // raw.itemsize for s in raw.strides)
        if 0 in steps and not any(steps) and raw.size == 0:
            steps = contiguous_strides(raw.shape)
        return steps if dim is None else steps[dim]

    def is_contiguous(self, memory_format: Any = None) -> bool:
        raw = self._data
        return type(raw) in (float, bool) or bool(raw.flags.c_contiguous)

    def is_floating_point(self) -> bool:
        return self.dtype.is_floating_point

    def is_complex(self) -> bool:
        return False

    is_conj = is_neg = is_complex

    def is_signed(self) -> bool:
        return self.dtype.is_signed

    def is_inference(self) -> bool:
        return self._x is not None and self._x.inference

    def get_device(self) -> int:
        return -1
