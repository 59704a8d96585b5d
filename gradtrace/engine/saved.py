"""What a node keeps of a call: edges, saved arguments, their versions; and what makes a result a view."""

from __future__ import annotations

from gradtrace.annotations import Any
from gradtrace.engine import view_rules
from gradtrace.engine.extra import View
from gradtrace.engine.lazy import np
from gradtrace.engine.node import WITH_PLAIN, AccumulateGrad, Meta, Node, accumulator, named
from gradtrace.engine.plan import META, SAVE
from gradtrace.engine.tensor import Tensor, gradient_edge

SAVED_INFERENCE_MESSAGE = (
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
    "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in "
    "autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`."
)


def source_node(argument: Any) -> Node | None:
    """Where an argument's gradient goes; None for what needs none."""
    if not isinstance(argument, Tensor):
        return None
    if argument._x is not None and argument._x.odd:
        return gradient_edge(argument)
    return named(argument._fn) if argument._fn is not None else accumulator(argument) if argument._req else None


def keep(args: tuple[Any, ...], actions: tuple[int, ...], variadic: bool) -> tuple[Any, ...]:
    """The arguments as the plan wants them kept."""
    kept = list(args)
    for i, action in enumerate(actions):
        if action == SAVE:
            continue
        a = args[i]
        if variadic:
            kept[i] = tuple(Meta(*layout(t._data)) for t in a) if action == META else None
        elif isinstance(a, Tensor):
            kept[i] = Meta(*layout(a._data), getattr(a._data, "strides", None)) if action == META else None
    return tuple(kept)


def restored(node: Node) -> tuple[Any, ...]:
    """The arguments of a node that keeps some as raw data: these as tensors with their history again."""
    first = of_edge(node.a, node.na) if node.plan.raw & 1 else node.a
    if node.narrow == 1:
        return (first,)
    if node.narrow == WITH_PLAIN:
        return first, *node.b
    return first, of_edge(node.b, node.nb) if node.plan.raw & 2 else node.b


def of_edge(raw: Any, edge: Any) -> Tensor:
    """The tensor whose gradient goes to `edge`, as it was when its data were kept."""
    if isinstance(edge, AccumulateGrad):
        return edge.variable
    extra, data = (None, raw) if edge.rare is None or edge.rare.result is None else edge.rare.result
    tensor = Tensor._wrap(data)
    tensor._fn, tensor._req, tensor._x = edge, True, extra
    return tensor


def untouched(node: Node) -> bool:
    """Whether a node keeps raw data only, which stand for their tensors because nothing happened to these since."""
    raw = node.plan.raw
    if raw != node.plan.keeps or node.rare is not None:
        return False
    return not (raw & 1 and node.na.rare is not None) and not (raw & 2 and node.nb.rare is not None)


def raw_operands(node: Node) -> tuple[Any, ...]:
    """The arguments of an untouched node, without making tensors of them."""
    if node.narrow == WITH_PLAIN:
        return node.a, *node.b
    return (node.a,) if node.narrow == 1 else (node.a, node.b)


def layout(raw: Any) -> tuple[Any, Any]:
    """Shape and numpy dtype of raw data (dtype None: a Python float); lists of them for several outputs."""
    kind = type(raw)
    if kind is float:  # first: it must not import numpy
        return (), None
    if kind is np.ndarray:
        return raw.shape, raw.dtype
    if kind is tuple:
        pairs = [layout(r) for r in raw]
        return [p[0] for p in pairs], [p[1] for p in pairs]
    if type(raw) is bool:
        return (), np.dtype(bool)
    return raw.shape, raw.dtype


def note_versions(node: Node, kept: tuple[Any, ...]) -> None:
    """Notes the versions of the tensors that a node keeps, where they are not all 0."""
    versions = saved_versions(kept)
    if versions is not None:
        node.ensure_rare().versions = versions


def saved_versions(kept: tuple[Any, ...]) -> tuple[int, ...] | None:
    """The versions of the kept tensors, None when all are 0."""
    changed = False
    for a in flat(kept):
        if isinstance(a, Tensor) and a._x is not None:
            if a._x.inference:
                raise RuntimeError(SAVED_INFERENCE_MESSAGE)
            changed = changed or (a._x.counter is not None and a._x.counter.n != 0)
    return tuple(a._version for a in flat(kept) if isinstance(a, Tensor)) if changed else None


def watch(result: Tensor, *tensors: Any) -> Tensor:
    """Notes the versions of the index tensors and masks that the rule of an operation's node reads its arrays from."""
    extra = result._x
    node = result._fn if extra is None or extra.view is None else extra.view.base._fn
    node = getattr(node, "inner", node)
    if node is not None and node.op is not None:
        watched = tuple((t, t._version) for t in tensors if isinstance(t, Tensor) and not t.is_inference())
        if watched:
            node.ensure_rare().watched = watched
    return result


def flat(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments with the operands of a variadic operator spread out."""
    return (*args[0], *args[1:]) if args and type(args[0]) is tuple else args


def mark_view(out: Tensor, source: Tensor, several: bool = False) -> None:
    """Makes `out` a view: it shares the version counter, and knows the base at the end of the chain."""
    extra = out.extra()
    extra.inference = extra.odd = source.is_inference()
    if extra.inference:
        return
    extra.counter = source.counter()
    view = None if source._x is None else source._x.view
    base = view.base if view is not None else source
    extra.odd = True
    extra.view = View(base, view_rules.creation(several, view), extra.counter.n)


def result_of(node: Node, data: Any, number: int = 0) -> Tensor:
    """A node's saved result as a tensor with its history. Made anew each time: kept, it would be a cycle."""
    result = Tensor._wrap(data)
    known = node.op.differentiable
    if result.is_floating_point() and (known is None or number in known):
        node.op.attach(result, node, number)
    return result
