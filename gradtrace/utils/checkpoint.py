"""torch.utils.checkpoint: functions are called as without it, and what backward needs is kept.

https://pytorch.org/docs/stable/checkpoint.html. PyTorch computes these values again in backward to
save memory; the values and gradients are the same.
"""

from __future__ import annotations

import warnings

from gradtrace.annotations import Any, Callable
from gradtrace.engine import Function, Tensor, no_grad

__all__ = ["CheckpointFunction", "checkpoint", "checkpoint_sequential"]

OPTIONS = ("preserve_rng_state", "early_stop", "determinism_check", "context_fn", "debug")
CHOOSE = (
    "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in "
    "PyTorch 2.9, calling checkpoint without use_reentrant will raise an exception. "
    "use_reentrant=False is recommended, but if you need to preserve the current default "
    "behavior, you can pass use_reentrant=True. Refer to docs for more details on the differences "
    "between the two variants."
)
CHOOSE_SEQUENTIAL = (
    "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed "
    "explicitly. In version 2.9 we will raise an exception if use_reentrant is not passed. "
    "use_reentrant=False is recommended, but if you need to preserve the current default "
    "behavior, you can pass use_reentrant=True. Refer to docs for more details on the differences "
    "between the two variants."
)
NO_INPUT = "None of the inputs have requires_grad=True. Gradients will be None"


def checkpoint(
    function: Callable[..., Any], *args: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Return `function(*args, **kwargs)`. PyTorch's options of the recomputation are accepted and
    have no effect.

    With `use_reentrant=True` the result has no graph if none of the arguments requires grad, and
    keyword arguments are a ValueError, as in PyTorch.
    """
    if use_reentrant is None:
        warnings.warn(CHOOSE, UserWarning, stacklevel=2)
        use_reentrant = True
    for option in OPTIONS:
        kwargs.pop(option, None)
    if not use_reentrant:
        return function(*args, **kwargs)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if any(isinstance(value, Tensor) and value.requires_grad for value in args):
        return function(*args)
    warnings.warn(NO_INPUT, UserWarning, stacklevel=2)
    return CheckpointFunction.apply(function, *args)


class CheckpointFunction(Function):
    """A reentrant checkpoint none of whose inputs requires grad: one node that has no graph."""

    @staticmethod
    def forward(ctx: Any, run_function: Callable[..., Any], *args: Any) -> Any:
        with no_grad():
            return run_function(*args)


def checkpoint_sequential(
    functions: Any, segments: int, input: Tensor, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Run modules or functions one after the other, split into `segments`; checkpoint all segments
    but the last.
    """
    if use_reentrant is None:
        warnings.warn(CHOOSE_SEQUENTIAL, UserWarning, stacklevel=2)
        use_reentrant = True
    kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    steps = list(functions.children()) if hasattr(functions, "children") else list(functions)
    size = len(steps) // segments
    end = size * (segments - 1)
    for start in range(0, end, size):
        input = checkpoint(in_turn(steps[start : start + size]), input, use_reentrant=use_reentrant)
    return in_turn(steps[end:])(input)


def in_turn(steps: list[Any]) -> Callable[[Any], Any]:
    def run(value: Any) -> Any:
        for step in steps:
            value = step(value)
        return value

    return run
