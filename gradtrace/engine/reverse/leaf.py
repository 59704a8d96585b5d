"""Accumulate a leaf's gradient into its `.grad`."""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.state import state
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.operators.op import records

if TYPE_CHECKING:
    from gradtrace.engine.data.gradient_types import Gradient
    from gradtrace.engine.data.types import Array


def accumulate_grad(leaf: Tensor, gradient: Gradient, taken: dict[int, Any] | None) -> None:
    """Add a gradient to `leaf.grad`: in place if `leaf.grad` exists and the pass is not recorded
    (create_graph).

    `taken` are the arrays that other leaves already own, by id. With None the pass may still use
    the array, so it is copied.
    """
    # requires_grad may have been set to False after the graph was built.
    if not leaf._req and not leaf.requires_grad:
        return
    extra = leaf.extra()
    existing = extra.grad
    if isinstance(gradient, Tensor):
        extra.grad = records["copy"](None, gradient) if existing is None else existing + gradient
    elif existing is None:
        extra.grad = Tensor._wrap(in_layout_of(leaf._data, own_array(gradient, taken)))
    elif type(existing._data) is float:
        existing._data += float(gradient)
    else:
        state.keeper.before_array_write(existing._data)
        np.add(existing._data, gradient, out=existing._data, casting="unsafe")
        if existing._x is not None and existing._x.counter is not None:
            existing._x.counter.n += 1
    if extra.post_hooks:
        for hook in list(extra.post_hooks.values()):
            if hook(leaf) is not None:
                raise RuntimeError("Tensor post accumulate grad hooks should return None.")
            state.watcher.hooked("accumulated", hook, None, None)


def in_layout_of(raw: Any, gradient: float | Array) -> float | Array:
    """Return a gradient with the strides of a dense leaf, as PyTorch stores it
    (accumulate_grad.h).
    """
    if type(gradient) is float or type(raw) is not np.ndarray or raw.flags.c_contiguous:
        return gradient
    strided = np.empty_like(raw, gradient.dtype)  # type: ignore[union-attr]
    if strided.strides != raw.strides:
        return gradient
    strided[...] = gradient
    return strided


def own_array(gradient: float | Array, taken: dict[int, Any] | None) -> float | Array:
    """Return the gradient as an array of one leaf's own: copied if needed, since two leaves must
    not share `.grad`.

    A rule's result is linear in the incoming gradient, so it is a new array, the incoming gradient,
    or a view of that.
    """
    if type(gradient) is float:
        return gradient
    array: Array = gradient  # type: ignore[assignment]
    if taken is None or not array.flags.c_contiguous or id(array) in taken:
        return array.copy()
    base = array.base
    if type(base) is np.ndarray and (base.strides, base.shape, base.dtype) == (
        array.strides,
        array.shape,
        array.dtype,
    ):
        # The array was transposed twice, so its base has the same elements in the same order.
        array = base
    elif base is not None:
        return array.copy()
    if id(array) in taken:
        return array.copy()
    taken[id(array)] = array
    return array
