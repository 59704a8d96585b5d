"""All exceptions that gradtrace defines.

    GradtraceError                     exit code
    ├── UsageError                     2   a bad option, value or file given by the user
    ├── LanguageError                  2   the program cannot be run; has the place in its text
    │   ├── ParseError                 2   not valid syntax
    │   ├── UnsupportedError           2   valid Python that a plan cannot represent
    │   └── UnknownNameError           2   a name, attribute or module that does not exist here
    ├── ProgramError                   1   the program ran and raised; has a place, and the
                                       exception as __cause__
    ├── BudgetError                    1   a limit was reached; names the limit and its flag
    ├── RenderError                    1   a picture could not be drawn
    └── NotKeptError                   1   the record has a summary where every element is needed

The engine itself raises Python's RuntimeError, TypeError, ValueError and IndexError with PyTorch's
words, because programs catch those by name. This module imports nothing.
"""

from __future__ import annotations


class GradtraceError(Exception):
    """The base of all: `message` says in one line what went wrong, and `hint` what to do; the hint
    may be empty.

    `place` is None or an object with `.name`, `.line` (1-based), `.column` (1-based), `.text` (the
    source line) and `.width` (columns to underline).
    """

    exit_code = 1
    # For an error in backward, this is the place of the operation that was differentiated.
    forward: object | None = None
    missing = ""  # the module, or the name with its module, that gradtrace does not have
    is_of_library = False  # whether gradtrace raised it, and not the program's code
    run: object | None = None  # the run up to the error, if it was recorded

    def __init__(self, message: str, hint: str = "", place: object | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.place = place


class UsageError(GradtraceError):
    """A bad option, value or file given by the user."""

    exit_code = 2


class LanguageError(GradtraceError):
    """The text of a program cannot be run."""

    exit_code = 2


class ParseError(LanguageError):
    """The text is not valid Python syntax."""


class UnsupportedError(LanguageError):
    """A program that a plan cannot represent."""


class UnknownNameError(LanguageError):
    """A name, attribute or module that gradtrace does not have."""


class ProgramError(GradtraceError):
    """The program raised an exception that it did not catch; the exception is `__cause__`."""


class BudgetError(GradtraceError):
    """A limit of the run was reached."""


class RenderError(GradtraceError):
    """A picture could not be drawn."""


class NotKeptError(GradtraceError):
    """Every element of a tensor is needed, but the recorded run has only a summary of it."""

    @classmethod
    def of_meta(cls) -> NotKeptError:
        """Return the error for a tensor on the device 'meta'."""
        return cls("a tensor on the device 'meta' has no values", "make it on the CPU")
