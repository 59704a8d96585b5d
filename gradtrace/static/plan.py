"""The plan: a program as plain data, traced once and executed many times.

    Plan
    ├── values    PlanValue, by number: shape, dtype, and the data of a constant
    ├── inputs    (name, number): the values fed at each run
    ├── steps     Step, in order: an operator record's name, its arguments (a Ref is a value),
                  output numbers
    └── outputs   (label, number): "y", "dy/dx", ...

The forward steps and the steps of gradients are in one list. A plan does not refer to live tensors.
A plan for one row of a table has the shapes of that row; a `RowProgram` executes it over blocks of
rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

FORWARD = "forward"
BACKWARD = "backward"
WHILE = "while_loop"  # the operator of a step that is a loop


class Ref(NamedTuple):
    """An argument of a step that refers to a value of the plan by its number."""

    number: int


class PlanValue(NamedTuple):
    """Static information about a value; `constant` is its raw data (None: computed or fed)."""

    shape: tuple[int, ...]
    dtype: str
    constant: Any = None
    name: str = ""

    @property
    def is_constant(self) -> bool:
        return self.constant is not None


class Step(NamedTuple):
    """A call of an operator record, or of a loop. `line` is the source line, 0 if unknown.

    The arguments of a loop are the plans of its condition and its body, and the Refs of its
    variables, then of the outer values that these plans use; both plans have all of these as
    inputs.
    """

    op: str
    args: tuple[Any, ...]
    out: tuple[int, ...]
    phase: str = FORWARD
    line: int = 0


class Plan(NamedTuple):
    """A program as plain data; the module's docstring describes the fields.

    `removed` has a pair (name, number of steps removed or simplified) for each optimisation pass.
    """

    values: tuple[PlanValue, ...]
    inputs: tuple[tuple[str, int], ...]
    steps: tuple[Step, ...]
    outputs: tuple[tuple[str, int], ...]
    removed: tuple[tuple[str, int], ...] = ()

    def input(self, name: str) -> PlanValue:
        """Return the value of an input; raise KeyError if the plan has no input of that name."""
        return self.values[dict(self.inputs)[name]]


def refs(args: Any) -> Iterator[int]:
    """Yield the number of each Ref among the arguments, also inside of tuples and lists."""
    for a in args:
        if type(a) is Ref:
            yield a.number
        elif type(a) in (tuple, list):
            yield from refs(a)


def replaced(args: Any, to: Callable[[int], Any]) -> Any:
    """Return the arguments, a tuple, with each Ref replaced by `to(number)`, also inside of tuples
    and lists.
    """
    if type(args) is Ref:
        return to(args.number)
    return type(args)(replaced(a, to) for a in args) if type(args) in (tuple, list) else args


def uses(plan: Plan) -> dict[int, int]:
    """Return how often each value is read, by steps and as an output."""
    count: dict[int, int] = {}
    for step in plan.steps:
        for number in refs(step.args):
            count[number] = count.get(number, 0) + 1
    for _, number in plan.outputs:
        count[number] = count.get(number, 0) + 1
    return count
