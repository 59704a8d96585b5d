"""`gradtrace check SOURCE`: compare gradients with finite differences, or a whole program with PyTorch."""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any
from gradtrace.cli import backward, options, output, screen
from gradtrace.cli.command import SourceCommand, ToolOption
from gradtrace.cli.exits import Exit

if TYPE_CHECKING:
    from gradtrace.lang import Program

HELP = """Check the gradient of every leaf of SOURCE against finite differences, element by element. Where the program
calls backward itself, its first call is checked.

The computation is done in float64 unless --dtype says otherwise; random numbers are the same in every run (--seed).
Points without a derivative (the kink of relu at 0) are named as such and do not fail. The program's own Functions are
checked on their own too. If anything is wrong the operation is named and the exit code is 1."""

EXAMPLES = """Examples:
  gradtrace check "(x*w).sin().sum()" --x 1,2,3 --w 0.5
  gradtrace check my_function.py --order 2
  gradtrace check tutorial.py --against torch"""

IDLE = ("backward", "no_backward", "retain_graph", "create_graph", "retain_grad", "zero_grad")  # but for --against
FORMATS = ("table", "json", "jsonl", "csv", "tsv", "md", "latex")


def check(
    program: Program,
    format: str,
    color: str | None,
    order: int,
    most: int,
    all: bool,
    against: str | None,
    python: str | None,
    **flags: Any,
) -> int:
    from gradtrace.cli import checking
    from gradtrace.views import check as view

    inputs, how = options.take(options.Inputs, flags), options.take(options.Backward, flags)
    if against is not None:
        return beside_torch(program, inputs, how, options.budget(flags), python, format, screen.options(color, all))
    backward.tell_idle(how, IDLE, "derivatives are checked, not what backward leaves")
    found = checking.check(program, inputs, how, options.budget(flags), order, most)
    output.write(view.text(found, screen.options(color, all)) if format == "table" else view.render(found, format))
    return Exit.OK if found.passed else Exit.FAILED


def beside_torch(
    program: Program,
    inputs: options.Inputs,
    how: options.Backward,
    budget: Any,
    python: str | None,
    format: str,
    look: Any,
) -> int:
    from gradtrace.analysis import against as analysis
    from gradtrace.cli import session, torch_process
    from gradtrace.views import against as view

    answer = torch_process.variables(program, inputs, how, python, budget.seconds)
    found = analysis.against(session.record(program, inputs, how, budget), answer["tensors"])
    version = answer["version"]
    output.write(view.text(found, version, look) if format == "table" else view.render(found, version, format))
    return Exit.OK if all(fact.same for fact in found) else Exit.FAILED


command = SourceCommand(
    "check",
    check,
    [
        *options.source(),
        ToolOption(
            ["--order"],
            metavar="1|2",
            type=int,
            min=1,
            max=2,
            default=1,
            section="Check",
            help="2: also the second derivatives (the gradients of the gradient along a fixed direction).",
        ),
        ToolOption(
            ["--most"],
            metavar="N",
            type=int,
            min=1,
            default=100,
            section="Check",
            help="Try at most N elements of each leaf. Default: 100.",
        ),
        ToolOption(
            ["--against"],
            metavar="torch",
            choices=("torch",),
            section="Check",
            help="Run the program in real PyTorch, with full rights, and compare every variable.",
        ),
        ToolOption(
            ["--python"], metavar="PATH", section="Check", help="The Python that has PyTorch. Default: this one."
        ),
        ToolOption(["--all"], is_flag=True, section="Output", help="Show every element."),
        *options.inputs(),
        *options.backward(),
        *options.format(FORMATS),
        *options.limits(),
        *options.common(),
    ],
    HELP,
    EXAMPLES,
)
