"""`gradtrace check SOURCE`: compare gradients with finite differences, or a whole program with
PyTorch.
"""

from __future__ import annotations

from gradtrace.cli import backward, options, output
from gradtrace.cli.command import SourceCommand
from gradtrace.cli.exits import Exit
from gradtrace.cli.options import Request, choice, flag, number, option, section

HELP = """Check the gradient of every leaf of SOURCE against finite differences, element by element. Where the program
calls backward itself, its first call is checked.

The computation is done in float64 unless --dtype says otherwise, with the random numbers that the program draws in its
own dtype (--seed; without it, seed 0). Points without a derivative (the kink of relu at 0) are named as such and do not
fail. The program's own Functions are checked on their own too. If anything is wrong the operation is named and the exit
code is 1."""

EXAMPLES = """Examples:
  gradtrace check "(x*w).sin().sum()" --x 1,2,3 --w 0.5
  gradtrace check my_function.py --order 2
  gradtrace check tutorial.py --against torch"""

# Options that have no effect here, except with --against.
IDLE = ("backward", "no_backward", "retain_graph", "create_graph", "retain_grad", "zero_grad")


def check(request: Request, order: int, most: int, against: str | None, python: str | None) -> int:
    from gradtrace.cli import checking
    from gradtrace.views import check as view

    if against is not None:
        return beside_torch(request, python)
    backward.tell_idle(request.how, IDLE, "derivatives are checked, not what backward leaves")
    report = checking.check(request, order, most)
    output.show(request.look, view.text, view.render, report)
    return Exit.OK if report.passed else Exit.FAILED


def beside_torch(request: Request, python: str | None) -> int:
    from gradtrace.cli import checking
    from gradtrace.views import against as view

    facts, version = checking.beside_torch(request, python)
    output.show(request.look, view.text, view.render, facts, version)
    return Exit.OK if all(fact.same for fact in facts) else Exit.FAILED


command = SourceCommand(
    "check",
    check,
    options.of_source(
        section(
            "Check",
            number(
                "--order 1|2",
                "2: also the second derivatives (the gradients of the gradient along a fixed "
                "direction).",
                1,
                2,
                1,
            ),
            number(
                "--most N", "Try at most N elements of each leaf. Default: 100.", 1, default=100
            ),
            choice(
                "--against torch",
                "Run the program in real PyTorch, with full rights, and compare every variable.",
            ),
            option("--python PATH", "The Python that has PyTorch. Default: this one."),
        ),
        section("Output", flag("--all", "Show every element.")),
        options.INPUTS,
        options.BACKWARD,
        options.format_of(),
    ),
    HELP,
    EXAMPLES,
)
