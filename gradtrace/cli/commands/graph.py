"""`gradtrace graph SOURCE [-o FILE]`: the graph of a run, as DOT or drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradtrace.cli import options, output
from gradtrace.cli.command import SourceCommand, ToolOption
from gradtrace.errors import UsageError

if TYPE_CHECKING:
    from gradtrace.lang import Program

HELP = """Draw the graph of SOURCE: tensors, the operations between them, leaf status, values and gradients.

Without -o, DOT goes to stdout. Graphviz comes with gradtrace; no system package is needed."""

EXAMPLES = """Examples:
  gradtrace graph "(x+w)*(w+1)" --x 2 --w 1 -o graph.svg
  gradtrace graph expr.txt --x 2 --w 1 --style autograd -o graph.png
  gradtrace graph expr.txt --x 2 --w 1 | dot -Tsvg"""

SUFFIXES = ("dot", "svg", "png", "pdf")


def suffix_of(name: str) -> str:
    """Refuses, before anything is computed, a name that does not say what to draw."""
    if name == "-":
        raise UsageError("-o takes a file's name, not -", "leave it out: DOT goes to stdout; or -o /dev/stdout.svg")
    if name.rpartition(".")[2].lower() not in SUFFIXES or "." not in name:
        raise UsageError(f"-o: cannot tell what to draw from '{name}'", "end it in .svg, .png, .pdf or .dot")
    return name


def graph(
    program: Program,
    output_file: str | None,
    style: str,
    theme: str,
    direction: str,
    no_legend: bool,
    no_values: bool,
    no_gradients: bool,
    autograd_nodes: bool,
    dpi: int | None,
    **flags: Any,
) -> None:
    from gradtrace.cli import session
    from gradtrace.views import dot

    inputs, how = options.take(options.Inputs, flags), options.take(options.Backward, flags)
    trace = session.record(program, inputs, how, options.budget(flags))
    look = dot.Options(style, theme, not no_legend, not no_values, not no_gradients, autograd_nodes,
                       direction=direction)
    text = dot.source(trace, look)
    if output_file is None:
        output.write(text)
        return
    from gradtrace.views import files

    files.write_output(output_file, drawn(text, output_file.rpartition(".")[2].lower(), dpi))


def drawn(text: str, suffix: str, dpi: int | None) -> bytes:
    if suffix == "dot":
        return text.encode()
    from gradtrace.views import image

    picture = image.render(text, suffix, dpi=dpi)
    if image.is_shrunk(picture):
        from gradtrace.cli import report

        report.write(f"gradtrace graph: scaled down to {image.LARGEST:,} pixels, more than that no PNG has here; "
                     "an .svg keeps its size")
    return picture


def picture() -> list[ToolOption]:
    place = "Picture"
    return [
        ToolOption(["-o", "output_file"], metavar="FILE", check=suffix_of, section=place,
                   help="Write .svg, .png, .pdf or .dot."),
        ToolOption(["--style"], choices=("data", "autograd"), default="data", metavar="data|autograd",
                   section=place,
                   help="Tensors and operations (the default), or the graph of Functions as PyTorch keeps it."),
        ToolOption(["--theme"], choices=("light", "dark"), default="light", metavar="light|dark",
                   section=place, help="Default: light."),
        ToolOption(["--direction"], choices=("right", "down"), default="right", metavar="right|down",
                   section=place, help="Where the graph goes. Default: right."),
        ToolOption(["--no-legend"], is_flag=True, section=place, help="Leave out the legend."),
        ToolOption(["--no-values"], is_flag=True, section=place, help="Leave out the values."),
        ToolOption(["--no-gradients"], is_flag=True, section=place, help="Leave out the gradients."),
        ToolOption(["--autograd-nodes"], is_flag=True, section=place, help="Show each leaf's AccumulateGrad node."),
        ToolOption(["--dpi"], type=int, min=10, max=1200, metavar="N", section=place, help="Resolution of a PNG."),
    ]


command = SourceCommand(
    "graph",
    graph,
    [*options.source(), *picture(), *options.inputs(), *options.backward(), *options.limits(), *options.common()],
    HELP,
    EXAMPLES,
)
