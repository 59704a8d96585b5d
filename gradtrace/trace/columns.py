"""Convert the records of a trace to integers, column by column, and back.

    columns = ColumnWriter(tables)                 ColumnReader(numbers, tables).record(Trace)
    columns.record(trace)
    columns.numbers() -> int32 array

The fields of a record follow each other as `fields.FIELDS` lists them. Each field is a column: the
integers of all rows.

    int, bool              the number; -1 for None
    text, value, span, ...     its number in a table that all traces of a file share; -1 for None
    another record, or None    1 or 0 for each row, then the columns of the records that are not
                               None
    a tuple of any length      the lengths, then the columns of all its items
    a record, a fixed tuple    the columns of its fields

New fields come last and have a default, which the records of an earlier file get, as it says how
many fields it has.

No offsets are stored: when a reader reaches a column, it knows the number of its rows from the
columns before.
"""

from __future__ import annotations

from functools import partial
from itertools import chain, islice

from gradtrace.annotations import Any, Callable, Iterable, Mapping, Sequence
from gradtrace.engine.data.lazy import np
from gradtrace.trace.fields import (
    BOOL,
    FIELDS,
    GROUP,
    INT,
    INTEGERS,
    NUMBER,
    TEXT,
    VALUE,
    Damaged,
    Many,
    Maybe,
    integer,
    number,
    real,
)
from gradtrace.trace.record import Span
from gradtrace.trace.values import Value

LARGEST = 1 << 53


# ---- writing


class Numbered(dict[Any, int]):
    """A table that numbers objects by identity, in the order of first use; None has the number
    -1.
    """

    def __init__(self) -> None:
        super().__init__({None: -1})

    def __missing__(self, key: Any) -> int:
        self[key] = number = len(self) - 1
        return number

    @property
    def things(self) -> list[Any]:
        return list(self)[1:]


class TableWriter:
    """The tables that all traces of a file share; `add_value` returns the number of a new Value."""

    def __init__(self, add_value: Callable[[Value], int]) -> None:
        self.texts, self.groups, self.spans = Numbered(), Numbered(), Numbered()
        self.reals: list[Any] = []
        self.add_value = add_value
        self._values: dict[int, tuple[Value | None, int]] = {id(None): (None, -1)}
        self._groups: dict[int, tuple[Any, int]] = {}

    def value(self, value: Value | None) -> int:
        entry = self._values.get(id(value))
        if entry is None:
            assert value is not None
            entry = self._values[id(value)] = (value, self.add_value(value))
        return entry[1]

    def group(self, ids: tuple[int, ...]) -> int:
        """Return the number of a tuple, which may be long and occur in thousands of records."""
        entry = self._groups.get(id(ids))
        if entry is None:
            entry = self._groups[id(ids)] = (ids, self.groups[ids])
        return entry[1]

    def real(self, x: float) -> int:
        self.reals.append(number(x))
        return len(self.reals) - 1

    def numbers(self) -> Any:
        """Return the tables of tuples and of spans, as columns."""
        columns = ColumnWriter(self)
        spans = self.spans.things
        columns.add([len(self.groups) - 1, len(spans)])
        columns.column(Many(item=INT), self.groups.things)
        columns.fields(FIELDS[Span], spans)
        return columns.numbers()


class ColumnWriter:
    """A writer that collects the columns of records."""

    def __init__(self, tables: TableWriter) -> None:
        self.tables = tables
        self.parts: list[Any] = []
        self.numberers: dict[Any, Callable[[Any], int]] = {
            TEXT: tables.texts.__getitem__,
            GROUP: tables.group,
            Span: tables.spans.__getitem__,
            VALUE: tables.value,
            NUMBER: tables.real,
        }

    def numbers(self) -> Any:
        """Return all columns, one after the other: as int32, or as int64 if a number needs it."""
        columns = np.concatenate(self.parts) if self.parts else np.zeros(0, np.int64)
        small = not columns.size or (columns.min() >= -(1 << 31) and columns.max() < 1 << 31)
        return columns.astype(np.int32) if small else columns

    def record(self, record: Any) -> None:
        self.column(type(record), [record])

    def add(self, numbers: Iterable[int]) -> None:
        self.parts.append(np.fromiter(numbers, np.int64))

    def column(self, kind: Any, items: Sequence[Any]) -> None:
        inner = kind.of if isinstance(kind, Maybe) else kind
        if inner in self.numberers and (kind is inner or inner != NUMBER):
            return self.add(map(self.numberers[inner], items))
        if kind == BOOL or kind in INTEGERS:
            return self.add(items)
        if inner == BOOL or inner in INTEGERS:
            return self.add([-1 if number is None else number for number in items])
        if isinstance(kind, Maybe):
            return self.optional(inner, items)
        if not isinstance(kind, Many):
            return self.fields(FIELDS[kind], items)
        if kind.item is None:
            return self.fields(kind.of, items)
        self.add(map(len, items))
        self.column(kind.item, list(chain.from_iterable(items)))

    def optional(self, kind: Any, items: Sequence[Any]) -> None:
        self.add([entry is not None for entry in items])
        self.column(kind, [entry for entry in items if entry is not None])

    def fields(self, kinds: Sequence[Any], rows: Sequence[Any]) -> None:
        columns = list(zip(*rows, strict=True)) or [()] * len(kinds)
        for kind, items in zip(kinds, columns, strict=True):
            self.column(kind, items)


# ---- reading


class TableReader:
    """The tables of a file; `values` maps a number to a Value, and -1 to None. Damaged if the
    content is invalid.

    `counts` says how many fields of each kind of record the file has.
    """

    def __init__(
        self, texts: list[str], reals: list[Any], numbers: Any, counts: Mapping[str, int]
    ) -> None:
        self.counts = counts
        self.texts: list[Any] = [*texts, None]
        self.reals = [real(number) for number in reals]
        self.groups: list[Any] = []
        self.spans: list[Any] = []
        self.values: Mapping[int, Value | None] = {}
        self.value_count = 0
        columns = ColumnReader(numbers, self)
        groups, spans = columns.integers(2)
        self.groups = [*columns.column(Many(item=INT), groups), None]
        self.spans = [*columns.records(Span, spans), None]
        columns.end()

    def value(self, number: Any) -> Value:
        """Return the value with this number, as the JSON document gives it."""
        stored = self.values[number] if integer(number) < self.value_count else None
        if stored is None:
            raise Damaged("a value's number is out of range")
        return stored


class ColumnReader:
    """A reader of the columns of records. Damaged if a number is out of its range, or there are too
    few or too many.
    """

    def __init__(self, numbers: Any, tables: TableReader) -> None:
        self.left = numbers
        self.tables = tables
        self.lookups: dict[Any, tuple[int, Callable[[int], Any]]] = {
            TEXT: (len(tables.texts) - 1, tables.texts.__getitem__),
            GROUP: (len(tables.groups) - 1, tables.groups.__getitem__),
            Span: (len(tables.spans) - 1, tables.spans.__getitem__),
            VALUE: (tables.value_count, tables.values.__getitem__),
            NUMBER: (len(tables.reals), tables.reals.__getitem__),
        }

    def record(self, kind: type) -> Any:
        """Return the only record."""
        row = self.column(kind, 1)[0]
        self.end()
        return row

    def end(self) -> None:
        if self.left.size:
            raise Damaged("a table is longer than it says")

    def integers(self, count: int, low: int = 0, high: int = LARGEST) -> list[int]:
        """Return the next `count` integers, each in range(low, high)."""
        if count > self.left.size:
            raise Damaged("a table is shorter than it says")
        part = self.left[:count]
        self.left = self.left[count:]
        if count and (part.min() < low or part.max() >= high):
            raise Damaged("a number is out of range")
        return part.tolist()

    def column(self, kind: Any, count: int) -> Sequence[Any]:
        optional = isinstance(kind, Maybe)
        inner = kind.of if isinstance(kind, Maybe) else kind
        if inner in self.lookups and not (optional and inner == NUMBER):
            size, look_up = self.lookups[inner]
            return list(map(look_up, self.integers(count, -1 if optional else 0, size)))
        if inner in INTEGERS:
            numbers = self.integers(count, -1 if optional else 0)
            return (
                numbers if not optional else [None if number < 0 else number for number in numbers]
            )
        if inner == BOOL:
            flags = self.integers(count, -1 if optional else 0, 2)
            return [None if flag < 0 else bool(flag) for flag in flags]
        if isinstance(kind, Maybe):
            there = self.integers(count, 0, 2)
            items = iter(self.column(inner, sum(there)))
            return [next(items) if is_there else None for is_there in there]
        if not isinstance(kind, Many):
            return self.records(kind, count)
        return (
            self.sequences(kind.item, count) if kind.item is not None else self.rows(kind.of, count)
        )

    def sequences(self, kind: Any, count: int) -> list[tuple[Any, ...]]:
        lengths = self.integers(count)
        total = sum(lengths)
        if total > self.left.size:  # each item has a number of its own
            raise Damaged("a table is shorter than it says")
        items = iter(self.column(kind, total))
        return [tuple(islice(items, length)) if length else () for length in lengths]

    def rows(self, kinds: Sequence[Any], count: int) -> list[tuple[Any, ...]]:
        return list(zip(*[self.column(kind, count) for kind in kinds], strict=True))

    def records(self, kind: Any, count: int) -> list[Any]:
        make: Any = partial(tuple.__new__, kind)
        stored = self.tables.counts[kind.__name__]
        columns = [self.column(field, count) for field in FIELDS[kind][:stored]]
        columns += [[kind._field_defaults[name]] * count for name in kind._fields[stored:]]
        return list(map(make, zip(*columns, strict=True)))
