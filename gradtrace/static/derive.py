"""Gradients of a static graph, as operations of the graph.

The derivative rules run once on example values, and each of their steps becomes an operation of the
graph, named under `gradients/`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradtrace.engine.data import tensor as engine
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.state import using
from gradtrace.engine.operators.op import records
from gradtrace.static import record
from gradtrace.static.graph import (
    Graph,
    Operation,
    Tensor,
    add_constant,
    constant,
    get_default_graph,
)
from gradtrace.static.plan import Step, refs, replaced
from gradtrace.static.record import Recorder
from gradtrace.static.replay import ancestors, new_leaf, replay


def as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def gradients(
    ys: Any, xs: Any, grad_ys: Any = None, name: str = "gradients"
) -> list[Tensor | None]:
    """Return the gradients of the sum of `ys` with respect to each of `xs`, as nodes; None if no y
    depends on it.

    `grad_ys` weights the ys. Raises LookupError where the gradient would have to go through a loop.
    """
    outputs = as_list(ys)
    inputs = as_list(xs)
    seeds = [] if grad_ys is None else as_list(grad_ys)
    weights = [
        w if isinstance(w, Tensor) else constant(w, y.dtype)
        for w, y in zip(seeds, outputs, strict=False)
    ]
    reached = [depends_on(outputs, x) for x in inputs]
    chosen = [x for x, there in zip(inputs, reached, strict=True) if there]
    if not chosen:
        return [None] * len(inputs)

    graph = get_default_graph()
    graph.check_open()
    parts = (
        list(map(graph.reach, outputs)),
        list(map(graph.reach, chosen)),
        list(map(graph.reach, weights)),
    )
    grads = iter(add_gradients(graph, *parts, name))
    return [next(grads) if there else None for there in reached]


def depends_on(outputs: list[Tensor], x: Tensor) -> bool:
    """Return whether any output depends on x by differentiable operations; LookupError if it does
    through a loop.
    """
    seen: set[Operation] = set()
    waiting = list(outputs)
    depends = False
    while waiting:
        tensor = waiting.pop()
        if tensor is x:
            depends = True
            continue
        if tensor.op in seen or not tensor.dtype.is_floating or tensor.op.type == "StopGradient":
            continue
        seen.add(tensor.op)
        if tensor.op.type != "While":
            waiting.extend(tensor.op.inputs)
        elif depends_on(list(tensor.op.inputs), x):
            raise LookupError(
                f"No gradient defined for operation '{tensor.op.name}' (op type: While); "
                "a Python loop in a program that imports torch has one"
            )
    return depends


def add_gradients(
    graph: Graph, outputs: list[Tensor], inputs: list[Tensor], weights: list[Tensor], name: str
) -> list[Tensor]:
    """Add the steps of the derivative rules to the graph as operations, and return the gradients of
    `inputs`.
    """
    recorder = Recorder()
    values: dict[Tensor, engine.Tensor] = {}
    for operation in graph.operations:
        if operation.type == "Placeholder":
            leaf = values[operation.outputs[0]] = new_leaf(operation.outputs[0].example)
            if leaf.is_floating_point():
                leaf.requires_grad_()
            recorder.feed("", leaf)
    with using(recorder=recorder, planner=recorder, grad_enabled=True):
        replay(ancestors([*outputs, *weights, *inputs], values), values)
        roots = [
            (values[y], values[weights[i]] if i < len(weights) else record.ones_like(values[y]))
            for i, y in enumerate(outputs)
        ]
        grads = record.gradients(recorder, roots, [values[x] for x in inputs])
        numbers = [
            recorder.number(record.zeros_like(values[x]) if g is None else g)
            for g, x in zip(grads, inputs, strict=True)
        ]
    there: dict[int, Tensor] = {}
    for tensor, value in values.items():
        there.setdefault(recorder.number(value), tensor)
    for step in needed_steps(recorder.steps, numbers, there):
        operands = [as_node(graph, recorder, there, n, name) for n in refs(step.args)]
        outs = graph.add(step.op, graph.unique(f"{name}/{step.op}"), operands, function_of(step))
        there.update(zip(step.out, outs, strict=True))
    return [as_node(graph, recorder, there, n, name) for n in numbers]


def needed_steps(
    steps: Sequence[Step], numbers: Sequence[int], there: dict[int, Tensor]
) -> list[Step]:
    """Return the steps needed to compute the values `numbers` from `there`, the values that the
    graph already has.
    """
    wanted = set(numbers) - there.keys()
    needed = []
    for step in reversed(steps):
        if wanted.intersection(step.out):
            needed.append(step)
            wanted.update(n for n in refs(step.args) if n not in there)
    return needed[::-1]


def as_node(
    graph: Graph, recorder: Recorder, there: dict[int, Tensor], number: int, name: str
) -> Tensor:
    """Return the tensor of the graph for value `number`: an existing tensor, or a new constant."""
    if number not in there:
        there[number] = add_constant(
            graph, graph.unique(f"{name}/Const"), np.asarray(recorder.values[number].constant)
        )
    return there[number]


def function_of(step: Step) -> Callable[..., Any]:
    """Return a function of engine tensors that does the operation of a step."""

    def apply_record(*operands: engine.Tensor) -> Any:
        taken = iter(operands)
        return records[step.op](*replaced(step.args, lambda _: next(taken)))

    return apply_record
