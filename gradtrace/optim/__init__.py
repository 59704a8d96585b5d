"""torch.optim: optimisers and `lr_scheduler`. A file is imported when one of its names is first
used.
"""

from __future__ import annotations

from gradtrace.lazy_names import attach, homes

_HOMES = homes(
    __name__,
    {
        "optimizer": "Optimizer",
        "sgd": "SGD ASGD Rprop",
        "adam": "Adam AdamW Adamax NAdam RAdam",
        "adaptive": "Adadelta Adagrad RMSprop",
        "lbfgs": "LBFGS",
    },
)

_MODULES = {name: f"{__name__}.{name}" for name in ("lr_scheduler",)}

__all__ = [*_HOMES, *_MODULES]

__getattr__, __dir__ = attach(__name__, _HOMES, modules=_MODULES, shown_as="torch.optim")
