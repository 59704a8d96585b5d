"""In-place operations, and the history of views, as in PyTorch.

An in-place operation computes its result out of place, writes it into the storage, increments the
version and replaces the tensor's grad_fn. If the tensor is a view, its base gets a CopySlices node,
which sends only the gradient of the view's elements through the operation, and every view of that
base makes a new grad_fn (AsStridedBackward0) when read.
"""

from __future__ import annotations

import _weakref as weakref  # weakref takes a millisecond to import

from gradtrace.annotations import TYPE_CHECKING, Any
from gradtrace.engine.calls.call import as_arrays, record_call, unwrap, watch_read
from gradtrace.engine.calls.overlap import refuse_overlap, repeats
from gradtrace.engine.calls.view_rules import DIRECT, INDIRECT, refuse_change
from gradtrace.engine.data.dtypes import of_raw, python_number, spec_of
from gradtrace.engine.data.higher import higher
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.node import FREED, FREED_MESSAGE, SAVE, TUPLES, Node
from gradtrace.engine.data.state import state
from gradtrace.engine.data.tensor import Tensor, gradient_edge
from gradtrace.engine.data.tensor_fields import View
from gradtrace.engine.operators.broadcast import unbroadcast_and_cast
from gradtrace.engine.operators.namespace import ARRAY, TRACED
from gradtrace.engine.operators.op import Op, d, gather_op, records
from gradtrace.engine.operators.strided_view import window
from gradtrace.engine.reverse.evaluate import SAVES_ITS_OWN, derive
from gradtrace.engine.reverse.plan import plan_of
from gradtrace.engine.reverse.saved import source_node

if TYPE_CHECKING:
    from gradtrace.engine.data.gradient_types import NodeGradient
    from gradtrace.engine.data.types import Array, Raw, Shape

LEAF_MESSAGE = "a leaf Variable that requires grad is being used in an in-place operation."
VIEW_OF_LEAF_MESSAGE = (
    "a view of a leaf Variable that requires grad is being used in an in-place operation."
)
INFERENCE_MESSAGE = (
    "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone "
    "to get a normal tensor before doing inplace update.See "
    "https://github.com/pytorch/rfcs/pull/17 for more details."
)


def take_kernel(a: Raw, index: Array) -> Array:
    return np.asarray(a).reshape(-1)[index]


def place_kernel(a: Raw, index: Array, shape: Shape) -> Array:
    a = np.asarray(a)
    out = np.zeros(int(np.prod(shape, dtype=np.int64)), a.dtype)
    np.add.at(out, index, a)  # a view may show one element several times (expand)
    return out.reshape(shape)


def replace_kernel(a: Raw, values: Raw, index: Array) -> Array:
    out = np.array(a).reshape(-1)
    out[index] = values
    return out.reshape(np.shape(a))


# The part of a base that a view shows, by flat positions.
# fmt: off
take_flat = gather_op("take_flat(self; index)", take_kernel, "out[i] = flat(self)[index[i]]",
    node="AsStridedBackward0", self=d("~self", lambda xp, g, out, self, index: xp.place_flat(g, index, self.shape)))
place_flat = gather_op("place_flat(self; index, shape)", place_kernel,
    "out[j] = sum[i](self[i] if index[i] == j else 0)", node="AsStridedBackward0",
    self=d("", lambda xp, g, out, self, index, shape: xp.take_flat(g, index)))
# fmt: on


class CopySlices(Node):
    """The base's grad_fn after an in-place operation on a view; `inner` is the node of the
    operation.
    """

    __slots__ = ("inner", "is_inner_shared")

    def __init__(self, base: Tensor, index: Array, inner: Node) -> None:
        edges = (gradient_edge(base), *inner.next[1:])
        self.fill((index,), edges, SAVES_ITS_OWN, spec_of(base._data))
        self.inner = inner
        self.is_inner_shared = False  # whether a recorded pass may have left edges to it
        if inner.output_nrs is not None or base._nr:
            self.output_nrs = (base._nr, *(inner.output_nrs or (0,) * len(inner.next))[1:])

    @property
    def shown(self) -> tuple[int, ...] | None:
        shown = self.inner.shown
        return None if shown is None else (0, *(i for i in shown if i))

    def name(self) -> str:
        return "torch::autograd::CopySlices"

    def derive(self, gradient: NodeGradient) -> tuple[Any, ...]:
        if self.freed:
            raise RuntimeError(FREED_MESSAGE)
        if gradient is None:
            return (None,) * len(self.next)
        if isinstance(gradient, Tensor):
            self.is_inner_shared = True
            return self.apply_traced(gradient)
        xp = ARRAY
        (index,) = self.kept
        part = unbroadcast_and_cast(xp.take_flat(gradient, index), self.inner, 0, self, 0)
        results = derive(self.inner, part)
        through = results[0]
        if through is None:
            # a custom Function gave None: PyTorch then drops the whole base's gradient
            if self.inner.op is None:
                return tuple(results)
            through = xp.zeros_like(part)
        through = unbroadcast_and_cast(through, self.inner, 0, self.inner, 0)
        return (replace_kernel(gradient, through, index), *results[1:])  # type: ignore[arg-type]

    def apply_traced(self, gradient: Tensor) -> tuple[Any, ...]:
        """Do what `derive` does, on Tensors in PyTorch's steps: copy the gradient, replace the
        view's part in place.
        """
        (index,) = self.kept
        empty = Tensor._wrap(np.empty(gradient.shape, gradient.dtype.np))
        whole = inplace(records["assign"], empty, gradient)
        part = unbroadcast_and_cast(TRACED.clone(take_flat(whole, index)), self.inner, 0, self, 0)
        results = derive(self.inner, part)
        if results[0] is None and self.inner.op is None:
            return tuple(results)
        through = TRACED.zeros_like(part) if results[0] is None else results[0]
        through = unbroadcast_and_cast(through, self.inner, 0, self.inner, 0)
        out = Tensor._wrap(replace_kernel(whole.own_array(), through.own_array(), index))
        if state.grad_enabled and (whole.requires_grad or through.requires_grad):
            record = records["assign"]
            inner = record_call(
                record, (part, through), 2 if through.requires_grad else 0, part.own_array()
            )
            repoint(out, CopySlices(whole, index, inner))
        return (out, *results[1:])

    def release(self) -> None:
        """Make a second pass raise, as in PyTorch, even if the operation saved nothing; drop the
        saved values.
        """
        self.saved_a = FREED
        if not self.is_inner_shared:
            self.inner.release()


def inplace(record: Op, target: Tensor, *rest: Any) -> Tensor:
    """Run `record` on (target, *rest), write the result into target, and return target."""
    args = (target, *rest)
    if record.reads:
        args, read = as_arrays(record, args)
        if read:
            inplace(record, *args)
            watch_read(target, read)
            return target
    raws, mask = unwrap(record, args)
    if mask < 0:
        return inplace(record, target, *map(python_number, rest))
    tracked = (
        bool(mask) and state.grad_enabled and record.has_gradient and target.is_floating_point()
    )
    if mask and state.grad_enabled:
        refuse_untrackable(target)
    refuse_overlap(record.name, target, rest)
    raw = record.run(args, raws)
    check_result(target, raw)
    node = make_node(record, target, rest, mask, raw) if tracked else None
    state.planner.change(target)
    write(target, raw)
    # like PyTorch, only after the data were written
    if target.is_inference() and not state.inference:
        raise RuntimeError(INFERENCE_MESSAGE)
    counter = target.counter()
    counter.n += 1
    if node is not None:
        node.spec = spec_of(target._data)  # the result may be wider before it is written
        if node.plan.save_out:
            node.out = target._data
            rare = node.ensure_extras()
            rare.out_counter = counter
            rare.out_version = counter.n
        rebase_history(target, node)
    state.record(record.name + "_", args, target)
    return target


def refuse_unless_tracked(target: Tensor, *operands: object) -> None:
    """Call `refuse_untrackable` if an operand requires grad. Used where PyTorch makes this check
    before all others.
    """
    if state.grad_enabled and any(
        isinstance(t, Tensor) and t.requires_grad for t in (target, *operands)
    ):
        refuse_untrackable(target)


def refuse_untrackable(target: Tensor) -> None:
    """Raise RuntimeError if the history of an in-place operation could not be recorded."""
    view = None if target._x is None else target._x.view
    if view is not None:
        refuse_change(target, view, DIRECT)
        if target.requires_grad and view.base.is_leaf:
            raise RuntimeError(VIEW_OF_LEAF_MESSAGE)
    if target.requires_grad and target.is_leaf:
        raise RuntimeError(LEAF_MESSAGE)


def check_result(target: Tensor, raw: Raw) -> None:
    shape = spec_of(raw).shape
    if tuple(shape) != tuple(target.shape):
        raise RuntimeError(
            f"output with shape {list(target.shape)} doesn't match the broadcast shape "
            f"{list(shape)}"
        )
    got = of_raw(raw)
    if got.category > target.dtype.category:
        raise RuntimeError(
            f"result type {got.scalar_type} can't be cast to the desired output type "
            f"{target.dtype.scalar_type}"
        )


def make_node(record: Op, target: Tensor, rest: tuple[Any, ...], mask: int, raw: Raw) -> Node:
    """Return the node for the operation on the old value of `target`, of which it saves a copy if
    its rule needs it.
    """
    plan = plan_of(record, mask)
    if not plan.actions or plan.actions[0] != SAVE:
        return record_call(record, (target, *rest), mask, raw, record.inplace_node)
    node = record_call(record, (records["clone"](target), *rest), mask, raw, record.inplace_node)
    if node.layout != TUPLES:
        node.edge_a = source_node(target)
    else:
        node.edge_a = (source_node(target), *node.edge_a[1:])
    if target._nr:
        node.output_nrs = (target._nr, *(node.output_nrs or (0,) * len(node.next))[1:])
    return node


def write(target: Tensor, raw: Any) -> None:
    state.keeper.before_write(target)
    if type(target._data) in (float, bool) and type(raw) in (float, bool):
        target._data = type(target._data)(raw)
        return
    data = target.own_array()
    # elements share memory: write only the changed ones
    if not data.flags.c_contiguous and repeats(data):
        changed = raw != data
        data[changed] = raw[changed]
        return
    data[...] = raw


def rebase_history(target: Tensor, node: Node, number: int = 0) -> None:
    """Make output `number` of `node` the history of a tensor that was changed in place."""
    view = None if target._x is None else target._x.view
    if view is None:
        repoint(target, node, number)
        return
    base = view.base
    slices = CopySlices(base, flat_index(base, target), node)
    repoint(base, slices)
    regenerate_view(target, view)


def repoint(tensor: Tensor, node: Node, number: int = 0) -> None:
    """Replace the grad_fn of a tensor; `retain_grad` moves to the new grad_fn, hooks stay on the
    old one.
    """
    if tensor.retains_grad and tensor._fn is not None and tensor._fn.hooks is not None:
        tensor._fn.hooks.retains.pop(tensor._nr, None)
        node.ensure_hooks().retains[number] = weakref.ref(tensor)
    tensor._fn = node
    tensor._nr = number
    tensor._req = True


def reshape_history(tensor: Tensor, node: Node) -> None:
    """Make `node` the history of a tensor that took a new shape in place; `retain_grad` stays on
    the old grad_fn.
    """
    tensor._fn = node
    tensor._nr = 0
    tensor._req = True


def regenerate_view(tensor: Tensor, view: View) -> None:
    base = view.base
    repoint(tensor, record_call(take_flat, (base, flat_index(base, tensor)), 1, tensor._data))
    view.version = tensor._version


def refresh_view(tensor: Tensor, view: View) -> None:
    """Update the grad_fn of a view whose base was changed in place; RuntimeError if its history
    cannot be known.
    """
    refuse_change(tensor, view, INDIRECT)
    regenerate_view(tensor, view)


higher["refresh_view"] = refresh_view


def flat_index(base: Tensor, view: Tensor) -> Array:
    """Return the position of each element of the view among the base's elements (int64, the view's
    shape).
    """
    whole = base.own_array()
    part = view.own_array()
    low, high = np.lib.array_utils.byte_bounds(whole)
    unit = whole.itemsize
    cells = np.full((high - low) // unit, -1, dtype=np.int64)

    def on_cells(array: Array) -> Array:
        start = array.__array_interface__["data"][0]
        # `.data = ` may have given the view another storage; its offset there is used as the offset
        # in the base.
        first = low if low <= start < high else np.lib.array_utils.byte_bounds(owner(array))[0]
        return window(
            cells, array.shape, tuple(s // unit for s in array.strides), (start - first) // unit
        )

    on_cells(whole)[...] = np.arange(whole.size, dtype=np.int64).reshape(whole.shape)
    return on_cells(part).copy()


def owner(array: Array) -> Array:
    """Return the array that owns the memory of this one."""
    while array.base is not None and hasattr(array.base, "strides"):
        array = array.base
    return array


def change_data(target: Tensor, raw: Raw) -> None:
    """Write data into a tensor without history and increment its version: for optimisers and
    running statistics.
    """
    write(target, raw)
    target.counter().n += 1
