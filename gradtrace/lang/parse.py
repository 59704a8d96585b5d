"""Parse a text into a Program: check every node type against an allow-list, and resolve scopes and inputs."""

from __future__ import annotations

import time

from gradtrace.annotations import Any, NamedTuple
from gradtrace.errors import GradtraceError, ParseError, UnsupportedError
from gradtrace.lang import checks
from gradtrace.lang.budget import exceeded
from gradtrace.lang.inputs import Input, find_inputs
from gradtrace.lang.scope import Scopes, analyse
from gradtrace.lang.words import words
from gradtrace.limits import Budget, advice
from gradtrace.program import syntax as ast
from gradtrace.program.depth import deep
from gradtrace.program.source import Source, Span, span_of

# The node types of the language: statements, patterns, expressions, contexts and operators.
ALLOWED = frozenset(
    getattr(ast, name)
    for name in words("""
        Module Expr Assign AugAssign AnnAssign For While If With withitem Try ExceptHandler Raise Assert Pass Break
        Continue FunctionDef Return ClassDef Delete Import ImportFrom alias arguments arg keyword Nonlocal Global
        Match match_case MatchValue MatchSingleton MatchSequence MatchMapping MatchClass MatchStar MatchAs MatchOr
        BoolOp BinOp UnaryOp IfExp Dict Set List Tuple ListComp SetComp DictComp GeneratorExp comprehension NamedExpr
        Compare Call Attribute Subscript Slice Starred Name Constant JoinedStr FormattedValue Lambda Yield YieldFrom
        Load Store Del And Or Add Sub Mult MatMult Div Mod Pow LShift RShift BitOr BitXor BitAnd FloorDiv Invert Not
        UAdd USub Eq NotEq Lt LtE Gt GtE Is IsNot In NotIn""")
)
REFUSED = {
    "Await": ("await", "call the function directly"),
    "AsyncFunctionDef": ("async def", "write a plain def"),
    "AsyncFor": ("async for", "write a plain for"),
    "AsyncWith": ("async with", "write a plain with"),
    "comprehension": ("async for", "write a plain for"),
    "TryStar": ("except*", "write a plain except"),
}
# Seconds at most of parsing a byte of text, an expression in an f-string, a byte searched for one; of checking a node.
A_BYTE, AN_EXPRESSION, A_SEARCHED_BYTE, A_NODE = 1e-6, 3e-5, 5e-10, 1.5e-5
CONSTANTS = {bytes: ("bytes", "write a str"), complex: ("complex numbers", "use separate real and imaginary parts")}


class Program(NamedTuple):
    """A parsed program; `tree` has only allowed node types, `scopes` the names of each scope."""

    source: Source
    tree: ast.Module
    inputs: tuple[Input, ...]
    imports_torch: bool
    scopes: Scopes
    record: Any = None  # of a program that comes with a recorded run of it (a `trace.file.Record`)
    modules: dict[str, Program] | None = None  # by name: its own, if they were looked for
    seconds: float = 0.0  # that parsing took, which count towards the time limit of a run

    def imports(self, module: str) -> bool:
        """Whether the program imports this top-level module or a submodule."""
        return module in imported_modules(self.tree)


def parse(text: str, name: str = "<expression>", budget: Budget | None = None) -> Program:
    """Parse a program; raise ParseError for invalid syntax, UnsupportedError for syntax outside the language."""
    source = Source.of(name, text)
    budget = budget or Budget()
    limit = budget.source_bytes
    if size_of(text) > limit:
        raise ParseError(f"the program is larger than {limit} bytes", advice("source_bytes"))
    start = time.monotonic()
    check_time(parsing_seconds(source.text), start, budget)
    tree = parse_tree(source)
    nodes = list(ast.walk(tree))
    check_time(len(nodes) * A_NODE, start, budget)
    for node in nodes:
        if type(node) not in ALLOWED or (type(node) is ast.comprehension and node.is_async):
            raise unsupported(node, source)
        if type(node) is ast.Constant and type(node.value) in CONSTANTS:
            what, instead = CONSTANTS[type(node.value)]
            raise UnsupportedError(f"{what} are not part of the language", instead, source.place(span_of(node)))
        if type(node) is ast.ClassDef and any(keyword.arg is None for keyword in node.keywords):
            raise UnsupportedError(
                "** in a class statement is not part of the language",
                "write the keywords",
                source.place(span_of(node.keywords[0])),
            )
    scopes = analyse(tree)
    fault = checks.first_fault(tree, scopes)
    if fault is not None:
        raise ParseError(f"syntax error: {fault.message}", "fix the marked code", source.place(span_of(fault.node)))
    add_star_imports(tree, scopes)
    inputs = find_inputs(tree, scopes, source)
    return Program(source, tree, inputs, imports_torch(tree), scopes, seconds=time.monotonic() - start)


def parsing_seconds(text: str) -> float:
    """Return an upper bound of the time that Python's parser takes for a text.

    Before Python 3.12 each expression of an f-string takes a parser of its own and a search of the whole string, which
    is one line of the text if there are no strings over several lines.
    """
    if "{" not in text:
        return len(text) * A_BYTE
    apart = ('"""', "'''", "\\\n")
    pieces = [text] if any(sign in text for sign in apart) else text.split("\n")
    searched = sum(piece.count("{") * len(piece) for piece in pieces)
    return len(text) * A_BYTE + text.count("{") * AN_EXPRESSION + searched * A_SEARCHED_BYTE


def check_time(seconds: float, start: float, budget: Budget) -> None:
    """Raise BudgetError if a step that takes so many seconds would end after the time limit."""
    if time.monotonic() + seconds > start + budget.seconds:
        raise exceeded("seconds", f"the program takes longer than {budget.seconds:g} s to be read")


def size_of(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def parse_tree(source: Source) -> ast.Module:
    import warnings

    if "\0" in source.text:
        line = source.text.count("\n", 0, source.text.index("\0")) + 1
        column = len(source.line(line).partition("\0")[0].encode("utf-8", "replace"))
        place = source.place(Span(line, column, line, column + 1))
        raise ParseError("the program is not text: here is a NUL character", "remove it", place)
    try:
        with warnings.catch_warnings(), deep():
            warnings.simplefilter("ignore")
            return ast.parse(source.text, source.name)
    except SyntaxError as error:
        raise syntax_error(error, source) from None
    except (RecursionError, MemoryError):
        raise too_deep() from None
    except ValueError:  # a surrogate
        raise ParseError("the program is not text", "remove the characters that are not Unicode text") from None


def syntax_error(error: SyntaxError, source: Source) -> ParseError:
    message = error.msg
    line, column = error.lineno or 1, max((error.offset or 1) - 1, 0)
    shown = source.line(line)
    width = (error.end_offset or 0) - 1 - column if error.end_lineno == line else 1
    start, end = (len(shown[:n].encode("utf-8", "replace")) for n in (column, column + max(width, 1)))
    from gradtrace.program.notation import correction

    hint = correction(shown) or "fix the marked code"
    return ParseError(f"syntax error: {message}", hint, source.place(Span(line, start, line, end)))


def too_deep() -> ParseError:
    return ParseError("the program is nested too deeply", "split it into several statements")


def unsupported(node: Any, source: Source) -> GradtraceError:
    kind = type(node).__name__
    what, instead = REFUSED.get(kind, (kind, "write it with functions, loops and comprehensions"))
    marked = node.target if isinstance(node, ast.comprehension) else node
    place = source.place(span_of(marked)) if hasattr(marked, "lineno") else None
    return UnsupportedError(f"'{what}' is not part of the language", instead, place)


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


def add_star_imports(tree: ast.Module, scopes: Scopes) -> None:
    """Bind the names of `from math import *` in the module's scope."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
            from gradtrace.lang.namespaces import exported_names

            scopes[tree].bound.update(exported_names(node.module or ""))
