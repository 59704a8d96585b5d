"""An explanation: its cause in a word and in a clause, the evidence for it, and what to change."""

from __future__ import annotations

from gradtrace.annotations import Iterable, NamedTuple, Sequence
from gradtrace.trace.record import Span, TensorRecord, Value


class Evidence(NamedTuple):
    """One fact that an explanation is based on, with the source line that shows it."""

    text: str
    span: Span | None = None
    source: str = ""
    # how a line of a library is named: after the program's own line that leads there
    place: str = ""


class Fix(str):
    """Advice that is a change of the program's text, as data: `edits` has each place and its new
    text.
    """

    edits: tuple[tuple[Span, str], ...]

    def __new__(cls, text: str, edits: Iterable[tuple[Span, str]]) -> Fix:
        fix = super().__new__(cls, text)
        fix.edits = tuple(edits)
        return fix


class Cause(NamedTuple):
    """A cause of a symptom, for one tensor or for a whole run.

    `code` is a short word for it, `because` a clause without its subject, `advice` what to change,
    best first. A `Fix` among the advice can be tried: `tried` has those that were, with success,
    which `shown` describes if it is the same of all, and `failed` those without it. `judged` are
    clauses that a trial adds to `because`: after a success, and without one.
    `symptom` is what it explains; without a clause it is the whole sentence. `name` and
    `value` are of the tensor that was asked about; a cause in the run has no name. `tensors` are
    the leaves (their last versions) that it explains; None: all. `status` is that of the tensor's
    gradient ("gradient", "zero", "nan", "none"), "failed" for a failure, "found" for what is wrong
    in a run. `kind` is "nan" or "inf" if the symptom is such a value. What a program asks of a
    cause it asks of these fields: the sentences are only printed.
    """

    code: str
    because: str
    evidence: Sequence[Evidence] = ()
    advice: tuple[str, ...] = ()
    symptom: str = ""
    name: str = ""
    status: str = "found"
    tensors: frozenset[int] | None = None
    value: Value | None = None
    tried: tuple[str, ...] = ()
    kind: str = ""
    failed: tuple[str, ...] = ()
    shown: str = ""
    judged: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        if not self.because:
            return self.symptom
        return f"{self.symptom}: {self.because}." if self.symptom else f"{self.because}."

    def about(self, record: TensorRecord, status: str, grad: str) -> Cause:
        """Return the cause as the explanation of a tensor's gradient, which is described by
        `grad`.
        """
        sentence = f"{record.label}.grad is {grad}"
        return self._replace(name=record.label, status=status, symptom=sentence, value=record.grad)
