"""One backward pass: the loop over nodes, and the accumulation of gradients.

The newest node that has a gradient runs first: sequence numbers strictly fall along edges, so every
node that may still send it a gradient has run by then. Where user code can observe PyTorch's order
(hooks, custom Functions, a recorder, chosen inputs), dependencies are counted beforehand and a
leaf's gradient is stored as soon as it is complete.

Inside a pass gradients are raw data (floats, arrays), or Tensors if the pass itself is recorded
(create_graph). Each edge converts its gradient once, to the shape and dtype of the tensor that the
gradient belongs to.
"""

from __future__ import annotations

import sys
from heapq import heappop, heappush, heappushpop
from itertools import count
from math import inf

from gradtrace.annotations import TYPE_CHECKING, Any
from gradtrace.engine.data.dtypes import has_spec
from gradtrace.engine.data.node import FREED, AccumulateGrad, Node, OpNode
from gradtrace.engine.data.state import state, using
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.operators.broadcast import unbroadcast_and_cast
from gradtrace.engine.reverse.anomaly import blame, check_nan
from gradtrace.engine.reverse.evaluate import derive
from gradtrace.engine.reverse.hooks import node_hooks, tensor_hooks
from gradtrace.engine.reverse.leaf import accumulate_grad

if TYPE_CHECKING:
    from gradtrace.engine.data.gradient_types import InputGradients, NodeGradient

Slot = tuple[Node, int]
Root = tuple[Node, int, Any]
PASSES_PER_STACK = 20  # Python allows some 1,000 frames on each stack
# A recursion limit above this was raised on purpose, as parsing does: no new thread is needed.
RAISED_LIMIT = 2_000
passes_run = {"fast": 0, "ordered": 0}  # since the process started


def run_backward(
    roots: list[Root],
    keep_graph: bool,
    create_graph: bool,
    wanted: list[Slot] | None = None,
    accumulate: bool = True,
) -> dict[Slot, Any]:
    """Run a backward pass from the roots (only to the `wanted` slots, if given); return the
    gradients at these.

    Passes can be nested to any depth: after every PASSES_PER_STACK of them a new thread gives a new stack, as
    in PyTorch (`MAX_DEPTH` of its engine). Only one of these threads ever runs: the others wait for
    it.
    """
    if (
        state.running is None
        or nested() % PASSES_PER_STACK
        or sys.getrecursionlimit() > RAISED_LIMIT
    ):
        return run_pass(roots, keep_graph, create_graph, wanted, accumulate)
    import threading

    outcomes: list[Any] = []

    def in_thread() -> None:
        try:
            outcomes.append(run_pass(roots, keep_graph, create_graph, wanted, accumulate))
        except BaseException as error:
            outcomes.append(error)

    thread = threading.Thread(target=in_thread)
    thread.start()
    thread.join()
    if isinstance(outcomes[0], BaseException):
        raise outcomes[0]
    return outcomes[0]


def nested() -> int:
    """Return the number of nested backward passes that are running."""
    depth = 0
    running = state.running
    while running is not None:
        depth = depth + 1
        running = running.outer
    return depth


def run_pass(
    roots: list[Root],
    keep_graph: bool,
    create_graph: bool,
    wanted: list[Slot] | None = None,
    accumulate: bool = True,
) -> dict[Slot, Any]:
    """Run a backward pass, as `run_backward` does, on this thread."""
    state.keeper.passed(roots, accumulate)
    recorded = create_graph or state.planning
    seen = recorded or state.live_observers or state.anomaly or state.watching
    if wanted is None and not seen:
        with using(grad_enabled=False):
            Pass(keep_graph).start(roots)
        return {}
    running = OrderedPass(keep_graph, [node for node, _, _ in roots], wanted, accumulate)
    with using(grad_enabled=create_graph, running=running, saved_hooks=state.saved_hooks):
        watcher = state.watcher
        watcher.began(roots, keep_graph, create_graph, wanted, accumulate)
        try:
            running.start(roots)
            for callback in running.callbacks:
                callback()
        except BaseException as error:
            watcher.ended(error)
            raise
        watcher.ended(None)
    return running.captured


# ---- the pass


class Pass:
    """A backward pass: the gradients received by each node so far, and the node that is running.

    `pending` has the sum of the gradients for each node that has not run (a dict by output number
    if it has several). `owned` are the nodes whose sum is an array of this pass, to which the next
    gradient is added in place. `taken` are the arrays that became a leaf's `.grad` or belong to the
    caller: no other leaf may get them.
    """

    ordered = False

    def __init__(self, keep_graph: bool) -> None:
        self.keep_graph = keep_graph
        self.node: Node | None = None
        self.heap: list[Any] = []
        self.pending: dict[Node, Any] = {}
        self.owned: set[Node] = set()
        self.taken: dict[int, Any] = {}

    def start(self, roots: list[Root]) -> None:
        """Run the pass from the roots. An error gets the origin of the node that was running as
        `__forward__`.
        """
        passes_run["ordered" if self.ordered else "fast"] += 1
        for node, number, gradient in roots:
            self.taken[id(gradient)] = gradient
            arriving = unbroadcast_and_cast(gradient, node, number, None, 0)
            self.receive(node, arriving if node.outputs == 1 else {number: arriving})
        try:
            self.run()
        except BaseException as error:
            blame(self.node, error)
            if not self.ordered:
                self.drop_incomplete([node for node, _, _ in roots])
            raise
        finally:
            if not self.ordered:
                self.store()

    def run(self) -> None:
        """Run the newest node that has a gradient, until no node has one."""
        heap = self.heap
        pending = self.pending
        release = not self.keep_graph
        ordered = self.ordered
        owned = self.owned
        node, gradient = self.newest()
        while node is not None:
            self.node = node
            if (ordered or node.spec.large) and self.run_apart(node, gradient):
                node, gradient = self.newest()
                continue
            plan = node.plan
            pairs = plan.derivative(node, gradient)
            if release and plan.saves:
                if type(node) is OpNode:  # what its release() does, without the call
                    node.saved_a = FREED
                    node.saved_b = node.out = None
                else:
                    node.release()
            node = None
            for target, value in pairs:
                have = pending.get(target)
                if have is None:
                    if target is node:
                        gradient = self.add(node, gradient, value)
                    elif node is None and type(target) is not AccumulateGrad:
                        node = target
                        gradient = value
                    else:
                        self.receive(target, value)
                elif type(have) is float:
                    pending[target] = have + value
                elif target in owned:
                    have += value
                    pending[target] = have  # one of numpy's scalars is not changed in place
                else:
                    pending[target] = self.add(target, have, value)
            if node is None:
                node, gradient = self.newest()
            elif heap and heap[0][0] < -node.seq:
                pending[node] = gradient
                node = heappushpop(heap, (-node.seq, node))[-1]
                gradient = pending.pop(node)

    def run_apart(self, node: Node, gradient: Any) -> bool:
        """Try to run a node and the nodes after it block by block; return False if they must run as
        usual.
        """
        from gradtrace.engine.reverse.blocks import run_stretch

        return run_stretch(self, node, gradient)

    def newest(self) -> tuple[Any, Any]:
        """Take the newest node that has a gradient, with that gradient; (None, None) if there is
        none.
        """
        if not self.heap:
            return None, None
        node = heappop(self.heap)[-1]
        return node, self.pending.pop(node, None)

    def receive(self, node: Node, value: NodeGradient) -> None:
        """Add `value` to the gradient of a node that has not run."""
        have = self.pending.get(node)
        self.pending[node] = value if have is None else self.add(node, have, value)
        if have is None:
            self.push(node)

    def push(self, node: Node) -> None:
        """Add a node to the queue when it has its first gradient. Leaves are not queued."""
        if type(node) is not AccumulateGrad:
            heappush(self.heap, (-node.seq, node))

    def add(self, node: Node, have: Any, value: Any) -> Any:
        """Return the sum of a node's gradient `have` and one more gradient `value`."""
        if type(have) is float or isinstance(have, Tensor):
            return have + value
        if type(have) is dict:
            for number, gradient in value.items():
                have[number] = have[number] + gradient if number in have else gradient
        elif node in self.owned:
            have += value
        else:
            self.owned.add(node)
            have = have + value
        return have

    def store(self) -> None:
        """Add the gradients of leaves to their `.grad`."""
        for node, gradient in self.pending.items():
            if isinstance(node, AccumulateGrad):
                # `.data` may have got another dtype since a compiled derivative was recorded
                if not has_spec(gradient, node.spec):
                    gradient = unbroadcast_and_cast(gradient, node, 0, None, 0)
                accumulate_grad(node.variable, gradient, self.taken)

    def drop_incomplete(self, roots: list[Node]) -> None:
        """After an error, drop the incomplete gradients of leaves, which PyTorch would not have
        stored either.
        """
        failed = 0 if self.node is None else self.node.seq
        for node in count_dependencies(roots):
            if node.seq <= failed:
                for target in node.next:
                    self.pending.pop(target, None)


class OrderedPass(Pass):
    """A backward pass in PyTorch's exact order, which runs hooks, reports to a watcher, and
    captures gradients.

    `waiting` has the number of edges to each node that are not done yet, `needed` the nodes that
    must run (None: all that can be reached), `captured` the gradient of each wanted slot (a node
    and an output number).
    """

    ordered = True
    numbers = count(1)

    def __init__(
        self, keep_graph: bool, roots: list[Node], wanted: list[Slot] | None, accumulate: bool
    ) -> None:
        super().__init__(keep_graph)
        self.number = next(OrderedPass.numbers)
        self.outer = state.running
        self.waiting = count_dependencies(roots)
        self.needed = None if wanted is None else needed_nodes(self.waiting, wanted, accumulate)
        self.captured: dict[Slot, Any] = {} if wanted is None else dict.fromkeys(wanted)
        self.capturing = {node for node, _ in self.captured}
        self.read = set() if accumulate else self.capturing
        self.callbacks: list[Any] = []  # of queue_callback: they run when the pass is over
        # leaves have the same priority: the first that is ready runs first
        self.ticket = count().__next__

    def will_run(self, node: Node) -> bool:
        """Return whether the pass runs this node. In autograd.grad, RuntimeError for a leaf's node,
        as in PyTorch.
        """
        if self.needed is None:
            return node in self.waiting
        if node in self.read and isinstance(node, AccumulateGrad):
            raise RuntimeError(
                "A leaf node was passed to _will_engine_execute_node but we are currently running "
                "autograd.grad(). This is currently not supported."
            )
        return node in self.needed or node in self.read

    def is_needed(self, node: Node) -> bool:
        """Return whether the pass needs the gradient of this node."""
        return self.needed is None or node in self.needed or node in self.capturing

    def push(self, node: Node) -> None:
        """Add a node to the queue if it has all its gradients. Leaves run first, then the newest
        node.
        """
        if not self.waiting[node]:
            heappush(self.heap, (-inf if node.is_accumulator else -node.seq, self.ticket(), node))

    def run_apart(self, node: Node, gradient: Any) -> bool:
        """Run a node, send its results along its edges, queue the nodes that have all their
        gradients. Return True.
        """
        results = self.visit(node, gradient)
        watcher = state.watcher
        numbers = node.output_nrs
        for i, target in enumerate(node.next):
            if target is None:
                continue
            value = results[i]
            needed = self.is_needed(target)
            if needed and value is not None:
                number = 0 if numbers is None else numbers[i]
                value = unbroadcast_and_cast(value, target, number, node, i)
                watcher.sends(i, value)
                self.receive(target, value if target.outputs == 1 else {number: value})
            self.waiting[target] -= 1
            if needed:
                self.push(target)
        return True

    def visit(self, node: Node, gradient: NodeGradient) -> InputGradients:
        """Run a node and its hooks; return the gradient (or None) for each of its edges."""
        watcher = state.watcher
        watcher.enters(node, gradient)
        # As in PyTorch, capture the gradient of a node that runs before its hooks, and that of a
        # node that is only read after its hooks.
        read_only = self.needed is not None and node not in self.needed
        if node in self.capturing and not read_only:
            self.capture(node, gradient)
        if node.hooks is not None or node.is_accumulator:
            gradient = tensor_hooks(node, gradient)
        if read_only:
            if node in self.capturing:
                self.capture(node, gradient)
            return (None,) * len(node.next)
        watcher.runs(node, gradient)
        results = run_with_hooks(node, gradient)
        watcher.leaves(node, not self.keep_graph)
        if not self.keep_graph:
            node.release()
        return results

    def capture(self, node: Node, gradient: NodeGradient) -> None:
        """Store the gradient of a node in the wanted slots that belong to this node."""
        for slot in self.captured:
            if slot[0] is node and gradient is not None:
                self.captured[slot] = gradient if node.outputs == 1 else gradient.get(slot[1])  # type: ignore[union-attr]


def count_dependencies(roots: list[Node]) -> dict[Node, int]:
    """Return, for each node that can be reached from the roots, the number of edges that lead to
    it.
    """
    counts: dict[Node, int] = dict.fromkeys(roots, 0)
    stack = list(counts)
    while stack:
        for target in stack.pop().next:
            if target is None:
                continue
            if target in counts:
                counts[target] += 1
            else:
                counts[target] = 1
                stack.append(target)
    return counts


def needed_nodes(reachable: dict[Node, int], wanted: list[Slot], accumulate: bool) -> set[Node]:
    """Return the nodes that must run so that every wanted slot gets its gradient.

    With `accumulate` the wanted nodes run too (a leaf's node adds to `.grad`); else only their
    gradients are read.
    """
    targets = {node for node, _ in wanted}
    needed: set[Node] = set()
    for node in sorted(reachable, key=lambda node: node.seq):
        if any(t in needed or t in targets for t in node.next if t is not None):
            needed.add(node)
    return needed | (targets & reachable.keys()) if accumulate else needed


# ---- one node


def derive_for_edges(node: Node, gradient: NodeGradient) -> InputGradients:
    """Return the gradients of a node's inputs in the shape and dtype of the tensors that they
    belong to.
    """
    numbers = node.output_nrs or (0,) * len(node.targets)
    return [
        value
        if value is None or target is None
        else unbroadcast_and_cast(value, target, numbers[i], node, i)
        for i, (value, target) in enumerate(zip(derive(node, gradient), node.targets, strict=False))
    ]


def run_with_hooks(node: Node, gradient: NodeGradient) -> InputGradients:
    """Run a node between its pre and post hooks; return its inputs' gradients, checked for nan in
    anomaly mode.
    """
    hooks = node.hooks
    results: InputGradients
    if hooks is None or not (hooks.pre or hooks.post):
        results = derive(node, gradient)
    else:
        results = node_hooks(node, hooks, gradient, derive_for_edges)
    if state.anomaly:
        check_nan(node, results)
    return results
