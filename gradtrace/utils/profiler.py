"""torch.profiler: the names that scripts wrap their steps in. Nothing is measured."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

__all__ = [
    "ProfilerAction",
    "ProfilerActivity",
    "profile",
    "record_function",
    "schedule",
    "tensorboard_trace_handler",
]


class ProfilerActivity(Enum):
    """What a profiler observes."""

    CPU = 0
    CUDA = 2


class ProfilerAction(Enum):
    """What a profiler does in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


class EventTable(list[Any]):
    """The measured events: none."""

    def table(self, *args: Any, **options: Any) -> str:
        """Return the events as a table."""
        return (
            "gradtrace measures no times of operators: run with --engine torch, or use "
            "torch.utils.benchmark"
        )


class profile:
    """A context manager that measures nothing."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self.step_num = 0

    def __enter__(self) -> profile:
        return self

    def __exit__(self, *error: object) -> None:
        """Do nothing."""

    def start(self) -> None:
        """Do nothing."""

    def stop(self) -> None:
        """Do nothing."""

    def step(self) -> None:
        """Count a step."""
        self.step_num += 1

    def key_averages(self, *args: Any, **options: Any) -> EventTable:
        """Return an empty table."""
        return EventTable()

    def events(self) -> EventTable:
        """Return an empty table."""
        return EventTable()

    def export_chrome_trace(self, path: str) -> None:
        """Do nothing."""


class record_function:
    """A context manager and decorator that labels a part of a program for a profiler."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name

    def __enter__(self) -> record_function:
        return self

    def __exit__(self, *error: object) -> None:
        """Do nothing."""

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return function


def schedule(**options: int) -> Callable[[int], ProfilerAction]:
    """Return a schedule: a function that maps each step to ProfilerAction.NONE."""
    return lambda step: ProfilerAction.NONE


def tensorboard_trace_handler(dir_name: str, *args: Any, **options: Any) -> Callable[[Any], None]:
    """Return a function that does nothing."""
    return lambda profiler: None
