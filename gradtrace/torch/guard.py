"""`@guard`: repeat a training step under a recorder when its loss or gradients are not finite.

    @gt.guard
    def step(x, y):
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

Before each call the state is saved (see state.py). During the call only the optimisers' steps are
watched: the gradients are checked before each. If a check fails, the process forks (see forked.py).
The child leaves the step, restores the state, runs the step once more under `record("summary")` up
to the same update (see repetition.py), and sends the answer and the record. The parent prints the
answer and goes on; nothing of its own was touched.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Callable
from typing import Any, TypeVar, overload

import torch
from torch.optim import Optimizer

from gradtrace.errors import UsageError
from gradtrace.torch import repetition
from gradtrace.torch.capsule import asking, name_of
from gradtrace.torch.capsule_asked import AskedCapsule
from gradtrace.torch.guard_call import WatchedCall
from gradtrace.torch.guard_capsule import StepParts
from gradtrace.torch.guard_losses import LossLevels
from gradtrace.torch.passes import text_of
from gradtrace.torch.patches import active
from gradtrace.torch.reach import Reach
from gradtrace.torch.recording import record
from gradtrace.torch.state import State

MOST_STATES = 4  # of calls with other models
# not part of a batch
APART: Any = (Optimizer, torch.amp.GradScaler, torch.optim.lr_scheduler.LRScheduler)
F = TypeVar("F", bound=Callable[..., Any])


@overload
def guard(step: F) -> F: ...


@overload
def guard(
    *,
    level: str = ...,
    out: Any = ...,
    limit: int = ...,
    capsule: Any = ...,
    spike: float | None = ...,
) -> Callable[[F], F]: ...


def guard(
    step: Any = None,
    *,
    level: str = "summary",
    out: Any = None,
    limit: int = 1,
    capsule: Any = None,
    spike: float | None = None,
) -> Any:
    """Watch over a training step: repeat it under a recorder when its loss or gradients are not
    finite.

    The step is a function that computes a loss, calls backward and usually an optimiser's step; its
    result is returned. `level` is the level of the recording, `out` the stream for the answer
    (stderr by default), `limit` the largest number of answers. `capsule` is a folder, which gets a
    capsule of each step that was repeated: `gradtrace replay` runs it again in another process. The
    last recording is `step.guard.recorded`.

    `spike` is how many robust deviations a loss may be above the median of the 50 before it (a
    robust deviation is their median absolute deviation, at least 1 % of the median and three
    quarters of how far the largest of the 50 is above it): a step with a larger one is repeated,
    and gets a capsule too, at most three times. A loss is a number of which backward computes
    gradients. None, the default, judges no loss. UsageError if `spike` is not positive.
    """
    levels = LossLevels(spike)
    if step is None:
        return lambda function: guarded(
            function, StepGuard(function, level, out, limit, capsule, levels)
        )
    return guarded(step, StepGuard(step, level, out, limit, capsule, levels))


def guarded(step: Any, watch: StepGuard) -> Any:
    """Return the guarded step as a function, with its StepGuard as the attribute `guard`."""

    @functools.wraps(step)
    def watched(*args: Any, **kwargs: Any) -> Any:
        return watch(*args, **kwargs)

    watched.guard = watch  # type: ignore[attr-defined]
    return watched


class StepGuard:
    """The guard of one training step: it calls the step, checks the result, and has the step
    repeated if it is not finite.
    """

    has_updates = True  # whether the step updates the parameters itself
    # whether a step is one batch, whose gradients are added to those of the batches before it
    sums_gradients = False

    def __init__(
        self,
        step: Any,
        level: str,
        out: Any,
        limit: int,
        capsule: Any = None,
        levels: LossLevels | None = None,
    ) -> None:
        self.step = step
        self.level = level
        self.out = out
        self.left = limit
        self.levels = levels or LossLevels(None)
        self.folder = None if capsule is None else os.fspath(capsule)
        self.calls = 0
        self.running = False
        self.seen: list[str] = []  # what was told, in short
        self.recorded: record | None = None  # of the last step that was not finite
        self.before: State | None = None  # of the models and optimizers of this call
        # by id() of these, which the states keep alive: made at the first call with them, and used
        # again
        self.states: dict[tuple[int, ...], State] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        if self.running or active() is not None:
            return self.step(*args, **kwargs)
        if asking.is_waiting:
            with AskedCapsule(self, args, kwargs) as asked:
                asked.result = self.call(args, kwargs)
            return asked.result
        return self.call(args, kwargs)

    def call(self, args: Any, kwargs: Any) -> Any:
        """Call the step; have it repeated if it is bad."""
        if self.left <= 0 or not self.can_guard(args, kwargs):
            return self.step(*args, **kwargs)
        assert self.before is not None
        call = WatchedCall(self, self.before, args, kwargs)
        try:
            self.running = True
            try:
                return call.run()
            finally:
                self.end(call, self.before)
        finally:
            self.running = False

    def end(self, call: WatchedCall, before: State) -> None:
        """End a call; in a child, repeat it and do not return."""
        if call.child is not None:
            again = functools.partial(
                repetition.repeated, self, before, call.fault, call.args, call.kwargs, call.capsule
            )
            repetition.send(call.child, again)
        before.forget(call.updated)

    def can_guard(self, args: Any, kwargs: Any) -> bool:
        """Look at what the step can reach, at the first call. If that fails, say so once and guard
        no more.
        """
        try:
            key = tuple(
                id(argument)
                for argument in (*args, *kwargs.values())
                if isinstance(argument, (torch.nn.Module, Optimizer))
            )
            self.before = self.states.get(key)
            if self.before is None:
                if len(self.states) == MOST_STATES:
                    self.states.pop(next(iter(self.states)))
                self.before = self.states[key] = self.state(args, kwargs)
        except Exception as error:  # a variable of the program that cannot be looked at
            self.left = 0
            self.tell(
                [],
                "the training is not guarded: looking at the step's variables failed: "
                f"{text_of(error)}",
            )
        return self.left > 0

    def state(self, args: Any, kwargs: Any) -> State:
        state = State(self.reach(args, kwargs))
        state.by_hand.is_known = not self.has_updates
        state.numbers.gradients.are_summed = state.at_call.gradients.are_summed = (
            self.sums_gradients
        )
        return state

    def reach(self, args: Any, kwargs: Any) -> Reach:
        """Return what the step can reach if it is called with these arguments."""
        return Reach(self.step, args, kwargs)

    def where(self) -> str:
        """Return where in the training the step is, as the begin of a sentence; "" if that is not
        known.
        """
        return ""

    def label(self) -> str:
        """Return the name of this step's capsule, without a suffix."""
        return f"step-{self.calls}"

    def parts(self, args: Any, kwargs: Any) -> StepParts:
        """Return what a capsule of a call has. UsageError if that is not one model and what it was
        trained with.
        """
        reach = self.reach(args, kwargs)
        name, model = the_model(reach)
        arguments = [
            argument
            for argument in (*args, *kwargs.values())
            if not isinstance(argument, (torch.nn.Module, *APART))
        ]
        return StepParts(
            model,
            name,
            arguments[0] if len(arguments) == 1 else tuple(arguments),
            name_of(self.step),
            {},
        )

    def tell(self, notes: list[str], text: str) -> None:
        self.seen.append(self.where() + text.partition(";")[0])
        self.write([*notes, self.where() + text])

    def tell_again(self, how: str) -> None:
        """Repeat in one line each, at the end of a training, what was said in the middle of other
        output.
        """
        self.write([f"training {how}; {remark} (see above)" for remark in self.seen])
        self.seen = []

    def write(self, lines: list[str]) -> None:
        with contextlib.suppress(Exception):  # a stream that is closed is not the training's fault
            for line in lines:
                print(f"gradtrace guard: {line.rstrip()}", file=self.out or sys.stderr, flush=True)


def the_model(reach: Reach) -> tuple[str, Any]:
    """Return the one model of a step that has parameters, and its name. UsageError if there is not
    one alone.
    """
    named = [
        (name, variable)
        for name, variable in reach.values()
        if isinstance(variable, torch.nn.Module) and reach.is_named(name)
    ]
    inner = {id(m) for _, module in named for m in module.modules() if m is not module}
    outer = {
        id(module): (name, module)
        for name, module in reversed(named)
        if id(module) not in inner and has_any(module)
    }
    if len(outer) != 1:
        names = ", ".join(name for name, _ in outer.values())
        raise UsageError(
            f"it is trained with {len(outer)} models{f' ({names})' if outer else ''}; a capsule "
            "has one"
        )
    ((name, model),) = outer.values()
    own_ids = {id(p) for p in model.parameters()}
    foreign = next(
        (
            name
            for name, parameter in reach.parameters()
            if id(parameter) not in own_ids and reach.is_named(name)
        ),
        "",
    )
    if foreign:
        raise UsageError(
            f"it trains {foreign}, which is not a parameter of {name}; a capsule has one model"
        )
    return name, model


def has_any(module: Any) -> bool:
    return next(module.parameters(), None) is not None
