"""torch.amp.GradScaler: a loss multiplied by a scale, so that small gradients do not vanish in
float16.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from typing import Any

from gradtrace.engine.data.modes import no_grad
from gradtrace.engine.data.state import state as running
from gradtrace.engine.data.tensor import Tensor

NO_CUDA = "torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling."


class GradScaler:
    """Scale losses, unscale gradients, and skip the steps whose gradients are not finite.

    For "cuda" it is off, with PyTorch's warning: `scale` returns its argument and `step` calls the
    optimiser's `step`. On "cpu" the scale is multiplied by `backoff_factor` after a step with an
    inf or nan, and by `growth_factor` after `growth_interval` steps without one.
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        if enabled and device == "cuda":
            warnings.warn(NO_CUDA, stacklevel=2)
        self._enabled = enabled and device != "cuda"
        if self._enabled and not growth_factor > 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if self._enabled and not backoff_factor < 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._scale = float(init_scale)
        self._good_steps = 0
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._scaled = False  # whether `scale` was called
        self._states: dict[int, _OptimizerState] = {}

    def _require_scaled(self, attempt: str) -> None:
        if not self._scaled:
            raise AssertionError(
                f"Attempted {attempt} but _scale is None.  This may indicate your script did not "
                "use scaler.scale(loss or outputs) earlier in the iteration."
            )

    def scale(self, outputs: Any) -> Any:
        """Return a tensor, or an iterable of them, multiplied by the scale."""
        if not self._enabled:
            return outputs
        running.watcher.scaler_called("scale")
        return self._multiplied(outputs)

    def _multiplied(self, outputs: Any) -> Any:
        if isinstance(outputs, Tensor):
            self._scaled = True
            return outputs * self._scale
        if isinstance(outputs, list | tuple):
            return type(outputs)(map(self._multiplied, outputs))
        if isinstance(outputs, Iterable):
            return map(self._multiplied, outputs)
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimiser's parameters by the scale; allowed once before each
        step.
        """
        if self._enabled:
            running.watcher.scaler_called("unscale_")
            self._unscale(optimizer)

    def _unscale(self, optimizer: Any) -> None:
        self._require_scaled("unscale_")
        state = self._states.setdefault(id(optimizer), _OptimizerState())
        if state.stage == "unscaled":
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last update()."
            )
        if state.stage == "stepped":
            raise RuntimeError("unscale_() is being called after step().")
        factor = 1.0 / self._scale if self._scale else math.copysign(math.inf, self._scale)
        with no_grad():
            for gradient in gradients(optimizer):
                state.found_inf |= not bool(gradient.isfinite().all())
                gradient.mul_(factor)
        state.stage = "unscaled"
        state.checked = True

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Unscale the gradients if necessary, and step if all of them are finite."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        running.watcher.scaler_called("step")
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._require_scaled("step")
        state = self._states.setdefault(id(optimizer), _OptimizerState())
        if state.stage == "stepped":
            raise RuntimeError("step() has already been called since the last update().")
        if state.stage == "ready":
            self._unscale(optimizer)
        if not list(gradients(optimizer)):
            raise AssertionError("No inf checks were recorded for this optimizer.")
        state.stage = "stepped"
        running.watcher.scaled(optimizer, self._scale, state.found_inf)
        if not state.found_inf:
            return optimizer.step(*args, **kwargs)
        # The skipped step still ends an iteration.
        running.keeper.stepped(optimizer)
        return None

    def update(self, new_scale: Any = None) -> None:
        """Adapt the scale after the steps of one iteration, or set it to `new_scale`."""
        if not self._enabled:
            return
        running.watcher.scaler_called("update")
        self._require_scaled("update")
        if new_scale is not None:
            self._scale = float(new_scale)
        else:
            checked = [state for state in self._states.values() if state.checked]
            if not checked:
                raise AssertionError("No inf checks were recorded prior to update.")
            self._adapt(any(state.found_inf for state in checked))
        self._states.clear()

    def _adapt(self, found_inf: bool) -> None:
        if found_inf:
            self._scale = self._scale * self._backoff_factor
            self._good_steps = 0
            return
        self._good_steps += 1
        if self._good_steps == self._growth_interval:
            self._scale = self._scale * self._growth_factor
            self._good_steps = 0

    def get_scale(self) -> float:
        """Return the scale; 1.0 if the scaler is off."""
        return self._scale if self._enabled else 1.0

    def is_enabled(self) -> bool:
        """Return whether the scaler is on: False for "cuda" and with enabled=False."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """Return the scale and its settings; empty if the scaler is off."""
        if not self._enabled:
            return {}
        return {
            "scale": self._scale,
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._good_steps,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore what `state_dict` returned; raise RuntimeError for an empty dict."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled "
                "instance of GradScaler."
            )
        self._scale = float(state_dict["scale"])
        self._good_steps = int(state_dict["_growth_tracker"])
        self._growth_factor = float(state_dict["growth_factor"])
        self._backoff_factor = float(state_dict["backoff_factor"])
        self._growth_interval = int(state_dict["growth_interval"])


class _OptimizerState:
    """What was done with an optimiser since the last update."""

    __slots__ = ("checked", "found_inf", "stage")

    def __init__(self) -> None:
        self.stage = "ready"
        self.found_inf = False
        self.checked = False


def gradients(optimizer: Any) -> Iterable[Tensor]:
    """Yield the gradients of an optimiser's parameters."""
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if parameter.grad is not None:
                yield parameter.grad
