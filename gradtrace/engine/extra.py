"""What few tensors have: a version counter, a base to be a view of, a gradient, hooks."""

from __future__ import annotations

import weakref

from gradtrace.annotations import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gradtrace.engine.tensor import Tensor


class Counter:
    """How often a storage was changed in place; shared by all tensors on that storage."""

    __slots__ = ("n",)

    def __init__(self) -> None:
        self.n = 0


class View:
    """What a view remembers: its base, how it was made, and at which version its grad_fn was right."""

    __slots__ = ("base", "creation", "version")

    def __init__(self, base: Tensor, creation: str, version: int) -> None:
        self.base = base
        self.creation = creation  # one of view_rules' words
        self.version = version


class TensorExtras:
    """The rarely used parts of a tensor. `needs_slow_path`: a view or an inference tensor.

    `transforms` are those of `func` that ran when the tensor was made; `tangent` is a dual tensor's, and its level.
    """

    __slots__ = (
        "accumulator",
        "counter",
        "detached",
        "grad",
        "hooks",
        "inference",
        "needs_slow_path",
        "post_hooks",
        "retains",
        "tangent",
        "transforms",
        "view",
    )

    def __init__(self) -> None:
        self.grad: Tensor | None = None
        self.counter: Counter | None = None
        self.view: View | None = None
        self.accumulator: weakref.ref[Any] | None = None
        self.hooks: Any = None  # a HookTable
        self.post_hooks: Any = None
        self.retains = False
        self.tangent: tuple[Any, Any] | None = None
        self.transforms: tuple[Any, ...] = ()
        self.inference = False
        self.detached = 0  # the newest node's number when detach_ cut a history; nodes up to it may have saved that
        self.needs_slow_path = False
