"""The records of a trace as columns of integers."""

from __future__ import annotations

from gradtrace.annotations import NamedTuple
from gradtrace.trace.columns import ColumnReader, ColumnWriter, TableReader, TableWriter


class Known(NamedTuple):
    id: int
    text: str
    more: int = 7
    names: tuple[str, ...] = ("none",)


class Earlier(NamedTuple):
    id: int
    text: str


def test_the_records_of_an_earlier_file_get_the_defaults_of_later_fields() -> None:
    tables = TableWriter(lambda value: 0)
    columns = ColumnWriter(tables)
    columns.column(Earlier, [Earlier(1, "a"), Earlier(2, "b")])
    counts = {"Known": len(Earlier._fields), "Span": 5}
    read = ColumnReader(
        columns.numbers(), TableReader(tables.texts.things, [], tables.numbers(), counts)
    )
    assert read.column(Known, 2) == [Known(1, "a"), Known(2, "b")]
    read.end()
