"""Compile a plan of float64 scalars to a Python function of floats, without tensors, arrays or numpy.

    def block(i0, i1):
        v2 = i0 + i1
        v3 = i1 + 1
        v4 = v2 * v3
        return (v4, v3, ...)

Python raises where IEEE arithmetic gives inf or NaN (1 / 0, exp(1000)). In that case the steps are executed one by one,
and each step that raises runs on a 0-d array, as in the engine. So the results are bitwise equal to the engine's.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import normalise
from gradtrace.engine.operators.op import FLOAT_TRAPS, records
from gradtrace.engine.operators.tables import record_table
from gradtrace.engine.reverse.compile import compile_function
from gradtrace.static.plan import Plan, Ref, Step, refs, replaced

# Maps an operator's function on floats to Python syntax.
SIGNS: dict[Any, ast.operator] = {
    operator.add: ast.Add(),
    operator.sub: ast.Sub(),
    operator.mul: ast.Mult(),
    operator.truediv: ast.Div(),
}
COMPARISONS: dict[Any, ast.cmpop] = {
    operator.eq: ast.Eq(),
    operator.ne: ast.NotEq(),
    operator.lt: ast.Lt(),
    operator.le: ast.LtE(),
    operator.gt: ast.Gt(),
    operator.ge: ast.GtE(),
}
# Operators that Python writes in another form than a call.
FORMS: dict[str, Callable[..., ast.expr]] = record_table(
    "static.scalars.FORMS",
    {
        "rsub_scalar": lambda a, b: ast.BinOp(b, ast.Sub(), a),
        "neg": lambda a: ast.UnaryOp(ast.USub(), a),
        "where": lambda condition, a, b: ast.IfExp(condition, a, b),
    },
)


def is_scalar(plan: Plan) -> bool:
    """Return whether every value is one float64 or bool, and every operator supports such values."""
    alone = all(v.shape == () and v.dtype in ("float64", "bool") for v in plan.values)
    return alone and all(is_scalar_step(step, plan) for step in plan.steps)


def is_scalar_step(step: Step, plan: Plan) -> bool:
    """Return whether a step has only float operands and an operator with a float kernel."""
    if step.op not in records or records[step.op].scalar is None or len(step.out) != 1:
        return False
    values = [plan.values[n] for n in (*refs(step.args), *step.out)]
    return all(v.shape == () and v.dtype in ("float64", "bool") for v in values)


def normalised(raw: Any) -> Any:
    """Convert a constant to a Python number."""
    return raw if type(raw) in (float, bool) else raw.item()


def run_step(step: Step, have: dict[int, Any]) -> Any:
    """Return the result of one step on floats, or on 0-d arrays where Python would raise."""
    record = records[step.op]
    args = replaced(step.args, have.__getitem__)
    try:
        return record.scalar(*args)  # type: ignore[misc]
    except FLOAT_TRAPS:
        return normalise(record.kernel(*replaced(step.args, lambda n: np.asarray(have[n]))))


class ScalarProgram:
    """A plan of scalars compiled to one function. `built` and `runs` are counters."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.built = 1
        self.runs = 0
        self.namespace: dict[str, Any] = {}
        self.functions: dict[int, str] = {}
        self.names = {number: f"i{k}" for k, (_, number) in enumerate(plan.inputs)}
        body: list[ast.stmt] = []
        for step in plan.steps:
            value = self.expression(step)
            self.names[step.out[0]] = f"v{step.out[0]}"
            body.append(ast.Assign([ast.Name(f"v{step.out[0]}", ast.Store())], value))
        body.append(ast.Return(ast.Tuple([self.operand(Ref(n)) for _, n in plan.outputs], ast.Load())))
        self.fast = compile_function("plan", [f"i{k}" for k in range(len(plan.inputs))], body, self.namespace)

    def __call__(self, *inputs: float) -> tuple[Any, ...]:
        """Return the outputs for these inputs, in the plan's order."""
        self.runs += 1
        try:
            return self.fast(*inputs)
        except FLOAT_TRAPS:
            return self.careful(inputs)

    def careful(self, inputs: tuple[float, ...]) -> tuple[Any, ...]:
        """Execute the plan step by step, with IEEE results where Python raises."""
        have: dict[int, Any] = {n: x for (_, n), x in zip(self.plan.inputs, inputs, strict=True)}
        have.update({n: normalised(v.constant) for n, v in enumerate(self.plan.values) if v.is_constant})
        for step in self.plan.steps:
            have[step.out[0]] = run_step(step, have)
        return tuple(have[n] for _, n in self.plan.outputs)

    # ---- code generation

    def expression(self, step: Step) -> ast.expr:
        args = [self.operand(a) for a in step.args]
        scalar: Any = records[step.op].scalar
        if scalar in SIGNS:
            return ast.BinOp(args[0], SIGNS[scalar], args[1])
        if scalar in COMPARISONS:
            return ast.Compare(args[0], [COMPARISONS[scalar]], [args[1]])
        if step.op in FORMS:
            return FORMS[step.op](*args)
        return ast.Call(ast.Name(self.bind(scalar), ast.Load()), args, [])

    def operand(self, a: Any) -> ast.expr:
        if type(a) is not Ref:
            return ast.Constant(a) if a is None or type(a) in (float, int, bool) else ast.Name(self.bind(a), ast.Load())
        value = self.plan.values[a.number]
        if value.is_constant:
            return ast.Constant(normalised(value.constant))
        return ast.Name(self.names[a.number], ast.Load())

    def bind(self, thing: Any) -> str:
        name = self.functions.get(id(thing))
        if name is None:
            name = self.functions[id(thing)] = f"f{len(self.functions)}"
            self.namespace[name] = thing
        return name
