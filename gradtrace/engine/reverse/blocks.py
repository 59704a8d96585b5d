"""Backward through elementwise operations on large arrays, a block of elements at a time.

Whole arrays would go to memory and back at every step. A stretch (elementwise nodes that can run
one after another) instead runs all its steps on one block in the processor's cache; only gradients
that leave the stretch (a leaf's, for example) are written as whole arrays. The results are the same
numbers as without blocks, added in the same order.
"""

from __future__ import annotations

from heapq import heappop, heappush

from gradtrace.annotations import TYPE_CHECKING, Any, Callable, NamedTuple, TypeVar
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.node import Node
from gradtrace.engine.operators import trigonometry
from gradtrace.engine.operators.namespace import _Array
from gradtrace.engine.operators.op import Op
from gradtrace.engine.reverse.evaluate import delivered
from gradtrace.engine.reverse.saved import saved_data

if TYPE_CHECKING:
    from gradtrace.engine.data.types import Array, Rule, Shape
    from gradtrace.engine.reverse.backward import Pass

Value = TypeVar("Value")
BLOCK = 1 << 15
ROOM = 31 << 20  # bytes; glibc learns from sizes below 32 MiB


class _Blocks(_Array):
    """The array namespace for blocks of large arrays: sin and cos are done as for the whole."""

    def make(self, record: Op) -> Callable[..., Any]:
        common = super().make(record)
        if not getattr(record._kernel, "by_blocks", False):
            return common
        function = getattr(trigonometry, record.name)
        return lambda x: (
            function(x) if type(x) is np.ndarray and x.dtype == np.float64 else common(x)
        )


BLOCKS = _Blocks()


Kept = tuple[list[Any], Any]  # the saved arguments and the saved result, as raw data


class BlockStep(NamedTuple):
    """One node of a stretch: each of its rules with the place for the rule's value, and the node's
    operands.
    """

    rules: list[tuple[Rule, int]]  # a place among the stretch's gradients
    out: Array | None
    args: list[Any]
    sliced: list[int]  # which of the operands are arrays of the stretch's size


class Exit(NamedTuple):
    """An edge from a node of the stretch (`source`) to a node outside of it (`target`)."""

    target: Node
    source: Node
    edge: int
    whole: Array  # they are put together there
    have: Array | None  # what had arrived before


def run_stretch(now: Pass, first: Node, g: Array) -> bool:
    """Run the stretch of elementwise operations on arrays of one shape and dtype that starts at
    `first`.

    Return False, without running anything, if `first` is not such an operation.
    """
    members = stretch(now, first)
    if not members:
        return False
    places: dict[Node, int] = {node: i for i, node in enumerate(members)}
    exits: list[Exit] = []
    steps = [step_of(now, node, kept, places, exits) for node, kept in members.items()]
    run_blocks(steps, exits, g)
    for exit in exits:
        hand_over(now, exit)
    if not now.keep_graph:
        for node in members:
            node.release()
            if node.extras is not None:
                node.extras.slope = None
    return True


# ---- which nodes


def stretch(now: Pass, first: Node) -> dict[Node, Kept]:
    """Return the nodes of the stretch that starts at `first`, in the order in which they run, with
    their saved values.

    No node outside of the stretch sends a gradient to one of them while they run.
    """
    members: dict[Node, Kept] = {}
    waiting: list[tuple[int, Node]] = [(-first.seq, first)]
    seen = {first}
    while waiting:
        _, node = heappop(waiting)
        preceded = now.heap and now.heap[0][0] < -node.seq
        kept = None if preceded or node in now.pending else operands(node, first)
        if kept is None:
            # From here on gradients may come from it, so whatever is older waits until it has run.
            break
        members[node] = kept
        for i, _ in node.plan.rules:
            target = node.next[i]
            if target is not None and not target.is_accumulator and target not in seen:
                seen.add(target)
                heappush(waiting, (-target.seq, target))
    return members


def operands(node: Node, first: Node) -> Kept | None:
    """Return the saved arguments and result of a node, or None if it cannot be part of the stretch.

    It can if it is an elementwise operation with the shape and dtype of `first`, on contiguous
    arrays and numbers.
    """
    record = node.op
    if node.spec is not first.spec or node.freed or record is None or not node.plan.rules:
        return None
    if record.kind != "elementwise" or record.joint is not None or node.outputs != 1:
        return None
    try:
        args, out = saved_data(node)
    except RuntimeError:
        return None  # it is raised when the node's turn comes
    return (args, out) if all(fits(value, node.shape) for value in (*args, out)) else None


def fits(raw: object, shape: Shape) -> bool:
    """Return whether an operand is a number, or a contiguous array of the result's shape."""
    if raw is None or type(raw) in (float, int, str):
        return True
    if type(raw) is not np.ndarray:
        return False
    return raw.ndim == 0 or (raw.shape == shape and raw.flags.c_contiguous)


# ---- what they do


def step_of(
    now: Pass, node: Node, kept: Kept, places: dict[Node, int], exits: list[Exit]
) -> BlockStep:
    """Return the step of a node; add to `exits` the places where its gradients leave the
    stretch.
    """
    rules = []
    slope = slope_of(node, kept[0][0])
    for i, rule in node.plan.rules if slope is None else [(0, times_slope)]:
        target = node.next[i]
        if target is None:
            continue
        place = places.get(target)
        if place is None:
            place = len(places) + exit_to(now, target, node, i, exits)
        rules.append((rule, place))
    args = [flat(a) for a in (kept[0] if slope is None else [slope])]
    sliced = [i for i, a in enumerate(args) if type(a) is np.ndarray and a.ndim]
    return BlockStep(rules, flat(kept[1]), args, sliced)


def slope_of(node: Node, argument: Any) -> Array | None:
    """Return the derivative that was computed along with a node's result, if its argument has not
    changed since.
    """
    if node.extras is None or node.extras.slope is None:
        return None
    slope, mark = node.extras.slope
    return slope if mark == trigonometry.fingerprint(argument) else None


def times_slope(xp: Any, g: Array, out: Any, slope: Array) -> Array:
    return g * slope


def flat(value: Value) -> Value:
    """Return an array reshaped to one dim, and any other operand unchanged."""
    return value.reshape(-1) if type(value) is np.ndarray and value.ndim else value  # type: ignore[attr-defined]


def exit_to(now: Pass, target: Node, source: Node, index: int, exits: list[Exit]) -> int:
    """Return the index of the exit to a target; a target of another shape or dtype gets an exit for
    each edge.
    """
    same = target.spec is source.spec
    for i, exit in enumerate(exits):
        if same and exit.target is target:
            return i
    have = now.pending.get(target) if same else None
    have = None if have is None else flat(np.ascontiguousarray(have))
    exits.append(Exit(target, source, index, np.empty(source.shape, source.dtype), have))
    return len(exits) - 1


def run_blocks(steps: list[BlockStep], exits: list[Exit], g: Array) -> None:
    """Run the steps on each block of the gradient `g`, and write the gradients that leave the
    stretch to the exits.
    """
    # The C library gives freed memory back to the system in pieces of what it has seen freed. With
    # none but huge arrays in the process that would be each block's temporary, to be cleared and
    # mapped in again for the next one.
    np.empty(ROOM, np.uint8)
    size = g.size
    dtype = g.dtype
    expanded = not any(g.strides)  # one number for all, as from a sum
    incoming = np.asarray(g[(0,) * g.ndim]) if expanded else np.ascontiguousarray(g).reshape(-1)
    count = -(-size // BLOCK)
    members = len(steps)
    for k in range(count):
        here = slice(size * k // count, size * (k + 1) // count)
        length = here.stop - here.start
        values: list[Any] = [None] * members + [
            None if exit.have is None else exit.have[here] for exit in exits
        ]
        values[0] = np.broadcast_to(incoming, (length,)) if expanded else incoming[here]
        for i, step in enumerate(steps):
            args = step.args
            if step.sliced:
                args = args.copy()
                for j in step.sliced:
                    args[j] = args[j][here]
            out = None if step.out is None else step.out[here]
            gradient = values[i]
            values[i] = None
            for rule, place in step.rules:
                value = rule(BLOCKS, gradient, out, *args)
                if (
                    type(value) is not np.ndarray
                    or value.dtype is not dtype
                    or value.shape != (length,)
                ):
                    value = np.broadcast_to(np.asarray(value, dtype), (length,))
                values[place] = value if values[place] is None else values[place] + value
        for i, exit in enumerate(exits):
            exit.whole.reshape(-1)[here] = values[members + i]


def hand_over(now: Pass, exit: Exit) -> None:
    """Give the sum of gradients at an exit to its target; the sum includes what the target had
    before.
    """
    if exit.have is None:
        now.receive(exit.target, delivered(exit.source, exit.edge, exit.target, exit.whole))
    else:
        now.pending[exit.target] = exit.whole
        now.owned.add(exit.target)
