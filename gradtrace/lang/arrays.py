"""The type of numpy arrays in programs, created by `tensor.numpy()` and by the functions in `numpy_module`.

An Array wraps an ndarray that the program cannot access. Arguments for numpy go through `to_numpy`, which accepts only
exact numeric types, lists and tuples of them, tensors and Arrays; results go through `from_numpy`.
"""

from __future__ import annotations

import operator

from gradtrace import ops
from gradtrace.annotations import Any, AnyFunction, Callable, Iterator
from gradtrace.engine.data.describe import Size
from gradtrace.engine.data.lazy import ARRAY_TYPES, np
from gradtrace.engine.data.state import state
from gradtrace.engine.data.tensor import Tensor
from gradtrace.lang import numpy_numbers
from gradtrace.lang.library import PLAIN
from gradtrace.lang.numpy_numbers import Float64, Int64
from gradtrace.lang.values import Frozen, attributes_of, named
from gradtrace.lang.words import words

# Methods that call numpy's methods, with arguments converted by `to_numpy`.
METHODS = words("""all any argmax argmin argpartition argsort astype choose clip copy cumprod cumsum diagonal dot fill
    flatten item max mean min nonzero partition prod put ravel repeat reshape round searchsorted sort squeeze std sum
    swapaxes take tolist trace transpose var""")
WRITES = ("fill", "partition", "put", "sort")  # those of them that change the array
TEXTS = words("einsum pad")  # functions with a text among their positional arguments
NUMBERS = (bool, int, float)
ITEM_OPERATIONS = 16  # operations on an array in the time in which one item of a list is converted
ELEMENT_TYPES = words("bool int8 int16 int32 int64 uint8 float16 float32 float64")


class DType(Frozen):
    """An element type: `np.float32`, `array.dtype`."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return self.name == (other.name if type(other) is DType else other)

    def __hash__(self) -> int:
        return hash(self.name)

    def __call__(self, value: Any = 0) -> Any:
        return from_numpy(np.dtype(self.name).type(to_numpy(value)))

    def __instancecheck__(self, value: Any) -> bool:
        return dtype_of_number(value) == self.name

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"dtype('{self.name}')"


class NumberClass(Frozen):
    """A class of numpy's numbers: `np.floating`, `np.integer`."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __instancecheck__(self, value: Any) -> bool:
        found = dtype_of_number(value)
        return found is not None and self.has(found)

    def has(self, dtype: str) -> bool:
        return bool(np.issubdtype(np.dtype(dtype), getattr(np, self.name)))

    def __repr__(self) -> str:
        return f"<class 'numpy.{self.name}'>"


def dtype_of_number(value: Any) -> str | None:
    """Return the name of the dtype of one of numpy's numbers; None for any other value."""
    kind = type(value)
    if kind is Float64 or kind is Int64:
        return str(kind.__name__)
    return str(value._array.dtype) if kind is Array and isinstance(value._array, np.generic) else None


class Array(Frozen):
    """An ndarray, or a numpy scalar that has no equivalent Python number."""

    __slots__ = ("_array",)
    __module__ = "numpy"

    def __init__(self, array: Any) -> None:
        self._array = array

    def __getattr__(self, name: str) -> Any:
        if name not in METHODS:
            raise AttributeError(f"'numpy.ndarray' object has no attribute '{name}'")
        if name in WRITES:
            keep(self._array)
        return wrap_function(getattr(self._array, name), name)

    shape, strides, ndim = attributes_of("_array", "shape strides ndim")
    size, nbytes, itemsize = attributes_of("_array", "size nbytes itemsize")

    @property
    def dtype(self) -> DType:
        return DType(str(self._array.dtype))

    @property
    def T(self) -> Array:
        return Array(self._array.T)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(self._array)  # for the library; the gate gives it to no program

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, key: Any) -> Any:
        return from_numpy(self._array[checked_index(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        keep(self._array)
        self._array[checked_index(key)] = to_numpy(value)

    def __iter__(self) -> Any:
        return (from_numpy(item) for item in self._array)

    def __contains__(self, value: Any) -> bool:
        return to_numpy(value) in self._array

    def __float__(self) -> float:
        return float(self._array)

    def __int__(self) -> int:
        return int(self._array)

    def __index__(self) -> int:
        return operator.index(self._array)

    def __bool__(self) -> bool:
        return bool(self._array)

    def __hash__(self) -> int:
        return hash(self._array)

    def __format__(self, spec: str) -> str:
        return format(self._array, spec)

    def __str__(self) -> str:
        from gradtrace.engine.data.text import array_text

        return array_text(self._array) if self.ndim else str(self._array)

    def __repr__(self) -> str:
        from gradtrace.engine.data.text import array_repr

        return array_repr(self._array) if type(self._array) is np.ndarray else repr(self._array)


Array.__name__ = Array.__qualname__ = "ndarray"


class ArrayOfOthers(Frozen):
    """Base class of arrays of objects that are not numbers; they are indexed and read, and no function takes them."""

    __slots__ = ("_array",)
    __module__ = "numpy"

    def __init__(self, array: Any) -> None:
        self._array = array

    shape, size, ndim = attributes_of("_array", "shape size ndim")

    def _of(self, part: Any) -> Any:
        """Return a part of the array as an array of the same kind."""
        return type(self)(part)

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, key: Any) -> Any:
        found = self._array[checked_index(key)]
        return self._of(found) if isinstance(found, np.ndarray) else found

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def tolist(self) -> Any:
        return self._array.tolist()


ARRAY_TYPES.add(Array)


# ---- conversion


def keep(array: Any) -> None:
    """Announce a write to an array, which may store a tensor's values: a recorded run then keeps the old ones."""
    if state.keeper is not None:
        state.keeper.before_array_write(array)


def raw(array: Array) -> Any:
    """Return the wrapped ndarray; for use in the library only."""
    return array._array


def to_numpy(value: Any) -> Any:
    """Convert a program's number, list of numbers or array for numpy; raise TypeError for other types."""
    kind = type(value)
    if kind is Array:
        return value._array
    if kind in NUMBERS or value is None:
        return value
    if kind is Float64 or kind is Int64:
        return numpy_numbers.real(value)
    if kind is list or kind is tuple:
        if state.spend is not None:
            state.spend(ITEM_OPERATIONS * (len(value) + 1))  # nested lists may be the same list many times
        return kind(map(to_numpy, value))
    if kind is Size:
        return tuple(value)
    if kind is DType:
        return np.dtype(value.name)
    if issubclass(kind, Tensor):
        return value.numpy()
    if kind is range:
        return value
    raise TypeError(f"arrays hold numbers in gradtrace scripts, not '{kind.__name__}'")


def to_numpy_argument(value: Any, is_word: bool) -> Any:
    """Convert an argument for numpy. A dtype may be a Python type or its name; other strings require `is_word`."""
    if type(value) is type and value in NUMBERS:
        return value
    if type(value) is str and (is_word or value in ELEMENT_TYPES):
        return value
    return to_numpy(value)


def from_numpy(value: Any) -> Any:
    """Convert a numpy result to the program's number of its type if there is one, else to an Array."""
    if isinstance(value, np.ndarray):
        return Array(value)
    if isinstance(value, np.float64):
        return Float64(value)
    if isinstance(value, np.int64):
        return Int64(value)
    if isinstance(value, np.bool_):
        return value.item()
    if isinstance(value, np.dtype):
        return DType(str(value))
    if isinstance(value, np.generic):
        return Array(value)
    if isinstance(value, (list, tuple)):
        made = map(from_numpy, value)
        return type(value)(*made) if hasattr(value, "_fields") else type(value)(made)
    return value


def wrap_function(function: AnyFunction, name: str) -> AnyFunction:
    """Wrap a numpy function or method to convert its arguments and its result."""

    def call(*args: Any, **kwargs: Any) -> Any:
        texts = name in TEXTS
        named = {key: to_numpy_argument(value, key != "dtype") for key, value in kwargs.items()}
        result = function(*(to_numpy_argument(value, texts) for value in args), **named)
        if isinstance(function, np.ufunc) and any(issubclass(type(value), Tensor) for value in args):
            return of_tensors(result)
        return from_numpy(result)

    return named(call, name)


def of_tensors(result: Any) -> Any:
    """Return numpy's result for a call with tensors as a tensor, as Tensor.__array_wrap__ does."""
    array = np.asarray(result)
    return as_operand(array.astype(np.uint8) if array.dtype == bool else array)


def checked_index(key: Any) -> Any:
    """Convert an index for numpy; only exact types are accepted."""
    kind = type(key)
    if kind is tuple:
        return tuple(map(checked_index, key))
    if kind is slice:
        return slice(*map(checked_bound, (key.start, key.stop, key.step)))
    if key is None or key is ... or kind in (int, bool):
        return key
    if kind is Int64:
        return int(key)
    if kind in (list, Array) or issubclass(kind, Tensor):
        return to_numpy(key)
    raise IndexError(
        "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean "
        "arrays are valid indices"
    )


def checked_bound(part: Any) -> Any:
    if part is None or type(part) in OPERANDS or issubclass(type(part), Tensor):
        return None if part is None else operator.index(part)
    raise TypeError("slice indices must be integers or None or have an __index__ method")


# ---- operators


SCALARS = frozenset({*NUMBERS, Float64, Int64})
OPERANDS = SCALARS | {Array}
WITH_TENSORS = words("eq ne truediv")  # of an array and a tensor; PyTorch has the others for a tensor and an array only


def as_operand(array: Any) -> Any:
    """Return an array as a tensor, and a numpy scalar as a Python number, for an operation with a tensor."""
    return ops.find(ops.api.functions, "as_tensor")(array) if isinstance(array, np.ndarray) else array.item()


def operand_for(array: Any, other: Any) -> Any:
    """Return the other operand of an array for numpy: a number, an array, a list of numbers; or NotImplemented."""
    if type(other) in OPERANDS:
        return to_numpy(other)
    if type(other) not in (list, tuple) or not isinstance(array, np.ndarray):
        return NotImplemented
    found = np.asarray(to_numpy(other))
    return NotImplemented if found.dtype == object else found


def binary_operator(name: str) -> Callable[[Array, Any], Any]:
    apply = getattr(operator, name)

    def apply_operator(self: Array, other: Any) -> Any:
        if issubclass(type(other), Tensor) and (name in WITH_TENSORS or not self.ndim):
            return apply(as_operand(self._array), other)
        if issubclass(type(other), Tensor):
            raise TypeError(refusal_of_tensor(name, other))
        found = operand_for(self._array, other)
        return found if found is NotImplemented else from_numpy(apply(self._array, found))

    return apply_operator


SYMBOLS = {"sub": "-", "mul": "*", "floordiv": "//", "mod": "%", "pow": "** or pow()", "matmul": "@"}
SYMBOLS |= {"and_": "&", "or_": "|", "xor": "^", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def refusal_of_tensor(name: str, other: Tensor) -> str:
    """Return numpy's error text for `array <operator> tensor`, where PyTorch lets numpy refuse the tensor."""
    if name == "add":
        return (
            "Concatenation operation is not implemented for NumPy arrays, use np.concatenate() instead. "
            "Please do not rely on this error; it may not be given on all Python implementations."
        )
    kinds = f"'numpy.ndarray' and '{type(other).__name__}'"
    if name in ("lt", "le", "gt", "ge"):
        return f"'{SYMBOLS[name]}' not supported between instances of {kinds}"
    return f"unsupported operand type(s) for {SYMBOLS[name]}: {kinds}"


def reflected_operator(name: str) -> Callable[[Array, Any], Any]:
    apply = getattr(operator, name)

    def apply_operator(self: Array, other: Any) -> Any:
        if issubclass(type(other), Tensor):
            if not self.ndim:
                return apply(other, self._array.item())
            # A tensor leaves an array to numpy, whose result is made a tensor.
            return as_operand(np.asarray(apply(other.numpy(), self._array)))
        found = operand_for(self._array, other)
        return found if found is NotImplemented else from_numpy(apply(found, self._array))

    return apply_operator


def inplace_operator(name: str) -> Callable[[Array, Any], Any]:
    apply = getattr(operator, name)

    def apply_operator(self: Array, other: Any) -> Any:
        found = operand_for(self._array, other)
        if found is NotImplemented:
            return found
        keep(self._array)
        self._array = apply(self._array, found)
        return self

    return apply_operator


def unary_operator(name: str) -> Callable[[Array], Any]:
    apply = getattr(operator, name)
    return lambda self: from_numpy(apply(self._array))


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_", "xor"):
    _plain = _name.rstrip("_")
    setattr(Array, f"__{_plain}__", binary_operator(_name))
    setattr(Array, f"__r{_plain}__", reflected_operator(_name))
    setattr(Array, f"__i{_plain}__", inplace_operator(f"i{_plain}"))
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Array, f"__{_name}__", binary_operator(_name))
for _name in ("neg", "pos", "abs", "invert"):
    setattr(Array, f"__{_name}__", unary_operator(_name))

PLAIN.update({*OPERANDS, DType})
numpy_numbers.wrap_method = wrap_function
numpy_numbers.complete(from_numpy)
