"""The recursion limit and stack size while a program is parsed or run.

One call in a program takes several Python calls, some of them in C. If the C stack overflows, the
process ends without an exception. On Linux the main thread's stack limit can be raised at run time;
elsewhere the recursion limit stays lower, and deep recursion raises RecursionError sooner.
"""

from __future__ import annotations

import sys

PARSING = 4000
PER_CALL = 16  # average number of Python calls for one call of a program
HIGHEST = 30_000
HIGHEST_ON_A_SMALL_STACK = 10_000
STACK = 120_000_000  # bytes; Linux reserves about 128 MB for it


class deep:
    """Context manager that raises the limits to allow `calls` nested calls of a program (0: for
    parsing).
    """

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


def in_main_thread() -> bool:
    threading = sys.modules.get("threading")
    return threading is None or threading.current_thread() is threading.main_thread()


def grow_stack() -> tuple[int, int] | None:
    """Raise the stack limit of the main thread; return the old limits, or None if it cannot be
    raised here.
    """
    if not in_main_thread() or not sys.platform.startswith("linux"):
        return None
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
    unlimited = resource.RLIM_INFINITY
    if hard != unlimited and hard < STACK:
        return None
    if soft != unlimited and soft < STACK:
        resource.setrlimit(resource.RLIMIT_STACK, (STACK, hard))
    return soft, hard
