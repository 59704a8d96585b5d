"""Backward when nobody looks on: no hooks, no custom Functions, no chosen inputs, and the pass itself not recorded.

`execute` keeps PyTorch's order exactly, for hooks show it. Here nothing of the program runs in between, so the order
shows only in the order of sums, and any that takes the newest node first has the same. That needs no counting of
dependencies beforehand: whoever still has to send a gradient to a node is newer than it. A chain needs no heap either.

Nodes made by `hot.py` have a plan with a `step`, which gives the gradients for their edges in the shape and dtype that
these have; for all others the rules are called here, or by `execute`, and the results brought into form.
"""

from __future__ import annotations

import sys
from heapq import heappop, heappush

from gradtrace.annotations import Any
from gradtrace.engine.arrive import add_to_grad, conform
from gradtrace.engine.call_hooks import tensor_hooks
from gradtrace.engine.execute import apply, check_versions
from gradtrace.engine.hot import BOTH, FIRST, Unusual
from gradtrace.engine.namespace import ARRAY, SCALAR
from gradtrace.engine.node import FREED, FREED_MESSAGE, AccumulateGrad, Node
from gradtrace.engine.op import FLOAT_TRAPS
from gradtrace.engine.spec import LARGE
from gradtrace.engine.tensor import Tensor

TRAPS = (*FLOAT_TRAPS, Unusual)


class Sweep:
    """What one pass has to do still: the nodes that have a gradient, newest first, and the leaves that have one."""

    __slots__ = ("heap", "keep", "leaves", "ndarray", "pending")

    def __init__(self, keep: bool) -> None:
        self.heap: list[tuple[int, Node]] = []
        self.pending: dict[Node, Any] = {}
        self.leaves: list[AccumulateGrad] = []
        self.keep = keep
        numpy = sys.modules.get("numpy")
        self.ndarray = None if numpy is None else numpy.ndarray

    def gather(self, leaf: Any, value: Any) -> None:
        """Adds `value` to what has arrived at a leaf."""
        have = leaf.gathered
        if have is None:
            leaf.gathered = value
            leaf.owned = False
            self.leaves.append(leaf)
        elif leaf.owned:
            have += value
            leaf.gathered = have
        else:
            leaf.gathered = have + value
            leaf.owned = True

    def receive(self, node: Node, number: int, value: Any) -> None:
        """Adds `value` to the gradient that is gathering for output `number` of `node`."""
        if node.is_accumulator:
            self.gather(node, value)
            return
        pending = self.pending
        new = node not in pending
        if node.outputs != 1:
            slots = pending.setdefault(node, {})
            slots[number] = value if slots.get(number) is None else slots[number] + value
        else:
            pending[node] = value if new else pending[node] + value
        if new:
            heappush(self.heap, (-node.seq, node))

    def follow(self, node: Any, g: Any) -> None:
        """Runs `node`, and then the newest node that has a gradient, until none has one.

        After an error the first in `heap` is the node that failed.
        """
        heap, pending, release = self.heap, self.pending, not self.keep
        try:
            while True:
                try:
                    while node.rare is None:
                        plan = node.plan
                        if plan is None or not plan.kind:
                            break
                        step, kind = plan.step, plan.kind
                        other: Any = None
                        if kind == BOTH:
                            value, second = (g, g) if step is None else step(node, g)
                            target, other = node.na, node.nb
                        else:
                            value = g if step is None else step(node, g)
                            target = node.na if kind == FIRST else node.nb
                        if release and plan.saves:
                            node.a = FREED
                            node.b = node.out = None
                        if type(target) is AccumulateGrad:
                            have = target.gathered
                            if have is None or target.spec is not node.spec:
                                self.gather(target, conform(value, target, 0, node, 0))
                            elif target.owned:
                                have += value
                                target.gathered = have
                            else:
                                target.gathered = have + value
                                target.owned = True
                            target = None
                        if other is not None:
                            if type(other) is AccumulateGrad:
                                have = other.gathered
                                if have is None or other.spec is not node.spec:
                                    self.gather(other, conform(second, other, 0, node, 1))
                                elif other.owned:
                                    have += second
                                    other.gathered = have
                                else:
                                    other.gathered = have + second
                                    other.owned = True
                            elif target is None:
                                target, value = other, second
                            elif target is not other:
                                self.receive(other, 0, second)
                            elif target in pending:
                                pending[target] = pending[target] + value
                                value = second
                            else:
                                value = value + second
                        if not heap and target is not None:  # the common case: a chain
                            node, g = target, value
                            continue
                        if target is not None:
                            self.receive(target, 0, value)
                        if not heap:
                            return
                        node = heappop(heap)[1]
                        g = pending.pop(node)
                except TRAPS:
                    pass
                self.run(node, g)
                if not heap:
                    return
                node = heappop(heap)[1]
                g = pending.pop(node)
        except BaseException:
            heap.insert(0, (-node.seq, node))
            raise

    def run(self, node: Any, g: Any) -> None:
        """Runs a node of any kind."""
        plan = node.plan
        if type(g) is self.ndarray and g.size >= LARGE:
            from gradtrace.engine.blocks import run_stretch

            if run_stretch(self, node, g):
                return
        if plan is not None and plan.quick and not plan.kind and node.rare is None:
            results = self.run_rules(node, g)
        else:
            if node.hooks is not None:
                g = tensor_hooks(node, g)  # retain_grad is the only one here
            results = apply(node, g)
        if not self.keep:
            node.release()
        ndarray = self.ndarray
        for i, target in enumerate(node.next):
            value = results[i]
            if target is None or value is None:
                continue
            number = 0 if node.nrs is None else node.nrs[i]
            spec = target.spec
            if type(value) is not ndarray or value.dtype is not spec.dtype or value.shape != spec.shape:
                value = conform(value, target, number, node, i)
            self.receive(target, number, value)

    def run_rules(self, node: Any, g: Any) -> list[Any]:
        """The rules of a node of one or two operands that has a kernel for floats."""
        plan, two = node.plan, node.narrow == 2
        a, b, out = node.a, node.b if two else None, node.out
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
        results: list[Any] = [None, None]
        for i, rule in plan.rules:
            if (node.nb if i else node.na) is not None:  # None: of a view made under no_grad
                try:
                    results[i] = rule(xp, g, out, a, b) if two else rule(xp, g, out, a)
                except FLOAT_TRAPS:
                    results[i] = apply(node, g)[i]
        return results


def sweep(roots: list[tuple[Node, int, Any]], keep: bool) -> None:
    """Sends the roots' gradients back and adds what arrives to the leaves."""
    now = Sweep(keep)
    try:
        for root, number, gradient in roots:
            now.receive(root, number, conform(gradient, root, number, None, 0))
        gradient = None
        if now.heap:
            node = heappop(now.heap)[1]
            now.follow(node, now.pending.pop(node))
    except BaseException:
        drop_unfinished(roots, now.heap[0][1].seq if now.heap else 0)
        raise
    finally:
        while now.leaves:
            leaf = now.leaves.pop()
            gradient, leaf.gathered = leaf.gathered, None
            if gradient is not None:
                add_to_grad(leaf.variable, gradient, holders=1)


def drop_unfinished(roots: list[tuple[Node, int, Any]], failed: int) -> None:
    """After an error: forgets the leaves that nodes not run would have given more; PyTorch had not come to them."""
    seen = {root for root, _, _ in roots}
    stack = list(seen)
    while stack:
        node = stack.pop()
        for target in node.next:
            if target is None:
                continue
            if node.seq <= failed and target.is_accumulator:
                target.gathered = None
            if target not in seen:
                seen.add(target)
                stack.append(target)
