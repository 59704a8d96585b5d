"""Loops and conditionals on engine tensors, recorded by a Recorder as differentiable steps of a plan.

The parts (condition, body, branches) are functions of engine tensors. Each part is recorded as a separate plan, on
values like its operands, and so are the functions that its gradient needs:

    loop        run the body while the condition holds
    loop_grad   the gradient of `loop`: run the loop again and keep every state, then apply the body's vjp from the last
                state back to the first (see `control`)
    choice      one of two branches; its gradient is a choice between the branches' gradients

The gradient of `loop_grad` needs no third kind of step. Let d be the incoming gradient, dx and do the results for the
variables and the outer values, J the Jacobian of the loop, and (u, v) the cotangents of (dx, do). Then
<u, dx> + <v, do> = <d, J (u, v)>, and J (u, v) is the result of the loop over the body's tangents. So the gradient with
respect to d is that loop, and the other gradients are `loop_grad` of that loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from gradtrace.engine.calls.function import Function
from gradtrace.engine.data import tensor as engine
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.state import state, using
from gradtrace.static.control import COND, WHILE, WHILE_GRAD
from gradtrace.static.derive import differentiate
from gradtrace.static.graph import results
from gradtrace.static.passes import optimise
from gradtrace.static.plan import Plan
from gradtrace.static.record import Recorder, zeros_like
from gradtrace.static.replay import leaves_of, require_grad

Values = tuple[engine.Tensor, ...]
Part = Callable[..., Values]


def plan_of_part(part: Part, values: Sequence[engine.Tensor]) -> Plan:
    """Record a part as a plan with inputs like `values`."""
    recorder = Recorder()
    leaves = leaves_of([None] * len(values), values)[1]
    for i, leaf in enumerate(leaves):
        recorder.feed(f"f{i}", leaf)
    with using(recorder=recorder, planner=recorder, grad_enabled=True):
        require_grad(leaves)
        outs = part(*leaves)
        return optimise(recorder.plan([(f"o{i}", out) for i, out in enumerate(outs)]))


def floating(values: Sequence[engine.Tensor]) -> list[engine.Tensor]:
    return [v for v in values if v.is_floating_point()]


def at_floating(values: Sequence[engine.Tensor], gradients: Iterable[Any]) -> list[Any]:
    """Return a gradient for each floating value, and None for each other one."""
    following = iter(gradients)
    return [next(following) if v.is_floating_point() else None for v in values]


def stand_ins(values: Sequence[engine.Tensor]) -> Values:
    """Return new tensors with the shapes and dtypes of `values`, to stand for results that are not computed."""
    return tuple(engine.Tensor._wrap(v.own_array().copy()) for v in values)


def gradient_of(part: Part, count: int) -> Part:
    """Return the gradient function of a part.

    It maps the part's `count` values and the gradients of its floating results to the gradients of its floating values.
    """

    def compute_gradients(*values: engine.Tensor) -> Values:
        return differentiate(floating(part(*values[:count])), floating(values[:count]), values[count:])

    return compute_gradients


def tangent_of(part: Part, count: int) -> Part:
    """Return the tangent function of a part.

    It maps the part's `count` values and the tangents of the floating values to the part's results and their tangents.
    The part's gradient is linear in the incoming gradient, so differentiating it by that gives the tangents.
    """

    def compute_tangents(*values: engine.Tensor) -> Values:
        own, tangents = values[:count], values[count:]
        outs = part(*own)
        seeds = [zeros_like(out).requires_grad_() for out in floating(outs)]
        grads = differentiate(floating(outs), floating(own), seeds)
        return (*outs, *differentiate(grads, seeds, tangents))

    return compute_tangents


# ---- loops


def loop(test: Part, body: Part, variables: int, *values: engine.Tensor) -> Values:
    """Return the last values of a loop's variables; `values` are these variables, then outer values that parts use."""
    if not isinstance(state.planner, Recorder):
        return stand_ins(values[:variables])
    return results(Loop.apply(test, body, variables, *values))


def loop_grad(test: Part, body: Part, variables: int, *values: engine.Tensor) -> Values:
    """Return the gradients of a loop's floating variables and outer values.

    `values` are those of `loop`, then the gradients of the floating variables after the last iteration.
    """
    own = values[: len(values) - len(floating(values[:variables]))]
    if not isinstance(state.planner, Recorder):
        return stand_ins(floating(own))
    return results(LoopGrad.apply(test, body, variables, *values))


class Loop(Function):
    """The custom Function of `loop`: forward records a loop, backward calls `loop_grad`."""

    @staticmethod
    def forward(ctx: Any, test: Part, body: Part, variables: int, *values: engine.Tensor) -> Any:
        ctx.save_for_backward(*values)
        ctx.parts = test, body, variables
        plans = plan_of_part(test, values), plan_of_part(body, values)
        outs = stand_ins(values[:variables])
        state.planner.control(WHILE, plans, values, outs, partial(loop, test, body, variables))
        ctx.mark_non_differentiable(*[out for out in outs if not out.is_floating_point()])
        return outs

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        values, (test, body, variables) = ctx.saved_tensors, ctx.parts
        arrived = [g for g, v in zip(grads, values, strict=False) if v.is_floating_point()]
        return None, None, None, *at_floating(values, loop_grad(test, body, variables, *values, *arrived))


class LoopGrad(Function):
    """The custom Function of `loop_grad`: forward records its step, backward is explained in the module's docstring."""

    @staticmethod
    def forward(ctx: Any, test: Part, body: Part, variables: int, *values: engine.Tensor) -> Any:
        ctx.save_for_backward(*values)
        ctx.parts = test, body, variables
        count = len(values) - len(floating(values[:variables]))
        own = values[:count]
        plans = plan_of_part(test, own), plan_of_part(body, own), plan_of_part(gradient_of(body, count), values)
        outs = stand_ins(floating(own))
        shape = variables, len(floating(values[:variables]))
        state.planner.control(WHILE_GRAD, plans, values, outs, partial(loop_grad, test, body, variables), shape)
        return outs

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        values, (test, body, variables) = ctx.saved_tensors, ctx.parts
        first = values[:variables]
        floats = len(floating(first))
        outside, arrived = values[variables : len(values) - floats], values[len(values) - floats :]
        width, wide = variables + floats, tangent_of(body, variables + len(outside))

        def sorted_out(given: Values) -> tuple[Values, Values, Values]:
            """Split the combined loop's values x, t, o, s into (x, o), t and s; t and s are tangents of x and o."""
            middle = width + len(outside)
            return (*given[:variables], *given[width:middle]), given[variables:width], given[middle:]

        def wide_test(*given: engine.Tensor) -> Values:
            return test(*sorted_out(given)[0])

        def wide_body(*given: engine.Tensor) -> Values:
            own, tangents, others = sorted_out(given)
            return wide(*own, *tangents, *others)

        start = (*first, *grads[:floats], *outside, *grads[floats:])
        end = loop(wide_test, wide_body, width, *start)
        seeds = (*map(zeros_like, floating(first)), *arrived)
        grads = loop_grad(wide_test, wide_body, width, *start, *seeds)
        of_first, of_outside = at_floating(first, grads[:floats]), at_floating(outside, grads[2 * floats :])
        return None, None, None, *of_first, *of_outside, *end[variables:]


# ---- conditionals


def choice(yes: Part, no: Part, *values: engine.Tensor) -> Values:
    """Return the results of one branch: values[0] is the bool that selects it, values[1:] are its arguments."""
    if not isinstance(state.planner, Recorder):
        return stand_ins(yes(*values[1:]))
    return results(Choice.apply(yes, no, *values))


class Choice(Function):
    """The custom Function of `choice`: backward is a choice between the gradients of the branches."""

    @staticmethod
    def forward(ctx: Any, yes: Part, no: Part, *values: engine.Tensor) -> Any:
        ctx.save_for_backward(*values)
        ctx.parts = yes, no
        plans = plan_of_part(yes, values[1:]), plan_of_part(no, values[1:])
        kinds = [plans[0].values[n] for _, n in plans[0].outputs]
        outs = tuple(engine.Tensor._wrap(np.ones(kind.shape, kind.dtype)) for kind in kinds)
        ctx.floats = [out.is_floating_point() for out in outs]
        state.planner.control(COND, plans, values, outs, partial(choice, yes, no))
        ctx.mark_non_differentiable(*[out for out in outs if not out.is_floating_point()])
        return outs

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        values, (yes, no) = ctx.saved_tensors, ctx.parts
        arrived = [g for g, is_float in zip(grads, ctx.floats, strict=True) if is_float]
        count = len(values) - 1
        if not floating(values[1:]):
            return None, None, *[None] * len(values)
        input_grads = choice(gradient_of(yes, count), gradient_of(no, count), *values, *arrived)
        return None, None, None, *at_floating(values[1:], input_grads)
