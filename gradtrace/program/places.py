"""The places of a program in execution: the innermost frame of its code, as the number of a span.

A frame's instruction is converted to a span by the positions that the compiler stores (PEP 657), once for each
instruction. Number 0 means no place.
"""

from __future__ import annotations

import sys

from gradtrace.annotations import Any
from gradtrace.program import syntax as ast
from gradtrace.program.source import Place, Source, Span, span_of

Position = tuple[int, int, int, int]  # line, end line, column, end column


class Places:
    """The spans of a run, by number, and the sources that they are in, by `Span.file`."""

    def __init__(self, spans: list[Span] | None = None) -> None:
        self.spans = [Span(0, 0, 0, 0)] if spans is None else spans
        self.sources: list[Source] = []
        self._files: dict[str, int] = {}  # by the file name of code objects
        self._trees: list[ast.Module] = []
        self._exact: dict[int, dict[Position, Span]] = {}  # by `Span.file`, of those that were asked for
        self._numbers: dict[tuple[int, int], int] = {}
        self._codes: list[Any] = []  # kept, so that no other code object gets the id() of one of them
        self._positions: dict[int, list[Any]] = {}

    def add(self, source: Source, tree: ast.Module, name: str) -> int:
        """Add a source whose code objects have this file name; return its number."""
        file = len(self.sources)
        self.sources.append(source)
        self._files[name] = file
        self._trees.append(tree)
        return file

    def here(self, depth: int = 1) -> int:
        """Return the number of the innermost place of the program on the stack."""
        frame: Any = sys._getframe(1)
        for _ in range(depth - 1):
            if frame is not None:  # what is called by Python itself, such as __del__, has no caller
                frame = frame.f_back
        return self.of_stack(frame)

    def of_thread(self, thread: int) -> int:
        """Return the number of the innermost place of the program on the stack of a thread."""
        return self.of_stack(sys._current_frames().get(thread))

    def of_stack(self, frame: Any) -> int:
        """Return the number of the innermost place of the program on the stack that ends with a frame."""
        while frame is not None:
            code = frame.f_code
            if code.co_filename in self._files:
                return self.number(code, frame.f_lasti)
            frame = frame.f_back
        return 0

    def of_traceback(self, traceback: Any) -> int:
        """Return the number of the innermost place of the program in a traceback."""
        number = 0
        while traceback is not None:
            code = traceback.tb_frame.f_code
            if code.co_filename in self._files:
                number = self.number(code, traceback.tb_lasti)
            traceback = traceback.tb_next
        return number

    def number(self, code: Any, instruction: int) -> int:
        key = (id(code), instruction)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = self.add_span(self.find_span(code, instruction))
        return number

    def add_span(self, span: Span) -> int:
        self.spans.append(span)
        return len(self.spans) - 1

    def find_span(self, code: Any, instruction: int) -> Span:
        if id(code) not in self._positions:
            self._codes.append(code)
            self._positions[id(code)] = list(code.co_positions())
        file = self._files[code.co_filename]
        position = self._positions[id(code)][instruction // 2]
        line, end_line, column, end_column = position
        if line is None:
            return Span(code.co_firstlineno, 0, code.co_firstlineno, 0, file)
        if file not in self._exact:
            self._exact[file] = exact_spans(self._trees[file], file)
        return self._exact[file].get(position) or Span(line, column or 0, end_line or line, end_column or 0, file)

    def place(self, number: int) -> Place | None:
        """Return the place of a number for a message; None for 0."""
        if not 0 < number < len(self.spans):
            return None
        span = self.spans[number]
        return self.sources[span.file].place(span)


def exact_spans(tree: ast.Module, file: int) -> dict[Position, Span]:
    """Return the spans of expressions for which the compiler stores other positions.

    What a `for` takes its items from is called with the position of the whole loop, and a method that follows its
    object on another line with the position of its name.
    """
    spans: dict[Position, Span] = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.For, ast.AsyncFor)):
            spans[position_of(node)] = span_of(node.iter, file)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name = node.func
            if name.end_lineno != node.lineno:
                line, column = name.end_lineno or 0, (name.end_col_offset or 0) - len(name.attr.encode())
                spans[line, node.end_lineno or 0, column, node.end_col_offset or 0] = span_of(node, file)
        elif isinstance(node, ast.Assert):
            spans[position_of(node)] = span_of(node.test, file)
    return spans


def position_of(node: Any) -> Position:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset
