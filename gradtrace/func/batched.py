"""Batched: a view of one sample of a batched tensor, on which a function under vmap computes.

`value` is the batched tensor with its history, `bdim` its batch dimension, `level` the running vmap it belongs to.
Under nested vmaps, `value` may itself be a Batched of an outer level.
"""

from __future__ import annotations

from typing import Any, NoReturn

from gradtrace.engine import Node, Size, Tensor
from gradtrace.engine.data import dtypes
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.state import state
from gradtrace.engine.data.types import Array

ITEM = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, "
    "please try to rewrite what you're doing with other operations. If error is occurring somewhere inside PyTorch "
    "internals, please file a bug report."
)
CONTROL_FLOW = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support that "
    "yet, please file an issue at https://github.com/pytorch/pytorch/issues ."
)


ESCAPED = (
    "Either your tensor may have escaped from inside a function being vmapped and this is a user error (see "
    "https://pytorch.org/functorch/stable/ux_limitations.html), or there is an internal functorch error in "
    "`gen_vmap_plumbing` Please file an issue if it looks like the latter"
)


class Batched(Tensor):
    """A view of one sample of a batched tensor; its operators run on the whole batch."""

    __slots__ = ("bdim", "level", "value")

    def __init__(self, value: Tensor, bdim: int, level: Any) -> None:
        self.value = value
        self.bdim = bdim
        self.level = level

    @property
    def escaped(self) -> bool:  # type: ignore[override]
        return bool(self.level.closed)

    # ---- attributes taken from the batched tensor

    @property
    def _data(self) -> Any:
        """Return an array with the layout of one sample; its values are meaningless."""
        if self.level.closed:
            raise RuntimeError(ESCAPED)
        return self.laid_out()

    @_data.setter
    def _data(self, raw: Any) -> None:
        raise RuntimeError("vmap: this in-place operation is not supported on a tensor that is vmapped over")

    _x = None
    _fast_spec = None
    _fn = None
    _nr = 0

    @property
    def _req(self) -> bool:  # type: ignore[override]
        return self.requires_grad

    def shared(self) -> NoReturn:
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")

    def storage_offset(self) -> int:
        return self.value.storage_offset()

    def laid_out(self) -> Any:
        raw = self.value.laid_out()
        if raw.shape[self.bdim]:
            return raw[(slice(None),) * self.bdim + (0, ...)]
        return np.zeros(raw.shape[: self.bdim] + raw.shape[self.bdim + 1 :], raw.dtype)

    @property
    def shape(self) -> Size:
        return Size(self.laid_out().shape)

    @property
    def ndim(self) -> int:
        return self.value.ndim - 1

    def numel(self, *extra: object) -> int:
        return self.shape.numel()

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of a 0-d tensor")
        return self.shape[0]

    @property
    def dtype(self) -> dtypes.dtype:
        return self.value.dtype

    def extra(self) -> Any:
        return self.value.extra()

    def counter(self) -> Any:
        return self.value.counter()

    @property
    def _version(self) -> int:
        return self.value._version

    def alias(self, raw: Array | None = None) -> Tensor:
        if self.level.closed:
            raise RuntimeError(ESCAPED)
        return Batched(self.value.alias(raw), self.bdim, self.level)

    @property
    def data(self) -> NoReturn:
        raise RuntimeError("accessing `data` under vmap transform is not allowed")

    @data.setter
    def data(self, value: Tensor) -> None:
        raise RuntimeError("accessing `data` under vmap transform is not allowed")

    # ---- autograd attributes, from the innermost transform that differentiates

    def _innermost(self) -> Tensor | None:
        return whole(self) if state.levels and not state.levels[-1].batches else None

    @property
    def requires_grad(self) -> bool:
        inner = self._innermost()
        return inner is not None and inner.requires_grad

    @requires_grad.setter
    def requires_grad(self, flag: bool) -> None:
        self.set_requires_grad(flag)

    @property
    def grad_fn(self) -> Node | None:
        inner = self._innermost()
        return None if inner is None else inner.grad_fn

    @property
    def grad(self) -> Tensor | None:
        return None

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        raise RuntimeError("a tensor that is vmapped over has no .grad")

    # ---- refused, because the result would depend on the sample

    def item(self, *extra: object) -> NoReturn:
        raise RuntimeError(ITEM)

    def __bool__(self) -> NoReturn:
        raise RuntimeError(CONTROL_FLOW)

    def tolist(self, *extra: object) -> NoReturn:
        self.shared()

    def numpy(self, *, force: bool = False) -> NoReturn:
        self.shared()

    __array__ = numpy  # type: ignore[assignment]

    def __hash__(self) -> int:
        return id(self)


Batched.__name__ = Batched.__qualname__ = "Tensor"  # the name in programs and error messages


def whole(tensor: Tensor) -> Tensor:
    """Return the tensor that holds all samples of all vmaps; a tensor that is not batched is returned unchanged."""
    while isinstance(tensor, Batched):
        tensor = tensor.value
    return tensor
