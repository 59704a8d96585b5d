"""Explain a gradient that is a number by its contributions, or one that is not finite by the first NaN."""

from __future__ import annotations

from gradtrace.analysis import history, places
from gradtrace.analysis.answer import Answer, Evidence, Facts, is_finite, is_zero, last_change
from gradtrace.analysis.flow import leading_to
from gradtrace.analysis.words import brief
from gradtrace.trace.record import BackwardStep, Change, Operation, TensorRecord, Value

# ---- a number


def filled(facts: Facts, record: TensorRecord) -> Answer:
    """Explain a finite, nonzero gradient by its contributions."""
    assert record.grad is not None
    visits = facts.visits_of(record)
    evidence = [facts.origin(record)]
    name = record.label
    total = brief(record.grad)
    assigned = last_change(facts, record, "assigned")
    if not visits:
        if assigned is not None:
            evidence.append(facts.at(f"{name}.grad is assigned", assigned.span))
        return Answer(
            name,
            "gradient",
            "assigned",
            f"{name}.grad is {total}: it was set by the program.",
            tuple(evidence),
            (),
            record.grad,
        )
    sentence = f"{name}.grad is {total}, from backward{facts.line(facts.storing[-1].span if facts.storing else None)}"
    advice: tuple[str, ...] = ()
    cause = "backward"
    evidence += of_its_own(facts, record)
    evidence += turns(facts, visits, name)
    evidence += cut_off(facts, record)
    stored = [step for step in visits if step.grad_before is not None and not is_zero(step.grad_before)]
    if stored:
        cause = "accumulated"
        added = f"{len(visits)} passes added up" if len(visits) > 1 else "a pass added to the gradient from before"
        sentence = f"{name}.grad is {total}: {added}, for gradients are not zeroed between passes"
        advice = (f"{name}.grad = None, or zero_grad(), before each backward gives the last pass's alone",)
    hooked = [hook for step in visits for hook in step.hooks if hook.changed]
    if hooked:
        cause = "hook"
        call = places.hook_call(facts.text, hooked[-1].name, name)
        where = "" if call is None else facts.line(places.span_of(call))
        sentence = f"{name}.grad is {total}: the hook {hooked[-1].name}{where} replaced what backward brought"
        advice = ("return nothing from the hook to leave the gradient as it is",)
    stale = history.stale_optimiser(facts, record)
    if stale is not None:
        cause = stale.cause
        sentence += f"; {stale.because}"
        evidence += stale.evidence
        advice = (*stale.advice, *advice)
    silent = unseen_changes(facts, visits)
    told = [
        facts.at(
            f"{facts.called(change.tensors)} is changed without autograd seeing it, after its "
            "value had been saved for backward",
            change.span,
        )
        for change in silent
    ]
    evidence += list(dict.fromkeys(told))[:SHOWN]
    if silent:
        cause = "changed through .data"
        advice = ("change it under torch.no_grad() instead: then autograd refuses to use the changed value", *advice)
        sentence += (
            f"; the value that it was computed with was changed{facts.line(silent[-1].span)} behind autograd's back"
        )
    for call in places.direct_forwards(facts.text):
        name_of = call.func.value.id
        evidence.append(
            facts.at(
                f"note: {name_of}.forward without apply runs as plain code, {name_of}.backward is not used",
                places.span_of(call),
            )
        )
    share = zero_share(record.grad)
    sentence += f" ({share})" if share else ""
    return Answer(name, "gradient", cause, sentence + ".", tuple(evidence), advice, record.grad)


SHOWN = 3  # passes that are listed one by one


def turns(facts: Facts, visits: list[BackwardStep], name: str) -> list[Evidence]:
    """Explain the contribution of each pass; of many passes, only the first and the last."""
    found = []
    for i, step in enumerate(visits):
        if len(visits) <= SHOWN or i in (0, len(visits) - 1):
            found += turn(facts, step, name)
        elif i == 1:
            left = len(visits) - 2
            found.append(Evidence(f"... {left} more passes, to {name}.grad = {brief_grad(visits[-2])}"))
    return found


def brief_grad(step: BackwardStep) -> str:
    return "None" if step.grad_after is None else brief(step.grad_after)


def turn(facts: Facts, step: BackwardStep, name: str) -> list[Evidence]:
    """Explain one pass's contribution to a gradient: the summands, the hooks, the sum."""
    one = facts.trace.passes[step.number]
    found = [facts.backward(one)]
    parts: dict[Evidence, int] = {}
    for sender, _, part in facts.arrivals.at(step):
        told = facts.at(f"{brief(part.value)} comes from {part.source}", facts.trace.functions[sender.function].span)
        parts[told] = parts.get(told, 0) + 1
    found += [
        told if n == 1 else told._replace(text=f"{told.text}, {TIMES.get(n, f'{n} times')}")
        for told, n in parts.items()
    ]
    for hook in step.hooks:
        if hook.changed and hook.before is not None and hook.after is not None:
            found.append(Evidence(f"hook {hook.name} turns {brief(hook.before)} into {brief(hook.after)}"))
    if step.grad_before is not None and step.grad_after is not None:
        found.append(Evidence(f"{name}.grad was {brief(step.grad_before)} and becomes {brief(step.grad_after)}"))
    return found


TIMES = {2: "twice"}


def cut_off(facts: Facts, record: TensorRecord) -> list[Evidence]:
    """Return evidence of other paths from a tensor to the result that the program cuts on purpose."""
    into = facts.flow.before(facts.roots)
    for cut in facts.flow.cuts_after(record.id):
        if cut.result in into:
            found = history.describe(facts, cut)
            if found.cause in ("detach", ".data", "no_grad"):
                told = f"this cuts off another way on which {facts.root_names()} depends on {record.label}"
                return [found.evidence[-1]._replace(text=told)]
    return []


def of_its_own(facts: Facts, record: TensorRecord) -> list[Evidence]:
    """Note that a Parameter was made of another leaf's numbers, and that the two are independent."""
    at, made = facts.trace.tensors[record.id].first, None
    while (escape := facts.flow.origin_of_data.get(facts.flow.tensor(at))) is not None and escape.tensor is not None:
        made, at = made or escape, escape.tensor
    source = facts.trace.tensors[facts.flow.tensor(at)]
    if made is None or made.how != "parameter" or not (source.is_leaf and source.requires_grad and source.name):
        return []
    told = f"{record.label} is a leaf of its own, made of {source.label}'s numbers: they do not share a gradient"
    return [facts.at(told, made.span)]


def unseen_changes(facts: Facts, visits: list[BackwardStep] | None = None) -> list[Change]:
    """Return the changes of saved values, before backward used them, that no version counter shows; with `visits`
    only those of values that the gradients there were computed with.
    """
    trace = facts.trace
    taken = {e.out for e in trace.escapes if e.how in ("data", "numpy") and e.out is not None}
    through = {e.span.line for e in trace.escapes if e.how == "data" and e.span is not None}
    made = {o.function: o.id for o in reversed(trace.operations)}  # by function: the operation that made it
    used = leading_to(trace, {step.function for step in visits or ()})
    passes = {step.number for step in visits or ()}

    def uses(step: BackwardStep, held: frozenset[int], after: int) -> bool:
        """Whether a function backpropagates with a value that it had saved before it was changed."""
        if visits is not None and (step.number not in passes or step.function not in used):
            return False
        saved = {s.tensor for s in trace.functions[step.function].saved}
        return not held.isdisjoint(saved) and made.get(step.function, after) < after

    found = []
    for change in trace.changes:
        held = facts.held(change)
        at_line = change.span is not None and change.span.line in through
        if change.of_grad or not (change.how == "data" or at_line or not held.isdisjoint(taken)):
            continue
        if any(uses(step, held, change.after) for step in trace.steps[change.after_steps :]):
            found.append(change)
    return found


def zero_share(value: Value) -> str:
    """Return "2 of 5 elements are 0", or "" if no element is 0."""
    if not value.shape:
        return ""
    zeros = value.zeros
    return f"{zeros} of {value.numel} elements are 0" if zeros else ""


# ---- not finite


def not_finite(facts: Facts, record: TensorRecord) -> Answer:
    """Explain where the first NaN or infinity of a gradient arose: in forward, or in backward."""
    name = record.label
    assert record.grad is not None
    evidence = [facts.origin(record)]
    bad = next((o for o in facts.trace.operations if turns_bad(facts, o)), None)
    for step in facts.trace.steps:
        if all(is_finite(u) for u in step.upstream) and not all(is_finite(v) for v in step.downstream):
            function = facts.trace.functions[step.function]
            operation = facts.arrivals.operations.get(function.id)
            called = operation.name if operation is not None else function.name
            where = facts.line(function.span)
            shown = "" if operation is None else operands_of(facts, operation)
            evidence.append(facts.at(f"the derivative of {called} is not finite here{shown}", function.span))
            when = "" if operation is None else facts.step(operation)
            because = f"the derivative of {called}{where} is not finite{when}{shown}"
            advice = (
                "keep the argument away from that point (clamp_min, + eps)",
                "torch.where does not help by itself: mask the argument, not the result",
            )
            if operation is not None and turns_bad(facts, operation):
                bad = operation
            if bad is not None and (leads_to(facts, bad, operation) or in_a_step_before(facts, bad, operation)):
                if bad.function != function.id:
                    evidence.insert(1, facts.at(f"{bad.name} gives {brief_of(facts, bad)} here", bad.span))
                because = (
                    f"{bad.name}{facts.line(bad.span)} already gave {brief_of(facts, bad)} in forward{facts.step(bad)}"
                    f"{operands_of(facts, bad)}"
                )
                advice = ("keep the numbers of forward finite there: clamp, + eps, smaller steps, float64", advice[1])
            return Answer(
                name,
                "nan",
                "not finite",
                f"{name}.grad is {brief(record.grad)}: {because}.",
                tuple(evidence),
                advice,
                record.grad,
            )
    if bad is not None:
        evidence.append(facts.at(f"{bad.name} gives {brief_of(facts, bad)}{facts.step(bad)}", bad.span))
    return Answer(
        name,
        "nan",
        "not finite",
        f"{name}.grad is {brief(record.grad)}: {began_bad(facts, bad)}.",
        tuple(evidence),
        ("look at the values of forward: gradtrace trace",),
        record.grad,
    )


def began_bad(facts: Facts, bad: Operation | None) -> str:
    """Return the cause where numbers were already not finite before backward began."""
    if bad is None or not facts.trace.training:
        return "it was not finite where backward began"
    return f"{bad.name}{facts.line(bad.span)} gave {brief_of(facts, bad)} in forward{facts.step(bad)}"


def turns_bad(facts: Facts, operation: Operation) -> bool:
    """Whether an operation made a value that is not finite from finite operands."""
    tensors = facts.trace.tensors
    return any(not is_finite(tensors[i].value) for i in operation.outputs) and all(
        o.tensor is None or is_finite(tensors[o.tensor].value) for o in operation.inputs
    )


def operands_of(facts: Facts, operation: Operation) -> str:
    """Return the operands in words: " (x is 0; w is 5)"."""
    inputs = [
        f"{facts.label(o.tensor)} is {brief(value)}"
        for o in operation.inputs
        if o.tensor is not None and (value := facts.trace.tensors[o.tensor].value) is not None
    ]
    return f" ({'; '.join(inputs)})" if inputs else ""


def leads_to(facts: Facts, bad: Operation, operation: Operation | None) -> bool:
    """Whether the results of `bad` flow into the operands or the results of `operation`."""
    if operation is None:
        return False
    ends = {*operation.outputs, *(o.tensor for o in operation.inputs if o.tensor is not None)}
    return bool(facts.flow.after(bad.outputs) & ends)


def in_a_step_before(facts: Facts, bad: Operation, operation: Operation | None) -> bool:
    """Whether `bad` ran in the same training step as `operation`, or in an earlier one."""
    step = None if operation is None else facts.step_number(operation)
    first = facts.step_number(bad)
    return step is not None and first is not None and first <= step


def brief_of(facts: Facts, operation: Operation) -> str:
    value = facts.trace.tensors[operation.outputs[0]].value
    return "a value" if value is None else brief(value)
