"""Optimisation passes: constant folding, algebraic identities, common subexpressions, dead steps.

Every rewrite keeps the IEEE result to the last bit, including signed zeros, infinities and NaN
(except the sign of a NaN, which no comparison sees). Rewrites that may change the result are in
`FAST` and run only on request:

    x + 0 -> x            -0 + 0 is +0
    x * 0 -> 0            inf * 0 is NaN
    x / c -> x * (1/c)    two roundings
    (x * c) * d -> x * cd one rounding fewer, and no overflow on the way
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.state import unobserved
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.operators.op import records
from gradtrace.engine.operators.tables import record_table
from gradtrace.static.plan import Plan, PlanValue, Ref, Step, refs, replaced

PASSES = (
    "constants folded",
    "identities cleared",
    "common subexpressions shared",
    "dead steps dropped",
)
LARGEST = 65536  # elements of a constant created by folding
ROUNDS = 20  # maximum number of rounds; each round but the last removes or simplifies something
Rewrite = Ref | tuple[str, tuple[Any, ...]] | float | None


def optimise(plan: Plan, fast: bool = False) -> Plan:
    """Run all passes until nothing changes; `fast` also applies rewrites that change the last
    bits.
    """
    counts = dict.fromkeys(PASSES, 0)
    passes: tuple[Callable[[Plan], tuple[Plan, int]], ...] = (
        fold,
        lambda p: simplify(p, fast),
        share,
        drop,
    )
    for _ in range(ROUNDS):
        done = 0
        for name, run in zip(PASSES, passes, strict=True):
            plan, n = run(plan)
            counts[name] += n
            done += n
        if not done:
            break
    return compact(plan)._replace(removed=tuple(counts.items()))


# ---- constants


def fold(plan: Plan) -> tuple[Plan, int]:
    """Evaluate steps that depend only on constants."""
    values = list(plan.values)
    steps = []
    for step in plan.steps:
        data = folded(step, values)
        if data is None:
            steps.append(step)
            continue
        for number, raw in zip(step.out, data, strict=True):
            values[number] = values[number]._replace(constant=raw)
    return plan._replace(values=tuple(values), steps=tuple(steps)), len(plan.steps) - len(steps)


def folded(step: Step, values: list[PlanValue]) -> list[Any] | None:
    """Return the raw results of a step that depends only on constants (and is not too large); None
    for other steps.
    """
    record = records.get(step.op)
    if record is None or sum(math.prod(values[n].shape) for n in step.out) > LARGEST:
        return None
    if record.constant is not None:
        return [filled(values[step.out[0]], record.constant)]
    if any(not values[n].is_constant for n in refs(step.args)):
        return None
    with unobserved(grad_enabled=False):
        out = record(*replaced(step.args, lambda n: Tensor._wrap(values[n].constant)))
    return [tensor._data for tensor in (out if isinstance(out, tuple) else (out,))]


def filled(value: PlanValue, number: float) -> Any:
    """Return a constant with a value's shape and dtype, all of whose elements are `number`."""
    return (
        number
        if value.dtype == "float64" and not value.shape
        else np.full(value.shape, number, value.dtype)
    )


# ---- identities


class Context:
    """The data that the rewrites need: the values, and the step that computes each."""

    def __init__(self, plan: Plan, fast: bool) -> None:
        self.values = list(plan.values)
        self.maker: dict[int, Step] = {}
        self.fast = fast

    def number(self, arg: Any) -> float | None:
        """Return the number that an argument stands for (itself, or a constant of equal elements);
        else None.
        """
        if type(arg) is Ref:
            step = self.maker.get(arg.number)
            if step is not None and step.op == "expand":  # one number, expanded
                return self.number(step.args[0])
            value = self.values[arg.number]
            return one_number(value.constant) if value.is_constant else None
        return float(arg) if type(arg) in (int, float) else None

    def negated(self, arg: Any) -> Ref | None:
        """Return x if the argument is -x."""
        step = self.maker.get(arg.number) if type(arg) is Ref else None
        return step.args[0] if step is not None and step.op == "neg" else None

    def fits(self, arg: Any, out: int) -> bool:
        """Return whether an argument has the shape and dtype of result `out`, so that it can
        replace the result.
        """
        if type(arg) is not Ref:
            return False
        mine = self.values[arg.number]
        its = self.values[out]
        return mine.shape == its.shape and mine.dtype == its.dtype


def one_number(raw: Any) -> float | None:
    """Return the value shared by all elements of a constant; None if they differ."""
    if type(raw) in (float, int, bool):
        return float(raw)
    flat = raw.reshape(-1)
    same = (
        flat.size > 0 and bool((flat == flat[0]).all()) and len(set(np.signbit(flat).tolist())) == 1
    )
    return float(flat[0]) if same else None


def simplify(plan: Plan, fast: bool) -> tuple[Plan, int]:
    """Replace steps by one of their arguments, a constant, or a cheaper step. Return the plan and
    the count.
    """
    context = Context(plan, fast)
    same: dict[int, int] = {}
    steps: list[Step] = []
    count = 0
    for step in plan.steps:
        step = step._replace(args=replaced(step.args, lambda n: Ref(same.get(n, n))))
        result = rewritten(context, step)
        count += result is not None
        if isinstance(result, Ref):
            same[step.out[0]] = result.number
            continue
        if isinstance(result, float):
            out = step.out[0]
            context.values[out] = context.values[out]._replace(
                constant=filled(context.values[out], result)
            )
            continue
        for new in written(context, step, result):
            for number in new.out:
                context.maker[number] = new
            steps.append(new)
    outputs = tuple((label, same.get(n, n)) for label, n in plan.outputs)
    return plan._replace(values=tuple(context.values), steps=tuple(steps), outputs=outputs), count


def written(context: Context, step: Step, target: Any) -> list[Step]:
    """Return the steps for `target`, the replacement (op, args) of `step`; an argument may be a
    nested (op, args).
    """
    if target is None:
        return [step]
    name, args = target
    inner: list[Step] = []
    arguments = []
    for a in args:
        if type(a) is tuple and a and type(a[0]) is str:
            context.values.append(context.values[step.out[0]]._replace(name="", constant=None))
            inner.append(Step(a[0], a[1], (len(context.values) - 1,), step.phase, step.line))
            a = Ref(len(context.values) - 1)
        arguments.append(a)
    return [*inner, step._replace(op=name, args=tuple(arguments))]


def rewritten(context: Context, step: Step) -> Rewrite:
    """Return the replacement of a step: one of its arguments, an (op, args), or a number; None to
    keep the step.
    """
    if len(step.out) != 1:
        return None
    op = step.op
    args = step.args
    out = step.out[0]
    record = records.get(op)
    # values are immutable in a plan, so a copy is the value itself
    if record is not None and record.identity:
        same: Rewrite = args[record.tensor_names.index(record.identity)]
        if context.fits(same, out):
            return same
    if op in ("view", "unsafe_view"):
        return "reshape", args  # equivalent, whatever the strides
    rule = RULES.get(op)
    rewrite = (
        None
        if rule is None or not context.values[out].dtype.startswith("float")
        else rule(context, out, *args)
    )
    if rewrite is None and context.fast and op in FAST:
        rewrite = FAST[op](context, out, *args)
    return rewrite


def is_zero(number: float | None, sign: float) -> bool:
    return number == 0 and math.copysign(1.0, number) == sign


def add_rule(c: Context, out: int, a: Ref | float, b: Ref | float) -> Rewrite:
    if is_zero(c.number(b), -1.0) and c.fits(a, out):
        return a
    if is_zero(c.number(a), -1.0) and c.fits(b, out):
        return b
    minus = c.negated(b)
    if minus is not None:
        return "sub", (a, minus)
    minus = c.negated(a)
    return ("sub", (b, minus)) if minus is not None and type(b) is Ref else None


def sub_rule(c: Context, out: int, a: Ref | float, b: Ref | float) -> Rewrite:
    if is_zero(c.number(b), 1.0) and c.fits(a, out):
        return a
    minus = c.negated(b)
    # -a - b is not -(a + b), because 0 has a sign
    return ("add", (a, minus)) if minus is not None else None


def mul_rule(c: Context, out: int, a: Ref | float, b: Ref | float) -> Rewrite:
    for left, right in ((a, b), (b, a)):
        number = c.number(left)
        if number == 1 and c.fits(right, out):
            return right
        if number == -1 and c.fits(right, out):
            return "neg", (right,)
        minus = c.negated(right)
        # a constant may determine the shape
        if minus is not None and number is not None and c.fits(minus, out):
            return "mul", (minus, -number)
        if minus is not None and type(left) is Ref:
            return "neg", (("mul", (minus, left)),)
    return None


def div_rule(c: Context, out: int, a: Ref | float, b: Ref | float) -> Rewrite:
    number = c.number(b)
    if number == 1 and c.fits(a, out):
        return a
    minus = c.negated(a)
    if minus is not None:
        return "neg", (("div", (minus, b)),)
    if number is not None and number != 0 and is_power_of_two(number) and c.fits(a, out):
        return "mul", (a, 1 / number)
    return None


def is_power_of_two(number: float) -> bool:
    """Return whether dividing by `number` equals multiplying by its reciprocal, which must not be
    subnormal.
    """
    if not math.isfinite(number):
        return False
    mantissa, exponent = math.frexp(abs(number))
    return mantissa == 0.5 and -120 < exponent < 120


def pow_rule(c: Context, out: int, a: Any, exponent: Any) -> Rewrite:
    if exponent == 1:
        return a if c.fits(a, out) else None
    return ("mul", (a, a)) if exponent == 2 and type(exponent) in (int, float) else None


ARITHMETIC: dict[str, Callable[..., Rewrite]] = record_table(
    "static.passes.ARITHMETIC", {"add": add_rule, "sub": sub_rule, "mul": mul_rule, "div": div_rule}
)
RULES: dict[str, Callable[..., Rewrite]] = record_table(
    "static.passes.RULES",
    {
        **ARITHMETIC,
        **{f"{name}_number": rule for name, rule in ARITHMETIC.items()},
        "neg": lambda c, out, a: c.negated(a),
        "pow_scalar": pow_rule,
        "where": lambda c, out, condition, a, b: a if a == b and c.fits(a, out) else None,
    },
)


# ---- rewrites that change the last bits


def fast_mul(c: Context, out: int, a: Any, b: Any) -> Rewrite:
    for left, right in ((a, b), (b, a)):
        number = c.number(left)
        if number is None:
            continue
        if number == 0:
            return 0.0
        step = c.maker.get(right.number) if type(right) is Ref else None
        if step is not None and step.op == "mul":
            for x, y in (step.args, step.args[::-1]):
                inner = c.number(y)
                if inner is not None and c.fits(x, out):
                    return "mul", (x, inner * number)
    return None


def fast_div(c: Context, out: int, a: Any, b: Any) -> Rewrite:
    number = c.number(b)
    return (
        ("mul", (a, 1 / number))
        if number and math.isfinite(1 / number) and c.fits(a, out)
        else None
    )


FAST: dict[str, Callable[..., Rewrite]] = record_table(
    "static.passes.FAST",
    {
        "add": lambda c, out, a, b: next(
            (y for x, y in ((a, b), (b, a)) if c.number(x) == 0 and c.fits(y, out)), None
        ),
        "sub": lambda c, out, a, b: a if c.number(b) == 0 and c.fits(a, out) else None,
        "mul": fast_mul,
        "div": fast_div,
    },
)


# ---- common subexpressions


def share(plan: Plan) -> tuple[Plan, int]:
    """Compute steps of one operator on the same arguments only once. Return the plan and the number
    removed.
    """
    same = equal_constants(plan)
    seen: dict[Any, tuple[int, ...]] = {}
    steps: list[Step] = []
    for step in plan.steps:
        step = step._replace(args=replaced(step.args, lambda n: Ref(same.get(n, n))))
        key = key_of(step, plan.values)
        numbers = None if key is None else seen.get(key)
        if numbers is not None:
            same.update(zip(step.out, numbers, strict=True))
            continue
        if key is not None:
            seen[key] = step.out
        steps.append(step)
    outputs = tuple((label, same.get(n, n)) for label, n in plan.outputs)
    return plan._replace(steps=tuple(steps), outputs=outputs), len(plan.steps) - len(steps)


def equal_constants(plan: Plan) -> dict[int, int]:
    """Map each duplicate constant to the number of its first occurrence."""
    first: dict[Any, int] = {}
    same = {}
    for number, value in enumerate(plan.values):
        if value.is_constant:
            data = np.asarray(value.constant)
            first_number = first.setdefault((value.dtype, value.shape, data.tobytes()), number)
            if first_number != number:
                same[number] = first_number
    return same


def key_of(step: Step, values: tuple[PlanValue, ...]) -> Any:
    """Return a hashable key that is equal for equal steps; None for a step that must not be
    shared.
    """
    record = records.get(step.op)
    if record is None:
        return None
    # If the operands are promoted to a floating dtype, 1 and 1.0 are the same number.
    numbers_are_floats = record.promote is not None and values[step.out[0]].dtype.startswith(
        "float"
    )
    parts = [frozen(a, numbers_are_floats) for a in step.args]
    if record.commutative:
        parts.sort(key=repr)
    return step.op, tuple(parts), tuple(values[n].dtype for n in step.out)


def frozen(a: Any, as_float: bool = False) -> Any:
    """Return a hashable form of an argument, in which 1, 1.0 and True differ (`as_float`: 1 and 1.0
    are equal).
    """
    if type(a) is Ref:
        return a
    if type(a) in (tuple, list):
        return tuple(frozen(item) for item in a)
    if type(a) is slice:
        return "slice", frozen(a.start), frozen(a.stop), frozen(a.step)
    if hasattr(a, "tobytes"):
        return "array", str(a.dtype), a.shape, a.tobytes()
    if type(a) is float or (type(a) is int and as_float and abs(a) < 2**53):
        return "float", float(a).hex()
    return type(a).__name__, repr(a)


# ---- dead steps


def drop(plan: Plan) -> tuple[Plan, int]:
    """Remove the steps that no output needs. Return the plan and the number removed."""
    needed = {number for _, number in plan.outputs}
    kept: list[Step] = []
    for step in reversed(plan.steps):
        if needed.intersection(step.out):
            kept.append(step)
            needed.update(refs(step.args))
    return plan._replace(steps=tuple(reversed(kept))), len(plan.steps) - len(kept)


def compact(plan: Plan) -> Plan:
    """Renumber the values (inputs, constants, then results in order), and remove unused values."""
    order = [number for _, number in plan.inputs]
    used = {n for step in plan.steps for n in refs(step.args)} | {n for _, n in plan.outputs}
    order += [n for n in sorted(used) if plan.values[n].is_constant and n not in order]
    order += [n for step in plan.steps for n in step.out]
    number = {old: new for new, old in enumerate(order)}
    return plan._replace(
        values=tuple(plan.values[old] for old in order),
        inputs=tuple((name, number[n]) for name, n in plan.inputs),
        steps=tuple(
            step._replace(
                args=replaced(step.args, lambda n: Ref(number[n])),
                out=tuple(number[n] for n in step.out),
            )
            for step in plan.steps
        ),
        outputs=tuple((label, number[n]) for label, n in plan.outputs),
    )
