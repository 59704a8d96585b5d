"""The tensors of two runs in order, each with its partner: what a table and a drawing of the comparison show."""

from __future__ import annotations

from itertools import zip_longest

from gradtrace.analysis.compare.align import Alignment
from gradtrace.analysis.compare.cells import GRAD, VALUE, Cells
from gradtrace.annotations import Iterator, NamedTuple
from gradtrace.trace.record import Operation, Value

SAME, CHANGED, FIRST, SECOND = "same", "changed", "only A", "only B"


class Row(NamedTuple):
    """One tensor of either run, or of both. `first` and `second` are its ids in the two runs, `operations` those of the
    operations that made it; `gaps` are the relative differences of value and gradient, None if not known.
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
    found = [row(cells, i, pairs.partner.get(i)) for i in leaves(pairs, True)]
    found += [row(cells, None, j) for j in leaves(pairs, False) if j not in pairs.source]
    for one, other in merged(pairs):
        first = one.outputs if one is not None else ()
        second = other.outputs if other is not None else ()
        found += [row(cells, i, j) for i, j in zip_longest(first, second)]
    return tuple(found)


def leaves(pairs: Alignment, in_a: bool) -> Iterator[int]:
    run = pairs.a if in_a else pairs.b
    return (t.id for t in run.tensors if t.operation is None and t.first == t.id and run.has(t.id))


def merged(pairs: Alignment) -> Iterator[tuple[Operation | None, Operation | None]]:
    """Yield the operations of both runs in order: each of B alone where B ran it, after the one before it."""
    done = 0
    for one in pairs.all_a:
        partner = pairs.operations.get(one.id)
        while partner is not None and done < len(pairs.all_b) and pairs.all_b[done].id <= partner:
            if pairs.all_b[done].id not in pairs.sources:
                yield None, pairs.all_b[done]
            done += 1
        yield one, None if partner is None else pairs.b.operations[partner]
    yield from ((None, other) for other in pairs.all_b[done:] if other.id not in pairs.sources)


def row(cells: Cells, i: int | None, j: int | None) -> Row:
    a, b = cells.a, cells.b
    first, second = None if i is None else a.tensors[i], None if j is None else b.tensors[j]
    shown = first or second
    assert shown is not None
    label = (a if first is not None else b).label(shown.id)
    values = (None if first is None else first.value, None if second is None else second.value)
    grads = (None if i is None else a.grads.get(i), None if j is None else b.grads.get(j))
    made = (None if first is None else first.operation, None if second is None else second.operation)
    status = FIRST if second is None else SECOND
    gaps: tuple[float | None, float | None] = (None, None)
    if i is not None and cells.pairs.partner.get(i, -1) == j:
        value, grad = (VALUE, i), (GRAD, i)
        gaps = cells.gap(value), cells.gap(grad)
        status = CHANGED if cells.bad(value) or cells.bad(grad) else SAME
    elif first is not None and second is not None:
        status = CHANGED
    return Row(status, label, shown.op or shown.kind, i, j, made, values, grads, gaps)
