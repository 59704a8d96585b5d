"""The plan: a program as plain data, made once and run many times.

    Plan
    ├── values    PlanValue, by number: shape, dtype, and the data of a constant
    ├── inputs    (name, number): what is fed at each run
    ├── steps     Step, in order: an operator record's name, its arguments (a Ref stands for a value), numbers out
    └── outputs   (label, number): "y", "dy/dx", ...

Forward and gradients are steps of one list. Nothing here refers to a live tensor. A plan made for one row of a table is
run over blocks of rows by `program`; the shapes in it are then those of a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

FORWARD, BACKWARD = "forward", "backward"


class Ref(NamedTuple):
    """A value among a step's arguments, by its number."""

    number: int


class PlanValue(NamedTuple):
    """What is known of a value before any run; `constant` is its raw data (None: computed or fed)."""

    shape: tuple[int, ...]
    dtype: str
    constant: Any = None
    name: str = ""

    @property
    def is_constant(self) -> bool:
        return self.constant is not None


class Step(NamedTuple):
    """One call of an operator record (or of a loop: see `control`). `line` is of the source, 0 where there is none."""

    op: str
    args: tuple[Any, ...]
    out: tuple[int, ...]
    phase: str = FORWARD
    line: int = 0


class Plan(NamedTuple):
    """See the module's docstring. `removed` says what each pass took out: (pass, count)."""

    values: tuple[PlanValue, ...]
    inputs: tuple[tuple[str, int], ...]
    steps: tuple[Step, ...]
    outputs: tuple[tuple[str, int], ...]
    removed: tuple[tuple[str, int], ...] = ()

    def input(self, name: str) -> PlanValue:
        """What is known of an input; KeyError if the plan has none of that name."""
        return self.values[dict(self.inputs)[name]]


def refs(args: Any) -> Iterator[int]:
    """The numbers of the values among (nested) arguments, in order."""
    for a in args:
        if type(a) is Ref:
            yield a.number
        elif type(a) in (tuple, list):
            yield from refs(a)


def replaced(args: tuple[Any, ...], to: Callable[[int], Any]) -> tuple[Any, ...]:
    """The arguments with `to(number)` in place of each Ref."""
    return tuple(
        to(a.number) if type(a) is Ref else type(a)(replaced(tuple(a), to)) if type(a) in (tuple, list) else a
        for a in args
    )


def uses(plan: Plan) -> dict[int, int]:
    """How often each value is read, by steps and as an output."""
    count: dict[int, int] = {}
    for step in plan.steps:
        for number in refs(step.args):
            count[number] = count.get(number, 0) + 1
    for _, number in plan.outputs:
        count[number] = count.get(number, 0) + 1
    return count
