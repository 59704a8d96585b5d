"""Losses of torch.nn.functional."""

from __future__ import annotations

from typing import Any

from gradtrace.engine.op import d, op
from gradtrace.engine.tensor import Tensor
from gradtrace.ops.api import public
from gradtrace.ops.shape import broadcast_tensors

mse = op("mse(self, target)", lambda a, b: (a - b) * (a - b), node="MseLossBackward0", promote="arith",
         self=d("self target", lambda xp, g, out, self, target: 2 * (self - target) * g),
         target=d("self target", lambda xp, g, out, self, target: 2 * (target - self) * g))
mse_mean = op("mse_mean(self, target)", lambda a, b: ((a - b) * (a - b)).mean(), node="MseLossBackward0",
              promote="arith",
              self=d("self target", lambda xp, g, out, self, target: (2 / max(size_of(self), 1)) * (self - target) * g),
              target=d("self target", lambda xp, g, out, self, target: (2 / max(size_of(self), 1)) * (
                  target - self) * g))
mse_sum = op("mse_sum(self, target)", lambda a, b: ((a - b) * (a - b)).sum(), node="MseLossBackward0", promote="arith",
             self=d("self target", lambda xp, g, out, self, target: 2 * (self - target) * g),
             target=d("self target", lambda xp, g, out, self, target: 2 * (target - self) * g))


def size_of(value: Any) -> int:
    n = 1
    for size in getattr(value, "shape", ()):
        n *= size
    return n


def reduction_of(reduction: str, none: Any, mean: Any, total: Any) -> Any:
    chosen = {"none": none, "mean": mean, "sum": total}.get(reduction)
    if chosen is None:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return chosen


@public("mse_loss", forms="n")
def mse_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None,
             reduction: str = "mean") -> Tensor:
    """The mean (or sum, or each) of (input - target)^2 (torch.nn.functional.mse_loss)."""
    if input.shape != target.shape:
        import warnings

        warnings.warn(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will "
            "likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
            UserWarning, stacklevel=2)
        input, target = broadcast_tensors(input, target)
    return reduction_of(reduction, mse, mse_mean, mse_sum)(input, target)
