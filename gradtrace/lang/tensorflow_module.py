"""Adapt the names of `gradtrace.static.tf1` for programs that `import tensorflow as tf`.

A Session takes numbers, lists and Arrays as feeds; its numpy results are converted to Arrays.
"""

from __future__ import annotations

from gradtrace.annotations import Any
from gradtrace.lang.arrays import from_numpy, to_numpy
from gradtrace.lang.budget import Meter


def adapt(name: str, value: Any, meter: Meter) -> Any:
    """Adapt the value of a TensorFlow name for a program that is charged by `meter`."""
    if name in ("Session", "InteractiveSession"):
        return make_session(value, name, meter)
    if name == "constant":
        return make_constant(value)
    return value


def make_session(kind: Any, name: str, meter: Meter) -> Any:
    """Return the Session class of a program, which charges its operations as steps."""

    class Session(kind):  # type: ignore[misc]
        take_steps = meter.count_steps

        def run(self, fetches: Any, feed_dict: Any = None) -> Any:
            fed = {key: to_numpy(value) for key, value in (feed_dict or {}).items()}
            return to_program(super().run(fetches, fed))

    Session.__module__, Session.__qualname__ = "tensorflow", name
    return Session


def make_constant(function: Any) -> Any:
    def constant(value: Any, *args: Any, **kwargs: Any) -> Any:
        return function(to_numpy(value), *args, **kwargs)

    return constant


def to_program(value: Any) -> Any:
    """Convert the results of a session for a program: ndarrays to Arrays."""
    if type(value) is dict:
        return {key: to_program(item) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(to_program, value))
    return from_numpy(value)
