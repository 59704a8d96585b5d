"""Statistics of every node of a run, and their conclusions: where gradients vanish or explode, what
is not finite first, what is kept in memory, what could run in parallel, what is computed twice or
never used.
"""

from __future__ import annotations

import math
from itertools import pairwise

from gradtrace.analysis.causes.scale import usually_updated
from gradtrace.analysis.facts import Facts, goes_bad, is_finite
from gradtrace.analysis.flow import Flow
from gradtrace.analysis.lasting import ends_of, lasting
from gradtrace.analysis.steps import label_of, made_by, size_of
from gradtrace.annotations import Any, Callable, NamedTuple
from gradtrace.trace.functions import targets_of
from gradtrace.trace.record import Operation, Span, TensorRecord, Trace, Value

# a mean absolute gradient this much smaller than the largest of its pass has vanished
VANISHED = 1e-7
EXPLODED = 1e4
FEW = 3  # steps that make a gradient small without the rest of its way
# what a level leaves of the gradient of the one above, on average, when it is said to fade
FADING = 0.5


class Numbers(NamedTuple):
    """Statistics of a value's finite elements; `zeros` is a fraction of all elements, `nan` and
    `inf` are counts.
    """

    norm: float
    mean: float
    largest: float  # absolute
    zeros: float
    nan: int
    inf: int


class TensorStats(NamedTuple):
    """The statistics of one tensor. `level` counts operations from the inputs, `depth` backward
    steps from the root (None: no path).
    """

    tensor: int
    label: str
    op: str | None
    module: str
    level: int
    depth: int | None
    span: Span | None
    value: Numbers | None
    grad: Numbers | None
    # not finite, and not only an infinity that ends where an operation makes finite numbers of it
    is_bad: bool = False


class Depth(NamedTuple):
    """The gradients of all nodes at one distance from the root."""

    depth: int
    nodes: int
    mean: float  # of the absolute elements, the largest of the nodes
    smallest: float  # the smallest of the nodes


class Module(NamedTuple):
    """Statistics of the gradients of one module's parameters; as in Numbers, of their finite
    elements.
    """

    name: str
    parameters: int  # elements
    norm: float
    largest: float
    zeros: float
    nan: int
    inf: int


def has_nothing_finite(row: Numbers | Module) -> bool:
    """Whether no element is finite."""
    return bool(row.nan or row.inf) and not row.largest and not row.zeros


class Bad(NamedTuple):
    """The first operation whose result is not finite; `inputs` are the operands with their values
    at the time.
    """

    where: str  # "forward", "backward"
    label: str
    op: str
    span: Span | None
    inputs: tuple[tuple[str, Value], ...]


class Structure(NamedTuple):
    """The shape of the graph. `levels` are the labels in each level; the first level has the
    inputs.
    """

    operations: int
    tensors: int
    leaves: int
    levels: tuple[tuple[str, ...], ...]
    width: int
    common: tuple[tuple[str, ...], ...]  # computed more than once from the same operands
    dead: tuple[str, ...]  # computed, but not needed for the result


class Memory(NamedTuple):
    """The memory in bytes of saved tensors, each counted once, and the cost of retain_grad on every
    tensor.
    """

    saved: int
    saved_tensors: int
    freed: bool
    leaf_gradients: int
    retained: int


class Stats(NamedTuple):
    nodes: tuple[TensorStats, ...]
    depths: tuple[Depth, ...]
    modules: tuple[Module, ...]
    verdict: str  # "", or what the gradients do on their way
    bad: tuple[Bad, ...]
    structure: Structure
    memory: Memory
    device: str  # several with commas between them
    engine: str  # "" for gradtrace, which has no device but the CPU


def stats(trace: Trace, whole: Trace | None = None) -> Stats:
    """Return all statistics. The run must have been watched and captured with `everything`. The
    trace may be a step of the `whole` one, which has the updates.
    """
    flow = Flow(trace)
    grads = gradients(trace)
    depths = depths_of(trace)
    levels = levels_of(trace)
    inside = within_backward(trace)
    bad = lasting(trace)
    nodes = tuple(
        TensorStats(
            t.id,
            t.label,
            t.op,
            module_of(trace, t),
            levels[t.id],
            depths.get(t.id),
            t.span,
            numbers_of(t.value),
            numbers_of(grads.get(t.id)),
            t.id in bad or not is_finite(grads.get(t.id)),
        )
        for t in trace.tensors
        if t.operation not in inside
    )
    by_depth = at_depths(nodes, grads)
    return Stats(
        nodes,
        by_depth,
        modules(trace),
        verdict(by_depth, lambda: far_parameters_are_trained(trace, depths, whole or trace)),
        tuple(first_bad(trace, bad)),
        structure(trace, flow, levels, inside),
        memory(trace, grads),
        devices(trace),
        trace.engine,
    )


def devices(trace: Trace) -> str:
    """Return the devices of all tensors, in the order of their first use: "cpu", "cpu, cuda:0"."""
    return ", ".join(dict.fromkeys(t.device or "cpu" for t in trace.tensors)) or "cpu"


# ---- numbers


def numbers_of(value: Value | None) -> Numbers | None:
    """Return the statistics of a value; None without a value, or if its elements are not
    floating-point.
    """
    if value is None or not value.is_float or not value.numel or not value.is_measured:
        return None
    facts = value.summary
    if facts.minimum is None or facts.maximum is None or facts.mean is None:
        return Numbers(0.0, 0.0, 0.0, 0.0, facts.nan, facts.inf)
    largest = float(max(abs(facts.minimum), abs(facts.maximum)))
    return Numbers(facts.norm, facts.mean, largest, facts.zeros / value.numel, facts.nan, facts.inf)


def gradients(trace: Trace) -> dict[int, Value]:
    """Return the gradient of each tensor; if it keeps none, the gradient that the last pass brought
    to it.
    """
    grads: dict[int, Value] = {}
    for step in trace.steps:
        function = trace.functions[step.function]
        brought = [(made_by(function), step.gradient)]
        if len(function.outputs) == len(step.upstream) > 1:
            brought = list(zip(function.outputs, step.upstream, strict=True))
        grads.update((i, value) for i, value in brought if i is not None and value is not None)
    return grads | {t.id: t.grad for t in trace.tensors if t.grad is not None}


# ---- places


def levels_of(trace: Trace) -> list[int]:
    """Return the level of each tensor: 0 if no operation made it, else one more than the highest of
    its operands.
    """
    levels = [0] * len(trace.tensors)
    for operation in trace.operations:
        above = max((levels[i] for i in operation.tensors), default=0)
        for out in operation.outputs:
            levels[out] = above + 1
    return levels


def depths_of(trace: Trace) -> dict[int, int]:
    """Return, for each tensor, the smallest number of backward steps from a root."""
    targets = targets_of(trace)
    starts = (trace.tensors[i].function for pass_ in trace.passes for i in pass_.roots)
    depths = {function: 0 for function in starts if function is not None}
    waiting = list(depths)
    for function in waiting:  # which grows
        for target in targets.get(function, ()):
            if target not in depths:
                depths[target] = depths[function] + 1
                waiting.append(target)
    return {
        tensor: depth
        for f, depth in depths.items()
        if (tensor := made_by(trace.functions[f])) is not None
    }


def within_backward(trace: Trace) -> set[int]:
    """Return the operations that ran within a pass: code of Functions and hooks, and the gradients'
    own graph.
    """
    return {i for pass_ in trace.passes for i in range(pass_.after, pass_.until)}


def module_of(trace: Trace, t: TensorRecord) -> str:
    """Return the module that an operation ran in, or that holds a parameter; "" without one."""
    if t.is_parameter and t.name is not None and "." in t.name:
        return t.name.rpartition(".")[0]
    return "" if t.operation is None else trace.module_around(trace.operations[t.operation].scope)


# ---- gradients on their way


def mean_size(value: Value) -> float:
    return abs(float(value.data)) if not value.shape else value.summary.absolute


def at_depths(nodes: tuple[TensorStats, ...], grads: dict[int, Value]) -> tuple[Depth, ...]:
    by_depth: dict[int, list[float]] = {}
    for node in nodes:
        grad = grads.get(node.tensor)
        if node.depth is not None and grad is not None and grad.is_measured and is_finite(grad):
            by_depth.setdefault(node.depth, []).append(mean_size(grad))
    return tuple(
        Depth(d, len(sizes), max(sizes), min(sizes)) for d, sizes in sorted(by_depth.items())
    )


def verdict(depths: tuple[Depth, ...], trained: Callable[[], bool]) -> str:
    """Return a sentence on whether gradients vanish or explode on their path from the root.
    Gradients that `trained` parameters make ordinary updates of, as Adam does, have not vanished.
    """
    if len(depths) < 3 or not depths[0].mean:
        return ""
    first = depths[0]
    last = depths[-1]
    if not last.mean:
        return "the gradients are 0 at the far end"
    ratio = last.mean / first.mean
    factor = ratio ** (1 / (last.depth - first.depth))
    early = depths[len(depths) // 4]
    late = depths[len(depths) * 3 // 4]
    steepest = sorted(b.mean / a.mean for a, b in pairwise(depths) if a.mean)[:FEW]
    if ratio < 1 and (late.mean > early.mean / 10 or ratio > math.prod(steepest) / 1e3):
        # the way keeps it: its ends are small (a mean over many elements), or a factor is
        # (LayerScale)
        return ""
    if (ratio < VANISHED or (ratio < 1e-3 and factor < FADING)) and not trained():
        return (
            f"vanishing: {ratio:.2g} of the gradient is left after {last.depth} steps, "
            f"{factor:.2g} for each"
        )
    if ratio > EXPLODED:
        return (
            f"exploding: the gradient grows {ratio:.2g} times over {last.depth} steps, "
            f"{factor:.2g} for each"
        )
    return ""


def far_parameters_are_trained(trace: Trace, depths: dict[int, int], whole: Trace) -> bool:
    """Whether updates change all parameters at the far end of the way by an ordinary share."""
    far = {i: depth for i, depth in depths.items() if trace.tensors[i].is_parameter}
    ends = {trace.tensors[i].name for i, depth in far.items() if depth == max(far.values())}
    trained = usually_updated(Facts(whole))
    return bool(ends) and ends <= {whole.tensors[leaf].name for leaf in trained}


def modules(trace: Trace) -> tuple[Module, ...]:
    """Return the statistics of the gradients of each module's parameters, in order of creation."""
    by_module: dict[str, list[Value]] = {}
    for t in trace.tensors:
        if t.is_parameter and t.name is not None and t.grad is not None:
            by_module.setdefault(t.name.rpartition(".")[0] or t.name, []).append(t.grad)
    rows = []
    for name, grads in by_module.items():
        summaries = [n for n in map(numbers_of, grads) if n is not None]
        if not summaries:  # recorded without values
            continue
        total = sum(g.numel for g in grads)
        rows.append(
            Module(
                name,
                total,
                math.hypot(*(n.norm for n in summaries)),
                max(n.largest for n in summaries),
                sum(n.zeros * g.numel for n, g in zip(summaries, grads, strict=False)) / total,
                sum(n.nan for n in summaries),
                sum(n.inf for n in summaries),
            )
        )
    return tuple(rows)


# ---- not finite


def first_bad(trace: Trace, lasting: frozenset[int]) -> list[Bad]:
    """Return the first operation that made a value that is not finite from finite operands, and the
    first such backward step.
    """
    origins = []
    for operation in trace.operations:
        outputs = [trace.tensors[i] for i in operation.outputs]
        if all(is_finite(t.value) for t in outputs) or lasting.isdisjoint(operation.outputs):
            continue
        inputs = operands(trace, operation)
        if all(is_finite(v) for _, v in inputs):
            origins.append(Bad("forward", outputs[0].label, operation.name, operation.span, inputs))
            break
    for step in filter(goes_bad, trace.steps):
        function = trace.functions[step.function]
        differentiated = next(
            (o for o in reversed(trace.operations) if o.function == function.id), None
        )
        name = function.name if differentiated is None else differentiated.name
        inputs = () if differentiated is None else operands(trace, differentiated)
        origins.append(Bad("backward", label_of(trace, function), name, function.span, inputs))
        break
    return origins


def operands(trace: Trace, operation: Operation) -> tuple[tuple[str, Value], ...]:
    tensors = [trace.tensors[i] for i in operation.tensors]
    return tuple((t.label, t.value) for t in tensors if t.value is not None)


# ---- structure


def structure(trace: Trace, flow: Flow, levels: list[int], inside: set[int]) -> Structure:
    """Return the levels (operations that could run in parallel), repeated computations, and unused
    ones.
    """
    needed = flow.before(ends_of(trace))
    shown: dict[int, list[str]] = {}
    for t in trace.tensors:
        if flow.tensor(t.id) in needed and t.operation not in inside:
            shown.setdefault(levels[t.id], []).append(t.label)
    ordered = tuple(tuple(shown[level]) for level in sorted(shown))
    own = [o for o in trace.operations if o.id not in inside]
    unneeded = [o for o in own if needed.isdisjoint(map(flow.tensor, o.outputs))]
    dead = tuple(", ".join(trace.tensors[i].label for i in o.outputs) for o in unneeded)
    return Structure(
        len(own),
        sum(t.operation not in inside for t in trace.tensors),
        len(leaves(trace)),
        ordered,
        max((len(level) for level in ordered[1:]), default=0),
        common(trace, own),
        dead,
    )


def leaves(trace: Trace) -> list[TensorRecord]:
    """Return the last version of each leaf that requires grad. (The last of a step may not be that
    of the run.)
    """
    last = {t.first: t for t in trace.tensors}
    return [t for t in last.values() if t.is_leaf and t.requires_grad]


def common(trace: Trace, operations: list[Any]) -> tuple[tuple[str, ...], ...]:
    """Return groups of operations with one name and the same operands, which compute the same value
    again.
    """
    same: dict[int, int] = {}  # by tensor: the first that has its value
    groups: dict[Any, list[int]] = {}
    for operation in operations:
        if operation.name.endswith("_") or len(operation.outputs) != 1:
            continue
        key = (
            operation.label,
            *(
                (same.get(o.tensor, o.tensor), o.name)
                for o in operation.inputs
                if o.tensor is not None
            ),
        )
        out = operation.outputs[0]
        group = groups.setdefault(key, [])
        if group:
            same[out] = group[0]
        group.append(out)
    return tuple(
        tuple(trace.tensors[i].label for i in group) for group in groups.values() if len(group) > 1
    )


# ---- memory


def memory(trace: Trace, grads: dict[int, Value]) -> Memory:
    """Return the memory that backward keeps, and the memory that every gradient would need."""
    kept = {s.tensor for f in trace.functions for s in f.saved if s.tensor is not None}
    results = [t for t in trace.tensors if t.requires_grad and not t.is_leaf and not t.retains_grad]
    retained = sum(size_of(grads.get(t.id) or t.value) for t in results if t.id in grads)
    return Memory(
        sum(size_of(trace.tensors[i].value) for i in kept),
        len(kept),
        any(f.freed for f in trace.functions),
        sum(size_of(t.grad or grads.get(t.id)) for t in leaves(trace)),
        retained,
    )
