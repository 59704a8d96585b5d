"""The verdict of a comparison: equal, equal within the tolerance, or the first places where two
runs part.

What two runs must agree on are the roots of backward, the gradients and updates of leaves, and the
last results. If one of these differs, the search goes back from it through what differs, or has no
partner, to cells of which everything that they were computed from is equal: there a difference was
added, not inherited.
"""

from __future__ import annotations

from gradtrace.analysis.compare.align import Alignment, steps_of
from gradtrace.analysis.compare.cells import GRAD, VALUE, Cell, Cells
from gradtrace.analysis.compare.differences import Difference, DifferencePlace
from gradtrace.analysis.compare.distance import equal_bits
from gradtrace.analysis.compare.reasons import ONLY, optimiser_of, other_settings
from gradtrace.analysis.compare.rows import Row, passing, rows_of
from gradtrace.analysis.compare.runs import RecordedRun
from gradtrace.analysis.compare.search import Search
from gradtrace.analysis.compare.tolerance import Tolerance, base_of
from gradtrace.annotations import Iterator, NamedTuple
from gradtrace.errors import UsageError
from gradtrace.trace.record import Trace

EQUAL = "equal"
WITHIN = "equal within tolerance"
DIFFER = "differ"
PARTLY = "equal in what both keep"
MORE = 5  # places after the first
NONE: Tolerance = Tolerance()


class Verdict(NamedTuple):
    """The answer: `verdict` is EQUAL, WITHIN, PARTLY or DIFFER; `largest` the largest relative
    difference within the tolerance and the label of the tensor that has it; `rows` the aligned
    tensors. Of `total` values, `compared` were compared by their elements or sketches,
    `by_statistics` only by range, mean, norm and counts, and the others not at all.
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
    """Compare two runs, captured with `everything`; raise UsageError if the records have no values
    to compare.
    """
    run_a = RecordedRun(a)
    run_b = RecordedRun(b)
    first_a, first_b, count = steps_of(run_a, run_b)
    if count:
        run_a = RecordedRun(a, first_a, count)
        run_b = RecordedRun(b, first_b, count)
    base = max(
        (
            base_of(t.dtype)
            for run in (a, b)
            for t in run.tensors
            if not t.dtype.startswith("float8")
        ),
        default=0,
    )
    pairs = Alignment(run_a, run_b, min(0.1, 5 * max(base, 1e-9)))
    cells = Cells(pairs, tolerance)
    asked = [cell for cell in ends_of(pairs) if not is_overwritten(cells, cell)]
    ends = [cell for cell in asked if cells.gap(cell) is not None]
    by_statistics = sum(cells.gap(cell) is None and cell in cells.by_statistics for cell in asked)
    if not ends and not by_statistics and (a.tensors or b.tensors):
        sentence = "the two records have no value in common that could be compared"
        raise UsageError(sentence, "record them with values, and let both end with the same result")
    rows = rows_of(cells)
    notes = list(notes_of(pairs, count))
    failed = failures(a, b)
    bad = [cell for cell in ends if cells.bad(cell)]
    edits = [cell for cell in bad if is_edit(cells, cell)]
    bad = [cell for cell in bad if cell not in edits]
    differences = Search(cells, bad).differences()
    if differences:
        notes += [failure.reason for failure in failed]
    else:
        notes += [*amplified(cells, bad), *of_edits(cells, edits), *of_cancelled(cells, ends)]
        differences = failed
    within = [cell for cell in ends if cells.good(cell) and cell not in cells.cancelled]
    largest = max(within, key=lambda cell: (cells.gap(cell) or 0.0, cell), default=None)
    size = 0.0 if largest is None else cells.gap(largest) or 0.0
    same_bits = size == 0 and all(equal_bits(*cells.values(cell)) for cell in ends)
    verdict = DIFFER
    # parameters of one part in both runs that could not be paired: their updates are not compared
    total = len(asked) + min(map(len, unpaired(pairs)))
    if not differences:
        notes += [] if bad else passing(cells, rows)
        verdict = WITHIN
        if len(ends) < total:
            verdict = PARTLY
        elif same_bits:
            verdict = EQUAL
    return Verdict(
        verdict,
        tuple(differences[: MORE + 1]),
        (size, "" if largest is None else shown(run_a, largest)),
        (len(pairs.all_a), len(pairs.all_b)),
        len(ends),
        tuple(notes),
        rows,
        total,
        by_statistics,
        same_bits,
    )


def amplified(cells: Cells, ends: list[Cell]) -> Iterator[str]:
    """Yield a sentence for values that differ though no place adds a difference."""
    gaps = [gap for cell in ends if (gap := cells.gap(cell)) is not None]
    if gaps:
        sentence = f"{len(gaps)} values or gradients differ by up to {max(gaps):.2g}"
        yield f"{sentence}: roundings, amplified by what follows"


def shown(run: RecordedRun, cell: Cell) -> str:
    return run.label(cell[1]) + (".grad" if cell[0] == GRAD else "")


def notes_of(pairs: Alignment, count: int) -> Iterator[str]:
    """Yield a sentence for what was not compared."""
    a = pairs.a
    b = pairs.b
    steps = len(a.trace.training), len(b.trace.training)
    if count and steps[0] != steps[1]:
        where = f": step {a.first} of A is step {b.first} of B" if a.first != b.first else ""
        yield f"A has {steps[0]} steps, B has {steps[1]}; {count} were compared{where}"
    for name, alone in zip("AB", unpaired(pairs), strict=True):
        if alone:
            more = f" and {len(alone) - 3} more" if len(alone) > 3 else ""
            yield (
                f"not compared, since only {name} has a gradient of it: "
                f"{', '.join(alone[:3])}{more}"
            )


def unpaired(pairs: Alignment) -> list[list[str]]:
    """Return the labels of the leaves with gradients that only A, and that only B has."""
    labels = []
    for run, partners in ((pairs.a, pairs.partner), (pairs.b, pairs.source)):
        leaves = [
            i
            for i in run.grads
            if run.tensors[i].operation is None and run.has(i) and i not in run.pieces
        ]
        alone = [
            run.label(i)
            for i in leaves
            if partners.keys().isdisjoint(run.versions[run.tensors[i].first])
        ]
        labels.append(list(dict.fromkeys(alone)))
    return labels


def failures(a: Trace, b: Trace) -> list[Difference]:
    """Return the difference that only one of two runs failed."""
    if (a.failure is None) == (b.failure is None):
        return []
    failed, name = (a, "A") if a.failure is not None else (b, "B")
    error = failed.failure
    assert error is not None
    line = None if error.span is None else error.span.line
    place = DifferencePlace(failed.source_name, line, "", "", error.kind)
    reason = f"only {name} ended with {error.kind}: {error.message}"
    places = (place, None) if failed is a else (None, place)
    return [Difference(ONLY, None, places[0], places[1], 0.0, None, reason, only=name)]


def ends_of(pairs: Alignment) -> Iterator[Cell]:
    """Yield the cells that two equal runs must agree on."""
    a = pairs.a
    b = pairs.b
    last = last_results(pairs) if not a.trace.passes else set[int]()
    for i, j in pairs.partner.items():
        leaf = a.tensors[i].operation is None
        if leaf and b.tensors[j].operation is None:
            if is_kept(a, i) or is_kept(b, j) or is_one_input(pairs, i, j):
                yield VALUE, i
            # else the gradient is the one that the update left
            fresh = i in a.uses or a.earlier(i) is None
            if fresh and (i in a.grads or j in b.grads):
                yield GRAD, i
        elif i in pairs.roots or i in last or a.is_state(i) or a.is_trained_by_hand(i):
            yield VALUE, i


def is_one_input(pairs: Alignment, i: int, j: int) -> bool:
    """Whether a result follows from two inputs that have one name."""
    first = pairs.a.tensors[i].first
    name = pairs.a.names.get(first)
    is_used = i in pairs.a.live and first not in pairs.a.gradients
    return is_used and name is not None and name == pairs.b.names.get(pairs.b.tensors[j].first)


def is_kept(run: RecordedRun, leaf: int) -> bool:
    """Whether a tensor that no operation made must be equal as such: a parameter, or a state that
    the run changed. Of other inputs, what follows from them must.
    """
    record = run.tensors[leaf]
    is_own = record.first not in run.gradients and leaf in run.live
    return is_own and (
        record.requires_grad
        or record.is_parameter
        or run.before[leaf] is not None
        or not run.trace.passes
    )


def is_edit(cells: Cells, cell: Cell) -> bool:
    """Whether a gradient differs that a program changed after backward, and the update is equal:
    one does what the other leaves to an option of its optimiser.
    """
    kind, i = cell
    j = cells.pairs.partner[i]
    is_edited = i in cells.a.edited or j in cells.b.edited
    if kind != GRAD or not is_edited or cells.tolerance.exact:
        return False
    versions = cells.a.versions[cells.a.tensors[i].first]
    update = next((version for version in versions if version > i), None)
    if update not in cells.pairs.partner or not cells.is_equal_update(update):
        return False
    left = optimiser_of(cells.a, i)
    right = optimiser_of(cells.b, j)
    if left is None or right is None or left.kind != right.kind:
        return True
    return bool(other_settings(cells, i, left, right))


def of_edits(cells: Cells, edits: list[Cell]) -> Iterator[str]:
    """Yield a sentence for gradients that differ though the updates are equal."""
    if edits:
        label = shown(cells.a, edits[0])
        yield f"gradients differ that the program changed, such as {label}; the updates agree"


def of_cancelled(cells: Cells, ends: list[Cell]) -> Iterator[str]:
    """Yield a sentence for what the largest difference does not count."""
    gaps = [cells.gap(cell) or 0.0 for cell in ends if cell in cells.cancelled]
    if gaps:
        largest = f"{max(gaps):.2g}, not counted above"
        yield f"{len(gaps)} more, of up to {largest}: roundings of sums that cancel, or from those"


def is_overwritten(cells: Cells, cell: Cell) -> bool:
    """Whether only writes in place read a value, which leave no difference: it is what the memory
    held before.
    """
    kind, i = cell
    while kind == VALUE and cells.bad((VALUE, i)) and (later := cells.a.overwritten(i)) is not None:
        if cells.good((VALUE, later)):
            return True
        i = later
    return False


def last_results(pairs: Alignment) -> set[int]:
    """Return the results of A that nothing uses, of which the last one is paired with B's if it has
    no partner.
    """
    a = pairs.a
    b = pairs.b
    unused = [
        [i for o in part for i in o.outputs if i not in run.uses]
        for run, part in ((a, pairs.all_a), (b, pairs.all_b))
    ]
    names = [
        run.trace.roots[-1:] or tuple(part[-1:]) for run, part in zip((a, b), unused, strict=True)
    ]
    if names[0] and names[1]:
        pairs.pair(names[0][0], names[1][0])
    # what a result was detached from
    sources = [a.behind(i, lambda o: o.name == "detach") for i in unused[0] if i in pairs.partner]
    return {i for i in sources if i in pairs.partner}


# ---- several records


class Rank(NamedTuple):
    """One record: its name, and its comparison with the one that most agree with (None: it is that
    one).
    """

    name: str
    verdict: Verdict | None

    @property
    def first(self) -> Difference | None:
        return (
            self.verdict.differences[0]
            if self.verdict is not None and self.verdict.differences
            else None
        )


class Ranks(NamedTuple):
    reference: str
    ranks: tuple[Rank, ...]

    @property
    def same(self) -> bool:
        return all(rank.verdict is None or rank.verdict.same for rank in self.ranks)


def ranks(names: list[str], traces: list[Trace], tolerance: Tolerance) -> Ranks:
    """Compare each record with the first one, or with the second if all others part from the
    first.
    """
    names = [
        name if trace.rank is None else f"rank {trace.rank}"
        for name, trace in zip(names, traces, strict=True)
    ]
    verdicts = against(0, traces, tolerance)
    if not any(verdict.same for verdict in verdicts if verdict is not None):
        others = against(1, traces, tolerance)
        if any(verdict.same for verdict in others if verdict is not None):
            return Ranks(names[1], tuple(map(Rank, names, others)))
    return Ranks(names[0], tuple(map(Rank, names, verdicts)))


def against(chosen: int, traces: list[Trace], tolerance: Tolerance) -> list[Verdict | None]:
    return [
        None if n == chosen else compare(traces[chosen], trace, tolerance)
        for n, trace in enumerate(traces)
    ]
