"""Closures for binary operators.

One closure reads both operands, sets the origin (the place in the source) and applies the operator, with a check of the
budget if the type of the left operand requires one. It reads frame variables inline, since a closure for each would
take a third of the time of a Python-level loop. With a `target` the closure is an assignment statement: it stores the
result in that frame variable and returns None.
"""

from __future__ import annotations

import _operator as py  # operator takes 0.4 ms to import

from gradtrace.annotations import Any
from gradtrace.engine.data.state import state
from gradtrace.engine.data.tensor import Tensor
from gradtrace.lang.operators import Guarded
from gradtrace.lang.unit import Code, Frame, Unit
from gradtrace.program import syntax as ast

Target = str | None
METHODS: dict[Any, str] = {py.add: "__add__", py.sub: "__sub__", py.mul: "__mul__", py.truediv: "__truediv__"}


def binary_code(
    operator: Guarded, left: ast.expr, right: ast.expr, unit: Unit, origin: int, target: Target = None
) -> Code:
    """Return the closure for `left operator right`, or for `target = left operator right`."""
    left_name, read_left = unit.operand(left)
    right_name, read_right = unit.operand(right)
    direct, apply, guarded = operator.for_right_operand(right.value) if isinstance(right, ast.Constant) else operator
    apply_to_tensors = getattr(Tensor, METHODS[apply]) if apply in METHODS else apply  # skips Python's method lookup

    def evaluate(f: Frame) -> Any:
        if left_name is None:
            a = read_left(f)
        else:
            try:
                a = f[left_name]
            except KeyError:
                a = read_left(f)
        if right_name is None:
            b = read_right(f)
        else:
            try:
                b = f[right_name]
            except KeyError:
                b = read_right(f)
        state.origin = origin
        if type(a) is Tensor and type(b) is Tensor:
            result = apply_to_tensors(a, b)
        else:
            result = apply(a, b) if type(a) in direct else guarded(a, b)
        if target is None:
            return result
        f[target] = result

    return evaluate


def chain(first: Code, rest: list[tuple[Guarded, Code, int]], target: Target = None) -> Code:
    """Return the closure of a long sum or product, evaluated in a loop so that its depth uses no call stack."""

    def evaluate(f: Frame) -> Any:
        value = first(f)
        for (direct, apply, guarded), right, origin in rest:
            other = right(f)
            state.origin = origin
            value = apply(value, other) if type(value) in direct else guarded(value, other)
        if target is None:
            return value
        f[target] = value

    return evaluate
