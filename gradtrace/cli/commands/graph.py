"""`gradtrace graph SOURCE [-o FILE]`: the graph of a run, as DOT or drawn."""

from __future__ import annotations

import sys

from gradtrace.annotations import TYPE_CHECKING, NamedTuple
from gradtrace.cli import options, output, progress, report, session
from gradtrace.cli.command import SourceCommand
from gradtrace.cli.options import Look, Part, Request, choice, flag, number, option, rare, section
from gradtrace.errors import ProgramError, UsageError
from gradtrace.views import suffixes

if TYPE_CHECKING:
    from gradtrace.trace import Trace
    from gradtrace.views.dot import DotOptions
    from gradtrace.views.fold import Fold
    from gradtrace.views.model import Model

HELP = """Draw the graph of SOURCE: tensors, the operations between them, leaf status, values and gradients.

Without -o, a terminal gets a tree and a pipe DOT. Graphviz comes with gradtrace; no system package is needed.

Of a training loop the last step is drawn, unless --step says otherwise. A program that fails is drawn up to its
failure, with the operation that failed in red and its message; the exit code is 1."""

RECORD = "gt"  # the suffix of a recorded run
DEFAULT_FIT = "16:9"
LISTED = 5  # names in a note
MANY = 500  # nodes: more than a picture shows well

EXAMPLES = """Examples:
  gradtrace graph "(x+w)*(w+1)" --x 2 --w 1 -o graph.svg
  gradtrace graph expr.txt --x 2 --w 1 --style autograd -o graph.png
  gradtrace graph expr.txt --x 2 --w 1 | dot -Tsvg"""


def suffix_of(name: str) -> str:
    """Check the file name of -o before anything is computed; UsageError for an unknown suffix."""
    return checked(name, (*suffixes.SUFFIXES, RECORD))


def checked(name: str, among: tuple[str, ...]) -> str:
    """Return a file name for -o if it ends in one of the suffixes `among`; else raise
    UsageError.
    """
    from gradtrace.views import render

    if name == "-":
        raise UsageError(
            "-o takes a file's name, not -", "leave it out: DOT goes to stdout; or -o FILE.svg"
        )
    try:
        render.suffix_of(name, among)
    except UsageError as error:
        raise UsageError(f"-o: {error.message}", error.hint) from None
    from gradtrace.files import check_place

    check_place(name)
    return name


class Content(NamedTuple):
    """The options that say what a picture shows of a graph."""

    style: str = "data"
    theme: str = "light"
    simple: bool = False
    detail: bool = False
    no_legend: bool = False
    no_values: bool = False
    no_gradients: bool = False
    autograd_nodes: bool = False
    derivatives: bool = False
    levels: bool = False
    color_by: str = "role"

    def look(self, direction: str | None) -> DotOptions:
        """Return the options of the drawing."""
        from gradtrace.views.dot import DotOptions

        return DotOptions(
            self.style,
            self.theme,
            legend=not self.no_legend,
            values=not (self.no_values or self.simple),
            gradients=not (self.no_gradients or self.simple),
            accumulate=self.autograd_nodes,
            derivatives=self.derivatives,
            direction=direction or "right",
            levels=self.levels,
            color_by=self.color_by,
            detail=self.detail,
        )


class Shape(NamedTuple):
    """The options for the shape of a picture."""

    fit: str | None = None
    depth: str | None = None
    expand: tuple[str, ...] = ()
    direction: str | None = None


class Target(NamedTuple):
    """The options for the file that is written."""

    output_file: str | None
    dpi: int | None
    speed: float
    size: str | None
    open: bool
    tensorboard: str | None

    @property
    def suffix(self) -> str:
        from gradtrace.views import render

        return (
            ""
            if self.output_file is None
            else render.suffix_of(self.output_file, (*suffixes.SUFFIXES, RECORD))
        )


def graph(request: Request, content: Content, shape: Shape, target: Target) -> None:
    failures: list[ProgramError] = []
    trace = recorded(request, content, target, failures)
    if target.suffix != RECORD:
        tell_step(trace, request.part)
        refuse_contradictions(content, target)
        if target.tensorboard is not None:
            from gradtrace.views import tensorboard

            tensorboard.write(trace, target.tensorboard)
        if target.tensorboard is None or target.output_file is not None:
            shape = shape._replace(fit="none") if content.detail and shape.fit is None else shape
            draw(trace, content.look(shape.direction), shape, target, request.look)
        if target.open and target.output_file is not None:
            show_file(target.output_file)
    if failures:
        raise failures[0]


def recorded(
    request: Request, content: Content, target: Target, failures: list[ProgramError]
) -> Trace:
    """Run the program with what the picture needs; write its record if that is asked for."""
    from gradtrace.views import render

    precise = content.color_by == "precision"
    watched = content.derivatives or content.color_by != "role" or target.tensorboard is not None
    watched = watched or target.suffix in render.WATCHED or "hook" in request.program.source.text
    save = target.output_file if target.suffix == RECORD else None
    with progress.shown("graph", "running the program") as heard:
        wanted = session.Wanted(
            watched,
            derived=True,
            out=heard,
            picture=True,
            failures=failures,
            save=save,
            measuring=precise,
        )
        trace = session.record(request, wanted)
    if precise and trace.precision is None:
        from gradtrace.cli.precision import not_measured

        raise not_measured(request.program.source.name)
    return trace


def refuse_contradictions(content: Content, target: Target) -> None:
    """Raise UsageError for options that exclude each other."""
    if target.open and target.output_file is None:
        raise UsageError(
            "--open shows the written file, and there is none", "add -o FILE.svg or -o FILE.html"
        )
    if content.simple and content.detail:
        raise UsageError("--simple and --detail exclude each other", "use one of them")


def draw(trace: Trace, look: DotOptions, shape: Shape, target: Target, screen_look: Look) -> None:
    """Write the picture to the file, or as text to stdout without a file."""
    from gradtrace.views import frame, render

    suffix = target.suffix
    with progress.shown("graph", f"folding {len(trace.operations):,} operations"):
        drawn, look = shaped(trace, look, shape, suffix)
    tell_left_out(trace, drawn.trace)
    tell_folding(drawn.fold, len(drawn.trace.operations))
    if target.output_file is None:
        output.write(shown(drawn, look, screen_look))
        return
    if suffix in render.DRAWN[:3] and len(drawn.nodes) > MANY:
        report.write(
            f"gradtrace graph: laying out {len(drawn.nodes):,} nodes; --depth N folds them"
        )
    film = render.Film(target.speed, None if target.size is None else frame.pixels(target.size))
    with progress.shown("graph", f"drawing {len(drawn.nodes):,} nodes"):
        content = render.render(drawn, look, suffix, target.dpi, film)
    from gradtrace.files import write_output

    write_output(target.output_file, content)


def shown(drawn: Model, look: DotOptions, screen_look: Look) -> str:
    """Return the text for stdout: a tree for a terminal, DOT for a pipe."""
    if not output.is_terminal(sys.stdout):
        from gradtrace.views import dot

        return dot.text_of(drawn, look)
    from gradtrace.views import tree

    return tree.render(drawn, output.options(screen_look))


def shaped(trace: Trace, look: DotOptions, shape: Shape, suffix: str) -> tuple[Model, DotOptions]:
    """Return the model and the drawing options: pictures fit their frame, other formats are folded
    to --depth.
    """
    from gradtrace.views import arrange, render

    depth = depth_number(shape.depth, look)
    fit = shape.fit or DEFAULT_FIT
    fit = fit if suffix in ("", *render.WATCHED, *render.DRAWN) else "none"
    return arrange.arrange(trace, look, fit, depth, options.names(shape.expand), shape.direction)


def depth_number(depth: str | None, look: DotOptions) -> int | None:
    """Return the number of levels to unfold; None for as many as fit."""
    from gradtrace.views.fold import EVERYTHING

    if depth is None:
        return EVERYTHING if look.detail else None
    return EVERYTHING if depth == "all" else int(depth)


def show_file(name: str) -> None:
    """Open a written file in the browser; UsageError if no browser is found."""
    from gradtrace.sandbox import channel

    if channel.is_open():
        channel.ask_about(name, "open")
        return
    import webbrowser
    from pathlib import Path

    if not webbrowser.open(Path(name).resolve().as_uri()):
        raise UsageError(
            f"--open: no browser here to show '{name}'", "name one in the variable BROWSER"
        )


def size_of(text: str) -> str:
    from gradtrace.views.frame import pixels

    size = pixels(text)
    if size is not None and all(64 <= side <= 8192 for side in size):
        return text
    raise UsageError(
        f"--size: not a width and a height in pixels: '{text}'", "1280x720, each from 64 to 8192"
    )


def tell_step(trace: Trace, part: Part, command: str = "graph") -> None:
    """Note on stderr that a picture shows only the last step of a loop, unless --step or --pass
    chose it.
    """
    if part.step is None and part.pass_number is None and len(trace.training) == 1:
        report.write(
            f"gradtrace {command}: the last step of the loop, step {trace.training[0].number}; "
            "--step N or all"
        )


def tell_left_out(trace: Trace, shown: Trace, command: str = "graph") -> None:
    """Note on stderr which named results are not drawn, since what backward began at does not
    depend on them.
    """
    if trace is shown:
        return
    from gradtrace.trace.pictured import unrelated

    names = unrelated(trace, shown)
    if names:
        listed = ", ".join(names[:LISTED]) + (", ..." if len(names) > LISTED else "")
        roots = " and ".join(shown.tensors[i].label for i in shown.roots[:2])
        report.write(
            f"gradtrace {command}: not drawn, as {roots} does not depend on it: "
            f"{report.escaped(listed)}; --depth all draws everything"
        )


def tell_folding(folded: Fold, operations: int) -> None:
    """Note on stderr that the graph was folded to fit, and how to unfold more of it."""
    if folded.automatic and folded.shown < operations:
        more = "--depth N and --expand NAME show more"
        if len(folded.groups) > 1 and any(group.kind == "chain" for group in folded.groups):
            more = '--expand "lines 1-20" shows those'
        report.write(
            f"gradtrace graph: {operations:,} operations, folded into {folded.shown}; {more}, "
            "--depth all everything"
        )


def depth_of(text: str) -> str:
    if text == "all" or text.isdecimal():
        return text
    raise UsageError(f"--depth: not a number of levels: '{text}'", "0, 1, 2, ..., or all")


def fit_of(text: str) -> str:
    from gradtrace.views import frame

    try:
        frame.frame_of(text, 1.0)
    except UsageError as error:
        raise UsageError(f"--fit: {error.message}", error.hint) from None
    return text


PICTURE = section(
    "Picture",
    option(
        "-o FILE",
        "Write a picture, page or animation, by suffix. One of "
        f"{suffixes.listed()}; or .gt, the recorded run, which every command takes as its source.",
        "output_file",
        suffix_of,
    ),
    choice(
        "--style data|function|autograd",
        "What the nodes are. data: tensors, with operations on the edges (the default); function: "
        "tensors and Functions; autograd: PyTorch's own graph of Functions.",
        "data",
    ),
    choice("--theme light|dark", "Default: light.", "light"),
    flag("--simple", "Show only names and shapes."),
    flag("--detail", "Draw every tensor and operation by itself. At any size."),
    option(
        "--depth N|all",
        "Levels of modules, functions and loops to show. What is deeper is folded. Default: what "
        "fits.",
        check=depth_of,
    ),
    option(
        "--expand NAMES ...", 'Unfold these regardless of --depth. net.layers.0, f, or "line 7".'
    ),
    *rare(
        choice("--direction right|down|up", "Direction of the graph. Default: the one that fits."),
        option(
            "--fit 16:9|4:3|A4|WxH|none",
            "The frame that the picture is laid out for, with text of at least 10.5 pixels at 1,600 "
            "pixels of width: it is folded, turned and broken into columns for that. Default: 16:9.",
            check=fit_of,
        ),
        flag("--no-legend", "Leave out the legend."),
        flag("--no-values", "Leave out the values."),
        flag("--no-gradients", "Leave out the gradients."),
        flag("--autograd-nodes", "Show each leaf's AccumulateGrad node."),
        flag(
            "--derivatives",
            "Write local derivatives on the edges; in the autograd style, gradients.",
        ),
        flag("--levels", "Draw operations that could run in parallel in one column."),
        choice(
            "--color-by role|grad-norm|precision",
            "Colour by a tensor's role, the size of its gradient, or its rounding error. Default: "
            "role.",
            "role",
        ),
        option("--tensorboard LOGDIR", "Write an event file for TensorBoard's graph tab."),
        number("--dpi N", "Resolution of a PNG. Default: 192.", 10, 1200),
        number(
            "--speed FACTOR", "Speed of an animation, as a factor. Default: 1.", 0.1, 20, 1.0, float
        ),
        option(
            "--size WxH",
            "The size of an animation in pixels, such as 1280x720. Default: the drawing's size.",
            check=size_of,
        ),
        flag("--open", "Show the written file in the browser (needs -o)."),
    ),
)

command = SourceCommand(
    "graph",
    graph,
    options.of_source(PICTURE, options.RECORDING, options.ENGINE),
    HELP,
    EXAMPLES,
    records=(Content, Shape, Target),
)
