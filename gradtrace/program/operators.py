"""Python's operators; those that make an integer refuse one whose computation would take
minutes.
"""

from __future__ import annotations

import _operator as operator  # operator takes 0.4 ms to import

from gradtrace.annotations import Any, Callable
from gradtrace.errors import BudgetError, UnknownNameError
from gradtrace.program import syntax as ast

MOST_BITS = 1_000_000  # of an integer: the largest float has 1,024


def check_bits(bits: int) -> None:
    """Raise BudgetError for an integer that would take long to compute."""
    if bits > MOST_BITS:
        raise BudgetError(
            f"the integer has more than {MOST_BITS:,} bits", "compute with floats, such as 2.0"
        )


def power(a: Any, b: Any) -> Any:
    if type(a) is int and type(b) is int and b > 0:
        check_bits((abs(a) - 1).bit_length() * b)
    return a**b


def shift(a: Any, b: Any) -> Any:
    if type(a) is int and type(b) is int:
        check_bits(b)
    return a << b


def remainder(a: Any, b: Any) -> Any:
    if type(a) is str:
        raise UnknownNameError(
            "'%' of a text is not available in an expression", "write a program in a file"
        )
    return a % b


OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: remainder,
    ast.Pow: power,
    ast.MatMult: operator.matmul,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: shift,
    ast.RShift: operator.rshift,
}
UNARY: dict[type, Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
}
COMPARISONS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
