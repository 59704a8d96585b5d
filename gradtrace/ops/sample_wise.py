"""Public functions that read values or create tensors in addition to calling records.

A running vmap intercepts each call of a record (`state.batching`). These functions also read the values of their
arguments (to sort or index), draw random numbers, or create tensors, so vmap must intercept their own calls.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any, Callable
from gradtrace.engine.state import state

if TYPE_CHECKING:
    from gradtrace.ops.api import F


def sample_wise(function: F, kind: str) -> F:
    """Wrap a function so that a running vmap intercepts its calls. The kind says what it does with them:

    samples  call a rule of `func/function_rules.py` for all samples at once, or else the function for each of them
    like     call the function once for all samples; each sample then gets its own copy of the result
    random   draw numbers, as the vmap's `randomness` says
    dynamic  refuse: each sample's result would have another shape, or is not a tensor
    """

    def call(*args: Any, **options: Any) -> Any:
        if state.batching is None:
            return function(*args, **options)
        return state.batching.call(function, call, args, options)

    wrapper = copy_metadata(call, function)
    wrapper.vmap = kind
    return wrapper


def copy_metadata(call: Any, function: Callable[..., Any]) -> Any:
    """Copy metadata as functools.wraps does; importing functools is slow."""
    for name in ("__module__", "__name__", "__qualname__", "__doc__", "__annotations__"):
        setattr(call, name, getattr(function, name))
    vars(call).update(vars(function))
    call.__wrapped__ = function
    return call
