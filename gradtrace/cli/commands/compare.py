"""`gradtrace compare SOURCE`: the dynamic graph and the static one side by side."""

from __future__ import annotations

from time import perf_counter

from gradtrace.annotations import Any, NamedTuple
from gradtrace.cli import options, output, report
from gradtrace.cli.command import SourceCommand
from gradtrace.cli.options import Request, number, section
from gradtrace.errors import UnsupportedError, UsageError

HELP = """Run SOURCE as a dynamic graph and as a static one, and put the two side by side: how often each was built and
run, its time, its operations, and what it can and cannot do.

The dynamic side calls the operators on tensors, builds the graph and goes back through it in every run; the static
side runs the plan that `gradtrace plan` shows, built once. Reading the program costs neither of them anything. Where
Python's if or while looks at a tensor, the static side is left out, and the line that prevents it is named."""

EXAMPLES = """Examples:
  gradtrace compare "(x+w)*(w+1)" --x 2 --w 1
  gradtrace compare examples/black_scholes.txt --runs 10000
  gradtrace compare "(x*w).sum()" --x "randn(1000,1000)" --w 0.5 --runs 5"""


class Side(NamedTuple):
    """The measurements of one way of running a program: the dynamic or the static graph."""

    built: int
    runs: int
    seconds: float
    operations: int
    values: tuple[Any, ...]


def compare(request: Request, runs: int) -> None:
    from gradtrace.cli.commands.plan import record
    from gradtrace.static import PlanProgram
    from gradtrace.static.dynamic import DynamicProgram
    from gradtrace.static.passes import optimise

    program = request.program
    if program.imports("tensorflow"):
        raise UsageError(
            f"{program.source.name} builds its graph before it runs it, so it has no dynamic side",
            "gradtrace plan shows the graph; compare takes an expression, or a script that imports "
            "torch",
        )
    try:
        tensors, recorded = record(request, 1)
    except UnsupportedError as error:
        dynamic_only(program.source.name, error, request.look.format)
        return
    wanted = [name for name, tensor in tensors.items() if tensor.requires_grad]
    raws = [tensors[name]._data for name, _ in recorded.inputs]
    start = perf_counter()
    plan = optimise(recorded)
    static = PlanProgram(plan)
    building = perf_counter() - start
    dynamic = timed(DynamicProgram(recorded, wanted), raws, runs, len(recorded.steps))
    show(dynamic, timed(static, raws, runs, len(plan.steps)), building, request.look.format)


def timed(program: Any, raws: list[Any], runs: int, operations: int) -> Side:
    start = perf_counter()
    for _ in range(runs):
        values = program(*raws)
    return Side(program.built, program.runs, perf_counter() - start, operations, values)


def same(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    from gradtrace.engine.data.lazy import np

    return all(
        np.array_equal(np.asarray(x), np.asarray(y), equal_nan=True)
        for x, y in zip(a, b, strict=True)
    )


def show(dynamic: Side, static: Side, building: float, format: str) -> None:
    ratio = dynamic.seconds / static.seconds
    equal = same(dynamic.values, static.values)
    if format == "json":
        data = {
            "schema": "gradtrace/compare",
            "version": 1,
            "same_results": equal,
            "speedup": ratio,
            "seconds_to_build_the_plan": building,
        }
        for name, side in (("dynamic", dynamic), ("static", static)):
            data[name] = {
                "built": side.built,
                "run": side.runs,
                "seconds_per_run": side.seconds / side.runs,
                "operations": side.operations,
            }
        output.write_json(data)
        return
    rows = [
        ("", "dynamic", "static"),
        ("graph", "built while it runs", "built first, then run"),
        ("built", times(dynamic.built), times(static.built)),
        ("run", times(dynamic.runs), times(static.runs)),
        (
            "time of a run",
            duration(dynamic.seconds / dynamic.runs),
            f"{duration(static.seconds / static.runs)}  ({ratio:.3g} times as fast)",
        ),
        ("time to build", "in every run", duration(building)),
        (
            "operations",
            f"{dynamic.operations} in every run",
            f"{static.operations} after the passes",
        ),
        ("results", "", "the same to the last bit" if equal else "differ in the last bits"),
        *WORDS,
    ]
    write(rows)


WORDS = (
    ("flexible", "yes: any Python if, while, for", "no: where, while_loop"),
    ("to debug", "values are there at each line", "values exist only in a run"),
    ("like", "Python: done line by line", "C: compiled, then run"),
)


def write(rows: list[tuple[str, str, str]]) -> None:
    from gradtrace.views.plan_text import aligned

    output.write("\n".join(aligned([*rows])) + "\n")


def dynamic_only(name: str, error: UnsupportedError, format: str) -> None:
    """Print the result for a program without a static graph, with the line that prevents it."""
    place = error.place
    where = f"{place.name}:{place.line}" if place is not None else name  # type: ignore[attr-defined]
    if format == "json":
        output.write_json(
            {
                "schema": "gradtrace/compare",
                "version": 1,
                "static": None,
                "reason": error.message,
                "place": where,
            }
        )
        return
    write(
        [
            ("", "dynamic", "static"),
            ("graph", "built while it runs", f"none: {where} depends on a value"),
            *WORDS,
        ]
    )
    report.write(f"{where}: {error.message}; {error.hint}")


def times(n: int) -> str:
    return "once" if n == 1 else f"{n:,} times"


def duration(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


command = SourceCommand(
    "compare",
    compare,
    options.of_source(
        section(
            "Comparison",
            number("--runs N", "Number of runs of each. Default: 1000.", 1, default=1000),
        ),
        options.format_of(("table", "json")),
        options.INPUTS,
    ),
    HELP,
    EXAMPLES,
)
