"""Element types, their categories, and the promotion of mixed operands.

The rules are PyTorch's (https://pytorch.org/docs/stable/tensor_attributes.html#torch.dtype):
categories are bool < integer < float; a 0-d tensor or a Python number changes the result only when
its category is higher.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any
from gradtrace.engine.data.lazy import np

if TYPE_CHECKING:
    from gradtrace.engine.data.types import Array, Number, NumpyDtype, Shape

BOOL = 0
INTEGER = 1
FLOAT = 2
NO_BFLOAT16 = (
    "gradtrace has no bfloat16 tensors; use float16 or float32, or run in PyTorch with "
    "--engine torch"
)


class dtype:
    """An element type. `name` is numpy's name, `scalar_type` the name in PyTorch's messages."""

    __slots__ = ("_np", "c_name", "category", "itemsize", "name", "rank", "scalar_type")

    def __init__(
        self, name: str, category: int, rank: int, itemsize: int, scalar_type: str, c_name: str
    ) -> None:
        self.name = name
        self.category = category
        self.rank = rank
        self.itemsize = itemsize
        self.scalar_type = scalar_type
        self.c_name = c_name
        self._np: NumpyDtype | None = None

    @property
    def np(self) -> NumpyDtype:
        """The numpy dtype."""
        if self._np is None:
            if self is bfloat16:
                raise RuntimeError(NO_BFLOAT16)
            self._np = np.dtype(self.name)
        return self._np

    @property
    def is_floating_point(self) -> bool:
        return self.category == FLOAT

    @property
    def is_complex(self) -> bool:
        return False

    @property
    def is_signed(self) -> bool:
        return self.name not in ("bool", "uint8")

    @property
    def cpp_name(self) -> str:
        """The name of the type in messages of PyTorch's C++ code."""
        return "long int" if self.name == "int64" else self.c_name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return dtype_named, (self.name,)


bool_ = dtype("bool", BOOL, 0, 1, "Bool", "bool")
uint8 = dtype("uint8", INTEGER, 1, 1, "Byte", "unsigned char")
int8 = dtype("int8", INTEGER, 1, 1, "Char", "signed char")
int16 = dtype("int16", INTEGER, 2, 2, "Short", "short int")
int32 = dtype("int32", INTEGER, 3, 4, "Int", "int")
int64 = dtype("int64", INTEGER, 4, 8, "Long", "long int")
float16 = dtype("float16", FLOAT, 5, 2, "Half", "c10::Half")
float32 = dtype("float32", FLOAT, 6, 4, "Float", "float")
float64 = dtype("float64", FLOAT, 7, 8, "Double", "double")

# a name only: numpy has no such type
bfloat16 = dtype("bfloat16", FLOAT, 5, 2, "BFloat16", "c10::BFloat16")

ALL = (bool_, uint8, int8, int16, int32, int64, float16, float32, float64)
BY_NAME = {d.name: d for d in ALL}
_by_np: dict[NumpyDtype, dtype] = {}
_by_python_type: dict[Any, dtype] = {float: float64, int: int64, bool: bool_}
_default = float32


def dtype_named(name: str) -> dtype:
    """Return the dtype of a name: how a pickle refers to it."""
    return BY_NAME[name]


def get_default_dtype() -> dtype:
    """Return the dtype of new floating-point tensors; float32 unless changed."""
    return _default


def set_default_dtype(d: dtype) -> None:
    """Make `d` the dtype of new floating-point tensors."""
    global _default
    if not isinstance(d, dtype) or d.category != FLOAT:
        start = "" if isinstance(d, dtype) else "invalid dtype object: "
        raise TypeError(start + "only floating-point types are supported as the default type")
    _default = d


def as_dtype(value: Any) -> dtype | None:
    """Return the dtype for an argument: a dtype, Python's float, int or bool, or None; TypeError
    for anything else.
    """
    if value is None or isinstance(value, dtype):
        return value
    python_dtype = _by_python_type.get(value) if isinstance(value, type) else None
    if python_dtype is None:
        raise TypeError(f"argument 'dtype' must be torch.dtype, not {type(value).__name__}")
    return python_dtype


def from_np(np_dtype: NumpyDtype) -> dtype:
    """Return the dtype of a numpy dtype; TypeError for one without a counterpart (object, str,
    complex).
    """
    counterpart = _by_np.get(np_dtype)
    if counterpart is not None:
        return counterpart
    counterpart = BY_NAME.get(np_dtype.name)
    if counterpart is None:
        raise TypeError(
            f"can't convert np.ndarray of type numpy.{np_dtype.type.__name__}. The only supported "
            "types are: float64, float32, float16, int64, int32, int16, int8, uint8, and bool."
        )
    _by_np[np_dtype] = counterpart
    return counterpart


def of_raw(raw: Any) -> dtype:
    """Return the dtype of raw data: float64 for a float, bool for a bool, otherwise the array's."""
    kind = type(raw)
    if kind is float:
        return float64
    if kind is bool:
        return bool_
    return _by_np.get(raw.dtype) or from_np(raw.dtype)


def promote_types(a: dtype, b: dtype) -> dtype:
    """Return the smallest dtype that can hold both (torch.promote_types)."""
    if a is b:
        return a
    if a.category != b.category:
        return a if a.category > b.category else b
    if a.rank == b.rank:  # uint8 and int8
        return int16
    return a if a.rank > b.rank else b


def python_number(value: Any) -> Any:
    """Convert a numpy scalar to a Python number; return any other value unchanged."""
    if type(value) in (float, int, bool) or not isinstance(value, np.generic):
        return value
    # PyTorch reads its bool as a float
    return float(value) if isinstance(value, np.bool_) else value.item()


def of_number(value: Number) -> dtype:
    """Return the dtype of a Python number in type promotion."""
    if isinstance(value, bool):
        return bool_
    if isinstance(value, int):
        return int64
    return _default


def combine(higher: dtype | None, lower: dtype | None) -> dtype | None:
    """Return the common dtype of two priority groups: the `lower` group's only if its category is
    higher.
    """
    if higher is None or lower is None:
        return higher or lower
    return lower if lower.category > higher.category else higher


def result_type(*operands: tuple[Any, bool]) -> dtype:
    """Return the common dtype of operands `(raw, is_tensor)`: raw data of tensors, or Python
    numbers.
    """
    groups: list[dtype | None] = [None, None, None]
    for raw, is_tensor in operands:
        if not is_tensor:
            group = 2
            operand_dtype = of_number(raw)
        else:
            group = 0 if getattr(raw, "ndim", 0) else 1
            operand_dtype = of_raw(raw)
        have = groups[group]
        groups[group] = operand_dtype if have is None else promote_types(have, operand_dtype)
    common = combine(groups[0], combine(groups[1], groups[2]))
    assert common is not None
    return common


# ---- shape and dtype together

# The kinds of data of a derivative: floats; float64 arrays (not large); other arrays; operands of
# unequal shapes.
FLOATS, WIDE, OTHERS, BROADCAST = range(4)
LARGE = 1 << 16  # number of elements from which backward works in blocks (blocks.py)
MANY = 4096  # specs, or numbers of one spec; when there are more, the cache is cleared


def count(shape: Shape) -> int:
    """Return the number of elements of a shape."""
    n = 1
    for size in shape:
        n *= size
    return n


class TensorSpec:
    """A shape and a numpy dtype (None: a Python float), or lists of them for several results.

    Each pair has one object, so comparing two specs by identity compares shape and dtype. `fast`:
    operators may use their fast path for tensors of this spec (a float, or an array of floats with
    at least one dim).
    """

    __slots__ = ("data", "dtype", "fast", "large", "numbers", "shape")

    def __init__(self, shape: Any, dtype: Any) -> None:
        self.shape = shape
        self.dtype = dtype
        single = type(shape) is tuple
        # Off the fast path: 0-d arrays, for which kernels return numpy scalars, and float16, which
        # numbers widen.
        self.fast = dtype is None or (
            single and len(shape) > 0 and dtype.kind == "f" and dtype.itemsize > 2
        )
        self.large = self.fast and count(shape) >= LARGE
        if dtype is None:
            self.data = FLOATS
        else:
            self.data = WIDE if single and dtype == np.float64 and not self.large else OTHERS
        # Python numbers as 0-d arrays: numpy is slow to convert one each time
        self.numbers: dict[Number, Array] = {}

    def number(self, value: Number) -> Array:
        """Return a Python number as a 0-d array of this dtype."""
        scalar = self.numbers.get(value)
        if scalar is not None:
            return scalar
        array = np.asarray(value, self.dtype)
        if value and value == value:  # 0.0 and -0.0 are equal keys; nan equals none
            if len(self.numbers) >= MANY:
                self.numbers.clear()
            self.numbers[value] = array
        return array


SCALAR_SPEC = TensorSpec((), None)
_specs: dict[tuple[Shape, NumpyDtype], TensorSpec] = {}


def spec_of(raw: Any) -> TensorSpec:
    """Return the spec of a Python float, a bool or an array; for a tuple of them, a spec with
    lists.
    """
    if type(raw) is float:
        return SCALAR_SPEC
    if type(raw) is bool:
        return spec_for((), np.dtype(bool))
    if type(raw) is tuple:
        specs = [spec_of(operand) for operand in raw]
        return TensorSpec([spec.shape for spec in specs], [spec.dtype for spec in specs])
    return _specs.get((raw.shape, raw.dtype)) or spec_for(raw.shape, raw.dtype)


def has_spec(raw: object, spec: TensorSpec) -> bool:
    """Return whether raw data have the shape and dtype of a spec."""
    if type(raw) is float:
        return spec is SCALAR_SPEC
    return type(raw) is np.ndarray and raw.dtype is spec.dtype and raw.shape == spec.shape


def spec_for(shape: Any, dtype: Any) -> TensorSpec:
    """Return the one spec of a shape and dtype; for lists of them, a new spec."""
    if type(shape) is list:
        return TensorSpec(shape, dtype)
    if dtype is None:
        return SCALAR_SPEC
    shape = tuple(shape)
    spec = _specs.get((shape, dtype))
    if spec is None:
        if len(_specs) >= MANY:
            _specs.clear()
        spec = _specs[shape, dtype] = TensorSpec(shape, dtype)
    return spec
