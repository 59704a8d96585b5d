"""Why a gradient is the number that it is: where it comes from, what made it zero, where the first NaN arose."""

from __future__ import annotations

from gradtrace.analysis import places
from gradtrace.analysis.answer import Answer, Evidence, Facts, is_finite, is_zero
from gradtrace.analysis.steps import Contribution, Graph, made_by
from gradtrace.analysis.words import brief
from gradtrace.trace.record import BackwardStep, Change, Operation, TensorRecord, Value

FLAT = frozenset({"sign", "round", "floor", "ceil", "trunc", "heaviside", "floor_divide"})
CLAMPS = frozenset({"clamp", "clamp_min", "clamp_max", "clip", "hardtanh", "relu6", "hardsigmoid"})
CHOOSERS = frozenset({"max", "min", "amax", "amin", "maximum", "minimum", "select", "slice", "index", "gather", "topk",
                      "max_pool2d", "index_select", "fmax", "fmin", "median", "kthvalue", "sort", "masked_select"})
SATURATING = frozenset({"sigmoid", "tanh", "softmax", "log_softmax", "erf", "hardswish", "softplus", "exp", "gelu"})
MASKING = frozenset({"mul", "masked_fill", "dropout", "where"})


def received(facts: Facts, step: BackwardStep) -> list[tuple[BackwardStep, int, Contribution]]:
    """What the step's function was sent in that pass: by whom, along which edge, and how much."""
    graph = Graph(facts.trace)
    incoming = {(e.source, e.input_index) for e in facts.trace.function_edges if e.target == step.function}
    found = []
    for other in facts.trace.steps:
        if other.number != step.number:
            continue
        for index, value in enumerate(other.downstream):
            if value is not None and (other.function, index) in incoming:
                tensor = made_by(graph.trace.functions[other.function])
                label = facts.trace.functions[other.function].name if tensor is None else facts.label(tensor)
                found.append((other, index, Contribution(label, value)))
    return found


# ---- a number


def filled(facts: Facts, record: TensorRecord) -> Answer:
    """Where an ordinary gradient comes from."""
    assert record.grad is not None
    visits = facts.visits_of(record)
    evidence = [facts.made(record)]
    name = record.label
    total = brief(record.grad)
    assigned = last_change(facts, record, "assigned")
    if not visits:
        if assigned is not None:
            evidence.append(facts.at(f"{name}.grad is assigned", assigned.span))
        return Answer(name, "gradient", "assigned", f"{name}.grad is {total}: it was set by the program.",
                      tuple(evidence), (), record.grad)
    sentence = f"{name}.grad is {total}, from backward{facts.line(facts.storing[-1].span if facts.storing else None)}"
    advice: tuple[str, ...] = ()
    cause = "backward"
    for step in visits:
        evidence += turn(facts, step, name)
    stored = [step for step in visits if step.grad_before is not None and not is_zero(step.grad_before)]
    if stored:
        cause = "accumulated"
        sentence = f"{name}.grad is {total}: {len(visits)} passes added up, for gradients are not zeroed between them"
        advice = (f"{name}.grad = None, or zero_grad(), before each backward gives the last pass's alone",)
    hooked = [hook for step in visits for hook in step.hooks if hook.changed]
    if hooked:
        cause = "hook"
        sentence = f"{name}.grad is {total}: the hook {hooked[-1].name} replaced what backward brought"
        advice = ("return nothing from the hook to leave the gradient as it is",)
    silent = unseen_changes(facts)
    for change in silent:
        cause = "changed through .data"
        evidence.append(facts.at(f"{facts.called(change.tensors)} is changed without autograd seeing it, after its "
                                 "value had been saved for backward", change.span))
        advice = ("change it under torch.no_grad() instead: then autograd refuses to use the changed value", *advice)
    if silent:
        sentence += (
            f"; the value that it was computed with was changed{facts.line(silent[-1].span)} behind autograd's back"
        )
    for call in places.direct_forwards(facts.text):
        name_of = call.func.value.id
        evidence.append(facts.at(f"note: {name_of}.forward without apply runs as plain code, {name_of}.backward is not "
                                 "used", places.span_of(call)))
    share = zero_share(record.grad)
    sentence += f" ({share})" if share else ""
    return Answer(name, "gradient", cause, sentence + ".", tuple(evidence), advice, record.grad)


def turn(facts: Facts, step: BackwardStep, name: str) -> list[Evidence]:
    """One pass's part: the contributions, the hooks, the sum."""
    one = facts.trace.passes[step.number]
    found = [facts.backward(one)]
    parts = received(facts, step)
    for sender, _, part in parts:
        found.append(facts.at(f"{brief(part.value)} comes from {part.source}",
                              facts.trace.functions[sender.function].span))
    for hook in step.hooks:
        if hook.changed and hook.before is not None and hook.after is not None:
            found.append(Evidence(f"hook {hook.name} turns {brief(hook.before)} into {brief(hook.after)}"))
    if step.grad_before is not None and step.grad_after is not None:
        found.append(Evidence(f"{name}.grad was {brief(step.grad_before)} and becomes {brief(step.grad_after)}"))
    return found


def unseen_changes(facts: Facts) -> list[Change]:
    """Changes of saved values between their use and their backward that no version counter told."""
    trace = facts.trace
    found = []
    taken = {e.out for e in trace.escapes if e.how in ("data", "numpy") and e.out is not None}
    through = {e.span.line for e in trace.escapes if e.how == "data" and e.span is not None}
    for change in trace.changes:
        unseen = not taken.isdisjoint(change.tensors) or change.how == "data" or (
            change.span is not None and change.span.line in through)
        if change.of_grad or not unseen:
            continue
        for step in trace.steps[change.after_steps :]:
            function = trace.functions[step.function]
            saved = {s.tensor for s in function.saved}
            if not saved.isdisjoint(change.tensors) and was_before(trace.operations, function.id, change.after):
                found.append(change)
                break
    return found


def was_before(operations: tuple[Operation, ...], function: int, after: int) -> bool:
    """Whether the operation that made a function ran before the operation number `after`."""
    return any(o.function == function for o in operations[:after])


def last_change(facts: Facts, record: TensorRecord, *hows: str) -> Change | None:
    """The last change of a tensor's gradient."""
    changes = [c for c in facts.trace.changes if c.of_grad and record.id in c.tensors]
    return changes[-1] if changes and (not hows or changes[-1].how in hows) else None


def zero_share(value: Value) -> str:
    """ "2 of 5 elements are 0", or ""."""
    if not value.shape:
        return ""
    zeros = int((value.data == 0).sum())
    return f"{zeros} of {value.numel} elements are 0" if zeros else ""


# ---- zero


def zero(facts: Facts, record: TensorRecord) -> Answer:
    """Why a gradient is zero everywhere."""
    name = record.label
    visits = facts.visits_of(record)
    wiped = last_change(facts, record)
    if wiped is not None and wiped.how not in ("cleared",) and not any(
        step.function == record.function for step in facts.trace.steps[wiped.after_steps :]
    ):
        return zeroed(facts, record, wiped)
    if not visits:
        return Answer(name, "zero", "assigned", f"{name}.grad is 0: the program set it.", (facts.made(record),), (),
                      record.grad)
    found = [facts.made(record), facts.backward(facts.trace.passes[visits[-1].number])]
    cause, because, evidence, advice = origin_of_zero(facts, visits[-1])
    return Answer(name, "zero", cause, f"{name}.grad is 0: {because}.", (*found, *evidence), advice, record.grad)


def zeroed(facts: Facts, record: TensorRecord, change: Change) -> Answer:
    name = record.label
    before = next((s.grad_after for s in reversed(facts.trace.steps[: change.after_steps])
                   if s.function == record.function and s.grad_after is not None), None)
    was = f", where it was {brief(before)}" if before is not None else ""
    return Answer(name, "zero", "zeroed", f"{name}.grad is 0: it was set to zero{facts.line(change.span)}{was}.",
                  (facts.made(record), facts.at(f"{name}.grad is zeroed", change.span)),
                  ("read .grad before that line",), record.grad)


def origin_of_zero(facts: Facts, step: BackwardStep) -> tuple[str, str, list[Evidence], tuple[str, ...]]:
    """Goes up from a step that got zero to whatever made it zero."""
    seen: set[int] = set()
    while True:
        for hook in step.hooks:
            if hook.changed and is_zero(hook.after) and not is_zero(hook.before):
                return (
                    "hook",
                    f"the hook {hook.name} replaced the gradient by zero",
                    [],
                    ("return nothing from the hook",),
                )
        parts = received(facts, step)
        if not parts or step.function in seen:
            return "zero vector", "backward was started with a gradient of zero", [], (
                "start it with ones: the vector of backward(gradient=...)",)
        seen.add(step.function)
        if any(not is_zero(part.value) for _, _, part in parts):
            terms = ", ".join(f"{brief(part.value)} from {part.source}" for _, _, part in parts)
            return "cancelled", f"what arrived along its paths cancels out ({terms})", [], ()
        makers = [(sender, index) for sender, index, _ in parts if not all(is_zero(u) for u in sender.upstream if u)]
        if makers:
            return blame(facts, *makers[0])
        step = parts[0][0]


def blame(facts: Facts, step: BackwardStep, index: int) -> tuple[str, str, list[Evidence], tuple[str, ...]]:
    """The function whose local derivative is zero there, and why."""
    function = facts.trace.functions[step.function]
    operation = next((o for o in facts.trace.operations if o.function == function.id), None)
    name = operation.name if operation is not None else function.name
    where = facts.line(function.span)
    operand = Graph(facts.trace).operand(function.id, index)
    value = None if operand is None else facts.trace.tensors[operand].value
    label = "its input" if operand is None else facts.label(operand)
    shown = "" if value is None else f" ({label} is {brief(value)})"
    cause, because, advice = zero_reason(facts, name, operation, operand, shown, where)
    return cause, because, [facts.at(f"{name} sends back 0 here", function.span)], advice


def zero_reason(
    facts: Facts, name: str, operation: Operation | None, operand: int | None, shown: str, where: str
) -> tuple[str, str, tuple[str, ...]]:
    base = name.rstrip("_")
    if base in ("relu", "leaky_relu", "threshold", "hardshrink", "softshrink", "elu"):
        return "dead relu", f"{name}{where} lets nothing back where its input is not positive{shown}", (
            "change the inputs or the bias so that some are positive", "leaky_relu or softplus never die")
    if base in CLAMPS:
        return "clamp", f"{name}{where} lets nothing back outside of its bounds{shown}", (
            "widen the bounds, or use a smooth bound (tanh, sigmoid)",)
    if base == "where":
        return "untaken where", f"torch.where{where} took the other branch everywhere", (
            "the branch that is not taken has gradient 0; look at the condition",)
    if base in FLAT:
        return "flat", f"{name}{where} is flat: its derivative is 0 everywhere", (
            "leave it out of what is differentiated, or use a straight-through estimate (a Function)",)
    if base in MASKING:
        others = [] if operation is None else [
            o.tensor for o in operation.inputs if o.tensor is not None and o.tensor != operand]
        factor = next((facts.label(i) for i in others), "the other factor")
        return "mask", f"{factor}, which it is multiplied by{where}, is 0 everywhere", (f"look at {factor}",)
    if base in CHOOSERS:
        return "not chosen", f"{name}{where} chose other elements", (
            "only the chosen elements get a gradient; a soft maximum (logsumexp) gives one to all",)
    if base in SATURATING:
        return "saturated", f"{name}{where} is saturated{shown}: its derivative is too small for the dtype", (
            "scale its input down", "use the combined form (log_softmax, *_with_logits)")
    return "zero derivative", f"the derivative of {name}{where} is 0 at this point{shown}", ()


# ---- not finite


def not_finite(facts: Facts, record: TensorRecord) -> Answer:
    """Where the first NaN or infinity of a gradient arose: in forward, or in backward."""
    name = record.label
    assert record.grad is not None
    evidence = [facts.made(record)]
    bad = next((o for o in facts.trace.operations if any(not is_finite(facts.trace.tensors[i].value)
                for i in o.outputs) and all(o2.tensor is None or is_finite(facts.trace.tensors[o2.tensor].value)
                                            for o2 in o.inputs)), None)
    for step in facts.trace.steps:
        if all(is_finite(u) for u in step.upstream) and not all(is_finite(v) for v in step.downstream):
            function = facts.trace.functions[step.function]
            operation = next((o for o in facts.trace.operations if o.function == function.id), None)
            called = operation.name if operation is not None else function.name
            inputs = [] if operation is None else [
                f"{facts.label(o.tensor)} is {brief(value)}" for o in operation.inputs if o.tensor is not None
                and (value := facts.trace.tensors[o.tensor].value) is not None]
            where = facts.line(function.span)
            shown = f" ({'; '.join(inputs)})" if inputs else ""
            evidence.append(facts.at(f"the derivative of {called} is not finite here{shown}", function.span))
            because = f"the derivative of {called}{where} is not finite{shown}"
            advice = ("keep the argument away from that point (clamp_min, + eps)",
                      "torch.where does not help by itself: mask the argument, not the result")
            if bad is not None and bad.function == function.id:
                because = f"{called}{where} already gave {brief_of(facts, bad)} in forward{shown}"
            return Answer(name, "nan", "not finite", f"{name}.grad is {brief(record.grad)}: {because}.",
                          tuple(evidence), advice, record.grad)
    if bad is not None:
        evidence.append(facts.at(f"{bad.name} gives {brief_of(facts, bad)}", bad.span))
    return Answer(name, "nan", "not finite", f"{name}.grad is {brief(record.grad)}: it was not finite where backward "
                  "began.", tuple(evidence), ("look at the values of forward: gradtrace trace",), record.grad)


def brief_of(facts: Facts, operation: Operation) -> str:
    value = facts.trace.tensors[operation.outputs[0]].value
    return "a value" if value is None else brief(value)
