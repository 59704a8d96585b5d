"""Report progress of long steps on stderr: on a terminal, a line that counts the seconds and then
disappears.

    with progress.shown("graph", "drawing 2,006 nodes"):
        ...

If stderr is not a terminal (a log), one line appears after ten seconds, and another one each
minute. A thread writes these lines; it ends with the step.
"""

from __future__ import annotations

import _thread
import sys
import time
from contextlib import suppress

from gradtrace.annotations import Any
from gradtrace.cli import output
from gradtrace.views.cells import visible

FIRST, AGAIN = 1.0, 0.2  # seconds, on a terminal
SILENT = 10.0  # seconds that a program which prints may be silent there
FIRST_IN_A_LOG = 10.0
AGAIN_IN_A_LOG = 60.0
CLEAR = "\r\x1b[K"


class shown:
    """Context manager for a step that may take long. It is also a stream that replaces stderr, so
    that a program's output does not mix with the progress line.
    """

    def __init__(
        self, command: str, task: str, patience: float | None = None, out: Any = None
    ) -> None:
        self._text = visible(f"gradtrace {command}: {task}".replace(" :", ":"))
        self._patience = FIRST if patience is None else patience
        self._out = out
        self._lock = _thread.allocate_lock()
        self._over = False
        self._drawn = False
        self._terminal = False

    def __enter__(self) -> shown:
        self._stream: Any = sys.stderr
        if self._stream is None:
            return self
        self._terminal = output.is_terminal(self._stream)
        self._start = self._heard = time.monotonic()
        if self._out is not None and not self._terminal:
            return self
        with suppress(RuntimeError):  # no more threads to be had: then without
            _thread.start_new_thread(self._tell, ())
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._over = True
            self._clear()

    def _tell(self) -> None:
        wait = self._patience if self._terminal else FIRST_IN_A_LOG
        while True:
            time.sleep(wait)
            with self._lock:
                if self._over:
                    return
                left = self._heard + self._patience - time.monotonic()
                if self._out is not None and left > 0:
                    wait = left
                    continue
                seconds = time.monotonic() - self._start
                line = f"{self._text}, {seconds:.0f} s"
                self._put(self._turning(seconds, line) if self._terminal else line + "\n")
                self._drawn = self._terminal
            wait = AGAIN if self._terminal else AGAIN_IN_A_LOG

    def _turning(self, seconds: float, line: str) -> str:
        from gradtrace.views import terminal

        return in_place(f"{terminal.spinner(seconds, output.look_of(self._stream))} {line}")

    def _clear(self) -> None:
        if self._drawn:
            self._put(CLEAR)
            self._drawn = False

    def _put(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            self._over = True  # nobody listens any more

    # ---- as a stream

    def write(self, text: str) -> int:
        with self._lock:
            self._clear()
            self._heard = time.monotonic()
            stream = self._stream if self._out is None else self._out
            return stream.write(text) if stream is not None else len(text)

    def flush(self) -> None:
        stream = self._stream if self._out is None else self._out
        if stream is not None:
            stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream if self._out is None else self._out, name)


def in_place(line: str) -> str:
    """Return what replaces the last line of a terminal by another."""
    return f"\r{line}\x1b[K"


def running(out: Any) -> shown:
    """Return a context for a program that prints to `out`; a terminal gets a line after ten silent
    seconds.
    """
    return shown("", "the program runs", SILENT, out)
