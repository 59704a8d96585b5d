"""`while_loop` and `cond` as nodes, whose parts are graphs executed by the plan (see `flow`, `control`).

A part may use tensors of the outer graph; it captures them, and they become inputs of the node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from gradtrace.engine.data import tensor as engine
from gradtrace.static.elements import raw_of
from gradtrace.static.flow import choice, loop
from gradtrace.static.graph import Graph, Operation, Tensor, add_constant, constant, get_default_graph, results, unfed
from gradtrace.static.replay import ancestors, replay


class Part(Graph):
    """A graph inside a node. `inputs` are its inputs; `captured` maps each captured outer tensor to its input."""

    def __init__(self, outside: Graph, captured: dict[Tensor, Tensor]) -> None:
        super().__init__()
        self.outside = outside
        self.inputs: list[Tensor] = []
        self.captured = captured
        self.stands_for: dict[Tensor, Tensor] = {}
        self.outputs: tuple[Tensor, ...] = ()

    def receive(self, tensor: Tensor, name: str) -> Tensor:
        """Add an input with the shape and dtype of `tensor`."""
        op = Operation(self, "Placeholder", self.unique(name), (), unfed)
        op.outputs = (Tensor(op, 0, tensor.examples),)
        self.operations.append(op)
        return op.outputs[0]

    def reach(self, tensor: Tensor) -> Tensor:
        if tensor.graph is self:
            return tensor
        outer = self.outside.reach(tensor)
        if outer not in self.stands_for:
            self.stands_for[outer] = self.receive(outer, "captured")
            self.captured.setdefault(outer, outer)
        return self.stands_for[outer]

    def check_sources(self) -> None:
        raise ValueError("placeholders must be created outside while_loop and cond")

    def build(self, function: Callable[..., Any], inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """Add inputs like `inputs` to this graph, call `function` on them, and return its results, the outputs."""
        self.inputs = [self.receive(t, f"var_{i}") for i, t in enumerate(inputs)]
        with self.as_default():
            out = function(*self.inputs)
            self.outputs = tuple(
                self.reach(t) if isinstance(t, Tensor) else add_constant(self, self.unique("Const"), raw_of(t))
                for t in results(out)
            )
        return self.outputs


def as_tensors(values: Sequence[Any]) -> list[Tensor]:
    return [v if isinstance(v, Tensor) else constant(v) for v in values]


def while_loop(
    cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Sequence[Any], name: str = "while"
) -> Any:
    """Add a node that runs `body` on the variables while `cond(*variables)` holds; return the list of last values.

    Both functions take and return nodes. `body` must return as many nodes as it takes, with the same dtypes and shapes;
    else TypeError or ValueError is raised. The gradient backpropagates through the executed iterations.
    """
    graph = get_default_graph()
    graph.check_open()
    first = as_tensors(loop_vars)
    captured: dict[Tensor, Tensor] = {}
    test, step = Part(graph, captured), Part(graph, captured)
    asked = test.build(cond, first)
    if len(asked) != 1 or asked[0].dtype.name != "bool" or asked[0].shape != ():
        raise TypeError("the condition of while_loop must be one bool scalar")
    after = step.build(body, first)
    check_same(first, after, "body")
    outside = list(captured)
    run = partial(loop, runner(test, outside), runner(step, outside), len(first))
    outs = graph.add("While", graph.unique(name), [*first, *outside], run)
    return outs[0] if len(outs) == 1 else list(outs)


def cond(pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any], name: str = "cond") -> Any:
    """Add a node that runs one of two branches, selected by a bool; both return the same dtypes and shapes.

    The node's gradient is the gradient of the executed branch.
    """
    if callable(pred):
        raise TypeError("pred must not be a Python function")
    graph = get_default_graph()
    graph.check_open()
    (predicate,) = as_tensors([pred])
    captured: dict[Tensor, Tensor] = {}
    parts = [Part(graph, captured), Part(graph, captured)]
    yes, no = parts[0].build(true_fn, []), parts[1].build(false_fn, [])
    check_same(list(yes), no, "false_fn")
    outside = list(captured)
    run = partial(choice, runner(parts[0], outside), runner(parts[1], outside))
    outs = graph.add("If", graph.unique(name), [predicate, *outside], run)
    return outs[0] if len(outs) == 1 else list(outs)


def check_same(wanted: Sequence[Tensor], got: Sequence[Tensor], what: str) -> None:
    if len(wanted) != len(got):
        raise ValueError(f"{what} must return {len(wanted)} tensors, not {len(got)}")
    for i, (a, b) in enumerate(zip(wanted, got, strict=True)):
        if a.dtype != b.dtype:
            raise TypeError(f"{what}: tensor {i} must have dtype {a.dtype.name}, not {b.dtype.name}")
        if a.shape != b.shape:
            raise ValueError(f"{what}: tensor {i} must have shape {a.shape}, not {b.shape}")


def runner(part: Part, outside: list[Tensor]) -> Callable[..., Any]:
    """Return a function of engine tensors that runs a part; its arguments are the inputs, then the `outside` values."""

    def replay_part(*values: engine.Tensor) -> tuple[engine.Tensor, ...]:
        feeds = [*part.inputs, *(part.stands_for.get(t) for t in outside)]
        known = {feed: value for feed, value in zip(feeds, values, strict=True) if feed is not None}
        replay(ancestors(part.outputs, known), known)
        return tuple(known[t] for t in part.outputs)

    return replay_part
