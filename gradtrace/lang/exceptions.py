"""Exceptions as programs see them: their class is one that programs know, and they hold no object of a library.

`as_known` converts an exception where a program receives it: in an `except` clause, in `__exit__`, as the cause or the
context of another. An exception that the program made is not changed.
"""

from __future__ import annotations

import builtins
from types import BuiltinFunctionType, FunctionType, MethodType

from gradtrace.annotations import Any
from gradtrace.engine.data.state import state
from gradtrace.engine.data.tensor import Tensor
from gradtrace.lang import allowed
from gradtrace.lang.known_classes import ByClass, is_defined_in
from gradtrace.lang.objects import is_dunder
from gradtrace.lang.values import ProgramFunction, TypeName
from gradtrace.lang.words import words

COMMON = words("args add_note __notes__ __cause__ __context__ __suppress_context__")
FIELDS: dict[type, frozenset[str]] = {
    AttributeError: words("name"),
    ImportError: words("msg name path"),
    NameError: words("name"),
    OSError: words("errno filename strerror"),
    StopIteration: words("value"),
    SyntaxError: words("filename lineno msg offset text"),
    SystemExit: words("code"),
}
GROUPED = (BaseExceptionGroup, UnicodeDecodeError, UnicodeEncodeError, UnicodeTranslateError)  # hold other objects


def fields_of(kind: type) -> frozenset[str]:
    """Return the attributes of the exceptions of one of Python's classes."""
    return COMMON.union(*(fields for base, fields in FIELDS.items() if issubclass(kind, base)))


# The classes of exceptions that programs know, with the attributes of their instances.
KNOWN = ByClass(
    {
        **dict.fromkeys(
            words("""argparse:ArgumentTypeError dataclasses:FrozenInstanceError
                gradtrace.func.gradcheck_demands:GradcheckError gradtrace.lang.saved:UnpicklingError
                gradtrace.ops.linalg.solve:LinAlgError gradtrace.utils.recomputation:CheckpointError
                numpy.exceptions:ComplexWarning numpy.exceptions:RankWarning
                numpy.exceptions:VisibleDeprecationWarning numpy.linalg:LinAlgError statistics:StatisticsError"""),
            COMMON,
        ),
        "argparse:ArgumentError": COMMON | words("argument_name message"),
        "json:JSONDecodeError": COMMON | words("colno doc lineno msg pos"),
        "numpy.exceptions:AxisError": COMMON | words("axis ndim"),
        "re:error": COMMON | words("colno lineno msg pattern pos"),
    },
    {
        kind: fields_of(kind)
        for kind in vars(builtins).values()
        if isinstance(kind, type) and issubclass(kind, BaseException) and not issubclass(kind, GROUPED)
    },
)
# Types in OF_INSTANCES whose values can be called.
CALLABLE = (BuiltinFunctionType, FunctionType, MethodType, property, type(str.upper), type(object.__init__))
DEEPEST = 8  # nested containers of an argument that are searched
MARK = "__of_program__"  # of the form that programs cannot set, as all that host code reads of an exception


def claim(error: Any) -> None:
    """Mark an exception as the program's own, whatever its arguments are."""
    if isinstance(error, BaseException):
        vars(error)[MARK] = True


def is_own(kind: type) -> bool:
    return state.classes is not None and kind in state.classes


def as_known(error: BaseException) -> BaseException:
    """Return the exception as a program may see it: the same one, or a copy with a known class and plain arguments."""
    kind = type(error)
    inner = vars(error)
    if is_own(kind) or MARK in inner:
        return error
    base = next(base for base in kind.__mro__ if KNOWN.get(base) is not None)
    if base is kind and (kind is StopIteration or all(is_plain(arg) for arg in args_of(error))):
        return error
    known: BaseException | None = inner.get("__known__")
    if known is None:
        known = inner["__known__"] = copied(error, base)
    return known


def copied(error: BaseException, base: type[BaseException]) -> BaseException:
    args = (
        (text_of(error),)
        if base is not type(error)
        else tuple(a if is_plain(a) else text_of(a) for a in args_of(error))
    )
    known: BaseException = base.__new__(base)
    known.args = args
    known.__cause__, known.__context__ = error.__cause__, error.__context__
    known.__suppress_context__ = error.__suppress_context__
    vars(known).update({name: value for name, value in vars(error).items() if is_dunder(name) and name != "__notes__"})
    return known


def text_of(value: Any) -> str:
    try:
        return str(value)
    except Exception:
        return ""


def related(error: BaseException, name: str) -> BaseException | None:
    """Return the `__cause__` or `__context__` of an exception as a program may see it."""
    found: BaseException | None = getattr(error, name)
    while found is not None and as_known(found) is error:  # raised again, it has the original as its context
        found = found.__context__
    return None if found is None else as_known(found)


def is_plain(value: Any, depth: int = 0) -> bool:
    """Whether a program may have this value from an exception: data, or an object of its own."""
    kind = type(value)
    if kind in (tuple, list, dict, set, frozenset):
        items = (*value, *value.values()) if kind is dict else value
        return depth < DEEPEST and all(is_plain(item, depth + 1) for item in items)
    if isinstance(value, type):
        return is_own(value) or allowed.OF_CLASS.get(value) is not None or is_defined_in(value, allowed.OPEN_MODULES)
    if kind in CALLABLE:
        return False
    if is_own(kind) or kind in (ProgramFunction, TypeName) or issubclass(kind, Tensor):
        return True
    return allowed.OF_INSTANCES.get(kind) is not None or is_defined_in(kind, allowed.OPEN_MODULES)


def args_of(error: BaseException) -> tuple[Any, ...]:
    """Return the arguments that an exception was made with, also if its class has a property of that name."""
    args: tuple[Any, ...] = vars(BaseException)["args"].__get__(error)
    return args
