"""Backward when nobody looks on: no hooks, no custom Functions, no chosen inputs, and the pass itself not recorded.

`execute` keeps PyTorch's order exactly, for hooks show it. Here nothing of the program runs in between, so the order
shows only in the order of sums, and any that takes the newest node first has the same. That needs no counting of
dependencies beforehand: whoever still has to send a gradient to a node is newer than it. A chain needs no heap either.
"""

from __future__ import annotations

import sys
from heapq import heappop, heappush, heappushpop

from gradtrace.annotations import Any
from gradtrace.engine.arrive import add_to_grad, conform
from gradtrace.engine.call_hooks import tensor_hooks
from gradtrace.engine.execute import apply, check_versions
from gradtrace.engine.namespace import ARRAY, SCALAR
from gradtrace.engine.node import FREED, FREED_MESSAGE, Node
from gradtrace.engine.op import FLOAT_TRAPS
from gradtrace.engine.tensor import Tensor

Heap = list[tuple[int, Node]]


def sweep(roots: list[tuple[Node, int, Any]], keep: bool) -> None:
    """Sends the roots' gradients back and adds what arrives to the leaves."""
    heap: Heap = []
    pending: dict[Node, Any] = {}
    leaves: dict[Node, Any] = {}
    try:
        for root, number, gradient in roots:
            receive(heap, pending, leaves, root, number, conform(gradient, root, number, None, 0))
        gradient = None
        while heap:
            node = heappop(heap)[1]
            follow(heap, pending, leaves, node, pending.pop(node), keep)
    except BaseException:
        drop_unfinished(leaves, roots, heap[0][1].seq if heap else 0)
        raise
    finally:
        while leaves:
            leaf, gradient = leaves.popitem()
            add_to_grad(leaf.variable, gradient, holders=1)


def receive(heap: Heap, pending: dict[Node, Any], leaves: dict[Node, Any], node: Node, number: int, value: Any) -> None:
    """Adds `value` to the gradient that is gathering for output `number` of `node`."""
    if node.is_accumulator:
        have = leaves.get(node)
        leaves[node] = value if have is None else have + value
        return
    new = node not in pending
    if node.outputs != 1:
        slots = pending.setdefault(node, {})
        slots[number] = value if slots.get(number) is None else slots[number] + value
    else:
        pending[node] = value if new else pending[node] + value
    if new:
        heappush(heap, (-node.seq, node))


def follow(heap: Heap, pending: dict[Node, Any], leaves: dict[Node, Any], node: Any, g: Any, keep: bool) -> None:
    """Runs `node`, and then the newest node that has a gradient as long as the last one run gave it one.

    After an error the first in `heap` is the node that failed.
    """
    numpy = sys.modules.get("numpy")
    ndarray = None if numpy is None else numpy.ndarray
    try:
        while True:
            plan = node.plan
            if plan is None or not plan.quick or node.rare is not None:
                run_any(heap, pending, leaves, node, g, keep)
                return
            a, b, out = node.a, node.b, node.out
            if plan.saves:
                if a is FREED:
                    raise RuntimeError(FREED_MESSAGE)
                if isinstance(a, Tensor):
                    if a._x is not None:
                        check_versions(node)
                    a = a._data
                if isinstance(b, Tensor):
                    if b._x is not None:
                        check_versions(node)
                    b = b._data
            xp = SCALAR if type(g) is float else ARRAY
            candidate: Any = None
            sent: Any = None
            for i, rule in plan.rules:
                target = node.nb if i else node.na
                if target is None:  # of a view made under no_grad
                    continue
                try:
                    value = rule(xp, g, out, a, b) if node.narrow == 2 else rule(xp, g, out, a)
                except FLOAT_TRAPS:
                    value = apply(node, g)[i]
                if type(value) is float:
                    if target.dtype is not None:
                        value = conform(value, target, 0 if node.nrs is None else node.nrs[i], node, i)
                elif type(value) is not ndarray or value.dtype is not target.dtype or value.shape != target.shape:
                    value = conform(value, target, 0 if node.nrs is None else node.nrs[i], node, i)
                if target.is_accumulator:
                    have = leaves.get(target)
                    leaves[target] = value if have is None else have + value
                elif target is candidate:
                    sent = sent + value
                elif candidate is None and target.outputs == 1 and target not in pending:
                    candidate, sent = target, value
                else:
                    receive(heap, pending, leaves, target, 0 if node.nrs is None else node.nrs[i], value)
            if plan.saves and not keep:
                node.a = FREED
                node.b = node.out = None
            if candidate is None:
                return
            if heap and heap[0][0] < -candidate.seq:  # another one is newer
                pending[candidate] = sent
                node = heappushpop(heap, (-candidate.seq, candidate))[1]
                g = pending.pop(node)
            else:
                node, g = candidate, sent
    except BaseException:
        heap.insert(0, (-node.seq, node))
        raise


def run_any(heap: Heap, pending: dict[Node, Any], leaves: dict[Node, Any], node: Node, g: Any, keep: bool) -> None:
    """Runs a node of any kind."""
    if node.hooks is not None:
        g = tensor_hooks(node, g)  # retain_grad is the only one here
    results = apply(node, g)
    if not keep:
        node.release()
    for i, target in enumerate(node.next):
        if target is not None and results[i] is not None:
            number = 0 if node.nrs is None else node.nrs[i]
            receive(heap, pending, leaves, target, number, conform(results[i], target, number, node, i))


def drop_unfinished(leaves: dict[Node, Any], roots: list[tuple[Node, int, Any]], failed: int) -> None:
    """After an error: forgets the leaves that nodes not run would have given more; PyTorch had not come to them."""
    seen = {root for root, _, _ in roots}
    stack = list(seen)
    while stack:
        node = stack.pop()
        for target in node.next:
            if target is None:
                continue
            if node.seq <= failed:
                leaves.pop(target, None)
            if target not in seen:
                seen.add(target)
                stack.append(target)
