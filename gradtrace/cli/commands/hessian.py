"""`gradtrace hessian SOURCE`: all second derivatives of a scalar, as one matrix."""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING
from gradtrace.cli import options
from gradtrace.cli.command import SourceCommand
from gradtrace.cli.commands.jacobian import DERIVATIVES, OUTPUT, Choice, at_the_end, show
from gradtrace.cli.options import Request
from gradtrace.errors import UsageError

if TYPE_CHECKING:
    from gradtrace.analysis.matrices import Hessian

HELP = """Show the Hessian of the result of SOURCE, a single number: its second derivatives by all elements of its
leaves, as one matrix; whether it is symmetric, its eigenvalues, and whether it is definite. It comes from the engine,
by differentiating the gradient, not from differences."""

EXAMPLES = """Examples:
  gradtrace hessian "x**2*w + w**3" --x 1 --w 2
  gradtrace hessian "((x @ w) ** 2).sum()" --x "1,2;3,4" --w 1,1 --wrt w
  gradtrace hessian model.py -o hessian.npy"""


def hessian(
    request: Request, wrt: tuple[str, ...], result: tuple[str, ...], output_file: str | None
) -> None:
    from gradtrace.views import matrices as view

    matrix = at_the_end(request, result, wrt, hessian_of)
    show(
        request.look, output_file, view.hessian_file, view.hessian_text, view.render_hessian, matrix
    )


def hessian_of(choice: Choice) -> Hessian:
    from gradtrace.analysis import matrices
    from gradtrace.trace import derivatives

    (name, out), *others = choice.outputs
    if others or out.numel() != 1:
        reason = (
            f"there are {len(choice.outputs)} outputs"
            if others
            else f"{name} has the shape {tuple(out.shape)}"
        )
        named = [by for by, t in choice.outputs if t.numel() == 1 and choice.bound.get(by) is t]
        raise UsageError(
            f"a Hessian is of one number, and {reason}",
            f"choose one with --output {named[0]}"
            if named
            else "reduce it to one number, as by .sum()",
        )
    if not out.requires_grad:
        raise UsageError(f"{name} does not require grad", "let a variable require grad")
    matrix = derivatives.hessian(out, [t for _, t in choice.wrt])
    return matrices.summed_up(name, [(by, tuple(t.shape)) for by, t in choice.wrt], matrix)


command = SourceCommand(
    "hessian",
    hessian,
    options.of_source(DERIVATIVES, options.INPUTS, options.format_of(), OUTPUT),
    HELP,
    EXAMPLES,
)
