"""torch.utils, as far as it is about gradients."""

from importlib import import_module

from gradtrace.annotations import Any

__all__ = ["checkpoint", "data"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'torch.utils' has no attribute '{name}'")
    return import_module(f"gradtrace.utils.{name}")
