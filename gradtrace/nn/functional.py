"""torch.nn.functional's names, from the operator families."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    from gradtrace import ops

    found = None if name.startswith("__") else ops.find(ops.api.functional, name)
    if found is None:
        raise AttributeError(f"module 'torch.nn.functional' has no attribute '{name}'")
    globals()[name] = found  # the next time Python finds it without asking here
    return found


def __dir__() -> list[str]:
    from gradtrace import ops

    ops.load()
    return sorted(ops.api.functional)
