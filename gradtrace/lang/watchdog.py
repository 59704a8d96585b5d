"""Wall time and the process's own limits while a program runs: what no counting of steps can hold.

A meter looks at its clock between steps, and one step may be a product of two huge matrices. So in a process of our
own (the command line, never the library) an alarm that ticks raises at the deadline as soon as Python code runs
again; a thread that waits beside it tells the error and ends the process if a call into native code has not come
back by then; and a thread of Python's own, in C, ends what does not even let threads run. RLIMIT_DATA counts the
values of a program, all of them and whoever made them: what goes beyond is refused by the system before it is
allocated, and so is what the machine could not bear. The alarm looks at it too: small values would use up what
Python itself needs for an exception, so it ends these a little sooner than the system would. RLIMIT_AS holds the
process as a whole, RLIMIT_FSIZE what is written, and no memory is dumped to a file.
"""

from __future__ import annotations

import os
import sys
import time

from gradtrace.annotations import Any, Callable
from gradtrace.errors import BudgetError
from gradtrace.lang import wall
from gradtrace.lang.budget import Meter, memory_limit, out_of_memory
from gradtrace.limits import Budget

GRACE = 1.0  # seconds that a native call has beyond the deadline
FIRST = 0.01  # seconds until the alarm looks for the first time; a run that is over by then pays for nothing else
TICK = 0.05  # seconds between two looks of the alarm
AGAIN = 0.25  # seconds until the alarm raises once more: the first may have hit where every exception is dropped
HUNG = 2.0  # seconds beyond that which not even threads can use: the process ends without a word
LAST = 3  # seconds of CPU time per processor beyond all that
ROOM = 96_000_000  # bytes beside a program's values: numpy and modules of ours that are loaded while it runs
LATE = 160_000_000  # bytes between what the alarm lets be used and what the system gives
ROOM_FOR_A_THREAD = 48_000_000  # a stack and a buffer, for each of OpenBLAS's
WALLS = (__name__, wall.__name__)  # the modules that an alarm must not interrupt
SHARE = 0.85  # of the machine's memory, or the container's
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
        self.on = self.over = self.starting = False

    def __enter__(self) -> None:
        threading = sys.modules.get("threading")
        elsewhere = threading is not None and threading.current_thread() is not threading.main_thread()
        if _state.end is None or _state.on or elsewhere or not hasattr(os, "fork"):
            return
        # All that the alarm needs is loaded here: where a signal interrupts an import and imports something itself,
        # Python 3.11 ends the first import with "KeyError: the thread's number".
        import _signal  # type: ignore[import-not-found]  # signal itself loads enum
        import _thread  # noqa: F401
        import faulthandler  # noqa: F401
        import resource  # noqa: F401

        _state.on = self.on = True
        left = max(0.001, min(self.meter.deadline - time.monotonic(), LONGEST))
        self.raised = 0.0
        self.memory = _Memory(self.meter.budget)  # before the first tick, which looks at it
        self.before = _signal.signal(_signal.SIGALRM, self.alarm)
        _signal.setitimer(_signal.ITIMER_REAL, min(left, FIRST), TICK)
        self.limits = _limit(self.meter.budget, left, self.memory)
        if "numpy" in sys.modules:  # a long call may be the first thing that the run does
            self.start()

    def start(self) -> None:
        """What only a run needs that takes its time: the threads, and a look at the machine."""
        left = max(0.001, min(self.meter.deadline - time.monotonic(), LONGEST))
        import _thread
        import faulthandler

        self.lock = _thread.allocate_lock()
        self.lock.acquire()
        _thread.start_new_thread(self.wait, (left + GRACE,))
        self.nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        faulthandler.dump_traceback_later(left + GRACE + HUNG, file=self.nowhere, exit=True)
        self.memory.fit()
        _widen(left)

    def __exit__(self, *_: object) -> None:
        if not self.on:
            return
        self.over = True
        import _signal

        _signal.setitimer(_signal.ITIMER_REAL, 0)
        _signal.signal(_signal.SIGALRM, self.before)
        self.place = nowhere  # the thread may take a moment to end, and must not keep the program's values alive
        if self.lock is not None:
            self.lock.release()
            import faulthandler

            faulthandler.cancel_dump_traceback_later()
            os.close(self.nowhere)
        _restore(self.limits)
        self.memory.close()
        _state.on = False

    def alarm(self, signal: int, frame: Any) -> None:
        """Raises at the deadline and beyond the share of memory; anew while nobody has let it pass.

        Not in the midst of what puts the walls up and takes them down: half of that would be left. The next tick will.
        """
        now = time.monotonic()
        inside = frame is not None and frame.f_globals.get("__name__") in WALLS
        if self.over or self.starting or inside or now < self.raised + AGAIN:
            return
        if self.lock is None:
            self.starting = True  # the next tick must not raise the wall while this one still works behind it
            with wall.lowered():
                self.start()
            self.starting = False
        if now > self.meter.deadline:
            self.raised = now
            raise self.deadline_error()
        if self.memory.is_full():
            self.raised = now
            raise self.full()

    def full(self) -> BudgetError:
        error = out_of_memory()
        error.place = self.place()
        return error

    def deadline_error(self) -> BudgetError:
        error = self.meter.deadline_error()
        error.place = self.place()
        return error

    def wait(self, seconds: float) -> None:
        """Runs in a thread: returns when the run is over, and else ends the process."""
        if self.lock.acquire(timeout=seconds):
            return
        status = 1
        try:
            wall.lower()
            if _state.end is not None:
                status = _state.end(self.deadline_error())
        finally:
            os._exit(status)


def nowhere() -> None:
    """The place of a run that is over."""


class _Memory:
    """What the process uses and may use; `scarce` says which limit it is that holds it."""

    def __init__(self, budget: Budget) -> None:
        try:
            self.file = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:  # not Linux: what holds data cannot be told from the rest
            self.file = -1
        self.page = os.sysconf("SC_PAGE_SIZE")
        whole, data = self.used()
        threads = 0 if "numpy" in sys.modules else ROOM_FOR_A_THREAD * (os.cpu_count() or 1)
        self.process = max(budget.process_bytes, whole + threads + ROOM + LATE)  # an error must find room to be told
        self.most = data + threads + ROOM + budget.memory_bytes
        memory_limit.field = "memory_bytes" if self.most - data < self.process - whole and data else "process_bytes"
        self.least = data + threads + ROOM

    def fit(self) -> None:
        """Keeps within what the machine has, where that is less."""
        machine = _machine()
        if not self.least < machine < min(self.most, self.process) or self.file < 0:
            return
        import resource

        memory_limit.field, self.most = "", machine
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        if soft == resource.RLIM_INFINITY or machine + LATE < soft:
            resource.setrlimit(resource.RLIMIT_DATA, (machine + LATE, hard))

    def used(self) -> tuple[int, int]:
        """Bytes of address space, and those of them that hold data."""
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
    """Lowers the process's soft limits; returns those that were in force."""
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
    """Seconds of CPU time that the process may reach."""
    import resource

    usage = resource.getrusage(resource.RUSAGE_SELF)
    return int(usage.ru_utime + usage.ru_stime + (seconds + GRACE + LAST) * processors) + 1


def _widen(seconds: float) -> None:
    """Gives the threads of numpy their time too, unless the limit is another's."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
    most = _cpu(seconds, os.cpu_count() or 1)
    if soft not in (resource.RLIM_INFINITY, hard):
        resource.setrlimit(resource.RLIMIT_CPU, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _machine() -> int:
    """Bytes of memory that there are for this process to use: the machine's, or its container's."""
    sizes = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for name in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            with open(name, "rb") as file:
                sizes.append(int(file.read()))
        except (OSError, ValueError):  # not there, or "max"
            continue
    return int(min(sizes) * SHARE)


def _written(most: int) -> int:
    """The size that a file may reach, stdout's and stderr's too, in UTF-8 and with our own words about errors."""
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
