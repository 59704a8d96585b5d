"""The verdict of a comparison: equal, equal within the tolerance, or the first places where two runs part.

What two runs must agree on are the roots of backward, the gradients and updates of leaves, and the last results. If one
of these differs, the search goes back from it through what differs, or has no partner, to cells of which everything
that they were computed from is equal: there a difference was added, not inherited.
"""

from __future__ import annotations

from gradtrace.analysis.compare.align import Alignment, steps_of
from gradtrace.analysis.compare.cells import AMPLIFIED, GRAD, VALUE, Cell, Cells, sources
from gradtrace.analysis.compare.distance import INFINITY, equal_bits
from gradtrace.analysis.compare.reasons import (
    BACKWARD,
    UPDATE,
    draws,
    optimiser_of,
    place_of,
    place_of_gradient,
    reason_of,
)
from gradtrace.analysis.compare.rows import Row, passing, rows_of
from gradtrace.analysis.compare.runs import LATER, RecordedRun
from gradtrace.analysis.compare.tolerance import Tolerance, base_of
from gradtrace.annotations import Iterator, NamedTuple
from gradtrace.errors import UsageError
from gradtrace.trace.record import Operation, Trace, Value

EQUAL, WITHIN, DIFFER = "equal", "equal within tolerance", "differ"
PARTLY = "equal in what both keep"
MORE = 5  # places after the first
INHERITED = 0.1  # of a difference, in an input: then the difference is inherited
NONE: Tolerance = Tolerance()


class DifferencePlace(NamedTuple):
    """The place of a difference in one run: what the operation is ("" of an input), and where it stands."""

    file: str
    line: int | None
    module: str
    op: str
    label: str
    tensor: int | None
    operation: int | None


class Difference(NamedTuple):
    """One place where two runs part. `before` is the largest relative difference of what it was computed from,
    `relative` its own (infinity for another shape, or NaN against numbers; None if it cannot be measured).
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


class Verdict(NamedTuple):
    """The answer: `verdict` is EQUAL, WITHIN, PARTLY or DIFFER; `largest` the largest relative difference within the
    tolerance and the label of the tensor that has it; `rows` the aligned tensors. Of `total` values, `compared` were
    compared by their elements or sketches, `by_statistics` only by range, mean, norm and counts, and the others not at
    all.
    """

    verdict: str
    differences: tuple[Difference, ...]
    largest: tuple[float, str]
    operations: tuple[int, int]
    compared: int  # cells
    notes: tuple[str, ...]
    rows: tuple[Row, ...]
    total: int = 0
    by_statistics: int = 0
    bit_equal: bool = False  # all that was compared

    @property
    def same(self) -> bool:
        return self.verdict != DIFFER


def compare(a: Trace, b: Trace, tolerance: Tolerance = NONE) -> Verdict:
    """Compare two runs, captured with `everything`; raise UsageError if the records have no values to compare."""
    run_a, run_b = RecordedRun(a), RecordedRun(b)
    first_a, first_b, count = steps_of(run_a, run_b)
    if count:
        run_a, run_b = RecordedRun(a, first_a, count), RecordedRun(b, first_b, count)
    base = max((base_of(t.dtype) for run in (a, b) for t in run.tensors if not t.dtype.startswith("float8")), default=0)
    pairs = Alignment(run_a, run_b, min(0.1, 5 * max(base, 1e-9)))
    cells = Cells(pairs, tolerance)
    asked = [cell for cell in ends_of(pairs) if not is_overwritten(cells, cell)]
    ends = [cell for cell in asked if cells.gap(cell) is not None]
    by_statistics = sum(cells.gap(cell) is None and cell in cells.by_statistics for cell in asked)
    if not ends and not by_statistics and (a.tensors or b.tensors):
        sentence = "the two records have no value in common that could be compared"
        raise UsageError(sentence, "record them with values, and let both end with the same result")
    search = Search(cells, [cell for cell in ends if cells.bad(cell)])
    differences = search.differences()
    failed = failures(a, b)
    amplified = [gap for cell in search.ends if (gap := cells.gap(cell)) is not None]
    notes = (*notes_of(pairs, count), *(failure.reason for failure in failed if differences))
    if amplified and not differences:
        sentence = f"{len(amplified)} values or gradients differ by up to {max(amplified):.2g}"
        notes += (f"{sentence}: roundings of the shorter dtype, amplified by what follows",)
    differences = differences or failed
    rows = rows_of(cells)
    if not differences:
        notes += tuple(passing(cells, rows))
    largest = max(
        ((cells.gap(cell) or 0.0, cell) for cell in ends if cells.good(cell) and cell not in cells.cancelled),
        default=(0.0, None),
    )
    same_bits = all(equal_bits(*cells.values(cell)) for cell in ends) and largest[0] == 0
    return Verdict(
        DIFFER if differences else verdict_of(same_bits, len(ends) == len(asked)),
        tuple(differences[: MORE + 1]),
        (largest[0], "" if largest[1] is None else shown(run_a, largest[1])),
        (len(pairs.all_a), len(pairs.all_b)),
        len(ends),
        notes,
        rows,
        len(asked),
        by_statistics,
        same_bits,
    )


def verdict_of(same_bits: bool, all_compared: bool) -> str:
    """Return the verdict on two runs without a difference."""
    if not all_compared:
        return PARTLY
    return EQUAL if same_bits else WITHIN


def shown(run: RecordedRun, cell: Cell) -> str:
    return run.label(cell[1]) + (".grad" if cell[0] == GRAD else "")


def notes_of(pairs: Alignment, count: int) -> Iterator[str]:
    """Yield a sentence for what was not compared."""
    a, b = pairs.a, pairs.b
    steps = len(a.trace.training), len(b.trace.training)
    if count and steps[0] != steps[1]:
        where = f": step {a.first} of A is step {b.first} of B" if a.first != b.first else ""
        yield f"A has {steps[0]} steps, B has {steps[1]}; {count} were compared{where}"
    for name, run, partners in (("A", a, pairs.partner), ("B", b, pairs.source)):
        leaves = [i for i in run.grads if run.tensors[i].operation is None and run.has(i)]
        alone = [run.label(i) for i in leaves if partners.keys().isdisjoint(run.versions[run.tensors[i].first])]
        if alone := list(dict.fromkeys(alone)):
            more = f" and {len(alone) - 3} more" if len(alone) > 3 else ""
            yield f"not compared, since only {name} has a gradient of it: {', '.join(alone[:3])}{more}"


def failures(a: Trace, b: Trace) -> list[Difference]:
    """Return the difference that only one of two runs failed."""
    if (a.failure is None) == (b.failure is None):
        return []
    failed, name = (a, "A") if a.failure is not None else (b, "B")
    error = failed.failure
    assert error is not None
    place = DifferencePlace(failed.source_name, error.span.line if error.span else None, "", "", error.kind, None, None)
    both = (place, None) if name == "A" else (None, place)
    return [
        Difference(
            "failure", None, both[0], both[1], 0.0, None, f"only {name} ended with {error.kind}: {error.message}"
        )
    ]


def ends_of(pairs: Alignment) -> Iterator[Cell]:
    """Yield the cells that two equal runs must agree on."""
    a, b = pairs.a, pairs.b
    last = last_results(pairs) if not a.trace.passes else set[int]()
    for i, j in pairs.partner.items():
        leaf = a.tensors[i].operation is None
        if leaf and b.tensors[j].operation is None:
            yield VALUE, i
            fresh = i in a.uses or a.earlier(i) is None  # else the gradient is the one that the update left
            if fresh and (i in a.grads or j in b.grads):
                yield GRAD, i
        elif i in pairs.roots or i in last:
            yield VALUE, i


def is_overwritten(cells: Cells, cell: Cell) -> bool:
    """Whether only writes in place read a value, which leave no difference: it is what the memory held before."""
    kind, i = cell
    while kind == VALUE and cells.bad((VALUE, i)) and (later := cells.a.overwritten(i)) is not None:
        if cells.good((VALUE, later)):
            return True
        i = later
    return False


def last_results(pairs: Alignment) -> set[int]:
    """Return the results of A that nothing uses, of which the last one is paired with B's if it has no partner."""
    a, b = pairs.a, pairs.b
    unused = [
        [i for o in part for i in o.outputs if i not in run.uses] for run, part in ((a, pairs.all_a), (b, pairs.all_b))
    ]
    names = [run.trace.roots[-1:] or tuple(part[-1:]) for run, part in zip((a, b), unused, strict=True)]
    if names[0] and names[1]:
        pairs.pair(names[0][0], names[1][0])
    return {i for i in unused[0] if i in pairs.partner and a.tensors[i].op != "detach"}


class Search:
    """The search for the cells at which a difference was added, from the ends that differ."""

    def __init__(self, cells: Cells, ends: list[Cell]) -> None:
        self.cells, self.a, self.b = cells, cells.a, cells.b
        self.ends = ends

    def differences(self) -> list[Difference]:
        waiting = list(self.ends)
        seen = set(waiting)
        origins: list[tuple[Cell, list[Cell], list[Cell]]] = []
        while waiting:
            cell = waiting.pop()
            reached, only_a, only_b = self.behind(cell)
            for source in reached:
                if source not in seen:
                    seen.add(source)
                    waiting.append(source)
            if not reached or self.adds(cell):
                origins.append((cell, only_a, only_b))
        origins.sort(key=lambda origin: self.order(origin[0]))
        kept = [origin for origin in unique(origins) if not self.is_rounding(origin)]
        if self.ends and not origins:  # the two runs inherit it from each other's later versions
            kept = [(min(self.ends, key=self.order), [], [])]
        differences, alone = [self.difference(*origin) for origin in kept], self.updates_of_one()
        first = min((update.step or 0 for update in alone), default=None)
        if first is not None:  # what comes later has another number of updates behind it
            differences = [difference for difference in differences if before_updates(difference, first)]
            differences += [update for update in alone if (update.step or 0) == first]
        return once(one_of_each_step(differences))

    def updates_of_one(self) -> list[Difference]:
        """Return the first step of each parameter in which only one run updates it, though both have its gradient."""
        updates = []
        for i, j in self.cells.pairs.partner.items():
            is_first = self.a.tensors[i].requires_grad and self.a.earlier(i) is self.b.earlier(j) is None
            if not is_first or i not in self.a.grads or j not in self.b.grads:
                continue
            if written_by_hand(self.a, i) or written_by_hand(self.b, j):
                continue
            versions = [
                {run.step(version) - 1: version for version in self.cells.pairs.later(run, first)}
                for run, first in ((self.a, i), (self.b, j))
            ]
            step = min(versions[0].keys() ^ versions[1].keys(), default=None)
            if step is None:
                continue
            place_a, place_b = (
                place_of_step(run, by_step[step], None) if step in by_step else None
                for run, by_step in zip((self.a, self.b), versions, strict=True)
            )
            name = "A" if place_b is None else "B"
            number = step + (self.a if name == "A" else self.b).first - 1
            steps = self.a.trace.training
            shown_step = steps[number - 1].number if 0 < number <= len(steps) else None
            updates.append(
                Difference(UPDATE, shown_step, place_a, place_b, 0.0, None, f"only {name} updates it in this step")
            )
        return updates

    def is_rounding(self, origin: tuple[Cell, list[Cell], list[Cell]]) -> bool:
        """Whether an origin is within the tolerance and only its dtype differs: what follows amplifies a rounding."""
        cell = origin[0]
        if self.cells.tolerance.exact or not self.cells.good(cell) or self.adds(cell):
            return False
        first, second = self.cells.values(cell)
        return first is not None and second is not None and first.dtype != second.dtype

    def behind(self, cell: Cell) -> tuple[list[Cell], list[Cell], list[Cell]]:
        """Return the cells from which a cell inherits its difference, and the cells before it without a partner."""
        reached: list[Cell] = []
        alone: tuple[list[Cell], list[Cell]] = ([], [])
        share = 1 / AMPLIFIED if cell[0] == VALUE and self.cells.is_update(cell[1]) else INHERITED
        inherited = share * min(self.cells.gap(cell) or 0.0, 1.0)
        starts = (cell, (cell[0], self.cells.pairs.partner[cell[1]]))
        for run, start, unpaired in zip((self.a, self.b), starts, alone, strict=True):
            waiting, seen = [start], {start}
            while waiting:
                for kind, i in sources(run, waiting.pop()):
                    if (kind, i) in seen:
                        continue
                    seen.add((kind, i))
                    source = i if run is self.a else self.cells.pairs.source.get(i, -1)
                    paired = (kind, source)
                    gap = self.cells.gap(paired) if source in self.cells.pairs.partner else None
                    if gap is None:
                        if source not in self.cells.pairs.partner:
                            unpaired.append((kind, i))
                        waiting.append((kind, i))
                    elif self.cells.bad(paired) or gap > max(inherited, 1e-12):
                        reached.append(paired)
        if not reached and not alone[0] and not alone[1] and self.indistinct(cell):
            gaps = {origin: self.cells.gap(origin) or 0.0 for origin in sources(self.a, cell)}
            largest = max(gaps.values(), default=0.0)
            reached = [origin for origin, gap in gaps.items() if gap and gap >= INHERITED * largest]
        return reached, *alone

    def indistinct(self, cell: Cell) -> bool:
        """Whether the operations that a cell comes from are the same in both runs: a small difference of their inputs,
        within the tolerance, is then amplified by them.
        """
        kind, i = cell
        maker = self.a.tensors[i].operation
        if kind == VALUE and maker is None:
            return False
        uses = self.a.uses.get(i, []) if kind == GRAD else [maker]
        pairs = [(self.a.operations[n], self.cells.pairs.operations.get(n)) for n in uses if n is not None]
        return all(
            m is not None
            and not draws(self.a, operation)
            and (operation.name, operation.grad_fn) == (self.b.operations[m].name, self.b.operations[m].grad_fn)
            and options(operation) == options(self.b.operations[m])
            for operation, m in pairs
        )

    def adds(self, cell: Cell) -> bool:
        """Whether an operation with unequal inputs has another reason too: its options differ."""
        kind, i = cell
        maker = self.a.tensors[i].operation
        if kind == GRAD or maker is None or maker not in self.cells.pairs.operations:
            return False
        if any(self.cells.gap(source) == INFINITY for source in sources(self.a, cell)):  # of another shape, other dims
            return False
        operation_a, operation_b = self.a.operations[maker], self.b.operations[self.cells.pairs.operations[maker]]
        return operation_a.name == operation_b.name and options(operation_a) != options(operation_b)

    def order(self, cell: Cell) -> tuple[int, int, int]:
        """Return the place of a cell in its run: by step, forward before backward before the update."""
        kind, i = cell
        step, position = self.a.step(i), self.a.position(i)
        if kind == GRAD:
            return step, 1, -position
        if self.a.tensors[i].operation is None and self.a.earlier(i) is not None:
            return self.a.step(self.a.earlier(i) or 0), 2, position
        return step, 0, position if position != LATER else 0

    def difference(self, cell: Cell, only_a: list[Cell], only_b: list[Cell]) -> Difference:
        """Describe an origin: its kind, its places, sizes and reason."""
        cells, (kind, i) = self.cells, cell
        j = cells.pairs.partner[i]
        origins = [origin for origin in sources(self.a, cell) if origin[1] in cells.pairs.partner]
        before = max((gap for origin in origins if (gap := cells.gap(origin)) is not None), default=0.0)
        number, steps = self.order(cell)[0] + self.a.first - 2, self.a.trace.training
        step = steps[min(max(number, 0), len(steps) - 1)].number if steps else None
        if kind == GRAD:
            sides = place_of_gradient(cells, i, j)
        else:
            sides = place_of(cells, i, j, only_a, only_b)
        word, reason = reason_of(cells, cell, sides, (only_a, only_b))
        describe = place_of_step if word == UPDATE else place
        shown_places = [describe(run, *side) for run, side in zip((self.a, self.b), sides, strict=True)]
        gap = cells.gap(cell)
        return Difference(
            word,
            step,
            shown_places[0],
            shown_places[1],
            min(before, INFINITY),
            gap,
            reason,
            cells.values(cell),
            any(cells.gap(origin) is None for origin in origins),
        )


def written_by_hand(run: RecordedRun, tensor: int) -> bool:
    """Whether operations of the program made versions of a leaf, which then do not count as an optimiser's updates."""
    return any(run.tensors[i].operation is not None for i in run.versions[run.tensors[tensor].first])


def before_updates(one: Difference, step: int) -> bool:
    """Whether a difference comes before the update in a step: in an earlier step, or in this one's forward."""
    return one.step is None or one.step < step or (one.step == step and one.kind not in (BACKWARD, UPDATE))


def unique(
    origins: list[tuple[Cell, list[Cell], list[Cell]]],
) -> Iterator[tuple[Cell, list[Cell], list[Cell]]]:
    """Yield the origins, without those whose part that only one run has was met before."""
    met: set[tuple[int, int]] = set()
    for cell, only_a, only_b in origins:
        parts = {(side, i) for side, cells in enumerate((only_a, only_b)) for _, i in cells}
        if parts and parts <= met:
            continue
        met |= parts
        yield cell, only_a, only_b


def one_of_each_step(found: list[Difference]) -> list[Difference]:
    """Return the differences, with the updates of one step as one, and its gradients that differ for one reason.

    The reason of updates is the one that most of them have: an optimiser does the same to all parameters.
    """
    alike_ones: dict[object, list[Difference]] = {}
    for difference in found:
        alike_ones.setdefault(group(difference), []).append(difference)
    shown: list[Difference] = []
    for difference in found:
        if group(difference) is None:
            shown.append(difference)
        elif same := alike_ones.pop(group(difference), None):
            reasons = [member.reason for member in same]
            reason = max(dict.fromkeys(reasons), key=reasons.count)
            chosen = next(member for member in same if member.reason == reason)
            kind = "parameters" if difference.kind == UPDATE else "gradients"
            alike = f"so for {reasons.count(reason)} {kind}" if reasons.count(reason) > 1 else ""
            shown.append(chosen._replace(reason="; ".join(filter(None, (reason, alike)))))
    return shown


def group(one: Difference) -> object:
    """Return what the differences that are shown as one have in common; None for one that is shown alone."""
    if one.kind == UPDATE:
        return one.kind, one.step
    return (one.kind, one.step, one.reason) if one.kind == BACKWARD and one.reason else None


def once(found: list[Difference]) -> list[Difference]:
    """Return the differences without what later steps repeat: the same place for the same reason."""
    first: dict[object, Difference] = {}
    for difference in found:
        first.setdefault((difference.kind, difference.reason, *map(spot, (difference.a, difference.b))), difference)
    return list(first.values())


def spot(place: DifferencePlace | None) -> tuple[object, ...]:
    return () if place is None else (place.file, place.line, place.module, place.op)


def options(operation: Operation) -> tuple[str, ...]:
    return tuple(sorted(operation.constants))


def place(run: RecordedRun, tensor: int | None, operation: int | None) -> DifferencePlace | None:
    """Return the place of an operation, else of the tensor; None if a run has neither."""
    if operation is not None:
        record = run.operations[operation]
        outputs: list[int | None] = [i for i in record.outputs if tensor is None] or [tensor]
        label = run.label(outputs[0]) if outputs and outputs[0] is not None else record.label
        span, module = record.span, run.modules(record)
        name = record.label
    elif tensor is not None:
        span, label, name = run.span(tensor), run.label(tensor), ""
        module = label.rpartition(".")[0] if run.tensors[tensor].is_parameter else ""
    else:
        return None
    file = run.trace.source_name if span is None or not span.file else span.file
    return DifferencePlace(file, None if span is None else span.line, module, name, label, tensor, operation)


def place_of_step(run: RecordedRun, tensor: int | None, operation: int | None) -> DifferencePlace | None:
    """Return the place of an optimiser's step that made a version of a parameter."""
    assert tensor is not None
    optimiser, earlier = optimiser_of(run, tensor), run.earlier(tensor)
    number = run.step(tensor if earlier is None else earlier) + run.first - 2
    steps = run.trace.training
    span = steps[number].span if 0 <= number < len(steps) else None if optimiser is None else optimiser.step_span
    label = run.label(tensor)
    name = "" if optimiser is None else f"{optimiser.kind}.step"
    file = run.trace.source_name if span is None or not span.file else span.file
    return DifferencePlace(
        file, None if span is None else span.line, label.rpartition(".")[0], name, label, tensor, None
    )
