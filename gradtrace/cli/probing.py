"""Probe the model of a program for `gradtrace check --model`."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial

import gradtrace
from gradtrace.analysis.first_step import FirstStep
from gradtrace.analysis.probes import ModelCheck, Probe
from gradtrace.annotations import Any
from gradtrace.cli import inputs, output, running, torch_engine
from gradtrace.cli.exits import Exit
from gradtrace.cli.options import FORMATS, Look, Request
from gradtrace.engine.calls.inplace import inplace
from gradtrace.engine.data.state import state
from gradtrace.engine.operators.op import records
from gradtrace.errors import UsageError
from gradtrace.views import rows

HOW = "gradtrace check --model --engine torch train.py"


class OwnFirstStep(FirstStep):
    """A FirstStep that gradtrace's engine tells of each operator, from the model's call on."""

    def after(self, *call: Any) -> None:
        super().after(*call)
        if self.model is not None:
            state.set(recorder=self.noted)

    def noted(self, name: str, args: tuple[Any, ...], result: Any, origin: int) -> None:
        self.note(partial(compute, name), args, {}, result)


def compute(name: str, *args: Any) -> Any:
    """Return the result of an operator; KeyError for a Function of the program."""
    if name == "detach":
        return args[0].detach()
    return records[name](*args) if name in records else inplace(records[name[:-1]], *args)


def check(request: Request, steps: int) -> ModelCheck:
    """Run a program up to its first backward, and return what the probes say of its model."""
    tensors = inputs.prepare(request)
    with running.audible(running.Printed()) as out, OwnFirstStep(gradtrace, steps) as step:
        running.execute(request, tensors, out)
    return step.result()


def check_in_torch(asked: torch_engine.Asked) -> int:
    """Run a script in real PyTorch up to its first backward, and show what the probes say."""
    steps = torch_engine.value_of(asked.options, "--steps") or "100"
    form = torch_engine.value_of(asked.options, "--format") or "table"
    if not steps.isdecimal() or form not in FORMATS or ["--model"] not in asked.options:
        raise UsageError("check --engine torch takes --model, --steps N and --format", HOW)
    with torch_engine.own_folder() as folder:
        request = asked.request("model", asked.positionals[0], os.path.join(folder, "0.gt"))
        request = replace(request, arguments=[steps, *asked.script_args])
        end = torch_engine.run_script(request, asked.python, "check")[1]
    checked = ModelCheck(tuple(Probe(*fields) for fields in end.facts["probes"]))
    return show(Look(form, torch_engine.value_of(asked.options, "--color")), checked)


def show(look: Look, checked: ModelCheck) -> int:
    """Print what the probes say; the JSON document has `schema` "gradtrace/check-model"."""
    document = {
        "passed": checked.passed,
        "probes": [probe._asdict() for probe in checked.probes],
    }
    results = rows.Results(
        "gradtrace/check-model", document, "probes", Probe._fields, checked.probes
    )
    text = f"{checked}\n" if look.format == "table" else rows.write(results, look.format)
    output.write(text)
    return Exit.OK if checked.passed else Exit.FAILED
