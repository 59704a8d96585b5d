"""`gradtrace ledger SOURCE [NAME...]`: what became of each gradient in a training step."""

from __future__ import annotations

from gradtrace.cli import options, output, session
from gradtrace.cli.command import SourceCommand
from gradtrace.cli.exits import Exit
from gradtrace.cli.options import ALL, Request
from gradtrace.errors import UsageError

HELP = """Show the books of one training step of SOURCE: for each parameter the losses that brought
it a gradient, its norm, what wrote to it (clipping), which optimiser's step used it or which
line cleared it before, and how far the parameter moved. NAME shows these parameters alone. Without
--step it is the last step."""

EXAMPLES = """Examples:
  gradtrace ledger train.py
  gradtrace ledger train.py --step 3 net.weight
  gradtrace ledger step.gt --format json"""


def ledger(request: Request, words: tuple[str, ...]) -> int:
    from gradtrace.analysis.facts import Facts
    from gradtrace.analysis.ledger.book import Ledger
    from gradtrace.analysis.ledger.step import step_books
    from gradtrace.views import ledger as view

    step = request.part.step
    if step == ALL or request.part.pass_number is not None:
        raise UsageError("the books are of one step", "--step N")
    whole = request._replace(part=request.part._replace(step=None))
    trace = session.record(whole, session.GRADIENTS._replace(failing=True))
    books = step_books(Ledger(Facts(trace)), None if step is None else int(step))
    if words:
        names = {row.name for row in books.rows}
        missing = next((word for word in words if word not in names), None)
        if missing is not None:
            raise UsageError(
                f"no parameter '{missing}' in this step", f"there are {', '.join(sorted(names))}"
            )
        books = books._replace(rows=tuple(row for row in books.rows if row.name in words))
    output.show(request.look, view.books_text, view.books_data, books)
    return Exit.OK


command = SourceCommand(
    "ledger",
    ledger,
    options.of_source(
        options.ALL_ROWS,
        options.RECORDING,
        options.format_of(),
        options.ENGINE,
    ),
    HELP,
    EXAMPLES,
    words="[NAME]...",
)
