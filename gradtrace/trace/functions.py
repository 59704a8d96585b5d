"""The backward graph as records: the nodes reachable from some tensors' grad_fn, and next_functions
as edges; and what can be reached from what in a graph of records.

The search uses a list instead of recursion, since graphs of 100,000 nodes and more are common.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Callable, Iterable, NamedTuple
from gradtrace.engine import Tensor
from gradtrace.engine.data.node import SAVE, AccumulateGrad, Node
from gradtrace.engine.reverse.saved import arguments as saved_arguments
from gradtrace.trace.operands import constant_text
from gradtrace.trace.record import FunctionEdge, FunctionRecord, SavedRecord, Span, Trace


class FunctionGraph(NamedTuple):
    """The nodes of a graph in the order of their ids, and each node's id by `id(node)`."""

    nodes: list[Node]
    ids: dict[int, int]

    @property
    def variables(self) -> list[Tensor]:
        """The leaf tensors of the graph's AccumulateGrad nodes."""
        return [node.variable for node in self.nodes if isinstance(node, AccumulateGrad)]


def display_name(node: Node) -> str:
    """Return a node's name without PyTorch's namespace: "MulBackward0", "AccumulateGrad"."""
    if node.op is not None:  # an operator's node has its type's name
        return type(node).__name__
    return node.name().rpartition("::")[2]


def walk(starts: Iterable[Node | None]) -> FunctionGraph:
    """Find every node reachable from `starts`: functions in order of creation, then AccumulateGrad
    in order of discovery.

    The functions are searched in order of creation and by their inputs' order, so the result is the
    same in every run.
    """
    seen: dict[int, Node] = {}
    waiting = [node for node in starts if node is not None]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen[id(node)] = node
        waiting.extend(after for after in node.next if after is not None and id(after) not in seen)
    functions = sorted(
        (n for n in seen.values() if not isinstance(n, AccumulateGrad)), key=lambda n: n.seq
    )
    ends: dict[int, Node] = {}
    for node in functions:
        for after in node.next:
            if isinstance(after, AccumulateGrad):
                ends.setdefault(id(after), after)
    for node in seen.values():  # a leaf that is itself a root
        if isinstance(node, AccumulateGrad):
            ends.setdefault(id(node), node)
    nodes = functions + list(ends.values())
    return FunctionGraph(nodes, {id(node): i for i, node in enumerate(nodes)})


def edges(graph: FunctionGraph) -> tuple[FunctionEdge, ...]:
    """Return next_functions as edges; two edges where a node uses one input twice, none for an
    input without gradient.
    """
    result = []
    for source, node in enumerate(graph.nodes):
        numbers = node.output_nrs or (0,) * len(node.next)
        for position, (after, number) in enumerate(zip(node.next, numbers, strict=False)):
            if after is not None:
                result.append(FunctionEdge(source, graph.ids[id(after)], position, number))
    return tuple(result)


def function_record(
    index: int,
    node: Node,
    outputs: tuple[int, ...],
    arguments: tuple[Any, ...] | None,
    ids: dict[int, int],
    span: Span | None,
    custom: Any = None,
) -> FunctionRecord:
    """Return the record of one node. `arguments` are those of the recorded call that made it, if
    there is one; `ids` maps a tensor's id() to its id; `custom` has what a Function of the program
    saved, if that was noted.
    """
    variable = ids.get(id(node.variable)) if isinstance(node, AccumulateGrad) else None
    saved = saved_values(node, outputs, arguments, ids, custom)
    freed = node.freed and node.plan.saves
    return FunctionRecord(index, display_name(node), index, outputs, variable, saved, freed, span)


def saved_values(
    node: Node,
    outputs: tuple[int, ...],
    arguments: tuple[Any, ...] | None,
    ids: dict[int, int],
    custom: Any = None,
) -> tuple[SavedRecord, ...]:
    """Return what a node keeps for backward; if it is freed and its call was recorded, what it kept
    before.
    """
    if node.op is None and hasattr(node, "__dict__") and node.__dict__.get("_saved") is not None:
        custom = node.__dict__["_saved"]
    if custom is not None:
        return tuple(_custom(i, item, outputs, ids) for i, item in enumerate(custom))
    if node.op is None:
        return ()
    kept = arguments if arguments is not None else saved_arguments(node)
    records: list[SavedRecord] = []
    if kept is not None:
        for name, action, value in zip(node.op.tensor_names, node.plan.actions, kept, strict=False):
            if action == SAVE:
                records += _argument(name.lstrip("*"), value, ids)
    if node.plan.save_out:
        records.append(
            SavedRecord("result", outputs[0] if outputs else None, "" if outputs else "result")
        )
    return tuple(records)


def watched(node: Node, ids: dict[int, int]) -> tuple[SavedRecord, ...]:
    """Return the index tensors, masks and weights whose arrays a node reads, if they are tensors of
    the trace.
    """
    if node.op is None or node.extras is None:
        return ()
    names = [node.op.plain_names[i - node.op.arity] for i in node.plan.reads] or ["indices"]
    numbers = [ids.get(id(tensor)) for tensor, *_ in node.extras.watched]
    return tuple(
        SavedRecord(names[min(i, len(names) - 1)], t, "")
        for i, t in enumerate(numbers)
        if t is not None
    )


def _argument(name: str, value: Any, ids: dict[int, int]) -> list[SavedRecord]:
    if isinstance(value, tuple):
        return [
            saved for i, item in enumerate(value) for saved in _argument(f"{name}[{i}]", item, ids)
        ]
    if isinstance(value, Tensor):
        number = ids.get(id(value))
        return [
            SavedRecord(name, number, "" if number is not None else f"tensor {tuple(value.shape)}")
        ]
    return [] if value is None else [SavedRecord(name, None, constant_text(value))]


def _custom(i: int, item: Any, outputs: tuple[int, ...], ids: dict[int, int]) -> SavedRecord:
    """One of a custom Function's saved tensors: an output by its number, or any other tensor."""
    name = f"saved_tensors[{i}]"
    if item.number is not None and 0 <= item.number < len(outputs):
        return SavedRecord(name, outputs[item.number], "")
    number = ids.get(id(item.tensor)) if item.tensor is not None else None
    shape = () if item.raw is None else tuple(item.raw.shape)
    return SavedRecord(name, number, "" if number is not None else f"tensor {shape}")


def closure(starts: Iterable[int], following: Callable[[int], Iterable[int]]) -> set[int]:
    """Return everything that can be reached from `starts` by `following(item)`."""
    waiting = list(starts)
    seen = set(waiting)
    while waiting:
        for item in following(waiting.pop()):
            if item not in seen:
                seen.add(item)
                waiting.append(item)
    return seen


def reachable_functions(trace: Trace, roots: Iterable[int]) -> set[int]:
    """Return the functions that backward from the given tensors reaches."""
    targets = targets_of(trace)
    starts = [function for i in roots if (function := trace.tensors[i].function) is not None]
    return closure(starts, lambda function: targets.get(function, ()))


def targets_of(trace: Trace) -> dict[int, list[int]]:
    """Return, by function, the functions that it sends gradients to."""
    targets: dict[int, list[int]] = {}
    for edge in trace.function_edges:
        targets.setdefault(edge.source, []).append(edge.target)
    return targets
