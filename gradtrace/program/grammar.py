"""What an expression may contain: a short list of node types, names and attributes.

    (x + w) * (w + 1)        sin(x)**2        y = x @ w; y.sum(dim=0)        F.mse_loss(y, t, reduction="sum")

An expression is evaluated in the process itself. Everything else, such as a loop, a lambda or an
import, is a program.
"""

from __future__ import annotations

import math

from gradtrace.annotations import Any
from gradtrace.lazy_names import words
from gradtrace.ops import families
from gradtrace.program import syntax as ast
from gradtrace.program.inputs import declares_input
from gradtrace.program.names import BUILTINS, CALCULATING, MATHEMATICS, UNUSUAL

ALLOWED = frozenset(
    getattr(ast, name)
    for name in words("""
        Module Expr Assign BoolOp BinOp UnaryOp IfExp List Tuple Compare Call keyword Attribute Subscript Slice Name
        Constant Load Store And Or Add Sub Mult MatMult Div Mod Pow LShift RShift BitOr BitXor BitAnd FloorDiv Invert
        Not UAdd USub Eq NotEq Lt LtE Gt GtE Is IsNot In NotIn
        """)
)
CONSTANT_TYPES = frozenset((bool, int, float, str, type(None), type(...)))
# Methods that return objects of numpy or call functions, and the keyword for a result's place.
LEFT_TO_PROGRAMS = frozenset(
    words("apply_ map_ map2_ numpy register_hook register_post_accumulate_grad_hook out")
)
# Names of torch that are not operators.
OTHER_NAMES = frozenset(
    words("""
    as_tensor bool double e empty eye float float16 float32 float64 full half inf int int16 int32 int64 int8 long
    manual_seed nan newaxis ones ones_like pi scalar_tensor short tensor uint8 zeros zeros_like
    """)
)
LONGEST = 2  # names after the first in that of a module: torch.nn.functional
FUNCTIONAL = ("torch.nn.functional", "F")
MODULES = frozenset(
    ("torch", "torch.linalg", "torch.special", "torch.autograd", "math", *FUNCTIONAL)
)


def is_expression(tree: ast.Module) -> bool:
    """Whether a syntax tree is that of an expression, or of several with assignments of plain
    names.
    """
    todo: list[Any] = [tree]
    paths: set[ast.AST] = set()  # the parts of a dotted name that has been checked as a whole
    for node in todo:  # grows during the loop
        if node in paths:
            continue
        kind = type(node)
        if kind is ast.AnnAssign and declares_input(node):
            if node.value is not None:
                todo.append(node.value)
            continue
        if kind not in ALLOWED or not is_allowed(node, kind, paths):
            return False
        todo.extend(ast.iter_child_nodes(node))
    return True


def is_allowed(node: Any, kind: type, paths: set[ast.AST]) -> bool:
    """Whether a node of an allowed type has allowed contents."""
    if kind is ast.Name:
        return is_name(node.id)
    if kind is ast.Constant:
        return type(node.value) in CONSTANT_TYPES
    if kind is ast.Assign:
        return all(type(target) is ast.Name for target in node.targets)
    if kind is ast.Call:
        named = [keyword.arg for keyword in node.keywords]
        calls_python = isinstance(node.func, ast.Name) and node.func.id in UNUSUAL
        return None not in named and len({*named}) == len(named) and not calls_python
    if kind is ast.BinOp:
        return type(node.op) is not ast.Mod or not is_text(node.left)
    if kind is ast.keyword:
        return node.arg not in LEFT_TO_PROGRAMS
    if kind is not ast.Attribute:
        return True
    if node.attr.startswith("_") or node.attr in LEFT_TO_PROGRAMS or is_text(node.value):
        return False
    module, parts = dotted(node.value)
    if module.partition(".")[0] in ("torch", "math", "F"):
        paths.update(parts)
        return module in MODULES and has_name(module, node.attr)
    return True


def is_text(node: Any) -> bool:
    """Whether a node is that of a text, or of one that is repeated or joined: an expression cannot
    use its methods.
    """
    parts = (node.left, node.right) if type(node) is ast.BinOp else (node,)
    return any(isinstance(part, ast.Constant) and isinstance(part.value, str) for part in parts)


def is_name(name: str) -> bool:
    """Whether a name is that of a variable, or of a function that an expression may use."""
    if name.startswith("_") or name in ("torch", "math", "F", "nn"):
        return False
    return name not in BUILTINS or name in CALCULATING or name in MATHEMATICS or name in UNUSUAL


def dotted(node: Any) -> tuple[str, list[ast.AST]]:
    """Return a name such as torch.linalg, with its nodes; "" for a longer one, and any other
    expression.
    """
    parts: list[ast.AST] = [node]
    names: list[str] = []
    while type(node) is ast.Attribute and len(names) < LONGEST:
        names.append(node.attr)
        node = node.value
        parts.append(node)
    if type(node) is not ast.Name:
        return "", []
    return ".".join((node.id, *reversed(names))), parts


def has_name(module: str, name: str) -> bool:
    """Whether an expression may use this name of a module: an operator, a dtype or a constant."""
    if module == "math":
        return hasattr(math, name)
    if module == "torch.autograd":
        return name in ("backward", "grad")
    return bool(families.of(name)) or (module == "torch" and name in OTHER_NAMES)
