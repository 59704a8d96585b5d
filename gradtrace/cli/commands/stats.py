"""`gradtrace stats SOURCE`: statistics of values and gradients for every node, and warnings drawn
from them.
"""

from __future__ import annotations

from math import isfinite

from gradtrace.annotations import TYPE_CHECKING
from gradtrace.cli import options, output, session, source
from gradtrace.cli.command import SourceCommand, parse
from gradtrace.cli.exits import Exit
from gradtrace.cli.options import Look, Request, flag, option, section
from gradtrace.errors import UsageError

if TYPE_CHECKING:
    from gradtrace.trace import Trace
    from gradtrace.trace.flight_log import FlightLog

HELP = """Show of every tensor of SOURCE the norm, mean, largest element and share of zeros, of its value and of the
gradient that reached it; then where gradients vanish or explode.

Tables follow: the gradients by module, what could run at once, what is computed twice or for nothing, what is saved for
backward, and what keeping every gradient would cost.

Of a training loop, a row for each step: loss, norm of the gradients, largest update of a parameter relative to it,
first value that is not finite; then the parameters, and details of the first bad step, or else of the last.
--step N shows one step in full, --step all the whole run as one graph.

Of a flight log (.gtlog, written by gradtrace.torch.flight while a model trains) it shows the curves, and where one left
its level; with -o a page of them, which is loaded again while training goes on.

Several files are the ranks of one training under torchrun: run.rank*.gtlog show how far the ranks differ and which
one left its level first, step.rank*.gt of a model sharded by FSDP2 the norms of whole parameters.

The exit code is 1 if a value or a gradient is NaN or infinite, in a program, a record or a log.
--anomaly shows only the first node that is not finite, forward and backward.
--summary shows the layers of the model as a forward pass calls them, of a loop its first step:
output shapes, parameters (shared ones once), multiply-accumulates."""

EXAMPLES = """Examples:
  gradtrace stats "(x+w)*(w+1)" --x 2 --w 1
  gradtrace stats model.py --anomaly
  gradtrace stats model.py --summary
  gradtrace stats run.gtlog -o run.html
  gradtrace stats run.rank*.gtlog"""


def page_name(name: str) -> str:
    """Check the file name of -o before anything is read; UsageError for another suffix."""
    if not name.lower().endswith(".html"):
        raise UsageError(f"-o: '{name}' is not a page", "end it in .html")
    return name


def stats(
    request: Request,
    words: tuple[str, ...],
    anomaly: bool,
    summary: bool,
    output_file: str | None,
) -> int:
    from gradtrace.trace.flight_log import FlightLog

    if summary:
        return of_model(request, words, anomaly, output_file)
    if words:
        return of_ranks(request, words, output_file)
    if isinstance(request.program.record, FlightLog):
        return flight(request.program.record, request.look, output_file)
    if output_file is not None:
        raise UsageError(
            "-o: stats draws a page of a flight log only",
            "gradtrace graph SOURCE -o FILE draws a run",
        )
    from gradtrace.analysis import stats as analysis
    from gradtrace.views import stats as view

    part = request.part
    trace = session.record(request, session.GRADIENTS)
    if trace.training and part.step is None and part.pass_number is None and not anomaly:
        return loop(trace, request.look)
    with session.uncollected():
        statistics = analysis.stats(trace)
    output.show(
        request.look,
        lambda statistics, layout: view.text(statistics, layout, anomaly),
        view.render,
        statistics,
    )
    return Exit.FAILED if statistics.bad else Exit.OK


def of_model(
    request: Request, others: tuple[str, ...], anomaly: bool, output_file: str | None
) -> int:
    """Print the layers of a model with their parameters and multiply-accumulates."""
    from gradtrace.trace.flight_log import FlightLog

    record = request.program.record
    part = request.part
    alone = not (others or anomaly or output_file or part.chosen)
    if not alone or isinstance(record, FlightLog):
        raise UsageError(
            "--summary counts the layers of one run, of a loop those of its first step",
            "leave out --anomaly, --step, --pass, -o and further files",
        )
    from gradtrace.analysis import model_summary as analysis
    from gradtrace.views import layer_table as view

    if record is None:  # of what a program only computes, nothing is to be differentiated
        request = request._replace(how=request.how._replace(no_backward=True))
    trace = session.record(request, session.Wanted(everything=True))
    with session.uncollected():
        summary = analysis.model_summary(trace)
    output.show(request.look, view.summary_text, view.summary_data, summary)
    return Exit.OK


def of_ranks(request: Request, others: tuple[str, ...], output_file: str | None) -> int:
    """Print what the flight logs or the records of several processes of one training show
    together.
    """
    from gradtrace.trace.flight_log import FlightLog

    programs = [request.program, *(parse(source.read(name), request.budget) for name in others)]
    logs = [program.record for program in programs if isinstance(program.record, FlightLog)]
    if output_file is not None or 0 < len(logs) < len(programs):
        message = (
            "-o draws one flight log"
            if output_file is not None
            else "these are flight logs and other files"
        )
        raise UsageError(message, "give run.rank*.gtlog alone, or step.rank*.gt alone")
    if logs:
        from gradtrace.analysis.flight import flight_ranks
        from gradtrace.views import flight_ranks as logs_view

        merged = flight_ranks(logs)
        output.show(request.look, logs_view.ranks_text, logs_view.ranks_data, merged)
        return Exit.FAILED if merged.bad else Exit.OK
    from gradtrace.analysis.ranks import whole_norms
    from gradtrace.views import shards as view

    norms = whole_norms(
        [
            session.record(request._replace(program=program), session.GRADIENTS)
            for program in programs
        ]
    )
    if not norms:
        raise UsageError(
            "no parameter of these records is shared between ranks",
            "give one record, or why FILE FILE",
        )
    output.show(request.look, view.shards_text, view.shards_data, norms)
    numbers = [n for row in norms for n in (row.norm, row.grad_norm) if n is not None]
    return Exit.OK if all(map(isfinite, numbers)) else Exit.FAILED


def flight(log: FlightLog, look: Look, output_file: str | None) -> int:
    """Print the curves of a flight log, or write them as a page; the exit code is 1 if one is not
    finite.
    """
    from gradtrace.analysis import flight as analysis
    from gradtrace.files import write_output
    from gradtrace.views import flight as view

    summary = analysis.flight(log)
    if output_file is not None:
        write_output(output_file, view.page(summary, log.name).encode())
    else:
        output.show(look, view.flight_text, view.flight_data, summary)
    return Exit.FAILED if summary.bad else Exit.OK


def loop(trace: Trace, look: Look) -> int:
    """Print the steps of a training loop, and the details of one of them."""
    from gradtrace.analysis import training as analysis
    from gradtrace.views import training as view

    with session.uncollected():
        training = analysis.training(trace)
    output.show(look, view.text, view.render, training)
    return Exit.FAILED if any(row.bad is not None for row in training.rows) else Exit.OK


command = SourceCommand(
    "stats",
    stats,
    options.of_source(
        section(
            "Output",
            flag("--anomaly", "Show only the first node that is not finite."),
            flag("--summary", "Show layers, parameters and multiply-accumulates."),
            option(
                "-o FILE",
                "Write the curves of a flight log to a page, .html.",
                "output_file",
                page_name,
            ),
        ),
        options.ALL_ROWS,
        options.RECORDING,
        options.format_of(),
        options.ENGINE,
    ),
    HELP,
    EXAMPLES,
    words="[FILE]...",
    reads_logs=True,
)
