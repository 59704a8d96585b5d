"""Notice a loss that is far above those of the steps before it: `spike=` of the guards.

The losses are the numbers at which a step's backward passes begin, so a loss is judged before the
update. Whether one is the program's whole loss or a part of it, as with accumulation, is not known;
the sentences do not say so.
"""

from __future__ import annotations

import functools
import math
import weakref
from collections import deque
from typing import Any

import numpy
import torch

from gradtrace.analysis.flight import WINDOW, level_before
from gradtrace.errors import UsageError
from gradtrace.torch import private
from gradtrace.torch.capsule_asked import Roots

MOST = 3  # one guard reports at most this many losses
PLACES = 64  # at most this many losses of one step are judged
# A robust deviation is at least this share of the level, since that of equal losses is 0.
SHARE = 0.01
# It is also at least this part of the distance from the level to the largest loss of the window:
# losses often have a long tail, which the median absolute deviation does not see.
PART = 0.75


class LossLevels:
    """The last losses of the steps, separately for each place in a step, such as the first of two
    losses.

    `spike` is how many robust deviations above their median a loss is reported; None for no loss. A
    robust deviation is the median absolute deviation of the WINDOW losses before, at least SHARE of
    their median and PART of how far the largest of them is above it. UsageError if `spike` is not
    positive.
    """

    def __init__(self, spike: float | None) -> None:
        if spike is not None and not spike > 0:
            raise UsageError(
                f"spike is {spike}", "give a positive number of robust deviations, such as spike=12"
            )
        self.spike = spike
        self.left = MOST
        self.recent: dict[tuple[int, int], deque[float]] = {}

    def far(self, place: tuple[int, int], loss: float, is_scaled: bool = False) -> str:
        """Note the loss at a place in its step. Return a sentence that says how far it is above the
        level; "" if it is not too far.

        A place has two numbers: which loss of the step it is, and how many there were when they
        were judged.
        """
        if not math.isfinite(loss) or max(place) > PLACES:
            return ""
        losses = self.recent.setdefault(place, deque(maxlen=WINDOW))
        values = numpy.array(losses)
        losses.append(loss)
        median, deviation = level_before(values, len(values))
        spread = max(deviation, SHARE * abs(median))
        # A level does not exist yet, or most losses are 0.
        if self.spike is None or self.left <= 0 or not spread > 0:
            return ""
        spread = max(spread, PART * (float(values.max()) - median))
        if not loss > median + self.spike * spread:
            return ""
        self.left -= 1
        self.recent.clear()  # what follows a spike is compared with its own level
        times = ", before a GradScaler's scale" if is_scaled else ""
        beyond = (
            f"{(loss - median) / spread:.3g} robust deviations above the median of the steps before"
        )
        return f"backward began at {loss:.4g}{times}, {beyond}, {median:.4g}"


@private.modeless
def detached(tensor: Any) -> Any:
    return tensor.detach()


class StepLosses(Roots):
    """A context manager for one step, which notes its losses if they are judged.

    They are the numbers at which backward passes begin, before a GradScaler has multiplied them. A
    number that was computed from a scaled loss is noted as NaN, since its scale may change.
    """

    def __init__(self, levels: LossLevels) -> None:
        super().__init__()
        self.levels = levels
        self.judged = 0
        # Each loss, and whether a GradScaler has multiplied it.
        self.losses: list[tuple[float, bool]] = []
        # Weak references to what GradScalers returned, each with what it was computed from.
        self.scaled: list[tuple[Any, Any]] = []

    def __enter__(self) -> None:
        if self.levels.spike is None:
            return
        super().__enter__()
        self.original_scale = original = torch.amp.GradScaler.scale

        @functools.wraps(original)
        def scale(scaler: Any, outputs: Any) -> Any:
            result = original(scaler, outputs)
            if scaler.is_enabled():
                is_tensor = isinstance(outputs, torch.Tensor)
                self.scaled.append(
                    (weakref.ref(result), detached(outputs)) if is_tensor else (lambda: None, None)
                )
            return result

        torch.amp.GradScaler.scale = scale  # type: ignore[method-assign, assignment]

    def __exit__(self, *error: object) -> None:
        if self.levels.spike is not None:
            torch.amp.GradScaler.scale = self.original_scale  # type: ignore[method-assign]
            super().__exit__(*error)

    def note(self, root: Any) -> None:
        unscaled = next((loss for result, loss in self.scaled if result() is root), None)
        loss = root if not self.scaled else unscaled
        self.losses.append(
            (math.nan if loss is None else float(loss.detach()), unscaled is not None)
        )

    def far(self) -> str:
        """Judge the losses since the last call; return the sentence about the first that is too far
        above its level, "" if there is none.
        """
        first = self.judged
        self.judged = len(self.losses)
        for number, (loss, is_scaled) in enumerate(self.losses[first:], first):
            problem = self.levels.far((number, self.judged), loss, is_scaled)
            if problem:
                return problem
        return ""
