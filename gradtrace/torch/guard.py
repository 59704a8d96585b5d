"""`@guard`: repeat a training step under a recorder when its loss or gradients are not finite.

    @gt.guard
    def step(x, y):
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

Before each call the state is saved (see state.py). During the call only the optimisers' steps are watched: the
gradients are checked before each. If a check fails, the process forks (see forked.py). The child leaves the step,
restores the state, runs the step once more under `record("summary")` up to the same update (see repetition.py), and
sends the answer and the record. The parent prints the answer and goes on; nothing of its own was touched.
"""

from __future__ import annotations

import contextlib
import functools
import math
import os
import sys
import time
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, overload

import torch

from gradtrace.torch import private, repetition
from gradtrace.torch.finite import all_finite, facts, losses_of
from gradtrace.torch.patches import active
from gradtrace.torch.reach import Reach
from gradtrace.torch.recording import record
from gradtrace.torch.repetition import Fault, NotFinite, parameters_of, with_closure
from gradtrace.torch.state import State

if TYPE_CHECKING:
    from gradtrace.torch.forked import Child

SECONDS, TIMES = 60, 20  # the parent waits for the child so long, and so many times as long as the step took
F = TypeVar("F", bound=Callable[..., Any])


@overload
def guard(step: F) -> F: ...


@overload
def guard(*, level: str = ..., out: Any = ..., limit: int = ...) -> Callable[[F], F]: ...


def guard(step: Any = None, *, level: str = "summary", out: Any = None, limit: int = 1) -> Any:
    """Watch over a training step: repeat it under a recorder when its loss or gradients are not finite.

    The step is a function that computes a loss, calls backward and usually an optimiser's step; its result is returned.
    `level` is the level of the recording, `out` the stream for the answer (stderr by default), `limit` the largest
    number of answers. The last recording is `step.guard.recorded`.
    """
    if step is None:
        return lambda function: guarded(function, Guard(function, level, out, limit))
    return guarded(step, Guard(step, level, out, limit))


def guarded(step: Any, watch: Guard) -> Any:
    """Return the guarded step as a function, with its Guard as the attribute `guard`."""

    @functools.wraps(step)
    def watched(*args: Any, **kwargs: Any) -> Any:
        return watch(*args, **kwargs)

    watched.guard = watch  # type: ignore[attr-defined]
    return watched


class Guard:
    """The guard of one training step: it calls the step, checks the result, and has the step repeated if it is not
    finite.
    """

    def __init__(self, step: Any, level: str, out: Any, limit: int) -> None:
        self.step = step
        self.level = level
        self.out = out
        self.left = limit
        self.running = False
        self.recorded: record | None = None  # of the last step that was not finite
        self.before: State | None = None  # made at the first call, and used again

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.left <= 0 or self.running or active() is not None:
            return self.step(*args, **kwargs)
        if self.before is None:
            self.before = State(Reach(self.step, args, kwargs))
        self.running = True
        call = WatchedCall(self, self.before, args, kwargs)
        try:
            return call.run()
        finally:
            if call.child is not None:
                repetition.run(call.child, self.step, self.before, call.fault, args, kwargs, self.level)
            self.before.forget(call.updated)
            self.running = False

    def tell(self, notes: list[str], text: str) -> None:
        with contextlib.suppress(Exception):  # a stream that is closed is not the training's fault
            for line in (*notes, text):
                print(f"gradtrace guard: {line.rstrip()}", file=self.out or sys.stderr, flush=True)


class WatchedCall:
    """One call of a guarded step: the optimisers' steps in it, whose gradients are checked before each."""

    def __init__(self, guard: Guard, before: State, args: Any, kwargs: Any) -> None:
        self.guard = guard
        self.before = before
        self.args = args
        self.kwargs = kwargs
        self.begun = 0.0
        self.good = 0  # updates with finite gradients
        self.updated: set[int] = set()  # their parameters, by id
        self.finite: dict[int, Any] = {}  # by id of a gradient that was finite: its weak reference and version
        self.fault: Any = None
        self.child: Child | None = None  # in the child: itself

    def run(self) -> Any:
        self.before.save((*self.args, *self.kwargs.values()))
        self.begun = time.monotonic()
        with private.OptimizerHooks(self.check):
            result = self.guard.step(*self.args, **self.kwargs)
        if self.fault is None:
            self.check_end(result)
        return result

    # ---- checks

    def check(self, optimizer: Any, args: Any, kwargs: Any) -> Any:
        """Check the gradients that an update will use; if it has a closure, they exist only after that."""
        if self.child is not None:  # the program's handlers have caught the exception
            raise NotFinite
        parameters, good = parameters_of(optimizer), self.good
        replaced = None
        if self.fault is None:
            replaced = with_closure(args, kwargs, functools.partial(self.checked, parameters, good))
            if replaced is not None or self.check_gradients(parameters, good, 0):
                self.good += 1
        self.updated.update(map(id, parameters))
        return replaced

    def checked(self, parameters: list[Any], good: int, closure: Any) -> Any:
        """Return a closure after which the gradients are checked. LBFGS calls it several times in a step."""
        calls = 0

        def closed(*args: Any, **kwargs: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls > 1 and self.fault is None:
                self.before.at_call.save([])
            loss = closure(*args, **kwargs)
            if self.fault is None:
                self.check_gradients(parameters, good, calls)
            return loss

        return closed

    def check_gradients(self, parameters: list[Any], good: int, call: int) -> bool:
        grads = [g for p in parameters if (g := p.grad) is not None]
        if all_finite(grads):
            self.finite.update(zip(map(id, grads), zip(map(weakref.ref, grads), private.versions_of(grads))))
            return True
        self.report(Fault("a gradient is not finite", parameters, self.updated, good, call))
        return False

    def check_end(self, result: Any) -> None:
        """Check the losses, the gradients that no check before an update has seen, and updates without an optimiser."""
        before = self.before
        what = ""
        if not all(math.isfinite(one.item()) for one in losses_of(result)):
            what = "the loss is not finite"
        # a GradScaler looks for infinite gradients itself, and skips the update
        elif not before.numbers.scalers and not all_finite(self.unseen(before.numbers.gradients.parameters)):
            what = "a gradient is not finite"
        elif not all_finite([p.detach() for p in before.by_hand.changing.values()]):
            what = "a parameter is not finite"
        if what:
            self.report(Fault(what, before.numbers.gradients.parameters, self.updated, self.good, result=result))

    def unseen(self, parameters: list[Any]) -> list[Any]:
        """Return the gradients of parameters that no check before an update has seen as they are now."""
        grads = [g for p in parameters if (g := p.grad) is not None]
        versions = private.versions_of(grads)
        nothing: Any = (None, -1)  # no tensor has this version
        known = [self.finite.get(id(g), nothing) for g in grads]
        return [g for g, now, (ref, then) in zip(grads, versions, known) if now != then or ref() is not g]

    # ---- the answer

    def report(self, fault: Fault) -> None:
        """Fork, and print the child's answer. In the child, leave the step; it is repeated when it has ended."""
        guard, self.fault = self.guard, fault
        guard.left -= 1
        reach = Reach(guard.step, self.args, self.kwargs)
        known = f"What is known without it: {facts(fault.result, list(reach.parameters()))}."
        reason = hindrance(reach)
        if reason:
            guard.tell([], f"{fault.what}; this step was not repeated, since {reason}. {known}")
            return
        from gradtrace.torch import forked

        try:
            child = forked.fork()
        except OSError as error:
            guard.tell(
                [], f"{fault.what}; this step was not repeated, since the process cannot fork ({error}). {known}"
            )
            return
        if not child.pid:
            self.child, self.fault = child, fault._replace(wanted=repetition.copies_of(fault.parameters))
            raise NotFinite
        limit = SECONDS + TIMES * (time.monotonic() - self.begun)
        answer = child.receive(limit)
        if answer is None:
            guard.tell(
                [],
                f"{fault.what}; repeating this step in a copy of the process gave no answer within {limit:.0f} s, or "
                f"ended early; a lock that another thread held at the time may be the reason. {known}",
            )
            return
        found = repetition.decoded(answer[0])
        if answer[1]:
            guard.recorded = repetition.read(answer[1], found, self.before.parameters, guard.level)
        if found.answer:
            guard.tell(found.notes, f"{fault.what}; this step was repeated under a recorder:\n{found.answer}")
        else:
            what = "where everything was finite" if answer[1] else "without success"
            guard.tell(found.notes, f"{fault.what}; this step was repeated under a recorder, {what}. {known}")


def hindrance(reach: Reach) -> str:
    """Say why a step cannot be repeated in a forked child; "" if it can."""
    if not hasattr(os, "fork"):
        return "this system cannot copy a process"
    kind = private.accelerator() or next((one.device.type for one in reach.leaves() if is_elsewhere(one)), "")
    if kind:
        return f"a process that uses {kind} cannot be copied"
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return "a process of a distributed training cannot be copied"
    iterator = reach.drawn_from()
    return f"it takes values from {iterator}, which is an iterator and cannot be copied" if iterator else ""


def is_elsewhere(tensor: Any) -> bool:
    return not (tensor.is_cpu or tensor.is_meta)
