"""Build the public API from records: functions, methods, in-place methods, Python operators and
`functional` names.

Each family first defines its records, then registers public names here. A public function uses
PyTorch's argument names; as a method, its first argument is the tensor itself.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any, Callable, Iterable, TypeVar
from gradtrace.engine.calls import call
from gradtrace.engine.calls.inplace import inplace
from gradtrace.engine.data.dtypes import float64, get_default_dtype, python_number
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Later, Tensor
from gradtrace.engine.data.types import Ints
from gradtrace.engine.operators.op import Op
from gradtrace.ops.public_call import public_call

if TYPE_CHECKING:
    from typing_extensions import TypeIs


# The type of a function that a decorator returns unchanged.
F = TypeVar("F", bound="Callable[..., Any]")
Choice = tuple[Any, tuple[Any, ...]]  # a record and its arguments

functions: dict[str, Any] = {}  # torch.NAME
methods: dict[str, Any] = {}  # Tensor.NAME
functional: dict[str, Any] = {}  # torch.nn.functional.NAME
linalg: dict[str, Any] = {}  # torch.linalg.NAME
special: dict[str, Any] = {}  # torch.special.NAME


class NotGiven:
    """Sentinel default for arguments for which None is a valid value."""

    def __repr__(self) -> str:
        return "<not given>"


NOT_GIVEN: Any = NotGiven()
TENSOR_OR_NUMBER = (Tensor, int, float)

# For docs/operators.md: every public name with the record behind it.
catalogue: dict[str, tuple[str, str]] = {}


def expose(function: F, *names: str, forms: str = "fm", record: Op | None = None) -> F:
    """Register `function` under `names` for each of `forms`: f torch, m Tensor, n functional, l
    linalg, s special.

    The form c is torch.NAME_copy, which copies the views that the function returns; it has the
    first name only.
    """
    names = names or (function.__name__,)
    if "c" in forms:
        expose(copying(function, names[0]), forms="f")
    tables = {"f": functions, "m": methods, "n": functional, "l": linalg, "s": special}
    for name in names:
        for form in forms:
            if form in tables:
                tables[form][name] = public_call(function, form, name)
        if "m" in forms and isinstance(Tensor.__dict__.get(name), (type(None), Later)):
            setattr(Tensor, name, methods[name])
        catalogue[name] = (forms, record.name if record is not None else "")
    return function


def copy_of_view(view: Tensor) -> Tensor:
    """Return a contiguous copy, whose node is named after that of the view."""
    copy = view.clone(memory_format="torch.contiguous_format")
    if view.grad_fn is not None and copy._fn is not None:
        copy._fn = call.renamed(copy._fn, f"{view.grad_fn.name()}_copy")
    return copy


def copying(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return the function that copies the view, or the views, which a function returns."""

    def call(*args: Any, **options: Any) -> Any:
        views = function(*args, **options)
        if isinstance(views, Tensor):
            return copy_of_view(views)
        return tuple(map(copy_of_view, views))

    return named(call, f"{name}_copy", f"Copy of {name} in new memory (torch.{name}_copy).")


def public(*names: str, forms: str = "fm") -> Callable[[F], F]:
    """Return a decorator that renames a function to the first name and exposes it; see `expose`."""

    def decorate(function: F) -> F:
        return expose(named(function, names[0]) if names else function, *names, forms=forms)

    return decorate


def named(function: F, name: str, doc: str = "") -> F:
    """Give a function its public name and, if there is one, its docstring, and return it."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc or function.__doc__
    return function


def expose_inplace(record: Op, *names: str, numbers: bool = True) -> None:
    """Add the in-place method `name_` of an operator that takes its tensors first, then other
    arguments.
    """
    for name in names:
        method = inplace_method(record, name + "_", numbers)
        named(method, name + "_", f"In-place form of {name}.")
        methods[name + "_"] = public_call(method, "m", name + "_")
        setattr(Tensor, name + "_", methods[name + "_"])


def inplace_method(record: Op, name: str, numbers: bool) -> Callable[..., Tensor]:
    def method(self: Tensor, *args: Any) -> Tensor:
        return inplace(record, self, *args)

    def of_tensors(self: Tensor, other: object) -> Tensor:
        if not isinstance(other, Tensor):
            raise not_a_tensor(name, "other", 1, other)
        return inplace(record, self, other)

    return method if numbers else of_tensors


def unary(record: Op, *aliases: str, forms: str = "fmi") -> Callable[..., Tensor]:
    """Make the record of an operator of one tensor public: as function, method and in-place method
    (see `expose`).
    """

    def general(input: Tensor) -> Tensor:
        if not isinstance(input, Tensor):
            raise not_a_tensor(record.name, "input", 1, input)
        return record(input)

    function = call.unary(record, general)
    if getattr(record._kernel, "by_blocks", False):
        function = call.keeping_slope(function)
    named(function, record.name, f"Elementwise {record.name} (torch.{record.name}).")
    expose(function, record.name, *aliases, forms=forms, record=record)
    if "i" in forms:
        expose_inplace(record, record.name, *aliases)
    return function


def binary(
    record: Op,
    *aliases: str,
    forms: str = "fmi",
    name: str = "",
    numbers: bool = True,
    two_numbers: bool = False,
) -> Callable[..., Tensor]:
    """Make the record of an operator of two tensors public; the second may be a number unless
    `numbers` is False.

    With `two_numbers` the first argument of the function may be a number too.
    """
    name = name or record.name
    run: Callable[..., Tensor] = call.binary(record)
    operands = TENSOR_OR_NUMBER if numbers else Tensor

    def function(input: Tensor, other: object) -> Tensor:
        if not isinstance(input, Tensor):
            if not two_numbers:
                raise not_a_tensor(name, "input", 1, input)
            return record(first_number(name, input, other), other)
        if not isinstance(other, operands):
            check_operand(name, other, operands)
        return run(input, other)

    def method(self: Tensor, other: object) -> Tensor:
        if not isinstance(other, operands):
            check_operand(name, other, operands, 1)
        return run(self, other)

    doc = f"Elementwise {name} with broadcasting (torch.{name})."
    if "m" in forms:
        expose(named(method, name, doc), name, *aliases, forms="m", record=record)
    expose(named(function, name, doc), name, *aliases, forms=forms.replace("m", ""), record=record)
    for public_name in (name, *aliases):
        catalogue[public_name] = (forms, record.name)
    if "i" in forms:
        expose_inplace(record, name, *aliases, numbers=numbers)
    return function


def operator(
    dunder: str, record: Op, *, reflected: bool = False, inplace_too: bool = False
) -> None:
    """Define a Python operator on Tensor; it returns NotImplemented for unsupported operand
    types.
    """

    def swapped(a: Tensor, b: object) -> Any:
        b = python_number(b)
        return record(b, a) if isinstance(b, (float, int)) else NotImplemented

    def augmented(a: Tensor, b: object) -> Any:
        if isinstance(b, Tensor) or isinstance(python_number(b), (float, int)):
            return inplace(record, a, b)
        return NotImplemented

    setattr(Tensor, f"__{dunder}__", named(call.binary(record), f"__{dunder}__"))
    if reflected:
        setattr(Tensor, f"__r{dunder}__", named(swapped, f"__r{dunder}__"))
    if inplace_too:
        setattr(Tensor, f"__i{dunder}__", named(augmented, f"__i{dunder}__"))


def first_number(name: str, value: object, other: object) -> Any:
    """Return a number as the first operand of `name`: a tensor if the other operand is a number as
    well.
    """
    number = python_number(value)
    if not isinstance(number, (int, float)):
        raise not_a_tensor(name, "input", 1, value)
    check_operand(name, other)
    if isinstance(other, Tensor):
        return number
    if isinstance(number, int):
        return Tensor._wrap(np.asarray(number))
    default = get_default_dtype()
    return Tensor._wrap(number if default is float64 else np.asarray(number, default.np))


def check_operand(
    name: str, value: object, kinds: Any = TENSOR_OR_NUMBER, position: int = 2
) -> None:
    """Raise TypeError for a second operand that is neither of these kinds nor a number of numpy."""
    if not isinstance(value, kinds) and not isinstance(python_number(value), kinds):
        raise not_a_tensor(name, "other", position, value)


def not_a_tensor(name: str, argument: str, position: int, value: object) -> TypeError:
    return TypeError(
        f"{name}(): argument '{argument}' (position {position}) must be Tensor, not {type(value).__name__}"
    )


def check_tensors(name: str, **arguments: object) -> None:
    """Raise TypeError for the first argument that is not a tensor."""
    for position, (argument, value) in enumerate(arguments.items(), 1):
        if not isinstance(value, Tensor):
            raise not_a_tensor(name, argument, position, value)


def is_int(value: object) -> TypeIs[int]:
    """Return whether an argument is a single integer, of Python or numpy."""
    return isinstance(value, int) or isinstance(value, np.integer)  # noqa: SIM101 - an int must not load numpy


def check_dim(dim: int, ndim: int) -> int:
    """Normalise a dim to be non-negative; raise IndexError with PyTorch's message if it is out of
    range.
    """
    limit = max(ndim, 1)
    if not -limit <= dim < limit:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-limit}, {limit - 1}], but got {dim})"
        )
    return dim % limit


def check_dims(dims: int | Iterable[int] | None, ndim: int) -> Ints:
    """Normalise several dims to be non-negative; None or () means all. Raise RuntimeError for
    repeated dims.
    """
    if dims is None:
        return tuple(range(ndim))
    if is_int(dims):
        return (check_dim(int(dims), ndim),)
    axes = tuple(check_dim(int(dim), ndim) for dim in dims)
    for i, dim in enumerate(axes):
        if dim in axes[:i]:
            raise RuntimeError(f"dim {dim} appears multiple times in the list of dims")
    return axes if axes else tuple(range(ndim))


def given_sizes(args: tuple[Any, ...], named: dict[str, Any], name: str) -> tuple[Any, ...]:
    """Return sizes passed by position or by the keyword `name`; raise TypeError for any other
    keyword.
    """
    if not named:
        return args
    if args or tuple(named) != (name,):
        raise TypeError(
            f"expected the sizes one by one, or as '{name}'; got {', '.join(map(repr, named))}"
        )
    return (named[name],)


def sizes(args: tuple[Any, ...]) -> Ints:
    """Return sizes passed separately or as one sequence; raise TypeError if they are missing or not
    ints.
    """
    if not args:
        raise TypeError("sizes are missing")
    if len(args) == 1 and isinstance(args[0], (tuple, list)):
        args = tuple(args[0])
    return tuple(a if type(a) is int else index_of(a) for a in args)


def index_of(value: Any) -> int:
    """Convert an integer-like value to an int; raise TypeError for floats and bools."""
    if isinstance(value, bool) or not hasattr(type(value), "__index__"):
        raise TypeError(f"a size must be an int, not {type(value).__name__}")
    return int(value)
