"""Laws of modules, hooks and schedules: modes that fit together, hooks that are registered once,
schedules that move with their optimiser.
"""

from __future__ import annotations

from itertools import pairwise

from gradtrace.analysis import places
from gradtrace.analysis.cause import Cause, Fix
from gradtrace.analysis.causes.rates import rate_at
from gradtrace.analysis.facts import Facts
from gradtrace.analysis.laws.parameters import norm_after
from gradtrace.analysis.ledger.book import Ledger
from gradtrace.analysis.rewrites import span_of
from gradtrace.analysis.terms import (
    highest,
    is_dropout,
    is_in_dropout,
    loads,
    named,
    numbers_in,
    optimiser_name,
    own_span,
    stores,
)
from gradtrace.annotations import Any, Iterator, NamedTuple
from gradtrace.program import syntax as ast
from gradtrace.trace.record import (
    HookRecord,
    Operation,
    OptimiserRecord,
    ScheduleRecord,
    ScopeRecord,
    Span,
)

MOST_DROPPED = 0.9  # by a dropout that may be meant to keep as much
SPENT = 1e-4  # of a learning rate: with less nothing is learnt any more
WITH_MODES = ("Dropout", "BatchNorm", "DropPath", "InstanceNorm", "StochasticDepth")


def hooks_once(ledger: Ledger) -> Iterator[Cause]:
    """A hook is registered once, or removed before it is registered again."""
    facts = ledger.facts
    places: dict[tuple[str, int | str | None, object], list[HookRecord]] = {}
    for hook in facts.trace.hooks:
        owner = hook.module or (None if hook.tensor is None else facts.flow.tensor(hook.tensor))
        if owner is not None and hook.removed is None:
            places.setdefault((hook.name, owner, hook.span), []).append(hook)
    for (name, owner, _), hooks in places.items():
        if len(hooks) < 3:
            continue
        label = owner if isinstance(owner, str) else named(facts, int(owner or 0))
        span = hooks[-1].span
        yield Cause(
            "hook twice",
            f"the hook {name} is registered on {label} again in each step{facts.at_line(span)}, "
            f"and none is removed: in the last step it runs {len(hooks)} times",
            (facts.at(f"this registers it, {len(hooks)} times in this run", span),),
            ("register it once, before the loop", "or remove it with its handle: handle.remove()"),
            tensors=None if isinstance(owner, str) else frozenset([int(owner or 0)]),
        )


def schedules_move(ledger: Ledger) -> Iterator[Cause]:
    """A schedule is stepped as its optimiser is (a remark)."""
    facts = ledger.facts
    for schedule in facts.trace.schedules:
        if schedule.optimiser is None:
            continue
        optimiser = facts.trace.optimisers[schedule.optimiser]
        name = f"{schedule.kind}{facts.at_line(schedule.span)}"
        count = len(schedule.steps)
        if optimiser.steps > 2 and count == 0:
            because = (
                f"{name} is never stepped, in {optimiser.steps} steps of "
                f"{optimiser_name(facts, optimiser)}"
            )
        elif optimiser.steps > 2 and count >= 2 * optimiser.steps:
            because = (
                f"{name} is stepped {count} times{facts.at_line(schedule.step_span)}, in "
                f"{optimiser.steps} steps of {optimiser_name(facts, optimiser)}"
            )
        elif (late := rate_at(optimiser, optimiser.steps * 3 // 4)) is not None and (
            late < SPENT * (optimiser.lr or 0.0)
        ):
            because = (
                f"{name} has brought the learning rate of {optimiser_name(facts, optimiser)} from "
                f"{optimiser.lr:g} to {late:g} after {optimiser.steps * 3 // 4} of "
                f"{optimiser.steps} steps"
            )
        elif (
            schedule.kind == "CosineAnnealingLR"
            and [s.optimiser for s in facts.trace.schedules].count(schedule.optimiser) == 1
            and (again := rising(optimiser))
        ):
            because = (
                f"{name} raises the learning rate of {optimiser_name(facts, optimiser)} again from "
                f"step {again} on: T_max counts calls of its step(), which are {count}"
            )
        else:
            continue
        yield Cause("schedule apart", because, (facts.at("made here", schedule.span),))


def rising(optimiser: OptimiserRecord) -> int:
    """Return the first step with a larger learning rate than the one before, after the rate had
    fallen; 0 if there is none.
    """
    rates = optimiser.rates
    fallen = False
    for (_, before), (step, rate) in pairwise(rates):
        if rate > before and fallen:
            return step
        fallen |= rate < before
    return 0


def schedules_follow(ledger: Ledger) -> Iterator[Cause]:
    """A schedule is stepped after the optimiser's step, so that the first step has its first
    rate.
    """
    facts = ledger.facts
    for schedule in facts.trace.schedules:
        optimiser = (
            None if schedule.optimiser is None else facts.trace.optimisers[schedule.optimiser]
        )
        if optimiser is None or not schedule.steps or not optimiser.marks or not optimiser.rates:
            continue
        used = optimiser.rates[0][1]
        if used == optimiser.lr or not is_before(schedule, optimiser):
            continue
        call = facts.text.line(schedule.step_span)
        yield Cause(
            "early schedule",
            f"{call}{facts.at_line(schedule.step_span)} comes before the optimiser's step"
            f"{facts.at_line(optimiser.step_span)} in the loop: the first step is made with "
            f"lr={used:g}, the second value of the schedule",
            (
                facts.at(f"{schedule.kind} starts from lr={optimiser.lr or 0:g}", schedule.span),
                facts.at("the learning rate changes here", schedule.step_span),
                facts.at(
                    f"the first step is made after that, with lr={used:g}", optimiser.step_span
                ),
            ),
            (f"move {call} behind {facts.text.line(optimiser.step_span)}",),
        )


def is_before(schedule: ScheduleRecord, optimiser: OptimiserRecord) -> bool:
    """Whether a schedule is stepped before its optimiser; by their lines if nothing ran between."""
    first = optimiser.marks[0]
    own = first.after, first.after_steps
    if schedule.steps[0] != own:
        return schedule.steps[0] < own
    spans = schedule.step_span, optimiser.step_span
    if spans[0] is None or spans[1] is None or spans[0].file or spans[1].file:
        return False
    return spans[0].line < spans[1].line


def clips_before_steps(ledger: Ledger) -> Iterator[Cause]:
    """Clipping stands between backward and step, and gets parameters."""
    facts = ledger.facts
    edits = {
        edit.span
        for entries in ledger.gradients.values()
        for entry in entries
        for edit in entry.edits
    }
    # gradients that the program sets are no pass's, so that no book has them
    written = {
        change.span
        for change in facts.trace.changes
        if change.of_grad and facts.assigned.isdisjoint(facts.leaves_of(change))
    }
    step = next((o.step_span for o in facts.trace.optimisers if o.steps), None)
    has_used = any(norm_after(turn) for entry in ledger.trained for turn in entry.used)
    for span in dict.fromkeys(clip.span for clip in facts.trace.clips):
        clips = [clip for clip in facts.trace.clips if clip.span == span]
        call = f"clip_grad_{clips[0].how}_{facts.at_line(span)}"
        advice: tuple[str, ...] = ("move it between backward() and step()",)
        if len(clips) > 1 and all(clip.held == 0 for clip in clips[1:]):
            code = "clips nothing"
            clause = f"{call} gets no tensor: its iterator has none left"
            advice = (exhausted(facts, span),)
        elif span in written and span not in edits:
            code = "idle clip"
            clause = f"{call} changes gradients that no step uses any more"
        elif has_used and len(clips) > 1 and all(clip.norm == 0 for clip in clips):
            code = "idle clip"
            clause = f"{call} finds no gradient: none is there when it runs"
        else:
            continue
        yield Cause(
            code,
            f"{clause}, so step(){facts.at_line(step)} uses them unclipped",
            (facts.at("clipping is called here", span), facts.at("the step is here", step)),
            advice,
            symptom="no gradient is clipped",
        )


def exhausted(facts: Facts, span: Span | None) -> str:
    """Return the advice for a call whose iterator has no tensor left."""
    for call in facts.text.calls_at(span):
        name = facts.text.cut(call.args[0]) if call.args else ""
        bound = facts.text.assignments(name) if name.isidentifier() else []
        value = getattr(bound[0], "value", None) if len(bound) == 1 else None
        if isinstance(value, ast.Call):
            code = f"list({facts.text.cut(value)})"
            return Fix(f"{code}{facts.at_line(places.head_of(bound[0]))}", [(span_of(value), code)])
    return "give it a list of the parameters, or model.parameters()"


def modes_agree(ledger: Ledger) -> Iterator[Cause]:
    """What is trained runs in training mode, and what is evaluated does not (a remark)."""
    facts = ledger.facts
    calls = [call for call in model_calls(facts) if call.operation.scope == call.part.id]
    trained = [call for call in calls if call.operation.grad_enabled]
    still = [call for call in trained if not call.part.training and not call.scope.training]
    if still and len(still) == len(trained) and ledger.trained:
        operation, scope, part = still[-1]
        place = own_span(facts, operation)
        calls_of_eval = [c for c in facts.text.calls if facts.text.cut(c.func).endswith(".eval")]
        switches = [places.span_of(call) for call in calls_of_eval]
        lines = "".join(map(facts.at_line, switches[:1]))
        yield Cause(
            "in evaluation mode",
            f"{scope.name} runs in evaluation mode in all steps, where {part.detail} "
            f"{acts(part)}{facts.at_line(place)}{lines and f'; eval() is called{lines}'}",
            (facts.at("it runs here", place), *(facts.at("eval()", s) for s in switches)),
        )
    apart = [call for call in trained if call.part.training is not call.scope.training]
    if apart:
        operation, scope, part = apart[-1]
        mode = "training" if part.training else "evaluation"
        yield Cause(
            "modes apart",
            f"{part.name} runs in {mode} mode, and {scope.name} around it does not",
            (facts.at("it runs here", own_span(facts, operation)),),
        )
    reached = facts.flow.before(facts.begins)
    used = {o.scope for o in facts.operations if not reached.isdisjoint(o.outputs)}
    evaluated = [
        call
        for call in calls
        if call.part.training and (not call.operation.grad_enabled or call.part.id not in used)
    ]
    if evaluated and trained:
        operation, scope, part = evaluated[-1]
        without = "with no backward after it" if operation.grad_enabled else "without gradients"
        yield Cause(
            "evaluated in training mode",
            f"{scope.name} runs in training mode {without}"
            f"{facts.at_line(own_span(facts, operation))}, where {part.detail} still "
            f"{acts_in_training(part)}",
            (facts.at("it runs here", own_span(facts, operation)),),
        )


def modes_stay(ledger: Ledger) -> Iterator[Cause]:
    """A model that a validation puts into evaluation mode is trained in training mode after it."""
    facts = ledger.facts
    names: dict[str, dict[int, ModelCall]] = {}
    for model_call in model_calls(facts):
        scope = model_call.scope
        names.setdefault(scope.name, {}).setdefault(scope.id, model_call)
    for calls in map(list, map(dict.values, names.values())):
        trained = [c for c in calls if c.operation.grad_enabled]
        off = next((i for i, c in enumerate(trained) if not c.scope.training), 0)
        if off == 0 or any(c.scope.training for c in trained[off:]):
            continue
        operation = trained[off].operation
        last = trained[off - 1]
        is_validated = any(
            last.operation.id < c.operation.id < operation.id
            and not c.operation.grad_enabled
            and not c.scope.training
            for c in calls
        )
        call = next((c for c in facts.text.calls if is_eval(c)), None)
        step = facts.step_number(operation)
        if not is_validated or call is None or step is None:
            continue
        name = facts.text.cut(call.func.value)
        head = places.span_of(call)
        yield Cause(
            "evaluation mode",
            f"from step {step} on the model runs in evaluation mode, where {last.part.detail}"
            f"{facts.at_line(own_span(facts, last.operation))} {acts(last.part)}: {name}.eval()"
            f"{facts.at_line(head)} is not undone by {name}.train()",
            (
                facts.at("this turns evaluation mode on, until train() is called", head),
                facts.at(
                    "the last step in training mode ran here", own_span(facts, last.operation)
                ),
            ),
            (f"{name}.train() after the validation, or at the start of each epoch",),
        )
        return


class ModelCall(NamedTuple):
    """A call of a module whose mode matters, and of the outermost module around it."""

    operation: Operation  # the first one of the part; of the outermost call, if the part runs none
    scope: ScopeRecord  # the outermost
    part: ScopeRecord


def model_calls(facts: Facts) -> list[ModelCall]:
    """Return the calls of dropouts and normalisations, in the order of their operations."""
    roots: dict[int | None, ScopeRecord] = {}
    parts: list[ScopeRecord] = []
    for scope in facts.trace.scopes:
        above = roots.get(scope.parent)
        is_module = scope.kind == "module" and scope.training is not None
        if is_module or above is not None:
            roots[scope.id] = above or scope
        if is_module and any(word in scope.detail for word in WITH_MODES):
            parts.append(scope)
    first: dict[int, Operation] = {}
    for operation in facts.operations:
        if operation.scope is not None and operation.scope in roots:
            first.setdefault(operation.scope, operation)
            first.setdefault(roots[operation.scope].id, operation)
    calls = [
        ModelCall(first.get(part.id, first[root.id]), root, part)
        for part in parts
        if (root := roots[part.id]).id in first
    ]
    return sorted(calls, key=lambda call: call.operation.id)


def is_eval(call: Any) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "eval" and not call.args


def dropout_ends(ledger: Ledger) -> Iterator[Cause]:
    """A dropout does nothing in a module in evaluation mode (a remark)."""
    facts = ledger.facts
    for operation in facts.operations:
        if operation.scope is None or not operation.tensors:
            continue
        scope = facts.trace.scopes[operation.scope]
        if scope.training is not False or operation.option("training") == "False":
            continue
        if is_dropout(facts.trace, operation) and next(iter(numbers_in(operation)), 1.0) > 0:
            yield Cause(
                "dropout stays on",
                f"dropout{facts.at_line(operation.span)} drops elements although {scope.name} is "
                "in evaluation mode",
                (facts.at("it does not ask for the mode: training=self.training", operation.span),),
            )
            return


def dropout_leaves(ledger: Ledger) -> Iterator[Cause]:
    """A dropout leaves a part of what it gets (a remark)."""
    facts = ledger.facts
    for operation in reversed(facts.calls_of(("dropout", "mul"))):
        share = share_dropped(facts, operation)
        if MOST_DROPPED <= share < 1 and operation.option("training") != "False":
            yield Cause(
                "most is dropped",
                f"dropout{facts.at_line(operation.span)} drops {100 * share:.4g}% of the elements: p is "
                "the share that it drops",
                (facts.at("dropped here", operation.span),),
            )
            return


def share_dropped(facts: Facts, operation: Operation) -> float:
    """Return the p of a dropout, also of one that is a product with a mask, of which 1 / (1 - p) is
    the largest element; 0 if it is not known.
    """
    if operation.name == "dropout":
        return next(iter(numbers_in(operation)), 0.0)
    if not is_in_dropout(facts.trace, operation):
        return 0.0
    mask = facts.tensors[operation.tensors[-1]].value
    high = None if mask is None else highest(mask)
    return 1 - 1 / high if high and high > 1 else 0.0


def statistics_known(ledger: Ledger) -> Iterator[Cause]:
    """Running statistics that an evaluation uses are those of data (a remark)."""
    facts = ledger.facts
    filled: set[int] = set()  # the running means that a call in training mode has changed
    for operation in facts.calls_of(("batch_norm",)):
        scope = None if operation.scope is None else facts.trace.scopes[operation.scope]
        if scope is None or scope.training is not False:
            filled.update(facts.tensors[i].first for i in operation.tensors)
            continue
        values = [facts.tensors[i].value for i in operation.tensors[-2:]]
        if len(values) < 2 or facts.tensors[operation.tensors[-2]].first in filled:
            continue
        mean, variance = values
        if mean is None or variance is None or not mean.all_zero:
            continue
        if variance.summary.minimum == 1 and variance.summary.maximum == 1:
            yield Cause(
                "initial statistics",
                f"{scope.name} is in evaluation mode{facts.at_line(own_span(facts, operation))} "
                "and its running statistics are still those that it was made with: mean 0, "
                "variance 1",
                (facts.at("it uses them here", operation.span),),
            )
            return


def acts_in_training(scope: ScopeRecord) -> str:
    return "drops elements" if "Drop" in scope.detail else "uses and updates batch statistics"


def acts(scope: ScopeRecord) -> str:
    return "does nothing" if "Drop" in scope.detail else "uses its running statistics"


def modules_differ(ledger: Ledger) -> Iterator[Cause]:
    """A list of modules holds several (a remark): `[nn.Linear(4, 4)] * 3` holds one three times."""
    text = ledger.facts.text
    for node in ast.walk(text.tree):
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
            continue
        for part in (node.left, node.right):
            items: list[Any] = getattr(part, "elts", [])
            classes = [text.cut(item.func) for item in items if isinstance(item, ast.Call)]
            if classes and classes[0].rpartition(".")[2][:1].isupper():
                place = places.span_of(node)
                yield Cause(
                    "one object",
                    f"{text.cut(node)}{ledger.facts.at_line(place)} repeats one object: its parts "
                    "share their parameters",
                    (ledger.facts.at("one object, several times", place),),
                )


def hooks_bound(ledger: Ledger) -> Iterator[Cause]:
    """A hook that a loop registers uses what its own turn bound (a remark)."""
    text = ledger.facts.text
    for loop in text.statements:
        if not isinstance(loop, ast.For) or ".backward(" in text.cut(loop):
            continue
        bound = stores(loop)
        for call in ast.walk(loop):
            if not isinstance(call, ast.Call) or "register" not in text.cut(call.func):
                continue
            for hook in (argument for argument in call.args if isinstance(argument, ast.Lambda)):
                own = {a.arg for a in (*hook.args.args, *hook.args.kwonlyargs)}
                late = sorted(bound & loads(hook.body) - own)
                if late:
                    place = places.span_of(hook)
                    yield Cause(
                        "late binding",
                        f"the hook{ledger.facts.at_line(place)} reads {late[0]} when it runs: all "
                        "those that the loop registers use the last one",
                        (ledger.facts.at("registered in a loop", place),),
                    )
                    return
