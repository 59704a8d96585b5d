"""The places of a program in execution: the innermost frame of its code, as the number of an
instruction.

Instructions are converted to spans by the positions that the compiler stores (PEP 657), once for
each. Both front ends note and convert places in this way.
"""

from __future__ import annotations

import sys

from gradtrace.annotations import Any, Callable
from gradtrace.program import syntax as ast
from gradtrace.program.source import Place, Source, Span

Position = tuple[int, int, int, int]  # line, end line, column, end column
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Places:
    """Numbers of places, which are (code object, instruction); 0 stands for no place.

    Code objects are found by their id(), since hashing one takes longer than all the rest. A
    subclass keeps them, so that no other one gets the id() of one.
    """

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, int], int] = {}

    def number(self, code: Any, instruction: int) -> int:
        key = (id(code), instruction)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = self.add(code, instruction)
        return number

    def add(self, code: Any, instruction: int) -> int:
        """Note a new place; return its number."""
        raise NotImplementedError


class Positions:
    """The lines and columns of instructions, from what the compiler stores and from the syntax tree
    of a file.
    """

    def __init__(self, find_tree: Callable[[str], ast.Module | None]) -> None:
        self._find_tree = find_tree  # by the file name of a code object
        # by id() of the code object, which is kept
        self._stored: dict[int, tuple[Any, list[Any]]] = {}
        self._exact: dict[str, dict[Position, Position]] = {}

    def find(self, code: Any, instruction: int) -> Position | None:
        """Return the position of an instruction's expression; None if the compiler has stored
        none.
        """
        if id(code) not in self._stored:
            self._stored[id(code)] = code, list(code.co_positions())
        line, end_line, column, end_column = self._stored[id(code)][1][instruction // 2]
        if line is None:
            return None
        if code.co_filename not in self._exact:
            tree = self._find_tree(code.co_filename)
            self._exact[code.co_filename] = {} if tree is None else exact_positions(tree)
        position = line, end_line or line, column or 0, end_column or 0
        return self._exact[code.co_filename].get(position, position)


class ProgramPlaces(Places):
    """The places of a program that gradtrace runs: their spans, and the sources that they are in,
    by `Span.file`.
    """

    def __init__(self, spans: list[Span] | None = None) -> None:
        super().__init__()
        self.spans = [Span(0, 0, 0, 0)] if spans is None else spans
        self.sources: list[Source] = []
        self.files: dict[str, int] = {}  # by the file name of code objects
        self._trees: list[ast.Module] = []
        self._positions = Positions(lambda name: self._trees[self.files[name]])

    def add_source(self, source: Source, tree: ast.Module, name: str) -> int:
        """Add a source whose code objects have this file name; return its number."""
        file = len(self.sources)
        self.sources.append(source)
        self.files[name] = file
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
        """Return the number of the innermost place of the program on the stack that ends with a
        frame.
        """
        while frame is not None:
            code = frame.f_code
            if code.co_filename in self.files:
                return self.number(code, frame.f_lasti)
            frame = frame.f_back
        return 0

    def of_traceback(self, traceback: Any) -> int:
        """Return the number of the innermost place of the program in a traceback."""
        number = 0
        while traceback is not None:
            code = traceback.tb_frame.f_code
            if code.co_filename in self.files:
                number = self.number(code, traceback.tb_lasti)
            traceback = traceback.tb_next
        return number

    def add(self, code: Any, instruction: int) -> int:
        return self.add_span(self.find_span(code, instruction))

    def add_span(self, span: Span) -> int:
        self.spans.append(span)
        return len(self.spans) - 1

    def find_span(self, code: Any, instruction: int) -> Span:
        file = self.files[code.co_filename]
        position = self._positions.find(code, instruction)
        if position is None:
            return Span(code.co_firstlineno, 0, code.co_firstlineno, 0, file)
        line, end_line, column, end_column = position
        return Span(line, column, end_line, end_column, file)

    def place(self, number: int) -> Place | None:
        """Return the place of a number for a message; None for 0."""
        if not 0 < number < len(self.spans):
            return None
        span = self.spans[number]
        return self.sources[span.file].place(span)


def exact_positions(tree: ast.Module) -> dict[Position, Position]:
    """Return the positions of expressions for which the compiler stores other ones.

    What a loop or a comprehension takes its items from is called with the position of the whole,
    and a method that follows its object on another line with the position of its name.
    """
    positions: dict[Position, Position] = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.For, ast.AsyncFor)):
            positions[position_of(node)] = position_of(node.iter)
        elif isinstance(node, COMPREHENSIONS):
            positions[position_of(node)] = position_of(node.generators[0].iter)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name = node.func
            if name.end_lineno != node.lineno:
                line = name.end_lineno or 0
                column = (name.end_col_offset or 0) - len(name.attr.encode())
                positions[line, node.end_lineno or 0, column, node.end_col_offset or 0] = (
                    position_of(node)
                )
        elif isinstance(node, ast.Assert):
            positions[position_of(node)] = position_of(node.test)
    return positions


def position_of(node: Any) -> Position:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset
