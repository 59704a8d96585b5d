"""torch.optim's names: optimisers and `lr_scheduler`. A file loads when one of its names is first used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "optimizer": ("Optimizer",),
    "sgd": ("SGD", "ASGD", "Rprop"),
    "adam": ("Adam", "AdamW", "Adamax", "NAdam", "RAdam"),
    "adaptive": ("Adadelta", "Adagrad", "RMSprop"),
    "lbfgs": ("LBFGS",),
}
_home = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [*_home, "lr_scheduler"]


def __getattr__(name: str) -> Any:
    if name == "lr_scheduler":
        return import_module("gradtrace.optim.lr_scheduler")
    if name not in _home:
        raise AttributeError(f"module 'torch.optim' has no attribute '{name}'")
    value = getattr(import_module(f"gradtrace.optim.{_home[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
