"""Parse a text into a Program: its syntax tree and its inputs. The errors are those of Python's own
compiler.
"""

from __future__ import annotations

import time

from gradtrace.annotations import TYPE_CHECKING, Any, NamedTuple
from gradtrace.errors import ParseError
from gradtrace.limits import Budget, advice
from gradtrace.program import syntax as ast
from gradtrace.program.depth import deep
from gradtrace.program.grammar import is_expression
from gradtrace.program.inputs import Input, find_inputs
from gradtrace.program.source import Source, Span

if TYPE_CHECKING:
    from types import CodeType


class Program(NamedTuple):
    """A parsed program."""

    source: Source
    tree: ast.Module
    inputs: tuple[Input, ...]
    imports_torch: bool
    record: Any = None  # of a program that comes with a recorded run of it (a `trace.file.Record`)
    modules: dict[str, Program] | None = None  # by name: its own, if they were looked for
    seconds: float = 0.0  # that parsing took, which count towards the time limit of a run

    def imports(self, module: str) -> bool:
        """Whether the program imports this top-level module or a submodule."""
        return module in imported_modules(self.tree)


def parse(text: str, name: str = "<expression>", budget: Budget | None = None) -> Program:
    """Parse a program; raise ParseError for invalid syntax, with its place and a hint."""
    start = time.monotonic()
    source = Source.of(name, text)
    limit = (budget or Budget()).source_bytes
    if size_of(text) > limit:
        raise ParseError(f"the program is larger than {limit} bytes", advice("source_bytes"))
    tree, code = compiled(source)
    inputs = find_inputs(tree, source, code)
    return Program(source, tree, inputs, imports_torch(tree), seconds=time.monotonic() - start)


def size_of(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def compiled(source: Source) -> tuple[ast.Module, CodeType | None]:
    """Return the syntax tree of a program, and the program as Python compiles it; for an expression
    the tree only.
    """
    import warnings

    if "\0" in source.text:
        line = source.text.count("\n", 0, source.text.index("\0")) + 1
        column = len(source.line(line).partition("\0")[0].encode("utf-8", "replace"))
        place = source.place(Span(line, column, line, column + 1))
        raise ParseError("the program is not text: here is a NUL character", "remove it", place)
    try:
        with warnings.catch_warnings(), deep():
            warnings.simplefilter("ignore")
            tree = ast.parse(source.text, source.name)
            return tree, None if is_expression(tree) else ast.compiled(tree, source.name)
    except SyntaxError as error:
        raise syntax_error(error, source) from None
    except (RecursionError, MemoryError):
        raise too_deep() from None
    except ValueError:  # a surrogate
        raise ParseError(
            "the program is not text", "remove the characters that are not Unicode text"
        ) from None


def syntax_error(error: SyntaxError, source: Source) -> ParseError:
    message = error.msg
    line = error.lineno or 1
    column = max((error.offset or 1) - 1, 0)
    shown = source.line(line)
    width = (error.end_offset or 0) - 1 - column if error.end_lineno == line else 1
    start, end = (
        len(shown[:n].encode("utf-8", "replace")) for n in (column, column + max(width, 1))
    )
    from gradtrace.program.notation import correction

    hint = correction(shown) or "fix the marked code"
    return ParseError(f"syntax error: {message}", hint, source.place(Span(line, start, line, end)))


def too_deep() -> ParseError:
    return ParseError("the program is nested too deeply", "split it into several statements")


def imported_modules(tree: ast.Module) -> set[str]:
    """Return the top-level names of the modules that a program imports."""
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names.append(node.module or "")
    return {name.partition(".")[0] for name in names}


def imports_torch(tree: ast.Module) -> bool:
    return not imported_modules(tree).isdisjoint(("torch", "gradtrace"))
