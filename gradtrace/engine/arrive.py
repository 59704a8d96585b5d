"""What happens to a gradient where it arrives: broadcasting and casts undone on an edge, accumulation at a leaf."""

from __future__ import annotations

from sys import getrefcount, version_info

from gradtrace.annotations import Any
from gradtrace.engine.lazy import np
from gradtrace.engine.namespace import TRACED
from gradtrace.engine.node import Node
from gradtrace.engine.op import records
from gradtrace.engine.state import state
from gradtrace.engine.tensor import Tensor

# How many references an array has in `taken_over` when it came straight from a rule: add_to_grad's, taken_over's and
# getrefcount's, and those of its caller, `holders`. From 3.14 on Python borrows some, so there we always copy.
COUNTED = version_info < (3, 14)


def conform(g: Any, target: Node, number: int, source: Node | None, index: int) -> Any:
    """The gradient in the shape and dtype of the output it belongs to: broadcasting and casts undone."""
    shape, dtype = target.shape, target.dtype
    if target.outputs != 1:
        shape, dtype = shape[number], dtype[number]
    if isinstance(g, Tensor):
        return conform_tensor(g, shape, dtype, source, index)
    if type(g) is float:
        if dtype is None:
            return g
        g = np.asarray(g)
    elif type(g) is not np.ndarray:
        if dtype is None:
            return float(g)
        g = np.asarray(g)
    if g.shape != shape:
        g = sum_to(g, shape, source, index)
    if dtype is None:
        return float(g)
    return g if g.dtype is dtype else g.astype(dtype)


def conform_tensor(g: Tensor, shape: Any, dtype: Any, source: Node | None, index: int) -> Tensor:
    if g.shape != shape:
        refuse_if_not_broadcast(g.shape, shape, source, index)
        g = sum_tensor_to(g, tuple(shape))
    wanted = np.float64 if dtype is None else dtype
    return g if g.dtype.np == wanted else records["cast"](g, np.dtype(wanted))


def sum_tensor_to(g: Tensor, shape: tuple[int, ...]) -> Any:
    """The same for Tensors, in PyTorch's steps."""
    if not shape:
        return TRACED.sum(g)
    lead = g.ndim - len(shape)
    dims = (*range(lead), *(i + lead for i, n in enumerate(shape) if n == 1 and g.shape[i + lead] != 1))
    if dims:
        g = TRACED.sum_dim(g, dims, True)
    return TRACED.view(g, shape) if lead else g


def sum_to(g: Any, shape: Any, source: Node | None = None, index: int = 0) -> Any:
    """Sums the broadcast dims away: the transpose of broadcasting `shape` to g.shape."""
    if g.ndim == 2 and g.shape[1:] == shape:  # a row added to each row, as a bias
        return np.add.reduce(g, 0)
    refuse_if_not_broadcast(g.shape, shape, source, index)
    lead = g.ndim - len(shape)
    dims = tuple(range(lead)) + tuple(i + lead for i, n in enumerate(shape) if n == 1 and g.shape[i + lead] != 1)
    return g.sum(axis=dims, keepdims=True).reshape(shape)


def refuse_if_not_broadcast(got: Any, shape: Any, source: Node | None, index: int) -> None:
    lead = len(got) - len(shape)
    if lead >= 0 and all(n in (1, got[i + lead]) for i, n in enumerate(shape)):
        return
    who = "" if source is None else f"Function {source.name()} returned an "
    raise RuntimeError(
        f"{who}invalid gradient at index {index} - got {list(got)} but expected shape compatible with {list(shape)}"
    )


def add_to_grad(leaf: Tensor, gradient: Any, holders: int) -> None:
    """Accumulates into `.grad`, in place when a gradient is there and this pass is not recorded.

    `holders` is how many variables of its callers refer to `gradient`.
    """
    if not leaf._req and not leaf.requires_grad:  # since the graph was built
        return
    extra = leaf.extra()
    have = extra.grad
    if isinstance(gradient, Tensor):
        extra.grad = records["copy"](None, gradient) if have is None else have + gradient
    elif have is None:
        extra.grad = Tensor._wrap(taken_over(gradient, holders))
    else:
        accumulate_in_place(have, gradient)
    if extra.post_hooks:
        for hook in list(extra.post_hooks.values()):
            hook(leaf)
            if state.watcher is not None:
                state.watcher.hooked("accumulated", hook, None, None)


def taken_over(gradient: Any, holders: int) -> Any:
    """The array itself when nothing else can hold it, else a copy: two leaves must not share their `.grad`."""
    if type(gradient) is float:
        return gradient
    shared = not COUNTED or getrefcount(gradient) > holders + 3
    if not shared and gradient.base is None and gradient.flags.c_contiguous:
        return gradient
    return gradient.copy()


def accumulate_in_place(have: Tensor, gradient: Any) -> None:
    if type(have._data) is float:
        have._data += float(gradient)
        return
    np.add(have._data, gradient, out=have._data)
    if have._x is not None and have._x.counter is not None:
        have._x.counter.n += 1
