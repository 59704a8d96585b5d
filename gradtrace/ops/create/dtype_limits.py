"""Facts about dtypes: promotion (result_type, promote_types, can_cast) and limits (finfo and
iinfo).
"""

from __future__ import annotations

from gradtrace.engine.data import dtypes
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.ops.api import functions, public


@public(forms="f")
def result_type(tensor1: Tensor | float, tensor2: Tensor | float) -> dtypes.dtype:
    """Return the dtype that an operation on two tensors or numbers produces (torch.result_type)."""
    return dtypes.result_type(
        *(
            (value._data, True) if isinstance(value, Tensor) else (value, False)
            for value in (tensor1, tensor2)
        )
    )


@public(forms="f")
def promote_types(type1: dtypes.dtype, type2: dtypes.dtype) -> dtypes.dtype:
    """Return the smallest dtype that both dtypes promote to (torch.promote_types)."""
    return dtypes.result_type(*((np.zeros(1, dtype.np), True) for dtype in (type1, type2)))


@public(forms="f")
def can_cast(from_: dtypes.dtype, to: dtypes.dtype) -> bool:
    """Return whether a cast keeps the kind of number: bool, integer or floating point
    (torch.can_cast).
    """
    return from_.category <= to.category


class finfo:
    """Range and precision of a floating-point dtype; defaults to the default dtype
    (torch.finfo).
    """

    __slots__ = ("bits", "dtype", "eps", "max", "min", "resolution", "smallest_normal", "tiny")

    def __init__(self, type: dtypes.dtype | None = None) -> None:
        dtype = dtypes.get_default_dtype() if type is None else type
        if not isinstance(dtype, dtypes.dtype):
            kind = dtype.__class__.__name__
            raise TypeError(
                f"finfo(): argument 'type' (position 1) must be torch.dtype, not {kind}"
            )
        if not dtype.is_floating_point:
            raise TypeError(  # PyTorch names the Python type here
                "torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'"
            )
        limits = np.finfo(dtype.np)
        self.bits = int(limits.bits)
        self.dtype = dtype.name
        self.eps = float(limits.eps)
        self.max = float(limits.max)
        self.min = float(limits.min)
        self.tiny = self.smallest_normal = float(limits.tiny)
        self.resolution = 10.0**-limits.precision

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )


class iinfo:
    """The range of an integer dtype (torch.iinfo)."""

    __slots__ = ("bits", "dtype", "max", "min")

    def __init__(self, type: dtypes.dtype | None) -> None:
        if not isinstance(type, dtypes.dtype):
            raise TypeError(
                "iinfo(): argument 'type' (position 1) must be torch.dtype, not "
                + type.__class__.__name__
            )
        if type.is_floating_point:
            raise TypeError(
                "torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'"
            )
        if type.category == dtypes.BOOL:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        limits = np.iinfo(type.np)
        self.bits = int(limits.bits)
        self.dtype = type.name
        self.max = int(limits.max)
        self.min = int(limits.min)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"


functions["finfo"] = finfo
functions["iinfo"] = iinfo
