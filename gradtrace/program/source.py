"""The text of a program, and places in it for messages."""

from __future__ import annotations

from gradtrace.annotations import Any, NamedTuple


class Span(NamedTuple):
    """A span of source: 1-based lines, 0-based byte columns, as in the ast module."""

    line: int
    column: int
    end_line: int
    end_column: int
    # among the sources of a run: 0 is the program, others are modules that it imports
    file: int = 0


class Place(NamedTuple):
    """A place for a message: 1-based line and column in characters, the line's text, the columns to
    underline.
    """

    name: str
    line: int
    column: int
    text: str
    width: int


class Source(NamedTuple):
    """A program's text with \\n line endings, and the name used in messages."""

    name: str
    text: str

    @classmethod
    def of(cls, name: str, text: str) -> Source:
        """Make a Source with normalised line endings and no byte order mark, as Python's tokenizer
        reads text.
        """
        return cls(name, text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n"))

    def line(self, number: int) -> str:
        lines = self.text.split("\n")
        return lines[number - 1] if 0 < number <= len(lines) else ""

    def place(self, span: Span) -> Place:
        """Return the place of a span, with columns converted from bytes to characters."""
        text = self.line(span.line)
        data = text.encode("utf-8", "replace")
        column = len(data[: span.column].decode("utf-8", "replace"))
        end = (
            len(text)
            if span.end_line != span.line
            else len(data[: span.end_column].decode("utf-8", "replace"))
        )
        return Place(self.name, span.line, column + 1, text, max(end - column, 1))


def span_of(node: Any, file: int = 0) -> Span:
    end_line = node.end_lineno or node.lineno
    end_column = node.end_col_offset or node.col_offset
    return Span(node.lineno, node.col_offset, end_line, end_column, file)
