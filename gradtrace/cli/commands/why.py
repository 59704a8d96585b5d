"""`gradtrace why SOURCE [NAME...]`: why a gradient is what it is, or why the program failed."""

from __future__ import annotations

import time

from gradtrace.annotations import Any
from gradtrace.cli import options, output, session, source
from gradtrace.cli.command import SourceCommand, parse
from gradtrace.cli.exits import Exit
from gradtrace.cli.options import Request, section

HELP = """Say why the gradient of NAME is what it is: None, zero, NaN, or its number; with the source lines that show
it, and what to change. Without NAME say what is wrong in the run, most serious first.

What may be wrong is where the first NaN arose, a loop that diverges, gradients that accumulate, an optimiser that
holds other tensors, and so on. Then there is one line for each variable, those with the same reason a common one; of a
training run without mistakes only a summary (--all shows every variable). For an expression backward is called; for a
script only if it does so itself (or with --backward).

Several .gt files are the ranks of one training under torchrun, and get one answer: which parameters were unused and
on which ranks, whose values were not finite first, which rank took another branch, what should be equal and is not.

With --precision say which operations lose decimal digits of the result and of the gradients: each is computed again in
a wider type, and a rewritten expression is tried.

A program that fails with one of autograd's errors is explained too: which tensor, which line saved it, which line
changed it. The exit code is 1 then."""

EXAMPLES = """Examples:
  gradtrace why tutorial.py w
  gradtrace why tutorial.py
  gradtrace why step.rank*.gt
  gradtrace why --precision "sqrt(x+1)-sqrt(x)" --x 1e12
  gradtrace why "(x*w).detach() + w" --x 2 --w 3 x"""


def why(request: Request, words: tuple[str, ...], precision: bool) -> int:
    if precision:
        from gradtrace.cli.precision import explain

        return explain(request, words)
    if words and all(word.endswith(".gt") for word in words):
        return of_ranks(request, words)
    from gradtrace.analysis.causes.table import about, causes_in, is_left
    from gradtrace.analysis.facts import Facts
    from gradtrace.analysis.healthy import short_answer
    from gradtrace.analysis.trained import Outcome
    from gradtrace.views import pick
    from gradtrace.views import why as view

    begin = time.monotonic()
    how = request.how
    if request.program.imports_torch and how.backward is None:
        # A script without backward() may itself be the answer, so it is not called for the script.
        how = how._replace(no_backward=True)
    trace = session.record(
        request._replace(how=how), session.GRADIENTS._replace(failing=True, checking=True)
    )
    wanted = [pick.tensor(trace, name.removesuffix(".grad"), "NAME") for name in words] or list(
        trace.named
    )
    facts = Facts(trace)
    failure = None
    if trace.failure is not None:
        from gradtrace.analysis.failures import explain_failure

        failure = explain_failure(trace)
    causes = causes_in(facts)
    first = [] if words else causes
    if failure is not None:
        first = [failure, *(cause for cause in first if cause.code != failure.code)]
    shows_all = bool(words) or request.look.format != "table"
    shown = (
        [about(facts, tensor, causes) for tensor in wanted]
        if shows_all and (words or failure is None)
        else []
    )
    first, shown = with_trials(request, Outcome(facts, failure, causes), first, shown, begin)
    if shows_all:
        output.show(request.look, view.text, view.render, [*first, *shown])
    elif not first and not request.look.all and (said := short_answer(facts)):
        output.write(view.healthy(said, output.options(request.look)))
    else:
        answers = ((tensor, about(facts, tensor, causes)) for tensor in wanted)
        pairs = sorted(answers, key=seriousness) if failure is None else []
        rest = [own for tensor, own in pairs if not causes or is_left(facts, tensor, own, causes)]
        output.write(view.report(first, rest, output.options(request.look)))
    return Exit.OK if failure is None else Exit.FAILED


def with_trials(
    request: Request, recorded: Any, first: list[Any], shown: list[Any], begin: float
) -> Any:
    """Return the causes and the answers, their advice tried where it is shown: not in an overview's
    one sentence.

    `begin` is the time at which the work on the answer began.
    """
    from gradtrace.analysis.cause import Fix
    from gradtrace.views.why import FULL

    full = first if shown else first[:FULL]
    if not any(isinstance(advice, Fix) for cause in (*full, *shown) for advice in cause.advice):
        return first, shown
    from gradtrace.cli.trials import Trials

    trials = Trials(request, recorded, time.monotonic() - begin)
    return [*trials.checked(full), *first[len(full) :]], trials.checked(shown)


def of_ranks(request: Request, others: tuple[str, ...]) -> int:
    """Explain what the records of several processes of one training show together."""
    from gradtrace.analysis import ranks
    from gradtrace.views import why as view

    programs = [request.program, *(parse(source.read(name), request.budget) for name in others)]
    wanted = session.GRADIENTS._replace(failing=True, checking=True)
    traces = [session.record(request._replace(program=program), wanted) for program in programs]
    causes = ranks.across(traces)
    if request.look.format != "table":
        output.show(request.look, view.text, view.render, causes)
    elif causes:
        output.write(view.report(causes, [], output.options(request.look)))
    else:
        output.write(view.healthy([ranks.nothing_wrong(traces)], output.options(request.look)))
    return Exit.FAILED if any(trace.failure is not None for trace in traces) else Exit.OK


def seriousness(pair: tuple[Any, Any]) -> int:
    """Sort key for answers: NaN first, then leaves without a gradient, then the rest."""
    record, answer = pair
    trained = record.is_leaf and record.requires_grad
    if answer.status == "nan":
        return 0
    return 1 if trained and answer.status in ("zero", "none") else 2


command = SourceCommand(
    "why",
    why,
    options.of_source(
        section("Output", options.PRECISION),
        options.ALL_ROWS,
        options.RECORDING,
        options.format_of(),
        options.ENGINE,
    ),
    HELP,
    EXAMPLES,
    words="[NAME]...",
)
