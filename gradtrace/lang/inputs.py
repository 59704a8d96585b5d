"""The inputs of a program: its unbound names, and those it declares.

An unbound name (used but never assigned, not a built-in, not a mathematical function or constant) is an input. In a
program with imports it is optional: if it has no value, using it raises NameError, as in Python.
`w: leaf = 1.0` and `x: data = [1, 2]` at the top level declare inputs with a default.
"""

from __future__ import annotations

from gradtrace.annotations import Any
from gradtrace.lang.names import is_known
from gradtrace.lang.scope import Scopes, position
from gradtrace.program import syntax as ast
from gradtrace.program.inputs import Input, declared_input, declares_input
from gradtrace.program.source import Source, span_of

__all__ = ["Input", "declares_input", "find_inputs"]


def find_inputs(tree: ast.Module, scopes: Scopes, source: Source) -> tuple[Input, ...]:
    """Return the declared inputs, then the unbound names in the order of their first use."""
    declared = {i.name: i for i in (declared_input(node, source) for node in tree.body) if i is not None}
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    bound = scopes[tree].bound
    free: dict[str, Any] = {}
    for scope in scopes.values():
        for name, node in scope.used.items():
            if name in bound or name in declared or name == "__class__" or scope.kind_of(name) != "global":
                continue
            if is_known(name) or name in called:
                continue  # a called name is a function, perhaps misspelt
            if name not in free or position(node) < position(free[name]):
                free[name] = node
    unbound = sorted(free.items(), key=lambda item: position(item[1]))
    imports = any(isinstance(node, (ast.Import, ast.ImportFrom)) for node in ast.walk(tree))
    return (*declared.values(), *(Input(name, "free", None, span_of(node), imports) for name, node in unbound))
