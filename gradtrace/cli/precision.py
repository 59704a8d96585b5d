"""What --precision shows: which operations lose digits, and the error after an expression is
rewritten.
"""

from __future__ import annotations

from gradtrace.analysis.cause import Fix
from gradtrace.annotations import TYPE_CHECKING, Any
from gradtrace.cli import output, session
from gradtrace.cli.exits import Exit
from gradtrace.errors import GradtraceError, UsageError

if TYPE_CHECKING:
    from gradtrace.analysis.precision import Loss, PrecisionAnswer
    from gradtrace.cli.options import Request
    from gradtrace.trace import Trace

GAIN = 1.0  # decimal digits by which a rewritten expression must be better
SAME = 1e-2  # how far the exact values of both expressions may be from each other, relative
TRIED = 3  # losses whose rewrites are tried


def explain(request: Request, words: tuple[str, ...]) -> int:
    """Say which operations lose the precision of the results, or of the named tensors."""
    from gradtrace.analysis.precision import answer
    from gradtrace.views import pick
    from gradtrace.views import precision as view

    if len(words) > 1:
        raise UsageError("why --precision explains one NAME at a time", "leave out the other names")
    trace = record(request, session.GRADIENTS._replace(failing=True))
    name = pick.tensor(trace, words[0].removesuffix(".grad"), "NAME").id if words else None
    explained = with_rewrites(request, trace, answer(trace, name))
    if request.look.format == "table":
        output.write(view.report(trace, explained, output.options(request.look)))
    else:
        output.write(view.as_data(trace, explained, request.look.format, request.look.all))
    return Exit.OK if trace.failure is None else Exit.FAILED


def record(request: Request, wanted: session.Wanted) -> Trace:
    """Return the measured trace of a run. UsageError for a record of PyTorch that was not
    measured.
    """
    program = request.program
    if program.imports_torch and request.how.backward is None:
        request = request._replace(how=request.how._replace(no_backward=True))
    trace = session.record(request, wanted._replace(watched=True, measuring=True))
    if trace.precision is None:
        raise not_measured(program.source.name)
    return trace


def not_measured(name: str) -> UsageError:
    """Return the error for a record of PyTorch that has no rounding errors."""
    return UsageError(
        f"{name} was recorded without its rounding errors, and cannot be run again here",
        'record it with gradtrace.torch.record("precision")',
    )


def with_rewrites(request: Request, trace: Trace, answer: PrecisionAnswer) -> PrecisionAnswer:
    """Return the answer with the digits that each rewritten expression gives, computed by running
    the program.
    """
    if trace.engine:
        return answer
    losses = [rewritten(request, trace, loss) for loss in answer.losses[:TRIED]]
    return answer._replace(losses=(*losses, *answer.losses[TRIED:]))


def rewritten(request: Request, trace: Trace, loss: Loss) -> Loss:
    """Return a loss with its rewrite tried; without it if it does not help."""
    fix = next((advice for advice in loss.cause.advice if isinstance(advice, Fix)), None)
    if fix is None or loss.target is None:
        return loss
    rest = tuple(advice for advice in loss.cause.advice if advice is not fix)
    after = digits_after(request, trace, loss.target, fix)
    if after is None or after < loss.target.digits + GAIN:
        return loss._replace(cause=loss.cause._replace(advice=rest))
    better = f"{fix}: {loss.target.name} has {after:.1f} correct decimal digits then"
    return loss._replace(cause=loss.cause._replace(advice=(better, *rest), tried=(better,)))


def digits_after(request: Request, trace: Trace, target: Any, fix: Fix) -> float | None:
    """Return the correct digits of a target after a change of the text; None if its value is
    another one then.
    """
    from gradtrace.analysis.precision import target_in
    from gradtrace.analysis.rewrites import edited
    from gradtrace.cli import trials

    wanted = session.GRADIENTS._replace(measuring=True)
    try:
        changed = trials.repeated(
            request, edited(trace.source_text, fix.edits), trials.SECONDS, wanted
        )
    except GradtraceError:
        return None
    after = target_in(changed, target)
    if after is None or not (
        target.is_vague or abs(after.norm - target.norm) <= SAME * abs(target.norm)
    ):
        return None
    return float(after.digits)
