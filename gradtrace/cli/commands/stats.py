"""`gradtrace stats SOURCE`: statistics of values and gradients for every node, and warnings drawn from them."""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING
from gradtrace.cli import options, screen, session
from gradtrace.cli.command import SourceCommand
from gradtrace.cli.exits import Exit
from gradtrace.cli.options import Look, Request, flag, section

if TYPE_CHECKING:
    from gradtrace.trace import Trace

HELP = """Show of every tensor of SOURCE the norm, mean, largest element and share of zeros, of its value and of the
gradient that reached it; then gradients by module, and where they vanish or explode; what could run at once, what is
computed twice or for nothing; what is saved for backward, and what keeping every gradient would cost.

Of a training loop, a row for each step: loss, norm of the gradients, largest update of a parameter relative to it,
first value that is not finite; then the parameters, and details of the first bad step, or else of the last.
--step N shows one step in full, --step all the whole run as one graph.

--anomaly shows only the first node that is not finite, forward and backward; the exit code is 1 if there is one."""

EXAMPLES = """Examples:
  gradtrace stats "(x+w)*(w+1)" --x 2 --w 1
  gradtrace stats model.py --format json
  gradtrace stats model.py --anomaly"""


def stats(request: Request, anomaly: bool) -> int:
    from gradtrace.analysis import stats as analysis
    from gradtrace.views import stats as view

    part = request.part
    trace = session.record(request, session.GRADIENTS)
    if trace.training and part.step is None and part.pass_number is None and not anomaly:
        return loop(trace, request.look)
    with session.uncollected():
        found = analysis.stats(trace)
    screen.show(request.look, lambda found, layout: view.text(found, layout, anomaly), view.render, found)
    return Exit.FAILED if anomaly and found.bad else Exit.OK


def loop(trace: Trace, look: Look) -> int:
    """Print the steps of a training loop, and the details of one of them."""
    from gradtrace.analysis import training as analysis
    from gradtrace.views import training as view

    with session.uncollected():
        found = analysis.training(trace)
    screen.show(look, view.text, view.render, found)
    return Exit.OK


command = SourceCommand(
    "stats",
    stats,
    options.of_source(
        section("Output", flag("--anomaly", "Show only the first node that is not finite.")),
        options.ALL_ROWS,
        options.INPUTS,
        options.BACKWARD,
        options.PART,
        options.format_of(),
        options.ENGINE,
    ),
    HELP,
    EXAMPLES,
)
