"""Compare the backward of the program's own autograd Functions with finite differences of their
forward.

While a program is recorded, the arguments of the first call of each Function are copied if they are
small. `checks` runs the Function again on copies of them when `why` is asked; it restores the
random state and drops printed output. Nothing runs again in one of several processes, where a
Function may wait for the others.
"""

from __future__ import annotations

import contextlib
import io
from typing import Any, NamedTuple

import torch

from gradtrace.torch.places import SpanTable
from gradtrace.trace.finite import (
    ARGUMENT,
    FLAT,
    LARGE,
    NOT_REPEATED,
    SMALL,
    WRONG,
    Wrong,
    check_record,
    chosen,
    judge,
)
from gradtrace.trace.record import FunctionCheck

PLAIN = (int, float, bool, str, type(None))
Tensor = torch.Tensor
Outputs = list[Any]


class FirstCall(NamedTuple):
    """A Function with copies of the arguments of its first call, or the reason for not checking
    it.
    """

    function: Any
    args: tuple[Any, ...]
    place: int
    note: str = ""


def first_call(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], place: int
) -> FirstCall:
    """Copy the arguments of a call; the recorder must not see this."""
    tensors = [a for a in args if isinstance(a, Tensor)]
    others = [a for a in args if not isinstance(a, Tensor)]
    if kwargs or not all(isinstance(a, PLAIN) for a in others):
        return FirstCall(None, (), place, "its arguments are not tensors and numbers alone")
    if any(t.numel() > SMALL for t in tensors):
        return FirstCall(None, (), place, LARGE)
    if any(type(t) not in (Tensor, torch.nn.Parameter) or t.device.type != "cpu" for t in tensors):
        return FirstCall(None, (), place, "its arguments are not plain tensors on the CPU")
    return FirstCall(function, tuple(copied(a) for a in args), place)


def copied(value: Any) -> Any:
    """Return a copy of a tensor with the same requires_grad."""
    return (
        value.detach().clone().requires_grad_(value.requires_grad)
        if isinstance(value, Tensor)
        else value
    )


def checks(calls: dict[str, FirstCall], spans: SpanTable) -> tuple[FunctionCheck, ...]:
    """Compare each Function with finite differences, and return the results."""
    return tuple(
        check_record(
            name,
            spans.span(call.place),
            call.note or check_quietly(call),
        )
        for name, call in calls.items()
    )


def check_quietly(call: FirstCall) -> str | Wrong | None:
    """Check a Function without output and restore the random state; return the result, or the
    reason if it fails.
    """
    try:
        with (
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
            torch.random.fork_rng(devices=[]),
        ):
            return check(call)
    except Exception as error:
        return f"its second call failed ({type(error).__name__})"


def check(call: FirstCall) -> str | Wrong | None:
    """Return the worst disagreement; None if there is none; a reason if the Function cannot be
    compared.

    Some Functions have no finite differences to agree with: one whose forward returns its argument
    (its backward reverses or clips the gradient on purpose), and one whose forward is flat where
    its backward is not (a straight-through estimate).
    """
    forward = call.function.apply
    weights = weights_of(outputs_of(forward, call.args))
    first = weighted(outputs_of(forward, call.args), weights)
    if first != weighted(outputs_of(forward, call.args), weights):  # also if it is NaN
        return NOT_REPEATED
    disagreement = worst(forward, call.args, weights)
    if disagreement is None:
        return None
    if not disagreement[3].numeric and disagreement[2]:
        return FLAT
    if gives_argument(forward, call.args):
        return ARGUMENT
    return disagreement


def outputs_of(forward: Any, args: tuple[Any, ...]) -> Outputs:
    """Return the tensors that a Function computes from copies of some arguments, without a
    graph.
    """
    with torch.no_grad():
        return tensors_in(forward(*map(copied, args)))


def tensors_in(out: Any) -> Outputs:
    """Return the tensors among the results of a Function."""
    results = out if isinstance(out, tuple) else (out,)
    return [result for result in results if isinstance(result, Tensor)]


def weights_of(outputs: Outputs) -> Outputs:
    """Return a gradient for each output: 1 for a single number, else one without symmetry."""
    from gradtrace.trace.probe import direction

    return [
        torch.ones_like(output)
        if output.numel() == 1
        else torch.as_tensor(direction(number, tuple(output.shape))).to(output.dtype)
        for number, output in enumerate(outputs)
    ]


def weighted(outputs: Outputs, weights: Outputs) -> float:
    """Return the sum of the elements of all outputs, each multiplied by its weight."""
    pairs = zip(outputs, weights, strict=True)
    return sum(float((o.double() * w.double()).sum()) for o, w in pairs if o.is_floating_point())


def worst(forward: Any, args: tuple[Any, ...], weights: Outputs) -> Wrong | None:
    """Return the element whose derivative is furthest from finite differences; None if all
    agree.
    """
    gradients, used = backward_of(forward, args, weights)
    base = outputs_of(forward, args)
    disagreement: Wrong | None = None
    for place, gradient in gradients.items():
        flat = args[place].detach().double().flatten()
        slopes = gradient.detach().double().flatten()
        eps = torch.finfo(args[place].dtype).eps
        for element in chosen(len(flat)):
            point = float(flat[element])
            slope = float(slopes[element])

            def moved(by: float, place: int = place, element: int = element) -> Outputs:
                outs = outputs_of(forward, shifted(args, place, element, by))
                return [
                    (o.double() - b.double()) * w.double()
                    for o, b, w in zip(outs, base, used, strict=True)
                ]

            # `judge` measures by the rounding error, to which elements that do not move contribute
            # nothing.
            size = magnitude_of(moved(eps ** (1 / 3) * max(1.0, abs(point))), base, used)

            def f(by: float, moved: Any = moved, size: float = size) -> float:
                return size + sum(float(change.sum()) for change in moved(by))

            judged = judge(f, slope, point, eps)
            if judged.verdict == WRONG and (
                disagreement is None or judged.error > disagreement[3].error
            ):
                disagreement = place, element, slope, judged
    return disagreement


def backward_of(
    forward: Any, args: tuple[Any, ...], weights: Outputs
) -> tuple[dict[int, Any], Outputs]:
    """Return the gradients of the arguments that require grad, by position, and the weights, with
    zeros for the outputs that do not require grad.
    """
    inputs = tuple(map(copied, args))
    with torch.enable_grad():
        outputs = tensors_in(forward(*inputs))
    pairs = [(o, w) for o, w in zip(outputs, weights, strict=True) if o.requires_grad]
    variables = {
        place: argument
        for place, argument in enumerate(inputs)
        if isinstance(argument, Tensor) and argument.requires_grad
    }
    grads = torch.autograd.grad(
        [o for o, _ in pairs],
        list(variables.values()),
        [w for _, w in pairs],
        allow_unused=True,
        materialize_grads=True,
    )
    used = [
        w if o.requires_grad else torch.zeros_like(w) for o, w in zip(outputs, weights, strict=True)
    ]
    return dict(zip(variables, grads, strict=True)), used


def magnitude_of(changes: Outputs, base: Outputs, weights: Outputs) -> float:
    """Return the norm of the weighted elements that a shift changes."""
    parts = [
        (b.double() * w.double())[c != 0] for c, b, w in zip(changes, base, weights, strict=True)
    ]
    return float(torch.cat([part.flatten() for part in parts]).norm())


def shifted(args: tuple[Any, ...], place: int, element: int, by: float) -> tuple[Any, ...]:
    """Return copies of the arguments, with one element of one tensor shifted."""
    changed = args[place].detach().clone().contiguous()
    changed.view(-1)[element] += by
    return (*args[:place], changed.requires_grad_(args[place].requires_grad), *args[place + 1 :])


def gives_argument(forward: Any, args: tuple[Any, ...]) -> bool:
    """Whether a Function's forward returns its first floating-point argument, whatever that
    argument is.
    """
    first = next(
        i
        for i, argument in enumerate(args)
        if isinstance(argument, Tensor) and argument.is_floating_point()
    )
    variant = (*args[:first], copied(args[first].detach() * 2 + 1), *args[first + 1 :])
    return all(
        torch.equal(outputs_of(forward, arguments)[0], arguments[first])
        for arguments in (args, variant)
    )
