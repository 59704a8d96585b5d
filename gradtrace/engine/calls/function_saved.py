"""The tensors that a custom Function saves by `save_for_backward`."""

from __future__ import annotations

from gradtrace.annotations import Any, Callable
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.reverse.saved_hooks import GONE_MESSAGE, Packed, SavedTensor


class SavedTensorSlot:
    """One saved tensor: an input itself, or the data of an output (holding the output would make a reference cycle)."""

    __slots__ = ("counter", "number", "packed", "raw", "tensor", "version")

    def __init__(self, tensor: Tensor | None, number: int | None) -> None:
        self.number = number
        self.tensor = tensor if number is None else None
        self.raw = None if tensor is None or number is None else tensor.own_array()
        self.counter = None if tensor is None or number is None else tensor.counter()
        self.version = 0 if tensor is None or tensor.is_inference() else tensor._version
        self.packed: Packed | None = None

    def pack(self, ctx: Any, hooks: tuple[Callable[..., Any], Callable[..., Any]]) -> None:
        """Replace the saved tensor by the result of the pack hook; None stays None."""
        tensor = self.tensor if self.number is None else ctx._unpack(self)
        if not isinstance(tensor, Tensor):  # None, or a sparse tensor
            return
        self.packed = Packed(tensor, hooks, self.number is not None and self.number >= 0)
        self.tensor = self.raw = self.counter = None


class FunctionSavedTensor(SavedTensor):
    """A tensor that a custom Function's forward saved by `save_for_backward`."""

    def __init__(self, ctx: Any, slot: SavedTensorSlot) -> None:
        self._ctx, self._slot = ctx, slot

    def _kept(self) -> Any:
        if self._ctx.freed:
            raise RuntimeError(GONE_MESSAGE)
        return self._slot.packed or self._ctx._unpack(self._slot)

    def _pack(self, hooks: tuple[Callable[..., Any], Callable[..., Any]], tensor: Tensor) -> None:
        self._slot.pack(self._ctx, hooks)


FunctionSavedTensor.__name__ = FunctionSavedTensor.__qualname__ = "SavedTensor"  # one class in PyTorch
