"""torch.optim: optimisers and `lr_scheduler`. A file is imported when one of its names is first used."""

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

__all__ = [*_HOMES, "lr_scheduler"]

__getattr__, __dir__ = attach(
    __name__, _HOMES, modules={"lr_scheduler": "gradtrace.optim.lr_scheduler"}, shown_as="torch.optim"
)
