"""The layers of torch.nn, a file for each family; `torch.nn` gives them their public names."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    from gradtrace import nn

    if name.startswith("__") or name not in nn.home:
        raise AttributeError(f"module 'torch.nn.modules' has no attribute '{name}'")
    return getattr(nn, name)
