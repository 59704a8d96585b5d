"""Functions that create tensors from data or filled with one value; the records that cast, copy and
fill.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Sequence
from gradtrace.engine.data import dtypes
from gradtrace.engine.data.describe import CPU, Size, check_device
from gradtrace.engine.data.dtypes import as_dtype
from gradtrace.engine.data.higher import higher
from gradtrace.engine.data.lazy import is_array, np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import Array, Ints, NumpyDtype, Shape
from gradtrace.engine.operators.op import PASS_ON, ZERO_GRAD, elementwise_op, fill_op
from gradtrace.engine.operators.rounding import fitting
from gradtrace.engine.operators.strided_view import dense_copy, empty_like
from gradtrace.ops.api import public, sizes

# PyTorch copies into an empty tensor, which the graph shows as an operand without history.
# fmt: off
copy = elementwise_op("copy(empty, self)", lambda empty, a: np.array(a), "self", identity="self",
    node="torch::autograd::CopyBackwards", empty=ZERO_GRAD, self=PASS_ON)
in_c_order = elementwise_op("contiguous(self)", lambda a: np.array(a, order="C"), "self", identity="self",
    scalar=lambda a: a, node="CloneBackward0", self=PASS_ON)
clone = elementwise_op("clone(self)", dense_copy, "self", identity="self", scalar=lambda a: a, self=PASS_ON)
cast = elementwise_op("cast(self; np_dtype)", lambda a, np_dtype: np.asarray(a).astype(np_dtype), "self",
    identity="self", public="to", node="ToCopyBackward0", self=PASS_ON)
assign = fill_op("assign(self, source)", lambda a, b: np.broadcast_to(b, np.shape(a)).astype(np.asarray(a).dtype),
    "source", public="copy", aten="copy_", node="torch::autograd::CopyBackwards",
    self=ZERO_GRAD, source=PASS_ON)
fill = fill_op("fill(self; value)", lambda a, value: full_of(a.shape, value, a.dtype), "value", overlap="idempotent",
    aten="fill_.Scalar", inplace_node="FillBackward2", self=ZERO_GRAD)
fill_tensor = fill_op("fill_tensor(self, value)", lambda a, value: np.full_like(a, value), "value", overlap="number",
    aten="fill_.Scalar", node="FillBackward1", inplace_node="FillBackward3",
    self=ZERO_GRAD, value=PASS_ON)
zero = fill_op("zero(self)", lambda a: np.zeros_like(a), "0", overlap="idempotent",
    self=ZERO_GRAD)
# fmt: on


NUMBERS = frozenset((bool, int, float))
NEGATIVE_STRIDES = (
    "At least one stride in the given numpy array is negative, and tensors with negative strides are not currently "
    "supported. (You can probably work around this by making a copy of your array  with array.copy().) "
)


def full_of(shape: Shape, value: float, dtype: NumpyDtype) -> Array:
    """Return an array filled with one value; raise RuntimeError if the dtype cannot hold it."""
    try:
        # PyTorch fills one element without the check
        single = dtype.itemsize == 2 and dtypes.count(shape) == 1
        return np.full(shape, value if single else fitting(value, dtype), dtype)
    except (OverflowError, ValueError):
        name = {
            "uint8": "uint8_t",
            "int8": "int8_t",
            "int16": "short",
            "int32": "int",
            "int64": "int64_t",
        }[dtype.name]
        raise RuntimeError(f"value cannot be converted to type {name} without overflow") from None


def finish(raw: Any, requires_grad: bool = False, place: object = None) -> Tensor:
    """Return a new leaf tensor around raw data; a 0-d float64 array becomes a Python float."""
    check_device(place)
    if is_array(raw) and raw.ndim == 0 and raw.dtype == np.float64:
        raw = float(raw)
    t = Tensor._wrap(raw)
    if not requires_grad:
        return t
    if not t.is_floating_point():
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return t.set_requires_grad(True)


def np_of(dtype: dtypes.dtype | None, default: dtypes.dtype | None = None) -> NumpyDtype:
    return (as_dtype(dtype) or default or dtypes.get_default_dtype()).np


@public(forms="f")
def tensor(
    data: Any,
    *,
    dtype: dtypes.dtype | None = None,
    device: object = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Create a leaf tensor by copying `data`: a number, nested lists, an array or a tensor
    (torch.tensor).
    """
    if type(data) is float and (dtype or dtypes.get_default_dtype()) is dtypes.float64:
        return finish(data, requires_grad, device)
    if isinstance(data, Tensor):
        data = data.shared()
    elif is_array(data):
        shared_array(data)
    elif isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    if is_array(data):
        return finish(
            np.array(data, dtype=data.dtype if dtype is None else np_of(dtype)),
            requires_grad,
            device,
        )
    return finish(from_nested(data, dtype), requires_grad, device)


def from_nested(data: Any, dtype: dtypes.dtype | None) -> Array:
    """Convert nested sequences of numbers to an array; raise ValueError if ragged, TypeError for
    other values.
    """
    shape = nested_shape(data)
    flat: list[Any] = []
    if 0 not in shape:
        flatten_nested(data, shape, 0, flat)
    wanted = as_dtype(dtype) or inferred_dtype(flat or data)
    if not NUMBERS.issuperset(map(type, flat)):
        flat = [number_for(value, wanted) for value in flat]
    try:
        return np.array(flat, dtype=wanted.np).reshape(shape)
    except (OverflowError, ValueError):
        return wrap_overflow(flat, wanted).reshape(shape)


def wrap_overflow(flat: list[Any], wanted: dtypes.dtype) -> Array:
    """Convert numbers that overflow an integer dtype: uint8 wraps negative values, others raise, as
    in PyTorch.
    """
    if any(isinstance(v, int) and not -(2**63) <= v < 2**63 for v in flat):
        raise ValueError("Overflow when unpacking long long")
    if wanted is not dtypes.uint8 or any(v != v or not -256 < v < 256 for v in flat):
        raise RuntimeError(f"value cannot be converted to type {wanted.name} without overflow")
    return np.array([int(v) for v in flat], np.int64).astype(np.uint8)


def is_sequence(data: Any) -> bool:
    if isinstance(data, (list, tuple, range)) or is_array(data):
        return True
    if isinstance(data, (Tensor, dict, str, bytes)):
        return False
    kind = type(data)  # a deque, or a class of the program
    return hasattr(kind, "__getitem__") and hasattr(kind, "__len__") and not is_numpy_scalar(data)


def nested_shape(data: Any) -> Ints:
    """Return the sizes of nested sequences, judged by their first items; a tensor in them counts as
    a number.
    """
    shape: list[int] = []
    while is_sequence(data):
        shape.append(len(data))
        if not len(data):
            break
        data = data[0]
        if isinstance(data, str) and data:
            raise ValueError("too many dimensions 'str'")
    return tuple(shape)


def flatten_nested(data: Any, shape: Ints, depth: int, flat: list[Any]) -> None:
    if depth == len(shape):
        flat.append(data)
        return
    if not (is_sequence(data) or (isinstance(data, Tensor) and data.ndim)):
        raise TypeError("not a sequence")
    if len(data) != shape[depth]:
        raise ValueError(
            f"expected sequence of length {shape[depth]} at dim {depth} (got {len(data)})"
        )
    if depth + 1 == len(shape):
        flat.extend(data)
        return
    for item in data:
        flatten_nested(item, shape, depth + 1, flat)


def number_for(value: Any, wanted: dtypes.dtype) -> float:
    """Convert a list item to a number for an array of dtype `wanted`; raise TypeError if that is
    impossible.
    """
    kind = type(value)
    if kind in NUMBERS:
        number: float = value
    elif wanted.category == dtypes.FLOAT:
        if not (isinstance(value, (Tensor, float, int)) or is_numpy_scalar(value)):
            raise TypeError(f"must be real number, not {kind.__name__}")
        number = float(value)
    elif isinstance(value, float) or (
        wanted is dtypes.bool_ and is_numpy_scalar(value) and value.dtype.kind == "b"
    ):
        number = value.item()  # numpy's float64 or bool
    elif not hasattr(kind, "__index__"):
        name = f"numpy.{kind.__name__}" if kind.__module__ == "numpy" else kind.__name__
        raise TypeError(f"'{name}' object cannot be interpreted as an integer")
    else:
        number = value.__index__()
    return number


def is_numpy_scalar(value: Any) -> bool:
    is_sized = hasattr(type(value), "__len__")  # an array, or a column of pandas
    return (
        hasattr(value, "item")
        and hasattr(value, "dtype")
        and not is_sized
        and not isinstance(value, Tensor)
    )


def plain_number(value: Any) -> Any:
    """Return a number, a one-element tensor or a numpy scalar as a Python number."""
    return value.item() if isinstance(value, Tensor) or is_numpy_scalar(value) else value


def inferred_dtype(flat: list[Any]) -> dtypes.dtype:
    """Return the dtype that holds all items; Python floats count as the default dtype."""
    dtype: dtypes.dtype | None = None
    types: set[Any] = set(map(type, flat))
    examples = [kind() for kind in types] if types <= NUMBERS else flat
    for kind in {dtype_of_item(value) for value in examples}:
        dtype = kind if dtype is None else dtypes.promote_types(dtype, kind)
    return dtype or dtypes.get_default_dtype()


def dtype_of_item(value: Any) -> dtypes.dtype:
    if isinstance(value, Tensor):
        return value.dtype
    if is_array(value) or is_numpy_scalar(value):
        return dtypes.from_np(value.dtype)
    if isinstance(value, (bool, int, float)):
        return dtypes.of_number(value)
    if isinstance(value, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(value).__name__}'")
    if is_sequence(value):
        return inferred_dtype(value)
    raise RuntimeError(f"Could not infer dtype of {type(value).__name__}")


def shared_array(array: Array) -> Tensor:
    """Return a tensor that shares the array's memory; raise ValueError for negative strides."""
    dtypes.from_np(array.dtype)
    if any(stride < 0 for stride in array.strides):
        raise ValueError(NEGATIVE_STRIDES)
    return Tensor._wrap(array)


@public(forms="f")
def as_tensor(data: Any, dtype: dtypes.dtype | None = None, device: object = None) -> Tensor:
    """Return `data` itself if it is a tensor of this dtype, else a new tensor; an array shares its
    memory.
    """
    wanted = as_dtype(dtype)
    if isinstance(data, Tensor):
        check_device(device)
        return data.to(wanted or data.dtype)
    check_device(device)
    if is_array(data) and (wanted is None or dtypes.from_np(data.dtype) is wanted):
        return shared_array(data)
    return tensor(data, dtype=wanted, device=device)


@public(forms="f")
def asarray(
    obj: Any,
    *,
    dtype: dtypes.dtype | None = None,
    device: object = None,
    copy: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Convert as `as_tensor` does; `copy` is True for new memory, False for shared memory, None for
    either.
    """
    wanted = as_dtype(dtype)
    is_shared = isinstance(obj, Tensor) or is_array(obj)
    if copy is False and not is_shared:
        raise ValueError("can't alias arbitrary sequence into a tensor.")
    out = as_tensor(obj, dtype=wanted, device=device)
    if is_shared:
        before = obj.dtype if isinstance(obj, Tensor) else dtypes.from_np(obj.dtype)
        if copy is False and before is not out.dtype:
            raise ValueError(
                f"can't alias tensor with dtype '{before.scalar_type}' into dtype '{out.dtype.scalar_type}'."
            )
        if copy and before is out.dtype:
            out = clone(out)
    if requires_grad and not out.is_floating_point():
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return out.set_requires_grad(True) if requires_grad else out


@public(forms="f")
def from_numpy(ndarray: Array) -> Tensor:
    """Create a tensor that shares memory with a numpy array (torch.from_numpy)."""
    if not is_array(ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    return shared_array(ndarray)


@public(forms="f")
def frombuffer(
    buffer: Any,
    *,
    dtype: dtypes.dtype,
    count: int = -1,
    offset: int = 0,
    requires_grad: bool = False,
) -> Tensor:
    """Create a tensor that shares the memory of a bytes-like object (torch.frombuffer)."""
    return finish(shared_array(np.frombuffer(buffer, np_of(dtype), count, offset)), requires_grad)


def legacy_tensor(*args: Any) -> Tensor:
    """Implement torch.Tensor(data) and torch.Tensor(2, 3), always of the default dtype."""
    return legacy_made(args, dtypes.get_default_dtype())


def legacy_made(args: tuple[Any, ...], dtype: dtypes.dtype) -> Tensor:
    """Return the tensor that a legacy tensor type makes of sizes or data."""
    if len(args) == 1 and isinstance(args[0], Tensor):
        return args[0].alias()
    if len(args) == 1 and is_sequence(args[0]) and not isinstance(args[0], Size):
        return tensor(args[0], dtype=dtype, device=CPU)
    shape = args[0] if len(args) == 1 and isinstance(args[0], Size) else legacy_data(args)
    return Tensor._wrap(np.zeros(checked_sizes(shape), dtype.np))


def legacy_data(args: tuple[Any, ...]) -> Ints:
    """Return the sizes passed to a legacy tensor type as ints; raise TypeError for other
    arguments.
    """
    for value in args:
        if isinstance(value, str):
            raise TypeError("new(): invalid data type 'str'")
        if not hasattr(type(value), "__index__"):
            raise TypeError(f"new(): data must be a sequence (got {type(value).__name__})")
    return tuple(int(n) for n in args) or (0,)


higher["legacy_tensor"] = legacy_tensor


def _filled(name: str, value: float) -> None:
    def make(
        *size: Any,
        dtype: dtypes.dtype | None = None,
        device: object = None,
        requires_grad: bool = False,
        out: Tensor | None = None,
        layout: object = None,
        pin_memory: bool = False,
        memory_format: object = None,
        **named_size: Any,
    ) -> Tensor:
        if named_size:
            size = named_sizes(name, size, named_size)
        shape = checked_sizes(sizes(size), name)
        raw = np.full(shape, value, np_of(dtype))
        return finish(raw, requires_grad, device)

    make.__name__ = name
    make.__doc__ = f"Create a tensor of the given sizes filled with {value} (torch.{name})."
    public(name, forms="f")(make)

    def make_like(
        input: Tensor,
        *,
        dtype: dtypes.dtype | None = None,
        device: object = None,
        requires_grad: bool = False,
        memory_format: object = None,
    ) -> Tensor:
        raw = filled_like(input, value, np_of(dtype, input.dtype))
        return finish(raw, requires_grad, device)

    make_like.__name__ = name + "_like"
    make_like.__doc__ = f"`{name}` with the shape and dtype of `input`."
    public(name + "_like", forms="f")(make_like)

    def new(
        self: Tensor,
        *size: Any,
        dtype: dtypes.dtype | None = None,
        device: object = None,
        requires_grad: bool = False,
    ) -> Tensor:
        raw = np.full(checked_sizes(sizes(size)), value, np_of(dtype, self.dtype))
        return finish(raw, requires_grad, device)

    new.__name__ = "new_" + name
    new.__doc__ = f"`{name}` with the dtype of this tensor."
    public("new_" + name, forms="m")(new)


def named_sizes(name: str, size: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
    """Return the sizes given by keyword; raise TypeError for any other keyword, or if sizes are
    given twice.
    """
    unknown = next((key for key in named if key != "size"), None)
    if unknown is not None:
        raise TypeError(f"{name}() got an unexpected keyword argument '{unknown}'")
    if size:
        raise TypeError(f"{name}() got multiple values for argument 'size'")
    return (named["size"],)


def checked_sizes(shape: Ints, name: str = "") -> Ints:
    for n in shape:
        if n < 0:
            if name == "zeros":
                raise RuntimeError("zeros: Dimension size must be non-negative.")
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {n}: {list(shape)}"
            )
    return shape


_filled("zeros", 0)
_filled("ones", 1)
_filled("empty", 0)


def filled_like(input: Tensor, values: Any, kind: NumpyDtype) -> Array:
    """Return an array of `values` with the input's order of dims in memory."""
    out = np.asarray(empty_like(input.own_array(), kind))
    out[...] = values
    return out


def dtype_of_fill(value: Any) -> dtypes.dtype:
    if isinstance(value, Tensor):
        return value.dtype
    if isinstance(value, (bool, int, float)):
        return dtypes.of_number(value)
    # numpy's bool gives floats too
    is_integer = is_numpy_scalar(value) and value.dtype.kind in "iu"
    return dtypes.int64 if is_integer else dtypes.get_default_dtype()


@public(forms="f")
def full(
    size: Sequence[int],
    fill_value: Tensor | float,
    *,
    dtype: dtypes.dtype | None = None,
    device: object = None,
    requires_grad: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """Create a tensor filled with one value, whose type determines the default dtype
    (torch.full).
    """
    if not isinstance(size, (tuple, list)):
        raise TypeError(
            f"full(): argument 'size' (position 1) must be tuple of ints, not {type(size).__name__}"
        )
    shape = checked_sizes(sizes((size,)))
    kind = np_of(dtype, dtype_of_fill(fill_value))
    return finish(full_of(shape, plain_number(fill_value), kind), requires_grad, device)


@public(forms="f")
def full_like(
    input: Tensor,
    fill_value: Tensor | float,
    *,
    dtype: dtypes.dtype | None = None,
    device: object = None,
    requires_grad: bool = False,
    memory_format: object = None,
) -> Tensor:
    """`full` with the shape and dtype of `input` (torch.full_like)."""
    kind = np_of(dtype, input.dtype)
    value = full_of((), fitting(plain_number(fill_value), kind), kind)
    return finish(filled_like(input, value, kind), requires_grad, device)


@public(forms="m")
def new_full(
    self: Tensor,
    size: Sequence[int],
    fill_value: Tensor | float,
    *,
    dtype: dtypes.dtype | None = None,
    requires_grad: bool = False,
    device: object = None,
) -> Tensor:
    """`full` with the dtype of this tensor (Tensor.new_full)."""
    place = device
    return full(
        size, fill_value, dtype=dtype or self.dtype, device=place, requires_grad=requires_grad
    )


@public(forms="m")
def new_tensor(
    self: Tensor,
    data: Any,
    *,
    dtype: dtypes.dtype | None = None,
    requires_grad: bool = False,
    device: object = None,
) -> Tensor:
    """Create a tensor from `data` with the dtype of this tensor (Tensor.new_tensor)."""
    return tensor(data, dtype=dtype or self.dtype, device=device, requires_grad=requires_grad)


@public(forms="f")
def scalar_tensor(
    s: Tensor | float,
    *,
    dtype: dtypes.dtype | None = None,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """Create a 0-d tensor, by default of the default dtype (torch.scalar_tensor)."""
    return full(
        (), s, dtype=dtype or dtypes.get_default_dtype(), device=device, requires_grad=requires_grad
    )


@public(forms="f")
def eye(
    n: int,
    m: int | None = None,
    *,
    dtype: dtypes.dtype | None = None,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """The identity matrix, (n, m) (torch.eye)."""
    for name, size in (("n", n), ("m", m or 0)):
        if size < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {size}")
    return finish(np.eye(n, m, dtype=np_of(dtype)), requires_grad, device)
