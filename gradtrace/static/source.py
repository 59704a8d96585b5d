"""Trace a program to a plan of its value and gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradtrace.engine.data.tensor import Tensor
from gradtrace.errors import UsageError
from gradtrace.limits import Budget
from gradtrace.program.parse import Program
from gradtrace.program.result import RunOptions
from gradtrace.program.run import running
from gradtrace.static.passes import drop
from gradtrace.static.plan import Plan
from gradtrace.static.record import Recorder, derivatives, differentiable_inputs


def plan_of(
    program: Program,
    inputs: dict[str, Tensor],
    *,
    fed: Sequence[str] | None = None,
    order: int = 1,
    outputs: Sequence[str] = (),
    dtype: Any = None,
    budget: Budget | None = None,
    stderr: Any = None,
) -> Plan:
    """Return the plan of a program, traced on example inputs: its value (or the named `outputs`),
    then the gradients.

    `fed` are the inputs of a run; the others are constants of the plan. By default all are, also
    the leaves that the program's variables hold, which are added to `inputs`. Gradients are taken
    with respect to the fed inputs that require grad. A root of several elements is summed. Raises
    UnsupportedError, with its place, if the program's control flow depends on the inputs' numbers;
    UsageError if it creates no tensor.
    """
    recorder = Recorder()
    chosen = {name: inputs[name] for name in (inputs if fed is None else fed)}
    for name, tensor in chosen.items():
        recorder.feed(name, tensor)
    options = RunOptions(
        budget=budget,
        dtype=dtype,
        planner=recorder,
        outputs=tuple(outputs),
        stdout=stderr,
        stderr=stderr,
    )
    plans: list[Plan] = []
    with running(program, inputs, options) as run:
        roots = [(name, tensor) for name, tensor in run.outputs] or [(label_of(run), run.root)]
        own = recorder.feed_leaves(run.env) if fed is None else {}
        chosen |= own
        inputs.update(own)
        results: list[Any] = []
        for label, root in roots:
            if not isinstance(root, Tensor):
                raise UsageError(
                    f"{program.source.name} creates no tensor, so there is nothing to plan"
                )
            results += derivatives(recorder, label, root, differentiable_inputs(chosen), order)
        plan = name_values(recorder.plan(results), recorder, run.env)
        if own:  # the program's own backward computed the same gradients before
            plan, _ = drop(plan)
        lines = [span.line for span in run.spans]
        plans.append(
            plan._replace(steps=tuple(step._replace(line=lines[step.line]) for step in plan.steps))
        )
    if not plans:
        raise UsageError(f"{program.source.name} exited before it computed a value")
    return plans[0]


def label_of(run: Any) -> str:
    """Return a label for the root: the last variable bound to it that is not an input, else the
    first of "y", "result", "result_2" and so on that is not an input.
    """
    names = [
        name for name, value in run.env.items() if value is run.root and name not in run.inputs
    ]
    candidates = ("y", "result", *(f"result_{i}" for i in range(2, len(run.inputs) + 3)))
    return names[-1] if names else next(name for name in candidates if name not in run.inputs)


def name_values(plan: Plan, recorder: Recorder, env: dict[str, Any]) -> Plan:
    """Return the plan with each value named after the program's variable that holds it."""
    values = list(plan.values)
    for name, value in env.items():
        number = recorder.find(value) if isinstance(value, Tensor) else None
        if number is not None and not values[number].name:
            values[number] = values[number]._replace(name=name)
    return plan._replace(values=tuple(values))
