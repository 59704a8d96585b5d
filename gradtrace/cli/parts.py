"""The options --step and --pass, which select the part of a run that a command shows."""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, NamedTuple
from gradtrace.errors import UsageError

if TYPE_CHECKING:
    from gradtrace.trace import Trace

ALL = "all"


class Part(NamedTuple):
    """The values of --step and --pass."""

    step: str | None = None
    pass_number: int | None = None

    @property
    def chosen(self) -> bool:
        """Whether --step or --pass selects a single step or pass."""
        return self.step not in (None, ALL) or self.pass_number is not None

    def of(self, trace: Trace, picture: bool = False) -> Trace:
        """Return the selected part of a trace; for a picture, by default, the last step of a training loop."""
        if trace.failure is not None and picture and trace.training and not self.chosen and self.step is None:
            return failed_step(trace)
        last = picture and self.step is None and bool(trace.training) and ends_the_run(trace)
        if not self.chosen and not last:
            return trace
        from gradtrace.trace.part import pass_of_trace, step_of_trace

        if self.step not in (None, ALL) and self.pass_number is not None:
            raise UsageError("--step and --pass choose two parts", "give one of them")
        if self.pass_number is not None:
            return pass_of_trace(trace, self.pass_number)
        return step_of_trace(trace, len(trace.training) if last else int(self.step or 0), not picture)


def ends_the_run(trace: Trace) -> bool:
    """Whether the last step computes the program's result, so that a picture of this step shows it."""
    last = trace.training[-1]
    made = range(*last.operations)
    return all(trace.tensors[i].operation in made for i in trace.roots)


def failed_step(trace: Trace) -> Trace:
    """Return the step of a loop in which the program failed."""
    from gradtrace.trace.part import cut

    first, last = trace.training[-1].operations
    start = last if last + 1 < len(trace.operations) else first
    return cut(trace, range(start, len(trace.operations)), range(0), trace.operations[-1].outputs, True, None)


def step_of(text: str) -> str:
    if text == ALL or (text.isdecimal() and int(text)):
        return text
    raise UsageError(f"--step: '{text}' is not a step", "1, 2, ... or all")
