"""The module `traceback` of programs: the texts of exceptions, with the file and line that raised them."""

from __future__ import annotations

import builtins
import sys

from gradtrace.annotations import Any, Callable
from gradtrace.engine.data.state import state
from gradtrace.lang.builtins import Stream, Streams
from gradtrace.lang.exceptions import as_known, is_own
from gradtrace.lang.strings import Strings
from gradtrace.lang.words import Names

ORIGIN = "__origin__"  # the attribute of a caught exception: where it was raised


def find_names(streams: Streams, strings: Strings, where: Callable[[], tuple[str, int]]) -> Names:
    """Return the names of the module and their values, for one run."""

    def place_of(error: BaseException) -> str:
        origin = state.origin
        state.origin = vars(error).get(ORIGIN, origin)
        file, line = where()
        state.origin = origin
        return f'  File "{file}", line {line}\n'

    def format_exception_only(exc: Any, /, value: Any = None) -> list[str]:
        error = exception_of(exc, value)
        if error is None:
            return ["NoneType: None\n"]
        kind, text = type(error), strings.text_of(str, error)
        module = "" if is_own(kind) or kind in vars(builtins).values() else kind.__module__ + "."
        return [f"{module}{kind.__qualname__}{': ' if text else ''}{text}\n"]

    def format_exception(exc: Any, /, value: Any = None, tb: Any = None, **_: Any) -> list[str]:
        error = exception_of(exc, value)
        if error is None:
            return format_exception_only(None)
        return ["Traceback (most recent call last):\n", place_of(error), *format_exception_only(error)]

    def format_exc(*_: Any, **__: Any) -> str:
        current = sys.exc_info()[1]
        return "".join(format_exception(None if current is None else as_known(current)))

    def write(text: str, file: Any) -> None:
        if file is not None and type(file) is not Stream:
            raise TypeError("the file is sys.stdout or sys.stderr")
        (file or streams.stderr).write(text)

    def print_exc(limit: Any = None, file: Any = None, chain: bool = True) -> None:
        write(format_exc(), file)

    def print_exception(
        exc: Any, /, value: Any = None, tb: Any = None, limit: Any = None, file: Any = None, chain: bool = True
    ) -> None:
        write("".join(format_exception(exc, value)), file)

    return {
        "format_exc": format_exc,
        "format_exception": format_exception,
        "format_exception_only": format_exception_only,
        "print_exc": print_exc,
        "print_exception": print_exception,
    }


def exception_of(exc: Any, value: Any) -> BaseException | None:
    """Return the exception that a function got, alone or after its class."""
    found = exc if value is None else value
    if found is not None and not isinstance(found, BaseException):
        raise TypeError(f"Exception expected for value, {type(found).__name__} found")
    return found
