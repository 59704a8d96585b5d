"""Find numbers beyond the range of a dtype: results of forward in float16, gradients that a loss
scale made too large, and parameters that an optimiser's step made infinite or NaN.
"""

from __future__ import annotations

from gradtrace.analysis.cause import Cause
from gradtrace.analysis.causes.loops import updated
from gradtrace.analysis.causes.rates import rate_at
from gradtrace.analysis.facts import Facts, is_finite
from gradtrace.analysis.terms import (
    LARGEST,
    SMALLEST,
    magnitude,
    named,
    operator,
    optimiser_name,
    result,
    setting,
    unit,
)
from gradtrace.engine.operators.tables import function_table
from gradtrace.trace.record import BackwardStep, Change, Operation, TensorRecord

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


# ---- parameters


def broken_by_steps(facts: Facts) -> dict[int, int]:
    """Return, by pass, the first leaf whose finite numbers the step after the pass made infinite or
    NaN.
    """
    broken: dict[int, int] = {}
    for record in facts.tensors:
        step = None if is_finite(record.value) else step_before(facts, record)
        before = None if step is None else version_before(facts, record)
        if step is not None and before is not None and is_finite(before.value):
            broken.setdefault(facts.steps[step.after_steps - 1].number, record.id)
    return broken


def step_before(facts: Facts, record: TensorRecord) -> Change | None:
    """Return the last step of an optimiser before the first operation that read a version of a
    leaf; None for a version that another write made.
    """
    if not record.version or not record.is_leaf or record.operation is not None:
        return None
    reads = (o.id for o in facts.operations if record.id in o.tensors)
    until = next(reads, len(facts.operations))
    writes = [
        c
        for c in facts.trace.changes
        if not c.of_grad and c.after <= until and c.after_steps and record.id in facts.held(c)
    ]
    return writes[-1] if writes and writes[-1].how == "step" else None


def version_before(facts: Facts, record: TensorRecord) -> TensorRecord | None:
    wanted = (record.first, record.version - 1)
    return next((t for t in facts.tensors if (t.first, t.version) == wanted), None)


def of_step(facts: Facts, record: TensorRecord, step: Change, kind: str) -> Cause:
    """Explain numbers of a leaf that a step made infinite or NaN."""
    optimiser = updated(facts, facts.flow.tensor(record.id))
    number = facts.step_of_pass(facts.steps[step.after_steps - 1].number)
    before = version_before(facts, record)
    size = None if before is None else magnitude(before.value)
    dtype = record.dtype
    because = f"the step{facts.at_line(step.span)}"
    line = ""
    eps = 0.0
    if optimiser is not None and optimiser.lr is not None:
        steps = [c for c in facts.trace.changes if c.how == "step" and record.id in facts.held(c)]
        lr = rate_at(optimiser, 1 + steps.index(step)) or optimiser.lr
        line = facts.at_line(optimiser.span)
        eps = setting(optimiser, "eps")
        because = f"{optimiser_name(facts, optimiser)}.step(){facts.at_line(step.span)}"
        because += f" of {optimiser.kind} with lr={lr:g}{line}"
    because += f" makes it {kind}" + ("" if number is None else f" in step {number}")
    advice: tuple[str, ...] = (f"a much smaller lr{line}",)
    if 0 < eps < SMALLEST.get(dtype, 0) / 2:
        because += f": eps={eps:g} is 0 in {dtype}, so it divides by the root of a mean square "
        because += "that may be 0"
        advice = (f"eps=1e-4{line}", "or parameters of float32, computed with in torch.autocast")
    elif size is not None and dtype in LARGEST:
        because += f": up to {size:.4g} before it, and {dtype} holds nothing larger than "
        because += f"{LARGEST[dtype]:.5g}"
    evidence = [facts.at(f"{named(facts, record.id)} holds {kind} from here on", step.span)]
    return Cause("not finite", because, evidence, advice)
