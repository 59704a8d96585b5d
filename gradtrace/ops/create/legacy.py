"""Legacy tensor types: torch.FloatTensor([1, 2]), isinstance(x, torch.LongTensor),
x.type(torch.DoubleTensor).
"""

from __future__ import annotations

from gradtrace.annotations import Any
from gradtrace.engine.data import dtypes
from gradtrace.engine.data.describe import check_device
from gradtrace.engine.data.tensor import Tensor
from gradtrace.ops import api
from gradtrace.ops.create.factories import legacy_made


class LegacyType(type):
    """Metaclass of the legacy tensor types; the instances of such a type are the tensors of one
    dtype.
    """

    dtype: dtypes.dtype

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, Tensor) and value.dtype is cls.dtype

    def __repr__(cls) -> str:
        return f"<class 'torch.{cls.__name__}'>"

    def __call__(cls, *args: Any) -> Tensor:
        """Create a tensor of the given sizes, or from the given data."""
        if len(args) == 1 and isinstance(args[0], Tensor) and args[0].dtype is not cls.dtype:
            raise TypeError(
                f"expected a tensor of dtype {cls.dtype}, got one of dtype {args[0].dtype}"
            )
        return legacy_made(args, cls.dtype)


@api.public(forms="m")
def new(self: Tensor, *args: Any, device: object = None) -> Tensor:
    """Create a tensor of this dtype from data, or of the given sizes, which is empty without any
    (Tensor.new).
    """
    check_device(device)
    tensor: Tensor = api.functions[f"{self.dtype.scalar_type}Tensor"](*args)
    return tensor.to(self.device)


def set_default_tensor_type(t: Any) -> None:
    """Set the default dtype by a legacy type or its name (torch.set_default_tensor_type)."""
    kind = api.functions.get(t.removeprefix("torch.")) if isinstance(t, str) else t
    if not isinstance(kind, LegacyType):
        raise TypeError("invalid type object" if not isinstance(t, str) else f"invalid type: '{t}'")
    if kind.dtype.category != dtypes.FLOAT:
        raise TypeError("only floating-point types are supported as the default type")
    dtypes.set_default_dtype(kind.dtype)


for _dtype in dtypes.ALL:
    _name = f"{_dtype.scalar_type}Tensor"
    api.functions[_name] = LegacyType(_name, (), {"dtype": _dtype, "__module__": __name__})
