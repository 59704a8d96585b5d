"""Views: how a view was created (PyTorch's CreationMeta) decides whether it may be changed in
place.

A view made in no_grad mode, one of several views that one operation returned, or a view that a
custom Function returned must not be changed in place (nor its base) where gradients are tracked,
because its history would be wrong.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING
from gradtrace.engine.data.node import bare_name, named
from gradtrace.engine.data.state import state
from gradtrace.engine.data.tensor_fields import View

if TYPE_CHECKING:
    from gradtrace.engine.data.node import Node
    from gradtrace.engine.data.tensor import Tensor

PLAIN = "plain"
MULTI = "multi"
NO_GRAD = "no_grad"
INFERENCE = "inference"
CUSTOM = "custom"
DIRECT = "is being"
INDIRECT = "its base or another view of its base has been"
ADVICE = {
    MULTI: " This view is the output of a function that returns multiple views. Such functions do "
    "not allow the output "
    "views to be modified inplace. You should replace the inplace operation by an out-of-place "
    "one.",
    NO_GRAD: " Given that this use case is ambiguous and error-prone, it is forbidden. You can "
    "clarify your code by "
    "moving both the view and the inplace either both inside the no_grad block (if you don't want "
    "the inplace "
    "to be tracked) or both outside (if you want the inplace to be tracked).",
    INFERENCE: " Given that this use case is ambiguous and error-prone, it is forbidden. You can "
    "clarify your code by "
    "moving both the view and the inplace either both inside the inference_mode block (if you "
    "don't want "
    "the inplace to be tracked) or both outside (if you want the inplace to be tracked).",
    CUSTOM: " This view was created inside a custom Function (or because an input was returned "
    "as-is) and the autograd "
    "logic to handle view+inplace would override the custom backward associated with the custom "
    "Function, "
    "leading to incorrect gradients. This behavior is forbidden. You can fix this by cloning the "
    "output of the "
    "custom Function.",
}


def creation(several: bool, source: View | None) -> str:
    """Return how a view that is made now is created; `source` is the View of the viewed tensor, if
    it is a view.
    """
    if state.inference:
        return INFERENCE
    if not state.grad_enabled:
        return NO_GRAD
    if several:
        return MULTI
    return PLAIN if source is None else source.creation


def mark_view(out: Tensor, source: Tensor, several: bool = False) -> None:
    """Make `out` a view with the version counter of `source`; its base is `source`, or the base of
    `source`.
    """
    extra = out.extra()
    extra.inference = extra.needs_slow_path = source.is_inference()
    if extra.inference:
        return
    extra.counter = source.counter()
    view = None if source._x is None else source._x.view
    extra.needs_slow_path = True
    extra.view = View(
        source if view is None else view.base, creation(several, view), extra.counter.n
    )


def refuse_change(tensor: Tensor, view: View, how: str) -> None:
    """Raise RuntimeError, in PyTorch's words, if an in-place change of a view cannot be
    recorded.
    """
    if view.creation == PLAIN:
        return
    fn = tensor._fn
    if view.creation in (NO_GRAD, INFERENCE) or fn is None:
        start = (
            "A view was created in"
            if fn is None
            else (
                f"Output {tensor._nr} of {bare_name(fn)} is a view of a view which was created in"
            )
        )
        if view.creation == INFERENCE:
            message = f"{start} inference mode and {how} modified inplace in normal mode."
        else:
            message = f"{start} no_grad mode and {how} modified inplace with grad mode enabled."
    else:
        message = f"Output {tensor._nr} of {bare_name(fn)} is a view and {how} modified inplace."
    raise RuntimeError(message + ADVICE[view.creation])


def known_grad_fn(tensor: Tensor) -> Node | None:
    """Return a tensor's grad_fn for display; where reading it raises, return the last known one."""
    try:
        return tensor.grad_fn
    except RuntimeError:
        return named(tensor._fn)
