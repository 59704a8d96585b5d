"""Limits on wall time and on the process while a program runs.

In the command line's process (never in the library) a timer signal raises at the deadline as soon
as Python code runs again, and a waiting thread reports the error and ends the process if a call
into native code has not returned by then. Where no Python thread can run, the parent process ends
this one (`cli/broker.py`). RLIMIT_DATA, set to the memory limit or to a share of the machine's
memory if that is smaller, makes the system refuse larger allocations. The timer also checks the
memory and stops the program earlier, because many small values would leave Python no room to raise
an exception. RLIMIT_AS bounds the whole process, RLIMIT_FSIZE the written files, and core dumps are
disabled. On a system without these (Windows) the thread alone watches the time.
"""

from __future__ import annotations

import os
import sys
import time

from gradtrace.annotations import Any, Callable
from gradtrace.errors import BudgetError
from gradtrace.limits import Budget, machine_memory
from gradtrace.program.budget import Clock, memory_limit, out_of_memory
from gradtrace.program.depth import in_main_thread

GRACE = 0.1  # seconds after the deadline for a native call to return
UNWINDING = 0.1  # further seconds in which an error that the alarm has raised leaves the program
PATIENCE = 10.0  # the same for a run that is only tried: its end must not be that of the process
FIRST = 0.01  # seconds until the first alarm; a shorter run skips the rest of the setup
TICK = 0.05  # seconds between two alarms
AGAIN = 0.25  # seconds until the alarm raises again, in case the first exception was swallowed
LAST = 3  # further seconds of CPU time per processor
# bytes in addition to a program's values, for numpy and other modules imported while it runs
ROOM = 96_000_000
LATE = 160_000_000  # bytes between the alarm's limit and the system's
ROOM_FOR_A_THREAD = 48_000_000  # stack and buffer of each OpenBLAS thread
SHARE = 0.85  # fraction of the memory of the machine or container
LONGEST = 10_000_000.0  # seconds; the system's timers do not accept infinity


class _state:
    """`end` reports an error to `stderr` and returns the exit code; None in a process that is not
    the command line's. `grace` is how many seconds after its deadline a run may last.
    """

    end: Callable[[BudgetError], int] | None = None
    stderr = sys.stderr
    grace = GRACE
    on = False


def guard(end: Callable[[BudgetError], int]) -> None:
    """Watch all later runs of this process; `end` reports a run's error when the whole process must
    be ended.
    """
    _state.end = end
    _state.stderr = sys.stderr


class patient:
    """Context manager for runs that are only tried: at their deadline they raise, and the process
    goes on.
    """

    def __enter__(self) -> None:
        _state.grace = PATIENCE

    def __exit__(self, *_: object) -> None:
        _state.grace = GRACE


class watched:
    """Context manager that watches a run; `place` returns its current place. A nested run is part
    of the outer one.
    """

    def __init__(self, clock: Clock, place: Callable[[], Any]) -> None:
        self.clock = clock
        self.place = place
        self.lock: Any = None
        self.memory: Any = None
        self.error: BudgetError | None = None  # that the alarm has raised
        self.limits: list[tuple[int, tuple[int, int]]] = []
        self.raised = 0.0
        self.on = self.over = self.starting = self.ending = False

    def __enter__(self) -> None:
        if _state.end is None or _state.on or not in_main_thread():
            return
        if not hasattr(os, "fork"):
            self.watch_from_thread()
            return
        # Modules that the alarm needs are imported here: if a signal interrupts an import and its
        # handler imports too, Python 3.11 fails in the first import with a KeyError of the thread's
        # number.
        import _signal  # type: ignore[import-not-found]  # signal itself loads enum
        import _thread  # noqa: F401
        import resource  # noqa: F401

        self.memory = _Memory(self.clock.budget)  # before the first alarm, which reads it
        self.before = _signal.signal(_signal.SIGALRM, self.alarm)
        _state.on = self.on = True
        try:
            left = max(0.001, min(self.clock.deadline - time.monotonic(), LONGEST))
            _signal.setitimer(_signal.ITIMER_REAL, min(left, FIRST), TICK)
            self.limits = _limit(self.clock.budget, left, self.memory)
            if "numpy" in sys.modules:  # the first call of the run may take long
                self.start()
        except BaseException:  # an alarm has raised before the run has begun
            self.__exit__(BudgetError)
            raise

    def watch_from_thread(self) -> None:
        """Watch the time alone, on a system without timer signals and limits of the process."""
        # a browser: it has no threads either, and ends a page that takes too long
        if sys.platform == "emscripten":
            return
        _state.on = self.on = True
        self.start_thread(max(0.001, min(self.clock.deadline - time.monotonic(), LONGEST)))

    def start(self) -> None:
        """Start the parts that only a longer run needs: a watching thread, and the check of the
        machine's memory.
        """
        left = max(0.001, min(self.clock.deadline - time.monotonic(), LONGEST))
        self.start_thread(left)
        self.memory.lower_to_machine()
        _widen(left)

    def start_thread(self, seconds: float) -> None:
        import _thread

        self.lock = _thread.allocate_lock()
        self.lock.acquire()
        _thread.start_new_thread(self.wait, (min(seconds + _state.grace, _thread.TIMEOUT_MAX),))

    def __exit__(self, kind: Any, *_: object) -> None:
        if not self.on:
            return
        self.over = True
        if self.memory is not None:
            import _signal

            _signal.setitimer(_signal.ITIMER_REAL, 0)
            _signal.signal(_signal.SIGALRM, self.before)
        # the thread may end later and must not keep the program's values alive
        self.place = nowhere
        if self.lock is not None:
            self.lock.release()
        # The thread reports the error and ends the process: one report is enough.
        while self.ending:
            time.sleep(TICK)
        if self.memory is not None:
            _restore(self.limits)
            self.memory.close()
        _state.on = False
        if self.error is not None and kind is None:  # the program has caught it, and ended
            raise self.error

    def alarm(self, signal: int, frame: Any) -> None:
        """Raise if the deadline or the memory limit is reached, repeatedly until the run ends."""
        now = time.monotonic()
        inside = frame is not None and frame.f_globals.get("__name__") == __name__
        if self.over or self.starting or inside or now < self.raised + AGAIN:
            return
        if self.lock is None:
            self.starting = True  # the next alarm must not interrupt this one
            self.start()
            self.starting = False
        if now > self.clock.deadline:
            self.raised = now
            raise self.placed(self.clock.deadline_error())
        if self.memory.is_full():
            self.raised = now
            raise self.placed(out_of_memory())

    def placed(self, error: BudgetError) -> BudgetError:
        self.error = error
        error.place = self.place()
        return error

    def wait(self, seconds: float) -> None:
        """Wait in a thread for the end of the run; end the process if the run is still going after
        `seconds`.
        """
        if self.lock.acquire(timeout=seconds) or (
            self.raised and self.lock.acquire(timeout=UNWINDING)
        ):
            return
        self.ending = True
        if self.lock.acquire(False):  # the run has just left
            self.ending = False
            return
        status = 1
        try:
            sys.stderr = _state.stderr  # the run may have another one, which nobody reads
            if _state.end is not None:
                status = _state.end(self.placed(self.clock.deadline_error()))
        finally:
            os._exit(status)


def nowhere() -> None:
    """Return None, the place of a run that has ended."""


class _Memory:
    """The memory that the process uses and may use; sets `memory_limit` to the limit in force."""

    def __init__(self, budget: Budget) -> None:
        try:
            self.file = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:  # not Linux: data cannot be distinguished from other memory
            self.file = -1
        self.page = os.sysconf("SC_PAGE_SIZE")
        whole, data = self.used()
        threads = 0 if "numpy" in sys.modules else ROOM_FOR_A_THREAD * (os.cpu_count() or 1)
        # leaves room to report an error
        self.process = max(budget.process_bytes, whole + threads + ROOM + LATE)
        self.most = data + threads + ROOM + budget.memory_bytes
        memory_limit.field = (
            "memory_bytes" if self.most - data < self.process - whole and data else "process_bytes"
        )
        self.least = data + threads + ROOM

    def lower_to_machine(self) -> None:
        """Lower the memory limit to a share of the machine's memory if that is smaller."""
        machine = machine_memory(SHARE, self.process)
        if not self.least < machine < min(self.most, self.process) or self.file < 0:
            return
        import resource

        memory_limit.field = ""
        self.most = machine
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        if soft == resource.RLIM_INFINITY or machine + LATE < soft:
            resource.setrlimit(resource.RLIMIT_DATA, (machine + LATE, hard))

    def used(self) -> tuple[int, int]:
        """Return the process's address space and data, in bytes."""
        if self.file < 0:
            return 0, 0
        pages = os.pread(self.file, 200, 0).split()
        return int(pages[0]) * self.page, int(pages[5]) * self.page

    def is_full(self) -> bool:
        whole, data = self.used()
        return data > self.most or whole > self.process - LATE // 2

    def close(self) -> None:
        if self.file >= 0:
            os.close(self.file)
            self.file = -1


def _limit(budget: Budget, seconds: float, memory: _Memory) -> list[tuple[int, tuple[int, int]]]:
    """Lower the soft limits of the process and return the old limits."""
    import resource

    wanted = [
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, _cpu(seconds, 1)),
        (resource.RLIMIT_FSIZE, _written(budget.output_bytes)),
        (resource.RLIMIT_AS, memory.process),
    ]
    if memory.file >= 0:
        wanted.append((resource.RLIMIT_DATA, memory.most + LATE))
    before = []
    for which, most in wanted:
        soft, hard = resource.getrlimit(which)
        highest = most if hard == resource.RLIM_INFINITY else min(most, hard)
        if soft == resource.RLIM_INFINITY or highest < soft:
            resource.setrlimit(which, (highest, hard))
            before.append((which, (soft, hard)))
    return before


def _cpu(seconds: float, processors: int) -> int:
    """Return the limit on the CPU time of the process, in seconds."""
    import resource

    usage = resource.getrusage(resource.RUSAGE_SELF)
    return int(usage.ru_utime + usage.ru_stime + (seconds + _state.grace + LAST) * processors) + 1


def _widen(seconds: float) -> None:
    """Raise the limit on CPU time for numpy's threads, if this module has set it."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
    most = _cpu(seconds, os.cpu_count() or 1)
    if soft not in (resource.RLIM_INFINITY, hard):
        resource.setrlimit(
            resource.RLIMIT_CPU, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard)
        )


def _written(most: int) -> int:
    """Return the limit on the size of a file; it includes room for stdout and stderr with error
    messages, in UTF-8.
    """
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
