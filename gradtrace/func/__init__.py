"""torch.func's names: functions that take a function and give one that computes its derivatives.

https://pytorch.org/docs/stable/func.html. Forward-mode results (jvp, jacfwd) are computed in reverse mode, twice where
needed; the values are the same.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "transforms": ("functionalize", "grad", "grad_and_value", "jvp", "linearize", "value_and_grad", "vjp"),
    "jacobians": ("hessian", "jacfwd", "jacrev"),
    "batching": ("vmap",),
    "stateless": ("functional_call", "replace_all_batch_norm_modules_", "stack_module_state"),
    "shown": ("debug_unwrap",),
}
_home = {name: module for module, names in _HOMES.items() for name in names}

__all__ = list(_home)


def __getattr__(name: str) -> Any:
    if name not in _home:
        raise AttributeError(f"module 'torch.func' has no attribute '{name}'")
    value = getattr(import_module(f"gradtrace.func.{_home[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
