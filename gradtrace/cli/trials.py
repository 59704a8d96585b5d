"""Try what `why` advises: run the program with the change, and keep the advice only if the trouble
is gone.

A `Fix` has its change as data, so that it can be tried: on gradtrace's own engine and within a time
limit. For a record of real PyTorch this is done only if the program shows the same trouble there.
"""

from __future__ import annotations

import re
import time

from gradtrace.analysis.cause import Cause, Fix
from gradtrace.analysis.facts import Facts
from gradtrace.analysis.rewrites import edited
from gradtrace.annotations import Any, NamedTuple, Sequence
from gradtrace.cli import session
from gradtrace.cli.options import Request
from gradtrace.engine.data.lazy import np
from gradtrace.errors import GradtraceError

CUT = "partial cut"
# of Python's or numpy's own generators
DRAWS = re.compile(r"(?<!torch\.)\brandom\.(?!seed|default_rng|Random)\w")
SEEDED = re.compile(r"\brandom\.seed\(|default_rng\(\d|Random(State)?\(\d")
SECONDS = 5.0  # of a run that is repeated at all
TIMES = 2.0  # the run's own time, for all trials of one answer
LEAST = 1.0  # seconds for them, however short the run was
WANTED = session.GRADIENTS._replace(failing=True, checking=True)


# Kinds of errors that show that the tried change is wrong.
MISTAKES = ("RuntimeError", "TypeError", "ValueError", "NameError", "AttributeError", "IndexError")


class Silent:
    """A stream for the output of a trial, which nobody reads."""

    muted = True

    def write(self, text: str) -> int:
        return len(text)

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return False


class Outcome(NamedTuple):
    """The causes in a run, the one that ended it, and the facts to explain a tensor with."""

    facts: Facts
    failure: Cause | None
    causes: list[Cause]


class Trials:
    """The trials for one command line, which together take at most twice as long as the answer took
    before: `spent` seconds. They end before the limit of the command line, and a run that took
    longer than SECONDS is not repeated.
    """

    def __init__(self, request: Request, trace: Any, spent: float) -> None:
        self.request = request
        self.trace = trace
        self.outcomes: dict[Any, Outcome | None] = {}
        record = request.program.record
        self.is_elsewhere = record is not None and bool(getattr(record.about, "engine", ""))
        allowed = (
            0.0
            if spent > SECONDS and not self.is_elsewhere
            else max(LEAST, TIMES * min(spent, SECONDS))
        )
        self.end = time.monotonic() + min(allowed, request.budget.seconds - spent)

    def checked(self, causes: Sequence[Cause]) -> list[Cause]:
        """Return causes with the advice that was tried with success first, and without code that
        did not help.

        A path that is cut on purpose is right, so what would join it again is not called a fix.
        """
        meant = [cause for cause in causes if cause.code == CUT]
        return [self.check(cause) for cause in causes if cause not in meant] + [
            cause for cause in meant if self.lacks(cause)
        ]

    def lacks(self, cause: Cause) -> bool:
        """Whether the gradients are others with the path that was cut, as far as that can be
        tried.
        """
        fix = next((advice for advice in cause.advice if isinstance(advice, Fix)), None)
        outcome = None if fix is None else self.outcome(fix.edits)
        if outcome is None or outcome.facts.trace.failure is not None:
            return True
        wholes = {t.label: t.grad for t in outcome.facts.trace.named if t.grad is not None}
        pairs = [
            (t.grad, wholes.get(t.label))
            for t in self.trace.tensors
            if t.id in (cause.tensors or ())
        ]
        return not all(whole is not None and near(part, whole) for part, whole in pairs)

    def check(self, cause: Cause) -> Cause:
        helped: dict[str, bool | None] = {
            fix: self.helps(cause, fix) for fix in cause.advice if isinstance(fix, Fix)
        }
        tried = tuple(fix for fix, good in helped.items() if good)
        rest = [
            advice
            for advice in cause.advice
            if advice not in tried and (helped.get(advice) is None or not is_code(advice))
        ]
        return cause._replace(advice=(*tried, *rest), tried=tried)

    def helps(self, cause: Cause, fix: Fix) -> bool | None:
        """Whether the trouble is gone with a fix; None if that cannot be tried, or another trouble
        takes its place.
        """
        if self.is_elsewhere and (
            (same := self.outcome(())) is None or remains(same, cause) is not True
        ):
            return None
        outcome = self.outcome(fix.edits)
        left = None if outcome is None else remains(outcome, cause)
        return None if left is None else not left

    def outcome(self, edits: Any) -> Outcome | None:
        """Return what is wrong in the run of the program with some edits; None if it cannot run
        here.
        """
        if edits not in self.outcomes:
            self.outcomes[edits] = self.run(edits)
        return self.outcomes[edits]

    def run(self, edits: Any) -> Outcome | None:
        from gradtrace.analysis.causes.table import causes_in
        from gradtrace.analysis.failures import explain_failure

        text = self.trace.source_text
        if DRAWS.search(text) and not SEEDED.search(text):
            return None  # another run draws other numbers
        try:
            trace = repeated(self.request, edited(text, edits), self.end - time.monotonic())
        except GradtraceError:
            return None
        facts = Facts(trace)
        return Outcome(facts, explain_failure(trace), causes_in(facts))


def near(a: Any, b: Any) -> bool:
    """Whether two gradients are the same but for rounding; of those that were not kept whole the
    norms are compared.
    """
    if a is None or a.elements is None or b.elements is None:
        return a is not None and abs(a.norm - b.norm) <= 1e-4 * abs(b.norm)
    return bool(np.allclose(a.elements, b.elements, rtol=1e-4, atol=1e-6))


def is_code(advice: str) -> bool:
    """Whether an advice shows the very change that was tried; one in words may be followed in
    another way.
    """
    return isinstance(advice, Fix) and any(new in advice for _, new in advice.edits)


def repeated(request: Request, text: str, seconds: float, wanted: session.Wanted = WANTED) -> Any:
    """Run a program's changed text as the request says, without output and without writing the
    files that it may write; raise GradtraceError if it cannot run.
    """
    from contextlib import redirect_stderr, redirect_stdout

    import gradtrace
    from gradtrace.cli import records
    from gradtrace.program import watchdog
    from gradtrace.program.discarding import discarding
    from gradtrace.program.parse import parse

    if seconds <= 0:
        raise GradtraceError("no time is left", "")
    budget = request.budget._replace(seconds=min(seconds, request.budget.seconds))
    old = request.program
    how = request.how
    own = (
        old.record
        if old.record is not None and not getattr(old.record.about, "engine", "")
        else None
    )
    program = parse(text, name=old.source.name, budget=budget)._replace(
        record=own, modules=old.modules
    )
    if own is not None:
        how = records.options_of(own, how)
    elif program.imports_torch and how.backward is None:
        how = how._replace(no_backward=True)
    silent: Any = Silent()
    with redirect_stdout(silent), redirect_stderr(silent), discarding(), watchdog.patient():
        gradtrace.manual_seed(gradtrace.initial_seed())
        changed = request._replace(program=program, budget=budget, how=how)
        return session.record_run(changed, wanted._replace(out=silent))


def remains(outcome: Outcome, cause: Cause) -> bool | None:
    """Whether a cause is still there, or the changed program fails; None if something else is
    wrong.
    """
    from gradtrace.analysis.causes.table import about

    failure = outcome.facts.trace.failure
    if cause.status == "failed":
        if failure is None or outcome.failure is None:
            return failure is not None
        is_same = (outcome.failure.code, first_line(outcome.failure)) == (
            cause.code,
            first_line(cause),
        )
        return True if is_same else None
    if failure is not None:
        return True if failure.kind in MISTAKES else None
    if not cause.name:  # a cause in the run
        same = [remaining for remaining in outcome.causes if remaining.code == cause.code]
        if same:
            return True if any(lines(remaining) & lines(cause) for remaining in same) else None
        return None if any(is_serious(remaining) for remaining in outcome.causes) else False
    records = [t for t in outcome.facts.trace.named if t.label == cause.name]
    if not records:
        return None
    answer = about(outcome.facts, records[0], outcome.causes)
    if answer.status == "gradient" or (cause.status == "nan" and answer.status == "zero"):
        return answer.code == cause.code
    return True if answer.code == cause.code else None


def is_serious(cause: Cause) -> bool:
    return cause.status in ("nan", "failed") or cause.code in ("not finite", "nan in data")


def first_line(cause: Cause) -> int | None:
    return next((item.span.line for item in cause.evidence if item.span is not None), None)


def lines(cause: Cause) -> set[int]:
    """Return the lines that a cause's evidence shows."""
    return {item.span.line for item in cause.evidence if item.span is not None}
