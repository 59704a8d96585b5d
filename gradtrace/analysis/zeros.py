"""Explain a gradient that is zero everywhere: the hook, operation, factor or cancellation that made it so."""

from __future__ import annotations

from gradtrace.analysis import places
from gradtrace.analysis.answer import Answer, Evidence, Facts, is_zero, last_change
from gradtrace.analysis.causes.cause import named
from gradtrace.analysis.ranges import SHORT, SMALLEST
from gradtrace.analysis.words import brief
from gradtrace.analysis.zero_factors import RECTIFIED, makers_of_zero, product, reason_of, underflows
from gradtrace.engine.tables import function_table
from gradtrace.trace.record import BackwardStep, Change, HookRun, Operation, TensorRecord

Reason = tuple[str, str, list[Evidence], tuple[str, ...]]  # cause, clause, evidence, advice


def zero(facts: Facts, record: TensorRecord) -> Answer:
    """Explain a gradient that is zero everywhere."""
    name = record.label
    visits = facts.visits_of(record)
    wiped = last_change(facts, record)
    if (
        wiped is not None
        and wiped.how not in ("cleared",)
        and not any(step.function == record.function for step in facts.trace.steps[wiped.after_steps :])
    ):
        return zeroed(facts, record, wiped)
    if not visits:
        return Answer(
            name, "zero", "assigned", f"{name}.grad is 0: the program set it.", (facts.origin(record),), (), record.grad
        )
    found = [facts.origin(record), facts.backward(facts.trace.passes[visits[-1].number])]
    cause, because, evidence, advice = origin_of_zero(facts, visits[-1])
    return Answer(name, "zero", cause, f"{name}.grad is 0: {because}.", (*found, *evidence), advice, record.grad)


SCALED = ("multiply the loss by 2 ** 10 or more before backward, and divide the gradients after it (GradScaler)",)


def zeroed(facts: Facts, record: TensorRecord, change: Change) -> Answer:
    name = record.label
    before = next(
        (
            s.grad_after
            for s in reversed(facts.trace.steps[: change.after_steps])
            if s.function == record.function and s.grad_after is not None
        ),
        None,
    )
    was = f", where it was {brief(before)}" if before is not None else ""
    culprit = infinite_beside(facts, change) if "clip_grad" in change.text else None
    if culprit is not None:
        return clipped(facts, record, change, culprit)
    return Answer(
        name,
        "zero",
        "zeroed",
        f"{name}.grad is 0: it was set to zero{facts.line(change.span)}{was}.",
        (facts.origin(record), facts.at(f"{name}.grad is zeroed", change.span)),
        ("read .grad before that line",),
        record.grad,
    )


def infinite_beside(facts: Facts, change: Change) -> BackwardStep | None:
    """Return the last gradient that was stored with an infinity before some were clipped by their common norm."""
    stored = [s for s in facts.trace.steps[: change.after_steps] if s.grad_after is not None]
    last = stored[-1].number if stored else None
    return next((s for s in stored if s.number == last and s.grad_after and not s.grad_after.all_finite), None)


def clipped(facts: Facts, record: TensorRecord, change: Change, culprit: BackwardStep) -> Answer:
    """Explain zeros after clip_grad_norm_, which multiplied all gradients by max_norm / inf."""
    leaf = facts.trace.functions[culprit.function].variable
    other = "another tensor" if leaf is None else facts.label(leaf)
    first = next(
        (
            s
            for s in facts.trace.steps
            if s.number == culprit.number
            and all(u is None or u.all_finite for u in s.upstream)
            and any(v is not None and not v.all_finite for v in s.downstream)
        ),
        None,
    )
    function = None if first is None else facts.trace.functions[first.function]
    operation = None if first is None else facts.arrivals.operations.get(first.function)
    what = "" if function is None or operation is None else f", from {operation.name}{facts.line(function.span)}"
    evidence = [facts.at(f"{record.label}.grad is multiplied by max_norm / inf = 0", change.span)]
    if function is not None and operation is not None:
        evidence.insert(0, facts.at(f"the derivative of {operation.name} is not finite here", function.span))
    name = record.label
    return Answer(
        name,
        "zero",
        "clipped to 0",
        f"{name}.grad is 0: clip_grad_norm_{facts.line(change.span)} wiped it, for the norm of all gradients was inf: "
        f"{other}.grad held inf{what}.",
        tuple(evidence),
        (
            f"keep {other}.grad finite: torch.sqrt({other} + 1e-12), clamp(min=1e-8)",
            "torch.nn.utils.clip_grad_norm_(..., error_if_nonfinite=True) says so at once",
        ),
        record.grad,
    )


def origin_of_zero(facts: Facts, step: BackwardStep) -> Reason:
    """Return the reason for a zero gradient, searching from a step that received it towards the root."""
    seen: set[int] = set()
    while True:
        for hook in step.hooks:
            if hook.changed and is_zero(hook.after) and not is_zero(hook.before):
                return of_hook(facts, step, hook)
        parts = facts.arrivals.at(step)
        if not parts or step.function in seen:
            return (
                "zero vector",
                "backward was started with a gradient of zero",
                [],
                ("start it with ones: the vector of backward(gradient=...)",),
            )
        seen.add(step.function)
        if any(not is_zero(part.value) for _, _, part in parts):
            terms = ", ".join(f"{brief(part.value)} from {part.source}" for _, _, part in parts)
            return "cancelled", f"what arrived along its paths cancels out ({terms})", [], ()
        makers = [(sender, index) for sender, index, _ in parts if not all(is_zero(u) for u in sender.upstream if u)]
        if makers:
            return blame(facts, *chosen_before(facts, *makers[0]))
        step = parts[0][0]


ROUTING = function_table("analysis.zeros.ROUTING", ("stack", "cat", "unbind", "split", "chunk"))


def of_hook(facts: Facts, step: BackwardStep, hook: HookRun) -> Reason:
    """Return a hook that replaced a gradient by zero, with the line that registers it."""
    leaf = facts.trace.functions[step.function].variable
    call = places.hook_call(facts.text, hook.name, "" if leaf is None else facts.label(leaf))
    where = "" if call is None else facts.line(places.span_of(call))
    evidence = [] if call is None else [facts.at("the hook is registered here", places.span_of(call))]
    because = f"the hook {hook.name}{where} replaced the gradient by zero"
    return "hook", because, evidence, ("take the hook away: handle.remove(), or return nothing from it",)


def chosen_before(facts: Facts, step: BackwardStep, index: int) -> tuple[BackwardStep, int]:
    """Return the step and edge of the operation that chose among joined tensors (stack, cat); else those given."""
    operation = facts.arrivals.operations.get(step.function)
    if operation is None or operation.name not in ROUTING:
        return step, index
    for sender, edge, _ in facts.arrivals.at(step):
        choosing = facts.arrivals.operations.get(sender.function)
        if choosing is not None and reason_of(choosing.name.rstrip("_")) == "choice":
            return sender, edge
    return step, index


def blame(facts: Facts, step: BackwardStep, index: int) -> Reason:
    """Return the function whose local derivative is zero at a step, and the reason."""
    function = facts.trace.functions[step.function]
    operation = facts.arrivals.operations.get(function.id)
    name = operation.name if operation is not None else function.name
    where = facts.line(function.span)
    operand = facts.arrivals.graph.operand(function.id, index)
    value = None if operand is None else facts.trace.tensors[operand].value
    label = "its input" if operand is None else facts.label(operand)
    shown = "" if value is None else f" ({label} is {brief(value)})"
    upstream = next((v for v in step.upstream if v is not None), None)
    if upstream is not None and underflows(facts, operation, operand, upstream):
        smallest = f"{SMALLEST[upstream.dtype]:.2g}, the smallest" if upstream.dtype in SMALLEST else "any"
        return (
            "underflow",
            f"it has shrunk to {brief(upstream)} on its way, and {name}{where} makes it less than {smallest} "
            f"{upstream.dtype}, so it underflows",
            [facts.at(f"{name} sends back 0 here", function.span)],
            (
                "gradients vanish on a path with many small factors: gradtrace stats shows where",
                "scale the factors up, shorten the way, or compute in float64",
                *SCALED[: upstream.dtype in SHORT],
            ),
        )
    alone = over_one(facts, operation)
    if alone is not None:
        return alone
    reversed_ = straight_through(facts, operation, operand)
    if reversed_ is not None:
        return reversed_
    cause, because, advice = zero_reason(facts, name, operation, operand, shown, where)
    made = makers_of_zero(facts, operation, operand, name.rstrip("_"))
    return cause, because, [*made, facts.at(f"{name} sends back 0 here", function.span)], advice


def over_one(facts: Facts, operation: Operation | None) -> Reason | None:
    """Explain a softmax over a single element, which is always 1."""
    if operation is None or operation.name not in ("softmax", "log_softmax", "cross_entropy"):
        return None
    dim = next((o.text.partition("=")[2] for o in operation.inputs if o.text.startswith("dim=")), "1")
    tensor = next((o.tensor for o in operation.inputs if o.tensor is not None), None)
    value = None if tensor is None else facts.trace.tensors[tensor].value
    if value is None or tensor is None or not dim.lstrip("-").isdigit() or not value.shape:
        return None
    if not -len(value.shape) <= int(dim) < len(value.shape) or value.shape[int(dim)] != 1:
        return None
    where, name = facts.line(operation.span), named(facts, tensor)
    return (
        "one class",
        f"{operation.name}{where} is taken over only one class, for {name} has the shape {value.shape}: it is the same "
        "whatever the scores are",
        [facts.at(f"{operation.name} over one element is constant", operation.span)],
        (
            "two classes need 2 outputs: nn.Linear(..., 2)",
            f"or one output and F.binary_cross_entropy_with_logits({name}.squeeze(1), labels.float())",
        ),
    )


def straight_through(facts: Facts, operation: Operation | None, operand: int | None) -> Reason | None:
    """Find a straight-through estimate that is reversed: it keeps the flat operation's result and detaches the
    difference.
    """
    if operation is None or operand is None or reason_of(operation.name.rstrip("_")) != "flat":
        return None
    for other in facts.trace.operations[operation.id :]:
        if other.name != "detach" or not other.inputs or other.inputs[0].tensor is None:
            continue
        behind = facts.flow.before([other.inputs[0].tensor])
        if operand not in behind or len(behind) > 1000:
            continue
        soft, hard = named(facts, operand), named(facts, operation.outputs[0])
        return (
            "straight-through reversed",
            f"the straight-through estimate{facts.line(other.span)} is the wrong way round: it detaches the part with "
            f"{soft}, and its gradient goes through {hard}, which is flat",
            [
                facts.at(f"{operation.name} has the derivative 0 everywhere", operation.span),
                facts.at(f"detach() here cuts off {soft}, not {hard}", other.span),
            ],
            (f"{soft} + ({hard} - {soft}).detach()",),
        )
    return None


def zero_reason(
    facts: Facts, name: str, operation: Operation | None, operand: int | None, shown: str, where: str
) -> tuple[str, str, tuple[str, ...]]:
    base = name.rstrip("_")
    reason = reason_of(base)
    if reason == "rectifier":
        return (
            "dead relu",
            f"{name}{where} lets nothing back where its input is not positive{shown}",
            RECTIFIED,
        )
    if reason == "clamp":
        return (
            "clamp",
            f"{name}{where} lets nothing back outside of its bounds{shown}",
            ("widen the bounds, or use a smooth bound (tanh, sigmoid)",),
        )
    if reason == "branch":
        return (
            "untaken where",
            f"torch.where{where} took the other branch everywhere",
            ("the branch that is not taken has gradient 0; look at the condition",),
        )
    if reason == "flat":
        return (
            "flat",
            f"{name}{where} is flat: its derivative is 0 everywhere",
            (straight_code(facts, operation, operand), "or leave it out of what is differentiated"),
        )
    if reason in ("mask", "product"):
        return product(facts, base, reason, operation, operand, where)
    if reason == "padding":
        return (
            "padding",
            f"{name}{where} looked up nothing but rows at padding_idx, which get no gradient",
            ("look at the indices",),
        )
    if reason == "choice":
        return (
            "not chosen",
            f"{name}{where} chose other elements",
            ("only the chosen elements get a gradient; a soft maximum (logsumexp) gives one to all",),
        )
    if reason == "saturated":
        return (
            "saturated",
            f"{name}{where} is saturated{shown}: its derivative is too small for the dtype",
            ("scale its input down", "use the combined form (log_softmax, *_with_logits)"),
        )
    return "zero derivative", f"the derivative of {name}{where} is 0 at this point{shown}", ()


def straight_code(facts: Facts, operation: Operation | None, operand: int | None) -> str:
    """Return a hint with the code of a straight-through estimate of a flat operation."""
    if operation is None or operand is None:
        return "use a straight-through estimate: x + (hard - x).detach()"
    soft = named(facts, operand)
    soft = soft if soft.isidentifier() or len(soft) < 12 else "x"
    return f"a straight-through estimate: {soft} + (torch.{operation.name}({soft}) - {soft}).detach()"
