"""The content of a picture in any format: nodes, edges, and the open scopes around them.

    model(trace, style, fold, detail) -> Model

DOT, Mermaid, GraphML, JSON, the tree in a terminal, the page and the animation are all written from
a Model, so that they agree. Keys are made of the trace's ids ("t0" a tensor, "o0" an operation,
"f0" a function, "g0" a group), so they are the same in every run.

    data, function    tensors, the operations between them, and groups
    autograd          the backward graph's functions, an edge from the function of an input to the
                      one that uses it
"""

from __future__ import annotations

from gradtrace.annotations import Mapping, NamedTuple
from gradtrace.trace.record import TensorRecord, Trace
from gradtrace.views import lean, stacks
from gradtrace.views.fold import Fold, Group, fold

TENSOR = "tensor"
OPERATION = "operation"
FUNCTION = "function"
GROUP = "group"
STYLES = ("data", "function", "autograd")


class DrawnNode(NamedTuple):
    """A node of a picture; `record` is the id of its tensor, operation, function or group."""

    key: str
    kind: str
    record: int
    scope: int | None = None  # the open scope that it stands in


class DrawnEdge(NamedTuple):
    """An edge of a picture, from the earlier node in the program to the later one.

    `operation` and `operand` (its position), or `function` and `place` (in next_functions),
    identify the input. `times` is the number of edges drawn as one, where groups hide their ends;
    `flows` tells whether a gradient flows.
    """

    source: str
    target: str
    flows: bool = True
    operation: int | None = None
    operand: int | None = None
    function: int | None = None
    place: int = 0
    number: int = 0  # of the output, where the source has several
    times: int = 1
    transposed: bool = False  # what arrives is the transpose of the source


class Model(NamedTuple):
    """The nodes and edges of a picture.

    `results` has, by group, the tensor shown in the group's box; `joined` has, by tensor, the
    operation shown in the tensor's box; `outside` has the tensors that are drawn outside of the
    groups; `stacks` are the boxes of many leaves.
    """

    trace: Trace
    style: str
    fold: Fold
    nodes: tuple[DrawnNode, ...]
    edges: tuple[DrawnEdge, ...]
    results: Mapping[int, int] = {}
    joined: Mapping[int, int] = {}
    outside: frozenset[int] = frozenset()
    stacks: tuple[Group, ...] = ()

    @property
    def groups(self) -> tuple[Group, ...]:
        return (*self.fold.groups, *self.stacks)


def model(
    trace: Trace,
    style: str = "data",
    folded: Fold | None = None,
    *,
    detail: bool = False,
    compact: bool = False,
) -> Model:
    """Return the nodes and edges of `trace` in a style, with the groups of `folded` (None: nothing
    is folded).

    With `detail`, transposed matrices and the results of folded modules have their own boxes; a
    `compact` data graph shows an operation and its result in one box.
    """
    folded = fold(trace, 1_000_000) if folded is None else folded
    if style == "autograd":
        return autograd(trace, folded)
    return data(trace, style, folded, detail, compact and style == "data")


# ---- tensors and operations


def data(trace: Trace, style: str, folded: Fold, detail: bool, compact: bool) -> Model:
    users = with_updates(trace, users_of(trace))
    crowded = crowded_groups(trace, folded, users)
    shown = [is_shown(trace, folded, tensor, users[tensor.id], crowded) for tensor in trace.tensors]
    many = (
        [] if folded.asked or style == "function" else stacks.of_data(trace, folded, users, shown)
    )
    stacked = {i: (f"g{group.id}", False) for group in many for i in group.leaves}
    shown = [is_drawn or i in stacked for i, is_drawn in enumerate(shown)]
    turned = {} if detail or style == "function" else lean.transposes(trace, folded, users)
    results = {} if detail else lean.results(trace, folded, shown)
    joined = lean.joined(trace, folded, turned) if compact else {}
    without_box = {trace.tensors[t].operation for t in turned} | set(joined.values())
    bundles = {} if detail else lean.bundles(trace, folded, users, shown)
    elsewhere = {*turned, *results.values(), *bundles, *stacked}
    outside = [t for t in trace.tensors if shown[t.id] and t.id not in elsewhere]
    nodes = [DrawnNode(f"t{t.id}", TENSOR, t.id, place_of(folded, t, users[t.id])) for t in outside]
    nodes += [DrawnNode(f"g{g.id}", GROUP, g.id, g.scope) for g in (*folded.groups, *many)]
    nodes += [
        DrawnNode(f"o{o.id}", OPERATION, o.id, folded.places[o.id])
        for o in trace.operations
        if folded.member[o.id] is None and o.id not in without_box
    ]
    ends = {output: (source, False) for output, source in bundles.items()} | stacked
    ends.update({output: (f"g{group}", False) for group, output in results.items()})
    ends.update(
        {
            output: (ends.get(matrix, (f"t{matrix}", True))[0], True)
            for output, matrix in turned.items()
        }
    )
    boxes = {operation: f"t{output}" for output, operation in joined.items()}
    edges = data_edges(trace, folded, shown, ends, boxes, {*bundles, *stacked})
    own_boxes = frozenset(t.id for t in outside)
    return Model(
        trace, style, folded, tuple(nodes), tuple(edges), results, joined, own_boxes, tuple(many)
    )


def users_of(trace: Trace) -> list[list[int]]:
    """Return for each tensor the operations that read it."""
    users: list[list[int]] = [[] for _ in trace.tensors]
    for operation in trace.operations:
        for operand in operation.inputs:
            if operand.tensor is not None:
                users[operand.tensor].append(operation.id)
    return users


def with_updates(trace: Trace, users: list[list[int]]) -> list[list[int]]:
    """Return the users, with those of the first version for a parameter's later ones that no
    operation made or reads: an optimizer has updated it, and it belongs where it was used.
    """
    return [
        users[t.first]
        if t.is_parameter and t.operation is None and t.first >= 0 and not own
        else own
        for t, own in zip(trace.tensors, users, strict=True)
    ]


def crowded_groups(trace: Trace, folded: Fold, users: list[list[int]]) -> set[int]:
    """Return the chains that read too many named leaves of their own to draw a node for each."""
    counts: dict[int, int] = {}
    for tensor in trace.tensors if folded.groups else ():
        if tensor.operation is None and tensor.name is not None:
            for home in {folded.member[user] for user in users[tensor.id]} - {None}:
                counts[home] = counts.get(home, 0) + 1  # type: ignore[index, arg-type]
    return {home for home, count in counts.items() if count > stacks.FEW}


def is_shown(
    trace: Trace, folded: Fold, tensor: TensorRecord, users: list[int], crowded: set[int]
) -> bool:
    """Whether a tensor is drawn: not if only one group makes and uses it, or if it is a folded
    module's own parameter.
    """
    around = {folded.member[user] for user in users}
    if tensor.operation is not None:
        home = folded.member[tensor.operation]
        if home is None or tensor.is_output or tensor.is_root:
            return True
        named = tensor.name is not None and folded.groups[home].kind != "chain"
        return bool(around - {home}) or (named and not users)
    if len(around) != 1:
        return True
    home = next(iter(around))
    if home is None:
        return True
    group = folded.groups[home]
    own = tensor.is_parameter or tensor.kind == "constant"
    return not (own if group.kind != "chain" else own or tensor.name is None or home in crowded)


def place_of(folded: Fold, tensor: TensorRecord, users: list[int]) -> int | None:
    """Return the open scope of the operation that made the tensor; for a parameter or constant, the
    only scope that uses it.
    """
    if tensor.operation is not None:
        home = folded.member[tensor.operation]
        return folded.places[tensor.operation] if home is None else folded.groups[home].scope
    if not (tensor.is_parameter or tensor.kind == "constant"):
        return None
    places = {folded.places[user] for user in users}
    return places.pop() if len(places) == 1 else None


def data_edges(
    trace: Trace,
    folded: Fold,
    shown: list[bool],
    ends: Mapping[int, tuple[str, bool]],
    boxes: Mapping[int, str],
    bundles: set[int],
) -> list[DrawnEdge]:
    """Return an edge for every operand and result; edges between the same two nodes are merged if
    one is a group, or for tensors in `bundles`.

    `ends` has, for a tensor without a box, the node that stands for it, and whether the tensor is
    its transpose; `boxes` has, for an operation shown in its result's box, that box.
    """
    edges: list[DrawnEdge] = []
    merged: dict[tuple[str, str], int] = {}
    for operation in trace.operations:
        group = folded.member[operation.id]
        own = boxes.get(operation.id, f"o{operation.id}") if group is None else f"g{group}"
        for operand in operation.inputs:
            if (
                operand.tensor is None
                or not shown[operand.tensor]
                or made_in(trace, folded, operand.tensor, group)
            ):
                continue
            if any(ends.get(output, ("", False))[1] for output in operation.outputs):
                continue  # a transpose that is a mark on the edges of those who read it
            flows = operation.grad_fn is not None and trace.tensors[operand.tensor].requires_grad
            source, transposed = ends.get(operand.tensor, (f"t{operand.tensor}", False))
            edge = DrawnEdge(
                source, own, flows, operation.id, operand.position, transposed=transposed
            )
            add(edges, merged, edge, group is not None or operand.tensor in bundles)
        for output in operation.outputs:
            if shown[output] and output not in ends and operation.id not in boxes:
                edge = DrawnEdge(own, f"t{output}", operation.grad_fn is not None, operation.id)
                add(edges, merged, edge, group is not None)
    return edges


def made_in(trace: Trace, folded: Fold, tensor: int, group: int | None) -> bool:
    """Whether the group that reads a tensor also made it."""
    maker = trace.tensors[tensor].operation
    return group is not None and maker is not None and folded.member[maker] == group


def add(
    edges: list[DrawnEdge], merged: dict[tuple[str, str], int], edge: DrawnEdge, merge: bool
) -> None:
    at = merged.get((edge.source, edge.target)) if merge else None
    if at is None:
        if merge:
            merged[edge.source, edge.target] = len(edges)
        edges.append(edge)
        return
    existing = edges[at]
    edges[at] = existing._replace(times=existing.times + 1, flows=existing.flows or edge.flows)


# ---- functions


def autograd(trace: Trace, folded: Fold) -> Model:
    homes = function_homes(trace, folded)
    users: dict[int, set[str]] = {}
    for link in trace.function_edges:
        users.setdefault(link.target, set()).add(homes.get(link.source, f"f{link.source}"))
    for function in trace.functions:  # a folded module's own parameters go with it
        around = users.get(function.id, set())
        if (
            function.variable is not None
            and len(around) == 1
            and trace.tensors[function.variable].is_parameter
        ):
            home = next(iter(around))
            if home.startswith("g"):
                homes[function.id] = home
    many = [] if folded.asked else stacks.of_functions(trace, folded, users)
    keys = {i: f"g{group.id}" for group in many for i in group.leaves}
    homes.update({f.id: keys[f.variable] for f in trace.functions if f.variable in keys})
    places = {o.function: folded.places[o.id] for o in trace.operations if o.function is not None}
    nodes = [
        DrawnNode(f"f{f.id}", FUNCTION, f.id, places.get(f.id))
        for f in trace.functions
        if f.id not in homes
    ]
    used = set(homes.values())
    nodes += [
        DrawnNode(f"g{g.id}", GROUP, g.id, g.scope)
        for g in (*folded.groups, *many)
        if f"g{g.id}" in used
    ]
    edges: list[DrawnEdge] = []
    merged: dict[tuple[str, str], int] = {}
    for link in trace.function_edges:
        source = homes.get(link.target, f"f{link.target}")
        target = homes.get(link.source, f"f{link.source}")
        if source == target:
            continue
        edge = DrawnEdge(
            source,
            target,
            True,
            function=link.source,
            place=link.input_index,
            number=link.output_nr,
        )
        add(edges, merged, edge, source.startswith("g") or target.startswith("g"))
    readers = users_of(trace)
    shared = (
        t.id
        for t in trace.tensors
        if t.is_parameter and len({folded.member[o] for o in readers[t.id]}) != 1
    )
    outside = frozenset(shared)
    return Model(
        trace, "autograd", folded, tuple(nodes), tuple(edges), outside=outside, stacks=tuple(many)
    )


def function_homes(trace: Trace, folded: Fold) -> dict[int, str]:
    """Return the key of the group that hides each function; a function that no operation is known
    of (the TBackward0 of a linear layer) is hidden with those that lead to it.
    """
    homes: dict[int, str] = {}
    own = {operation.function for operation in trace.operations}
    for operation in trace.operations:
        group = folded.member[operation.id]
        if group is not None and operation.function is not None:
            homes[operation.function] = f"g{group}"
    before: dict[int, set[str]] = {}
    for link in sorted(trace.function_edges, key=lambda link: -link.source):
        before.setdefault(link.target, set()).add(homes.get(link.source, ""))
        target = trace.functions[link.target]
        if target.id not in own and target.variable is None:
            around = before[target.id]
            homes.pop(target.id, None)
            if len(around) == 1 and "" not in around:
                homes[target.id] = next(iter(around))
    return homes
