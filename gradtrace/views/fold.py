"""Choose the operations that a picture draws as one box: modules, functions, loops, equal blocks,
long chains.

    fold(trace, depth=1, expand=("net.layers",)) -> Fold

`depth` is the number of open levels of scopes; each scope below them becomes one Group. Consecutive
scopes of one parent that do the same (the iterations of a loop, the equal blocks of a network) are
one Group with a count. Without a depth, everything is shown if it fits; a larger graph is folded
only as far as needed, and where there are no scopes (a long formula), runs of operations are put
into boxes.
"""

from __future__ import annotations

import re

from gradtrace.annotations import Any, Iterable, Iterator, NamedTuple, Sequence
from gradtrace.errors import UsageError
from gradtrace.trace.operands import record_of
from gradtrace.trace.record import ScopeRecord, Trace

FITS = 120  # operations and groups that a picture still shows well
LONGEST = 16  # operations one after the other that do
SERIES = 3  # equal neighbours from which on they are one group
EVERYTHING = 1_000_000
LINES = r"lines? (\d+)(?:\s*[-–]\s*(\d+))?$"  # as --expand takes them


class Group(NamedTuple):
    """Operations drawn as one box. `copies` is the number of equal blocks in it."""

    id: int
    kind: str  # "module", "function", "loop", "pass", "backward", "chain", "batch", "leaves"
    name: str
    detail: str
    operations: tuple[int, ...]
    copies: int
    scope: int | None  # the open scope that it stands in
    leaves: tuple[int, ...] = ()  # of a stack, which has no operations: the tensors in it


class Fold(NamedTuple):
    """The result of folding: `member[operation]` is the group that hides it, or None;
    `places[operation]` its open scope.
    """

    groups: tuple[Group, ...]
    member: tuple[int | None, ...]
    places: tuple[int | None, ...]
    depth: int  # levels that are open; EVERYTHING if all
    automatic: bool  # folded because it would not have fitted
    asked: bool = False  # to a depth that was asked for: leaves are drawn one by one

    @property
    def shown(self) -> int:
        """The number of operations and groups that are drawn."""
        return sum(m is None for m in self.member) + len(self.groups)


class Block(NamedTuple):
    """A closed scope with its operations, from which groups are made."""

    scope: ScopeRecord
    operations: list[int]
    place: int | None  # the open scope that it stands in


def fold(trace: Trace, depth: int | None = None, expand: Sequence[str] = ()) -> Fold:
    """Fold `trace` to `depth` open levels (None: as far as needed); scopes named in `expand`, and
    those around them, are open.

    A name is a scope's name, the end of it ("layers.0"), or "line 7"; where runs of operations are
    boxes, "lines 7-20". UsageError for a name that the program does not have.
    """
    if depth is not None:
        return scoped(trace, Chains(trace), depth, expanded(trace.scopes, expand))._replace(
            asked=True
        )
    for candidate in candidates(trace, expand):
        few = candidate.shown <= FITS and folded_length(trace, candidate) <= LONGEST
        if few and not (candidate.automatic and candidate.depth == EVERYTHING):
            return candidate
    return candidate


def candidates(trace: Trace, expand: Sequence[str] = ()) -> Iterator[Fold]:
    """Yield the ways to fold a trace that could fit a picture, from most to least detail.

    First everything, if it is not too much; then a box for each innermost module; then fewer and
    fewer open levels; and where there are no scopes, or too many side by side, boxes with runs of
    operations.
    """
    from gradtrace.views.batches import batches, with_batches

    chains = Chains(trace)
    gathered = batches(trace)
    opened = expanded(trace.scopes, expand)
    if len(trace.operations) <= FITS or gathered:
        best = with_batches(trace, scoped(trace, chains, EVERYTHING, opened), gathered)
        if best.shown <= FITS:
            yield best
    layers = innermost(trace.scopes)
    best = scoped(trace, chains, EVERYTHING, opened, layers)
    if layers and (few := with_batches(trace, best, gathered)).shown <= FITS:
        yield few._replace(automatic=True)
    deepest = max((len(chains.of(o.scope)) for o in trace.operations), default=0)
    for level in range(deepest - 1, -1, -1):
        best = scoped(trace, chains, level, opened, layers)
        if (few := with_batches(trace, best, gathered)).shown <= FITS:
            yield few._replace(automatic=True)
    # a training loop, of whose steps no scope is known: their modules are no overview
    if len(best.groups) > FITS:
        best = best._replace(groups=(), member=(None,) * len(best.member))
    from gradtrace.views import chains as long

    yield long.taken_together(trace, best, long.ranges(expand))._replace(automatic=True)


# ---- by scopes


class Chains:
    """The chain of scopes around each scope: outermost first, itself last, without loops that only
    call modules.
    """

    def __init__(self, trace: Trace) -> None:
        hollow = hollow_loops(trace)
        self._chains: list[tuple[int, ...]] = []
        for scope in trace.scopes:  # a parent's id is always lower
            outer = () if scope.parent is None else self._chains[scope.parent]
            self._chains.append(outer if scope.id in hollow else (*outer, scope.id))

    def of(self, scope: int | None) -> tuple[int, ...]:
        return () if scope is None else self._chains[scope]


def hollow_loops(trace: Trace) -> set[int]:
    """Return the loops and iterations that only call modules; a picture shows these modules
    instead.
    """
    solid = {operation.scope for operation in trace.operations}
    hollow: set[int] = set()
    for scope in reversed(trace.scopes):  # children before their parents
        if scope.kind in ("loop", "pass") and scope.id not in solid:
            hollow.add(scope.id)
        elif scope.kind != "module" and scope.parent is not None:
            solid.add(scope.parent)
    return hollow


def expanded(scopes: Sequence[ScopeRecord], names: Iterable[str]) -> frozenset[int]:
    """Return the scopes that the names stand for, and those around them."""
    wanted = [name.strip() for name in names if name.strip()]
    open_ids: set[int] = set()
    unknown = {name for name in wanted if name != "all" and not re.match(LINES, name)}
    for scope in scopes if wanted else ():
        meant = [name for name in wanted if is_meant(scope, name)]
        unknown.difference_update(meant)
        if meant:
            at: int | None = scope.id
            while at is not None and at not in open_ids:
                open_ids.add(at)
                at = scopes[at].parent
    if unknown:
        raise nothing_named(min(unknown), scopes)
    return frozenset(open_ids)


def nothing_named(name: str, scopes: Sequence[ScopeRecord]) -> UsageError:
    """Return the error for an unknown name in --expand, with similar names as a hint."""
    names = list(dict.fromkeys(scope.name for scope in scopes if scope.kind != "pass"))
    if not names:
        return UsageError(
            f"nothing to expand is named '{name}': the program calls no modules or functions",
            "--depth all shows everything",
        )
    import difflib

    near = difflib.get_close_matches(name, names, 3) or names[:3]
    return UsageError(
        f"no module, function or loop is named '{name}'", f"there are: {', '.join(near)}, ..."
    )


def is_meant(scope: ScopeRecord, name: str) -> bool:
    line = f"line {scope.span.line}" if scope.span is not None else ""
    return (
        name in (scope.name, scope.detail, line) or scope.name.endswith("." + name) or name == "all"
    )


def innermost(scopes: Sequence[ScopeRecord]) -> frozenset[int]:
    """Return the modules that call no other modules: the layers."""
    modules = {scope.id for scope in scopes if scope.kind == "module"}
    callers: set[int] = set()
    for index in modules:
        at = scopes[index].parent
        while at is not None and at not in callers:
            callers.add(at)
            at = scopes[at].parent
    return frozenset(modules - callers)


def scoped(
    trace: Trace,
    chains: Chains,
    depth: int,
    opened: frozenset[int],
    closed_scopes: frozenset[int] = frozenset(),
) -> Fold:
    """Fold scopes deeper than `depth`, and `closed_scopes`, except those in `opened`."""
    places: list[int | None] = []
    closed: dict[int, Block] = {}
    for operation in trace.operations:
        place = None
        hidden = None
        for level, scope in enumerate(chains.of(operation.scope)):
            if (level >= depth or scope in closed_scopes) and scope not in opened:
                hidden = scope
                break
            place = scope
        places.append(place)
        if hidden is not None:
            closed.setdefault(hidden, Block(trace.scopes[hidden], [], place)).operations.append(
                operation.id
            )
    member: list[int | None] = [None] * len(trace.operations)
    groups: list[Group] = []
    for blocks in series(trace, list(closed.values())):
        group = group_of(len(groups), blocks)
        groups.append(group)
        for operation_id in group.operations:
            member[operation_id] = group.id
    return Fold(tuple(groups), tuple(member), tuple(places), depth, False)


def series(trace: Trace, blocks: list[Block]) -> list[list[Block]]:
    """Group the blocks in order; consecutive equal blocks of one parent form one group."""
    runs: list[list[Block]] = []
    pattern: Any = None
    for block in blocks:
        follows = bool(runs) and runs[-1][-1].operations[-1] + 1 == block.operations[0]
        own = (
            block.place,
            block.scope.kind,
            block.scope.detail,
            signature(trace, block.operations),
        )
        if follows and own == pattern:
            runs[-1].append(block)
        else:
            runs.append([block])
        pattern = own
    return [
        part
        for run in runs
        for part in ([run] if len(run) >= SERIES else [[block] for block in run])
    ]


def signature(trace: Trace, operations: Sequence[int]) -> tuple[Any, ...]:
    """Return a key that equal blocks share: the operations, and how they use each other's
    results.
    """
    makers: dict[int, int] = {}
    parts = []
    for number, index in enumerate(operations):
        operation = trace.operations[index]
        uses = tuple(
            -1 if operand.tensor is None else makers.get(operand.tensor, -2)
            for operand in operation.inputs
        )
        record = record_of(operation.name)
        # xs[0] and xs[1] are equal steps of a loop
        view = record is not None and record.kind == "view"
        parts.append((operation.name if view else operation.label, uses))
        makers.update(dict.fromkeys(operation.outputs, number))
    return tuple(parts)


def group_of(index: int, blocks: list[Block]) -> Group:
    first = blocks[0].scope
    last = blocks[-1].scope
    operations = tuple(sorted(o for block in blocks for o in block.operations))
    name = first.name
    detail = first.detail
    count = len(blocks)
    if first.kind == "pass":
        name = f"pass {first.turn}" if count == 1 else f"passes {first.turn}–{last.turn}"
        detail = first.name
    elif count > 1 and first.name != last.name:
        name = f"{first.name} … {last.name.rpartition('.')[2]}"
    return Group(index, first.kind, name, detail, operations, count, blocks[0].place)


# ---- how long


def folded_length(trace: Trace, folded: Fold) -> int:
    """Return the length of the longest path, with each group counted as one."""
    level = [0] * len(trace.tensors)
    groups: dict[int, int] = {}
    for operation in trace.operations:
        group = folded.member[operation.id]
        used = [o.tensor for o in operation.inputs if o.tensor is not None]
        if group is not None:
            used = [
                t
                for t in used
                if (maker := trace.tensors[t].operation) is None or folded.member[maker] != group
            ]
        reached = 1 + max((level[t] for t in used), default=0)
        if group is not None:
            reached = groups[group] = max(groups.get(group, 0), reached)
        for output in operation.outputs:
            level[output] = reached
    return max(level, default=0)
