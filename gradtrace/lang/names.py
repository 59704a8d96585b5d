"""Names that a program can use without binding them: built-ins, and torch's mathematics in expressions.

This module contains names only, so parsing imports no operator.
"""

from __future__ import annotations

from gradtrace.lang.builtins import NAMES
from gradtrace.program.names import CONSTANTS, MATHEMATICS, MODULES

__all__ = ["CONSTANTS", "MATHEMATICS", "MODULES", "is_known"]


def is_known(name: str) -> bool:
    """Whether an unbound name has a value."""
    return name in NAMES or name in MATHEMATICS or name in CONSTANTS or name in MODULES
