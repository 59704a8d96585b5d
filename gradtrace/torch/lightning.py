"""A guard for the Trainer of Lightning.

    from gradtrace.torch.lightning import Guard

    trainer = Trainer(..., callbacks=[Guard()])

Each batch (forward, backward and, if it is due, the update) is guarded as `@gt.guard` does it, with
automatic and with manual optimisation: from the begin of the training to its end, the loop's `run`
for one batch is replaced.
"""

from __future__ import annotations

from typing import Any

from lightning.pytorch.callbacks import Callback

from gradtrace.torch.capsule import name_of
from gradtrace.torch.guard import StepGuard
from gradtrace.torch.guard_capsule import StepParts
from gradtrace.torch.guard_losses import LossLevels
from gradtrace.torch.reach import Reach
from gradtrace.torch.trainer_flight import TrainerFlight


class LightningGuard(Callback):  # type: ignore[misc]
    """A callback that has a batch repeated under a recorder when its loss or gradients are not
    finite.

    `level`, `out`, `limit`, `capsule` and `spike` are those of `gradtrace.torch.guard`; the last
    recording is `guard.recorded`. `flight` is the file of a flight recorder (see
    `gradtrace.torch.flight`), which gets a row for each batch with an update.
    """

    def __init__(
        self,
        *,
        level: str = "summary",
        out: Any = None,
        limit: int = 1,
        flight: Any = None,
        capsule: Any = None,
        spike: float | None = None,
    ) -> None:
        self.options = level, out, limit, capsule, LossLevels(spike)
        self.flight = flight
        self.step: BatchGuard | None = None
        self.recorder: TrainerFlight | None = None
        self.updates = 0  # when the last row was noted

    @property
    def recorded(self) -> Any:
        return self.step.recorded if self.step else None

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        loop = trainer.fit_loop.epoch_loop
        chosen = (
            loop.automatic_optimization
            if pl_module.automatic_optimization
            else loop.manual_optimization
        )
        self.step = chosen.run = BatchGuard(chosen, trainer, *self.options)
        if self.flight is not None:
            self.updates = trainer.global_step
            scaler = scaler_of(trainer)
            is_automatic = pl_module.automatic_optimization
            self.recorder = TrainerFlight(
                self.flight, pl_module, trainer.optimizers, scaler, normalized=is_automatic
            )

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        if self.recorder:
            self.recorder.batch(outputs)
            if trainer.global_step != self.updates:
                self.updates = trainer.global_step
                self.recorder.step()

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        self.end("ended")

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self.end("failed")

    def end(self, how: str) -> None:
        if self.step:
            vars(self.step.loop).pop("run", None)
            self.step.tell_again(how)
        if self.recorder:
            self.recorder.close()
            self.recorder = None


Guard = LightningGuard  # the name that users import; transformers' callback has it too


class BatchGuard(StepGuard):
    """The guarded `run` of the loop for one batch, in the place of its method."""

    sums_gradients = True

    def __init__(self, loop: Any, trainer: Any, *options: Any) -> None:
        super().__init__(loop.run, *options)
        self.loop = loop
        self.trainer = trainer

    def reach(self, args: Any, kwargs: Any) -> Reach:
        """Return what the module's `training_step` can reach; its arguments are in the last one of
        `run`.
        """
        scaler = scaler_of(self.trainer)
        named = {} if scaler is None else {"scaler": scaler}
        return Reach(self.trainer.lightning_module.training_step, tuple(args[-1].values()), named)

    def where(self) -> str:
        return f"epoch {self.trainer.current_epoch}, batch {self.trainer.fit_loop.batch_idx}: "

    def label(self) -> str:
        return f"epoch-{self.trainer.current_epoch}-batch-{self.trainer.fit_loop.batch_idx}"

    def parts(self, args: Any, kwargs: Any) -> StepParts:
        module = self.trainer.lightning_module
        return StepParts(
            module, "module", next(iter(args[-1].values())), name_of(module.training_step), {}
        )


def scaler_of(trainer: Any) -> Any:
    return getattr(trainer.precision_plugin, "scaler", None)
