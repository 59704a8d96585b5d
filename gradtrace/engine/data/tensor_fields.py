"""The rarely used fields of tensors: version counter, base of a view, gradient, hooks."""

from __future__ import annotations

import _weakref as weakref  # weakref takes a millisecond to import

from gradtrace.annotations import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gradtrace.engine.data.dtypes import dtype
    from gradtrace.engine.data.node import HookTable


class Counter:
    """The version counter of a storage, shared by all tensors on it."""

    __slots__ = ("n",)

    def __init__(self) -> None:
        self.n = 0


class View:
    """A view's base, how the view was created, and the version at which its grad_fn was
    computed.
    """

    __slots__ = ("base", "creation", "version")

    def __init__(self, base: Any, creation: str, version: int) -> None:
        self.base = base  # a Tensor
        self.creation = creation  # a constant of `calls/view_rules.py`
        self.version = version


class TensorExtras:
    """The rarely used parts of a tensor.

    `needs_slow_path` is set for a view or an inference tensor.
    """

    __slots__ = (
        "accumulator", "counter", "detached", "grad", "grad_dtype", "hooks", "inference", "needs_slow_path",
        "post_hooks", "retains", "view",
    )  # fmt: skip

    def __init__(self) -> None:
        self.grad: Any = None  # a Tensor, or None
        self.counter: Counter | None = None
        self.view: View | None = None
        self.accumulator: weakref.ref[Any] | None = None
        self.hooks: HookTable | None = None
        self.post_hooks: HookTable | None = None
        self.retains = False
        self.inference = False
        # number of the newest node at the time of detach_: older ones may have saved this
        self.detached = 0
        self.needs_slow_path = False
        self.grad_dtype: tuple[dtype | None, ...] = ()  # what `grad_dtype` was set to

    def dtype_of_grad(self, own: dtype) -> dtype | None:
        """Return the dtype that the gradient of a tensor of dtype `own` must have; None for any."""
        return self.grad_dtype[0] if self.grad_dtype else own
