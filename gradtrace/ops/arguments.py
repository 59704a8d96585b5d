"""Argument handling of public functions: NumPy's argument names, and PyTorch's errors for missing
arguments.
"""

from __future__ import annotations

from math import prod

from gradtrace.annotations import Any, Callable, Iterable, Sequence
from gradtrace.engine.calls.inplace import inplace, refuse_unless_tracked
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import Ints, Operand, Shape
from gradtrace.ops.api import Choice, F, check_dim, check_dims, expose, named, not_a_tensor
from gradtrace.ops.public_call import copy_metadata

NUMPY_NAMES = {"axis": "dim", "keepdims": "keepdim", "a": "input", "x": "input"}


def torch_function(
    *names: str, forms: str = "fm", renamed: dict[str, str] | None = None
) -> Callable[[F], F]:
    """Return a decorator for a public function of a tensor `input`; for `names` and `forms` see
    `api.expose`.

    `renamed` maps PyTorch's argument names to the names used by the function, where the two differ.
    """
    also = {**NUMPY_NAMES, **(renamed or {})}
    shown = {mine: theirs for theirs, mine in (renamed or {}).items()}

    def decorate(function: F) -> F:
        plain = getattr(function, "__wrapped__", function)
        code = plain.__code__
        name = names[0] if names else function.__name__
        own = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        required = own[: code.co_argcount - len(plain.__defaults__ or ())]

        def call(*args: Any, **options: Any) -> Any:
            if options:
                options = {k if k in own else also.get(k, k): v for k, v in options.items()}
            if len(args) < len(required):
                missing = [shown.get(n, n) for n in required[len(args) :] if n not in options]
                if missing:
                    raise missing_arguments(name, missing)
            if args and not isinstance(args[0], Tensor):
                if getattr(type(args[0]), "is_sparse", False):  # only a SparseTensor has it
                    return getattr(args[0], name)(*args[1:], **options)
                raise not_a_tensor(name, "input", 1, args[0])
            return function(*args, **options)

        wrapper: Any = call
        wrapper.__wrapped__ = function
        return expose(named(wrapper, name, function.__doc__ or ""), *names, forms=forms)

    return decorate


def in_both_forms(
    name: str, forms: str = "fm", renamed: dict[str, str] | None = None
) -> Callable[[Callable[..., Choice]], None]:
    """Return a decorator that makes the function NAME and the method NAME_, its in-place form, of
    one function.

    That checks its arguments and returns a record and the record's arguments.
    For `forms` and `renamed` see `torch_function`.
    """

    def decorate(choose: Callable[..., Choice]) -> None:
        torch_function(name, forms=forms, renamed=renamed)(form_of(choose, name))
        method = named(
            form_of(choose, name + "_", True),
            name + "_",
            f"In-place form of {name} (Tensor.{name}_).",
        )
        torch_function(name + "_", forms="m", renamed=renamed)(method)

    return decorate


def form_of(choose: Any, name: str, in_place: bool = False) -> Any:
    """Return the function NAME that runs what `choose` returns; Python's errors about arguments
    name it so, too.
    """
    chosen = type(choose)(
        choose.__code__, choose.__globals__, name, choose.__defaults__, choose.__closure__
    )
    chosen.__qualname__ = name
    chosen.__doc__ = choose.__doc__
    chosen.__kwdefaults__ = choose.__kwdefaults__
    chosen.__annotations__ = {**choose.__annotations__, "return": "Tensor"}

    def call(*args: Any, **options: Any) -> Tensor:
        if in_place and args[0].requires_grad:
            refuse_unless_tracked(*args)
        record, rest = chosen(*args, **options)
        return inplace(record, *rest) if in_place else record.call(*rest)

    return copy_metadata(call, chosen)


def linalg_function(*names: str, forms: str = "l", **renamed: str) -> Callable[[F], F]:
    """Return the decorator `torch_function` for a function of a matrix, which PyTorch calls A."""
    return torch_function(*names, forms=forms, renamed={"A": "input", **renamed})


def missing_arguments(name: str, missing: list[str]) -> TypeError:
    quoted = ", ".join(f'"{m}"' for m in missing)
    return TypeError(f"{name}() missing {len(missing)} required positional arguments: {quoted}")


def one_dim(name: str, dim: Any, ndim: int, position: int = 2) -> int:
    """Normalise one dim to be non-negative; raise TypeError if it is not an int."""
    if isinstance(dim, (bool, float)) or not hasattr(dim, "__index__"):
        raise TypeError(
            f"{name}(): argument 'dim' (position {position}) must be int, not {type(dim).__name__}"
        )
    return check_dim(int(dim), ndim)


def some_dims(name: str, dim: Any, ndim: int) -> Ints:
    """Normalise several dims to be non-negative; None or () means all, and a 0-d tensor gives
    ().
    """
    if isinstance(dim, (bool, float, str)):
        raise TypeError(
            f"{name}(): argument 'dim' (position 2) must be tuple of ints, not {type(dim).__name__}"
        )
    axes = check_dims(dim, ndim)
    return axes if ndim else ()


def kept_shape(shape: Shape, dims: Ints) -> Ints:
    """Return the shape after a reduction over `dims` with keepdim=True."""
    return tuple(1 if i in dims else n for i, n in enumerate(shape))


def count(shape: Iterable[int], dims: Ints | None = None) -> int:
    """Count the elements that a reduction over `dims` (None: all) combines into each result."""
    return prod(shape if dims is None else (size for i, size in enumerate(shape) if i in dims))


def add_parts(parts: Sequence[Operand]) -> Operand:
    """Return the sum of the parts of a gradient, of which there is at least one."""
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def require_float(input: Tensor, message: str) -> None:
    """Raise RuntimeError for integer and bool tensors; {} in `message` is replaced by the dtype."""
    if not input.is_floating_point():
        raise RuntimeError(message.format(input.dtype.scalar_type))


def need_float(input: Tensor, kernel: str) -> None:
    """Raise the error of PyTorch's kernel of this name for integer and bool tensors."""
    if not input.is_floating_point():
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{input.dtype.scalar_type}'")
