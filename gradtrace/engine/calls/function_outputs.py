"""The outputs of a custom Function's forward, connected to its node, and the tensors that it saves.

`connected` is PyTorch's `_process_backward_mode_ad`.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Callable, Iterable
from gradtrace.engine.calls.function import NO_TENSOR, BackwardCFunction
from gradtrace.engine.calls.inplace import rebase_history, refuse_untrackable
from gradtrace.engine.calls.view_rules import CUSTOM, MULTI, PLAIN, mark_view
from gradtrace.engine.data.dtypes import spec_for, spec_of
from gradtrace.engine.data.state import state, using
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.reverse.saved_hooks import GONE_MESSAGE, Packed, SavedTensor

DIRTY_MESSAGE = (
    "Some elements marked as dirty during the forward method were not returned as output. The "
    "inputs that are modified inplace must all be outputs of the Function."
)
DIRTY_VIEW_MESSAGE = (
    "If your Function modifies inplace an input that is a view of another Tensor, your Function "
    "cannot return more than one Tensor. This is not supported by the current autograd engine. "
    "You should either make sure the input is not a view (using .clone() for example) or make "
    "your Function only return one Tensor (potentially splitting it into two Functions: one doing "
    "the inplace that returns a single Tensor and a second one that does the other operations). "
    "You can ask on the forum https://discuss.pytorch.org/ if you need help to do this change."
)

SAVED_ALIAS_MESSAGE = (
    "An input that has been returned as-is as output is being saved for backward. This is not "
    "supported if you override setup_context. You should return and save a view of the input "
    "instead, e.g. with x.view_as(x) or setup ctx inside the forward function itself."
)
PURE_VIEW_MESSAGE = (
    "Pure view custom Function can only have one input Tensor and one output Tensor. Open an "
    "issue if you need to support more."
)
NOT_AN_INPUT = (
    "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been "
    "mutated should be passed to ctx.mark_dirty()."
)


def connected(
    ctx: BackwardCFunction, args: tuple[Any, ...], returned: list[Any], tracked: bool
) -> list[Any]:
    """Return the outputs of forward with the node as their grad_fn."""
    if tracked:
        refuse_odd_marks(ctx, args, returned)
    for tensor in ctx._dirty:
        tensor.counter().n += 1
    differentiable = [
        tracked
        and isinstance(o, Tensor)
        and o.is_floating_point()
        and not contains(ctx._non_differentiable, o)
        for o in returned
    ]
    ctx.__dict__["_marked"] = {
        i for i, o in enumerate(returned) if contains(ctx._non_differentiable, o)
    }
    if tracked:
        specs = [spec_of(o._data) if isinstance(o, Tensor) else None for o in returned]
        dtypes = [NO_TENSOR if spec is None else spec.dtype for spec in specs]
        ctx.spec = spec_for([() if spec is None else spec.shape for spec in specs], dtypes)
        # `derive` gets a dict of gradients by output number unless this is 1.
        ctx.__dict__["_outputs"] = len(returned) if len(returned) != 1 else 0
        ctx.__dict__["_differentiable"] = differentiable
    outputs = [
        own_output(ctx, args, o, number if has_grad else None, len(returned))
        if isinstance(o, Tensor)
        else o
        for number, (o, has_grad) in enumerate(zip(returned, differentiable, strict=True))
    ]
    if sum(differentiable) > 1:
        for o in outputs:
            if isinstance(o, Tensor) and o._x is not None and o._x.view is not None:
                o._x.view.creation = MULTI
    if not all(contains(returned, tensor) for tensor in ctx._dirty):
        raise RuntimeError(DIRTY_MESSAGE)
    return outputs


def refuse_odd_marks(ctx: BackwardCFunction, args: tuple[Any, ...], returned: list[Any]) -> None:
    """Warn if mark_dirty got a tensor that is not an input (RuntimeError if it is a view), and
    check pure views.
    """
    for tensor in ctx._dirty:
        if contains(args, tensor):
            continue
        if tensor._is_view():
            raise RuntimeError(NOT_AN_INPUT)
        import warnings

        warnings.warn(NOT_AN_INPUT, UserWarning, stacklevel=5)
    if ctx._is_pure_view and (len(returned) != 1 or sum(isinstance(a, Tensor) for a in args) != 1):
        raise RuntimeError(PURE_VIEW_MESSAGE)


def own_output(
    ctx: BackwardCFunction, args: tuple[Any, ...], o: Tensor, number: int | None, count: int
) -> Tensor:
    """Return an output connected to the node as output `number` of `count`; `number` is None for
    one without gradient.

    An input that forward returns unchanged becomes a view of itself. Later in-place changes of
    views are not allowed.
    """
    is_input = contains(args, o)
    is_dirty = contains(ctx._dirty, o)
    is_view = o._x is not None and o._x.view is not None
    if number is not None and is_dirty:
        return changed_input(ctx, o, number, count)
    if number is None and o.requires_grad:
        if is_input or not is_view:
            return o.alias()
    elif is_input and not is_dirty:
        o = view_of_itself(o, state.grad_enabled and number is None)
    view = None if o._x is None else o._x.view
    if number is not None:
        o._fn = ctx
        o._nr = number
        o._req = True
        o._fast_spec = None
    if view is not None and not (is_input and is_dirty):
        view.creation = PLAIN if ctx._is_pure_view else CUSTOM
        view.version = o._version
    return o


def changed_input(ctx: BackwardCFunction, o: Tensor, number: int, count: int) -> Tensor:
    """Make the node the grad_fn of a tensor that forward changed in place; for a view, through a
    CopySlices node.
    """
    if o._fn is None and o.requires_grad:
        raise RuntimeError(
            "a leaf Variable that requires grad has been used in an in-place operation."
        )
    if o._x is not None and o._x.view is not None and count > 1:
        raise RuntimeError(DIRTY_VIEW_MESSAGE)
    refuse_untrackable(o)
    rebase_history(o, ctx, number)
    return o


def view_of_itself(o: Tensor, recorded: bool) -> Tensor:
    out = o.alias()
    with using(grad_enabled=recorded):
        mark_view(out, o)
    return out


def contains(values: Iterable[object], wanted: object) -> bool:
    return any(value is wanted for value in values)


def refuse_saved_alias(ctx: BackwardCFunction, returned: list[Any], outputs: list[Any]) -> None:
    for before, after in zip(returned, outputs, strict=True):
        saved = ctx._to_save
        if before is not after and contains(saved, before) and not contains(ctx._dirty, before):
            raise RuntimeError(SAVED_ALIAS_MESSAGE)


def position(saved: Any, ctx: BackwardCFunction, outputs: list[Any]) -> int | None:
    """Return the output number of a saved tensor: -1 for an output without gradient, None if it is
    not an output.
    """
    for i, o in enumerate(outputs):
        if saved is not None and saved is o:
            if o._fn is ctx:
                return i
            return -1 if o._fn is None else None
    return None


class SavedTensorSlot:
    """One saved tensor: an input itself, or the data of an output (holding the output would make a
    reference cycle).
    """

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
        self._ctx = ctx
        self._slot = slot

    def _kept(self) -> Any:
        if self._ctx.freed:
            raise RuntimeError(GONE_MESSAGE)
        return self._slot.packed or self._ctx._unpack(self._slot)

    def _pack(self, hooks: tuple[Callable[..., Any], Callable[..., Any]], tensor: Tensor) -> None:
        self._slot.pack(self._ctx, hooks)


# one class in PyTorch
FunctionSavedTensor.__name__ = FunctionSavedTensor.__qualname__ = "SavedTensor"
