"""A SIGTERM that comes while a process of a distributed training records.

torchrun sends it to all processes when one has failed. By default a process ends at once then:
no `finally` runs, and what it has recorded is lost. While it records, SystemExit is raised instead.
"""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType
from typing import NoReturn

LAUNCHED = "LOCAL_RANK"  # in the environment of a process that torchrun started


class Termination:
    """Context manager that raises SystemExit at a SIGTERM, if the program does not handle it."""

    def __init__(self) -> None:
        self.is_handled = False

    def __enter__(self) -> None:
        self.is_handled = (
            LAUNCHED in os.environ
            and threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        )
        if self.is_handled:
            signal.signal(signal.SIGTERM, terminate)

    def __exit__(self, *error: object) -> None:
        is_main = threading.current_thread() is threading.main_thread()
        if self.is_handled and is_main and signal.getsignal(signal.SIGTERM) is terminate:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        self.is_handled = False


def terminate(number: int, frame: FrameType | None) -> NoReturn:
    signal.signal(number, signal.SIG_DFL)  # another one ends the process at once
    raise SystemExit(128 + number)
