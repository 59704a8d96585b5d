"""Save the arguments and results of a node, and read them: edges, Metas (a shape and dtype), versions."""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any
from gradtrace.engine.checks import check_version, check_versions
from gradtrace.engine.dtypes import spec_of
from gradtrace.engine.node import FREED, FREED_MESSAGE, ONE, TWO, AccumulateGrad, Meta, Node, accumulator, named
from gradtrace.engine.tensor import Tensor, gradient_edge

if TYPE_CHECKING:
    from gradtrace.engine.extra import TensorExtras
    from gradtrace.engine.types import Raw


# ---- when the node is made


def source_node(argument: object) -> Node | None:
    """Return the node that receives an argument's gradient; None for an argument that needs none."""
    if not isinstance(argument, Tensor):
        return None
    if argument._x is not None and argument._x.needs_slow_path:
        return gradient_edge(argument)
    return argument._fn if argument._fn is not None else accumulator(argument) if argument._req else None


def meta_of(raw: Raw) -> Meta:
    """Return the Meta of one tensor's raw data."""
    spec = spec_of(raw)
    return Meta(spec.shape, spec.dtype, None if isinstance(raw, (float, bool)) else raw.strides)


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


# ---- when it is read

PLAIN = frozenset((float, int, bool, str, type(None), Meta))  # types of what is kept that is not read as raw data


def restored(node: Node) -> tuple[Any, ...]:
    """Return the saved arguments of a node; those kept as raw data become tensors with their history."""
    args, raw_mask = list(node.kept), node.plan.raw_mask
    if raw_mask & 1:
        args[0] = of_edge(node.saved_a, node.edge_a)
    if raw_mask & 2:
        args[1] = of_edge(node.saved_b, node.edge_b)
    return tuple(args)


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
    """Return a node's saved result as a new tensor with its history; keeping the tensor would make a cycle."""
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


def saved_values(node: Node, checked: bool = True) -> tuple[tuple[Any, ...], Any]:
    """Return the saved arguments, as tensors with their history, and the saved result as raw data.

    RuntimeError if they were freed or (if `checked`) changed in place since. Saved-tensor hooks unpack them here.
    """
    if node.saved_a is FREED:
        raise RuntimeError(FREED_MESSAGE)
    if checked and node.plan.saves:
        check_versions(node)
    if node.extras is not None and node.extras.packed:
        from gradtrace.engine.saved_hooks import unpacked

        return unpacked(node)
    return node.args, node.out


def saved_data(node: Node) -> tuple[list[Any], Any]:
    """Return a node's saved arguments and result as raw data, checked like `saved_values`; faster for most nodes."""
    plan, extras, versions = node.plan, node.extras, None
    if extras is not None:
        if extras.packed or extras.watched or extras.out_counter is not None:
            return all_checked(node)
        versions = extras.versions
    first, second = node.saved_a, node.saved_b
    if first is FREED or (plan.raw_mask and has_moved(node, plan.raw_mask)):
        return all_checked(node)
    if plan.layout == TWO:
        args = [first, second]
    elif plan.layout == ONE:
        args = [first] if second is None else [first, *second]
    else:
        args = list(first)
    for i, kept in enumerate(args):
        if type(kept) in PLAIN:
            continue
        if isinstance(kept, Tensor):
            if kept._x is not None and i < len(plan.actions):  # plain arguments (running statistics) may change
                check_version(node, kept, 0 if versions is None else versions[i])
            args[i] = kept._data
        elif type(kept) is tuple:
            if versions is not None:
                return all_checked(node)
            args[i] = raw_nested(node, kept)
    return args, node.out


def has_moved(node: Node, raw_mask: int) -> bool:
    """Return whether a tensor whose raw data a node keeps may have left the fast path; the edge's node notes this."""
    return bool((raw_mask & 1 and node.edge_a.extras) or (raw_mask & 2 and node.edge_b.extras))


def all_checked(node: Node) -> tuple[list[Any], Any]:
    kept, out = saved_values(node)
    return [raw_nested(None, a) for a in kept], out


def raw_nested(node: Node | None, value: object) -> Any:
    """Return a value with tensors, also inside tuples, replaced by their data; checks the versions for a `node`."""
    if isinstance(value, Tensor):
        if node is not None and value._x is not None:
            check_version(node, value, 0)
        return value._data
    return tuple(raw_nested(node, v) for v in value) if type(value) is tuple else value
