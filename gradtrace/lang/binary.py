"""Closures for operators of two operands, made for what the operands are.

Most operands are variables of the frame and constants. These are read in place instead of by a closure of their own,
which is a third of the cost of a Python-level loop. Every form does the same: both operands, then the origin, then the
operator, through its guard if the left operand's type asks for it. With a `target` the closure is the statement that
assigns the result to that variable of the frame, and returns None as statements do.
"""

from __future__ import annotations

import operator as py

from gradtrace.annotations import Any
from gradtrace.engine.state import state
from gradtrace.engine.tensor import Tensor
from gradtrace.lang import syntax as ast
from gradtrace.lang.operators import Guarded
from gradtrace.lang.unit import Code, Frame, Unit

Target = str | None
METHODS: dict[Any, str] = {py.add: "__add__", py.sub: "__sub__", py.mul: "__mul__", py.truediv: "__truediv__"}


def binary_code(
    operator: Guarded, left: ast.expr, right: ast.expr, unit: Unit, origin: int, target: Target = None
) -> Code:
    """The closure for `left operator right`, or for `target = left operator right`."""
    a, b = unit.direct(left), unit.direct(right)
    end = (origin, target)
    if a is not None:
        if b is not None:
            return names(operator, a, unit.missing(left), b, unit.missing(right), *end)  # type: ignore[arg-type]
        if type(right) is ast.Constant:
            value = right.value
            return name_and_constant(operator.by(value), a, unit.missing(left), value, *end)  # type: ignore[arg-type]
        return name_and_code(operator, a, unit.missing(left), unit.compile(right), *end)  # type: ignore[arg-type]
    if b is not None and type(left) is ast.BinOp:
        x, y = left.left, left.right
        c, d = unit.direct(x), unit.direct(y)
        if c is not None and d is not None:
            first = unit.operator(type(left.op)), c, unit.missing(x), d, unit.missing(y)  # type: ignore[arg-type]
            return three_names(first, unit.origin(left), operator, b, unit.missing(right), *end)  # type: ignore[arg-type]
    if b is not None:
        return code_and_name(operator, unit.compile(left), b, unit.missing(right), *end)  # type: ignore[arg-type]
    if type(right) is ast.Constant:
        return code_and_constant(operator.by(right.value), unit.compile(left), right.value, *end)
    return codes(operator, unit.compile(left), unit.compile(right), *end)


def of_tensors(apply: Any) -> Any:
    """What Python would come to for two tensors, called without its search for it."""
    return getattr(Tensor, METHODS[apply]) if apply in METHODS else apply


def names(operator: Guarded, left: str, no_left: Code, right: str, no_right: Code, origin: int, target: Target) -> Code:
    plain, apply, guarded = operator
    own = of_tensors(apply)

    def run(f: Frame) -> Any:
        try:
            a = f[left]
        except KeyError:
            a = no_left(f)
        try:
            b = f[right]
        except KeyError:
            b = no_right(f)
        state.origin = origin
        if type(a) is Tensor and type(b) is Tensor:
            result = own(a, b)
        else:
            result = apply(a, b) if type(a) in plain else guarded(a, b)
        if target is None:
            return result
        f[target] = result

    return run


def name_and_constant(operator: Guarded, left: str, no_left: Code, b: Any, origin: int, target: Target) -> Code:
    plain, apply, guarded = operator

    def run(f: Frame) -> Any:
        try:
            a = f[left]
        except KeyError:
            a = no_left(f)
        state.origin = origin
        result = apply(a, b) if type(a) in plain else guarded(a, b)
        if target is None:
            return result
        f[target] = result

    return run


def name_and_code(operator: Guarded, left: str, no_left: Code, right: Code, origin: int, target: Target) -> Code:
    plain, apply, guarded = operator

    def run(f: Frame) -> Any:
        try:
            a = f[left]
        except KeyError:
            a = no_left(f)
        b = right(f)
        state.origin = origin
        result = apply(a, b) if type(a) in plain else guarded(a, b)
        if target is None:
            return result
        f[target] = result

    return run


def code_and_name(operator: Guarded, left: Code, right: str, no_right: Code, origin: int, target: Target) -> Code:
    plain, apply, guarded = operator

    def run(f: Frame) -> Any:
        a = left(f)
        try:
            b = f[right]
        except KeyError:
            b = no_right(f)
        state.origin = origin
        result = apply(a, b) if type(a) in plain else guarded(a, b)
        if target is None:
            return result
        f[target] = result

    return run


def three_names(
    first: tuple[Guarded, str, Code, str, Code],
    inner: int,
    operator: Guarded,
    third: str,
    no_third: Code,
    origin: int,
    target: Target,
) -> Code:
    """`left op right op third`, all of them variables, as `x * w + b`: the inner operator needs no closure."""
    (plain, apply, guarded), left, no_left, right, no_right = first
    outer_plain, outer_apply, outer_guarded = operator
    own, outer_own = of_tensors(apply), of_tensors(outer_apply)

    def run(f: Frame) -> Any:
        try:
            a = f[left]
        except KeyError:
            a = no_left(f)
        try:
            b = f[right]
        except KeyError:
            b = no_right(f)
        state.origin = inner
        if type(a) is Tensor and type(b) is Tensor:
            a = own(a, b)
        else:
            a = apply(a, b) if type(a) in plain else guarded(a, b)
        try:
            b = f[third]
        except KeyError:
            b = no_third(f)
        state.origin = origin
        if type(a) is Tensor and type(b) is Tensor:
            result = outer_own(a, b)
        else:
            result = outer_apply(a, b) if type(a) in outer_plain else outer_guarded(a, b)
        if target is None:
            return result
        f[target] = result

    return run


def code_and_constant(operator: Guarded, left: Code, b: Any, origin: int, target: Target) -> Code:
    plain, apply, guarded = operator

    def run(f: Frame) -> Any:
        a = left(f)
        state.origin = origin
        result = apply(a, b) if type(a) in plain else guarded(a, b)
        if target is None:
            return result
        f[target] = result

    return run


def codes(operator: Guarded, left: Code, right: Code, origin: int, target: Target) -> Code:
    plain, apply, guarded = operator

    def run(f: Frame) -> Any:
        a = left(f)
        b = right(f)
        state.origin = origin
        result = apply(a, b) if type(a) in plain else guarded(a, b)
        if target is None:
            return result
        f[target] = result

    return run


def chain(first: Code, rest: list[tuple[Guarded, Code, int]], target: Target = None) -> Code:
    """A long sum or product, evaluated in a loop: its depth in the tree is no depth of calls."""

    def run(f: Frame) -> Any:
        value = first(f)
        for (plain, apply, guarded), right, origin in rest:
            other = right(f)
            state.origin = origin
            value = apply(value, other) if type(value) in plain else guarded(value, other)
        if target is None:
            return value
        f[target] = value

    return run
