"""`watch`: guard the passes of a plain training loop.

    for x, y in gt.watch(loader, model, optimizer):
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()

The body of a loop cannot be called again as a function can. So when gradients are not finite and
the process has forked, the child goes on with the body until it asks for the next batch. There it
gets the same batch once more, with the state from before it and under a recorder. At the update
that was bad, it sends its report and ends.
"""

from __future__ import annotations

import copy
import os
import sys
import time
import weakref
from collections import ChainMap
from collections.abc import Generator, Iterator, Sequence
from typing import Any

import torch

from gradtrace.torch import private, repetition
from gradtrace.torch.capsule import asking
from gradtrace.torch.capsule_asked import AskedCapsule
from gradtrace.torch.guard import StepGuard, the_model
from gradtrace.torch.guard_call import WatchedCall
from gradtrace.torch.guard_capsule import CapsuleFile, StepParts
from gradtrace.torch.guard_losses import LossLevels
from gradtrace.torch.patches import active
from gradtrace.torch.places import is_hidden
from gradtrace.torch.reach import NOTHING, PLAIN, Reach, is_object
from gradtrace.torch.recording import variables_of
from gradtrace.torch.repetition import BadStep, Repetition
from gradtrace.torch.samples import SampleWatch
from gradtrace.torch.state import State

# what State saves, or is not part of the state
KEPT_OTHERWISE = (
    torch.nn.Module,
    torch.optim.Optimizer,
    torch.Tensor,
    torch.Generator,
    torch.amp.GradScaler,
)


def watch(
    loader: Any,
    *objects: Any,
    level: str = "summary",
    out: Any = None,
    limit: int = 1,
    capsule: Any = None,
    spike: float | None = None,
) -> WatchedLoader:
    """Return a loader with the same batches that has a pass of the loop repeated under a recorder
    when its gradients are not finite.

    `objects` are what a pass changes: models, optimisers, a GradScaler, schedulers, an Accelerator.
    `level`, `out`, `limit`, `capsule` and `spike` are those of `guard`. The last recording is the
    loader's `guard.recorded`.
    """
    caller = sys._getframe(1)
    named = named_in(caller, objects)
    guard = LoopGuard(
        named, caller.f_code.co_filename, level, out, limit, capsule, LossLevels(spike)
    )
    guard.loader = loader
    guard.earlier = earlier_loop(loader, (guard.file, caller.f_lineno, limit, spike), objects)
    vars(guard).update(guard.earlier)
    return WatchedLoader(loader, guard)


# by the place of a loop and its options: the objects that it changes, and epoch, limit and losses
# of its last guard
_loops: weakref.WeakKeyDictionary[Any, dict[Any, tuple[list[Any], dict[str, Any]]]] = (
    weakref.WeakKeyDictionary()
)


def earlier_loop(loader: Any, place: Any, objects: Sequence[Any]) -> dict[str, Any]:
    """Return what the last guard of a loop with the same loader and objects has left, since a loop
    over epochs makes a guard in each of them. Nothing is kept of a loader without weak references
    (a list).
    """
    try:
        loops = _loops.setdefault(loader, {})
        references, left = loops.get(place, ([], {}))
        if list(map(id, objects)) != [id(reference()) for reference in references]:
            left = {}
            loops[place] = list(map(weakref.ref, objects)), left
        return left
    except Exception:  # an object of the program that cannot be looked up
        return {}


def named_in(frame: Any, objects: Sequence[Any]) -> dict[str, Any]:
    """Return objects by the names that they have in a frame of the program, as attributes there, or
    in its callers.
    """
    names: dict[int, str] = {}
    for held in map(variables_of, program_frames(frame)):
        for name, value in held.items():
            names.setdefault(id(value), name)
        for name, owner in held.items():
            for key, value in attributes_of(owner).items():
                names.setdefault(id(value), f"{name}.{key}")
    return {
        names.get(id(instance), f"{type(instance).__name__}_{index}"): instance
        for index, instance in enumerate(objects)
    }


def program_frames(frame: Any) -> Iterator[Any]:
    """Yield a frame and its callers, as far as these are the program's."""
    while frame is not None:
        if not is_hidden(frame.f_code.co_filename):
            yield frame
        frame = frame.f_back


def attributes_of(owner: Any) -> dict[str, Any]:
    """Return the attributes of an object of the program, of a module also the modules in it; of
    others none.
    """
    return {**vars(owner), **vars(owner).get("_modules", {})} if is_object(owner) else {}


class WatchedLoader:
    """A loader whose passes are guarded; other attributes are those of the loader."""

    def __init__(self, loader: Any, guard: LoopGuard) -> None:
        self.loader = loader
        self.guard = guard

    def __len__(self) -> int:
        return len(self.loader)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)

    def __iter__(self) -> Iterator[Any]:
        guard = self.guard
        guard.leave()
        guard.epoch += 1
        try:
            for number, batch in enumerate(self.loader):
                guard.number = number
                yield from guard.handed_out(batch)
        finally:
            guard.earlier.update(epoch=guard.epoch, left=guard.left, levels=guard.levels)


class LoopGuard(StepGuard):
    """The guard of a loop: it hands out a batch, and checks what the body of the loop has done with
    it.
    """

    def __init__(self, named: dict[str, Any], file: str, *options: Any) -> None:
        super().__init__(None, *options)
        self.named = named
        self.file = file
        self.epoch = -1
        self.number = 0  # of the batch in its epoch
        self.loader: Any = None
        self.losses: list[Any] = []  # of this pass, if they are known
        self.open: Generator[Any] | None = None  # this pass
        self.earlier: dict[str, Any] = {}  # what the guard of the next epoch goes on with

    def reach(self, args: Any, kwargs: Any) -> Reach:
        reach = Reach(NOTHING, (), self.named)
        reach.file = self.file
        reach.passing = set()
        return reach

    def where(self) -> str:
        return f"epoch {self.epoch}, batch {self.number}: "

    def label(self) -> str:
        return f"epoch-{self.epoch}-batch-{self.number}"

    def parts(self, args: Any, kwargs: Any) -> StepParts:
        name, model = the_model(self.reach(args, kwargs))
        return StepParts(model, name, args[0], "", {}, self.loader)

    def handed_out(self, batch: Any) -> Generator[Any]:
        self.open = self.watched(batch)
        return self.open

    def leave(self) -> None:
        """End the pass of an iterator that the program still holds, but has left for another loop
        over its loader.
        """
        if self.open is not None:
            self.open.close()

    def watched(self, batch: Any) -> Generator[Any]:
        if self.running or active() is not None:
            yield batch
        elif asking.is_waiting:
            with AskedCapsule(self, (batch,), {}):
                yield from self.passed(batch)
        else:
            yield from self.passed(batch)

    def passed(self, batch: Any) -> Generator[Any]:
        self.losses = []
        if self.left <= 0 or not self.can_guard((), {}):
            yield batch
            return
        assert self.before is not None
        again = copy.copy(batch) if type(batch) in PLAIN else batch
        watched_pass = WatchedPass(self, self.before)
        try:
            self.running = True
            with private.OptimizerHooks(watched_pass.check), watched_pass.losses:
                yield batch
            if watched_pass.fault is None:
                watched_pass.check_end(self.losses)
            if watched_pass.child is not None:
                yield from watched_pass.repeat(again)
        finally:
            if watched_pass.child is not None:  # the body has left the loop
                os._exit(0)
            self.before.forget(watched_pass.updated)
            self.running = False


class WatchedPass(WatchedCall):
    """One pass of a guarded loop."""

    def __init__(self, guard: LoopGuard, before: State) -> None:
        super().__init__(guard, before, (), {})
        self.loop = guard
        others = [
            instance
            for instance in guard.named.values()
            if not isinstance(instance, KEPT_OTHERWISE)
        ]
        self.attributes = [
            (vars(instance), dict(vars(instance)))
            for instance in others
            if hasattr(instance, "__dict__")
        ]
        # in the child: of the parameters, when the fault was found
        self.values: list[tuple[Any, Any]] = []
        self.lost = 0
        before.save([])
        self.begun = time.monotonic()

    def check(self, optimizer: Any, args: Any, kwargs: Any) -> Any:
        return None if self.child is not None else super().check(optimizer, args, kwargs)

    def report(self, fault: BadStep) -> None:
        losses = list(self.loop.losses)
        problem = fault.problem if repetition.finite_losses(losses) else "the loss is not finite"
        super().report(fault._replace(problem=problem, result=losses))

    def prepare_repetition(self, fault: BadStep, file: CapsuleFile | None) -> None:
        """Keep the parameters from the updates in the rest of the body, with which the child goes
        on.
        """
        try:
            self.keep_fault(fault, file)
            self.values = repetition.values_of(
                [p for p in self.before.parameters if p.requires_grad]
            )
            self.lost = len(self.before.by_hand.lost(fault.updated))
        except BaseException:
            os._exit(1)

    def repeat(self, batch: Any) -> Iterator[Any]:
        """Hand out the batch once more in the child, which does not return from here."""
        repetition.write(self.values)
        for attributes, saved in self.attributes:
            attributes.clear()
            attributes.update(saved)
        self.before.restore(())
        self.loop.losses = []
        if self.capsule is not None:
            self.capsule.begin(self.guard, (batch,), {})
        repeated = RepeatedPass(self, batch, list(program_frames(sys._getframe(1))))
        repeated.recorded.__enter__()
        repeated.watch.__enter__()
        repeated.__enter__()
        try:
            yield batch
        except GeneratorExit:
            repeated.send("it left the loop")
        repeated.send()


class RepeatedPass(Repetition):
    """The repetition of a pass. It ends the process at the bad update; an exception would go to the
    program.
    """

    def __init__(self, watched: WatchedPass, batch: Any, frames: list[Any]) -> None:
        super().__init__(watched.before, watched.fault)
        self.child: Any = watched.child
        self.lost = watched.lost
        self.loop = watched.loop
        self.capsule = watched.capsule
        self.recorded = repetition.recording_of(watched.guard, (), {})
        self.watch = SampleWatch(self.recorded, batch)
        self.frames = frames  # that of the loop, and its callers

    def leave(self) -> None:
        self.grads = repetition.copies_of(self.fault.parameters)
        self.send()

    def send(self, failure: str = "") -> None:
        repetition.send(self.child, lambda: self.report(failure))

    def report(self, failure: str) -> Any:
        self.__exit__()
        self.watch.__exit__(None, None, None)  # type: ignore[no-untyped-call]
        self.recorded._env = dict(ChainMap(*map(variables_of, self.frames), self.loop.named))
        self.recorded.__exit__(None, None, None)
        losses = self.loop.losses
        return repetition.report_of(
            self.recorded, self, self.lost, self.watch, losses, failure, self.capsule
        )
