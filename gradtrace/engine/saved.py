"""The state that a node keeps of a call: edges, saved arguments and their versions. Also marks results as views."""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any
from gradtrace.engine import view_rules
from gradtrace.engine.checks import check_version, check_versions, flat
from gradtrace.engine.extra import View
from gradtrace.engine.lazy import np
from gradtrace.engine.node import (
    FREED,
    FREED_MESSAGE,
    META,
    ONE,
    ONE_AND_PLAIN,
    SAVE,
    TUPLES,
    TWO,
    AccumulateGrad,
    Meta,
    Node,
    accumulator,
    named,
)
from gradtrace.engine.tensor import Tensor, gradient_edge

if TYPE_CHECKING:
    from gradtrace.engine.extra import TensorExtras
    from gradtrace.engine.types import Raw

SAVED_INFERENCE_MESSAGE = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
    "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in "
    "autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`."
)


# ---- when the node is made


def source_node(argument: object) -> Node | None:
    """Return the node that receives an argument's gradient; None for an argument that needs none."""
    if not isinstance(argument, Tensor):
        return None
    if argument._x is not None and argument._x.needs_slow_path:
        return gradient_edge(argument)
    return argument._fn if argument._fn is not None else accumulator(argument) if argument._req else None


def kept_argument(argument: object, action: int) -> object:
    """Return what a plan keeps of an argument: itself, its Meta, or None. A number is always kept."""
    if type(argument) is tuple:
        return argument if action == SAVE else tuple(kept_argument(a, action) for a in argument) if action else None
    if action == SAVE or not isinstance(argument, Tensor):
        return argument
    return meta_of(argument._data) if action == META else None


def meta_of(raw: Raw) -> Meta:
    """Return the Meta of one tensor's raw data."""
    return Meta(*layout(raw), None if isinstance(raw, (float, bool)) else raw.strides)


def layout(raw: Any) -> tuple[Any, Any]:
    """Shape and numpy dtype of raw data (dtype None: a Python float); lists of them for several outputs."""
    kind = type(raw)
    if kind is float:  # first: it must not import numpy
        return (), None
    if kind is tuple:
        pairs = [layout(r) for r in raw]
        return [p[0] for p in pairs], [p[1] for p in pairs]
    if kind is bool:
        return (), np.dtype(bool)
    return raw.shape, raw.dtype


def note_versions(node: Node, kept: tuple[Any, ...]) -> None:
    """Store the versions of the tensors that a node keeps, if they are not all 0."""
    versions = tuple(version_to_save(a._x) if isinstance(a, Tensor) and a._x is not None else 0 for a in flat(kept))
    if any(versions):
        node.ensure_extras().versions = versions


def version_to_save(extra: TensorExtras) -> int:
    """Return the version of a tensor that a node keeps; RuntimeError for an inference tensor."""
    if extra.inference:
        raise RuntimeError(SAVED_INFERENCE_MESSAGE)
    return 0 if extra.counter is None else extra.counter.n


def watch(result: Tensor, *tensors: object) -> Tensor:
    """Store the versions of the index tensors and masks that the rule of an operation's node reads as arrays."""
    extra = result._x
    node = result._fn if extra is None or extra.view is None else extra.view.base._fn
    node = getattr(node, "inner", node)
    if node is not None and node.op is not None:
        watched = tuple((t, t._version) for t in tensors if isinstance(t, Tensor) and not t.is_inference())
        if watched:
            node.ensure_extras().watched = watched
    return result


def mark_view(out: Tensor, source: Tensor, several: bool = False) -> None:
    """Make `out` a view: it shares the version counter and knows the base at the end of the chain."""
    extra = out.extra()
    extra.inference = extra.needs_slow_path = source.is_inference()
    if extra.inference:
        return
    extra.counter = source.counter()
    view = None if source._x is None else source._x.view
    base = view.base if view is not None else source
    extra.needs_slow_path = True
    extra.view = View(base, view_rules.creation(several, view), extra.counter.n)


# ---- when it is read

PLAIN = frozenset((float, int, bool, str, type(None), Meta))  # types of what is kept that is not read as raw data


def restored(node: Node) -> tuple[Any, ...]:
    """Return the arguments of a node, with those kept as raw data as tensors with their history."""
    raw_mask, layout = node.plan.raw_mask, node.plan.layout
    first = of_edge(node.saved_a, node.edge_a) if raw_mask & 1 else node.saved_a
    if layout == ONE:
        return (first,)
    if layout == ONE_AND_PLAIN:
        return first, *node.saved_b
    return first, of_edge(node.saved_b, node.edge_b) if raw_mask & 2 else node.saved_b


def of_edge(raw: Raw, edge: Node) -> Tensor:
    """Return the tensor whose gradient goes to `edge`, as it was when its data were saved."""
    if isinstance(edge, AccumulateGrad):
        return edge.variable
    extra: TensorExtras | None
    if edge.extras is None or edge.extras.fast_result is None:
        extra, data = None, raw
    else:
        extra, data, original = edge.extras.fast_result
        tensor = original()
        if tensor is not None and tensor._fn is not edge:  # changed in place: errors name its present grad_fn
            return tensor
    tensor = Tensor._wrap(data)
    tensor._fn, tensor._req, tensor._x = named(edge), True, extra
    return tensor


def result_of(node: Node, data: Raw, number: int = 0) -> Tensor:
    """Return a node's saved result as a new tensor with its history. Keeping the tensor would be a cycle."""
    result = Tensor._wrap(data)
    known = node.op.differentiable
    if result.is_floating_point() and (known is None or number in known):
        result._fn, result._nr, result._req = named(node), number, True
    return result


def saved_results(node: Node, out: Any) -> Tensor | tuple[Tensor | None, ...] | None:
    """Return the saved result, or results, as tensors of the graph."""
    if type(out) is tuple and node.outputs != 1:
        return tuple(None if raw is None else result_of(node, raw, i) for i, raw in enumerate(out))
    return None if out is None else result_of(node, out)


def saved_data(node: Node) -> tuple[list[Any], Any]:
    """Return the saved arguments and result as raw data; RuntimeError if they were freed or changed in place."""
    a, b = node.saved_a, node.saved_b
    if a is FREED:
        raise RuntimeError(FREED_MESSAGE)
    plan, extras, versions = node.plan, node.extras, None
    raw_mask = plan.raw_mask
    if extras is not None:
        if extras.packed or extras.watched or extras.out_counter is not None:
            return checked_data(node)
        versions = extras.versions
    if raw_mask and fast_operand_changed(node, raw_mask):
        return checked_data(node)
    shape = plan.layout
    if shape == TWO:
        args = [a, b]
    elif shape == TUPLES:
        args = list(a)
    else:
        args = [a] if b is None else [a, *b]
    for i, kept in enumerate(args):
        if type(kept) in PLAIN:
            continue
        if isinstance(kept, Tensor):
            if kept._x is not None:
                check_version(node, kept, 0 if versions is None else versions[i])
            args[i] = kept._data
        elif type(kept) is tuple:
            if versions is not None:
                return checked_data(node)
            args[i] = raw_nested(node, kept)
    return args, node.out


def fast_operand_changed(node: Node, raw_mask: int) -> bool:
    """Whether a tensor whose raw data a node of the fast path keeps has left the fast path."""
    if raw_mask & 1 and node.edge_a.extras is not None:
        return True
    return bool(raw_mask & 2) and node.edge_b.extras is not None


def checked_data(node: Node) -> tuple[list[Any], Any]:
    """`saved_data` for nodes that need the full check: versions that are not 0, saved-tensor hooks, watched indices."""
    if node.plan.saves:
        check_versions(node)
    kept, out = node.args, node.out
    if node.extras is not None and node.extras.packed:
        from gradtrace.engine.saved_hooks import unpacked

        kept, out = unpacked(node)
    return [raw_nested(None, a) for a in kept], out


def raw_nested(node: Node | None, value: object) -> Any:
    """Return a value with tensors, also inside tuples, replaced by their data; checks the versions for a `node`."""
    if isinstance(value, Tensor):
        if node is not None and value._x is not None:
            check_version(node, value, 0)
        return value._data
    return tuple(raw_nested(node, v) for v in value) if type(value) is tuple else value
