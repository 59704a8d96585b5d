"""Try what `why` advises: run the program with the change, and say whether it is a fix.

A `Fix` has its change as data, so that it can be tried: on gradtrace's own engine, as often as WORK
allows. For a record of real PyTorch this is done only if the program shows the same trouble there.
What a trial must show is in `analysis/trained.py`.
"""

from __future__ import annotations

import re
import time
from io import StringIO
from math import isfinite

from gradtrace.analysis.cause import Cause, Fix
from gradtrace.analysis.causes.table import causes_in
from gradtrace.analysis.facts import Facts
from gradtrace.analysis.failures import explain_failure
from gradtrace.analysis.rewrites import edited
from gradtrace.analysis.trained import Outcome, Verdict, losses, remains, verdict
from gradtrace.annotations import Any, Sequence
from gradtrace.cli import session
from gradtrace.cli.options import Request
from gradtrace.engine.data.lazy import np
from gradtrace.errors import GradtraceError

CUT = "partial cut"
# of Python's or numpy's own generators
DRAWS = re.compile(r"(?<!torch\.)\brandom\.(?!seed|default_rng|Random)\w")
SEEDED = re.compile(r"\brandom\.seed\(|default_rng\(\d|Random(State)?\(\d")
WORK = 100_000  # operations of all trials of one answer, as many for each as the program's run had
SECONDS = 30.0  # the last resort, where operations are long or the machine is slow
WANTED = session.GRADIENTS._replace(failing=True, checking=True)


class Silent(StringIO):
    """A stream for the output of a trial, which nobody reads."""

    muted = True

    def write(self, text: str, /) -> int:
        return len(text)


class Trials:
    """The trials for one command line, whose own run is `recorded` and took `spent` seconds."""

    def __init__(self, request: Request, recorded: Outcome, spent: float) -> None:
        self.request = request
        self.recorded = recorded
        self.trace = recorded.facts.trace
        self.outcomes: dict[Any, Outcome | None] = {}
        record = request.program.record
        self.is_elsewhere = record is not None and bool(getattr(record.about, "engine", ""))
        self.runs = WORK // max(len(self.trace.operations), 1)
        self.end = time.monotonic() + min(SECONDS, request.budget.seconds - spent)

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
        """Return a cause with what the trials of its advice showed."""
        results = {fix: self.verdict(cause, fix) for fix in cause.advice if isinstance(fix, Fix)}
        seen: dict[str, Verdict] = {fix: v for fix, v in results.items() if v is not None}
        tried = tuple(fix for fix, result in seen.items() if result.is_fix)
        failed = {
            fix: f"{fix}; but {result.clause} then"
            for fix, result in seen.items()
            if not result.is_fix and result.clause
        }
        rest = [
            failed.get(advice, advice)
            for advice in cause.advice
            if advice not in tried
            and (advice in failed or advice not in seen or not (cause.judged or is_code(advice)))
        ]
        if cause.judged and seen and (tried or not failed):
            cause = cause._replace(because=f"{cause.because}; {cause.judged[not tried]}")
        clauses = {seen[fix].clause for fix in tried}
        shown = clauses.pop() if len(clauses) == 1 else ""
        return cause._replace(
            advice=(*tried, *rest), tried=tried, failed=tuple(failed.values()), shown=shown
        )

    def verdict(self, cause: Cause, fix: Fix) -> Verdict | None:
        """Return what the run with a fix shows; None if it cannot be tried."""
        before = self.outcome(()) if self.is_elsewhere else self.recorded
        if before is None or not remains(before, cause):
            return None
        after = self.outcome(fix.edits)
        names = {cause.name, *map(self.recorded.facts.label, cause.tensors or ())}
        lacking = names if cause.status in ("none", "zero", "nan") else set()
        return after and verdict(before, after, cause, lacking, self.reference)

    def reference(self) -> list[float]:
        """Return the losses of the program itself, in float64 if they are not finite."""
        numbers = losses(self.recorded.facts)
        if all(map(isfinite, numbers)):
            return numbers
        wide = self.outcome((), "float64")
        return [] if wide is None else losses(wide.facts)

    def outcome(self, edits: Any, dtype: str | None = None) -> Outcome | None:
        """Return what is wrong in the run of the program with some edits; None if it cannot run
        here.
        """
        if (edits, dtype) not in self.outcomes:
            self.outcomes[edits, dtype] = self.run(edits, dtype)
        return self.outcomes[edits, dtype]

    def run(self, edits: Any, dtype: str | None) -> Outcome | None:
        text = self.trace.source_text
        self.runs -= 1
        if self.runs < 0 or (DRAWS.search(text) and not SEEDED.search(text)):
            return None  # another run draws other numbers
        inputs = self.request.inputs._replace(dtype=dtype or self.request.inputs.dtype)
        try:
            trace = repeated(
                self.request._replace(inputs=inputs),
                edited(text, edits),
                self.end - time.monotonic(),
            )
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
