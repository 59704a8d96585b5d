"""Which operations a picture draws as one box: modules, functions, loops, series of equal blocks, long chains.

    fold(trace, depth=1, expand=("net.layers",)) -> Fold

`depth` is how many levels of scopes stand open; what lies deeper is one Group for each scope. Neighbours of the same
parent that do the same (the passes of a loop, the equal blocks of a network) are one Group with a count. Without a
depth, everything is shown as long as it fits; a larger graph is folded as little as makes it fit, and where no scopes
help (a long formula), runs of operations are taken together.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Iterable, NamedTuple, Sequence
from gradtrace.trace.record import ScopeRecord, Trace

FITS = 120  # operations and groups that a picture still shows well
LONGEST = 16  # operations one after the other that do
SERIES = 3  # equal neighbours from which on they are one group
EVERYTHING = 1_000_000


class Group(NamedTuple):
    """Operations drawn as one box. `copies` is how many equal blocks it stands for, each of `period` operations."""

    id: int
    kind: str  # "module", "function", "loop", "pass", "backward", "chain"
    name: str
    detail: str
    operations: tuple[int, ...]
    copies: int
    scope: int | None  # the open scope that it stands in


class Fold(NamedTuple):
    """`member[operation]` is the group that hides it, or None; `places[operation]` the innermost open scope."""

    groups: tuple[Group, ...]
    member: tuple[int | None, ...]
    places: tuple[int | None, ...]
    depth: int  # levels that are open; EVERYTHING if all
    automatic: bool  # folded because it would not have fitted

    @property
    def shown(self) -> int:
        """Operations and groups that are drawn."""
        return sum(m is None for m in self.member) + len(self.groups)


class Block(NamedTuple):
    """A closed scope, while groups are looked for."""

    scope: ScopeRecord
    operations: list[int]


def fold(trace: Trace, depth: int | None = None, expand: Sequence[str] = ()) -> Fold:
    """Folds `trace` to `depth` open levels (None: what fits); scopes that `expand` names are open with all around them.

    A name is a scope's name, the end of it ("layers.0"), or "line 7".
    """
    chains = Chains(trace.scopes)
    opened = expanded(trace.scopes, expand)
    if depth is not None:
        return scoped(trace, chains, depth, opened)
    whole = scoped(trace, chains, EVERYTHING, opened)
    if len(trace.operations) <= FITS and longest_path(trace) <= LONGEST:
        return whole
    deepest = max((len(chains.of(o.scope)) for o in trace.operations), default=0)
    best = whole
    for level in range(deepest - 1, -1, -1):
        best = scoped(trace, chains, level, opened)
        if best.shown <= FITS and folded_length(trace, best) <= LONGEST:
            return best._replace(automatic=True)
    return taken_together(trace, best)._replace(automatic=True)


# ---- by scopes


class Chains:
    """For each scope, the scopes around it, outermost first, itself last."""

    def __init__(self, scopes: Sequence[ScopeRecord]) -> None:
        self._chains: list[tuple[int, ...]] = []
        for scope in scopes:  # a parent's id is always lower
            outer = () if scope.parent is None else self._chains[scope.parent]
            self._chains.append((*outer, scope.id))

    def of(self, scope: int | None) -> tuple[int, ...]:
        return () if scope is None else self._chains[scope]


def expanded(scopes: Sequence[ScopeRecord], names: Iterable[str]) -> frozenset[int]:
    """The scopes that the names mean, and those around them."""
    wanted = [name.strip() for name in names if name.strip()]
    found: set[int] = set()
    for scope in scopes if wanted else ():
        if any(is_meant(scope, name) for name in wanted):
            at: int | None = scope.id
            while at is not None and at not in found:
                found.add(at)
                at = scopes[at].parent
    return frozenset(found)


def is_meant(scope: ScopeRecord, name: str) -> bool:
    line = f"line {scope.span.line}" if scope.span is not None else ""
    return name in (scope.name, scope.detail, line) or scope.name.endswith("." + name) or name == "all"


def scoped(trace: Trace, chains: Chains, depth: int, opened: frozenset[int]) -> Fold:
    places: list[int | None] = []
    closed: dict[int, Block] = {}
    for operation in trace.operations:
        place, hidden = None, None
        for level, scope in enumerate(chains.of(operation.scope)):
            if level >= depth and scope not in opened:
                hidden = scope
                break
            place = scope
        places.append(place)
        if hidden is not None:
            closed.setdefault(hidden, Block(trace.scopes[hidden], [])).operations.append(operation.id)
    member: list[int | None] = [None] * len(trace.operations)
    groups: list[Group] = []
    for blocks in series(trace, list(closed.values())):
        group = group_of(len(groups), blocks)
        groups.append(group)
        for operation_id in group.operations:
            member[operation_id] = group.id
    return Fold(tuple(groups), tuple(member), tuple(places), depth, False)


def series(trace: Trace, blocks: list[Block]) -> list[list[Block]]:
    """The blocks in order, with equal neighbours of one parent taken together."""
    runs: list[list[Block]] = []
    pattern: Any = None
    for block in blocks:
        follows = bool(runs) and runs[-1][-1].operations[-1] + 1 == block.operations[0]
        own = (block.scope.parent, block.scope.kind, block.scope.detail, signature(trace, block.operations))
        if follows and own == pattern:
            runs[-1].append(block)
        else:
            runs.append([block])
        pattern = own
    return [part for run in runs for part in ([run] if len(run) >= SERIES else [[block] for block in run])]


def signature(trace: Trace, operations: Sequence[int]) -> tuple[Any, ...]:
    """What a block does: its operations, and how they use each other's results."""
    made: dict[int, int] = {}
    parts = []
    for number, index in enumerate(operations):
        operation = trace.operations[index]
        uses = tuple(-1 if operand.tensor is None else made.get(operand.tensor, -2) for operand in operation.inputs)
        parts.append((operation.label, uses))
        made.update(dict.fromkeys(operation.outputs, number))
    return tuple(parts)


def group_of(index: int, blocks: list[Block]) -> Group:
    first, last = blocks[0].scope, blocks[-1].scope
    operations = tuple(sorted(o for block in blocks for o in block.operations))
    name, detail, count = first.name, first.detail, len(blocks)
    if first.kind == "pass":
        name, detail = f"pass {first.turn}" if count == 1 else f"passes {first.turn}–{last.turn}", first.name
    elif count > 1 and first.name != last.name:
        name = f"{first.name} … {last.name.rpartition('.')[2]}"
    return Group(index, first.kind, name, detail, operations, count, first.parent)


# ---- what scopes cannot fold


def taken_together(trace: Trace, found: Fold) -> Fold:
    """The operations that are still shown, as chains: neighbours in one scope, about as many to a chain."""
    pieces: list[tuple[int | None, list[int]]] = []
    for operation, group in zip(trace.operations, found.member, strict=True):
        if group is not None:
            pieces.append((None, []))
            continue
        place = found.places[operation.id]
        if not pieces or pieces[-1][0] != place or not pieces[-1][1]:
            pieces.append((place, []))
        pieces[-1][1].append(operation.id)
    room = max(6, LONGEST // 2 - len(found.groups))
    loose = sum(len(ids) for _, ids in pieces)
    size = max(2, -(-loose // room))
    member, groups = list(found.member), list(found.groups)
    for place, ids in pieces:
        size_here = whole_periods([trace.operations[i].label for i in ids], size)
        for start in range(0, len(ids), size_here):
            part = ids[start : start + size_here]
            if len(part) < 2:
                continue
            chain = chain_of(trace, len(groups), part, place)
            groups.append(chain)
            for index in part:
                member[index] = chain.id
    return found._replace(groups=tuple(groups), member=tuple(member))


def whole_periods(labels: list[str], size: int) -> int:
    """`size`, made a multiple of the pattern that the labels repeat."""
    every = period(labels, size)
    return size if every is None else max(1, size // every) * every


def period(labels: Sequence[str], longest: int) -> int | None:
    """The length of the pattern that `labels` is a repetition of, up to `longest`; the last may be cut off."""
    for length in range(1, min(longest, len(labels) // 2) + 1):
        if all(labels[i] == labels[i - length] for i in range(length, len(labels))):
            return length
    return None


def chain_of(trace: Trace, index: int, operations: list[int], place: int | None) -> Group:
    labels = [trace.operations[i].label for i in operations]
    every = period(labels, 12)
    count = len(labels) // every if every and len(labels) % every == 0 else 1
    shown = labels[: every if count > 1 else 3]
    name = ", ".join(label_part(label) for label in shown)
    if count == 1 and len(labels) > len(shown):
        name += ", …"
    lines = [span.line for i in operations if (span := trace.operations[i].span) is not None]
    where = "" if not lines else f"line {lines[0]}" if min(lines) == max(lines) else f"lines {min(lines)}–{max(lines)}"
    return Group(index, "chain", name, where, tuple(operations), count, place)


def label_part(label: str) -> str:
    return label if len(label) <= 14 else label.partition(" ")[0]


# ---- how long


def longest_path(trace: Trace) -> int:
    """How many operations stand one after the other at most."""
    return folded_length(trace, None)


def folded_length(trace: Trace, found: Fold | None) -> int:
    """The same, with a group counted as one."""
    level = [0] * len(trace.tensors)
    groups: dict[int, int] = {}
    for operation in trace.operations:
        group = None if found is None else found.member[operation.id]
        used = [o.tensor for o in operation.inputs if o.tensor is not None]
        if group is not None and found is not None:
            used = [t for t in used if (maker := trace.tensors[t].operation) is None or found.member[maker] != group]
        reached = 1 + max((level[t] for t in used), default=0)
        if group is not None:
            reached = groups[group] = max(groups.get(group, 0), reached)
        for made in operation.outputs:
            level[made] = reached
    return max(level, default=0)
