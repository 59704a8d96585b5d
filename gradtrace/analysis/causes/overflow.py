"""Find numbers beyond the range of float16: results of forward, and gradients that a loss scale
made too large.
"""

from __future__ import annotations

from gradtrace.analysis.cause import Cause
from gradtrace.analysis.facts import Facts, is_finite
from gradtrace.analysis.terms import LARGEST, magnitude, operator, result, unit
from gradtrace.engine.operators.tables import function_table
from gradtrace.trace.record import BackwardStep, Operation

WIDER = (
    "compute it in float32: with torch.autocast(device, enabled=False), or .float() before it",
    "or in bfloat16, which has the range of float32; or make its factors smaller",
)
# by their last operand
DIVIDING = function_table("analysis.causes.overflow.DIVIDING", ("div", "reciprocal", "rsqrt"))


def too_large(facts: Facts, operation: Operation) -> str:
    """Return ": float16 holds nothing larger than 65504" for a result that overflowed in float16;
    "" for any other.
    """
    value = result(facts, operation)
    operands = [v for _, v in facts.operands(operation)]
    if value is None or value.dtype != "float16" or operator(operation).startswith("log"):
        return ""
    if (
        not operands
        or not all(map(is_finite, operands))
        or (operator(operation) in DIVIDING and operands[-1].zeros)
    ):
        return ""
    return f": float16 holds nothing larger than {LARGEST['float16']:.0f}"


def gradient_too_large(facts: Facts, operation: Operation, step: BackwardStep) -> Cause | None:
    """Explain a gradient that float16 cannot hold by what made it so large; None for another
    reason.
    """
    sent = [v for v in step.downstream if v is not None and not v.all_finite]
    sizes = [size for v in step.upstream if (size := magnitude(v)) is not None]
    if not sent or any(v.dtype != "float16" for v in sent) or not sizes or max(sizes) < LARGE:
        return None
    name = operator(operation)
    because = (
        f"the gradient becomes inf in {unit(facts, operation)}{facts.step(operation)}: up to "
        f"{max(sizes):.4g} comes there, and float16 holds nothing larger than "
        f"{LARGEST['float16']:.0f}"
    )
    evidence = [facts.at(f"{name} sends back inf in float16 here", operation.span)]
    grown = largest_growth(facts, step)
    if grown is not None:
        maker, ratio = grown
        because += f"; {unit(facts, maker)} made it {ratio:.6g} times as large"
        evidence.insert(0, facts.at(f"this multiplies every gradient by {ratio:.6g}", maker.span))
    return Cause(
        "gradient overflow",
        because,
        evidence,
        (
            "use a smaller loss scale; torch.amp.GradScaler finds one, and skips the steps that "
            "overflow",
            "or compute in bfloat16, which has the range of float32 and needs no scale",
        ),
    )


LARGE = 1000.0  # a gradient from which a derivative of everyday size leads beyond float16


def largest_growth(facts: Facts, step: BackwardStep) -> tuple[Operation, float] | None:
    """Return the operation before a step of the same pass that increased gradients most, if by a
    factor of 100 or more.
    """
    grown: tuple[Operation, float] | None = None
    for visit in facts.steps:
        if visit.number != step.number or visit.function == step.function:
            continue
        got, gave = (
            max(filter(None, map(magnitude, values)), default=0.0)
            for values in (visit.upstream, visit.downstream)
        )
        operation = facts.arrivals.operations.get(visit.function)
        if got and operation is not None and gave / got >= max(100.0, grown[1] if grown else 0.0):
            grown = operation, gave / got
    return grown
