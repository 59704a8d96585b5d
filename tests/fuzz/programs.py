"""Random programs: statements of the tests' programs side by side, their expressions exchanged for one another."""

from __future__ import annotations

import ast
import copy
from functools import cache
from pathlib import Path
from random import Random

TESTS = Path(__file__).resolve().parents[1]
SUBJECTS = ("behaviour", "distributions", "neighbours", "seeds", "tutorials")
START = """import torch
import torch.nn as nn
import torch.nn.functional as F
import math
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
w = torch.ones(3, 3, requires_grad=True)
y = (x * 2).sum()
n = 3
a = [1, 2.5, 'text', None]
s = 'abc'
model = nn.Linear(3, 2)
f = lambda *args, **named: args[0] if args else None
"""
ODD = [
    "None",
    "True",
    "-1",
    "0",
    "1 << 70",
    "float('nan')",
    "float('inf')",
    "'text'",
    "''",
    "[]",
    "()",
    "{}",
    "torch",
    "nn",
    "F",
    "torch.float64",
    "torch.Size([2])",
    "x",
    "w",
    "y",
    "a",
    "s",
    "f",
    "model",
    "n",
    "x.grad",
    "w[0]",
    "x.detach()",
    "torch.ones(0)",
    "torch.tensor(3)",
    "torch.tensor([True, False])",
    "slice(None, 2)",
    "range(3)",
    "...",
    "torch.arange(6).reshape(2, 3)",
    "type(x)",
    "print",
    "math.inf",
    "{'a': 1}",
    "1e308",
    "'{0.x}'",
    "y.grad_fn",
    "x.T",
]


@cache
def seeds() -> list[str]:
    """The texts of programs in the tests and examples."""
    found = [
        *(path for subject in SUBJECTS for path in TESTS.glob(f"recorded/{subject}/*.py")),
        *TESTS.glob("program/programs/*.py"),
        *TESTS.parent.glob("examples/*.py"),
        *TESTS.parent.glob("examples/*.txt"),
    ]
    texts = [path.read_text("utf-8") for path in sorted(found)]
    for path in sorted((TESTS / "attacks").glob("**/*.txt")):
        texts += path.read_text("utf-8").split("# ---\n")
    return [text for text in texts if len(text) < 6000]


@cache
def words() -> list[str]:
    """Every name that stands in a seed, and the operators."""
    from gradtrace import ops

    names = {
        word for text in seeds() for word in text.replace(".", " ").split() if word.isidentifier()
    }
    for table in (ops.api.functions, ops.api.methods, ops.api.functional):
        names |= set(table)
    return sorted(
        names
        | {"if", "else", "for", "while", "def", "lambda", "yield", "import", "in", "not", "await"}
    )


@cache
def pools() -> tuple[list[ast.stmt], list[ast.expr]]:
    """Every statement and every expression of the seeds, small ones."""
    statements: list[ast.stmt] = []
    expressions: list[ast.expr] = [ast.parse(text, mode="eval").body for text in ODD]
    for text in seeds():
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.stmt) and sum(1 for _ in ast.walk(node)) < 80:
                statements.append(node)
            elif isinstance(node, ast.expr) and isinstance(
                getattr(node, "ctx", ast.Load()), ast.Load
            ):
                expressions.append(node)
    return statements, expressions


class Exchange(ast.NodeTransformer):
    """Exchanges some of a tree's expressions for others, and names for those that the start has."""

    def __init__(self, rng: Random, rate: float) -> None:
        self.rng = rng
        self.rate = rate

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.expr) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            if self.rng.random() < self.rate:
                return copy.deepcopy(self.rng.choice(pools()[1]))
            if isinstance(node, ast.Name) and self.rng.random() < 0.3:
                return ast.Name(self.rng.choice("xwynasf"), ast.Load())
        return self.generic_visit(node)


def program(rng: Random) -> str:
    """A program of one to six statements after START."""
    lines = [START]
    for _ in range(rng.randint(1, 6)):
        node = Exchange(rng, rng.choice((0.02, 0.1, 0.3))).visit(
            copy.deepcopy(rng.choice(pools()[0]))
        )
        try:
            lines.append(ast.unparse(ast.fix_missing_locations(node)))
        except (ValueError, RecursionError, AttributeError, TypeError, KeyError):
            continue
    return "\n".join(lines)
