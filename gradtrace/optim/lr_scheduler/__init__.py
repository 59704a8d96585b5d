"""torch.optim.lr_scheduler: schedules of the learning rate.

`schedules` has those that depend only on the epoch, `cyclic` the periodic ones, `composed`
combinations of other schedules, and `plateau` the one that monitors a metric.
"""

from __future__ import annotations

from gradtrace.optim.lr_scheduler.base import LRScheduler
from gradtrace.optim.lr_scheduler.composed import ChainedScheduler, SequentialLR
from gradtrace.optim.lr_scheduler.cyclic import CosineAnnealingWarmRestarts, CyclicLR, OneCycleLR
from gradtrace.optim.lr_scheduler.plateau import ReduceLROnPlateau
from gradtrace.optim.lr_scheduler.schedules import (
    ConstantLR,
    CosineAnnealingLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)

_LRScheduler = LRScheduler  # PyTorch's older name

__all__ = [
    "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialLR",
    "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR", "PolynomialLR",
    "ReduceLROnPlateau", "SequentialLR", "StepLR", "_LRScheduler",
]  # fmt: skip
