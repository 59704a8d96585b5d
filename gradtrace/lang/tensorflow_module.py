"""`import tensorflow as tf`: the names of `gradtrace.static.tf1`, whose Session takes and gives what programs have.

What it runs to are numpy's arrays and scalars; a program gets them as Arrays, and feeds numbers, lists and Arrays.
"""

from __future__ import annotations

from gradtrace.annotations import Any
from gradtrace.lang.arrays import inside, outside
from gradtrace.lang.budget import Meter


def adapted(name: str, found: Any, meter: Meter) -> Any:
    """tf's name for a program whose budget is `meter`."""
    if name in ("Session", "InteractiveSession"):
        return session_of(found, name, meter)
    if name == "constant":
        return constant_of(found)
    return found


def session_of(kind: Any, name: str, meter: Meter) -> Any:
    """The Session of a program: what it runs counts as steps."""

    class Session(kind):
        take_steps = meter.take

        def run(self, fetches: Any, feed_dict: Any = None) -> Any:
            fed = {key: inside(value) for key, value in (feed_dict or {}).items()}
            return given(super().run(fetches, fed))

    Session.__module__, Session.__qualname__ = "tensorflow", name
    return Session


def constant_of(function: Any) -> Any:
    def constant(value: Any, *args: Any, **kwargs: Any) -> Any:
        return function(inside(value), *args, **kwargs)

    return constant


def given(value: Any) -> Any:
    """What a run gave, for a program."""
    if type(value) is dict:
        return {key: given(item) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(given, value))
    return outside(value)
