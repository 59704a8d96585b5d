"""Functions of expressions without imports: torch's functions by their bare names, for tensors and numbers."""

from __future__ import annotations

import builtins

from gradtrace import ops
from gradtrace.annotations import Any
from gradtrace.engine.data.tensor import Tensor
from gradtrace.lazy_names import words
from gradtrace.program import syntax as ast
from gradtrace.program.names import CONSTANTS, MATHEMATICS, MODULES

# Functions whose arguments stay numbers instead of being converted to tensors.
MAKERS = frozenset(words("arange eye full linspace ones ones_like pow rand randn tensor where zeros zeros_like"))


def find_mathematics(tree: ast.Module) -> dict[str, Any]:
    """Return the names of mathematics that a program uses, with their values."""
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    functions = {name: function_of_torch(name) for name in used & MATHEMATICS}
    constants = {name: CONSTANTS[name] for name in used & set(CONSTANTS)}
    modules = {name: module_named(MODULES[name]) for name in used & set(MODULES)}
    return {**functions, **constants, **modules}


def function_of_torch(name: str) -> Any:
    """Return torch's function of this name; calls without tensors use Python's built-in (abs, max), if any."""
    builtin = getattr(builtins, name, None)
    function: Any = ops.find(ops.api.functions, name) or ops.find(ops.api.functional, name)

    def call(*args: Any, **kwargs: Any) -> Any:
        if builtin is not None and args and not any(isinstance(a, Tensor) for a in args):
            return builtin(*args, **kwargs)
        if args and type(args[0]) in (int, float, bool) and name not in MAKERS:
            return function(Tensor._wrap(float(args[0])), *args[1:], **kwargs)
        return function(*args, **kwargs)

    call.__name__ = call.__qualname__ = name
    return call


def module_named(name: str) -> Any:
    """Return a module of torch, or Python's own."""
    from importlib import import_module

    from gradtrace.program.torch_names import LIBRARY

    return import_module(LIBRARY.get(name, name))
