"""Backward operators that PyTorch implements as one kernel, and so shows as one node in the graph
of a gradient.

`fused` makes such a record from a rule of several steps: its kernel is the rule applied to arrays,
and its own derivative is computed by running the steps on Tensors and differentiating them. Where
PyTorch has a closed formula for the second derivative, the record is written out next to the
operator instead.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Callable, NoReturn
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.state import state, using
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.data.types import XP, Raw
from gradtrace.engine.operators.namespace import ARRAY, TRACED
from gradtrace.engine.operators.op import PASS_ON, Op, d, elementwise_op, op
from gradtrace.engine.reverse.gradients import grad

Rule = Callable[..., Any]


def fused(signature: str, rule: Rule, **fields: Any) -> Op:
    """Return a record of `rule(xp, *arguments)`; its first tensor argument is the incoming
    gradient.

    With `outputs=`, the rule returns several gradients; those not asked for are None.
    """
    names = signature.partition("(")[2].rstrip(")").partition(";")[0].replace(",", " ").split()

    def kernel(*args: Any) -> Any:
        result = rule(ARRAY, *args)
        return (
            result
            if "outputs" not in fields
            else tuple(np.zeros(0) if f is None else f for f in result)
        )

    return op(signature, kernel, undefined_grad="none", **fields,
        joint=d(" ".join(names), lambda xp, wanted, g, out, *args:
            differentiate_steps(xp, rule, wanted, g, args)))  # fmt: skip


def differentiate_steps(
    xp: XP, rule: Rule, wanted: tuple[bool, ...], g: Any, args: tuple[Any, ...]
) -> list[Any]:
    """Run the steps of `rule` on Tensors and return their gradients at `args`, recorded if the
    backward pass is.
    """
    recorded = xp is TRACED
    # Record the program's operators, not these.
    with using(grad_enabled=True, recorder=state.recorder if recorded else None):
        points = [
            input_point(a, recorded) if asked else as_tensor(a)
            for a, asked in zip(args, wanted, strict=False)
        ]
        result = rule(TRACED, *points, *args[len(wanted) :])
        pairs = [
            (r, as_tensor(seed))
            for r, seed in zip(as_tuple(result), as_tuple(g), strict=True)
            if seed is not None and r is not None and r.requires_grad
        ]
        if not pairs:
            return [None] * len(wanted)
        chosen: list[Any] = [p for p, asked in zip(points, wanted, strict=True) if asked]
        gradients = iter(
            grad(
                [r for r, _ in pairs],
                chosen,
                [seed for _, seed in pairs],
                create_graph=recorded,
                allow_unused=True,
            )
        )
        return [unwrapped(next(gradients), recorded) if asked else None for asked in wanted]


def as_tuple(value: object) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def as_tensor(value: Tensor | Raw | None) -> Tensor | None:
    return value if value is None or isinstance(value, Tensor) else Tensor._wrap(value)


def input_point(a: Any, recorded: bool) -> Tensor:
    """Return a tensor to differentiate with respect to; in a recorded pass it is connected to the
    pass's graph.
    """
    if recorded:
        return point_record(a)
    leaf = Tensor._wrap(a)
    leaf._req = True
    return leaf


# fmt: off
point_record = elementwise_op("point(self)", lambda a: a, "self", scalar=lambda a: a, node="AliasBackward0",
    self=PASS_ON)
# fmt: on


def unwrapped(gradient: Tensor | None, recorded: bool) -> Tensor | Raw | None:
    return gradient if recorded or gradient is None else gradient._data


def not_differentiable(signature: str, rule: Rule, kind: str) -> Op:
    """Return the record of a backward operator without a derivative; differentiating it raises
    NotImplementedError.
    """
    refuse = no_derivative("_" + signature.partition("(")[0])
    return op(signature, lambda *args: rule(ARRAY, *args), kind=kind, joint=d("", refuse))


def no_derivative(name: str) -> Rule:
    """Return the rule of an operator that PyTorch calls `name` and does not differentiate."""

    def refuse(*_: object) -> NoReturn:
        raise NotImplementedError(f"the derivative for '{name}' is not implemented.")

    return refuse
