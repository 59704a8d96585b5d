"""`gradtrace check SOURCE`: compare gradients with finite differences, or a whole program with
PyTorch; or try the program's model for bugs that raise no error.
"""

from __future__ import annotations

from gradtrace.annotations import NamedTuple
from gradtrace.cli import backward, options, output
from gradtrace.cli.command import SourceCommand
from gradtrace.cli.exits import Exit
from gradtrace.cli.options import Request, choice, flag, hidden, number, option, rare, section

HELP = """Check the gradient of every leaf of SOURCE against finite differences, element by element. Where the program
calls backward itself, its first call is checked.

The computation is done in float64 unless --dtype says otherwise, with the random numbers that the program draws in its
own dtype (--seed; without it, seed 0). Points without a derivative (the kink of relu at 0) are named as such and do not
fail. The program's own Functions are checked on their own too. If anything is wrong the operation is named and the exit
code is 1.

With --model nothing of that: the model of the program's first backward is tried on copies, with its
batch, loss and optimizer, for bugs that raise no error; the program ends there.
gradtrace.torch.check_model does so in a program."""

EXAMPLES = """Examples:
  gradtrace check "(x*w).sin().sum()" --x 1,2,3 --w 0.5
  gradtrace check my_function.py --order 2
  gradtrace check tutorial.py --against torch
  gradtrace check --model train.py
  gradtrace check --model --engine torch train.py"""

# Options that have no effect here, except with --against.
IDLE = ("backward", "no_backward", "retain_graph", "create_graph", "retain_grad", "zero_grad")


class CheckOptions(NamedTuple):
    """The values of the options that say what is checked, and how."""

    order: int
    most: int
    against: str | None
    model: bool
    steps: int
    python: str | None


def check(request: Request, checked: CheckOptions) -> int:
    """Check as the options ask; return the exit code."""
    from gradtrace.cli import checking
    from gradtrace.views import check as view

    if checked.against is not None:
        return beside_torch(request, checked.python)
    if checked.model:
        return check_model(request, checked)
    backward.tell_idle(request.how, IDLE, "derivatives are checked, not what backward leaves")
    report = checking.check(request, checked.order, checked.most)
    output.show(request.look, view.text, view.render, report)
    return Exit.OK if report.passed else Exit.FAILED


def check_model(request: Request, checked: CheckOptions) -> int:
    """Try the program's model for bugs that raise no error; return the exit code."""
    from gradtrace.cli import probing

    return probing.show(request.look, probing.check(request, checked.steps))


def beside_torch(request: Request, python: str | None) -> int:
    """Compare the program's variables with those in PyTorch; return the exit code."""
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
                "2: also the second derivatives. The gradients of the gradient along a fixed "
                "direction.",
                1,
                2,
                1,
            ),
            choice(
                "--against torch",
                "Run the program also in real PyTorch, with full rights. Each variable is "
                "compared.",
            ),
            flag(
                "--model",
                "Try the model of the program's first backward, on copies, for bugs that raise no "
                "error.",
            ),
            hidden(choice("--engine torch", "With --model: in real PyTorch, with full rights.")),
            *rare(
                number(
                    "--most N", "Try at most N elements of each leaf. Default: 100.", 1, default=100
                ),
                number("--steps N", "With --model: learn one batch in N steps.", 1, default=100),
                option("--python PATH", "The Python that has PyTorch. Default: this one."),
            ),
        ),
        section("Output", flag("--all", "Show every element.")),
        options.INPUTS,
        options.BACKWARD,
        options.format_of(),
    ),
    HELP,
    EXAMPLES,
    records=(CheckOptions,),
)
