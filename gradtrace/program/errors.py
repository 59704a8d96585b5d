"""The errors of a program: where an exception came from, and what to say about it."""

from __future__ import annotations

import errno

from gradtrace.annotations import Any
from gradtrace.engine.data.tensor import Tensor
from gradtrace.errors import GradtraceError, LanguageError, ProgramError, UnknownNameError
from gradtrace.program.budget import is_out_of_memory, out_of_memory
from gradtrace.program.names import similar
from gradtrace.program.parse import Program
from gradtrace.program.places import ProgramPlaces
from gradtrace.program.result import assigned_names

PACKAGE = __file__.rpartition("program")[0]
REFUSED = (
    "--allow-read PATH and --allow-write DIR grant files; a program has no network and "
    "starts no other programs"
)
FOLDER = "--allow-import DIR names the folder of your own modules; other packages must be installed"
# bytes that are freed for the report of an error that came from a lack of memory
RESERVE = 4_000_000


class explained:
    """Context manager that converts a program's exceptions to GradtraceErrors with a place;
    suppresses exit(0).
    """

    def __init__(self, program: Program, places: ProgramPlaces) -> None:
        self.program = program
        self.places = places
        self.reserve = bytearray(RESERVE)

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, frames: Any) -> bool:
        self.reserve = bytearray()
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
        uncaught = self.described(error, frames)
        uncaught.place = uncaught.place or place
        raise uncaught from error.with_traceback(None)

    def described(self, error: BaseException, frames: Any) -> GradtraceError:
        """Return the GradtraceError for an uncaught exception of the program."""
        better = vars(error).get("__gradtrace__")
        if isinstance(better, LanguageError):
            return better
        from gradtrace.program.modules import missing_from_torch

        name = type(error).__name__
        text = text_of(error)
        missing = missing_from_torch(error)
        kind = UnknownNameError if missing else ProgramError
        uncaught = kind(f"{name}: {text}" if text else name, self.hint(error, frames))
        uncaught.missing = missing
        uncaught.is_of_library = innermost(frames).f_code.co_filename.startswith(PACKAGE)
        origin = vars(error).get("__forward__", 0)
        if origin:
            uncaught.forward = self.places.place(origin)
        return uncaught

    def hint(self, error: BaseException, frames: Any) -> str:
        """Return what to do about an exception; "" where nothing is known."""
        from gradtrace.program import torch_homes
        from gradtrace.program.modules import TorchModule, missing_from_torch

        if isinstance(error, OSError) and error.errno in (errno.EACCES, errno.EPERM):
            return REFUSED
        name = getattr(error, "name", None)
        if not isinstance(error, (NameError, AttributeError, ModuleNotFoundError)) or not name:
            return ""
        package, dot, last = name.rpartition(".")
        if isinstance(error, AttributeError) and isinstance(error.obj, (Tensor, TorchModule)):
            meant = torch_homes.of_attribute(error.obj, name)
            missing = missing_from_torch(error)
            if meant or (missing and torch_homes.pytorch_has(missing)):
                return meant
        if close := similar(last, known_names(error, frames, package)):
            return f"did you mean '{package}{dot}{close}'?"
        if isinstance(error, ModuleNotFoundError):
            return "" if missing_from_torch(error) else FOLDER
        if isinstance(error, NameError) and name in assigned_names(self.program.tree.body):
            return "it gets its value further down; assign it before it is used"
        if isinstance(error, NameError) and any(i.name == name for i in self.program.inputs):
            return f"assign it before it is used, or give it a value: --{name} VALUE"
        return ""


def known_names(error: Exception, frames: Any, package: str) -> list[str]:
    """Return the names that could have been meant: variables where the error was raised, an
    object's attributes, or the modules in a package of torch.
    """
    if isinstance(error, ModuleNotFoundError):
        from gradtrace.program.modules import MODULES

        return sorted(
            last
            for outer, _, last in (module.rpartition(".") for module in MODULES)
            if outer == package
        )
    if isinstance(error, AttributeError):
        return [name for name in dir(error.obj) if not name.startswith("_")]
    frame = innermost(frames)
    return [*frame.f_locals, *frame.f_globals, *frame.f_builtins]


def innermost(frames: Any) -> Any:
    """Return the frame in which an exception was raised."""
    while frames.tb_next is not None:
        frames = frames.tb_next
    return frames.tb_frame


def text_of(value: Any) -> str:
    """Return str(value) of an exception or an exit code, which runs code of the program and may
    fail.
    """
    try:
        return str(value)
    except Exception:
        return "<exception str() failed>"
