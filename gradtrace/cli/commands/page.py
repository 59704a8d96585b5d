"""`gradtrace page SOURCE [-o FILE.html]`: a run as one HTML file, to explore, to play and to
learn from.
"""

from __future__ import annotations

import sys

from gradtrace.annotations import TYPE_CHECKING
from gradtrace.cli import options, output, progress, session
from gradtrace.cli.command import SourceCommand
from gradtrace.cli.commands import graph
from gradtrace.cli.options import Part, Request, choice, flag, option, section
from gradtrace.errors import ProgramError, UsageError

if TYPE_CHECKING:
    from gradtrace.analysis.ledger.step import StepBooks
    from gradtrace.trace.record import Trace

HELP = """Write a page about a run of SOURCE: its graph to search and fold, and a player, forward and backward.

The page is one HTML file that loads nothing. Where the run is of numbers and has no branch, its inputs can be changed
in the page, and a derivation that is typed there (dy/dx = ...) is compared with the gradients.

Of a training loop the last step is shown, unless --step says otherwise, and beside the program
what became of each gradient (gradtrace ledger)."""

EXAMPLES = """Examples:
  gradtrace page "(x+w)*(w+1)" --x 2 --w 1 -o page.html
  gradtrace page "(x+w)*(w+1)" --x 2 --w 1 --predict gradients -o lesson.html
  gradtrace page net.py --embed -o frame.html"""

SUFFIX = "html"
DEFAULT_FIT = "4:3"  # the part of a laptop's screen that the graph has


def file_name(name: str) -> str:
    """Return the file name of -o; UsageError unless it is .html."""
    return graph.checked(name, (SUFFIX,))


def page(
    request: Request,
    content: graph.Content,
    shape: graph.Shape,
    output_file: str | None,
    predict: str | None,
    embed: bool,
    open: bool,
) -> None:
    from gradtrace.views import page as view

    if output_file is None and (open or output.is_terminal(sys.stdout)):
        raise UsageError("a page is written to a file", "add -o FILE.html")
    failures: list[ProgramError] = []
    with progress.shown("page", "running the program") as heard:
        whole = session.record(
            request._replace(part=Part()),
            session.Wanted(
                watched=True,
                everything=request.part.chosen,
                derived=True,
                out=heard,
                failures=failures,
            ),
        )
    trace = request.part.of(whole, picture=True)
    graph.tell_step(trace, request.part, "page")
    shape = shape._replace(fit=shape.fit or DEFAULT_FIT)
    drawn, look = graph.shaped(trace, content.look(shape.direction), shape, SUFFIX)
    graph.tell_left_out(trace, drawn.trace, "page")
    with progress.shown("page", f"drawing {len(drawn.nodes):,} nodes"):
        books = books_of(whole, trace)
        text = view.page(drawn, look, view.Lesson(predict or "", embed), books)
    if output_file is None:
        output.write(text)
    else:
        from gradtrace.files import write_output

        write_output(output_file, text.encode())
        if open:
            graph.show_file(output_file)
    if failures:
        raise failures[0]


def books_of(whole: Trace, trace: Trace) -> StepBooks | None:
    """Return the books of the training step that a page shows; None if it shows none or several."""
    from gradtrace.analysis.facts import Facts
    from gradtrace.analysis.ledger.book import Ledger
    from gradtrace.analysis.ledger.step import step_books

    if len(trace.training) != 1:
        return None
    books = step_books(Ledger(Facts(whole)), trace.training[0].number)
    return books if books.rows else None


FROM_GRAPH = {"--style", "--direction", "--fit", "--derivatives", "--depth", "--expand", "--open"}
PAGE = section(
    "Page",
    option(
        "-o FILE",
        "Write the page, .html. Default: stdout, unless it is a terminal.",
        "output_file",
        file_name,
    ),
    choice(
        "--predict values|gradients",
        "Hide these until the reader has typed a guess. For lessons: the computed values, or the "
        "gradients.",
    ),
    flag("--embed", "Only the graph and the player, for an <iframe> of any size."),
)
LOOK = [row._replace(section="Page") for row in graph.PICTURE if FROM_GRAPH.intersection(row.names)]
command = SourceCommand(
    "page",
    page,
    options.of_source(PAGE, LOOK, options.RECORDING, options.ENGINE),
    HELP,
    EXAMPLES,
    records=(graph.Content, graph.Shape),
)
