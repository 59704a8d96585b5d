"""Run a program as a dynamic graph and as a static one, for `gradtrace plan --compare`.

The dynamic side calls the operators on tensors, builds the graph and goes back through it in every
run; the static side runs the plan, built once. Reading the program costs neither of them anything.
"""

from __future__ import annotations

from time import perf_counter

from gradtrace.annotations import TYPE_CHECKING, Any, NamedTuple
from gradtrace.cli import output, report
from gradtrace.static import PlanProgram
from gradtrace.static.dynamic import DynamicProgram
from gradtrace.static.passes import optimise
from gradtrace.views.plan_text import aligned

if TYPE_CHECKING:
    from gradtrace.engine import Tensor
    from gradtrace.errors import UnsupportedError
    from gradtrace.static.plan import Plan

RUNS = 1000  # of each side, unless --runs says otherwise


class Side(NamedTuple):
    """The measurements of one way of running a program: the dynamic or the static graph."""

    built: int
    runs: int
    seconds: float
    operations: int
    values: tuple[Any, ...]


class Comparison(NamedTuple):
    """Both ways of running a program, the optimised plan, and the seconds that building it took."""

    dynamic: Side
    static: Side
    plan: Plan
    building: float


def compare(
    tensors: dict[str, Tensor], recorded: Any, fast_math: bool, runs: int | None
) -> Comparison:
    """Run a recorded plan in both ways, `runs` times each."""
    count = runs or RUNS
    wanted = [name for name, tensor in tensors.items() if tensor.requires_grad]
    raws = [tensors[name]._data for name, _ in recorded.inputs]
    start = perf_counter()
    plan = optimise(recorded, fast_math)
    static = PlanProgram(plan)
    building = perf_counter() - start
    dynamic = timed(DynamicProgram(recorded, wanted), raws, count, len(recorded.steps))
    return Comparison(dynamic, timed(static, raws, count, len(plan.steps)), plan, building)


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


def as_data(sides: Comparison) -> dict[str, Any]:
    """Return the comparison as plain data for JSON."""
    columns = {
        name: {
            "built": side.built,
            "run": side.runs,
            "seconds_per_run": side.seconds / side.runs,
            "operations": side.operations,
        }
        for name, side in (("dynamic", sides.dynamic), ("static", sides.static))
    }
    return {
        "same_results": same(sides.dynamic.values, sides.static.values),
        "speedup": sides.dynamic.seconds / sides.static.seconds,
        "seconds_to_build_the_plan": sides.building,
        **columns,
    }


def comparison_text(sides: Comparison) -> str:
    """Return the two sides as a table."""
    dynamic, static, _, building = sides
    ratio = dynamic.seconds / static.seconds
    equal = same(dynamic.values, static.values)
    return table(
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
    )


WORDS = (
    ("flexible", "yes: any Python if, while, for", "no: where, while_loop"),
    ("to debug", "values are there at each line", "values exist only in a run"),
    ("like", "Python: done line by line", "C: compiled, then run"),
)


def table(*rows: tuple[str, str, str]) -> str:
    return "\n".join(aligned([("", "dynamic", "static"), *rows, *WORDS])) + "\n"


def dynamic_only(name: str, error: UnsupportedError, format: str) -> None:
    """Print the result for a program without a static graph, with the line that prevents it."""
    place: Any = error.place
    where = name if place is None else f"{place.name}:{place.line}"
    if format == "json":
        reason = {"static": None, "reason": error.message, "place": where}
        output.write_json({"schema": "gradtrace/plan", "version": 1, "comparison": reason})
        return
    output.write(table(("graph", "built while it runs", f"none: {where} depends on a value")))
    report.write(f"{where}: {error.message}; {error.hint}")


def times(n: int) -> str:
    return "once" if n == 1 else f"{n:,} times"


def duration(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
