"""Room for nested calls while a program is read or runs: Python's own limit on them, and the stack of the process.

One call in a program is several of Python's, and some of these are calls in C, whose stack must not overflow: that is
no exception, it ends the process. On Linux the main thread's stack can be allowed to grow while it runs; where it
cannot, the limit stays lower, and deep recursion ends sooner in a RecursionError.
"""

from __future__ import annotations

import sys

PARSING = 4000
PER_CALL = 16  # Python's calls for one of the program's, on average
HIGHEST = 30_000
HIGHEST_ON_A_SMALL_STACK = 10_000
STACK = 120_000_000  # bytes; Linux keeps some 128 MB free for it


class deep:
    """Room for `calls` nested calls of a program, or for parsing; what was in force comes back."""

    def __init__(self, calls: int = 0) -> None:
        self.calls = calls

    def __enter__(self) -> None:
        self.before = sys.getrecursionlimit()
        self.stack = grow_stack() if self.calls else None
        highest = HIGHEST if self.stack is not None else HIGHEST_ON_A_SMALL_STACK
        sys.setrecursionlimit(max(self.before, min(PARSING + self.calls * PER_CALL, highest)))

    def __exit__(self, *_: object) -> None:
        sys.setrecursionlimit(self.before)
        if self.stack is not None:
            import resource

            resource.setrlimit(resource.RLIMIT_STACK, self.stack)


def grow_stack() -> tuple[int, int] | None:
    """Lets the main thread's stack grow; returns the limits that were in force, or None if that cannot be done here."""
    threading = sys.modules.get("threading")
    elsewhere = threading is not None and threading.current_thread() is not threading.main_thread()
    if elsewhere or not sys.platform.startswith("linux"):
        return None
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
    unlimited = resource.RLIM_INFINITY
    if hard != unlimited and hard < STACK:
        return None
    if soft != unlimited and soft < STACK:
        resource.setrlimit(resource.RLIMIT_STACK, (STACK, hard))
    return soft, hard
