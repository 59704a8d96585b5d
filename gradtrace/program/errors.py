"""The errors of a program: where an exception came from, and what to say about it."""

from __future__ import annotations

from gradtrace.annotations import Any
from gradtrace.errors import GradtraceError, LanguageError, ProgramError
from gradtrace.program.memory import is_out_of_memory, out_of_memory
from gradtrace.program.places import Places


class explained:
    """Context manager that converts a program's exceptions to GradtraceErrors with a place; suppresses exit(0)."""

    def __init__(self, places: Places) -> None:
        self.places = places

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, frames: Any) -> bool:
        if error is None or isinstance(error, KeyboardInterrupt):
            return False
        if isinstance(error, SystemExit):
            if not isinstance(error.code, (int, type(None))):
                error.code = text_of(error.code)
            return error.code in (None, 0)
        place = self.places.place(self.places.of_traceback(frames))
        if isinstance(error, GradtraceError):
            error.place = error.place or place
            return False
        if is_out_of_memory(error):
            late = out_of_memory()
            late.place = place
            raise late from None
        raise program_error(error, self.places, place) from error.with_traceback(None)


def program_error(error: BaseException, places: Places, place: Any) -> GradtraceError:
    """Return the GradtraceError for an uncaught exception of a program."""
    better = vars(error).get("__gradtrace__")
    if isinstance(better, LanguageError):
        better.place = better.place or place
        return better
    text, hint = text_of(error), ""
    if isinstance(error, (NameError, AttributeError, ImportError)):
        import traceback

        _, is_near, name = str(traceback.TracebackException.from_exception(error)).rpartition("Did you mean: ")
        hint = f"did you mean {name}" if is_near else ""
    name = type(error).__name__
    uncaught = ProgramError(f"{name}: {text}" if text else name, hint, place)
    origin = vars(error).get("__forward__", 0)
    if origin:
        uncaught.forward = places.place(origin)
    return uncaught


def text_of(value: Any) -> str:
    """Return str(value) of an exception or an exit code, which runs code of the program and may fail."""
    try:
        return str(value)
    except Exception:
        return "<exception str() failed>"
