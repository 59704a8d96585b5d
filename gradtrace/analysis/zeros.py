"""Explain a gradient that is zero everywhere: the hook, operation, factor or cancellation that made
it so.
"""

from __future__ import annotations

from gradtrace.analysis import places
from gradtrace.analysis.cause import Cause
from gradtrace.analysis.facts import Facts, goes_bad, is_nonzero, is_zero
from gradtrace.analysis.symmetries import cancellation
from gradtrace.analysis.terms import SHORT, SMALLEST, code_of, named, operator
from gradtrace.analysis.words import brief
from gradtrace.analysis.zero_factors import (
    RECTIFIED,
    factors,
    leaf_of_zeros,
    makers_of_zero,
    product,
    reason_of,
    underflows,
)
from gradtrace.annotations import Sequence
from gradtrace.engine.operators.tables import function_table
from gradtrace.trace.record import BackwardStep, Change, HookRun, Operation, TensorRecord, Value

SCALED = (
    "multiply the loss by 2 ** 10 or more before backward, and divide the gradients after it "
    "(GradScaler)",
)
ROUTING = function_table("analysis.zeros.ROUTING", ("stack", "cat", "unbind", "split", "chunk"))


def zero(facts: Facts, record: TensorRecord) -> Cause:
    """Explain a gradient that is zero everywhere."""
    visits = facts.visits_of(record)
    wiped = wiped_by(facts, record)
    if wiped is not None:
        return zeroed(facts, record, wiped).about(record, "zero", "0")
    if not visits:
        return Cause("assigned", "the program set it", [facts.origin(record)]).about(
            record, "zero", "0"
        )
    cancels = cancellation(facts, record)
    cause = None
    if cancels is not None and (
        cancels.unseen is not None or len(facts.arrivals.at(visits[-1])) == 1
    ):
        cause = Cause("symmetry", cancels.clause(facts))
    cause = cause or started_at_zero(facts, record) or origin_of_zero(facts, visits[-1])
    evidence = [
        facts.origin(record),
        facts.backward(facts.passes[visits[-1].number]),
        *cause.evidence,
    ]
    return cause._replace(evidence=evidence).about(record, "zero", "0")


def wiped_by(facts: Facts, record: TensorRecord) -> Change | None:
    """Return the write that turned a gradient other than 0 into zeros after the last pass that
    stored one.
    """
    brought = next(
        (s.grad_after for s in reversed(facts.visits_of(record)) if s.grad_after is not None), None
    )
    if is_zero(brought):
        return None
    writes = [
        change
        for change in facts.trace.changes
        if change.of_grad
        and change.how != "cleared"
        and record.id in facts.held(change)
        and not any(step.function == record.function for step in facts.steps[change.after_steps :])
        and not is_zero(facts.written(change)[0])
    ]
    wiping = (
        change
        for change in writes
        if change.how.endswith("zero_") or is_zero(facts.written(change)[1])
    )
    return next(wiping, writes[-1] if writes else None)


def zeroed(facts: Facts, record: TensorRecord, change: Change) -> Cause:
    culprit = infinite_beside(facts, change) if "clip_grad" in change.text else None
    if culprit is not None:
        return clipped(facts, record, change, culprit)
    earlier = reversed(facts.steps[: change.after_steps])
    stored = (
        s.grad_after for s in earlier if s.function == record.function and s.grad_after is not None
    )
    before = facts.written(change)[0] or next(stored, None)
    was = f", where it was {brief(before)}" if before is not None else ""
    return Cause(
        "zeroed",
        f"it was set to zero{facts.at_line(change.span)}{was}",
        (facts.origin(record), facts.at(f"{record.label}.grad is zeroed", change.span)),
        ("read .grad before that line",),
    )


def infinite_beside(facts: Facts, change: Change) -> BackwardStep | None:
    """Return the last gradient that was stored with an infinity before some were clipped by their
    common norm.
    """
    stored = [s for s in facts.steps[: change.after_steps] if s.grad_after is not None]
    last = stored[-1].number if stored else None
    return next(
        (s for s in stored if s.number == last and s.grad_after and not s.grad_after.all_finite),
        None,
    )


def clipped(facts: Facts, record: TensorRecord, change: Change, culprit: BackwardStep) -> Cause:
    """Explain zeros after clip_grad_norm_, which multiplied all gradients by max_norm / inf."""
    leaf = facts.functions[culprit.function].variable
    owner = "another tensor" if leaf is None else facts.label(leaf)
    code = "..." if leaf is None else code_of(named(facts, leaf)) or "..."
    first = next((s for s in facts.steps if s.number == culprit.number and goes_bad(s)), None)
    operation = None if first is None else facts.arrivals.operations.get(first.function)
    evidence = [facts.at(f"{record.label}.grad is multiplied by max_norm / inf = 0", change.span)]
    origin = ""
    if first is not None and operation is not None:
        span = facts.functions[first.function].span
        origin = f", from {operation.name}{facts.at_line(span)}"
        evidence.insert(0, facts.at(f"the derivative of {operation.name} is not finite here", span))
    return Cause(
        "clipped to 0",
        f"clip_grad_norm_{facts.at_line(change.span)} wiped it, for the norm of all gradients was "
        f"inf: {owner}.grad held inf{origin}",
        evidence,
        (
            f"keep the gradient of {owner} finite: torch.sqrt({code} + 1e-12), clamp(min=1e-8)",
            "torch.nn.utils.clip_grad_norm_(..., error_if_nonfinite=True) says so at once",
        ),
    )


def started_at_zero(facts: Facts, record: TensorRecord) -> Cause | None:
    """Explain zeros by a factor that starts at 0 and is trained, as LoRA's second matrix: an update
    ends them.
    """
    factor = zero_factor(facts, record)
    if factor is None or not is_trained(facts, factor):
        return None
    name = named(facts, factor.id)
    return Cause(
        "zero at first",
        f"it is multiplied by {name}, which is 0 there and gets a gradient itself, so an update of "
        f"{name} ends this",
        [facts.origin(factor)],
    )


def is_trained(facts: Facts, leaf: TensorRecord) -> bool:
    """Whether an optimiser holds a leaf that got a gradient other than 0."""
    got = any(not is_zero(visit.grad_after) for visit in facts.stored.get(leaf.id, ()))
    return got and leaf.id in facts.optimised


def zero_factor(facts: Facts, record: TensorRecord) -> TensorRecord | None:
    """Return the parameter of zeros that a gradient of zero was multiplied by; None for another
    reason.
    """
    visits = facts.visits_of(record)
    origin = blamed(facts, visits[-1]) if visits else None
    if origin is None:
        return None
    step, index = origin
    operation = facts.arrivals.operations.get(step.function)
    if operation is None:  # one of several functions of an operation: of linear without a bias
        later = (
            facts.arrivals.operations.get(sender.function)
            for sender, _, _ in facts.arrivals.at(step)
        )
        operation = next((candidate for candidate in later if candidate is not None), None)
        multiplied: Sequence[int] = (
            ()
            if operation is None or reason_of(operator(operation)) != "product"
            else operation.tensors
        )
    else:
        multiplied = factors(operation, facts.arrivals.graph.operand(step.function, index))
    zeros = [i for i in multiplied if is_zero(facts.tensors[i].value)]
    leaf = next(
        (leaf for i in zeros if (leaf := leaf_of_zeros(facts, i, smallest=0)) is not None), None
    )
    return None if leaf is None else facts.tensors[facts.flow.tensor(leaf)]


def blamed(facts: Facts, step: BackwardStep) -> tuple[BackwardStep, int] | None:
    """Return the step, and its edge, that sent zeros of a gradient that was not zero, on the way to
    another step.
    """
    seen: set[int] = set()
    while step.function not in seen:
        seen.add(step.function)
        arrivals = facts.arrivals.at(step)
        if not arrivals or any(is_nonzero(arrival.part.value) for arrival in arrivals):
            return None
        for sender, edge, _ in arrivals:
            if any(map(is_nonzero, sender.upstream)):
                return sender, edge
        step = arrivals[0].sender
    return None


def origin_of_zero(facts: Facts, step: BackwardStep) -> Cause:
    """Return the reason for a zero gradient, searching from a step that received it towards the
    root.
    """
    seen: set[int] = set()
    while True:
        for hook in step.hooks:
            if hook.changed and is_zero(hook.after) and not is_zero(hook.before):
                return of_hook(facts, step, hook)
        arrivals = facts.arrivals.at(step)
        if not arrivals or step.function in seen:
            advice = ("start it with ones: the vector of backward(gradient=...)",)
            return Cause(
                "zero vector", "backward was started with a gradient of zero", advice=advice
            )
        seen.add(step.function)
        parts = [arrival.part for arrival in arrivals]
        if any(is_nonzero(part.value) for part in parts):
            terms = ", ".join(f"{brief(part.value)} from {part.source}" for part in parts)
            return Cause("cancelled", f"what arrived along its paths cancels out ({terms})")
        for sender, edge, _ in arrivals:
            if any(map(is_nonzero, sender.upstream)):
                return blame(facts, *chosen_before(facts, sender, edge))
        step = arrivals[0].sender


def of_hook(facts: Facts, step: BackwardStep, hook: HookRun) -> Cause:
    """Return a hook that replaced a gradient by zero, with the line that registers it."""
    leaf = facts.functions[step.function].variable
    call = places.hook_call(facts.text, hook.name, "" if leaf is None else facts.label(leaf))
    span = None if call is None else places.span_of(call)
    return Cause(
        "hook",
        f"the hook {hook.name}{facts.at_line(span)} replaced the gradient by zero",
        [] if span is None else [facts.at("the hook is registered here", span)],
        ("take the hook away: handle.remove(), or return nothing from it",),
    )


def chosen_before(facts: Facts, step: BackwardStep, index: int) -> tuple[BackwardStep, int]:
    """Return the step and edge of the operation that left elements out if others only handed its
    zeros on: those that join tensors (stack, cat), or take elements in another order; else those
    given.
    """
    origin = step, index
    chosen = None
    while hands_on(facts, step) and (arrivals := facts.arrivals.at(step)):
        step, index, _ = arrivals[0]
        if leaves_out(facts, step):
            chosen = step, index
    return chosen or origin


def hands_on(facts: Facts, step: BackwardStep) -> bool:
    """Whether a function only moves elements, and got some zeros among others."""
    return any(u is not None and u.zeros for u in step.upstream) and (
        name_of(facts, step) in ROUTING or leaves_out(facts, step)
    )


def leaves_out(facts: Facts, step: BackwardStep) -> bool:
    return reason_of(name_of(facts, step)) in ("choice", "index")


def name_of(facts: Facts, step: BackwardStep) -> str:
    """Return the operator of a function; of one that is a part of an operation, its own name in
    small letters: "stack".
    """
    operation = facts.arrivals.operations.get(step.function)
    if operation is not None:
        return operator(operation)
    return facts.functions[step.function].name.partition("Backward")[0].lower()


def blame(facts: Facts, step: BackwardStep, index: int) -> Cause:
    """Return the function whose local derivative is zero at a step, and the reason."""
    function = facts.functions[step.function]
    operation = call_of(facts, step)
    name = operation.name if operation is not None else function.name
    base = name.rstrip("_")
    where = facts.at_line(function.span)
    operand = operand_of(facts, function.id, index)
    here = facts.at(f"{name} sends back 0 here", function.span)
    if step.gradient is not None and underflows(facts, operation, operand, step.gradient):
        return underflow(step.gradient, name + where)._replace(evidence=[here])
    special = over_one(facts, operation) or straight_through(facts, operation, operand)
    if special is not None:
        return special
    if reason_of(base) in ("mask", "product"):
        cause = product(facts, base, operation, operand, where)
    else:
        cause = zero_reason(facts, base, (name, where), operation, operand)
    return cause._replace(evidence=[*makers_of_zero(facts, operation, operand, base), here])


def call_of(facts: Facts, step: BackwardStep) -> Operation | None:
    """Return the operation that a function is part of. PyTorch's linear layer of three dimensions
    has one for the matrix product, and another one for the view of it that is the result.
    """
    operations = facts.arrivals.operations
    function = facts.functions[step.function]
    if function.id in operations:
        return operations[function.id]
    above = (operations.get(arrival.sender.function) for arrival in facts.arrivals.at(step))
    return next(
        (
            operation
            for operation in above
            if operation is not None and operation.span == function.span
        ),
        None,
    )


def operand_of(facts: Facts, function: int, index: int) -> int | None:
    """Return the tensor whose gradient an edge carries, also behind functions of the same call (a
    transposition).
    """
    graph = facts.arrivals.graph
    tensor = graph.operand(function, index)
    target = graph.targets.get((function, index))
    while tensor is None and target is not None:
        tensor = graph.operand(target[0], 0)
        target = graph.targets.get((target[0], 0))
    return tensor


def underflow(gradient: Value, called: str) -> Cause:
    dtype = gradient.dtype
    smallest = f"{SMALLEST[dtype]:.2g}, the smallest" if dtype in SMALLEST else "any"
    return Cause(
        "underflow",
        f"it has shrunk to {brief(gradient)} on its way, and {called} makes it less than "
        f"{smallest} {dtype}, so it underflows",
        advice=(
            "gradients vanish on a path with many small factors: gradtrace stats shows where",
            "scale the factors up, shorten the way, or compute in float64",
            *SCALED[: dtype in SHORT],
        ),
    )


def over_one(facts: Facts, operation: Operation | None) -> Cause | None:
    """Explain a softmax over a single element, which is always 1."""
    if operation is None or operation.name not in ("softmax", "log_softmax", "cross_entropy"):
        return None
    dim = operation.option("dim") or "1"
    tensor = next(iter(operation.tensors), None)
    shape = () if tensor is None else facts.tensors[tensor].shape
    if tensor is None or not dim.lstrip("-").isdigit() or not -len(shape) <= int(dim) < len(shape):
        return None
    if shape[int(dim)] != 1:
        return None
    where = facts.at_line(operation.span)
    name = named(facts, tensor)
    return Cause(
        "one class",
        f"{operation.name}{where} is taken over only one class, for {name} has the shape {shape}: "
        "it is the same whatever the scores are",
        [facts.at(f"{operation.name} over one element is constant", operation.span)],
        (
            "two classes need 2 outputs: nn.Linear(..., 2)",
            f"or one output and F.binary_cross_entropy_with_logits({name}.squeeze(1), "
            "labels.float())",
        ),
    )


def straight_through(
    facts: Facts, operation: Operation | None, operand: int | None
) -> Cause | None:
    """Find a straight-through estimate that is reversed: it keeps the flat operation's result and
    detaches the difference.
    """
    if operation is None or operand is None or reason_of(operator(operation)) != "flat":
        return None
    for detach in facts.operations[operation.id :]:
        if detach.name != "detach" or not detach.inputs or detach.inputs[0].tensor is None:
            continue
        behind = facts.flow.before([detach.inputs[0].tensor])
        if operand not in behind or len(behind) > 1000:
            continue
        soft = named(facts, operand)
        hard = named(facts, operation.outputs[0])
        return Cause(
            "straight-through reversed",
            f"the straight-through estimate{facts.at_line(detach.span)} is the wrong way round: it "
            f"detaches the part with {soft}, and its gradient goes through {hard}, which is flat",
            [
                facts.at(f"{operation.name} has the derivative 0 everywhere", operation.span),
                facts.at(f"detach() here cuts off {soft}, not {hard}", detach.span),
            ],
            (f"{soft} + ({hard} - {soft}).detach()",),
        )
    return None


def zero_reason(
    facts: Facts,
    base: str,
    place: tuple[str, str],
    operation: Operation | None,
    operand: int | None,
) -> Cause:
    """Return the reason why an operator's derivative is 0, by what its record says of it."""
    (name, where), reason = place, reason_of(base)
    code, clause, advice = REASONS.get(reason, OTHER)
    value = None if operand is None else facts.tensors[operand].value
    shown = (
        "" if value is None or operand is None else f" ({facts.label(operand)} is {brief(value)})"
    )
    if reason == "flat":
        advice = (straight_code(facts, operation, operand), *advice)
    if reason == "saturated" and operation is not None and feeds_logarithm(facts, operation):
        advice = (*advice, "use the combined form (log_softmax, *_with_logits)")
    return Cause(code, clause.format(name=name, where=where, shown=shown), advice=advice)


def feeds_logarithm(facts: Facts, operation: Operation) -> bool:
    """Whether a logarithm, or a loss that has one, reads a result or what follows from it."""
    return (
        facts.reader_after(
            operation, lambda o: "log" in operator(o) or "entropy" in operator(o), 3, 8
        )
        is not None
    )


# By the reason in a record's `zero`: the code of the cause, a clause, and what to change.
REASONS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "rectifier": (
        "dead relu",
        "{name}{where} lets nothing back where its input is not positive{shown}",
        RECTIFIED,
    ),
    "clamp": (
        "clamp",
        "{name}{where} lets nothing back outside of its bounds{shown}",
        ("widen the bounds, or use a smooth bound (tanh, sigmoid)",),
    ),
    "branch": (
        "untaken where",
        "torch.where{where} took the other branch everywhere",
        ("the branch that is not taken has gradient 0; look at the condition",),
    ),
    "flat": (
        "flat",
        "{name}{where} is flat: its derivative is 0 everywhere",
        ("or leave it out of what is differentiated",),
    ),
    "padding": (
        "padding",
        "{name}{where} looked up nothing but rows at padding_idx, which get no gradient",
        ("look at the indices",),
    ),
    "choice": (
        "not chosen",
        "{name}{where} chose other elements",
        ("only the chosen elements get a gradient; a soft maximum (logsumexp) gives one to all",),
    ),
    "index": (
        "not chosen",
        "{name}{where} takes other elements",
        ("use what it leaves out as well, if that is meant to count",),
    ),
    "saturated": (
        "saturated",
        "{name}{where} is saturated{shown}: its derivative is too small for the dtype",
        ("scale its input down",),
    ),
}
OTHER: tuple[str, str, tuple[str, ...]] = (
    "zero derivative",
    "the derivative of {name}{where} is 0 at this point{shown}",
    (),
)


def straight_code(facts: Facts, operation: Operation | None, operand: int | None) -> str:
    """Return a hint with the code of a straight-through estimate of a flat operation."""
    if operation is None or operand is None:
        return "use a straight-through estimate: x + (hard - x).detach()"
    soft = code_of(named(facts, operand))
    soft = soft if soft.isidentifier() or 0 < len(soft) < 12 else "x"
    return (
        f"a straight-through estimate: {soft} + (torch.{operation.name}({soft}) - {soft}).detach()"
    )
