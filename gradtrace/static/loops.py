"""`while_loop` as a node of a static graph, whose condition and body are graphs that become plans.

The condition and the body may use tensors of the outer graph; they capture them, and these become
inputs of the node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradtrace.engine.data import tensor as engine
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.state import state
from gradtrace.static.elements import raw_of
from gradtrace.static.graph import (
    Graph,
    Operation,
    Tensor,
    add_constant,
    constant,
    get_default_graph,
    results,
    unfed,
)
from gradtrace.static.plan import Plan
from gradtrace.static.record import Recorder
from gradtrace.static.replay import plan_of


class Part(Graph):
    """A graph inside a node. `inputs` are its inputs; `captured` is filled with the outer tensors
    that it uses.
    """

    def __init__(self, outside: Graph, captured: dict[Tensor, None]) -> None:
        super().__init__()
        self.outside = outside
        self.inputs: list[Tensor] = []
        self.captured = captured
        self.stands_for: dict[Tensor, Tensor] = {}  # a captured tensor: the input in its place
        self.outputs: tuple[Tensor, ...] = ()

    def receive(self, tensor: Tensor, name: str) -> Tensor:
        """Add an input with the shape and dtype of `tensor`."""
        op = Operation(self, "Placeholder", self.unique(name), (), unfed)
        op.outputs = (Tensor(op, 0, tensor.example),)
        self.operations.append(op)
        return op.outputs[0]

    def reach(self, tensor: Tensor) -> Tensor:
        if tensor.graph is self:
            return tensor
        outer = self.outside.reach(tensor)
        if outer not in self.stands_for:
            self.stands_for[outer] = self.receive(outer, "captured")
            self.captured[outer] = None
        return self.stands_for[outer]

    def check_sources(self) -> None:
        raise ValueError("placeholders must be created outside while_loop")

    def build(self, function: Callable[..., Any], inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """Add inputs like `inputs` to this graph, call `function` on them, and return its results,
        the outputs.
        """
        self.inputs = [self.receive(t, f"var_{i}") for i, t in enumerate(inputs)]
        with self.as_default():
            out = function(*self.inputs)
            self.outputs = tuple(
                self.reach(t)
                if isinstance(t, Tensor)
                else add_constant(self, self.unique("Const"), raw_of(t))
                for t in results(out)
            )
        return self.outputs

    def plan(self, outside: list[Tensor]) -> Plan:
        """Return the plan from the inputs and the values of the outer tensors `outside` to the
        outputs.
        """
        feeds = [*self.inputs, *map(self.stands_for.get, outside)]
        examples = [tensor.example for tensor in (*self.inputs, *outside)]
        return plan_of(list(self.outputs), feeds, examples)


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Sequence[Any],
    name: str = "while",
) -> Any:
    """Add a node that runs `body` on the variables while `cond(*variables)` holds; return the list
    of last values.

    Both functions take and return nodes. `body` must return as many nodes as it takes, with the
    same dtypes and shapes; else TypeError or ValueError is raised. The node has no gradient.
    """
    graph = get_default_graph()
    graph.check_open()
    first = [v if isinstance(v, Tensor) else constant(v) for v in loop_vars]
    captured: dict[Tensor, None] = {}
    test = Part(graph, captured)
    step = Part(graph, captured)
    asked = test.build(cond, first)
    if len(asked) != 1 or asked[0].dtype.name != "bool" or asked[0].shape != ():
        raise TypeError("the condition of while_loop must be one bool scalar")
    check_same(first, step.build(body, first))
    outside = list(captured)
    plans = test.plan(outside), step.plan(outside)

    def record_loop(*values: engine.Tensor) -> tuple[engine.Tensor, ...]:
        outs = tuple(engine.Tensor._wrap(np.array(v.own_array())) for v in values[: len(first)])
        if isinstance(state.planner, Recorder):
            state.planner.loop(plans, values, outs)
        return outs

    outs = graph.add("While", graph.unique(name), [*first, *outside], record_loop)
    return outs[0] if len(outs) == 1 else list(outs)


def check_same(variables: Sequence[Tensor], after: Sequence[Tensor]) -> None:
    """Raise TypeError or ValueError unless a loop's body returns tensors like its variables."""
    if len(variables) != len(after):
        raise ValueError(f"body must return {len(variables)} tensors, not {len(after)}")
    for i, (a, b) in enumerate(zip(variables, after, strict=True)):
        if a.dtype != b.dtype:
            raise TypeError(f"body: tensor {i} must have dtype {a.dtype.name}, not {b.dtype.name}")
        if a.shape != b.shape:
            raise ValueError(f"body: tensor {i} must have shape {a.shape}, not {b.shape}")
