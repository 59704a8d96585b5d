"""Which tensor of one run is which of the other.

What backward was called on is paired first, then inputs and parameters by their names, or by equal
values, also transposed. Results are paired by their values where a value stands out, then
operations by what they do to paired tensors, what is left between two pairs in order, by operator
and shape, and the last leaves by shape. Steps are aligned first. A pair says that two tensors have
the same part in the two runs, not that their values are equal.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from difflib import SequenceMatcher
from math import log

from gradtrace.analysis.compare.distance import Layout, layouts, least, relative, turned
from gradtrace.analysis.compare.fused import bias_of, concatenated, fuse, pieces_of
from gradtrace.analysis.compare.runs import RecordedRun, base_name, is_view, shapes_of
from gradtrace.annotations import Any, Callable, Iterable, Iterator
from gradtrace.trace.record import Operation, Value

MANY = 250_000  # products of the lengths of two stretches that are matched one by one
CLOSE = 1e-6  # the relative difference of loaded parameters that are one
SPECIAL = 1 << 40  # the bucket of a norm that is zero or not finite
COMMUTING = frozenset({"add", "mul"})
Key = Callable[[RecordedRun, int], Any]


def steps_of(a: RecordedRun, b: RecordedRun) -> tuple[int, int, int]:
    """Return the first compared step of each run, and the number of steps (0: the runs are not
    divided).

    If one run has more steps, the shorter one may be a resumed run: it begins at the step whose
    parameters it has.
    """
    many = len(a.trace.training)
    few = len(b.trace.training)
    if min(many, few) == 0 or (min(many, few) == 1 and many != few and not updates(a, b)):
        return 1, 1, 0
    if many == few:
        return 1, 1, many
    longer, shorter = (a, b) if many > few else (b, a)
    wanted = begin(shorter, 1)
    for offset in range(abs(many - few) + 1):
        parameters = begin(longer, 1 + offset)
        if len(parameters) == len(wanted) and all(
            x.tensors[i].shape == y.tensors[j].shape
            and (relative(x.tensors[i].value, y.tensors[j].value) or 0) < 1e-4
            for (x, i), (y, j) in zip(parameters, wanted, strict=True)
        ):
            return (1 + offset, 1, few) if longer is a else (1, 1 + offset, many)
    return 1, 1, min(many, few)


def updates(a: RecordedRun, b: RecordedRun) -> bool:
    return bool(a.trace.optimisers and b.trace.optimisers)


def begin(run: RecordedRun, number: int) -> list[tuple[RecordedRun, int]]:
    """Return the parameters that a step reads, in order."""
    step = run.trace.training[number - 1]
    parameters = [
        i
        for o in run.operations[slice(*step.operations)]
        for i in o.tensors
        if run.tensors[i].is_parameter
    ]
    return [(run, i) for i in dict.fromkeys(parameters)]


class Alignment:
    """The pairs of two runs: `partner` maps tensors of A to those of B, `source` back; likewise for
    operations.
    """

    def __init__(self, a: RecordedRun, b: RecordedRun, near: float) -> None:
        self.a = a
        self.b = b
        self.near = near
        self.partner: dict[int, int] = {}
        self.source: dict[int, int] = {}
        self.operations: dict[int, int] = {}
        self.sources: dict[int, int] = {}
        self.roots: set[int] = set()  # of A, that backward was called on, with a partner
        # what gives parameters of A the layout that B has, by the first versions
        self.layouts: dict[int, Layout] = {}
        self._distances: dict[tuple[int, int], float | None] = {}
        self.all_a = [o for o in a.operations if a.compared(o)]
        self.all_b = [o for o in b.operations if b.compared(o)]
        self.pair_roots()
        self.pair_leaves(lambda run, i: run.names.get(run.tensors[i].first))
        self.pair_fused()
        self.pair_parameters()
        self.pair_gradients()
        for _ in range(2):
            for key in (by_operator, by_kind, by_value):
                self.pair_values(key)
            self.follow()
            self.fill_gaps()
            self.pair_leaves(lambda run, i: (run.shape(i), run.tensors[i].is_parameter))
            self.pair_gradients()
            self.follow()

    def distance(self, i: int, j: int) -> float | None:
        """Return the relative difference of a tensor of A and one of B."""
        if (i, j) not in self._distances:
            self._distances[i, j] = relative(*self.values(i, j))
        return self._distances[i, j]

    def values(self, i: int, j: int) -> tuple[Value | None, Value | None]:
        """Return the values of a tensor of A and one of B, as B has them."""
        return self.as_in_b(i, self.a.tensors[i].value), self.b.tensors[j].value

    def as_in_b(self, i: int, value: Value | None) -> Value | None:
        """Return a value or a gradient of a tensor of A, transposed or reshaped if B has it so."""
        layout = self.layouts.get(self.a.tensors[i].first)
        return value if layout is None else layout(value)

    # ---- pairs

    def pair(self, i: int, j: int) -> None:
        """Pair two tensors, and of leaves all their later versions."""
        if i in self.partner or j in self.source:
            return
        self.partner[i] = j
        self.source[j] = i
        layout = self.layout(i, j)
        if layout is not None:
            self.layouts[self.a.tensors[i].first] = layout
            self._distances.pop((i, j), None)
        if self.a.tensors[i].operation is None and self.b.tensors[j].operation is None:
            self.take_updates(i, j)
            for version_a, version_b in zip(
                self.later(self.a, i), self.later(self.b, j), strict=False
            ):
                if version_a not in self.partner and version_b not in self.source:
                    self.partner[version_a] = version_b
                    self.source[version_b] = version_a

    def layout(self, i: int, j: int) -> Layout | None:
        """Return what gives a parameter of A the layout that B has; None if B has the same one. Of
        a square matrix B has the transposed if it also uses it otherwise: a product in place of a
        linear.
        """
        left = self.a.tensors[i]
        right = self.b.tensors[j]
        if not (left.is_parameter and right.is_parameter) or left.operation != right.operation:
            return None
        if left.shape == right.shape:
            readers = [
                {base_name(run.operations[n]) for n in run.uses.get(t, ())}
                for run, t in ((self.a, i), (self.b, j))
            ]
            if readers[0] == readers[1] or self.distance(i, j) == 0:
                return None
        return equal_layout(left.value, right.value)

    def pair_parameters(self) -> None:
        """Pair parameters of other names that have equal values, also transposed or reshaped, of
        which each run has only one.
        """
        sizes_of: list[dict[Any, list[int]]] = []
        for run, paired in ((self.a, self.partner), (self.b, self.source)):
            sizes: dict[Any, list[int]] = {}
            for i in self.leaves(run, paired):
                value = run.tensors[i].value
                if run.tensors[i].is_parameter and value is not None and value.norm < SPECIAL:
                    sizes.setdefault(value.numel, []).append(i)
            sizes_of.append(sizes)
        for size, first in sizes_of[0].items():
            second = sizes_of[1].get(size, [])
            alike = [
                (i, j) for i, j in near_norms(self.a, self.b, first, second) if self.alike(i, j)
            ]
            counts = Counter(i for i, _ in alike), Counter(j for _, j in alike)
            for i, j in alike:
                if counts[0][i] == counts[1][j] == 1:
                    self.pair(i, j)
                    uses = self.a.uses.get(i), self.b.uses.get(j)
                    if uses[0] and uses[1]:
                        self.pair_companions(
                            self.a.operations[uses[0][-1]], self.b.operations[uses[1][-1]]
                        )

    def pair_fused(self) -> None:
        """Pair parameters of one run with those of the other that have the same in several
        pieces.
        """
        parameters_a, parameters_b = (
            [i for i in self.leaves(run, paired) if run.tensors[i].is_parameter and i in run.uses]
            for run, paired in ((self.a, self.partner), (self.b, self.source))
        )
        self.pair_pieces(self.a, parameters_a, parameters_b)
        self.pair_pieces(self.b, parameters_b, parameters_a)

    def pair_pieces(self, run: RecordedRun, parameters: list[int], wholes: list[int]) -> None:
        """Pair parameters in one piece with those of a run that have the same in several."""
        opposite = self.b if run is self.a else self.a
        for whole in wholes:
            if self.is_paired(opposite, whole):
                continue
            free = [i for i in parameters if not self.is_paired(run, i)]
            pieces, dim, transposed = pieces_of(opposite.tensors[whole].value, run, free)
            if not pieces:
                continue
            self.pair_fused_with(run, fuse(run, pieces, dim, transposed), whole)
            # and their biases
            biases = [bias_of(run, i) for i in pieces]
            bias = bias_of(opposite, whole)
            if bias is None or self.is_paired(opposite, bias):
                continue
            parts = [i for i in biases if i is not None and not self.is_paired(run, i)]
            if len(parts) < len(pieces):
                continue
            joined = concatenated([run.tensors[i].value for i in parts], 0, False)
            if is_equal(joined, opposite.tensors[bias].value):
                self.pair_fused_with(run, fuse(run, parts, 0, False), bias)

    def is_paired(self, run: RecordedRun, tensor: int) -> bool:
        """Whether a tensor of a run has a partner, alone or as a piece."""
        return tensor in (self.partner if run is self.a else self.source) or tensor in run.pieces

    def pair_fused_with(self, run: RecordedRun, fused: int, whole: int) -> None:
        self.pair(*((fused, whole) if run is self.a else (whole, fused)))

    def alike(self, i: int, j: int) -> bool:
        """Whether two tensors have equal values, also transposed or reshaped."""
        first, second = self.a.tensors[i].value, self.b.tensors[j].value
        return is_equal(first, second) or equal_layout(first, second) is not None

    def take_updates(self, i: int, j: int) -> None:
        """If one program updates a leaf by hand and the other one by an optimiser, take what the
        operations made for updates.
        """
        by_hand = [
            any(map(run.is_hand_update, self.chain(run, tensor)))
            for run, tensor in ((self.a, i), (self.b, j))
        ]
        if by_hand[0] and not by_hand[1]:
            self.a.take_updates(self.a.tensors[i].first)
        elif by_hand[1] and not by_hand[0]:
            self.b.take_updates(self.b.tensors[j].first)

    def chain(self, run: RecordedRun, tensor: int) -> list[int]:
        """Return the versions that a leaf has after this one at the ends of updates."""
        first = run.tensors[tensor].first
        versions = run.settled.get(first, run.versions[first])
        return versions[versions.index(tensor) + 1 :] if tensor in versions else []

    def later(self, run: RecordedRun, tensor: int) -> list[int]:
        rest = self.chain(run, tensor)
        return [i for i in rest if run.tensors[i].operation is None and run.has(i)]

    def pair_operations(self, left: Operation, right: Operation) -> None:
        """Pair two operations: their results, and the leaves that they read at the same places."""
        if left.id in self.operations or right.id in self.sources:
            return
        self.operations[left.id] = right.id
        self.sources[right.id] = left.id
        for i, j in zip(left.outputs, right.outputs, strict=False):
            self.pair(i, j)
        if base_name(left) == base_name(right) and len(left.tensors) == len(right.tensors):
            for i, j in zip(left.tensors, right.tensors, strict=True):
                if self.a.tensors[i].operation is None and self.b.tensors[j].operation is None:
                    self.pair(i, j)
            return
        self.pair_companions(left, right)

    def pair_companions(self, left: Operation, right: Operation) -> None:
        """Pair parameters with equal values that two operations read."""
        first, second = (
            [
                i
                for i in operation.tensors
                if run.tensors[i].is_parameter and i in run.live and i not in paired
            ]
            for run, operation, paired in (
                (self.a, left, self.partner),
                (self.b, right, self.source),
            )
        )
        for i in first:
            for j in second:
                if self.alike(i, j):
                    self.pair(i, j)

    def pair_roots(self) -> None:
        """Pair what backward was called on, if both runs have as many of these."""
        roots = [
            [root for pass_ in run.trace.passes for root in pass_.roots if run.has(root)]
            for run in (self.a, self.b)
        ]
        if len(roots[0]) == len(roots[1]):
            for i, j in zip(*roots, strict=True):
                self.pair(i, j)
            self.roots.update(roots[0])

    def pair_leaves(self, key: Key) -> None:
        """Pair the tensors that no operation made and that have equal keys, in order."""
        waiting: dict[Any, list[int]] = {}
        for i in self.leaves(self.a, self.partner):
            waiting.setdefault((self.a.step(i), key(self.a, i)), []).append(i)
        for j in self.leaves(self.b, self.source):
            name = key(self.b, j)
            candidates = waiting.get((self.b.step(j), name)) if name is not None else None
            if candidates:
                near = next((i for i in candidates if self.distance(i, j) == 0), candidates[0])
                candidates.remove(near)
                self.pair(near, j)

    def pair_gradients(self) -> None:
        """Pair the tensors that hold the gradients of paired leaves."""
        holders = {leaf: j for j, leaf in reversed(self.b.holds.items())}
        for i, leaf in self.a.holds.items():
            j = holders.get(self.partner.get(leaf, -1))
            if j is not None:
                self.pair(i, j)

    def leaves(self, run: RecordedRun, paired: dict[int, int]) -> list[int]:
        chosen = [
            t.id
            for t in run.tensors
            if t.operation is None
            and t.id not in paired
            and t.id in run.live
            and t.first not in run.gradients
            and run.has(t.id)
            and run.earlier(t.id) is None
            and t.id not in run.pieces
        ]
        return sorted(chosen, key=run.position)

    # ---- by value

    def pair_values(self, key: Key) -> None:
        """Pair tensors whose values are close, where only one of each run has such a value."""
        unique_a, unique_b = (self.unique(run, key) for run in (self.a, self.b))
        for (place, bucket), i in unique_a.items():
            for near in (bucket, bucket - 1, bucket + 1):
                j = unique_b.get((place, near), -1)
                if i is None or j is None or j < 0 or i in self.partner or j in self.source:
                    continue
                distance = self.distance(i, j)
                if distance is not None and distance <= self.near:
                    makers = self.a.tensors[i].operation, self.b.tensors[j].operation
                    if makers[0] is not None and makers[1] is not None:
                        self.pair_operations(
                            self.a.operations[makers[0]], self.b.operations[makers[1]]
                        )
                    self.pair(i, j)

    def unique(self, run: RecordedRun, key: Key) -> dict[tuple[Any, int], int | None]:
        """Return the unpaired tensor in each bucket of values; None for a bucket that has
        several which are not views of one.
        """
        paired = self.partner if run is self.a else self.source
        buckets = dict[tuple[Any, int], "int | None"]()
        viewed: dict[int, tuple[Any, int]] = {}
        for t in run.tensors:
            if t.value is None or t.id in paired or not run.has(t.id) or not t.value.is_measured:
                continue
            if run.earlier(t.id) is not None and t.operation is None:
                continue
            place = t.id in run.live, run.step(t.id), t.value.numel, key(run, t.id)
            if place[-1] is None:
                continue
            bucket = place, self.bucket(t.value.norm)
            maker = run.maker(t.id)
            former = viewed.get(maker.tensors[0]) if maker is not None and is_view(maker) else None
            viewed[t.id] = bucket
            if bucket not in buckets:
                buckets[bucket] = t.id
            elif former != bucket:
                buckets[bucket] = None
        return buckets

    def bucket(self, norm: float) -> int:
        return int(log(norm) / (4 * self.near)) if 0 < norm < float("inf") else SPECIAL

    # ---- by use

    def follow(self) -> None:
        """Pair operations of one name that read paired tensors in the same order."""
        waiting: dict[Any, list[Operation]] = {}
        for operation_a in self.all_a:
            if operation_a.id not in self.operations:
                for key in self.reading(self.a, operation_a, operation_a.tensors):
                    waiting.setdefault(key, []).append(operation_a)
        for operation_b in self.all_b:
            if operation_b.id in self.sources:
                continue
            read = [self.source.get(j, -1) for j in operation_b.tensors]
            if -1 in read:
                continue
            for key in self.reading(self.b, operation_b, read):
                partner = next(
                    (
                        operation
                        for operation in waiting.get(key, ())
                        if operation.id not in self.operations
                    ),
                    None,
                )
                if partner is not None:
                    self.pair_operations(partner, operation_b)
                    break

    def reading(self, run: RecordedRun, operation: Operation, read: Iterable[int]) -> list[Any]:
        """Return the keys of an operation: step, name and what it reads; with its constants, and
        without.
        """
        name = base_name(operation)
        step = run.step_of_operation[operation.id]
        tensors = tuple(sorted(read)) if name in COMMUTING else tuple(read)
        return [(step, name, tensors, operation.constants), (step, name, tensors)]

    # ---- in order

    def fill_gaps(self) -> None:
        """Pair the operations between two pairs of operations by operator and shape, in order."""
        pairs = rising(sorted(self.operations.items()))
        ends = [*pairs, (len(self.a.operations), len(self.b.operations))]
        i = j = 0
        for end_a, end_b in ends:
            first = [
                o
                for o in self.a.operations[i:end_a]
                if self.a.compared(o) and o.id not in self.operations
            ]
            second = [
                o
                for o in self.b.operations[j:end_b]
                if self.b.compared(o) and o.id not in self.sources
            ]
            for operation_a, operation_b in matched(self.a, self.b, first, second):
                self.pair_operations(operation_a, operation_b)
            i = end_a + 1
            j = end_b + 1


def near_norms(
    a: RecordedRun, b: RecordedRun, first: list[int], second: list[int]
) -> Iterator[tuple[int, int]]:
    """Yield the pairs of tensors of which the norms agree, but for tensors of zeros."""
    norms = sorted((value.norm, j) for j in second if (value := b.tensors[j].value) is not None)
    for i in first:
        value = a.tensors[i].value
        norm = 0.0 if value is None else value.norm
        begin = bisect_left(norms, (norm * (1 - CLOSE), -1))
        for near, j in norms[begin:]:
            if not norm or near > norm * (1 + CLOSE):
                break
            yield i, j


def equal_layout(a: Value | None, b: Value | None) -> Layout | None:
    """Return what makes a value equal to another one of as many elements; None if nothing does."""
    return next(
        (
            layout
            for layout in layouts(a, b)
            if is_equal(layout(a), b) and (layout is turned or relative(layout(a), b) is not None)
        ),
        None,
    )


def is_equal(a: Value | None, b: Value | None) -> bool:
    """Whether all that is known of two values agrees."""
    if a is None or b is None or a.shape != b.shape:
        return False
    gap = relative(a, b)
    return (least(a, b) if gap is None else gap) in (0.0, None) or (gap or 1.0) < CLOSE


def by_operator(run: RecordedRun, tensor: int) -> Any:
    """Return operator and module of a result; None for a tensor that no operation made."""
    maker = run.tensors[tensor].operation
    if maker is None:
        return None
    operation = run.operations[maker]
    return base_name(operation), run.shape(tensor), run.modules(operation)


def by_kind(run: RecordedRun, tensor: int) -> Any:
    """Return operator and shape of a result, whatever the module is called."""
    key = by_operator(run, tensor)
    return None if key is None else key[:2]


def by_value(run: RecordedRun, tensor: int) -> Any:
    """Return a key that all tensors share, but for single numbers that many things could be."""
    value = run.tensors[tensor].value
    assert value is not None
    if value.numel == 1 and value.norm <= 1e15 and (value.norm * 64).is_integer():
        return None
    return "value"


def rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest part of pairs, sorted by the first, in which the second rises too."""
    ends: list[int] = []
    tails: list[int] = []
    before: list[int] = []
    for n, (_, j) in enumerate(pairs):
        place = bisect_left(ends, j)
        before.append(tails[place - 1] if place else -1)
        ends[place : place + 1] = [j]
        tails[place : place + 1] = [n]
    chain = []
    n = tails[-1] if tails else -1
    while n >= 0:
        chain.append(pairs[n])
        n = before[n]
    return chain[::-1]


def matched(
    a: RecordedRun, b: RecordedRun, first: list[Operation], second: list[Operation]
) -> Iterable[tuple[Operation, Operation]]:
    """Yield the operations of two stretches that have one operator and shape, in order."""
    if not first or not second:
        return
    keys = [
        [(base_name(o), shapes_of(run, o), not run.live.isdisjoint(o.outputs)) for o in part]
        for run, part in ((a, first), (b, second))
    ]
    if len(first) * len(second) <= MANY:
        for i, j, size in SequenceMatcher(
            None, keys[0], keys[1], autojunk=False
        ).get_matching_blocks():
            yield from zip(first[i : i + size], second[j : j + size], strict=True)
        return
    waiting: dict[Any, list[Operation]] = {}
    for key, operation in zip(keys[0], first, strict=True):
        waiting.setdefault(
            (key, a.step_of_operation[operation.id], a.modules(operation)), []
        ).append(operation)
    turns = {key: iter(operations) for key, operations in waiting.items()}
    for key, operation in zip(keys[1], second, strict=True):
        turn = turns.get((key, b.step_of_operation[operation.id], b.modules(operation)))
        partner = None if turn is None else next(turn, None)
        if partner is not None:
            yield partner, operation
