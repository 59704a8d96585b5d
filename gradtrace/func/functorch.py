"""The names of functorch: those of torch.func, and older functions that split a module into a
function and tensors.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from gradtrace.func import _HOMES as FUNC
from gradtrace.func.stateless import functional_call, stack_module_state
from gradtrace.lazy_names import attach

__all__ = [*FUNC, "combine_state_for_ensemble", "make_functional", "make_functional_with_buffers"]


def make_functional(
    model: Any, disable_autograd_tracking: bool = False
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return f(params, *inputs), which calls a copy of the model with these parameters, and the
    copy's parameters.
    """
    function, params, buffers = make_functional_with_buffers(model, disable_autograd_tracking)

    def functional(params: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        return function(params, buffers, *args, **kwargs)

    return functional, params


def make_functional_with_buffers(
    model: Any, disable_autograd_tracking: bool = False
) -> tuple[Callable[..., Any], tuple[Any, ...], tuple[Any, ...]]:
    """Return f(params, buffers, *inputs), which calls a copy of the model with these tensors, and
    the copy's parameters and buffers.
    """
    module = copy.deepcopy(model)
    parameters = dict(module.named_parameters())
    own_buffers = dict(module.named_buffers())
    if disable_autograd_tracking:
        for parameter in parameters.values():
            parameter.requires_grad_(False)

    def functional(params: Sequence[Any], buffers: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        tensors = dict(zip((*parameters, *own_buffers), (*params, *buffers), strict=True))
        return functional_call(module, tensors, args, kwargs)

    return functional, tuple(parameters.values()), tuple(own_buffers.values())


def combine_state_for_ensemble(
    models: Sequence[Any],
) -> tuple[Callable[..., Any], tuple[Any, ...], tuple[Any, ...]]:
    """Return f(params, buffers, *inputs), which calls a copy of the first model with these tensors,
    and the models' stacked parameters and buffers. RuntimeError without models.
    """
    if not models:
        raise RuntimeError("combine_state_for_ensemble: Expected at least one model, got 0.")
    function, _, _ = make_functional_with_buffers(models[0])
    params, buffers = stack_module_state(list(models))
    return function, tuple(params.values()), tuple(buffers.values())


__getattr__, __dir__ = attach(__name__, FUNC, listed=__all__, shown_as="functorch")
