"""`gradtrace plan SOURCE`: the static program of value and gradients, before and after
optimisation.
"""

from __future__ import annotations

import sys

from gradtrace.annotations import TYPE_CHECKING, Any
from gradtrace.cli import options, output
from gradtrace.cli.command import SourceCommand
from gradtrace.cli.options import Request, flag, number, option, section
from gradtrace.errors import UnsupportedError, UsageError

if TYPE_CHECKING:
    from gradtrace.engine import Tensor

HELP = """Show the plan of SOURCE: value and gradients as one static program, built once and run many times.

The passes fold constants, clear identities away, share common subexpressions and drop dead steps, without changing a
bit of any result; --fast-math allows what does. A variable that is not given is a scalar: the numbers do not matter to
a plan, the shapes do. A Python if or while on a tensor cannot be frozen and is refused with its line.

With --compare the program also runs as a dynamic graph, and both stand side by side: how often each was built and run,
its time, its operations, and what it can and cannot do. Where Python's if or while looks at a tensor, the static side
is left out, and the line that prevents it is named.

Of a script that imports tensorflow, the static graph that it builds is shown."""

EXAMPLES = """Examples:
  gradtrace plan "(x+w)*(w+1)"
  gradtrace plan "(x+w)*(w+1)" --x 2 --w 1 --compare
  gradtrace plan examples/black_scholes.txt --order 2 --format json
  gradtrace plan "(x+w)*(w+1)" -o plan.svg"""


def plan(
    request: Request,
    order: int,
    runs: int | None,
    fast_math: bool,
    compare: bool,
    output_file: str | None,
) -> None:
    from gradtrace.static.passes import optimise
    from gradtrace.views import plan_text

    format = request.look.format
    if compare:
        compared(request, order, runs, fast_math, output_file)
        return
    if request.program.imports("tensorflow"):
        static_graph(built(request), format, output_file)
        return
    tensors, recorded = record(request, order)
    optimised = optimise(recorded, fast_math)
    if output_file is not None:
        draw(plan_text.dot(optimised), output_file)
    elif format == "json":
        output.write_json(plan_text.as_data(optimised, len(recorded.steps)))
    elif format == "dot":
        output.write(plan_text.dot(optimised))
    else:
        output.write(plan_text.render(optimised, len(recorded.steps)))
    if runs:
        output.write(repeated(optimised, tensors, runs))


def compared(
    request: Request, order: int, runs: int | None, fast_math: bool, output_file: str | None
) -> None:
    """Print the plan, then the dynamic and the static graph side by side."""
    from gradtrace.cli import two_graphs
    from gradtrace.views import plan_text

    name = request.program.source.name
    format = request.look.format
    if request.program.imports("tensorflow"):
        raise UsageError(
            f"{name} builds its graph before it runs it, so it has no dynamic side",
            "leave out --compare, or take an expression, or a script that imports torch",
        )
    if output_file is not None or format == "dot" or order != 1:
        raise UsageError(
            "--compare prints value and gradients as text or JSON",
            "leave out -o, --format dot and --order",
        )
    try:
        tensors, recorded = record(request, order)
    except UnsupportedError as error:
        two_graphs.dynamic_only(name, error, format)
        return
    sides = two_graphs.compare(tensors, recorded, fast_math, runs)
    steps = len(recorded.steps)
    if format == "json":
        comparison = two_graphs.as_data(sides)
        output.write_json({**plan_text.as_data(sides.plan, steps), "comparison": comparison})
    else:
        output.write(f"{plan_text.render(sides.plan, steps)}\n{two_graphs.comparison_text(sides)}")


def record(request: Request, order: int) -> Any:
    """Return the input tensors and the recorded plan; variables without a value are set to 1."""
    from gradtrace.cli import inputs, running
    from gradtrace.static.source import plan_of

    program = request.program
    if not program.tree.body:
        raise UsageError(
            f"{program.source.name} holds nothing to plan",
            "give an expression, a file, or - for stdin",
        )
    names = {*inputs.read_all(request), *inputs.recorded_inputs(program)}
    lacking = {
        variable.name: "1"
        for variable in program.inputs
        if variable.name not in names and variable.default is None
    }
    completed = request.inputs._replace(given={**lacking, **request.inputs.given})
    tensors = inputs.prepare(request._replace(inputs=completed))
    with running.warning_lines(program.source.name):
        plan = plan_of(
            program,
            tensors,
            order=order,
            outputs=options.names(request.how.output),
            dtype=request.dtype,
            budget=request.budget,
            stderr=sys.stderr,
        )
    return tensors, plan


def built(request: Request) -> Any:
    """Return the static graph that a script builds: the graph of its last tensor, or the default
    graph.
    """
    from gradtrace.cli import inputs, running
    from gradtrace.program.result import RunOptions
    from gradtrace.static.graph import Graph, Tensor, get_default_graph

    graphs: list[Graph] = []
    with running.executing(request, inputs.prepare(request), RunOptions(stdout=sys.stderr)) as run:
        graphs.append(get_default_graph())
        candidates = (v.graph if isinstance(v, Tensor) else v for v in run.env.values())
        graphs.extend(graph for graph in candidates if isinstance(graph, Graph))
    return graphs[-1]


def static_graph(graph: Any, format: str, output_file: str | None) -> None:
    from gradtrace.views import static_graph as view

    if output_file is not None:
        draw(view.dot(graph), output_file)
    elif format == "json":
        output.write_json(view.as_data(graph))
    else:
        output.write(view.dot(graph) if format == "dot" else view.render(graph))


def repeated(plan: Any, tensors: dict[str, Tensor], runs: int) -> str:
    """Execute the plan `runs` times and return a line with its counters and the time per run."""
    from time import perf_counter

    from gradtrace.static import PlanProgram

    program = PlanProgram(plan)
    values = [tensors[name]._data for name, _ in plan.inputs]
    start = perf_counter()
    for _ in range(runs):
        program(*values)
    seconds = perf_counter() - start
    return (
        f"\nbuilt {program.built} time, run {program.runs} times: {seconds / runs * 1e6:.3g} us "
        "a run\n"
    )


def draw(text: str, name: str) -> None:
    from gradtrace.files import write_output
    from gradtrace.views import render

    write_output(name, render.render_dot(text, render.suffix_of(name)))


def suffix_of(name: str) -> str:
    from gradtrace.cli.commands.graph import checked
    from gradtrace.views.render import DRAWN

    return checked(name, DRAWN)


command = SourceCommand(
    "plan",
    plan,
    options.of_source(
        section(
            "Plan",
            number(
                "--order N",
                "0: only the value; 1 (default): also its gradients; 2: also the second "
                "derivatives.",
                0,
                2,
                1,
            ),
            options.RESULT,
            flag(
                "--fast-math",
                "Also rewrite what may change the last bits: x + 0, x * 0, x / c, (x * c) * d.",
            ),
            flag("--compare", "Show the dynamic graph and the static one too."),
            number(
                "--runs N",
                "Run the plan N times; show counters and time. With --compare, both; default: 1000.",
                1,
            ),
        ),
        options.format_of(("table", "json", "dot")),
        section(
            "Output",
            option(
                "-o FILE",
                "Draw the plan to .svg, .png, .pdf or .dot.",
                "output_file",
                suffix_of,
            ),
        ),
        options.INPUTS,
    ),
    HELP,
    EXAMPLES,
)
