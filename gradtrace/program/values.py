"""Change a program's syntax tree so that it gives the values of its expressions."""

from __future__ import annotations

from gradtrace.annotations import Any
from gradtrace.program import syntax as ast
from gradtrace.program.inputs import declares_input

# No identifier, so that no program has this name.
VALUE = "<value>"


def with_values(tree: ast.Module) -> ast.Module:
    """Change top-level expressions to give their value to `<value>`, and leave out declared inputs
    (`w: leaf = 1.0`), which have their values already.
    """
    body: list[Any] = []
    for number, node in enumerate(tree.body):
        is_docstring = number == 0 and len(tree.body) > 1 and is_text(node)
        if isinstance(node, ast.Expr) and not is_docstring:
            node.value = call(VALUE, [node.value], node)
        if not declares_input(node):
            body.append(node)
    tree.body = body
    return tree


def is_text(node: Any) -> bool:
    """Whether a statement is a text alone, such as a docstring."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def call(name: str, arguments: list[Any], place: Any) -> Any:
    """Return the call of a function that no program can name, at the place of a node."""
    function = ast.copy_location(ast.Name(name, ast.Load()), place)
    return ast.copy_location(ast.Call(function, arguments, []), place)
