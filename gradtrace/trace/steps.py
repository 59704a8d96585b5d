"""Backward as it happened: a watcher that notes each node's visit, and the notes as records.

    watch = Watch()
    lang.run(program, ..., record=True, watcher=watch)     # and backward within it
    capture(run, roots, watch=watch).steps

A pointwise operator's local derivatives are asked of its own rule, with the gradient 1; where there is no such rule (a
custom Function) a scalar's are the quotient of what it sent and what it got.
"""

from __future__ import annotations

from typing import Any

from gradtrace.engine import Tensor
from gradtrace.engine.arrive import conform
from gradtrace.engine.execute import run_rules
from gradtrace.engine.lazy import np
from gradtrace.engine.node import AccumulateGrad, Node
from gradtrace.trace.record import BackwardStep, Value

Values = tuple[Value | None, ...]


class Watch:
    """The visits of all backward passes, in order."""

    def __init__(self) -> None:
        self.passes = 0
        self.starts: set[Node] = set()  # where the passes began
        self.visits: list[tuple[int, Node, Values, Values, Values, bool]] = []

    def begin(self) -> None:
        self.passes += 1

    def step(self, node: Node, gradient: Any, results: Any, freed: bool) -> None:
        if not self.visits or self.visits[-1][0] != self.passes - 1:
            self.starts.add(node)
        upstream = tuple(frozen(g) for g in slots(node, gradient))
        downstream = tuple(arriving(node, i, sent) for i, sent in enumerate(results))
        local = local_derivatives(node, upstream, downstream)
        saves = node.plan is None or node.plan.saves
        lets_go = freed and saves and not isinstance(node, AccumulateGrad)
        self.visits.append((self.passes - 1, node, upstream, downstream, local, lets_go))

    def records(self, ids: dict[int, int]) -> tuple[BackwardStep, ...]:
        """The visits of the nodes in `ids` (by id(node)), which are those of the trace."""
        return tuple(
            BackwardStep(number, ids[id(node)], upstream, downstream, local, freed)
            for number, node, upstream, downstream, local, freed in self.visits
            if id(node) in ids
        )


def slots(node: Node, gradient: Any) -> list[Any]:
    """What a node got, one for each of its outputs."""
    if node.outputs == 1 or not isinstance(gradient, dict):
        return [gradient]
    return [gradient.get(i) for i in range(len(node.shape))]


def arriving(node: Node, index: int, sent: Any) -> Value | None:
    """What a node sends along an edge, in the shape and dtype in which it arrives."""
    target = node.next[index]
    if sent is None or target is None:
        return None
    raw = sent._data if isinstance(sent, Tensor) else sent
    return frozen(conform(raw, target, node.nrs[index] if node.nrs else 0, node, index))


def frozen(gradient: Any) -> Value | None:
    """A gradient on its way (a number, an array, or a tensor when the pass is recorded) as a Value of its own."""
    raw = gradient._data if isinstance(gradient, Tensor) else gradient
    if raw is None:
        return None
    if isinstance(raw, (float, int)):
        return Value((), "float64", float(raw))
    if not raw.shape:
        return Value((), str(raw.dtype), raw.item())
    copy = np.array(raw)  # also of what is only a broadcast view
    copy.flags.writeable = False
    return Value(tuple(raw.shape), str(raw.dtype), copy)


def local_derivatives(node: Node, upstream: Values, downstream: Values) -> Values:
    """For each edge of a pointwise node the derivative of its output by that input; () where that is no number."""
    if isinstance(node, AccumulateGrad):
        return ()
    if node.op is not None and node.op.scalar is not None and node.outputs == 1:
        one = 1.0 if node.dtype is None else np.ones(node.shape, node.dtype)
        return tuple(map(frozen, run_rules(node, one)))
    if len(upstream) == 1:
        return tuple(quotient(upstream[0], sent) for sent in downstream)
    return ()


def quotient(got: Value | None, sent: Value | None) -> Value | None:
    if got is None or sent is None or got.shape or sent.shape or not got.data:
        return None
    return Value((), sent.dtype, sent.data / got.data)
