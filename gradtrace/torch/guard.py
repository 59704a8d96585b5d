"""`@guard`: repeat a training step under a recorder when its loss or gradients are not finite.

    @gt.guard
    def step(x, y):
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

Before each call the state is saved (see state.py). During the call only the optimiser's step is watched: the gradients
are checked before it. If a check fails, parameters, buffers, gradients and random state are restored to their values
before the step, the step runs once more under `record("summary")` without its update, and the answer is printed.
"""

from __future__ import annotations

import copy
import functools
import math
import sys
import weakref
from collections.abc import Callable
from typing import Any, TypeVar, overload

import torch

from gradtrace.torch import private
from gradtrace.torch.patches import active
from gradtrace.torch.recording import record
from gradtrace.torch.state import State

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


class NotFinite(BaseException):
    """Raised to end a repeated step before its update; the program's handlers should not catch it."""

    ends_quietly = True  # for the recording: this is not a failure of the program


class Guard:
    """The guard of one training step: it calls the step, checks the result, and repeats the step if it is not
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
        self.scalers: list[Any] = []

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.left <= 0 or self.running or active() is not None:
            return self.step(*args, **kwargs)
        if self.before is None:
            env = environment(self.step, args, kwargs)
            self.before = State(modules_of(env), [one for one in env.values() if isinstance(one, torch.Generator)])
            self.scalers = [one for one in env.values() if isinstance(one, torch.amp.GradScaler) and one.is_enabled()]
        self.running = True
        try:
            return self.watch(self.before, args, kwargs)
        finally:
            self.before.forget()
            self.running = False

    def watch(self, before: State, args: Any, kwargs: Any) -> Any:
        """Run the step, and repeat it if it is not finite."""
        before.save()
        updates = Updates(before)
        with private.OptimizerHooks(updates.check):
            result = self.step(*args, **kwargs)
        # a GradScaler looks for infinite gradients itself, and skips the update
        rest = [] if self.scalers else updates.unseen(before.parameters)
        bad = updates.bad or first_bad(result, rest)
        if bad:
            self.left -= 1
            self.recorded = record(self.level)
            notes = self.repeat(self.recorded, updates, args, kwargs)
            text = f"{bad}; this step was repeated under a recorder:\n{answer_of(self.recorded)}"
            for line in (*notes, text):
                print(f"gradtrace guard: {line.rstrip()}", file=self.out or sys.stderr, flush=True)
        return result

    def repeat(self, recorded: record, updates: Updates, args: Any, kwargs: Any) -> list[str]:
        """Run the same step again, recorded; then restore the state that the step had left. Return in what the
        repetition differs from the step.
        """
        before = updates.before
        wanted = updates.gradients if updates.bad else copies_of(before.parameters)
        after = before.restore()
        scales = [(one, one.state_dict(), dict(one._per_optimizer_states)) for one in self.scalers]
        recorded._env = environment(self.step, args, kwargs)
        recorded._main = self.step.__code__.co_filename if hasattr(self.step, "__code__") else ""
        try:
            with recorded, Repetition(updates.good):
                self.step(*args, **kwargs)
        except NotFinite:
            pass
        except Exception as error:
            return [f"repeating the step failed: {type(error).__name__}: {error}"]
        finally:
            notes = differences(before, updates.good, wanted)
            after.put_back()
            for scaler, state, of_optimizers in scales:
                scaler.load_state_dict(state)
                scaler._per_optimizer_states.clear()
                scaler._per_optimizer_states.update(of_optimizers)
        return notes


class Updates:
    """The optimisers' steps during a guarded step: the gradients are checked before each."""

    def __init__(self, before: State) -> None:
        self.before = before
        self.good = 0  # updates with finite gradients
        self.bad = ""
        self.gradients: list[tuple[Any, Any]] = []  # parameters and copies of their gradients, if they are bad
        self.finite: dict[int, Any] = {}  # by id of a gradient that was finite: its weak reference and version

    def check(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        """Check the gradients that an update will use; if they are bad, copy the parameters that it would change."""
        if self.bad:
            return
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        grads = [g for p in parameters if (g := p.grad) is not None]
        if all_finite(grads):
            self.good += 1
            self.finite.update(zip(map(id, grads), zip(map(weakref.ref, grads), private.versions_of(grads))))
            return
        self.bad = "a gradient is not finite"
        self.gradients = copies_of(parameters)
        self.before.keep(parameters)

    def unseen(self, parameters: list[Any]) -> list[Any]:
        """Return the gradients of parameters that no check before an update has seen as they are now."""
        grads = [g for p in parameters if (g := p.grad) is not None]
        versions = private.versions_of(grads)
        nothing: Any = (None, -1)  # no tensor has this version
        known = [self.finite.get(id(g), nothing) for g in grads]
        return [g for g, now, (ref, then) in zip(grads, versions, known) if now != then or ref() is not g]


class Repetition:
    """The optimisers' steps during a repetition. The parameters already have the values after the good updates: these
    are undone. The one after them ends the repetition.
    """

    def __init__(self, good: int) -> None:
        self.left = good
        self.parameters: list[tuple[Any, Any]] = []
        self.state: Any = None
        self.hooks: Any = None

    def __enter__(self) -> None:
        self.hooks = private.OptimizerHooks(self.begin, self.end)
        self.hooks.__enter__()

    def __exit__(self, *error: object) -> None:
        self.hooks.__exit__()
        self.hooks = None  # it refers to this object

    def begin(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if not self.left:
            raise NotFinite
        self.left -= 1
        self.state = optimizer.state
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        with private.without_torch_function():  # the recorder should not see these
            self.parameters = [(p, p.detach().clone()) for p in parameters]
            optimizer.state = copy_of_state(optimizer.state)

    def end(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        optimizer.state = self.state
        with private.without_torch_function():
            for parameter, values in self.parameters:
                parameter.data.copy_(values)


def copy_of_state(state: Any) -> Any:
    """Copy an optimiser's state, whose keys are the parameters themselves."""
    copied = type(state)(getattr(state, "default_factory", None))
    copied.update({p: copy.deepcopy(one) for p, one in state.items()})
    return copied


def copies_of(parameters: list[Any]) -> list[tuple[Any, Any]]:
    return [(p, None if p.grad is None else p.grad.detach().clone()) for p in parameters]


def differences(before: State, updates: int, wanted: list[tuple[Any, Any]]) -> list[str]:
    """Say in what a repetition differs from its step; `wanted` are the gradients of the step."""
    if before.gradients.lost:
        return [
            f"{before.gradients.lost} gradients from before this step could not be restored, since the step changed "
            "them for the first time; the repetition added to zeros instead"
        ]
    if updates:
        many = "1 update" if updates == 1 else f"{updates} updates"
        return [f"{many} came before; the repetition computed with the parameters after that"]
    if all(is_equal(p.grad, grad) for p, grad in wanted):
        return []
    return ["the repetition gave other gradients than the step: the step depends on something that was not restored"]


def is_equal(a: Any, b: Any) -> bool:
    """Whether two gradients are equal in all elements; NaN is equal to NaN here."""
    if a is None or b is None:
        return a is b
    if a.shape != b.shape:
        return False
    a, b = a.detach().to_dense(), b.to_dense()
    return bool(((a == b) | (a.isnan() & b.isnan())).all())


def answer_of(recorded: record) -> str:
    """Return the answer of `why` for the first name whose gradient is not finite; else the statistics of the
    recording.
    """
    trace = recorded.trace()
    bad = next((t for t in trace.named if t.grad is not None and not t.grad.all_finite), None)
    if bad is not None:
        return recorded.why(bad.name)
    return recorded.stats()


def first_bad(result: Any, grads: list[Any]) -> str:
    """Describe the loss or gradients that are not finite after a step; "" if all are finite."""
    losses = [one for one in flat(result) if one.is_floating_point() and one.numel() == 1 and has_elements(one)]
    if not all(math.isfinite(one.item()) for one in losses):
        return "the loss is not finite"
    return "" if all_finite(grads) else "a gradient is not finite"


SMALL = 4096  # elements; a vector below this is joined with others, which costs less than a norm of its own


def all_finite(tensors: list[Any]) -> bool:
    """Whether all elements are finite; this waits once for the device.

    A norm is finite only if every element is; if it is not, it may also have overflowed, and the elements decide.
    """
    vectors: list[Any] = []
    others: list[Any] = []
    for one in tensors:
        if has_elements(one):
            (vectors if one.dim() == 1 and one.numel() < SMALL else others).append(one)
    if not vectors and not others:
        return True
    try:
        if vectors:
            others.append(torch.cat(vectors))
        norms = torch.stack(private.norms(others)).tolist()
    except RuntimeError:  # several devices, or a sparse tensor
        return each_finite(tensors)
    return all(map(math.isfinite, norms)) or each_finite(tensors)


def has_elements(tensor: Any) -> bool:
    """Whether a tensor's elements can be read: those of the meta device and of fake tensors have none."""
    return not tensor.is_meta and type(tensor).__name__ != "FakeTensor"


def each_finite(tensors: list[Any]) -> bool:
    """Whether all elements of any tensors are finite; this waits for one number from each device."""
    by_device: dict[Any, list[Any]] = {}
    for one in tensors:
        values = one._values() if one.is_sparse else one
        by_device.setdefault(one.device, []).append(torch.isfinite(values).all())
    return all(bool(torch.stack(found).all()) for found in by_device.values())


def flat(value: Any) -> list[Any]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = tuple(value.values())
    return [one for item in value for one in flat(item)] if isinstance(value, (tuple, list)) else []


def environment(step: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    """Return the variables that a step can see: globals, closure variables, and its arguments."""
    function = getattr(step, "__func__", step)
    found = dict(getattr(function, "__globals__", {}))
    code = getattr(function, "__code__", None)
    cells = getattr(function, "__closure__", None) or ()
    for name, cell in zip(code.co_freevars if code else (), cells, strict=False):
        try:
            found[name] = cell.cell_contents
        except ValueError:
            continue
    if code is not None:
        found.update(zip(code.co_varnames, args, strict=False))
    if hasattr(step, "__self__"):
        found["self"] = step.__self__
    return {**found, **kwargs}


def modules_of(env: dict[str, Any]) -> list[Any]:
    """Return the modules that a step can reach: in its variables, and as attributes of its object."""
    found: dict[int, Any] = {}
    values = list(env.values())
    if "self" in env:
        values += list(getattr(env["self"], "__dict__", {}).values())
    for value in values:
        if isinstance(value, torch.nn.Module):
            found[id(value)] = value
        elif isinstance(value, (list, tuple)):
            found.update({id(one): one for one in value if isinstance(one, torch.nn.Module)})
    return list(found.values())
