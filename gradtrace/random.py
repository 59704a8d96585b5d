"""The public names of torch.random: the seed and the state of the default generator."""

from __future__ import annotations

from typing import Any

from gradtrace.engine.data.tensor import Tensor
from gradtrace.ops.random.generator import (
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)

__all__ = [
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
]


class fork_rng:
    """Context manager that restores the state of the default generator at its end, unless `enabled`
    is False.
    """

    def __init__(
        self, devices: Any = None, enabled: bool = True, device_type: str | None = None
    ) -> None:
        self._enabled = enabled
        self._before: list[Tensor] = []

    def __enter__(self) -> None:
        if self._enabled:
            self._before.append(get_rng_state())

    def __exit__(self, *ending: Any) -> None:
        if self._before:
            set_rng_state(self._before.pop())
