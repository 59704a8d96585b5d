"""Functions of expressions without imports: torch's functions by their bare names, for tensors and
numbers.
"""

from __future__ import annotations

import builtins
import math
from importlib import import_module

from gradtrace import ops
from gradtrace.annotations import Any
from gradtrace.engine.data.tensor import Tensor
from gradtrace.program import syntax as ast
from gradtrace.program.names import CALCULATING, CONSTANTS, MATHEMATICS, MODULES
from gradtrace.program.operators import power

# Functions whose arguments stay numbers instead of being converted to tensors.
MAKERS = frozenset(
    ("arange", "eye", "full", "linspace", "ones", "ones_like", "pow", "rand", "randn", "tensor")
)
MAKERS |= {"where", "zeros", "zeros_like"}
NUMBERS = frozenset((int, float, bool))
LIBRARY = {"torch.nn.functional": "gradtrace.nn.functional", "F": "gradtrace.nn.functional"}


def find_mathematics(tree: ast.Module) -> dict[str, Any]:
    """Return the names of mathematics that a program uses, with their values."""
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    functions = {name: function_of_torch(name) for name in used & MATHEMATICS}
    constants = {name: CONSTANTS[name] for name in used & set(CONSTANTS)}
    modules = {name: import_module(MODULES[name]) for name in used & set(MODULES)}
    return {**functions, **constants, **modules}


def value_of_name(name: str) -> Any:
    """Return the value of a name that an expression does not bind; raise KeyError for an unknown
    name.
    """
    if name in MATHEMATICS:
        return function_of_torch(name)
    if name in CALCULATING:
        return getattr(builtins, name)
    return CONSTANTS[name]


def value_in_module(module: str, name: str) -> Any:
    """Return the value of a name in a module such as torch.linalg or F; raise AttributeError for an
    unknown name.
    """
    if module == "math":
        return getattr(math, name)
    if module == "torch" and (function := ops.find(ops.api.functions, name)) is not None:
        return function  # gradtrace.trace is a package, but torch.trace is the function
    return getattr(import_module(LIBRARY.get(module, module.replace("torch", "gradtrace"))), name)


def function_of_torch(name: str) -> Any:
    """Return torch's function of this name; calls without tensors use Python's built-in (abs, max),
    if any.
    """
    builtin = getattr(builtins, name, None)
    function: Any = ops.find(ops.api.functions, name) or ops.find(ops.api.functional, name)
    if name in MAKERS and builtin is None:
        return function

    def call(*args: Any, **kwargs: Any) -> Any:
        if builtin is not None and args and not any(isinstance(a, Tensor) for a in args):
            return (
                power(*args)
                if name == "pow" and len(args) == 2 and not kwargs
                else builtin(*args, **kwargs)
            )
        if args and type(args[0]) in NUMBERS and name not in MAKERS:
            return function(Tensor._wrap(float(args[0])), *args[1:], **kwargs)
        return function(*args, **kwargs)

    call.__name__ = call.__qualname__ = name
    return call
