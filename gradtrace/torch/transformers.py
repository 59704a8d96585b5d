"""A guard for the Trainer of transformers.

    from gradtrace.torch.transformers import Guard

    trainer = Trainer(..., callbacks=[Guard()])

Each call of `training_step` (forward and backward of one batch, before clipping and the update) is
guarded as `@gt.guard` does it. A callback is not given its trainer. So from the begin of a training
to its first batch, `training_step` of all classes of trainers is replaced; then the trainer has one
of its own until the training ends. No callback is called when a training fails or is interrupted.
So the first guard replaces `Trainer.train` for good.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

from transformers import Trainer, TrainerCallback

from gradtrace.torch.capsule import name_of
from gradtrace.torch.guard import StepGuard
from gradtrace.torch.guard_capsule import StepParts
from gradtrace.torch.guard_losses import LossLevels
from gradtrace.torch.reach import Reach
from gradtrace.torch.trainer_flight import TrainerFlight

NAME = "training_step"
ARGUMENTS = ("model", "inputs", "num_items_in_batch")
AUTOCAST = {"bf16": "bfloat16", "fp16": "float16"}


class Guard(TrainerCallback):  # type: ignore[misc]
    """A callback that has a batch repeated under a recorder when its loss or gradients are not
    finite.

    `level`, `out`, `limit`, `capsule` and `spike` are those of `gradtrace.torch.guard`; the last
    recording is `guard.recorded`. `flight` is the file of a flight recorder (see
    `gradtrace.torch.flight`), which gets a row for each update.
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
        report_failures()
        self.options = level, out, limit, capsule, LossLevels(spike)
        self.flight = flight
        # those whose training_step is replaced, and what it was
        self.classes: list[tuple[Any, Any]] = []
        self.step: TrainerGuard | None = None

    @property
    def recorded(self) -> Any:
        return self.step.recorded if self.step else None

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.remove()  # auto_find_batch_size begins again after a failure
        self.step = None
        for trainer_class in dict.fromkeys(classes(Trainer)):
            original = vars(trainer_class).get(NAME)
            if original is not None:
                self.classes.append((trainer_class, original))
                setattr(trainer_class, NAME, first_step(self, original))

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self.step and self.step.flight:
            self.step.flight.step(state.global_step)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.end("ended")

    def end(self, how: str) -> None:
        self.remove()
        if self.step:
            self.step.tell_again(how)

    def attach(self, trainer: Any) -> None:
        """Guard this trainer's batches from now on."""
        self.remove()
        self.step = TrainerGuard(trainer, *self.options)
        if self.flight is not None:
            scaler = trainer.accelerator.scaler
            self.step.flight = TrainerFlight(
                self.flight, trainer.model, trainer.optimizer, scaler, normalized=True
            )
        setattr(trainer, NAME, self.step)

    def remove(self) -> None:
        for trainer_class, original in self.classes:
            setattr(trainer_class, NAME, original)
        self.classes = []
        if self.step:
            self.step.detach()


def first_step(guard: Guard, original: Any) -> Any:
    """Return a training_step for a class of trainers; its first call by the guard's trainer
    attaches the guard.
    """

    @functools.wraps(original)
    def training_step(trainer: Any, *args: Any, **kwargs: Any) -> Any:
        if guard not in trainer.callback_handler.callbacks or NAME in vars(trainer):
            return original(trainer, *args, **kwargs)
        guard.attach(trainer)
        return trainer.training_step(*args, **kwargs)

    return training_step


@functools.cache
def report_failures() -> None:
    """Have the guards of a trainer removed if its training fails, wherever that is."""
    original = Trainer.train

    @functools.wraps(original)
    def train(trainer: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return original(trainer, *args, **kwargs)
        except BaseException:
            handler = getattr(trainer, "callback_handler", None)
            for callback in handler.callbacks if handler else ():
                if isinstance(callback, Guard):
                    # the program's own error ends the training
                    with contextlib.suppress(Exception):
                        callback.end("failed")
            raise

    Trainer.train = train


def classes(base: Any) -> Iterator[Any]:
    yield base
    for subclass in base.__subclasses__():
        yield from classes(subclass)


class TrainerGuard(StepGuard):
    """The guarded `training_step` of one trainer, in the place of its method."""

    has_updates = False
    sums_gradients = True

    def __init__(self, trainer: Any, *options: Any) -> None:
        super().__init__(trainer.training_step, *options)
        self.trainer = trainer
        self.flight: TrainerFlight | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        loss = super().__call__(*args, **kwargs)
        if self.flight:
            self.flight.batch(loss)
        return loss

    def detach(self) -> None:
        vars(self.trainer).pop(NAME, None)
        if self.flight:
            self.flight.close()

    def reach(self, args: Any, kwargs: Any) -> Reach:
        """Name the arguments as the Trainer does; a class of trainers may take them as *args."""
        return Reach(self.step, (), {**dict(zip(ARGUMENTS, args)), **kwargs})

    def where(self) -> str:
        return f"step {self.trainer.state.global_step + 1} of {self.trainer.state.max_steps}: "

    def label(self) -> str:
        return f"step-{self.trainer.state.global_step + 1}"

    def parts(self, args: Any, kwargs: Any) -> StepParts:
        return parts_of(self.trainer, **{**dict(zip(ARGUMENTS, args)), **kwargs})


# ---- capsules


def parts_of(trainer: Any, model: Any, inputs: Any, num_items_in_batch: Any = None) -> StepParts:
    """Return what a capsule has of a batch; `call` says how the loss is computed, for
    `replay.TrainerStep`.
    """
    inputs = dict(inputs)
    by_items = trainer.model_accepts_loss_kwargs and num_items_in_batch is not None
    if by_items:
        inputs["num_items_in_batch"] = num_items_in_batch
    flag = getattr(trainer, "loss_is_scaled_for_ga", None)
    is_scaled = (by_items or trainer.compute_loss_func is not None) if flag is None else flag
    own = [
        name
        for name in ("compute_loss_func", "label_smoother")
        if getattr(trainer, name, None) is not None
    ]
    if own:
        loss = own[0]
    elif type(trainer).compute_loss is Trainer.compute_loss:
        loss = ""
    else:
        loss = name_of(type(trainer).compute_loss)
    call = {
        "divisor": 1 if is_scaled else getattr(trainer, "current_gradient_accumulation_steps", 1),
        "autocast": AUTOCAST.get(trainer.accelerator.mixed_precision, ""),
        "scale": 1
        if trainer.accelerator.scaler is None
        else trainer.accelerator.scaler.get_scale(),
        "loss": loss,
    }
    return StepParts(model, "model", inputs, name_of(type(trainer).training_step), call)
