"""A flight recorder in a trainer, whose steps are made of several batches."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import torch

from gradtrace.torch.flight import flight


class TrainerFlight:
    """Adds up the losses of the batches until an update, and then ends a step of the flight
    recorder.

    A loss that the trainer has divided by the number of batches is `normalized`; else the step has
    their mean. An error of the recorder ends the recording with a warning, never the training.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        model: Any,
        optimizer: Any,
        scaler: Any,
        normalized: bool,
    ) -> None:
        self.recorder = flight(path, model, optimizer, scaler=scaler)
        self.normalized = normalized
        self.losses: list[Any] = []
        self.failed = False

    def batch(self, outputs: Any) -> None:
        """Note the loss of a batch: a tensor, or the item "loss" of a dict. None is not noted."""
        loss = outputs.get("loss") if isinstance(outputs, Mapping) else outputs
        if isinstance(loss, torch.Tensor):
            self.losses.append(loss.detach().clone())
        elif isinstance(loss, (int, float)):
            self.losses.append(loss)

    def step(self, number: int | None = None) -> None:
        losses = self.losses
        self.losses = []

        def note() -> None:
            total = sum(losses) if losses else None
            self.recorder.step(
                total if self.normalized or total is None else total / len(losses), number
            )

        self.attempt(note)

    def close(self) -> None:
        self.attempt(self.recorder.close)

    def attempt(self, work: Callable[[], None]) -> None:
        if self.failed:
            return
        try:
            work()
        except Exception as error:
            self.failed = True
            warnings.warn(
                f"gradtrace: the flight recorder has stopped: {type(error).__name__}: {error}",
                stacklevel=2,
            )
