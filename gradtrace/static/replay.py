"""Convert a graph to a plan by running its operations once on engine tensors, under a Recorder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradtrace.engine.data import tensor as engine
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.state import state, using
from gradtrace.static.graph import Operation, Tensor, results, spelled
from gradtrace.static.passes import optimise
from gradtrace.static.plan import Plan
from gradtrace.static.record import Recorder

GRADIENTS = "gradients"
Known = dict[Tensor, engine.Tensor]


def plan_of(fetches: list[Tensor], feeds: Sequence[Tensor | None], values: Sequence[engine.Tensor]) -> Plan:
    """Return the plan from `feeds` to `fetches`, recorded by running the graph once on `values`, the fed values."""
    recorder, have = Recorder(), leaves_of(feeds, values)
    for i, leaf in enumerate(have[1]):
        recorder.feed(f"f{i}", leaf)
    known = have[0]
    needed = ancestors(fetches, known)
    with_gradients = any(op.type == GRADIENTS for op in needed)
    with using(recorder=recorder, planner=recorder, grad_enabled=with_gradients):
        replay(needed, known)
        return optimise(recorder.plan([(t.name, known[t]) for t in fetches]))


def leaves_of(feeds: Sequence[Tensor | None], values: Sequence[engine.Tensor]) -> tuple[Known, list[engine.Tensor]]:
    """Return a dict from each fed tensor of the graph to a new leaf with its value, and a list of all leaves."""
    leaves = [engine.Tensor._wrap(np.array(value.own_array())) for value in values]
    return {feed: leaf for feed, leaf in zip(feeds, leaves, strict=True) if feed is not None}, leaves


def replay(needed: Sequence[Operation], known: Known) -> None:
    """Run the operations in order and add their results to `known`. In grad mode, make leaves require grad."""
    if state.grad_enabled:
        require_grad(list(known.values()))
    for op in needed:
        outs = op.compute(*[known[t] for t in op.inputs])
        for tensor, out in zip(op.outputs, results(outs), strict=True):
            if state.grad_enabled and op.type == "Const":
                require_grad([out])
            known.setdefault(tensor, out)


def require_grad(tensors: Sequence[engine.Tensor]) -> None:
    for tensor in tensors:
        if tensor.is_floating_point() and tensor.is_leaf:
            tensor.requires_grad_()


def ancestors(fetches: Sequence[Tensor], known: Any) -> list[Operation]:
    """Return the operations that compute `fetches` from `known`, in order; ValueError for an unfed placeholder."""
    needed: dict[Operation, None] = {}
    waiting = [t.op for t in fetches if t not in known]
    while waiting:
        op = waiting.pop()
        if op in needed:
            continue
        if op.type == "Placeholder":
            raise ValueError(
                f"You must feed a value for placeholder tensor '{op.name}' with dtype "
                f"{op.outputs[0].dtype.name} and shape {spelled(op.outputs[0].shape)}"
            )
        needed[op] = None
        waiting.extend(t.op for t in op.inputs if t not in known)
    order = {op: i for i, op in enumerate(fetches[0].graph.operations)} if needed else {}
    return sorted(needed, key=order.__getitem__)
