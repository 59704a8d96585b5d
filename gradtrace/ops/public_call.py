"""The calls that PyTorch's users make: `out=`, and PyTorch's message for arguments that match no
signature.

Operators of the library call one another without this.
"""

from __future__ import annotations

import sys

from gradtrace.annotations import Any, Callable

# The tables of `api` whose functions write into a tensor given as `out`: torch, torch.linalg and
# torch.special.
WITH_OUT = "fls"
# The modules that pass a user's arguments on: those of an expression, and the sizes of a layer.
USERS = ("gradtrace.program.expression", "gradtrace.nn.modules.utils")
NUMPY_NAMES = {
    "axis": "dim",
    "keepdims": "keepdim",
    "a": "input",
    "x": "input",
    "x1": "input",
    "x2": "other",
}


def public_call(function: Callable[..., Any], table: str, name: str) -> Callable[..., Any]:
    """Return the function NAME of a table of `api` as users call it; its attribute `operator` is
    the function.

    A class, such as torch.Generator, is returned unchanged.
    """
    if isinstance(function, type):
        return function

    def call(*args: Any, **options: Any) -> Any:
        try:
            if "out" in options and table in WITH_OUT:
                return call_into(function, name, args, options)
            return function(*args, **options)
        except Exception as error:
            if table != "n" and has_numpy_name(error, options):
                renamed = {NUMPY_NAMES.get(key, key): value for key, value in options.items()}
                return call(*args, **renamed)
            caller = sys._getframe(1).f_globals.get("__name__") or ""
            is_library = caller.startswith("gradtrace.") and caller not in USERS
            message = "" if is_library else mismatch(error, table, name, args, options)
            if not message:
                raise
            raise TypeError(message) from None

    copy_metadata(call, function).operator = function
    return call


def copy_metadata(call: Any, function: Callable[..., Any]) -> Any:
    """Copy metadata as functools.wraps does, without the time that importing functools takes."""
    for name in ("__module__", "__name__", "__qualname__", "__doc__", "__annotations__"):
        setattr(call, name, getattr(function, name))
    vars(call).update(vars(function))
    call.__wrapped__ = function
    return call


def has_numpy_name(error: Exception, options: dict[str, Any]) -> bool:
    """Whether a call failed because an argument has NumPy's name, which PyTorch takes too."""
    numpy_names = NUMPY_NAMES.keys() & options.keys()
    if (
        not numpy_names
        or not isinstance(error, TypeError)
        or "unexpected keyword argument" not in str(error)
    ):
        return False
    return not any(NUMPY_NAMES[name] in options for name in numpy_names)


def call_into(
    function: Callable[..., Any], name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """Call a function and write its result into the tensor `out`; None is the same as no `out`."""
    rest = {key: value for key, value in options.items() if key != "out"}
    result = function(*args, **rest)
    if options["out"] is None:
        return result
    from gradtrace.ops.out import into

    return into(options["out"], name, result, (*args, *rest.values()))


def mismatch(
    error: Exception, table: str, name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> str:
    """Return PyTorch's message for a call that failed, if its arguments match no signature; else
    "".
    """
    from gradtrace.errors import GradtraceError

    if isinstance(error, (GradtraceError, MemoryError, NotImplementedError)):
        return ""  # PyTorch looks for a kernel only after the arguments have matched.
    from gradtrace.ops.signatures import refusal

    return refusal(table, name, args[1:] if table == "m" else args, options)
