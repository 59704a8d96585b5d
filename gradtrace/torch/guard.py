"""`@guard`: repeat a training step under a recorder when its loss or gradients are not finite.

    @gt.guard
    def step(x, y):
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

Before each call the random state, copies of the buffers, and references to the gradients with their version counters
are saved. During the call only the optimiser's step is watched: the gradients are checked before it. If a check fails,
parameters, buffers and random state are restored to their values before the step, the step runs once more under
`record("summary")` without its update, and the answer is printed.
"""

from __future__ import annotations

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
        self.recorded: record | None = None  # of the last step that was not finite
        self.tensors: tuple[list[Any], list[Any]] | None = None  # parameters and buffers, found at the first call
        self.scalers: list[Any] = []

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.left <= 0 or active() is not None:
            return self.step(*args, **kwargs)
        if self.tensors is None:
            env = environment(self.step, args, kwargs)
            self.tensors = tensors_of(modules_of(env))
            self.scalers = [one for one in env.values() if isinstance(one, torch.amp.GradScaler) and one.is_enabled()]
        before = State(*self.tensors)
        seen: list[Any] = []
        finite: dict[int, Any] = {}  # by id: gradients that were finite before an update, not to be looked at again
        handles = private.optimizer_hooks(lambda o, a, k: self.check(o, before, seen, finite), lambda o, a, k: None)
        try:
            result = self.step(*args, **kwargs)
        finally:
            for handle in handles:
                handle.remove()
        # a GradScaler looks for infinite gradients itself, and skips the update
        rest = [] if self.scalers else [p for p in before.parameters if not is_same(finite.get(id(p.grad)), p.grad)]
        bad = seen[0] if seen else first_bad(result, rest)
        if bad:
            self.repeat(bad, before, args, kwargs)
        before.forget()
        return result

    def check(self, optimizer: Any, before: State, seen: list[Any], finite: dict[int, Any]) -> None:
        """Check before an update the gradients that it will use; if they are bad, copy the parameters that it would
        change.
        """
        parameters = [p for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        if not seen and not all_finite([p.grad for p in parameters]):
            seen.append("a gradient is not finite")
            before.keep(parameters)
        else:
            finite.update((id(p.grad), weakref.ref(p.grad)) for p in parameters)

    def repeat(self, bad: str, before: State, args: Any, kwargs: Any) -> None:
        """Run the same step again, recorded; then restore the state that the step had left."""
        self.left -= 1
        after = before.restore()
        scales = [(one, one.state_dict(), dict(one._per_optimizer_states)) for one in self.scalers]
        stop = private.optimizer_hooks(stop_step, lambda o, a, k: None)
        recorded = record(self.level)
        recorded._env = environment(self.step, args, kwargs)
        recorded._main = self.step.__code__.co_filename if hasattr(self.step, "__code__") else ""
        try:
            with recorded:
                self.step(*args, **kwargs)
        except NotFinite:
            pass
        except Exception as error:
            self.tell(f"repeating the step failed: {type(error).__name__}: {error}")
        finally:
            for handle in stop:
                handle.remove()
            after.put_back()
            for scaler, state, of_optimizers in scales:
                scaler.load_state_dict(state)
                scaler._per_optimizer_states.clear()
                scaler._per_optimizer_states.update(of_optimizers)
        self.recorded = recorded
        self.tell(f"{bad}; this step was repeated under a recorder:\n{answer_of(recorded)}")

    def tell(self, text: str) -> None:
        print(f"gradtrace guard: {text.rstrip()}", file=self.out or sys.stderr, flush=True)


def is_same(known: Any, tensor: Any) -> bool:
    """Whether a weak reference is to this tensor; an id alone may be that of a later tensor."""
    return known is not None and known() is tensor


def stop_step(optimizer: Any, args: Any, kwargs: Any) -> None:
    raise NotFinite


def answer_of(recorded: record) -> str:
    """Return the answer of `why` for the first name whose gradient is not finite; else the statistics of the
    recording.
    """
    trace = recorded.trace()
    bad = next((t for t in trace.named if t.grad is not None and not t.grad.all_finite), None)
    if bad is not None:
        return recorded.why(bad.name)
    return recorded.stats()


def first_bad(result: Any, parameters: list[Any]) -> str:
    """Describe the loss or gradients that are not finite after a step; "" if all are finite."""
    losses = [one for one in flat(result) if one.is_floating_point() and one.numel() == 1]
    grads = [p.grad for p in parameters if p.grad is not None]
    if losses and not all_finite(losses):
        return "the loss is not finite"
    return "" if all_finite(grads) else "a gradient is not finite"


def all_finite(tensors: list[Any]) -> bool:
    """Whether all elements are finite; this waits for one number from each device."""
    by_device: dict[Any, list[Any]] = {}
    for tensor in tensors:
        data = tensor.detach()
        if data.layout is torch.sparse_coo:
            data = data._values()
        if data.layout is torch.strided and data.is_floating_point() and data.numel():
            by_device.setdefault((data.device, data.dtype), []).append(data)
    for (_, dtype), group in by_device.items():
        norms = torch.stack(torch._foreach_norm(group, math.inf)) if dtype not in SUMMED else sums(group)
        if not math.isfinite(norms.float().sum().item()) and not all(bool(torch.isfinite(d).all()) for d in group):
            return False
    return True


SUMMED = (torch.float32, torch.float64)  # a sum is the fastest number that is finite only if every element is


def sums(group: list[Any]) -> Any:
    return torch.stack([data.sum() for data in group])


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


class State:
    """The state before a step: buffers, gradients, random state, and the parameters that an update would change.

    Gradients are kept by reference, since a step usually replaces them (`zero_grad` sets them to None); one that the
    step changed in place is restored as zeros. Buffers are copied. Parameters change only in an update, and `keep`
    copies them before it if needed.
    """

    def __init__(self, parameters: list[Any], buffers: list[Any]) -> None:
        self.parameters = parameters
        self.buffers = [(b, b.detach().clone()) for b in buffers]
        self.grads = [(p, p.grad, private.version_of(p.grad)) for p in parameters if p.grad is not None]
        self.without = [p for p in parameters if p.grad is None]
        self.random = random_state()
        self.kept: list[tuple[Any, Any]] = []

    def keep(self, parameters: list[Any]) -> None:
        """Copy parameters that an update is about to change."""
        self.kept += [(p, p.detach().clone()) for p in parameters]

    def restore(self) -> Restored:
        """Restore everything, and return the state after the step."""
        after = Restored(self.buffers, self.parameters, self.kept)
        with torch.no_grad():
            for tensor, copy in (*self.buffers, *self.kept):
                tensor.data.copy_(copy)
        for parameter in self.without:
            parameter.grad = None
        for parameter, grad, version in self.grads:
            parameter.grad = grad if private.version_of(grad) == version else torch.zeros_like(grad)
        set_random_state(self.random)
        return after

    def forget(self) -> None:
        self.kept.clear()


class Restored:
    """The state after a step, which is restored after the step's repetition."""

    def __init__(self, buffers: list[Any], parameters: list[Any], kept: list[Any]) -> None:
        self.values = [(t, t.detach().clone()) for t, _ in (*buffers, *kept)]
        self.grads = [(p, p.grad, None if p.grad is None else p.grad.detach().clone()) for p in parameters]
        self.random = random_state()

    def put_back(self) -> None:
        with torch.no_grad():
            for tensor, copy in self.values:
                tensor.data.copy_(copy)
            for parameter, grad, copy in self.grads:
                if grad is not None:
                    grad.data.copy_(copy)
                parameter.grad = grad
        set_random_state(self.random)


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


def tensors_of(modules: list[Any]) -> tuple[list[Any], list[Any]]:
    """Return the parameters and buffers of modules, each once."""
    parameters = {id(p): p for m in modules for p in m.parameters()}
    buffers = {id(b): b for m in modules for b in m.buffers()}
    return list(parameters.values()), list(buffers.values())


def random_state() -> Any:
    import random

    on_gpu = torch.cuda.get_rng_state_all() if torch.cuda.is_available() and torch.cuda.is_initialized() else None  # type: ignore[no-untyped-call]
    numpy = sys.modules.get("numpy")
    return torch.get_rng_state(), on_gpu, random.getstate(), None if numpy is None else numpy.random.get_state()


def set_random_state(state: Any) -> None:
    import random

    on_cpu, on_gpu, python, numpy_state = state
    torch.set_rng_state(on_cpu)
    if on_gpu is not None:
        torch.cuda.set_rng_state_all(on_gpu)
    random.setstate(python)
    if numpy_state is not None:
        import numpy

        numpy.random.set_state(numpy_state)
