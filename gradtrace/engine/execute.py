"""Running a backward graph: one iterative pass in PyTorch's order.

Dependencies are counted first; then the ready node with the highest sequence number runs, accumulators before all
others. Gradients on the way are raw data (floats, arrays), or Tensors when the pass is itself recorded
(create_graph). A gradient is brought to the shape and dtype of what it belongs to once, on its edge (`conform`).
"""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count

from gradtrace.annotations import Any, NamedTuple
from gradtrace.engine.arrive import add_to_grad, conform
from gradtrace.engine.call_hooks import node_hooks, tensor_hooks
from gradtrace.engine.lazy import np
from gradtrace.engine.namespace import ARRAY, SCALAR, TRACED
from gradtrace.engine.node import FREED_MESSAGE, AccumulateGrad, Node, UndefinedGrad, bare_name, tensor_type_name
from gradtrace.engine.op import FLOAT_TRAPS
from gradtrace.engine.saved import flat, raw_operands, result_of, untouched
from gradtrace.engine.state import state
from gradtrace.engine.tensor import Tensor
from gradtrace.engine.watch import Watcher

Slot = tuple[Node, int]
passes = count(1)


class Pass(NamedTuple):
    """A backward pass that is running, for the hooks that it calls."""

    number: int
    reachable: dict[Node, int]
    needed: set[Node] | None  # None: all that can be reached
    read: set[Node]  # whose gradients autograd.grad gives

    def will_run(self, node: Node) -> bool:
        """Whether the pass runs this node. RuntimeError for a leaf's in autograd.grad, as in PyTorch."""
        if self.needed is None:
            return node in self.reachable
        if node in self.read and isinstance(node, AccumulateGrad):
            raise RuntimeError(
                "A leaf node was passed to _will_engine_execute_node but we are currently running autograd.grad(). "
                "This is currently not supported."
            )
        return node in self.needed or node in self.read


def run(
    roots: list[tuple[Node, int, Any]],
    keep_graph: bool,
    create_graph: bool,
    wanted: list[Slot] | None = None,
    accumulate: bool = True,
) -> dict[Slot, Any]:
    """Sends the roots' gradients back; returns what arrived at the `wanted` slots (only those paths run, if given)."""
    before, outer = state.grad_enabled, state.running
    state.grad_enabled = create_graph
    try:
        if state.watcher is not None:
            return watched(state.watcher, roots, keep_graph, create_graph, wanted, accumulate)
        if wanted is None and not (create_graph or state.user_code or state.anomaly):
            from gradtrace.engine.sweep import sweep

            sweep(roots, keep_graph)
            return {}
        return _run(roots, keep_graph, wanted, accumulate)
    except Exception as error:
        note_forward(error)
        raise
    finally:
        state.grad_enabled, state.running = before, outer


def note_forward(error: Exception) -> None:
    """Writes into an error of a backward pass the origin of the node that failed, which is looked up only then."""
    trace = error.__traceback__
    while trace is not None and not hasattr(error, "_forward"):
        if trace.tb_frame.f_code.co_name in ("_run", "follow"):
            node = trace.tb_frame.f_locals.get("node")
            if isinstance(node, Node) and node.origin:
                error._forward = node.origin  # type: ignore[attr-defined]
        trace = trace.tb_next


def watched(
    watcher: Watcher,
    roots: list[tuple[Node, int, Any]],
    keep: bool,
    create_graph: bool,
    wanted: list[Slot] | None,
    accumulate: bool,
) -> dict[Slot, Any]:
    """The same with a watcher that is told when the pass begins and how it ends."""
    watcher.began(roots, keep, create_graph, wanted, accumulate)
    try:
        captured = _run(roots, keep, wanted, accumulate)
    except BaseException as error:
        watcher.ended(error)
        raise
    watcher.ended(None)
    return captured


def _run(
    roots: list[tuple[Node, int, Any]], keep: bool, wanted: list[Slot] | None, accumulate: bool
) -> dict[Slot, Any]:
    waiting = count_dependencies([node for node, _, _ in roots])
    needed = None if wanted is None else needed_nodes(waiting, wanted, accumulate)
    capture = {} if wanted is None else dict.fromkeys(wanted)
    buffers: dict[Node, Any] = {}
    ready: list[tuple[int, int, Node]] = []
    ticket = count().__next__
    for node, number, gradient in roots:
        if node not in buffers and not waiting[node]:
            heappush(ready, (-node.seq, ticket(), node))
        put(buffers, node, number, conform(gradient, node, number, None, 0))
    captured_nodes = {node for node, _ in capture}
    watcher = state.watcher
    state.running = Pass(next(passes), waiting, needed, set() if accumulate else captured_nodes)
    while ready:
        node = heappop(ready)[2]
        gradient = buffers.pop(node, None)
        if watcher is not None:
            watcher.enters(node, gradient)
        # As in PyTorch, what runs anyway gives its gradient before its hooks, what is only read after them.
        read_only = needed is not None and node not in needed
        if node in captured_nodes and not read_only:
            collect(capture, node, gradient)
        if gradient is not None and (node.hooks is not None or type(node) is AccumulateGrad):
            gradient = tensor_hooks(node, gradient)
        if node in captured_nodes and read_only:
            collect(capture, node, gradient)
        if needed is not None and node not in needed:
            results: Any = (None,) * len(node.next)
        else:
            if watcher is not None:
                watcher.runs(node, gradient)
            results = visit(node, gradient)
            if watcher is not None:
                watcher.leaves(node, not keep)
            if not keep:
                node.release()
        numbers = node.nrs
        for i, target in enumerate(node.next):
            if target is None:
                continue
            value = results[i]
            if value is not None and (needed is None or target in needed or target in captured_nodes):
                number = 0 if numbers is None else numbers[i]
                value = conform(value, target, number, node, i)
                if watcher is not None:
                    watcher.sends(i, value)
                put(buffers, target, number, value)
            waiting[target] -= 1
            if not waiting[target] and (needed is None or target in needed or target in captured_nodes):
                heappush(ready, (-target.seq, ticket(), target))
        gradient = results = value = None  # an array held here could not be taken over by an accumulator
    return capture


def count_dependencies(roots: list[Node]) -> dict[Node, int]:
    """For each node reachable from the roots, how many edges lead to it."""
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
    """The nodes that must run so that every wanted slot gets its gradient.

    With `accumulate` the wanted nodes run too (a leaf's accumulator stores the gradient); else they are only read.
    """
    targets = {node for node, _ in wanted}
    needed: set[Node] = set()
    for node in sorted(reachable, key=creation_order):
        if any(t in needed or t in targets for t in node.next if t is not None):
            needed.add(node)
    return needed | (targets & reachable.keys()) if accumulate else needed


def creation_order(node: Node) -> int:
    # An accumulator has no edges of its own; its number only says that it runs first.
    return -1 if isinstance(node, AccumulateGrad) else node.seq


def put(buffers: dict[Node, Any], node: Node, number: int, value: Any) -> None:
    """Adds `value` to the gradient that is gathering for output `number` of `node`."""
    if node.outputs == 1:
        have = buffers.get(node)
        buffers[node] = value if have is None else have + value
        return
    slots = buffers.setdefault(node, {})
    slots[number] = value if slots.get(number) is None else slots[number] + value


def collect(capture: dict[Slot, Any], node: Node, gradient: Any) -> None:
    for slot in capture:
        if slot[0] is node and gradient is not None:
            capture[slot] = gradient if node.outputs == 1 else gradient.get(slot[1])


def visit(node: Node, gradient: Any) -> Any:
    """Runs one node with its own pre and post hooks; returns a gradient (or None) for each of its edges."""
    hooks = node.hooks
    if hooks is None or not (hooks.pre or hooks.post):
        results = apply(node, gradient)
    else:
        results = node_hooks(node, hooks, gradient, apply)
    if state.anomaly and state.anomaly_check_nan:
        check_nan(node, results)
    return results


def check_nan(node: Node, results: Any) -> None:
    for i, r in enumerate(results):
        if r is not None and bool(np.isnan(r._data if isinstance(r, Tensor) else r).any()):
            raise RuntimeError(f"Function '{node.name()}' returned nan values in its {i}th output.")


def apply(node: Node, gradient: Any) -> Any:
    """The gradients of a node's inputs."""
    if isinstance(node, AccumulateGrad):
        if gradient is not None:
            add_to_grad(node.variable, gradient, holders=3)  # here, in visit and in the loop
        return ()
    if isinstance(node, UndefinedGrad):
        name = node.op.undefined if isinstance(node.op.undefined, str) else node.op.name
        raise RuntimeError(f"derivative for aten::{name} is not implemented")
    own = getattr(node, "apply_gradient", None)
    if own is not None:
        return own(gradient)
    if gradient is None:
        return (None,) * len(node.next)
    return run_rules(node, gradient)


def run_rules(node: Node, gradient: Any) -> Any:
    """The derivative rules of an operator node, on whatever the gradient is made of."""
    if node.freed:
        raise RuntimeError(FREED_MESSAGE)
    settled = node.plan.raw and untouched(node)
    if node.plan.saves and not settled:
        check_versions(node)
    if node.outputs != 1:
        traced = any(isinstance(g, Tensor) for g in gradient.values())
        gradient = complete(node, gradient, traced)
    else:
        traced = isinstance(gradient, Tensor)
    kept = node.args if traced or not settled else raw_operands(node)
    out = node.out
    if node.rare is not None and node.rare.packed:
        from gradtrace.engine.saved_hooks import unpacked

        kept, out = unpacked(node)
    if traced:
        before, state.in_rule = state.in_rule, True
        try:
            return call_rules(node, TRACED, gradient, saved_result(node, out), kept)
        finally:
            state.in_rule = before
    args: Any = [a._data if isinstance(a, Tensor) else raw_nested(a) for a in kept]
    if node.op.scalar is not None:
        try:
            return call_rules(node, SCALAR if type(gradient) is float else ARRAY, gradient, out, args)
        except FLOAT_TRAPS:
            pass
    # Python's floats raise where IEEE has inf or nan, and have no shape; numpy's do.
    for i in range(min(node.op.arity, len(args))):
        if type(args[i]) in FLOATS:
            args[i] = ieee(args[i])
    out = ieee(out) if type(out) in FLOATS else out
    return call_rules(node, ARRAY, ieee(gradient) if type(gradient) in FLOATS else gradient, out, args)


FLOATS = (float, tuple)  # what may be a float or hold one


def ieee(value: Any) -> Any:
    """A float, or the floats in a tuple, as numpy's."""
    if type(value) is tuple:
        return tuple(ieee(v) for v in value)
    return np.float64(value) if type(value) is float else value


def raw_nested(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value._data
    return tuple(raw_nested(v) for v in value) if type(value) is tuple else value


def call_rules(node: Node, xp: Any, gradient: Any, out: Any, args: Any) -> Any:
    record = node.op
    if record.joint is not None:
        asked = tuple(target is not None for target in node.next)
        rule = record.joint.traced if xp is TRACED else record.joint.rule
        return rule(xp, asked, gradient, out, *args)
    results: list[Any] = [None] * len(node.next)
    for i, rule in node.plan.traced_rules if xp is TRACED else node.plan.rules:
        results[i] = rule(xp, gradient, out, *args)
    return results


def saved_result(node: Node, out: Any) -> Any:
    """The saved result, or results, as tensors of the graph."""
    if type(out) is tuple and node.outputs != 1:
        return tuple(None if raw is None else result_of(node, raw, i) for i, raw in enumerate(out))
    return None if out is None else result_of(node, out)


def complete(node: Node, slots: dict[int, Any], traced: bool) -> tuple[Any, ...]:
    """All outputs' gradients; for those that got none, zeros or None as the record asks."""
    if node.op.missing == "none":
        return tuple(slots.get(i) for i in range(len(node.shape)))
    full = []
    for i, shape in enumerate(node.shape):
        g = slots.get(i)
        if g is None:
            g = np.zeros(shape, node.dtype[i] or np.float64)
            g = Tensor._wrap(g) if traced else g
        full.append(g)
    return tuple(full)


ENABLE_HINT = (
    "enable anomaly detection to find the operation that failed to compute its gradient, with "
    "torch.autograd.set_detect_anomaly(True, check_nan=False)."
)
FOUND_HINT = (
    "the backtrace further above shows the operation that failed to compute its gradient. The variable in question was "
    "changed in there or anywhere later. Good luck!"
)


def check_versions(node: Node) -> None:
    """A saved value that was changed in place since makes the gradient wrong: refuse."""
    rare = node.rare
    expected = None if rare is None else rare.versions
    i = 0
    for a in flat(node.args):
        if not isinstance(a, Tensor):
            continue
        want = 0 if expected is None else expected[i]
        i += 1
        extra = a._x
        if extra is None:
            continue
        if extra.counter is not None or extra.inference:
            version = a._version if extra.inference else extra.counter.n  # type: ignore[union-attr]
        else:
            version = 0
        if version != want:
            raise first_modified(node, expected)
        if extra.detached >= node.seq:
            raise RuntimeError(
                "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_().This is not "
                "supported, please use out-of-place `.detach()` instead"
            )
    if rare is not None and rare.out_counter is not None and rare.out_counter.n != rare.out_version:
        outs = node.out if type(node.out) is tuple else (node.out,)
        number = next(i for i, raw in enumerate(outs) if raw is not None)
        raise modified(outs[number], node, number, rare.out_counter.n, rare.out_version)
    for t, version in () if rare is None else rare.watched:
        if t._version != version:
            raise modified(t._data, None, 0, t._version, version)


def first_modified(node: Node, expected: tuple[int, ...] | None) -> RuntimeError:
    """The error for the changed argument that PyTorch looks at first: it goes by the arguments' names."""
    saved = [(i, a) for i, a in enumerate(flat(node.args)) if isinstance(a, Tensor)]
    names = node.op.tensor_names if node.op is not None and not node.op.variadic else ()
    changed = []
    for k, (i, a) in enumerate(saved):
        want = 0 if expected is None else expected[k]
        if a._version != want:
            changed.append((names[i] if i < len(names) else "", i, a, want))
    _, _, a, want = min(changed, key=lambda entry: entry[:2])
    return modified(a._data, a.grad_fn, a._nr, a._version, want)


def modified(raw: Any, fn: Node | None, number: int, version: int, expected: int) -> RuntimeError:
    kind = tensor_type_name(None if type(raw) is float else raw.dtype)
    shape = list(getattr(raw, "shape", ()))
    whence = ""
    if fn is not None:
        whence = f", which is output {number} of {bare_name(fn)},"
    return RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[{kind} {shape}]{whence} is at version {version}; expected version {expected} instead. Hint: "
        f"{FOUND_HINT if state.anomaly else ENABLE_HINT}"
    )
