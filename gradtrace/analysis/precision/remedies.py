"""Expressions that lose digits, and the same values computed without the loss: they are looked for
in a trace.

A pattern is an expression: a capital letter stands for any tensor (the same one wherever it
occurs), a number for that constant. Functions and methods of a program are alike, since a trace has
the operators that they called. `dim` and `keepdim` of a better expression are those of the
reductions in the pattern, which must have the same.
"""

from __future__ import annotations

import ast
from functools import cache

from gradtrace.analysis.cause import Fix
from gradtrace.analysis.terms import code_of, enclosed, plain
from gradtrace.annotations import Any, Iterator
from gradtrace.engine.operators.tables import record_table
from gradtrace.trace.record import Operation, Trace

REWRITES = (
    ("log(1 + exp(A))", "softplus(A)"),
    ("log(1 - sigmoid(A))", "logsigmoid(-A)"),
    ("log(sigmoid(A))", "logsigmoid(A)"),
    ("log(softmax(A))", "log_softmax(A, dim)"),
    ("log(sum(exp(A)))", "logsumexp(A, dim, keepdim)"),
    ("log(exp(A) + exp(B))", "logaddexp(A, B)"),
    ("log(1 + A)", "log1p(A)"),
    ("log(1 - A)", "log1p(-A)"),
    ("exp(A) - 1", "expm1(A)"),
    ("1 - exp(A)", "-expm1(A)"),
    ("exp(A) / sum(exp(A))", "softmax(A, dim)"),
    ("1 - sigmoid(A)", "sigmoid(-A)"),
    ("exp(A) / (1 + exp(A))", "sigmoid(A)"),
    ("1 - erf(A)", "erfc(A)"),
    ("1 - tanh(A) ** 2", "1 / cosh(A) ** 2"),
    ("1 - cos(A)", "2 * sin(A / 2) ** 2"),
    ("mean(A ** 2) - mean(A) ** 2", "mean((A - mean(A, dim, True)) ** 2, dim, keepdim)"),
    ("sqrt(A ** 2 + B ** 2)", "hypot(A, B)"),
    ("sqrt(A ** 2 - B ** 2)", "sqrt((A - B) * (A + B))"),
    ("A ** 2 - B ** 2", "(A - B) * (A + B)"),
    ("sqrt(A) - sqrt(B)", "(A - B) / (sqrt(A) + sqrt(B))"),
    ("log(A) - log(B)", "log1p((A - B) / B)"),
    ("exp(A) - exp(B)", "exp(B) * expm1(A - B)"),
    ("1 / A - 1 / B", "(B - A) / (A * B)"),
)
OPERATORS: dict[type, tuple[str, str]] = {
    ast.Add: ("+", "add"), ast.Sub: ("-", "sub"), ast.Mult: ("*", "mul"), ast.Div: ("/", "div"), ast.Pow: ("**", "pow")
}  # fmt: skip
FUNCTIONAL = ("softplus", "logsigmoid")  # of torch.nn.functional
FUNCTION_NAMES = frozenset(
    name for _, new in REWRITES for name in new.replace("(", " ( ").split() if name.isidentifier()
)
REDUCTIONS = record_table("analysis.precision.REDUCTIONS", ("mean", "sum", "softmax"))
NEAR = 3  # operations from one that loses digits up to the whole expression


def rewrite(trace: Trace, operation: int) -> tuple[str, Fix | None] | None:
    """Return the better expression for one that an operation is part of, and the change of the text
    if there is one.
    """
    users = users_of(trace)
    for top in [operation, *above(users, operation)][::-1]:
        for old, new in REWRITES:
            letters: dict[str, Any] = {}
            inside: set[int] = set()
            if (
                matches(trace, trace.operations[top], pattern(old), letters, inside)
                and operation in inside
            ):
                better = with_dims(trace, new, letters)
                return (
                    None
                    if better is None
                    else (better, change(trace, trace.operations[top], better, letters))
                )
    return None


def with_dims(trace: Trace, new: str, letters: dict[str, Any]) -> str | None:
    """Return an expression with the dims of the reductions that matched; None if it is not their
    value with these.
    """
    shape = trace.tensors[letters["A"]].shape
    dim = letters.get("dim", "")
    keeps = letters.get("keepdim", False)
    if "softmax(A, dim)" in new and "log" not in new and len(shape) != 1 and not (dim and keeps):
        return None  # what is divided by has other dims
    tree = ast.parse(new, mode="eval").body
    for call in [node for node in ast.walk(tree) if isinstance(node, ast.Call)]:
        words = [argument.id if isinstance(argument, ast.Name) else "" for argument in call.args]
        if "dim" not in words:
            continue
        every = "-1" if len(shape) == 1 else repr(tuple(range(len(shape))))
        text = dim or ("" if function_of(call) == "mean" else every)
        keywords = (
            [ast.keyword("keepdim", ast.Constant(True))]
            if len(words) == 3 and (keeps or not words[2])
            else []
        )
        call.args = [*call.args[:1], *([pattern(text)] if text else [])]
        call.keywords = keywords if text else []
    return ast.unparse(tree)


def users_of(trace: Trace) -> dict[int, list[int]]:
    users: dict[int, list[int]] = {}
    for o in trace.operations:
        for tensor in o.tensors:
            users.setdefault(tensor, []).append(o.id)
    return {
        o.id: [user for out in o.outputs for user in users.get(out, ())] for o in trace.operations
    }


def above(users: dict[int, list[int]], operation: int) -> Iterator[int]:
    """Yield the operations that use an operation's result, then those that use theirs."""
    level = [operation]
    for _ in range(NEAR):
        level = [user for number in level for user in users[number]][:16]
        yield from level


@cache
def pattern(text: str) -> Any:
    return ast.parse(text, mode="eval").body


def matches(
    trace: Trace, operation: Operation, node: Any, letters: dict[str, Any], inside: set[int]
) -> bool:
    """Return whether an operation computes a pattern; `letters` gets what stands for each
    letter.
    """
    inside.add(operation.id)
    if isinstance(node, ast.Call):
        if operation.name in REDUCTIONS and not same_dims(operation, letters):
            return False
        operands = [i for i in operation.inputs if "=" not in i.text]
        return operation.name == function_of(node) and all_match(
            trace, operands, node.args, letters, inside
        )
    if not isinstance(node, ast.BinOp):
        return False
    operands = [i for i in operation.inputs if "=" not in i.text]
    name = OPERATORS[type(node.op)][1]
    if operation.name == name:
        sides = [[node.left, node.right]]
        sides += [[node.right, node.left]] if name in ("add", "mul") else []
        return any(tried(trace, operands, side, letters, inside) for side in sides)
    is_square = (
        name == "pow"
        and operation.name == "mul"
        and len(set(operation.tensors)) == 1 == len(operands) - 1
    )
    return is_square and all_match(trace, operands[:1], [node.left], letters, inside)


def same_dims(operation: Operation, letters: dict[str, Any]) -> bool:
    """Whether a reduction has the dims of those before it; the first one's are noted."""
    options = dict(i.text.split("=", 1) for i in operation.inputs if "=" in i.text)
    dim = options.pop("dim", "")
    keeps = options.pop("keepdim", "False") == "True"
    return (
        not options
        and letters.setdefault("dim", dim) == dim
        and letters.setdefault("keepdim", keeps) == keeps
    )


def tried(
    trace: Trace, operands: Any, nodes: Any, letters: dict[str, Any], inside: set[int]
) -> bool:
    """Match operands as `all_match` does, and change `letters` and `inside` only if they match."""
    letters_then = dict(letters)
    inside_then = set(inside)
    if all_match(trace, operands, nodes, letters_then, inside_then):
        letters.update(letters_then)
        inside.update(inside_then)
        return True
    return False


def all_match(
    trace: Trace, operands: Any, nodes: Any, letters: dict[str, Any], inside: set[int]
) -> bool:
    return len(operands) == len(nodes) and all(
        operand_matches(trace, operand, node, letters, inside)
        for operand, node in zip(operands, nodes, strict=True)
    )


def operand_matches(
    trace: Trace, operand: Any, node: Any, letters: dict[str, Any], inside: set[int]
) -> bool:
    if isinstance(node, ast.Constant):
        return operand.tensor is None and operand.text in (f"{node.value!r}", f"{node.value!r}.0")
    if isinstance(node, ast.Name):
        return (
            operand.tensor is not None
            and letters.setdefault(node.id, operand.tensor) == operand.tensor
        )
    maker = None if operand.tensor is None else trace.tensors[operand.tensor].operation
    return maker is not None and matches(trace, trace.operations[maker], node, letters, inside)


def function_of(call: Any) -> str:
    return str(call.func.id)


def change(trace: Trace, top: Operation, new: str, letters: dict[str, int]) -> Fix | None:
    """Return the change of the program's text at an operation's span; None if an operand has no
    text.
    """
    if top.span is None or top.span.file or not top.text:
        return None
    named = ""
    for char, previous, following in zip(new, f" {new}", f"{new[1:]} ", strict=False):
        if char in letters and not (previous.isalnum() or following.isalnum()):
            code = code_of(plain(trace.tensors[letters[char]].label))
            if not code:
                return None
            named += enclosed(code)
        else:
            named += char
    text = qualified(named) if "import torch" in trace.source_text else named
    text = ast.unparse(pattern(text))  # without parentheses that are not needed
    return Fix(text, [(top.span, f"({text})")])


def qualified(text: str) -> str:
    """Return an expression with its functions as those of torch."""
    tree = pattern(text)
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
    for call in sorted(calls, key=lambda n: -n.col_offset):
        name = function_of(call)
        if name in FUNCTION_NAMES:
            at = call.col_offset
            text = f"{text[:at]}torch.{'nn.functional.' if name in FUNCTIONAL else ''}{text[at:]}"
    return text
