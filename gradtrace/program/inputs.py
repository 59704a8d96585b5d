"""The inputs of a program: its unbound names, and those it declares.

An unbound name (used but never assigned, not a built-in, not a mathematical function or constant)
is an input. In a program with imports it is optional: if it has no value, using it raises
NameError, as in Python. `w: leaf = 1.0` and `x: data = [1, 2]` at the top level declare inputs with
a default.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any, Iterator, NamedTuple
from gradtrace.program import syntax as ast
from gradtrace.program.names import BUILTINS, QUANTITIES, is_known
from gradtrace.program.source import Source, Span, span_of

if TYPE_CHECKING:
    from types import CodeType

KINDS = ("leaf", "data")
READING = ("LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS")  # instructions


class Input(NamedTuple):
    """An input variable. Its `kind`: "leaf" requires grad, "data" does not, "free" (unbound) is a
    leaf by default.
    """

    name: str
    kind: str
    default: str | None
    span: Span
    optional: bool = False  # it may stay without a value

    @property
    def is_required(self) -> bool:
        return self.default is None and not self.optional


def find_inputs(
    tree: ast.Module, source: Source, code: CodeType | None = None
) -> tuple[Input, ...]:
    """Return the declared inputs, then the unbound names in the order of their first use.

    `code` is the program as Python compiled it, which has resolved every name; None for an
    expression, which binds names by assignments only.
    """
    declared = {
        i.name: i for i in (declared_input(node, source) for node in tree.body) if i is not None
    }
    nodes = list(ast.walk(tree))
    called = {
        node.func.id
        for node in nodes
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    bound, used = names_of_nodes(nodes) if code is None else names_of_code(code)
    free: dict[str, Span] = {}
    for name, span in used:
        if name in bound or name in declared or name in called or is_known(name):
            continue  # a called name is a function, perhaps misspelt
        if code is not None and name in BUILTINS and name not in QUANTITIES:
            continue
        if name not in free or span < free[name]:
            free[name] = span
    imports = any(isinstance(node, (ast.Import, ast.ImportFrom)) for node in nodes)
    unbound = sorted(free.items(), key=lambda item: item[1])
    return (
        *declared.values(),
        *(Input(name, "free", None, span, imports) for name, span in unbound),
    )


def declares_input(node: Any) -> bool:
    """Whether a statement is `name: leaf = value` or `name: data = value`."""
    if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
        return False
    return isinstance(node.annotation, ast.Name) and node.annotation.id in KINDS


def declared_input(node: Any, source: Source) -> Input | None:
    if not declares_input(node):
        return None
    default = None if node.value is None else ast.get_source_segment(source.text, node.value)
    return Input(node.target.id, node.annotation.id, default, span_of(node.target))


# ---- names that are bound, and used


def names_of_nodes(nodes: list[Any]) -> tuple[set[str], list[tuple[str, Span]]]:
    """Return the names that an expression binds, and those that it uses, each with its place."""
    names = [node for node in nodes if isinstance(node, ast.Name)]
    annotations = {node.annotation for node in nodes if isinstance(node, ast.AnnAssign)}
    bound = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
    return bound, [(node.id, span_of(node)) for node in names if node not in annotations]


def names_of_code(code: CodeType) -> tuple[set[str], list[tuple[str, Span]]]:
    """Return the names that a program binds in its module, and those that it reads there, each with
    its place.

    Python's compiler has found the scope of every name: comprehensions, parameters, classes, global
    and nonlocal, imports, patterns and the rest. What these instructions read or write is a
    variable of the module or, in the body of a class, of that class.
    """
    bound: set[str] = set()
    used: list[tuple[str, Span]] = []
    todo = [code]
    for block in todo:  # grows during the loop
        todo.extend(constant for constant in block.co_consts if isinstance(constant, type(code)))
        accesses = [*accesses_of(block)]
        own = {name for kind, name, _ in accesses if kind == "STORE_NAME"}
        bound.update(name for kind, name, _ in accesses if kind == "STORE_GLOBAL")
        if block is code:
            bound |= own
            own = set()
        used += [
            (name, span) for kind, name, span in accesses if kind in READING and name not in own
        ]
    return bound, [(name, span) for name, span in used if not name.startswith("__")]


def accesses_of(code: CodeType) -> Iterator[tuple[str, str, Span]]:
    """Yield the instructions of a code object that read or write a name of its module or class, and
    their places.
    """
    from opcode import opmap

    kinds = {
        opmap[kind]: kind for kind in (*READING, "STORE_NAME", "STORE_GLOBAL") if kind in opmap
    }
    text = code.co_code
    extended = opmap["EXTENDED_ARG"]
    higher = 0
    for at, where in zip(range(0, len(text), 2), code.co_positions()):
        operation = text[at]
        argument = text[at + 1] | higher
        higher = argument << 8 if operation == extended else 0
        if operation in kinds:
            kind = kinds[operation]
            line, end_line, column, end_column = (part or 0 for part in where)
            name = code.co_names[argument >> (kind == "LOAD_GLOBAL")]
            yield kind, name, Span(line, column, end_line, end_column)
