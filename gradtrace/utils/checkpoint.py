"""torch.utils.checkpoint: values are computed again in backward instead of being kept.

https://pytorch.org/docs/stable/checkpoint.html. With `use_reentrant=False`, hooks on saved tensors drop the tensors
that the function saves; when backward reads the first of them, an unpack hook runs the function again. With True, the
function is one node of the graph, whose backward runs it again and calls `backward` on the result.
"""

from __future__ import annotations

import warnings
from contextlib import nullcontext

from gradtrace.annotations import Any, Callable, Iterable
from gradtrace.autograd.graph import saved_tensors_hooks
from gradtrace.engine import Function, Tensor, backward, enable_grad, no_grad
from gradtrace.engine.data.state import state
from gradtrace.ops.random.generator import get_rng_state, set_rng_state
from gradtrace.utils.recomputation import CheckpointError, Frame, GraphExecGroup, Log

__all__ = [
    "CheckpointError", "CheckpointFunction", "GraphExecGroup", "checkpoint", "checkpoint_sequential",
    "set_checkpoint_debug_enabled", "set_checkpoint_early_stop",
]  # fmt: skip

CHECKS = ("default", "none")
_early_stop: bool | None = None  # what set_checkpoint_early_stop says
_debug: bool | None = None  # what set_checkpoint_debug_enabled says

CHOOSE = (
    "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, calling "
    "checkpoint without use_reentrant will raise an exception. use_reentrant=False is recommended, but if you need to "
    "preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for more details on the "
    "differences between the two variants."
)
CHOOSE_SEQUENTIAL = (
    "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed explicitly. In version "
    "2.9 we will raise an exception if use_reentrant is not passed. use_reentrant=False is recommended, but if you "
    "need to preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for more details on "
    "the differences between the two variants."
)
WITH_INPUTS = (
    "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` parameter to "
    ".backward(). To resolve this error, you can either set use_reentrant=False, or call .backward() without passing "
    "the `inputs` argument."
)


def checkpoint(function: Callable[..., Any], *args: Any, use_reentrant: bool | None = None, **kwargs: Any) -> Any:
    """Return `function(*args, **kwargs)` without keeping saved tensors; backward runs the function again to get them.

    `preserve_rng_state=True`: both runs draw the same random numbers. `context_fn()` returns two context managers, for
    the first and for the second run. The second run stops once it has computed all saved tensors, unless
    `early_stop=False`. Its saved tensors must have the shapes and dtypes of the first run's, unless
    `determinism_check="none"`. With `debug=True` the error for a difference lists the operators of both runs.

    CheckpointError if the second run differs, or backward reads a value twice. ValueError for keyword arguments with
    `use_reentrant=True`.
    """
    if use_reentrant is None:
        warnings.warn(CHOOSE, UserWarning, stacklevel=2)
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    early_stop = kwargs.pop("early_stop", True)
    check = kwargs.pop("determinism_check", "default")
    contexts, debug = kwargs.pop("context_fn", no_contexts), kwargs.pop("debug", False)
    if not use_reentrant:
        if check not in CHECKS:
            raise ValueError(f"determinism_check should be one of {list(CHECKS)}, but got {check}")
        log = Log() if (debug if _debug is None else _debug) else None
        if log is not None and contexts is not no_contexts:
            raise ValueError("debug=True is incompatible with non-default context_fn")
        forward, again = contexts() if log is None else (log.recording(0), log.recording(1))
        if not state.grad_enabled:
            return function(*args, **kwargs)
        stops = early_stop if _early_stop is None else _early_stop
        random = get_rng_state() if preserve else None
        frame = Frame(function, args, kwargs, random, stops, again, check == "default", log)
        with saved_tensors_hooks(frame.pack, frame.unpack), forward:
            result = function(*args, **kwargs)
        frame.is_complete = True
        return result
    if contexts is not no_contexts or debug:
        raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    return CheckpointFunction.apply(function, preserve, *args)


# ---- by hooks on saved tensors


def no_contexts() -> tuple[Any, Any]:
    return nullcontext(), nullcontext()


class set_checkpoint_early_stop:
    """Context manager that overrides the option `early_stop` of all calls of `checkpoint` inside."""

    def __init__(self, enable: bool) -> None:
        self.enable = enable

    def __enter__(self) -> None:
        global _early_stop
        self.before, _early_stop = _early_stop, self.enable

    def __exit__(self, *exc: object) -> None:
        global _early_stop
        _early_stop = self.before


class set_checkpoint_debug_enabled:
    """Context manager that overrides the option `debug` of all calls of `checkpoint` inside; None: no override."""

    def __init__(self, enabled: bool | None) -> None:
        self.enabled = enabled

    def __enter__(self) -> None:
        global _debug
        self.before, _debug = _debug, self.enabled

    def __exit__(self, *exc: object) -> None:
        global _debug
        _debug = self.before


# ---- as one node


class CheckpointFunction(Function):
    """A custom Function that makes a checkpointed function one node, whose backward runs the function again."""

    @staticmethod
    def forward(ctx: Any, run_function: Callable[..., Any], preserve: bool, *args: Any) -> Any:
        if not any(a.requires_grad for a in args if isinstance(a, Tensor)):
            warnings.warn(
                "None of the inputs have requires_grad=True. Gradients will be None", UserWarning, stacklevel=2
            )
        ctx.run_function = run_function
        ctx.random = get_rng_state() if preserve else None
        ctx.inputs = [None if isinstance(a, Tensor) else a for a in args]
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        if state.running is not None and state.running.needed is not None:
            raise RuntimeError(WITH_INPUTS)
        inputs = list(ctx.inputs)
        for place, tensor in zip(ctx.places, ctx.saved_tensors, strict=True):
            inputs[place] = tensor
        inputs = list(detached(inputs))
        before = get_rng_state()
        try:
            if ctx.random is not None:
                set_rng_state(ctx.random)
            with enable_grad():
                outputs = ctx.run_function(*inputs)
        finally:
            if ctx.random is not None:
                set_rng_state(before)
        outputs = (outputs,) if isinstance(outputs, Tensor) else outputs
        pairs = [(o, g) for o, g in zip(outputs, gradients, strict=True) if isinstance(o, Tensor) and o.requires_grad]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([o for o, _ in pairs], [g for _, g in pairs])
        return (None, None, *(i.grad if isinstance(i, Tensor) else None for i in inputs))


def detached(inputs: Iterable[Any]) -> tuple[Any, ...]:
    """Return the inputs with each tensor detached: a new leaf that requires grad if the tensor does."""
    return tuple(i.detach().requires_grad_(i.requires_grad) if isinstance(i, Tensor) else i for i in inputs)


def checkpoint_sequential(
    functions: Any, segments: int, input: Tensor, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Run modules or functions one after the other, split into `segments`; checkpoint all segments but the last."""
    if use_reentrant is None:
        warnings.warn(CHOOSE_SEQUENTIAL, UserWarning, stacklevel=2)
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    steps = list(functions.children()) if hasattr(functions, "children") else list(functions)
    size = len(steps) // segments
    end = -1
    for start in range(0, size * (segments - 1), size):
        end = start + size - 1
        input = checkpoint(
            in_turn(steps[start : end + 1]), input, use_reentrant=use_reentrant, preserve_rng_state=preserve
        )
    return in_turn(steps[end + 1 :])(input)


def in_turn(steps: list[Any]) -> Callable[[Any], Any]:
    def run(value: Any) -> Any:
        for step in steps:
            value = step(value)
        return value

    return run
