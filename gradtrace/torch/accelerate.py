"""A guard for loops with accelerate.

    import gradtrace.torch as gt

    accelerator = gt.accelerate.guarded(Accelerator())
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for x, y in loader:
        with accelerator.accumulate(model):
            ...

The loop stays as it is: the passes over the loaders that this accelerator prepares are guarded, as
those of `gt.watch` are, while a prepared model is in training mode. The losses are those that
`accelerator.backward` gets. This module does not import accelerate.
"""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import torch

from gradtrace.errors import UsageError
from gradtrace.torch.guard_losses import LossLevels
from gradtrace.torch.places import is_hidden
from gradtrace.torch.trainer_flight import TrainerFlight
from gradtrace.torch.watch import LoopGuard, named_in

PREPARED = ("prepare_model", "prepare_optimizer", "prepare_scheduler")
LOADERS = ("prepare_data_loader", "skip_first_batches")


def guarded(
    accelerator: Any,
    *,
    level: str = "summary",
    out: Any = None,
    limit: int = 1,
    flight: Any = None,
    capsule: Any = None,
    spike: float | None = None,
) -> Any:
    """Return the accelerator; the passes over the loaders that it prepares from now on are guarded.

    `level`, `out`, `limit`, `capsule` and `spike` are those of `gradtrace.torch.guard`; the last
    recording is `accelerator.guard.recorded`. `flight` is the file of a flight recorder (see
    `gradtrace.torch.flight`), which gets a row for each update. UsageError if this is not an
    Accelerator, or has a guard.
    """
    missing = next(
        (name for name in (*PREPARED, *LOADERS, "backward") if not hasattr(accelerator, name)), ""
    )
    if missing:
        kind = type(accelerator).__qualname__
        raise UsageError(
            f"a {kind} has no {missing}, so it is not an Accelerator", "guarded(Accelerator())"
        )
    if hasattr(accelerator, "guard"):
        raise UsageError(
            "this accelerator has a guard", "guard it once, before accelerator.prepare"
        )
    AcceleratorGuard(accelerator, flight, level, out, limit, capsule, LossLevels(spike)).install()
    return accelerator


class GuardedLoader:
    """What the class of a prepared loader also derives from: its passes are guarded."""

    guard: AcceleratorGuard
    first_batch = 0  # the number of those before it, which were skipped

    def __iter__(self) -> Iterator[Any]:
        return self.guard.passes(self, super().__iter__())  # type: ignore[misc]


class AcceleratorGuard(LoopGuard):
    """The guard of all loops of one accelerator."""

    sums_gradients = True

    def __init__(self, accelerator: Any, flight: Any, *options: Any) -> None:
        super().__init__({}, "", *options)
        self.accelerator = accelerator
        self.references: list[weakref.ref[Any]] = []  # models, optimizers and schedulers
        self.is_looping = False
        self.path = flight
        self.flight: TrainerFlight | None = None

    def install(self) -> None:
        self.accelerator.guard = self
        for name in PREPARED:
            self.replace(name, self.added)
        for name in LOADERS:
            self.replace(name, self.guarded_loader)
        self.replace("backward", self.noted)
        self.replace("end_training", self.ended)
        self.replace("free_memory", self.freed)

    def replace(self, name: str, after: Callable[..., Any]) -> None:
        """Have a method of the accelerator also call `after` with its result and its arguments;
        return what that returns.
        """
        original = getattr(self.accelerator, name)

        @functools.wraps(original)
        def method(*args: Any, **kwargs: Any) -> Any:
            return after(original(*args, **kwargs), *args, **kwargs)

        setattr(self.accelerator, name, method)

    @property
    def prepared(self) -> list[Any]:
        """The models, optimizers and schedulers that the program still has."""
        return [instance for reference in self.references if (instance := reference()) is not None]

    def added(self, prepared: Any, *args: Any, **kwargs: Any) -> Any:
        if not any(instance is prepared for instance in self.prepared):
            self.references.append(weakref.ref(prepared))
        return prepared

    def freed(self, result: Any, *args: Any, **kwargs: Any) -> Any:
        """Let go of what the accelerator has let go of; the next loop finds what the program still
        has.
        """
        if not self.is_looping:
            self.named = {}
            self.loader = None
            self.before = None
            self.states.clear()
            if self.flight is not None:
                self.flight.close()
                self.flight = None
        return result

    def guarded_loader(
        self,
        loader: Any,
        source: Any = None,
        num_batches: int = 0,
        *args: Any,
        dataloader: Any = None,
        **kwargs: Any,
    ) -> Any:
        kind = type(loader)
        source = dataloader if source is None else source
        if not issubclass(kind, GuardedLoader):
            fields = {"guard": self, "__module__": kind.__module__}
            # accelerate's loaders have a property __class__ without a setter, in place of that of
            # object
            vars(object)["__class__"].__set__(
                loader, type(kind.__name__, (GuardedLoader, kind), fields)
            )
        if type(num_batches) is int and isinstance(source, GuardedLoader) and loader is not source:
            loader.first_batch = source.first_batch + num_batches
        return loader

    def noted(self, result: Any, loss: Any, *args: Any, **kwargs: Any) -> Any:
        if self.is_looping:
            self.losses.append(loss.detach())
        return result

    def ended(self, result: Any, *args: Any, **kwargs: Any) -> Any:
        self.tell_again("ended")
        if self.flight is not None:
            self.flight.close()
        return result

    # ---- passes

    def passes(self, loader: Any, batches: Iterator[Any]) -> Iterator[Any]:
        # a loop in the body of another
        if self.is_looping and (loader is not self.loader or not self.is_training()):
            yield from batches
            return
        self.leave()
        self.begin(loader)
        self.is_looping = True
        try:
            for number, batch in enumerate(batches, loader.first_batch):
                self.losses = []
                if not self.is_training():
                    yield batch
                    continue
                self.number = number
                yield from self.handed_out(batch)
                self.note_flight()
        finally:
            self.is_looping = False
            self.losses = []
            if self.flight is not None:
                self.flight.attempt(self.flight.recorder.flush)

    def begin(self, loader: Any) -> None:
        """Name the objects as the program's loop does, at the begin of an epoch."""
        frame: Any = sys._getframe(2)
        while frame.f_back is not None and is_hidden(frame.f_code.co_filename):
            frame = frame.f_back
        self.loader = loader
        self.file = frame.f_code.co_filename
        named = named_in(frame, [*self.prepared, self.accelerator])
        if {name: id(instance) for name, instance in named.items()} != {
            name: id(instance) for name, instance in self.named.items()
        }:
            self.named = named
            self.states.clear()
        if self.is_training():
            self.epoch += 1

    def of_type(self, kind: Any) -> list[Any]:
        return [instance for instance in self.prepared if isinstance(instance, kind)]

    def is_training(self) -> bool:
        models = self.of_type(torch.nn.Module)
        return not models or any(model.training for model in models)

    def note_flight(self) -> None:
        if self.path is None:
            return
        if self.flight is None:
            models = self.of_type(torch.nn.Module)
            optimizers = self.of_type(torch.optim.Optimizer)
            model = models[0] if len(models) == 1 else torch.nn.ModuleList(models)
            self.flight = TrainerFlight(
                self.path, model, optimizers, self.accelerator.scaler, normalized=False
            )
        for loss in self.losses:
            self.flight.batch(loss)
        if self.accelerator.sync_gradients:
            self.flight.step()
