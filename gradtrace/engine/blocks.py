"""Backward through elementwise operations on large arrays, a block of elements at a time.

Whole arrays would go to memory and back at every step of every rule. Here all steps of a stretch of the graph are
done for one block, whose gradients stay in the processor's cache; only what leaves the stretch, as a leaf's gradient,
is written out whole. An element's gradient does not depend on its neighbours, so these are the same numbers as without
blocks, and they are added up in the same order.
"""

from __future__ import annotations

from heapq import heappop, heappush

from gradtrace.annotations import TYPE_CHECKING, Any, Callable, NamedTuple
from gradtrace.engine import trigonometry
from gradtrace.engine.arrive import conform
from gradtrace.engine.execute import check_versions
from gradtrace.engine.lazy import np
from gradtrace.engine.namespace import _Array
from gradtrace.engine.node import Meta, Node
from gradtrace.engine.op import Op
from gradtrace.engine.tensor import Tensor

if TYPE_CHECKING:
    from gradtrace.engine.sweep import Sweep

BLOCK = 1 << 15
ROOM = 31 << 20  # bytes; glibc learns from sizes below 32 MiB


class _Blocks(_Array):
    """The array namespace for blocks of large arrays: sin and cos are done as for the whole."""

    def make(self, record: Op) -> Callable[..., Any]:
        common = super().make(record)
        if not getattr(record._kernel, "by_blocks", False):
            return common
        function = getattr(trigonometry, record.name)
        return lambda x: function(x) if type(x) is np.ndarray and x.dtype == np.float64 else common(x)


BLOCKS = _Blocks()


class Step(NamedTuple):
    """One node of a stretch: its rules with where their values go, and its operands."""

    node: Node
    rules: list[tuple[Any, int]]  # a place among the stretch's gradients
    out: Any
    args: list[Any]
    sliced: list[int]  # which of the operands are arrays of the stretch's size


class Exit(NamedTuple):
    """A place where gradients leave the stretch."""

    target: Node
    number: int
    source: Node
    edge: int
    whole: Any  # they are put together there
    have: Any  # what had arrived before


def run_stretch(now: Sweep, first: Node, g: Any) -> bool:
    """Runs `first` and what follows it, if these are elementwise operations on arrays of one shape and dtype.

    False, and nothing done, if `first` is none.
    """
    members = stretch(now, first)
    if not members:
        return False
    places: dict[Node, int] = {node: i for i, node in enumerate(members)}
    exits: list[Exit] = []
    steps = [step_of(now, node, places, exits, len(members)) for node in members]
    run_blocks(steps, [exit.have for exit in exits], [exit.whole for exit in exits], g)
    for exit in exits:
        hand_over(now, exit)
    if not now.keep:
        for node in members:
            node.release()
    return True


# ---- which nodes


def stretch(now: Sweep, first: Node) -> list[Node]:
    """The nodes that can run now one after the other, in that order: no other node sends a gradient between them."""
    members: list[Node] = []
    waiting: list[tuple[int, Node]] = [(-first.seq, first)]
    seen = {first}
    while waiting:
        _, node = heappop(waiting)
        other = now.heap and now.heap[0][0] < -node.seq
        if other or node in now.pending or not fits(node, first):
            # From here on gradients may come from it, so whatever is older waits until it has run.
            break
        members.append(node)
        for i, _ in node.plan.rules:
            target = node.next[i]
            if target is not None and not target.is_accumulator and target not in seen:
                seen.add(target)
                heappush(waiting, (-target.seq, target))
    return members


def fits(node: Node, first: Node) -> bool:
    """Whether a node is an elementwise operation on arrays like that of `first`, which lie in one piece."""
    plan = node.plan
    if plan is None or node.rare is not None or node.outputs != 1:
        return False
    if node.shape != first.shape or node.dtype is not first.dtype or node.freed or not plan.rules:
        return False
    if node.op.scalar is None or node.op.joint is not None:
        return False
    try:
        if plan.saves:
            check_versions(node)
    except RuntimeError:
        return False  # it is raised when the node's turn comes
    return all(map(fits_operand, node.args, [node.shape] * len(node.args))) and fits_operand(node.out, node.shape)


def fits_operand(value: Any, shape: Any) -> bool:
    raw = value._data if isinstance(value, Tensor) else value
    if raw is None or type(raw) in (float, int, str):
        return True
    if type(raw) is not np.ndarray or type(value) is Meta:
        return False
    return raw.ndim == 0 or (raw.shape == shape and raw.flags.c_contiguous)


# ---- what they do


def step_of(now: Sweep, node: Node, places: dict[Node, int], exits: list[Exit], members: int) -> Step:
    rules = []
    for i, rule in node.plan.rules:
        target = node.next[i]
        if target is None:
            continue
        place = places.get(target)
        if place is None:
            place = members + exit_to(now, target, node, i, exits)
        rules.append((rule, place))
    slope = node.b if node.narrow == 1 and node.b is not None else None
    if slope is not None:
        rules = [(times, place) for _, place in rules]
        return Step(node, rules, None, [flat(slope)], [0])
    args = [flat(a._data if isinstance(a, Tensor) else a) for a in node.args]
    sliced = [i for i, a in enumerate(args) if type(a) is np.ndarray and a.ndim]
    return Step(node, rules, flat(node.out), args, sliced)


def times(xp: Any, g: Any, out: Any, slope: Any) -> Any:
    """The rule of an operation whose derivative was worked out along with its result."""
    return g * slope


def flat(value: Any) -> Any:
    return value.reshape(-1) if type(value) is np.ndarray and value.ndim else value


def exit_to(now: Sweep, target: Node, source: Node, index: int, exits: list[Exit]) -> int:
    """The number of the exit to a target; one that wants sums over broadcast dims gets one for each edge."""
    number = 0 if source.nrs is None else source.nrs[index]
    same = target.outputs == 1 and target.shape == source.shape and target.dtype is source.dtype
    for i, exit in enumerate(exits):
        if same and exit.target is target:
            return i
    have = None
    if same:
        have = target.gathered if target.is_accumulator else now.pending.get(target)  # type: ignore[attr-defined]
        have = None if have is None else flat(np.ascontiguousarray(have))
    exits.append(Exit(target, number, source, index, np.empty(source.shape, source.dtype), have))
    return len(exits) - 1


def run_blocks(steps: list[Step], have: list[Any], whole: list[Any], g: Any) -> None:
    # The C library gives freed memory back to the system in pieces of what it has seen freed. With none but huge arrays
    # in the process that would be each block's temporary, to be cleared and mapped in again for the next one.
    np.empty(ROOM, np.uint8)
    size, dtype = g.size, g.dtype
    whole = [array.reshape(-1) for array in whole]
    expanded = not any(g.strides)  # one number for all, as from a sum
    incoming = np.asarray(g[(0,) * g.ndim]) if expanded else np.ascontiguousarray(g).reshape(-1)
    count = -(-size // BLOCK)
    members = len(steps)
    for k in range(count):
        here = slice(size * k // count, size * (k + 1) // count)
        length = here.stop - here.start
        values: list[Any] = [None] * (members + len(whole))
        for i, before in enumerate(have):
            values[members + i] = None if before is None else before[here]
        values[0] = np.broadcast_to(incoming, (length,)) if expanded else incoming[here]
        for i, step in enumerate(steps):
            args = step.args
            if step.sliced:
                args = args.copy()
                for j in step.sliced:
                    args[j] = args[j][here]
            out = step.out
            if out is not None:
                out = out[here]
            gradient, values[i] = values[i], None
            for rule, place in step.rules:
                value = rule(BLOCKS, gradient, out, *args)
                if type(value) is not np.ndarray or value.dtype is not dtype or value.shape != (length,):
                    value = np.broadcast_to(np.asarray(value, dtype), (length,))
                values[place] = value if values[place] is None else values[place] + value
        for i, array in enumerate(whole):
            array[here] = values[members + i]


def hand_over(now: Sweep, exit: Exit) -> None:
    """Gives what came together at an exit to its target; what had arrived there before is in it."""
    target, value = exit.target, exit.whole
    if exit.have is None:
        if target.outputs != 1 or value.shape != target.shape or value.dtype is not target.dtype:
            value = conform(value, target, exit.number, exit.source, exit.edge)
        now.receive(target, exit.number, value)
    elif target.is_accumulator:
        target.gathered, target.owned = value, True  # type: ignore[attr-defined]
    else:
        now.pending[target] = value
