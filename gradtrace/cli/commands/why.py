"""`gradtrace why SOURCE [NAME...]`: why a gradient is what it is, or why the program failed."""

from __future__ import annotations

from gradtrace.annotations import Any
from gradtrace.cli import options, output, screen, session
from gradtrace.cli.command import SourceCommand
from gradtrace.cli.exits import Exit
from gradtrace.cli.options import Request

HELP = """Say why the gradient of NAME is what it is: None, zero, NaN, or its number; with the source lines that show
it, and what to change. Without NAME say what is wrong in the run, most serious first: where the first NaN arose, a
loop that diverges, gradients that accumulate, an optimiser that holds other tensors, and so on; then one line for each
variable, those with the same reason a common one. For an expression backward is called; for a script only if it does
so itself (or with --backward).

A program that fails with one of autograd's errors is explained too: which tensor, which line saved it, which line
changed it. The exit code is 1 then."""

EXAMPLES = """Examples:
  gradtrace why tutorial.py w
  gradtrace why tutorial.py
  gradtrace why "(x*w).detach() + w" --x 2 --w 3 x"""


def why(request: Request, words: tuple[str, ...]) -> int:
    from gradtrace.analysis.causes.table import about, causes_in, is_left
    from gradtrace.analysis.facts import Facts
    from gradtrace.views import pick
    from gradtrace.views import why as view

    how = request.how
    if request.program.imports_torch and how.backward is None:
        how = how._replace(no_backward=True)  # that a script does not call it may be the answer
    trace = session.record(request._replace(how=how), session.GRADIENTS._replace(failing=True, checking=True))
    wanted = [pick.tensor(trace, name.removesuffix(".grad"), "NAME") for name in words] or list(trace.named)
    facts = Facts(trace)
    failure = None
    if trace.failure is not None:
        from gradtrace.analysis.failures import explain_failure

        failure = explain_failure(trace)
    causes = causes_in(facts)
    first = [] if words else causes
    if failure is not None:
        first = [failure, *(one for one in first if one.code != failure.code)]
    answers = [] if failure is not None and not words else [about(facts, one, causes) for one in wanted]
    if words or request.look.format != "table":
        screen.show(request.look, view.text, view.render, [*first, *answers])
    else:
        pairs = sorted(zip(wanted, answers, strict=True), key=seriousness) if answers else []
        rest = [own for one, own in pairs if not causes or is_left(facts, one, own, causes)]
        output.write(view.report(first, rest, screen.options(request.look)))
    return Exit.OK if failure is None else Exit.FAILED


def seriousness(pair: tuple[Any, Any]) -> int:
    """Sort key for answers: NaN first, then leaves without a gradient, then the rest."""
    record, answer = pair
    trained = record.is_leaf and record.requires_grad
    return 0 if answer.status == "nan" else 1 if trained and answer.status in ("zero", "none") else 2


command = SourceCommand(
    "why",
    why,
    options.of_source(options.INPUTS, options.BACKWARD, options.PART, options.format_of(), options.ENGINE),
    HELP,
    EXAMPLES,
    words="[NAME]...",
)
