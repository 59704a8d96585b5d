"""Gradients of a static graph, as operations of the graph.

If all sizes are known, the derivative rules run once on example values, and each of their steps becomes an operation of
the graph, named under `gradients/`. If a size is unknown, the shapes in those steps would be wrong for other sizes, so
the gradient is a single operation, whose steps are recorded again for each plan.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradtrace.engine.data import tensor as engine
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.state import state, using
from gradtrace.engine.operators.op import records
from gradtrace.static.graph import Graph, Operation, Tensor, add_constant, constant, get_default_graph
from gradtrace.static.plan import Step, refs, replaced
from gradtrace.static.record import Recorder, zeros_like
from gradtrace.static.record import gradients as recorded_gradients
from gradtrace.static.replay import GRADIENTS, ancestors, leaves_of, replay


def gradients(ys: Any, xs: Any, grad_ys: Any = None, name: str = GRADIENTS) -> list[Tensor | None]:
    """Return the gradients of the sum of `ys` with respect to each of `xs`, as nodes; None if no y depends on it.

    `grad_ys` weights the ys. Gradients propagate through while_loop and cond, to any order.
    """
    outputs = list(ys) if isinstance(ys, (list, tuple)) else [ys]
    inputs = list(xs) if isinstance(xs, (list, tuple)) else [xs]
    given = [] if grad_ys is None else list(grad_ys) if isinstance(grad_ys, (list, tuple)) else [grad_ys]
    weights = [w if isinstance(w, Tensor) else constant(w, y.dtype) for w, y in zip(given, outputs, strict=False)]
    reached = [depends_on(outputs, x) for x in inputs]
    chosen = [x for x, there in zip(inputs, reached, strict=True) if there]
    if not chosen:
        return [None] * len(inputs)

    graph = get_default_graph()
    graph.check_open()
    parts = list(map(graph.reach, outputs)), list(map(graph.reach, chosen)), list(map(graph.reach, weights))
    everything = ancestors([*outputs, *weights], set(placeholders(graph)))
    known = all(t.is_known for op in everything for t in op.outputs)
    grads = iter(expanded(graph, *parts, name) if known else gradient_operation(graph, *parts, name))
    return [next(grads) if there else None for there in reached]


def gradient_operation(
    graph: Graph, outputs: list[Tensor], inputs: list[Tensor], weights: list[Tensor], name: str
) -> tuple[Tensor, ...]:
    n, m = len(outputs), len(inputs)

    def compute_gradients(*values: engine.Tensor) -> tuple[engine.Tensor, ...]:
        return differentiate(values[:n], values[n : n + m], values[n + m :])

    return graph.add(GRADIENTS, graph.unique(name), [*outputs, *inputs, *weights], compute_gradients)


def expanded(
    graph: Graph, outputs: list[Tensor], inputs: list[Tensor], weights: list[Tensor], name: str
) -> list[Tensor]:
    """Add the steps of the derivative rules to the graph as operations, and return the gradients of `inputs`."""
    recorder = Recorder()
    ends = [*outputs, *weights, *inputs]
    places = placeholders(graph)
    have, leaves = leaves_of(places, [t.examples[0] for t in places])
    for leaf in leaves:
        recorder.feed("", leaf)
    with using(recorder=recorder, planner=recorder, grad_enabled=True):
        replay(ancestors(ends, have), have)
        grads = differentiate([have[t] for t in outputs], [have[t] for t in inputs], [have[t] for t in weights])
        numbers = [recorder.number(g) for g in grads]
    there: dict[int, Tensor] = {}
    for tensor, value in have.items():
        there.setdefault(recorder.number(value), tensor)
    for step in needed_steps(recorder.steps, numbers, there):
        given = [as_node(graph, recorder, there, n, name) for n in refs(step.args)]
        run = recorder.recompute.get(step.out) or function_of(step)
        outs = graph.add(step.op, graph.unique(f"{name}/{step.op}"), given, run)
        there.update(zip(step.out, outs, strict=True))
    return [as_node(graph, recorder, there, n, name) for n in numbers]


def placeholders(graph: Graph) -> list[Tensor]:
    return [op.outputs[0] for op in graph.operations if op.type == "Placeholder"]


def needed_steps(steps: Sequence[Step], numbers: Sequence[int], there: dict[int, Tensor]) -> list[Step]:
    """Return the steps needed to compute the values `numbers` from `there`, the values that the graph already has."""
    wanted = set(numbers) - there.keys()
    results = []
    for step in reversed(steps):
        if wanted.intersection(step.out):
            results.append(step)
            wanted.update(n for n in refs(step.args) if n not in there)
    return results[::-1]


def as_node(graph: Graph, recorder: Recorder, there: dict[int, Tensor], number: int, name: str) -> Tensor:
    """Return the tensor of the graph for value `number`: an existing tensor, or a new constant."""
    if number not in there:
        there[number] = add_constant(graph, graph.unique(f"{name}/Const"), np.asarray(recorder.values[number].constant))
    return there[number]


def function_of(step: Step) -> Callable[..., Any]:
    """Return a function of engine tensors that does the operation of a step."""

    def apply_record(*operands: engine.Tensor) -> Any:
        taken = iter(operands)
        return records[step.op](*replaced(step.args, lambda _: next(taken)))

    return apply_record


def depends_on(outputs: list[Tensor], x: Tensor) -> bool:
    """Return whether any output depends on x by differentiable operations."""
    seen: set[Operation] = set()
    waiting = list(outputs)
    while waiting:
        tensor = waiting.pop()
        if tensor is x:
            return True
        if tensor.op not in seen and tensor.dtype.is_floating and tensor.op.type != "StopGradient":
            seen.add(tensor.op)
            waiting.extend(tensor.op.inputs)
    return False


def differentiate(ys: Any, xs: Any, weights: Any) -> tuple[engine.Tensor, ...]:
    """Return the gradients of `ys` with respect to `xs`, recorded as further steps; zeros where there is none."""
    recorder = state.planner
    if not isinstance(recorder, Recorder):
        return tuple(engine.Tensor._wrap(np.ones(x.shape, x.dtype.np)) for x in xs)
    roots = [
        (y, weights[i] if i < len(weights) else engine.Tensor._wrap(np.ones(y.shape, y.dtype.np)))
        for i, y in enumerate(ys)
    ]
    found = recorded_gradients(recorder, roots, xs)
    return tuple(zeros_like(x) if g is None else g for g, x in zip(found, xs, strict=True))
