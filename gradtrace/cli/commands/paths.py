"""`gradtrace paths SOURCE`: the terms of the chain rule, one for each path through the graph."""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any
from gradtrace.cli import options, output, screen
from gradtrace.cli.command import SourceCommand, ToolOption
from gradtrace.errors import UsageError

if TYPE_CHECKING:
    from gradtrace.lang import Program
    from gradtrace.trace import Trace

HELP = """List every path from the result of SOURCE to a leaf, with the local derivative on each edge, the product along
the path, and the sum of all, which is the gradient. Too many paths are counted and added up in groups instead.

J(4x6) stands for a derivative that is a matrix. --symbolic derives the same in names (scalars only; needs sympy)."""

EXAMPLES = """Examples:
  gradtrace paths "(x+w)*(w+1)" --x 2 --w 1
  gradtrace paths "(x+w)*(w+1)" --x 2 --w 1 --to w --symbolic text
  gradtrace paths tutorial.py --from loss --to w --format json"""

FORMATS = ("table", "json", "jsonl", "csv", "tsv", "md", "latex")


def element_of(text: str) -> tuple[int, ...]:
    """Convert an index such as `0,2` to a tuple."""
    try:
        return tuple(int(part) for part in text.strip("[]").split(","))
    except ValueError:
        raise UsageError(f"--element: '{text}' is not an index", "for instance 0 or 0,2") from None


def paths(
    program: Program,
    format: str,
    color: str | None,
    start: str | None,
    to: tuple[str, ...],
    element: tuple[int, ...] | None,
    max: int,
    symbolic: str | None,
    **flags: Any,
) -> None:
    from gradtrace.analysis import paths as analysis
    from gradtrace.cli import session
    from gradtrace.views import paths as view
    from gradtrace.views import pick

    inputs, how = options.take(options.Inputs, flags), options.take(options.Backward, flags)
    run = session.record(program, inputs, how, options.budget(flags), watched=True, everything=True, jacobians=True)
    root = None if start is None else pick.tensor(run, start, "--from")
    ends = [pick.tensor(run, name, "--to") for name in options.names(to)] or analysis.leaves(run)
    if symbolic is not None:
        derive(run, root, ends, symbolic)
        return
    found = [analysis.paths(run, root, leaf, max) for leaf in ends]
    if element is not None:
        found = [analysis.at(one, element) for one in found]
    output.write(view.table(found, screen.options(color)) if format == "table" else view.render(found, format))


def derive(run: Trace, root: Any, ends: list[Any], form: str) -> None:
    from gradtrace.analysis import symbolic
    from gradtrace.views import derivation

    found = [symbolic.derive(run, root, leaf) for leaf in ends]
    output.write(derivation.latex(found) if form == "latex" else derivation.text(found))


command = SourceCommand(
    "paths",
    paths,
    [
        *options.source(),
        ToolOption(
            ["--from", "start"],
            metavar="NAME",
            section="Paths",
            help="The tensor at which the paths start. Default: the result.",
        ),
        ToolOption(
            ["--to"],
            metavar="NAMES",
            multiple=True,
            section="Paths",
            help="The leaves at which the paths end. Default: every leaf that backward reached.",
        ),
        ToolOption(
            ["--element"],
            metavar="INDEX",
            check=element_of,
            section="Paths",
            help="Paths to one element of the leaf: 0, or 0,2.",
        ),
        ToolOption(
            ["--max"],
            metavar="N",
            type=int,
            min=0,
            default=100,
            section="Paths",
            help="Show single paths if there are at most N, else groups. Default: 100.",
        ),
        ToolOption(
            ["--symbolic"],
            metavar="text|latex",
            choices=("text", "latex"),
            section="Paths",
            help="Show the chain rule in symbols, then with values, then simplified.",
        ),
        *options.inputs(),
        *options.backward(),
        *options.format(FORMATS),
        *options.limits(),
        *options.common(),
    ],
    HELP,
    EXAMPLES,
)
