"""Text to Program: parsed by `ast`, each node type on a list of what the language has, inputs found.

A free name (never bound, not a built-in, not offered by the mathematics) is an input. `w: leaf = 1.0` and
`x: data = [1, 2]` at the top level are inputs with a default.
"""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

from gradtrace.errors import ParseError, UnsupportedError
from gradtrace.lang.budget import Budget
from gradtrace.lang.source import Source, Span, span_of

ALLOWED = ["Module", "Expr", "Assign", "AugAssign", "AnnAssign", "For", "While", "If", "With", "withitem", "Try", "ExceptHandler", "Raise", "Assert", "Pass", "Break", "Continue", "FunctionDef", "Return", "ClassDef", "Delete", "Import", "ImportFrom", "alias", "arguments", "arg", "keyword", "Lambda", "Nonlocal", "Global", "BoolOp", "BinOp", "UnaryOp", "IfExp", "Dict", "Set", "List", "Tuple", "ListComp", "SetComp", "DictComp", "GeneratorExp", "comprehension", "NamedExpr", "Compare", "Call", "Attribute", "Subscript", "Slice", "Starred", "Name", "Constant", "JoinedStr", "FormattedValue", "Load", "Store", "Del", "And", "Or", "Add", "Sub", "Mult", "MatMult", "Div", "Mod", "Pow", "LShift", "RShift", "BitOr", "BitXor", "BitAnd", "FloorDiv", "Invert", "Not", "UAdd", "USub", "Eq", "NotEq", "Lt", "LtE", "Gt", "GtE", "Is", "IsNot", "In", "NotIn"]
_ALLOWED = frozenset(getattr(ast, name) for name in ALLOWED)
REFUSED = {
    "Yield": "yield", "YieldFrom": "yield from", "Await": "await", "AsyncFunctionDef": "async def",
    "AsyncFor": "async for", "AsyncWith": "async with", "Match": "match", "TryStar": "except*",
}


class Input(NamedTuple):
    """A variable of a program. `kind`: "leaf" requires grad, "data" does not, "free" is a leaf unless told otherwise."""

    name: str
    kind: str
    default: str | None
    span: Span


class Program(NamedTuple):
    """A parsed program; `tree` has only node types of the language."""

    source: Source
    tree: ast.Module
    inputs: tuple[Input, ...]
    imports_torch: bool


def parse(text: str, name: str = "<expression>", budget: Budget | None = None) -> Program:
    """Reads a program. ParseError for bad syntax, UnsupportedError for what the language leaves out."""
    source = Source(name, text)
    limit = (budget or Budget()).source_bytes
    if len(text) > limit:
        raise ParseError(f"the program is larger than {limit} bytes", "raise it with --max-source")
    tree = parsed(source)
    for node in ast.walk(tree):
        if type(node) not in _ALLOWED:
            kind = type(node).__name__
            raise UnsupportedError(
                f"'{REFUSED.get(kind, kind)}' is not part of the language",
                "write it with functions, loops and comprehensions",
                source.place(span_of(node)) if hasattr(node, "lineno") else None,
            )
    imports = any(
        (alias.name if isinstance(node, ast.Import) else node.module or "").split(".")[0] in ("torch", "gradtrace")
        for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom)) for alias in node.names
    )
    return Program(source, tree, find_inputs(tree, source), imports)


def parsed(source: Source) -> ast.Module:
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source.text, source.name)
    except SyntaxError as error:
        line, column = error.lineno or 1, max((error.offset or 1) - 1, 0)
        shown = source.line(line)
        start = len(shown[:column].encode("utf-8"))
        end = max((error.end_offset or 0) - 1, column + 1)
        span = Span(line, start, line, len(shown[:end].encode("utf-8")))
        raise ParseError(f"syntax error: {error.msg}", "correct the marked place", source.place(span)) from None
    except (RecursionError, MemoryError):
        raise ParseError("the program is nested too deeply", "split it into several statements") from None
    except ValueError as error:
        raise ParseError(str(error), "remove the character") from None


def bound_names(tree: ast.AST) -> set[str]:
    """Every name that the program binds somewhere."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            names.add(node.name)
        elif isinstance(node, ast.alias):
            names.add(node.asname or node.name.split(".")[0])
    return names


def find_inputs(tree: ast.Module, source: Source) -> tuple[Input, ...]:
    from gradtrace.lang.names import is_known

    declared = {i.name: i for node in tree.body for i in (declared_input(node, source),) if i is not None}
    bound = bound_names(tree) - set(declared)
    found: dict[str, Input] = {}
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    loads = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
    for node in sorted(loads, key=lambda n: (n.lineno, n.col_offset)):
        name = node.id
        if name in declared or name in bound or name in found or name in ("leaf", "data"):
            continue
        if is_known(name) or id(node) in called:
            continue  # a name that is called is a function's, misspelt or not
        found[name] = Input(name, "free", None, span_of(node))
    return (*declared.values(), *found.values())


def declared_input(node: Any, source: Source) -> Input | None:
    """The input that `name: leaf = value` or `name: data = value` declares."""
    if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
        return None
    if not isinstance(node.annotation, ast.Name) or node.annotation.id not in ("leaf", "data"):
        return None
    default = None if node.value is None else ast.get_source_segment(source.text, node.value)
    return Input(node.target.id, node.annotation.id, default, span_of(node.target))
