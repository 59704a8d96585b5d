"""Printing of tensors inside transforms: GradTrackingTensor and BatchedTensor around the value, as in PyTorch.

In gradtrace a transform that differentiates does not wrap tensors; each tensor refers to the transforms it was made in.
"""

from __future__ import annotations

from typing import Any

from gradtrace.engine import AccumulateGrad, Tensor
from gradtrace.engine.data import dtypes
from gradtrace.engine.data.state import state
from gradtrace.engine.data.tensor import grad_fn_text
from gradtrace.engine.data.text import tensor_text
from gradtrace.func.batched import Batched, whole
from gradtrace.func.levels import Level, nodes_from


def transform_text(tensor: Tensor) -> str | None:
    """Return the text of a tensor that belongs to a transform; None for any other tensor."""
    wrappers: list[tuple[int, str]] = []
    inner = tensor
    while isinstance(inner, Batched):
        number = inner.level.number
        wrappers.append((number, f"BatchedTensor(lvl={number}, bdim={inner.bdim}, value=\n"))
        inner = inner.value
    for level in _made_in(inner):
        if isinstance(level, Level):
            shown = -2 if level.closed else level.number
            wrappers.append((level.number, f"GradTrackingTensor(lvl={shown}, value=\n"))
    if not wrappers:
        return None
    text = _plain(inner, _source(inner) if _has_history(inner) else None)
    for _, head in sorted(wrappers):
        indented = "\n".join("    " + line if line else line for line in text.split("\n"))
        text = f"{head}{indented}\n)"
    return text


def _has_history(tensor: Tensor) -> bool:
    """Whether the tensor requires grad independently of the transforms it was created in."""
    if not tensor.requires_grad:
        return False
    if tensor.grad_fn is None:
        return not _is_own(tensor)
    leaves = (node.variable for node in nodes_from([tensor.grad_fn]) if isinstance(node, AccumulateGrad))
    return not all(map(_is_own, leaves))


def _is_own(leaf: Tensor) -> bool:
    """Whether a leaf was created by a transform."""
    return any(isinstance(level, Level) for level in _made_in(leaf))


def _source(tensor: Tensor) -> Tensor:
    """Return the tensor that entered the transforms as this one, or the tensor itself if it was computed."""
    for level in reversed([level for level in state.levels if isinstance(level, Level)]):
        source = level.entered.get(id(tensor.grad_fn))
        if source is not None:
            tensor = source[1]
    return tensor


def _plain(tensor: Tensor, history: Tensor | None) -> str:
    fn = None if history is None else history.grad_fn
    return tensor_text(
        tensor._data,
        dtype_name=tensor.dtype.name,
        default_dtype_name=dtypes.get_default_dtype().name,
        requires_grad=history is not None and history.requires_grad and fn is None,
        grad_fn_name=None if fn is None else grad_fn_text(fn),
    )


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """Unwrap a transform's tensor: remove all wrappers that printing shows, or only the outermost."""
    own = [level for level in _made_in(tensor) if isinstance(level, Level)]
    last = max((level.number for level in own), default=0)
    if isinstance(tensor, Batched) and tensor.level.number > last:
        return debug_unwrap(tensor.value) if recurse else tensor.value
    if not own:
        return tensor
    inner = tensor.alias()
    wanted = () if recurse else tuple(level for level in own if level.number < last)
    whole(inner).extra().transforms = wanted
    return debug_unwrap(inner) if recurse and isinstance(inner, Batched) else inner


def _made_in(tensor: Tensor) -> tuple[Any, ...]:
    extra = whole(tensor)._x
    return () if extra is None else extra.transforms
