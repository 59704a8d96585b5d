"""`while_loop` and `cond` as nodes: their parts are graphs of their own, run by the plan (see `control`).

A part may use tensors of the graph outside; it captures them, and they become inputs of the node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradtrace.engine import tensor as engine
from gradtrace.engine.state import state
from gradtrace.static.control import COND, WHILE
from gradtrace.static.graph import Graph, Operation, Tensor, get_default_graph, raw_of, unfed
from gradtrace.static.record import Recorder


class Part(Graph):
    """A graph within a node. `inputs` are its own; `captured` maps a tensor outside to the input that stands for it."""

    def __init__(self, outside: Graph, captured: dict[Tensor, Tensor]) -> None:
        super().__init__()
        self.outside = outside
        self.inputs: list[Tensor] = []
        self.captured = captured
        self.stands_for: dict[Tensor, Tensor] = {}
        self.outputs: tuple[Tensor, ...] = ()

    def receive(self, tensor: Tensor, name: str) -> Tensor:
        """An input like `tensor`."""
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

    def build(self, function: Callable[..., Any], inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """Calls `function` on inputs like those given, with this graph as the default; its results are the outputs."""
        self.inputs = [self.receive(t, f"var_{i}") for i, t in enumerate(inputs)]
        with self.as_default():
            out = function(*self.inputs)
            given = out if isinstance(out, (tuple, list)) else (out,)
            self.outputs = tuple(self.reach(t) if isinstance(t, Tensor) else constant_in(self, t) for t in given)
        return self.outputs


def constant_in(graph: Graph, value: Any) -> Tensor:
    from gradtrace.static.graph import fixed

    return fixed(graph, graph.unique("Const"), raw_of(value))


def as_tensors(values: Sequence[Any]) -> list[Tensor]:
    from gradtrace.static.graph import constant

    return [v if isinstance(v, Tensor) else constant(v) for v in values]


def while_loop(
    cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Sequence[Any], name: str = "while"
) -> Any:
    """A node that runs `body` on the variables as long as `cond` of them holds; their last values, in a list.

    Both functions get and build nodes. `body` returns as many, of the same dtypes and shapes. TypeError or ValueError
    where they do not fit. Gradients do not go through it.
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
    run = runner(WHILE, [test, step], outside, len(first))
    outs = graph.add("While", graph.unique(name), [*first, *outside], run)
    return outs[0] if len(outs) == 1 else list(outs)


def cond(pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any], name: str = "cond") -> Any:
    """A node that runs one of two branches, by a bool scalar. Both give as many nodes, of the same dtypes and shapes.

    Gradients do not go through it.
    """
    graph = get_default_graph()
    graph.check_open()
    (predicate,) = as_tensors([pred])
    captured: dict[Tensor, Tensor] = {}
    parts = [Part(graph, captured), Part(graph, captured)]
    yes, no = parts[0].build(true_fn, []), parts[1].build(false_fn, [])
    check_same(list(yes), no, "false_fn")
    outside = list(captured)
    outs = graph.add("If", graph.unique(name), [predicate, *outside], runner(COND, parts, outside, 0))
    return outs[0] if len(outs) == 1 else list(outs)


def check_same(wanted: Sequence[Tensor], got: Sequence[Tensor], what: str) -> None:
    if len(wanted) != len(got):
        raise ValueError(f"{what} must return {len(wanted)} tensors, not {len(got)}")
    for i, (a, b) in enumerate(zip(wanted, got, strict=True)):
        if a.dtype != b.dtype:
            raise TypeError(f"{what}: tensor {i} must have dtype {a.dtype.name}, not {b.dtype.name}")
        if a.shape != b.shape:
            raise ValueError(f"{what}: tensor {i} must have shape {a.shape}, not {b.shape}")


def runner(kind: str, parts: list[Part], outside: list[Tensor], variables: int) -> Callable[..., Any]:
    """The node's function on engine tensors. In a plan it becomes one step; else it tells shapes alone."""

    def run(*values: engine.Tensor) -> tuple[engine.Tensor, ...]:
        given = values if kind == WHILE else values[1:]
        recorder = state.planner
        if not isinstance(recorder, Recorder):
            if kind == WHILE:
                return tuple(copied(v) for v in values[:variables])
            size = 0 if all(e is t.examples[0] for e, t in zip(given, outside, strict=True)) else 1
            return tuple(copied(t.examples[size]) for t in parts[0].outputs)
        plans = tuple(part_plan(part, outside, given, variables) for part in parts)
        outs = [copied(v) for v in values[:variables]] if kind == WHILE else ends(plans[0])
        recorder.control(kind, plans, values, outs)
        return tuple(outs)

    run.__dict__["no_gradient"] = kind
    return run


def copied(tensor: engine.Tensor) -> engine.Tensor:
    return engine.Tensor._wrap(tensor.own_array().copy())


def ends(plan: Any) -> list[engine.Tensor]:
    """Stand-ins of a plan's outputs."""
    from gradtrace.engine.lazy import np

    values = [plan.values[n] for _, n in plan.outputs]
    return [engine.Tensor._wrap(np.ones(v.shape, v.dtype)) for v in values]


def part_plan(part: Part, outside: list[Tensor], given: Sequence[engine.Tensor], variables: int) -> Any:
    """A part as a plan of the node's variables and captured tensors."""
    from gradtrace.static.replay import plan_of

    feeds = list(part.inputs) + [part.stands_for.get(t) for t in outside]
    return plan_of(list(part.outputs), feeds, list(given))
