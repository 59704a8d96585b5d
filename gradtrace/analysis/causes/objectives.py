"""Find losses and data that train for something else than was meant: a KL divergence with its
arguments exchanged or the wrong sign, one class in each batch, inputs that saturate a layer.
"""

from __future__ import annotations

from gradtrace.analysis import places
from gradtrace.analysis.cause import Cause
from gradtrace.analysis.facts import Facts
from gradtrace.analysis.terms import (
    assigned_name,
    code_at,
    highest,
    is_maximised,
    lowest,
    named,
    operator,
    own_span,
    unit,
)
from gradtrace.analysis.words import short_number
from gradtrace.engine.data.lazy import np
from gradtrace.engine.operators.tables import function_table
from gradtrace.trace.record import Operation, Span, TensorRecord, Value

LABELLED = function_table("analysis.causes.objectives.LABELLED", ("cross_entropy", "nll_loss"))
LINEAR = function_table(
    "analysis.causes.objectives.LINEAR", ("linear", "addmm", "conv1d", "conv2d", "conv3d")
)
SQUASHING = function_table("analysis.causes.objectives.SQUASHING", ("sigmoid", "tanh"))
SCALING = function_table("analysis.causes.objectives.SCALING", ("sum", "mean", "mul", "div"))
LARGE = 20.0  # an input that a network for numbers around 1 is not made for
SATURATED = 0.9  # the share of outputs within 0.01 of a bound


# ---- KL divergence


def exchanged_kl(facts: Facts) -> Cause | None:
    """Find kl_div with a constant as its input and what is trained as its target."""
    for operation in facts.calls_of(("kl_div",)):
        if len(operation.tensors) < 2 or operation.option("log_target") == "True":
            continue
        first, second = (facts.tensors[i] for i in operation.tensors[:2])
        if first.requires_grad or not second.requires_grad:
            continue
        return Cause(
            "kl exchanged",
            f"{unit(facts, operation)} has a constant, {named(facts, first.id)}, as its input, and "
            f"what is trained, {named(facts, second.id)}, as its target: the other way round than "
            "to fit a fixed distribution",
            (facts.at("F.kl_div(input, target) is KL(target || exp(input))", operation.span),),
            (
                "to fit a fixed distribution: F.kl_div(F.log_softmax(student, -1), "
                "F.softmax(teacher, -1))",
            ),
        )
    return None


def negative_kl(facts: Facts) -> Cause | None:
    """Find the divergence of a Gaussian from the standard one, 1 + s - m * m - exp(s), in a loss
    that makes it grow.
    """
    if is_maximised(facts):
        return None
    for operation in facts.calls_of(("sub",)):
        value = facts.tensors[operation.outputs[0]].value
        if value is None or not is_divergence(facts, operation) or (highest(value) or 1.0) > 1e-6:
            continue
        term = facts.tensors[scaled(facts, operation).outputs[0]]
        visits = facts.visits_of(term)
        gradient = visits[0].gradient if visits else None
        if term.value is None or gradient is None or term.value.numel != 1 or gradient.numel != 1:
            continue
        size = lowest(term.value) or 0.0
        slope = lowest(gradient) or 0.0
        if size * slope < 0:
            return growing_kl(facts, term, operation, size)
    return None


def growing_kl(facts: Facts, term: TensorRecord, operation: Operation, size: float) -> Cause:
    name = assigned_name(facts, term.span) or named(facts, term.id)
    is_negative = size < 0
    because = "is added to the loss: a KL divergence is never negative, its minus sign is missing"
    return Cause(
        "negative kl",
        f"{name}{facts.at_line(term.span)} is {short_number(size)} and "
        f"{because if is_negative else 'is subtracted from the loss'}, and the steps make the "
        "divergence larger",
        (
            facts.at(
                "1 + s - m * m - exp(s) is at most 0, and -0.5 times its sum is the divergence",
                operation.span,
            ),
            facts.at(f"the loss grows {'with' if is_negative else 'against'} {name}", term.span),
        ),
        ("loss = reconstruction - 0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())",),
    )


def is_divergence(facts: Facts, operation: Operation) -> bool:
    """Whether a subtraction is 1 + s - m * m - exp(s)."""
    if len(operation.tensors) < 2:
        return False
    left, exp = map(facts.maker, operation.tensors[:2])
    if (
        left is None
        or exp is None
        or operator(exp) != "exp"
        or operator(left) != "sub"
        or len(left.tensors) < 2
    ):
        return False
    start, square = map(facts.maker, left.tensors[:2])
    if start is None or square is None or operator(square) not in ("pow", "square", "mul"):
        return False
    return (
        operator(start) == "add"
        and start.constants[:1] == ("1",)
        and start.tensors[:1] == exp.tensors[:1]
    )


def scaled(facts: Facts, operation: Operation) -> Operation:
    """Return the last operation of those that only add up and scale a result."""
    while True:
        readers = facts.readers(operation.outputs[0])
        if len(readers) != 1 or operator(readers[0]) not in SCALING or len(readers[0].tensors) > 1:
            return operation
        operation = readers[0]


# ---- data


def one_class(facts: Facts) -> Cause | None:
    """Find steps whose labels are of one class each, of different classes in different steps."""
    by_place: dict[Span, dict[int, list[tuple[int, int]]]] = {}
    for step in facts.trace.training:
        for operation in facts.operations[slice(*step.operations)]:
            if (
                operator(operation) not in LABELLED
                or len(operation.tensors) < 2
                or operation.span is None
            ):
                continue
            labels = facts.tensors[operation.tensors[1]].value
            if labels is None or labels.dtype != "int64" or not operation.grad_enabled:
                continue
            low = lowest(labels)
            taken = by_place.setdefault(operation.span, {})
            if low is None or low != highest(labels) or labels.numel < 4:
                return None
            taken.setdefault(step.number, []).append((int(low), labels.numel))
    for span, steps in by_place.items():
        classes = {label for taken in steps.values() for label, _ in taken}
        if len(steps) > 2 and len(classes) > 1 and all(len(taken) == 1 for taken in steps.values()):
            return sorted_data(facts, span, {number: taken[0] for number, taken in steps.items()})
    return None


def sorted_data(facts: Facts, span: Span, steps: dict[int, tuple[int, int]]) -> Cause:
    operation = next(o for o in facts.operations if o.span == span)
    loaders = [s for s in facts.text.simple if "DataLoader(" in facts.text.cut(s)]
    unshuffled = next(
        (
            s
            for s in loaders
            if "shuffle" not in facts.text.cut(s) and "sampler" not in facts.text.cut(s)
        ),
        None,
    )
    shown = ", ".join(
        f"{count} of class {label} in step {number}"
        for number, (label, count) in list(steps.items())[:3]
    )
    place = own_span(facts, operation)
    evidence = [facts.at(f"labels: {shown}", place)]
    if unshuffled is not None:
        evidence.insert(0, facts.at("the data are not shuffled", places.head_of(unshuffled)))
    return Cause(
        "one class in a batch",
        f"each batch has labels of one class alone: {operator(operation)}{facts.at_line(place)} "
        f"gets {shown}",
        evidence,
        ("DataLoader(..., shuffle=True), or shuffle the data before they are cut into batches",),
    )


def large_inputs(facts: Facts) -> Cause | None:
    """Find a sigmoid or tanh that large data saturate in the first step."""
    first = (
        facts.trace.training[0].operations if facts.trace.training else (0, len(facts.operations))
    )
    for operation in facts.operations[slice(*first)]:
        if operator(operation) not in SQUASHING:
            continue
        layer = facts.maker(next(iter(operation.tensors), None))
        if (
            layer is None
            or operator(layer) not in LINEAR
            or not facts.tensors[operation.outputs[0]].requires_grad
        ):
            continue
        data = next(
            (t for i in layer.tensors if not (t := facts.tensors[i]).requires_grad),
            facts.tensors[layer.tensors[0]],
        )
        value = data.value
        result = facts.tensors[operation.outputs[0]].value
        if data.requires_grad or value is None or result is None or (highest(value) or 0.0) < LARGE:
            continue
        share = saturated(result, operator(operation))
        if share < SATURATED:
            continue
        name = named(facts, data.id)
        top = short_number(highest(value))
        return Cause(
            "large inputs",
            f"{unit(facts, operation)} is saturated from the start: {share:.0%} of what it gives "
            f"is within 0.01 of its bounds, where it is flat; its layer gets {name}, which goes "
            f"from {short_number(lowest(value))} to {top}",
            (
                facts.at(f"{name}, up to {top}, goes into this layer", own_span(facts, layer)),
                facts.at(
                    f"the {operator(operation)} of its results is flat here",
                    own_span(facts, operation),
                ),
            ),
            (
                f"scale the data to about -1 to 1 first: {code_at(facts, data.span) or name} / "
                f"{top}",
            ),
        )
    return None


def saturated(value: Value, name: str) -> float:
    """Return the share of elements within 0.01 of the function's bounds; 0 if the elements were not
    kept.
    """
    if not value.is_whole or value.numel < 16:
        return 0.0
    low = 0.0 if name == "sigmoid" else -1.0
    return float(np.mean((value.data < low + 0.01) | (value.data > 0.99)))
