"""Random programs of steps whose cost grows: each must end by the time limit, and within the memory limit.

A program takes a few operations on texts, lists, numbers and nested values of random sizes, in a loop or in a `map`. It
runs in a fork that is the command line, so its clock and its limits are those of a user. CPU time is measured, not
wall time, as other processes may be running.
"""

from __future__ import annotations

import gc
import io
import os
import resource
import signal
import sys
from pathlib import Path
from random import Random

SECONDS = 0.5  # --max-seconds
LATER = 0.3  # seconds after the limit in which a program ends
MEMORY = 1_000_000_000  # --max-memory
FIXED = 150_000_000  # bytes in addition to a tenth of it: modules that a program imports, a tick of the clock
START = """import math, itertools, functools, operator, collections, re, json, copy, random, statistics
import bisect, heapq, dataclasses, pprint, string, textwrap
@dataclasses.dataclass
class D:
    a: object
    b: object = None
P = collections.namedtuple('P', 'a b')
"""
# Values are cut before they reach the limit of memory, so that programs go on until that of time.
SMALLER = """    if len(s) > 2 * 10**7: s = s[:1000]
    if len(l) > 10**7: l = l[:1000]
    if len(t) > 10**7: t = t[:1000]
    if k.bit_length() > 10**7: k = 3 ** 99
"""
# Each line: the variable that gets the value (-: none), and an expression or statement with the sizes n and m.
LINES = (Path(__file__).parent / "budget_operations.txt").read_text().splitlines()
OPERATIONS = {kind: [line[2:] for line in LINES if line[0] == kind] for kind in "slkvtde-"}


def make(rng: Random) -> str:
    """Return a program of growing steps."""

    def size(most: float, least: float = 0.0) -> int:
        return int(10 ** rng.uniform(least, most))

    def operation() -> str:
        kind = rng.choice("sssllllkkvvtde") if rng.random() < 0.7 else "-"
        text = rng.choice(OPERATIONS[kind]).format(n=size(7), m=size(4))
        line = text if kind == "-" else f"{kind} = {text}"
        if rng.random() < 0.2 and kind not in "-v":
            line = f"{kind} = {rng.choice((f'{kind} if i % 2 else ({text})', f'({text}) or {kind}'))}"
        return f"try: {line}\n    except Exception as error: x = error"

    first = (
        f"s = {rng.choice(('a', 'ab', 'a b', 'é'))!r} * {size(7, 2)}",
        f"l = [{rng.choice(('1.5', '1', 's', '[1]'))}] * {size(6, 2)}",
        f"k = {rng.choice(('3', '2 ** 64 - 1', '10 ** 300'))} ** {size(3)}",
        f"v = {rng.choice(('[]', '()', '[1]', 's', '[s]'))}",
        f"t = tuple(range({size(6, 2)}))",
        f"d = dict.fromkeys(range({size(5, 2)}), s)",
        f"e = set(range({size(6, 2)}))",
        f"l_s = [s[1:] + 'a' for i in range({size(2)})]",
        f"l_k = [k + i for i in range({size(2)})]",
    )
    body = "".join(f"    {operation()}\n" for _ in range(rng.randint(1, 5))) + SMALLER
    return START + "\n".join(first) + f"\nfor i in range({rng.choice((3, 30, 10**9, 10**9))}):\n{body}"


def run(text: str) -> None:
    """Run a program as the command line does; raise AssertionError if it ends late, has too much memory, or crashes."""
    import gradtrace.cli.main  # noqa: F401  # in the parent process, so that the fork need not
    from gradtrace.lang import figures, python_modules, run  # noqa: F401

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        command_line(text, writing)
    os.close(writing)
    try:
        with os.fdopen(reading, "rb") as file:
            said = file.read().decode("utf-8", "replace")[-2000:]
    except BaseException:
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        _, status, used = os.wait4(child, 0)
    seconds = used.ru_utime + used.ru_stime
    assert os.WIFEXITED(status) and os.WEXITSTATUS(status) in (0, 1, 2), f"the process ended with {status}: {said}"
    assert "Traceback" not in said, said
    assert seconds < SECONDS + LATER, f"it took {seconds:.2f} s of {SECONDS}: {said}"
    more = used.ru_maxrss * 1024 - before
    assert more < 1.1 * MEMORY + FIXED, f"it took {more / 1e6:.0f} MB of {MEMORY / 1e6:.0f}: {said}"


def command_line(text: str, writing: int) -> None:
    """Run the program in this process, which ends; its stderr goes to a pipe."""
    try:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        os.dup2(os.open(os.devnull, os.O_RDWR), 1)
        os.dup2(writing, 2)
        sys.stdin = io.TextIOWrapper(io.BytesIO(text.encode()), "utf-8")
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        from gradtrace.cli.main import GC_THRESHOLDS, run

        gc.set_threshold(*GC_THRESHOLDS)
        limits = (f"--max-seconds={SECONDS}", f"--max-memory={MEMORY}", "--max-output=1000000")
        code = run(["run", "-", *limits])
        sys.stderr.flush()
        os._exit(code or 0)
    except SystemExit as end:
        sys.stderr.flush()
        os._exit(end.code if isinstance(end.code, int) else 0)
    finally:
        os._exit(99)
