"""Save the arguments and results of a node, and read them: edges, Metas (a shape and dtype),
versions.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any, Iterable
from gradtrace.engine.data.dtypes import spec_of
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.node import (
    FREED,
    FREED_MESSAGE,
    ONE,
    TUPLES,
    TWO,
    AccumulateGrad,
    Meta,
    Node,
    accumulator,
    bare_name,
    named,
    tensor_type_name,
)
from gradtrace.engine.data.state import state
from gradtrace.engine.data.tensor import Tensor, gradient_edge

if TYPE_CHECKING:
    from gradtrace.engine.data.tensor_fields import TensorExtras
    from gradtrace.engine.data.types import Raw

ENABLE_HINT = (
    "enable anomaly detection to find the operation that failed to compute its gradient, with "
    "torch.autograd.set_detect_anomaly(True, check_nan=False)."
)
FOUND_HINT = (
    "the backtrace further above shows the operation that failed to compute its gradient. The "
    "variable in question was changed in there or anywhere later. Good luck!"
)
DETACHED_MESSAGE = (
    "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_().This is "
    "not supported, please use out-of-place `.detach()` instead"
)

SAVED_INFERENCE_MESSAGE = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in "
    "inference mode in computation tracked by autograd. To work around this, you can make a clone "
    "to get a normal tensor and use it in autograd, or use `torch.no_grad()` instead of "
    "`torch.inference_mode()`."
)


# ---- when the node is made


def source_node(argument: object) -> Node | None:
    """Return the node that receives an argument's gradient; None for an argument that needs
    none.
    """
    if not isinstance(argument, Tensor):
        return None
    if argument._x is not None and argument._x.needs_slow_path:
        return gradient_edge(argument)
    if argument._fn is not None:
        return argument._fn
    return accumulator(argument) if argument._req else None


def meta_of(raw: Raw) -> Meta:
    """Return the Meta of one tensor's raw data."""
    spec = spec_of(raw)
    return Meta(spec.shape, spec.dtype, None if isinstance(raw, (float, bool)) else raw.strides)


def version_to_save(extra: TensorExtras) -> int:
    """Return the version number to store with a saved tensor; RuntimeError for an inference
    tensor.
    """
    if extra.inference:
        raise RuntimeError(SAVED_INFERENCE_MESSAGE)
    return 0 if extra.counter is None else extra.counter.n


def watch(result: Tensor, *tensors: object) -> Tensor:
    """Store the versions of the index tensors and masks that the rule of an operation's node reads
    as arrays.
    """
    node = maker(result)
    if node is not None:
        watch_by(node, tensors)
    return result


def maker(result: Tensor) -> Node | None:
    """Return the operator's node that made a tensor, or changed it in place; None if there is
    none.
    """
    extra = result._x
    node = result._fn if extra is None or extra.view is None else extra.view.base._fn
    if node is not None and node.op is None:
        node = getattr(node, "inner", node)
    return None if node is None or node.op is None else node


def watch_by(node: Node, tensors: Iterable[object]) -> None:
    """Have a node store the versions of tensors whose arrays its rules read.

    Under saved-tensor hooks, whose copies are not checked, the node gets copies of the arrays
    instead.
    """
    if state.saved_hooks:
        copy_plain_arguments(node)
        return
    watchable = [t for t in tensors if isinstance(t, Tensor) and not (t._x and t._x.inference)]
    watched = tuple([(t, t._version, t._data) for t in watchable])
    if watched:
        extras = node.ensure_extras()
        extras.watched = (*extras.watched, *watched)


def copy_plain_arguments(node: Node) -> None:
    """Give a node copies of the arrays among the arguments that are not operands."""
    if node.layout == ONE:
        node.saved_b = copied(node.saved_b)
    elif node.layout == TUPLES:
        arity = node.op.arity
        node.saved_a = (*node.saved_a[:arity], *copied(node.saved_a[arity:]))


def copied(value: object) -> Any:
    if type(value) is tuple:
        return tuple(map(copied, value))
    if isinstance(value, Tensor):
        return Tensor._wrap(np.array(value._data))
    return value.copy() if isinstance(value, np.ndarray) else value


# ---- when it is read

# types of what is kept that is not read as raw data
PLAIN = frozenset((float, int, bool, str, type(None), Meta))


def arguments(node: Node) -> tuple[Any, ...]:
    """Return the saved arguments of a node; those kept as raw data become tensors with their
    history.
    """
    raw_mask = node.plan.raw_mask
    kept = node.kept
    for tensor, _, data in () if node.extras is None else node.extras.watched:
        if tensor._data is not data:  # `tensor.data` was set: as in PyTorch, the new data are read
            kept = replaced(kept, data, tensor._data)
    if not raw_mask or node.saved_a is FREED:
        return kept
    args = list(kept)
    if raw_mask & 1:
        args[0] = of_edge(node.saved_a, node.edge_a)
    if raw_mask & 2:
        args[1] = of_edge(node.saved_b, node.edge_b)
    return tuple(args)


def replaced(value: Any, old: Raw, new: Raw) -> Any:
    """Return a value, or each value of a tuple, with `new` in the place of `old`."""
    if type(value) is tuple:
        return tuple([replaced(v, old, new) for v in value])
    return new if value is old else value


def of_edge(raw: Raw, edge: Node) -> Tensor:
    """Return the tensor whose gradient goes to `edge`, as it was when its data were saved."""
    if isinstance(edge, AccumulateGrad):
        return edge.variable
    extra: TensorExtras | None
    if edge.extras is None or edge.extras.fast_result is None:
        extra = None
        data = raw
    else:
        extra, data, original = edge.extras.fast_result
        tensor = original()
        # changed in place: errors name its present grad_fn
        if tensor is not None and tensor._fn is not edge:
            return tensor
    tensor = Tensor._wrap(data)
    tensor._fn = named(edge)
    tensor._req = True
    tensor._x = extra
    return tensor


def result_of(node: Node, data: Raw, number: int = 0) -> Tensor:
    """Return a node's saved result as a new tensor with its history; keeping the tensor would make
    a cycle.
    """
    result = Tensor._wrap(data)
    differentiable = node.op.differentiable
    if result.is_floating_point() and (differentiable is None or number in differentiable):
        result._fn = named(node)
        result._nr = number
        result._req = True
    return result


def saved_results(node: Node, out: Any) -> Tensor | tuple[Tensor | None, ...] | None:
    """Return the saved result, or results, as tensors of the graph."""
    if type(out) is tuple and node.outputs != 1:
        return tuple(None if raw is None else result_of(node, raw, i) for i, raw in enumerate(out))
    return None if out is None else result_of(node, out)


def saved_values(node: Node, checked: bool = True) -> tuple[tuple[Any, ...], Any]:
    """Return the saved arguments, as tensors with their history, and the saved result as raw data.

    RuntimeError if they were freed or (if `checked`) changed in place since. Saved-tensor hooks
    unpack them here.
    """
    if node.saved_a is FREED:
        raise RuntimeError(FREED_MESSAGE)
    if checked and node.plan.saves:
        check_versions(node)
    if node.extras is not None and node.extras.unpack is not None:
        return node.extras.unpack(node)
    return arguments(node), node.out


def saved_data(node: Node) -> tuple[list[Any], Any]:
    """Return a node's saved arguments and result as raw data, checked like `saved_values`; faster
    for most nodes.
    """
    plan = node.plan
    extras = node.extras
    versions = None
    if extras is not None:
        if extras.unpack is not None or extras.out_counter is not None:
            return all_checked(node)
        for tensor, version, data in extras.watched:
            if tensor._version != version or tensor._data is not data:
                return all_checked(node)
        versions = extras.versions
    first = node.saved_a
    second = node.saved_b
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
            # plain arguments (running statistics) may change
            if kept._x is not None and i < len(plan.actions):
                check_version(node, kept, 0 if versions is None else versions[i])
            args[i] = kept._data
        elif type(kept) is tuple:
            if versions is not None:
                return all_checked(node)
            args[i] = raw_nested(node, kept)
    return args, node.out


def has_moved(node: Node, raw_mask: int) -> bool:
    """Return whether a tensor whose raw data a node keeps may have left the fast path; the edge's
    node notes this.
    """
    return bool((raw_mask & 1 and node.edge_a.extras) or (raw_mask & 2 and node.edge_b.extras))


def all_checked(node: Node) -> tuple[list[Any], Any]:
    kept, out = saved_values(node)
    return [raw_nested(None, a) for a in kept], out


def raw_nested(node: Node | None, value: object) -> Any:
    """Return a value with tensors, also inside tuples, replaced by their data; checks the versions
    for a `node`.
    """
    if isinstance(value, Tensor):
        if node is not None and value._x is not None:
            check_version(node, value, 0)
        return value._data
    return tuple(raw_nested(node, v) for v in value) if type(value) is tuple else value


# ---- whether it has changed since


def check_versions(node: Node) -> None:
    """Raise RuntimeError if a saved tensor was changed in place since it was saved: the gradient
    would be wrong.
    """
    extras = node.extras
    expected = None if extras is None else extras.versions
    for i, a in enumerate(flat(checked_arguments(node))):
        if isinstance(a, Tensor):
            check_version(node, a, 0 if expected is None else expected[i])
    if extras is None:
        return
    if extras.out_counter is not None and extras.out_counter.n != extras.out_version:
        outs = node.out if type(node.out) is tuple else (node.out,)
        number = next(i for i, raw in enumerate(outs) if raw is not None)
        raise modified(outs[number], node, number, extras.out_counter.n, extras.out_version)
    for t, version, _ in extras.watched:
        if t._version != version:
            raise modified(t._data, None, 0, t._version, version)


def checked_arguments(node: Node) -> tuple[Any, ...]:
    """Return the saved operands. Plain arguments, such as running statistics, may change and are
    not checked.
    """
    kept = arguments(node)
    return kept if node.op is None else kept[: node.op.arity]


def check_version(node: Node, saved: Tensor, expected: int) -> None:
    """Raise RuntimeError if a saved tensor no longer has the version `expected`, or was detached in
    place.
    """
    extra = saved._x
    version = 0
    if extra is not None and (extra.counter is not None or extra.inference):
        version = saved._version if extra.inference else extra.counter.n  # type: ignore[union-attr]
    if version != expected:
        raise first_modified(node, None if node.extras is None else node.extras.versions)
    if extra is not None and extra.detached >= node.seq:
        raise RuntimeError(DETACHED_MESSAGE)


def first_modified(node: Node, expected: tuple[int, ...] | None) -> RuntimeError:
    """Return the error for the first changed argument in the order of the argument names, as
    PyTorch checks them.
    """
    saved = [(i, a) for i, a in enumerate(flat(checked_arguments(node))) if isinstance(a, Tensor)]
    names = node.op.tensor_names if node.op is not None and not node.op.variadic else ()
    changed = []
    for i, a in saved:
        want = 0 if expected is None else expected[i]
        if a._version != want:
            changed.append((names[i] if i < len(names) else "", i, a, want))
    _, _, a, want = min(changed, key=lambda entry: entry[:2])
    return modified(a._data, a.grad_fn, a._nr, a._version, want)


def modified(
    raw: object, fn: Node | None, number: int, version: int, expected: int
) -> RuntimeError:
    """Return PyTorch's error for a saved tensor that an in-place operation has changed."""
    kind = tensor_type_name(getattr(raw, "dtype", None))
    shape = list(getattr(raw, "shape", ()))
    origin = f", which is output {number} of {bare_name(fn)}," if fn is not None else ""
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: [{kind} {shape}]{origin} is at version {version}; expected version {expected} "
        f"instead. Hint: {FOUND_HINT if state.anomaly else ENABLE_HINT}"
    )


def flat(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments with a variadic operator's tuple of operands unpacked."""
    return (*args[0], *args[1:]) if args and type(args[0]) is tuple else args
