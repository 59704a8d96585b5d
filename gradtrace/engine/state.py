"""The modes that are in force, in one object that the engine and the language read.

`origin` is the number of the source span being evaluated (0: none); the engine copies it into every node and knows
nothing of text. `recorder`, when set, is called after every operator: `recorder(op_name, args, out, origin)`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any


class State:
    __slots__ = (
        "anomaly", "anomaly_check_nan", "depth", "grad_enabled", "inference", "origin", "recorder", "user_code",
    )

    def __init__(self) -> None:
        self.grad_enabled = True
        self.inference = False
        self.anomaly = False
        self.anomaly_check_nan = True
        self.origin = 0
        self.recorder: Callable[[str, tuple[Any, ...], Any, int], None] | None = None
        self.depth = 0
        self.user_code = False  # whether a backward pass may call a hook or a custom Function: then its order shows


state = State()

# Every node takes the next number; backward runs the ready node with the highest.
next_sequence_number = count().__next__
