"""What a builder gives: a training step with everything that it may change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import nn


class Case(NamedTuple):
    """A model ready to train. `step()` runs one training step and returns its loss."""

    modules: Sequence[nn.Module]
    optimizers: Sequence[torch.optim.Optimizer]
    step: Callable[[], torch.Tensor]
    other: Sequence[
        Any
    ] = ()  # objects with a state_dict() that a step changes too, such as a GradScaler


def train(
    model: nn.Module,
    loss_of: Callable[[], torch.Tensor],
    optimizer: type[torch.optim.Optimizer] = torch.optim.AdamW,
    lr: float = 1e-3,
) -> Case:
    """The usual step: zero_grad, loss, backward, step."""
    chosen = optimizer((p for p in model.parameters() if p.requires_grad), lr=lr)

    def step() -> torch.Tensor:
        chosen.zero_grad()
        loss = loss_of()
        loss.backward()
        chosen.step()
        return loss.detach()

    return Case([model], [chosen], step)
