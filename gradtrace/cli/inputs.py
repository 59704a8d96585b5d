"""Make the tensors of a program's inputs from options, defaults and the record of an earlier
run.
"""

from __future__ import annotations

import sys

from gradtrace.annotations import TYPE_CHECKING, Any, Iterable
from gradtrace.cli import hints, running, values
from gradtrace.cli.options import Inputs, Request, names
from gradtrace.errors import BudgetError, GradtraceError, UsageError
from gradtrace.limits import Budget

if TYPE_CHECKING:
    from gradtrace.engine import Tensor
    from gradtrace.program.parse import Program


def prepare(request: Request) -> dict[str, Tensor]:
    """Return the tensors of the program's inputs; raise UsageError if a value is missing or
    wrong.
    """
    program = request.program
    inputs = request.inputs
    dtype = request.dtype
    if program.record is not None:
        from gradtrace.cli import records

        if program.record.about.engine:
            raise records.needs_running(program.source.name)
    if request.seed is not None:
        import gradtrace

        gradtrace.manual_seed(request.seed)
    variables = {variable.name: variable for variable in program.inputs}
    raw = read_all(request)
    frozen = set(names(inputs.no_grad))
    check_known(frozen, variables, "--no-grad")
    if program.record is not None:
        records.refuse_random(program)
    for name, (value, requires_grad) in recorded_inputs(program).items():
        if name in variables and name not in raw:
            raw[name] = value
            frozen |= set() if requires_grad else {name}
    missing = [
        variable for variable in program.inputs if variable.name not in raw and variable.is_required
    ]
    if missing:
        raise lacking(program, missing, inputs.own)
    tensors: dict[str, Tensor] = {}
    for name, variable in variables.items():
        if variable.optional and name not in raw:
            continue
        raw_value = raw[name] if name in raw else default(program, variable, dtype, request.budget)
        tensors[name] = values.tensor(raw_value, dtype, floating=variable.kind != "data")
        if variable.kind != "data" and name not in frozen:
            tensors[name].requires_grad_()
    if program.record is not None and inputs.seed is None:
        import gradtrace
        from gradtrace.engine.data.lazy import np

        state = np.frombuffer(program.record.about.random_state, np.uint8)
        try:
            gradtrace.set_rng_state(gradtrace.tensor(state))
        except (RuntimeError, ValueError, TypeError) as error:
            name = program.record.about.source_name
            raise UsageError(
                f"the record of {name} is damaged: its random state: {error}", "record it again"
            ) from None
    return tensors


def seeded(request: Request, seed: int | None = None) -> Request:
    """Return the request with a seed, by default the process's own, where neither its options nor
    its record have the state of the random numbers: so that a run can be repeated.
    """
    if request.seed is not None or request.program.record is not None:
        return request
    if seed is None:
        import gradtrace

        seed = gradtrace.initial_seed()
    return request._replace(inputs=request.inputs._replace(seed=seed))


def recorded_inputs(program: Program) -> dict[str, tuple[Any, bool]]:
    """Return the inputs of a recorded run: raw values by name, and whether each required grad."""
    if program.record is None:
        return {}
    return {
        name: (value.data, requires_grad)
        for name, value, requires_grad in program.record.about.inputs
    }


def default(program: Program, variable: Any, dtype: str, budget: Budget | None = None) -> Any:
    """Return the default value of `w` in `w: leaf = 1.0`; raise UsageError, with its place, for an
    invalid value.
    """
    try:
        return values.constant(
            variable.default, f"the default of {variable.name}", evaluator(dtype, budget)
        )
    except UsageError as error:
        error.place = error.place or program.source.place(variable.span)
        raise


def read_all(request: Request) -> dict[str, Any]:
    """Return the raw values by name; a variable's own option overrides --set, which overrides
    --params.
    """
    inputs = request.inputs
    variables = [variable.name for variable in request.program.inputs]
    evaluate = evaluator(request.dtype, request.budget)
    raw = values.parameters(inputs.params, evaluate) if inputs.params is not None else {}
    check_known(raw, variables, "--params")
    for text in inputs.set:
        name, value = values.assignment(text)
        check_known([name], variables, "--set")
        raw[name] = values.read(value, f"--set {name}", evaluate)
    for name, value in inputs.given.items():
        raw[name] = values.read(value, f"--{name}", evaluate)
    return raw


def check_known(asked: Any, names: Iterable[str], option: str) -> None:
    """Raise UsageError for a name that is not a variable of the program."""
    for name in asked:
        if name not in names:
            there = f"its variables are {', '.join(names)}" if names else "it has none"
            raise UsageError(
                f"{option}: the program has no variable '{name}'",
                hints.of_taken(name) or hints.near(name, names, there),
            )


def evaluator(dtype: str, budget: Budget | None = None) -> values.Evaluate:
    """Return a function that evaluates constant expressions in the dtype and budget of the run."""

    def evaluate(text: str, option: str) -> Any:
        from gradtrace.program.grammar import is_expression
        from gradtrace.program.parse import parse

        try:
            program = parse(text, name=option, budget=budget)
            if not is_expression(program.tree):
                raise UsageError("a value is a constant expression, not a program")
            if program.inputs:
                raise UsageError(f"name '{program.inputs[0].name}' is not defined")
            request = Request(program, Inputs(dtype=dtype), budget=budget or Budget())
            return running.execute(request, {}, sys.stderr).root
        except BudgetError:
            raise
        except GradtraceError as error:
            raise values.wrong(option, text, error) from error

    return evaluate


def lacking(program: Program, missing: list[Any], own: frozenset[str]) -> UsageError:
    """Return the error for variables without a value; its hint has the options that set them."""
    text = program.source.text.strip()
    if hints.is_missing(text):
        return UsageError(f"no such file: '{text}'")
    if hint := hints.of_source(text) or hints.of_module(missing[0].name, text):
        return UsageError(
            f"no value for {missing[0].name}", hint, program.source.place(missing[0].span)
        )
    ways = [f"--{m.name} VALUE" if m.name in own else f"-s {m.name}=VALUE" for m in missing]
    message = f"no value for {', '.join(m.name for m in missing)}"
    also = ", or import a module: then open is the function that opens files"
    hint = f"give {' '.join(ways)}{also if 'open' in [m.name for m in missing] else ''}"
    return UsageError(message, hint, program.source.place(missing[0].span))
