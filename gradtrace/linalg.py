"""torch.linalg's names."""

from __future__ import annotations

from gradtrace.annotations import Any


def __getattr__(name: str) -> Any:
    from gradtrace import ops

    found = None if name.startswith("__") else ops.find(ops.api.linalg, name)
    if found is None:
        raise AttributeError(f"module 'torch.linalg' has no attribute '{name}'")
    return found


def __dir__() -> list[str]:
    from gradtrace import ops

    ops.load()
    return sorted(ops.api.linalg)
