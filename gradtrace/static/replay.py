"""Convert a graph to a plan by running its operations once on engine tensors, under a Recorder."""

from __future__ import annotations

from collections.abc import Container, Sequence

from gradtrace.engine.data import tensor as engine
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.state import state, using
from gradtrace.static.graph import Operation, Tensor, results
from gradtrace.static.passes import optimise
from gradtrace.static.plan import Plan
from gradtrace.static.record import Recorder


def plan_of(
    fetches: list[Tensor], feeds: Sequence[Tensor | None], values: Sequence[engine.Tensor]
) -> Plan:
    """Return the plan from `feeds` to `fetches`, recorded by running the graph once on `values`,
    the fed values.

    An input whose feed is None is not used.
    """
    recorder = Recorder()
    tensors: dict[Tensor, engine.Tensor] = {}
    for i, (feed, value) in enumerate(zip(feeds, values, strict=True)):
        leaf = new_leaf(value)
        recorder.feed(f"f{i}", leaf)
        if feed is not None:
            tensors[feed] = leaf
    with using(recorder=recorder, planner=recorder, grad_enabled=False):
        replay(ancestors(fetches, tensors), tensors)
        return optimise(recorder.plan([(t.name, tensors[t]) for t in fetches]))


def new_leaf(value: engine.Tensor) -> engine.Tensor:
    return engine.Tensor._wrap(np.array(value.own_array()))


def replay(needed: Sequence[Operation], values: dict[Tensor, engine.Tensor]) -> None:
    """Run the operations in order and add their results to `values`.

    In grad mode, results without a history become leaves that require grad: they may be what to
    differentiate by.
    """
    for op in needed:
        outs = results(op.compute(*[values[t] for t in op.inputs]))
        for tensor, out in zip(op.outputs, outs, strict=True):
            if state.grad_enabled and out.is_floating_point() and not out.requires_grad:
                out.requires_grad_()
            values.setdefault(tensor, out)


def ancestors(fetches: Sequence[Tensor], values: Container[Tensor]) -> list[Operation]:
    """Return the operations that compute `fetches` from `values`, in order; ValueError for an unfed
    placeholder.
    """
    needed: dict[Operation, None] = {}
    waiting = [t.op for t in fetches if t not in values]
    while waiting:
        op = waiting.pop()
        if op in needed:
            continue
        if op.type == "Placeholder":
            raise ValueError(
                f"You must feed a value for placeholder tensor '{op.name}' with dtype "
                f"{op.outputs[0].dtype.name} and shape {op.outputs[0].shape}"
            )
        needed[op] = None
        waiting.extend(t.op for t in op.inputs if t not in values)
    order = {op: i for i, op in enumerate(fetches[0].graph.operations)} if needed else {}
    return sorted(needed, key=order.__getitem__)
