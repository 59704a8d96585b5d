"""Find the places at which a difference was added: cells that differ, computed from cells that are
equal.
"""

from __future__ import annotations

from gradtrace.analysis.compare.cells import AMPLIFIED, GRAD, VALUE, Cell, Cells, sources
from gradtrace.analysis.compare.distance import INFINITY
from gradtrace.analysis.compare.reasons import (
    BACKWARD,
    UPDATE,
    draws,
    optimiser_of,
    place_of,
    place_of_gradient,
    reason_of,
)
from gradtrace.analysis.compare.runs import LATER, RecordedRun
from gradtrace.annotations import Callable, Iterable, Iterator, NamedTuple
from gradtrace.trace.record import Operation, Span, Value

INHERITED = 0.1  # of a difference, in an input: then the difference is inherited


class DifferencePlace(NamedTuple):
    """The place of a difference in one run: what the operation is ("" of an input), and where it
    stands.
    """

    file: str
    line: int | None
    module: str
    op: str
    label: str
    tensor: int | None = None
    operation: int | None = None


class Difference(NamedTuple):
    """One place where two runs part. `before` is the largest relative difference of what it was
    computed from, `relative` its own (infinity for another shape, or NaN against numbers; None if
    it cannot be measured).
    """

    kind: str
    step: int | None
    a: DifferencePlace | None
    b: DifferencePlace | None
    before: float
    relative: float | None
    reason: str
    values: tuple[Value | None, Value | None] = (None, None)
    is_partly_known: bool = False  # whether a value that it was computed from could not be compared


class Origin(NamedTuple):
    """A cell that differs, and the cells before it that only A, or only B, has."""

    cell: Cell
    only_a: list[Cell]
    only_b: list[Cell]


class Search:
    """The search for the cells at which a difference was added, from the ends that differ."""

    def __init__(self, cells: Cells, ends: list[Cell]) -> None:
        self.cells = cells
        self.pairs = cells.pairs
        self.a = cells.a
        self.b = cells.b
        self.ends = ends

    def differences(self) -> list[Difference]:
        origins = sorted(self.origins(), key=lambda origin: self.order(origin.cell))
        if self.ends and not origins:  # the two runs inherit it from each other's later versions
            origins = [Origin(min(self.ends, key=self.order), [], [])]
        else:
            origins = [
                origin for origin in with_new_parts(origins) if not self.is_rounding(origin.cell)
            ]
        differences = list(map(self.difference, origins))
        updates = self.updates_of_one()
        if updates:  # what comes later has another number of updates behind it
            first = min(update.step or 0 for update in updates)
            differences = [
                difference for difference in differences if is_before_update(difference, first)
            ]
            differences += [update for update in updates if (update.step or 0) == first]
        return unrepeated(one_of_each_step(differences))

    def origins(self) -> Iterator[Origin]:
        """Yield the cells that differ and inherit that from no cell, or have a reason of their own
        too.
        """
        waiting = list(self.ends)
        seen = set(waiting)
        while waiting:
            cell = waiting.pop()
            reached, only_a, only_b = self.behind(cell)
            for source in reached:
                if source not in seen:
                    seen.add(source)
                    waiting.append(source)
            if not reached or self.adds(cell):
                yield Origin(cell, only_a, only_b)

    def behind(self, cell: Cell) -> tuple[list[Cell], list[Cell], list[Cell]]:
        """Return the cells from which a cell inherits its difference, and the cells before it
        without a partner.
        """
        kind, i = cell
        share = 1 / AMPLIFIED if kind == VALUE and self.cells.is_update(i) else INHERITED
        inherited = max(share * min(self.cells.gap(cell) or 0.0, 1.0), 1e-12)
        reached: list[Cell] = []
        only_a = self.walk(self.a, cell, inherited, reached)
        only_b = self.walk(self.b, (kind, self.pairs.partner[i]), inherited, reached)
        if not reached and not only_a and not only_b and self.indistinct(cell):
            gaps = {source: self.cells.gap(source) or 0.0 for source in sources(self.a, cell)}
            largest = max(gaps.values(), default=0.0)
            reached = [source for source, gap in gaps.items() if gap and gap >= INHERITED * largest]
        return reached, only_a, only_b

    def walk(
        self, run: RecordedRun, start: Cell, inherited: float, reached: list[Cell]
    ) -> list[Cell]:
        """Add to `reached` the nearest cells before a cell that differ; return those before it
        without a partner.
        """
        alone: list[Cell] = []
        waiting = [start]
        seen = {start}
        while waiting:
            for cell in sources(run, waiting.pop()):
                if cell in seen:
                    continue
                seen.add(cell)
                kind, i = cell
                paired = (kind, i if run is self.a else self.pairs.source.get(i, -1))
                gap = self.cells.gap(paired)
                if gap is None:
                    if paired[1] not in self.pairs.partner:
                        alone.append(cell)
                    waiting.append(cell)
                elif self.cells.bad(paired) or gap > inherited:
                    reached.append(paired)
        return alone

    def indistinct(self, cell: Cell) -> bool:
        """Whether the operations that a cell comes from are the same in both runs: a small
        difference of their inputs, within the tolerance, is then amplified by them.
        """
        kind, i = cell
        maker = self.a.tensors[i].operation
        if kind == VALUE and maker is None:
            return False
        uses = self.a.uses.get(i, []) if kind == GRAD else [maker]
        pairs = [
            (self.a.operations[n], self.pairs.operations.get(n)) for n in uses if n is not None
        ]
        return all(
            m is not None
            and not draws(self.a, operation)
            and (operation.name, operation.grad_fn)
            == (self.b.operations[m].name, self.b.operations[m].grad_fn)
            and constants(operation) == constants(self.b.operations[m])
            for operation, m in pairs
        )

    def adds(self, cell: Cell) -> bool:
        """Whether an operation with unequal inputs has another reason too: its options differ."""
        kind, i = cell
        maker = self.a.tensors[i].operation
        if kind == GRAD or maker is None or maker not in self.pairs.operations:
            return False
        # of another shape, other dims
        if any(self.cells.gap(source) == INFINITY for source in sources(self.a, cell)):
            return False
        left = self.a.operations[maker]
        right = self.b.operations[self.pairs.operations[maker]]
        return left.name == right.name and constants(left) != constants(right)

    def is_rounding(self, cell: Cell) -> bool:
        """Whether an origin is within the tolerance and only its dtype differs: what follows
        amplifies a rounding.
        """
        if self.cells.tolerance.exact or not self.cells.good(cell) or self.adds(cell):
            return False
        left, right = self.cells.values(cell)
        return left is not None and right is not None and left.dtype != right.dtype

    def order(self, cell: Cell) -> tuple[int, int, int]:
        """Return the place of a cell in its run: by step, forward before backward before the
        update.
        """
        kind, i = cell
        step = self.a.step(i)
        position = self.a.position(i)
        if kind == GRAD:
            return step, 1, -position
        earlier = self.a.earlier(i)
        if self.a.tensors[i].operation is None and earlier is not None:
            return self.a.step(earlier), 2, position
        return step, 0, position if position != LATER else 0

    def difference(self, origin: Origin) -> Difference:
        """Describe an origin: its kind, its places, sizes and reason."""
        cell, only_a, only_b = origin
        kind, i = cell
        j = self.pairs.partner[i]
        before = [source for source in sources(self.a, cell) if source[1] in self.pairs.partner]
        gaps = [self.cells.gap(source) for source in before]
        if kind == GRAD:
            sides = place_of_gradient(self.cells, i, j)
        else:
            sides = place_of(self.cells, i, j, only_a, only_b)
        word, reason = reason_of(self.cells, cell, sides)
        describe = place_of_step if word == UPDATE else place
        steps = self.a.trace.training
        index = self.order(cell)[0] + self.a.first - 2
        return Difference(
            word,
            steps[min(max(index, 0), len(steps) - 1)].number if steps else None,
            describe(self.a, *sides[0]),
            describe(self.b, *sides[1]),
            min(max((gap for gap in gaps if gap is not None), default=0.0), INFINITY),
            self.cells.gap(cell),
            reason,
            self.cells.values(cell),
            None in gaps,
        )

    def updates_of_one(self) -> list[Difference]:
        """Return the first step of each parameter in which only one run updates it, though both
        have its gradient.
        """
        updates = []
        for i, j in self.pairs.partner.items():
            is_first = (
                self.a.tensors[i].requires_grad and self.a.earlier(i) is self.b.earlier(j) is None
            )
            if not is_first or i not in self.a.grads or j not in self.b.grads:
                continue
            if is_written_by_hand(self.a, i) or is_written_by_hand(self.b, j):
                continue
            by_step_a = {
                self.a.step(version) - 1: version for version in self.pairs.later(self.a, i)
            }
            by_step_b = {
                self.b.step(version) - 1: version for version in self.pairs.later(self.b, j)
            }
            step = min(by_step_a.keys() ^ by_step_b.keys(), default=None)
            if step is None:
                continue
            place_a = place_of_step(self.a, by_step_a[step], None) if step in by_step_a else None
            place_b = place_of_step(self.b, by_step_b[step], None) if step in by_step_b else None
            index = step + (self.a if place_b is None else self.b).first - 2
            steps = self.a.trace.training
            number = steps[index].number if 0 <= index < len(steps) else None
            reason = f"only {'A' if place_b is None else 'B'} updates it in this step"
            updates.append(Difference(UPDATE, number, place_a, place_b, 0.0, None, reason))
        return updates


def constants(operation: Operation) -> tuple[str, ...]:
    return tuple(sorted(operation.constants))


def is_written_by_hand(run: RecordedRun, tensor: int) -> bool:
    """Whether operations of the program made versions of a leaf, which then do not count as an
    optimiser's updates.
    """
    return any(
        run.tensors[i].operation is not None for i in run.versions[run.tensors[tensor].first]
    )


# ---- differences that are shown as one


def with_new_parts(origins: Iterable[Origin]) -> Iterator[Origin]:
    """Yield the origins, without those whose part that only one run has was met before."""
    met: set[tuple[int, int]] = set()
    for origin in origins:
        parts = {(0, i) for _, i in origin.only_a} | {(1, i) for _, i in origin.only_b}
        if not parts or not parts <= met:
            met |= parts
            yield origin


def is_before_update(difference: Difference, step: int) -> bool:
    """Whether a difference comes before the update in a step: in an earlier step, or in this one's
    forward.
    """
    if difference.step is None or difference.step < step:
        return True
    return difference.step == step and difference.kind not in (BACKWARD, UPDATE)


def grouped(
    differences: list[Difference], key: Callable[[Difference], object]
) -> list[list[Difference]]:
    """Return the differences with equal keys together, in the order of the first of each."""
    groups: dict[object, list[Difference]] = {}
    for difference in differences:
        groups.setdefault(key(difference), []).append(difference)
    return list(groups.values())


def one_of_each_step(differences: list[Difference]) -> list[Difference]:
    """Return the differences, with the updates of one step as one, and its gradients that differ
    for one reason.

    The reason of updates is the one that most of them have: an optimiser does the same to all
    parameters.
    """
    return [member for group in grouped(differences, shown_together) for member in as_one(group)]


def shown_together(difference: Difference) -> object:
    """Return what the differences that are shown as one have in common."""
    if difference.kind == UPDATE:
        return UPDATE, difference.step
    if difference.kind == BACKWARD and difference.reason:
        return BACKWARD, difference.step, difference.reason
    return id(difference)


def as_one(group: list[Difference]) -> list[Difference]:
    reasons = [member.reason for member in group]
    reason = max(dict.fromkeys(reasons), key=reasons.count)
    chosen = group[reasons.index(reason)]
    if reasons.count(reason) == 1:
        return [chosen]
    kind = "parameters" if chosen.kind == UPDATE else "gradients"
    alike = f"so for {reasons.count(reason)} {kind}"
    return [chosen._replace(reason=f"{reason}; {alike}" if reason else alike)]


def unrepeated(differences: list[Difference]) -> list[Difference]:
    """Return the differences without what later steps repeat: the same place for the same
    reason.
    """
    groups = grouped(
        differences, lambda shown: (shown.kind, shown.reason, spot(shown.a), spot(shown.b))
    )
    return [group[0] for group in groups]


def spot(place: DifferencePlace | None) -> tuple[object, ...]:
    return () if place is None else (place.file, place.line, place.module, place.op)


# ---- places


def place(run: RecordedRun, tensor: int | None, operation: int | None) -> DifferencePlace | None:
    """Return the place of an operation, else of the tensor; None if a run has neither."""
    if operation is not None:
        record = run.operations[operation]
        shown = next(iter(record.outputs), None) if tensor is None else tensor
        label = record.label if shown is None else run.label(shown)
        return DifferencePlace(
            *at(run, record.span), run.modules(record), record.label, label, tensor, operation
        )
    if tensor is None:
        return None
    label = run.label(tensor)
    module = label.rpartition(".")[0] if run.tensors[tensor].is_parameter else ""
    return DifferencePlace(*at(run, run.span(tensor)), module, "", label, tensor)


def place_of_step(
    run: RecordedRun, tensor: int | None, operation: int | None
) -> DifferencePlace | None:
    """Return the place of an optimiser's step that made a version of a parameter."""
    assert tensor is not None
    optimiser = optimiser_of(run, tensor)
    earlier = run.earlier(tensor)
    index = run.step(tensor if earlier is None else earlier) + run.first - 2
    steps = run.trace.training
    span = None if optimiser is None else optimiser.step_span
    if 0 <= index < len(steps):
        span = steps[index].span
    label = run.label(tensor)
    name = "" if optimiser is None else f"{optimiser.kind}.step"
    return DifferencePlace(*at(run, span), label.rpartition(".")[0], name, label, tensor)


def at(run: RecordedRun, span: Span | None) -> tuple[str, int | None]:
    """Return the file and the line of a span."""
    if span is None:
        return run.trace.source_name, None
    return span.file or run.trace.source_name, span.line
