"""Wall time and the process's own limits while a program runs: what no counting of steps can hold.

A meter looks at its clock between steps, and one step may be a product of two huge matrices. So in a process of our
own (the command line, never the library) an alarm raises at the deadline as soon as Python code runs again; a thread
that waits beside it tells the error and ends the process if a call into native code has not come back by then; and the
limit on CPU time ends what does not even let threads run. RLIMIT_AS makes an allocation fail that the machine
could not bear, RLIMIT_FSIZE holds what is printed to a file, and no memory is dumped to one.
"""

from __future__ import annotations

import os
import sys
import time

from gradtrace.annotations import Any, Callable
from gradtrace.errors import BudgetError
from gradtrace.lang.budget import Meter
from gradtrace.limits import Budget

GRACE = 1.0  # seconds that a native call has beyond the deadline
AGAIN = 0.25  # seconds until the alarm raises once more: the first may have hit where every exception is dropped
LAST = 5  # seconds of CPU time per processor beyond all that
LONGEST = 10_000_000.0  # seconds; the system's timers take no infinity


class _State:
    """`end` tells an error and gives the exit code; None where the process is not ours."""

    __slots__ = ("end", "on")

    def __init__(self) -> None:
        self.end: Callable[[BudgetError], int] | None = None
        self.on = False


_state = _State()


def guard(end: Callable[[BudgetError], int]) -> None:
    """From now on every run of this process is watched; `end` tells the error of a run that cannot be ended alone."""
    _state.end = end


class watched:
    """While a program runs under `meter`; `place` says where it is. A run within a run is part of it."""

    def __init__(self, meter: Meter, place: Callable[[], Any]) -> None:
        self.meter = meter
        self.place = place
        self.lock: Any = None
        self.over = False

    def __enter__(self) -> None:
        threading = sys.modules.get("threading")
        elsewhere = threading is not None and threading.current_thread() is not threading.main_thread()
        if _state.end is None or _state.on or elsewhere or not hasattr(os, "fork"):
            return
        import _signal  # type: ignore[import-not-found]  # signal itself loads enum
        import _thread

        _state.on = True
        left = max(0.001, min(self.meter.deadline - time.monotonic(), LONGEST))
        self.before = _signal.signal(_signal.SIGALRM, self.alarm)
        _signal.setitimer(_signal.ITIMER_REAL, left, AGAIN)
        self.limits = _limit(self.meter.budget, left)
        self.lock = _thread.allocate_lock()
        self.lock.acquire()
        _thread.start_new_thread(self.wait, (left + GRACE, _state.end))

    def __exit__(self, *_: object) -> None:
        if self.lock is None:
            return
        self.over = True
        import _signal

        _signal.setitimer(_signal.ITIMER_REAL, 0)
        _signal.signal(_signal.SIGALRM, self.before)
        self.lock.release()
        self.place = nowhere  # the thread may take a moment to end, and must not keep the program's values alive
        _restore(self.limits)
        _state.on = False

    def alarm(self, *_: object) -> None:
        if not self.over:
            raise self.late()

    def late(self) -> BudgetError:
        error = self.meter.late()
        error.place = self.place()
        return error

    def wait(self, seconds: float, end: Callable[[BudgetError], int]) -> None:
        """Runs in a thread: returns when the run is over, and else ends the process."""
        if self.lock.acquire(timeout=seconds):
            return
        status = 1
        try:
            status = end(self.late())
        finally:
            os._exit(status)


def nowhere() -> None:
    """The place of a run that is over."""


def _limit(budget: Budget, seconds: float) -> list[tuple[int, tuple[int, int]]]:
    """Lowers the process's soft limits; returns those that were in force."""
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF)
    processors = os.cpu_count() or 1
    cpu = used.ru_utime + used.ru_stime + (seconds + GRACE + LAST) * processors
    wanted = ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_CPU, int(cpu) + 1),
              (resource.RLIMIT_AS, budget.process_bytes), (resource.RLIMIT_FSIZE, _printed(budget.output_bytes)))
    before = []
    for which, most in wanted:
        soft, hard = resource.getrlimit(which)
        highest = most if hard == resource.RLIM_INFINITY else min(most, hard)
        if soft == resource.RLIM_INFINITY or highest < soft:
            resource.setrlimit(which, (highest, hard))
            before.append((which, (soft, hard)))
    return before


def _printed(most: int) -> int:
    """The size that a file may reach which stdout or stderr goes to, in UTF-8 and with our own words about errors."""
    sizes = [0]
    for stream in (1, 2):
        try:
            sizes.append(os.fstat(stream).st_size)
        except OSError:  # closed
            continue
    return max(sizes) + 4 * most + 1_000_000


def _restore(limits: list[tuple[int, tuple[int, int]]]) -> None:
    import resource

    for which, both in limits:
        resource.setrlimit(which, both)
