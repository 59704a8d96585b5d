"""`gradtrace replay CAPSULE`: run the step of a capsule again in real PyTorch, in a subprocess."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from gradtrace.cli import options, output
from gradtrace.cli.clicked import command_of
from gradtrace.cli.exits import Exit
from gradtrace.cli.options import option, section

HELP = """Run the training step of CAPSULE again in real PyTorch, under a recorder: say whether loss and gradients have
the same bits, which versions differ, and what made the first value that is not finite. A capsule (.gtc) is written by
a guard with capsule="FOLDER", or by gradtrace.torch.capsule.

The model is what FUNCTION returns, called without arguments, or a module of that name; without --model, a model of
transformers is built from its configuration. The step is FUNCTION(model, batch), which computes the loss, calls
backward and does what else comes before the update (zero_grad, clipping). Without --step-function the model is called
with the batch, and the loss is the one that it returns, as in the Trainer of transformers; a loss that the Trainer
computed otherwise needs --step-function. MODULE is imported from the current folder, with full rights, as under Python.

The exit code is 1 if the bits differ. Without a loss that is one number the gradients alone are compared."""

EXAMPLES = """Examples:
  gradtrace replay step.gtc --model train:make_model --step-function train:step
  gradtrace replay step.gtc --model train:make_model -o replay.gt
  gradtrace replay step.gtc --python ../env/bin/python"""


def replay(
    capsule: str,
    model: str | None,
    step: str | None,
    output_file: str | None,
    python: str | None,
    format: str,
    **_: Any,
) -> int:
    import zipfile

    from gradtrace.cli import destination, hints, report, torch_engine
    from gradtrace.cli.torch_request import ScriptRequest
    from gradtrace.errors import UsageError
    from gradtrace.files import check_place, write_output
    from gradtrace.views import rows

    if not os.path.isfile(capsule):
        raise UsageError(
            f"no such file: '{report.clip(capsule)}'", 'a guard with capsule="FOLDER" writes one'
        )
    if not zipfile.is_zipfile(capsule):
        raise UsageError(f"{report.clip(capsule)}: not a capsule", hints.AGAIN["a capsule"])
    if output_file is not None:
        destination.check(output_file, {})
        check_place(output_file)
    with torch_engine.own_folder() as folder:
        record = os.path.join(folder, "0.gt")
        status = os.path.join(folder, "status.json")
        request = ScriptRequest("replay", capsule, [], record, status, model or "", step or "")
        end = torch_engine.run_script(request, python or sys.executable, "replay")[1]
        if output_file is not None:
            write_output(output_file, Path(record).read_bytes())
    facts = {"schema": "gradtrace/replay", "version": 1, "capsule": capsule, **end.facts}
    output.write(rows.dumps(facts) + "\n" if format == "json" else end.answer)
    return Exit.OK if end.same else Exit.FAILED


def function_name(text: str) -> str:
    """Check the name of a function before anything runs; UsageError unless it is
    MODULE:FUNCTION.
    """
    from gradtrace.errors import UsageError

    module, _, name = text.partition(":")
    if not module or not name:
        raise UsageError(f"'{text}' is not MODULE:FUNCTION", "of train.py: train:make_model")
    return text


def record_name(name: str) -> str:
    from gradtrace.cli.commands.run import record_file

    return record_file(name)


STEP = section(
    "Step",
    option("--model MODULE:FUNCTION", "What returns the model.", check=function_name),
    option(
        "--step-function MODULE:FUNCTION",
        "The step, FUNCTION(model, batch).",
        "step",
        function_name,
    ),
    option("--python PATH", "The Python that has torch. Default: this one."),
)
OUTPUT = section(
    "Output", option("-o FILE", "Write the record of the step, .gt.", "output_file", record_name)
)
FORMAT = options.format_of(("table", "json"))
command = command_of(
    replay,
    HELP,
    [*STEP, *OUTPUT, *FORMAT, *options.COMMON],
    [click.Argument(["capsule"])],
    epilog=EXAMPLES,
)
