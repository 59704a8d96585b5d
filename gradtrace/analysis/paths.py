"""Every path from a root to a tensor, with the derivative on each edge, the product along it, and
the sum of all.

By the chain rule the gradient is the sum over all paths of the product of the local derivatives.
The number of paths grows exponentially with the depth of a graph, so paths are counted and summed
edge by edge, and listed one by one only if they are few. The run must have been watched with
`jacobians`.
"""

from __future__ import annotations

import numpy as np

from gradtrace.analysis.steps import EdgeTable, made_by
from gradtrace.annotations import Any, Iterator, NamedTuple
from gradtrace.errors import UsageError
from gradtrace.trace.record import BackwardStep, PassRecord, TensorRecord, Trace, Value

MANY = 100  # paths up to which each one is written out
CLOSE = 1e-5  # how near the sum must come to the gradient, relative to its size


class Factor(NamedTuple):
    """The derivative of `of` with respect to `by` on one edge: the numbers in `local`, or if this
    is None, a matrix of `shape`.
    """

    of: str
    by: str
    local: Value | None
    shape: tuple[int, ...]


class Path(NamedTuple):
    """A path: its tensors from the root on, the factors, and its contribution to the gradient."""

    tensors: tuple[str, ...]
    factors: tuple[Factor, ...]
    product: Value


class Group(NamedTuple):
    """All paths whose last step starts at one tensor: their number, and the sum of their
    contributions.
    """

    through: str
    ways: int
    total: Value


class Paths(NamedTuple):
    """The paths from `root` to `leaf`. `paths` is empty if there are more than were requested."""

    root: str
    leaf: str
    ways: int
    paths: tuple[Path, ...]
    groups: tuple[Group, ...]
    total: Value
    gradient: Value | None  # what backward brought; None if it did not start at this root
    agrees: bool
    vector: Value  # what backward started with
    hooks: tuple[str, ...]  # that changed a gradient on the way: then the sum is another
    element: tuple[int, ...] | None = None  # of the leaf, if all of this is about one
    is_kept: bool = True  # whether the leaf's .grad has the gradient


class PathEdge(NamedTuple):
    """An edge of the graph along which a gradient flowed."""

    source: int
    place: int
    target: int
    tensor: int | None  # the operand


class Web:
    """The graph of one pass, between functions."""

    def __init__(self, trace: Trace, number: int) -> None:
        self.trace = trace
        self.graph = EdgeTable(trace)
        self.steps: dict[int, BackwardStep] = {
            s.function: s for s in trace.steps if s.number == number
        }
        self.edges: dict[int, list[PathEdge]] = {}
        for e in trace.function_edges:
            step = self.steps.get(e.source)
            if (
                step is not None
                and e.input_index < len(step.downstream)
                and step.downstream[e.input_index] is not None
            ):
                edge = PathEdge(
                    e.source, e.input_index, e.target, self.graph.operand(e.source, e.input_index)
                )
                self.edges.setdefault(e.source, []).append(edge)

    def counts_to(self, target: int) -> dict[int, int]:
        """Return the number of paths from each function to the target; functions without a path are
        left out.
        """
        counts = {target: 1}
        for function in sorted(self.edges):  # a function is newer than those that its edges lead to
            total = sum(counts.get(e.target, 0) for e in self.edges[function])
            if total and function != target:
                counts[function] = total
        return counts

    def derivative(self, edge: PathEdge) -> tuple[Value | None, Value | None]:
        """Return the local derivative on an edge, element by element, and as a matrix; either may
        be missing.
        """
        step = self.steps[edge.source]
        matrix = step.matrices[edge.place] if edge.place < len(step.matrices) else None
        return step.local[edge.place] if step.local else None, matrix

    def along(self, edge: PathEdge, gradient: Any) -> Any:
        """Carry a gradient along an edge: multiply it by the local derivative, or by the matrix."""
        sent = self.steps[edge.source].downstream[edge.place]
        assert sent is not None
        local, matrix = self.derivative(edge)
        if local is None:
            if matrix is None:
                raise UsageError(
                    "the paths lead through an operation whose matrix of derivatives is too large "
                    "to list",
                    "take smaller inputs, or see gradtrace trace",
                )
            return (gradient.reshape(-1) @ matrix.data).reshape(sent.shape)
        if local.shape != gradient.shape and gradient.size == 1:
            return (gradient.reshape(()) * np.asarray(local.data, float)).reshape(sent.shape)
        return sum_to(gradient * np.asarray(local.data, float), sent.shape)

    def label(self, tensor: int | None, function: int) -> str:
        return (
            self.trace.functions[function].name
            if tensor is None
            else self.trace.tensors[tensor].label
        )


def sum_to(array: Any, shape: tuple[int, ...]) -> Any:
    """Sum a gradient over the dimensions that broadcasting added or expanded."""
    lead = array.ndim - len(shape)
    axes = tuple(range(lead)) + tuple(
        i + lead for i, n in enumerate(shape) if n == 1 and array.shape[i + lead] != 1
    )
    return array.sum(axis=axes, keepdims=True).reshape(shape)


def paths(trace: Trace, root: TensorRecord | None, leaf: TensorRecord, many: int = MANY) -> Paths:
    """Return the paths to one tensor, from `root` or from where the last pass began.

    UsageError if the pass does not exist, or it did not reach the root or the tensor.
    """
    pass_ = last_pass(trace)
    start = trace.tensors[pass_.roots[0]] if root is None else root
    web = Web(trace, pass_.number)
    if start.function not in web.steps:
        raise UsageError(
            f"backward did not come to {start.label}", "start from the result, or a part of it"
        )
    from_root = start.id in pass_.roots
    vector = pass_.vectors[pass_.roots.index(start.id)] if from_root else None
    first = web.steps[start.function].upstream[0]
    shape = () if first is None else first.shape
    seed = np.ones(shape) if vector is None else np.asarray(vector.data, float)
    counts = {} if leaf.function is None else web.counts_to(leaf.function)
    count = counts.get(start.function, 0)
    groups, total = grouped(web, start.function, leaf, counts, seed)
    listed = tuple(list_paths(web, start, leaf, counts, seed)) if 0 < count <= many else ()
    gradient = arrived(web, leaf) if from_root and len(pass_.roots) == 1 else None
    agrees = gradient is None or close(total, gradient)
    changed = tuple(
        dict.fromkeys(
            h.name for s in web.steps.values() if s.function in counts for h in s.hooks if h.changed
        )
    )
    return Paths(
        start.label,
        leaf.label,
        count,
        listed,
        groups,
        total,
        gradient,
        agrees,
        value_of(seed),
        changed,
        is_kept=leaf.grad is not None,
    )


def last_pass(trace: Trace) -> PassRecord:
    """Return the last pass that did not fail. UsageError if there is none."""
    done = [pass_ for pass_ in trace.passes if not pass_.error and pass_.roots]
    if not done:
        raise UsageError(
            "backward was not run, so there are no paths",
            "make a leaf with requires_grad=True",
        )
    return done[-1]


def arrived(web: Web, leaf: TensorRecord) -> Value | None:
    step = None if leaf.function is None else web.steps.get(leaf.function)
    return None if step is None else next((v for v in step.arrived if v is not None), None)


def grouped(
    web: Web, start: int, leaf: TensorRecord, counts: dict[int, int], seed: Any
) -> tuple[tuple[Group, ...], Value]:
    """Return the number of paths and their contribution for each last edge, and the total
    contribution.
    """
    gradients = {start: seed}
    ways = {start: 1}
    groups: list[Group] = []
    for function in sorted(
        (f for f in counts if f in web.edges and f != leaf.function), reverse=True
    ):
        if function not in gradients:
            continue
        for edge in web.edges[function]:
            if edge.target not in counts:
                continue
            sent = web.along(edge, gradients[function])
            gradients[edge.target] = (
                sent if edge.target not in gradients else gradients[edge.target] + sent
            )
            ways[edge.target] = ways.get(edge.target, 0) + ways[function]
            if edge.target == leaf.function:
                name = web.label(made_by(web.trace.functions[function]), function)
                groups.append(Group(name, ways[function], value_of(sent)))
    total = gradients.get(leaf.function) if leaf.function is not None else None
    if total is None:
        total = np.zeros(leaf.value.shape if leaf.value is not None else ())
    return tuple(groups), value_of(total)


def list_paths(
    web: Web, start: TensorRecord, leaf: TensorRecord, counts: dict[int, int], seed: Any
) -> Iterator[Path]:
    """Yield the paths one by one, those of the first operand first."""
    assert start.function is not None
    stack: list[tuple[int, Any, tuple[PathEdge, ...]]] = [(start.function, seed, ())]
    while stack:
        function, gradient, way = stack.pop()
        if function == leaf.function:
            yield written(web, start, way, gradient)
            continue
        for edge in reversed([e for e in web.edges.get(function, ()) if e.target in counts]):
            stack.append((edge.target, web.along(edge, gradient), (*way, edge)))


def written(web: Web, start: TensorRecord, way: tuple[PathEdge, ...], product: Any) -> Path:
    names = [start.label]
    factors = []
    for edge in way:
        name = web.label(edge.tensor, edge.target)
        local, matrix = web.derivative(edge)
        factors.append(
            Factor(
                names[-1], name, local, matrix.shape if local is None and matrix is not None else ()
            )
        )
        names.append(name)
    return Path(tuple(names), tuple(factors), value_of(product))


def value_of(array: Any) -> Value:
    """Return an array as a Value."""
    array = np.asarray(array, float)
    return Value(array.shape, "float64", array.item() if not array.shape else array)


def close(total: Value, gradient: Value) -> bool:
    """Whether the sum equals the gradient within the rounding of its dtype."""
    mine = np.asarray(total.data, float)
    theirs = np.asarray(gradient.data, float)
    size = np.abs(theirs[np.isfinite(theirs)]).max(initial=1e-30)
    return bool(np.allclose(mine, theirs, rtol=CLOSE, atol=CLOSE * size, equal_nan=True))


def at(answer: Paths, index: tuple[int, ...]) -> Paths:
    """Return the paths for one element of the leaf. UsageError if the element does not exist."""

    def pick(value: Value | None) -> Value | None:
        return None if value is None else value_of(np.asarray(value.data)[index])

    try:
        picked = pick(answer.total)
    except IndexError:
        shape = answer.total.shape
        raise UsageError(
            f"--element: {answer.leaf} of shape {shape} has no element {list(index)}"
        ) from None
    assert picked is not None
    if picked.shape:
        raise UsageError(
            f"--element: {answer.leaf} has {len(answer.total.shape)} dimensions",
            "give an index for each",
        )
    return answer._replace(
        paths=tuple(p._replace(product=pick(p.product)) for p in answer.paths),  # type: ignore[arg-type]
        groups=tuple(g._replace(total=pick(g.total)) for g in answer.groups),  # type: ignore[arg-type]
        total=picked,
        gradient=pick(answer.gradient),
        element=index,
    )


def leaves(trace: Trace) -> list[TensorRecord]:
    """Return the leaves that the last pass reached, in order of creation."""
    number = last_pass(trace).number
    reached = {s.function for s in trace.steps if s.number == number}
    return [t for t in trace.tensors if t.is_leaf and t.is_last and t.function in reached]
