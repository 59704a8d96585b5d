"""Find models that a validation leaves in evaluation mode."""

from __future__ import annotations

from gradtrace.analysis import places
from gradtrace.analysis.cause import Cause
from gradtrace.analysis.facts import Facts
from gradtrace.analysis.terms import DROPOUTS, loop_around, operator, own_span, unit
from gradtrace.annotations import Any, Iterator
from gradtrace.engine.operators.tables import function_table
from gradtrace.program import syntax as ast
from gradtrace.trace.record import Operation, Span, TrainingStep

NORMS = function_table("analysis.causes.modes.NORMS", ("batch_norm",))


def left_in_eval(facts: Facts) -> Cause | None:
    """Find a loop whose first steps ran in training mode, and whose last ones did not, after a call
    of eval().
    """
    steps = facts.trace.training
    call = next(undone(facts), None)
    if call is None or len(steps) < 2:
        return None
    first = trained(facts, steps[0])
    if not first:
        return None
    off = next((i for i, step in enumerate(steps) if not trained(facts, step)), None)
    if off is None or any(trained(facts, step) for step in steps[off:]):
        return None
    example = next((o for o in first.values() if runs_again(facts, o, steps[off])), None)
    if example is None:
        return None
    name = facts.text.cut(call.func.value)
    head = places.span_of(call)
    does = "does nothing" if operator(example) in DROPOUTS else "uses its running statistics"
    return Cause(
        "evaluation mode",
        f"from step {steps[off].number} on the model runs in evaluation mode, where "
        f"{unit(facts, example)} {does}: {name}.eval(){facts.at_line(head)} is not undone by "
        f"{name}.train()",
        (
            facts.at("this turns evaluation mode on, until train() is called", head),
            facts.at(
                f"the steps up to {steps[off - 1].number} were in training mode",
                own_span(facts, example),
            ),
        ),
        (f"{name}.train() after the validation, or at the start of each epoch",),
    )


def undone(facts: Facts) -> Iterator[Any]:
    """Yield the calls `x.eval()` in the text that no later `x.train()` in the same function
    undoes.
    """
    text = facts.text
    functions = [node for node in text.statements if isinstance(node, ast.FunctionDef)]
    nodes = (node for node in ast.walk(text.tree) if isinstance(node, ast.Call))
    calls: list[Any] = [node for node in nodes if isinstance(node.func, ast.Attribute)]
    for call in calls:
        if call.func.attr != "eval" or call.args:
            continue
        home = max(places.around(functions, call.lineno), key=places.starts, default=text.tree)
        own = text.cut(call.func.value)
        within = list(ast.walk(home))
        later = [
            n for n in calls if n.func.attr == "train" and n.lineno > call.lineno and n in within
        ]
        is_validation = any(
            facts.text.mode_around(places.head_of(n)) for n in follows(facts, call, home)
        )
        if is_validation and not any(text.cut(n.func.value) == own for n in later):
            yield call


def follows(facts: Facts, call: Any, home: Any) -> list[Any]:
    """Return the statements of a function, or of a loop outside of functions, from a call on."""
    around = facts.text.statement(places.span_of(call))
    area = home if isinstance(home, ast.FunctionDef) else loop_around(facts, around) or home
    within = {id(node) for node in ast.walk(area)}
    return [s for s in facts.text.simple if s.lineno >= call.lineno and id(s) in within]


def trained(facts: Facts, step: TrainingStep) -> dict[Span, Operation]:
    """Return, by place, the operations of a step that only a module in training mode does."""
    return {
        o.span: o
        for o in facts.operations[slice(*step.operations)]
        if o.span is not None and o.grad_enabled and is_of_training(o)
    }


def is_of_training(operation: Operation) -> bool:
    name = operator(operation)
    return name in DROPOUTS or (name in NORMS and not uses_running_statistics(operation))


def uses_running_statistics(operation: Operation) -> bool:
    """Whether a normalisation has its mean given: PyTorch's record says so, gradtrace's has it as
    an operand.
    """
    return operation.option("training") == "False" or any(
        operand.name == "mean" for operand in operation.inputs
    )


def runs_again(facts: Facts, operation: Operation, step: TrainingStep) -> bool:
    """Whether a later step runs what made the input of an operation, so that its model is in
    use.
    """
    makers = [maker for i in operation.tensors[:1] if (maker := facts.maker(i)) is not None]
    spans = {maker.span for maker in makers}
    return any(
        o.grad_enabled and o.span in spans for o in facts.operations[slice(*step.operations)]
    )
