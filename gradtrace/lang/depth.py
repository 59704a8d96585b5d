"""Python's own limit on nested calls, raised while a program is read or runs.

One call in a program is several of Python's. The limit stays so low that C code which recurses under it (repr of nested
lists, ast) does not leave the stack that a process has.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

PARSING = 4000
PER_CALL = 14  # Python's calls for one of the program's, on average
HIGHEST = 20_000


@contextmanager
def deep(calls: int = 0) -> Iterator[None]:
    """Room for `calls` nested calls of a program, or for parsing; what was in force comes back."""
    before = sys.getrecursionlimit()
    wanted = min(PARSING + calls * PER_CALL, HIGHEST)
    sys.setrecursionlimit(max(before, wanted))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
