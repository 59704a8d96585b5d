"""`gradtrace paths SOURCE`: the terms of the chain rule, one for each path through the graph."""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any
from gradtrace.cli import hints, options, output, session
from gradtrace.cli.command import SourceCommand
from gradtrace.cli.options import Request, choice, number, option, section
from gradtrace.errors import UsageError

if TYPE_CHECKING:
    from gradtrace.trace import Trace

HELP = """List every path from the result of SOURCE to a leaf, with the local derivative on each edge, the product along
the path, and the sum of all, which is the gradient. Too many paths are counted and added up in groups instead.

J(4x6) stands for a derivative that is a matrix. --symbolic derives the same in names (scalars only; needs sympy)."""

EXAMPLES = """Examples:
  gradtrace paths "(x+w)*(w+1)" --x 2 --w 1
  gradtrace paths "(x+w)*(w+1)" --x 2 --w 1 --to w --symbolic text
  gradtrace paths tutorial.py --from loss --to w --format json"""


def element_of(text: str) -> tuple[int, ...]:
    """Convert an index such as `0,2` to a tuple."""
    try:
        return tuple(int(part) for part in text.strip("[]").split(","))
    except ValueError:
        raise UsageError(f"--element: '{text}' is not an index", "for instance 0 or 0,2") from None


def paths(
    request: Request,
    start: str | None,
    to: tuple[str, ...],
    element: tuple[int, ...] | None,
    max: int,
    symbolic: str | None,
) -> None:
    from gradtrace.analysis import paths as analysis
    from gradtrace.views import paths as view
    from gradtrace.views import pick

    run = session.record(request, session.Wanted(watched=True, everything=True, jacobians=True))
    root = None if start is None else pick.tensor(run, start, "--from")
    ends = [pick.tensor(run, name, "--to") for name in options.names(to)] or analysis.leaves(run)
    if symbolic is not None:
        derive(run, root, ends, symbolic)
        return
    if not run.passes:
        raise UsageError(
            "backward was not run, so there are no paths",
            "leave out --no-backward"
            if request.how.no_backward
            else hints.of_no_grad(request.inputs.no_grad),
        )
    routes = [analysis.paths(run, root, leaf, max) for leaf in ends]
    if element is not None:
        routes = [analysis.at(route, element) for route in routes]
    output.show(request.look, view.table, view.render, routes)


def derive(run: Trace, root: Any, ends: list[Any], form: str) -> None:
    from gradtrace.analysis import symbolic
    from gradtrace.views import derivation

    derivations = [symbolic.derive(run, root, leaf) for leaf in ends]
    output.write(derivation.latex(derivations) if form == "latex" else derivation.text(derivations))


command = SourceCommand(
    "paths",
    paths,
    options.of_source(
        section(
            "Paths",
            option(
                "--from NAME", "The tensor at which the paths start. Default: the result.", "start"
            ),
            option(
                "--to NAMES ...",
                "The leaves at which the paths end. Default: every leaf that backward reached.",
            ),
            option(
                "--element INDEX", "Paths to one element of the leaf: 0, or 0,2.", check=element_of
            ),
            number(
                "--max N",
                "Show single paths if there are at most N, else groups. Default: 100.",
                0,
                default=100,
            ),
            choice(
                "--symbolic text|latex",
                "Show the chain rule in symbols, then with values, then simplified.",
            ),
        ),
        options.INPUTS,
        options.BACKWARD,
        options.format_of(),
    ),
    HELP,
    EXAMPLES,
)
