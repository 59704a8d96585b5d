"""The tensors of two runs in order, each with its partner: what a table and a drawing of the
comparison show.
"""

from __future__ import annotations

from itertools import zip_longest

from gradtrace.analysis.compare.align import Alignment
from gradtrace.analysis.compare.cells import GRAD, VALUE, Cells
from gradtrace.analysis.compare.distance import INFINITY
from gradtrace.annotations import Iterator, NamedTuple
from gradtrace.trace.record import Operation, Value

SAME = "same"
CHANGED = "changed"
FIRST = "only A"
SECOND = "only B"


class Row(NamedTuple):
    """One tensor of either run, or of both. `first` and `second` are its ids in the two runs,
    `operations` those of the operations that made it; `gaps` are the relative differences of value
    and gradient, None if not known.
    """

    status: str
    label: str
    op: str
    first: int | None
    second: int | None
    operations: tuple[int | None, int | None]
    values: tuple[Value | None, Value | None]
    grads: tuple[Value | None, Value | None]
    gaps: tuple[float | None, float | None]

    @property
    def gap(self) -> float | None:
        """The larger of the known differences."""
        return max((gap for gap in self.gaps if gap is not None), default=None)


def rows_of(cells: Cells) -> tuple[Row, ...]:
    """Return the rows of a comparison: inputs first, then the results in the order of the runs."""
    pairs = cells.pairs
    rows = [row(cells, i, pairs.partner.get(i)) for i in leaves(pairs, True)]
    rows += [row(cells, None, j) for j in leaves(pairs, False) if j not in pairs.source]
    for operation_a, operation_b in merged(pairs):
        first = operation_a.outputs if operation_a is not None else ()
        second = operation_b.outputs if operation_b is not None else ()
        rows += [row(cells, i, j) for i, j in zip_longest(first, second)]
    return tuple(rows)


def passing(cells: Cells, rows: tuple[Row, ...]) -> Iterator[str]:
    """Yield a sentence for results that differ in two runs that end equal: those of one name, or of
    two statements that agree in most iterations of a loop.
    """
    a = cells.a
    b = cells.b
    statements: dict[tuple[str, str], list[int]] = {}
    for row in rows:
        i = row.first
        j = row.second
        if (
            i is None
            or j is None
            or row.operations[0] is None
            or row.gaps[0] is None
            or row.gaps[0] == INFINITY
        ):
            continue
        (name_a, _, number), (name_b, _, its) = (
            run.label(t).partition(" #") for run, t in ((a, i), (b, j))
        )
        first = a.tensors[i]
        second = b.tensors[j]
        if (number, first.op, first.dtype) == (its, second.op, second.dtype):
            statements.setdefault((name_a, name_b), []).append(i)
    tensors: list[int] = []
    for (name_a, name_b), results in statements.items():
        differ = [i for i in results if cells.bad((VALUE, i))]
        if name_a == name_b or 2 * len(differ) < len(results):
            tensors += differ
    if not tensors:
        return
    i = min(tensors)
    spans = a.span(i), b.span(cells.pairs.partner[i])
    lines = dict.fromkeys(str(span.line) for span in spans if span)
    where = f" (line {' and '.join(lines)})" if lines else ""
    more = f", and {len(tensors) - 1:,} more" if len(tensors) > 1 else ""
    gap = cells.gap((VALUE, i)) or 0.0
    yield (
        f"on the way, {a.label(i)} differs by {gap:.2g}{where}{more}; what the runs end with agrees"
    )


def leaves(pairs: Alignment, in_a: bool) -> Iterator[int]:
    run = pairs.a if in_a else pairs.b
    return (t.id for t in run.tensors if t.operation is None and t.first == t.id and run.has(t.id))


def merged(pairs: Alignment) -> Iterator[tuple[Operation | None, Operation | None]]:
    """Yield the operations of both runs in order: each of B alone where B ran it, after the one
    before it.
    """
    done = 0
    for operation_a in pairs.all_a:
        partner = pairs.operations.get(operation_a.id)
        while partner is not None and done < len(pairs.all_b) and pairs.all_b[done].id <= partner:
            if pairs.all_b[done].id not in pairs.sources:
                yield None, pairs.all_b[done]
            done += 1
        yield operation_a, None if partner is None else pairs.b.operations[partner]
    yield from (
        (None, operation_b)
        for operation_b in pairs.all_b[done:]
        if operation_b.id not in pairs.sources
    )


def row(cells: Cells, i: int | None, j: int | None) -> Row:
    a = cells.a
    b = cells.b
    first = None if i is None else a.tensors[i]
    second = None if j is None else b.tensors[j]
    shown = first or second
    assert shown is not None
    label = (a if first is not None else b).label(shown.id)
    values = (None if first is None else first.value, None if second is None else second.value)
    grads = (None if i is None else a.grads.get(i), None if j is None else b.grads.get(j))
    makers = (
        None if first is None else first.operation,
        None if second is None else second.operation,
    )
    status = FIRST if second is None else SECOND
    gaps: tuple[float | None, float | None] = (None, None)
    if i is not None and cells.pairs.partner.get(i, -1) == j:
        value = (VALUE, i)
        grad = (GRAD, i)
        gaps = cells.gap(value), cells.gap(grad)
        status = CHANGED if cells.bad(value) or cells.bad(grad) else SAME
    elif first is not None and second is not None:
        status = CHANGED
    own = None if i is None else a.own(i), None if j is None else b.own(j)
    return Row(status, label, shown.op or shown.kind, *own, makers, values, grads, gaps)
