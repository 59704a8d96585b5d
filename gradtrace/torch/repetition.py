"""The repetition of a step under a recorder, in a forked copy of the process, and its report to the
parent.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from gradtrace.torch import private
from gradtrace.torch.finite import all_finite, losses_of
from gradtrace.torch.passes import text_of
from gradtrace.torch.recording import file_content, record
from gradtrace.torch.samples import SampleWatch
from gradtrace.torch.state import State

if TYPE_CHECKING:
    from gradtrace.torch.forked import Child
    from gradtrace.torch.guard import StepGuard
    from gradtrace.torch.guard_capsule import CapsuleWriter


ALONE = (
    "the repetition has the gradients of this batch alone, without those of the batches before "
    "it; they were compared with those of the step only by where they are not finite"
)


class NotFinite(BaseException):
    """Raised in the child to leave a step; the program's handlers should not catch it."""

    ends_quietly = True  # for the recording: this is not a failure of the program


class BadStep(NamedTuple):
    """Where a step was found to be bad: after how many good updates, and at which call of an
    update's closure (0: it has none, or the fault was found after the step). `result` is what the
    step returned, `wanted` are the gradients of the parameters, which the child compares with its
    own.
    """

    problem: str
    parameters: list[Any]  # whose gradients show it
    updated: set[int]  # parameters that optimisers have updated in this step, by their ids
    good: int
    call: int = 0
    result: Any = None
    wanted: Any = ()
    is_finite: bool = False  # only a loss is far above those of the steps before


class StepReport(NamedTuple):
    """What the child found: remarks, the answer ("" if there is none), the ids in the record of the
    parameters, and whether the step ended with an exception, why no capsule was written ("" if one
    was, or none was wanted).
    """

    notes: list[str]
    answer: str
    ids: list[int | None]
    failed: bool
    no_capsule: str = ""


def send(child: Child, repeat: Callable[[], tuple[StepReport, bytes]]) -> None:
    """Call a function in this child, send the report and the record that it returns, and end the
    process.
    """
    try:
        try:
            report, content = repeat()
        except BaseException as error:
            report = StepReport([f"repeating the step failed: {text_of(error)}"], "", [], True)
            content = b""
        child.send(json.dumps(report).encode(), content)
    finally:
        os._exit(0)


def settle_in() -> None:
    """Make PyTorch fit for a forked process. The threads of OpenMP do not exist there, and waiting
    for them would not end; and a file that the program saves is the parent's.
    """
    torch.set_num_threads(1)
    torch.set_num_threads = torch.set_num_interop_threads = lambda nthreads: None
    original = torch.save

    def save(obj: Any, f: Any, *args: Any, **kwargs: Any) -> None:
        if not isinstance(f, (str, os.PathLike)):
            original(obj, f, *args, **kwargs)

    torch.save = save


def repeated(
    guard: StepGuard,
    state: State,
    fault: BadStep,
    args: Any,
    kwargs: Any,
    capsule: CapsuleWriter | None = None,
) -> tuple[StepReport, bytes]:
    lost = len(state.by_hand.lost(fault.updated))
    args = state.restore(args)
    if capsule is not None:
        capsule.begin(guard, args, kwargs)
    recorded = recording_of(guard, args, kwargs)
    repetition = Repetition(state, fault)
    result: Any = None
    failure = ""
    watch = SampleWatch(recorded, (args, kwargs))
    with recorded, watch, repetition:
        try:
            result = guard.step(*args, **kwargs)
        except NotFinite:
            pass
        except Exception as error:  # not a failure of the program, whose step has ended without it
            failure = text_of(error)
    return report_of(recorded, repetition, lost, watch, result, failure, capsule)


def recording_of(guard: StepGuard, args: Any, kwargs: Any) -> record:
    reach = guard.reach(args, kwargs)
    recorded = record(guard.level)
    recorded._env = reach.env
    recorded._main = reach.file
    return recorded


@private.modeless
def report_of(
    recorded: record,
    repetition: Repetition,
    lost: int,
    watch: SampleWatch,
    result: Any = None,
    failure: str = "",
    capsule: CapsuleWriter | None = None,
) -> tuple[StepReport, bytes]:
    """Return the report of a repetition that has ended, and the content of its record."""
    state = repetition.state
    fault = repetition.fault
    pairs = repetition.grads or copies_of(fault.parameters)
    gradients = state.numbers.gradients
    sums = set(map(id, gradients.lost)) if gradients.are_summed else set()
    alone = bool(sums) and not same(pairs, fault.wanted)
    is_same = same(pairs, fault.wanted, sums) and same_losses(result, fault.result)
    notes = differences(state, fault, lost, is_same)
    notes += [ALONE] if alone else []
    notes = [f"repeating the step failed: {failure}"] if failure else notes
    recorded._checked()
    bad = not all_finite([g for _, g in pairs if g is not None]) or not finite_losses(result)
    text = answer_of(recorded, losses_of(result)) + samples_of(recorded, watch) if bad else ""
    trace = recorded.trace()
    entry_ids = {key: number for key, (_, number) in recorded._ids.items()}
    missing = "" if capsule is None else capsule.end(recorded, result, pairs if sums else [])
    ids = [entry_ids.get(id(p)) for p in state.parameters]
    return StepReport(notes, text, ids, bool(failure), missing), file_content(trace)


class Repetition:
    """The optimisers' steps during a repetition. The parameters already have the values after the
    good updates: these are undone. The update that was bad ends the repetition.
    """

    def __init__(self, state: State, fault: BadStep) -> None:
        self.state = state
        self.fault = fault
        self.left = fault.good
        self.parameters: list[tuple[Any, Any]] = []
        self.grads: list[tuple[Any, Any]] = []  # the gradients at the end
        self.hooks = private.OptimizerHooks(self.begin, self.end)

    def __enter__(self) -> None:
        self.hooks.__enter__()

    def __exit__(self, *error: object) -> None:
        self.hooks.__exit__()

    def begin(self, optimizer: Any, args: Any, kwargs: Any) -> Any:
        if self.left:
            self.left -= 1
            self.parameters = values_of(parameters_of(optimizer))
            return None
        if not self.fault.call:
            self.leave()
        return with_closure(args, kwargs, self.closing)

    def closing(self, closure: Any) -> Any:
        """Return a closure that ends the repetition after its call, which is the one that was
        bad.
        """

        def closed(*args: Any, **kwargs: Any) -> Any:
            if self.fault.call > 1:
                private.modeless(self.state.at_call.restore)()
            closure(*args, **kwargs)
            self.leave()

        return closed

    def leave(self) -> None:
        self.grads = copies_of(self.fault.parameters)
        raise NotFinite

    def end(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        write(self.parameters)
        self.parameters = []


def with_closure(args: Any, kwargs: Any, wrapped: Any) -> Any:
    """Return an optimiser's arguments with its closure wrapped; None if it has no closure."""
    closure = kwargs.get("closure", args[1] if len(args) > 1 else None)
    if not callable(closure):
        return None
    if "closure" in kwargs:
        return args, {**kwargs, "closure": wrapped(closure)}
    return (args[0], wrapped(closure), *args[2:]), kwargs


def parameters_of(optimizer: Any) -> list[Any]:
    return [p for group in optimizer.param_groups for p in group["params"]]


# ---- the comparison


@private.modeless
def values_of(parameters: list[Any]) -> list[tuple[Any, Any]]:
    """Return parameters with copies of their values."""
    return [(p, p.detach().clone()) for p in parameters]


@private.modeless
def write(pairs: list[tuple[Any, Any]]) -> None:
    """Write values into their parameters."""
    for parameter, values in pairs:
        parameter.data.copy_(values)


@private.modeless
def copies_of(parameters: list[Any]) -> list[tuple[Any, Any]]:
    return [(p, None if p.grad is None else p.grad.detach().clone()) for p in parameters]


def differences(state: State, fault: BadStep, lost: int, is_same: bool) -> list[str]:
    """Say in what a repetition differs from its step."""
    notes = []
    gradients = state.numbers.gradients
    if gradients.lost and not gradients.are_summed:
        notes.append(
            f"{len(gradients.lost)} gradient{'s' * (len(gradients.lost) > 1)} from before this "
            "step could not be restored, since the step changed gradients for the first time; the "
            "repetition added to zeros instead"
        )
    if lost:
        notes.append(
            f"what {lost} parameter{'s were' * (lost > 1) or ' was'} before this step is not "
            "known, since the step made a change without an optimiser for the first time; the "
            "repetition computed with what came after it"
        )
    if fault.good:
        many = "1 update" if fault.good == 1 else f"{fault.good} updates"
        notes.append(f"{many} came before; the repetition computed with the parameters after that")
    if not is_same and not notes:
        notes.append(
            "the repetition gave another loss or other gradients than the step: the step depends "
            "on something that was not restored"
        )
    return notes


def same(
    grads: list[tuple[Any, Any]], wanted: list[tuple[Any, Any]], sums: Collection[int] = ()
) -> bool:
    """Whether gradients are equal; of `sums`, parameters by their ids, only the places that are not
    finite: those of a batch are where those of its sum with finite gradients are.
    """
    pairs = zip(grads, wanted, strict=True)
    return all(
        is_equal(*((places(a, b), places(b, a)) if id(p) in sums else (a, b)))
        for (p, a), (_, b) in pairs
    )


def places(grad: Any, repeated: Any) -> Any:
    """Return zeros, and NaN where a gradient is not finite; zeros like the other one if there is
    none.
    """
    if grad is not None:
        return grad.detach().to_dense() * 0
    return None if repeated is None else torch.zeros_like(repeated.detach().to_dense())


def is_equal(a: Any, b: Any) -> bool:
    """Whether two gradients are equal in all elements; NaN is equal to NaN here."""
    if a is None or b is None:
        return a is b
    if a.shape != b.shape:
        return False
    a = a.detach().to_dense()
    b = b.detach().to_dense()
    return bool(((a == b) | (a.isnan() & b.isnan())).all())


def same_losses(losses: Any, wanted: Any) -> bool:
    """Whether the losses of a repetition are those of the step, as far as both are known."""
    pairs = zip(losses_of(losses), losses_of(wanted), strict=False)
    return all(is_equal(a, b) for a, b in pairs)


def finite_losses(result: Any) -> bool:
    return all(math.isfinite(loss.item()) for loss in losses_of(result))


# ---- the answer


def answer_of(recorded: record, losses: list[Any]) -> str:
    """Return the answer of `why` for the first name whose gradient is not finite; else what made
    the first bad value; else the statistics of the recording.
    """
    from gradtrace.analysis.causes.not_finite import not_finite
    from gradtrace.analysis.facts import Facts
    from gradtrace.views import why as view
    from gradtrace.views.layout import LayoutOptions

    trace = recorded.trace()
    bad = next((t for t in trace.named if t.grad is not None and not t.grad.all_finite), None)
    if bad is not None:
        return recorded.why(bad.name)
    facts = Facts(trace)
    cause = not_finite(facts) or cause_of(recorded, facts, losses)
    return recorded.stats() if cause is None else view.text([cause], LayoutOptions())


def samples_of(recorded: record, watch: SampleWatch) -> str:
    """Name the samples of a batch that are not finite, if only some are, as lines after an answer;
    "" if none is.
    """
    from gradtrace.analysis.facts import Facts
    from gradtrace.analysis.ranks import bad_samples, samples_at

    if not watch.sizes:
        return ""
    facts = Facts(recorded.trace())
    causes = list(bad_samples(facts, watch.entries()))
    larger = watch.samples()
    if not causes and larger is not None:
        causes = [samples_at(facts, facts.tensors[larger.entry], larger.samples)]
    causes = [cause for cause in causes if cause.text]
    return "".join(
        f"\n{cause.text}{'' if cause.span is None else f' (line {cause.span.line})'}"
        for cause in causes
    )


def cause_of(recorded: record, result: Any, losses: list[Any]) -> Any:
    """Return what made the first loss that is not finite; None if that is not known. In a step
    without a backward pass `why` would speak of gradients that are None.
    """
    from gradtrace.analysis.causes.not_finite import forward_cause

    bad = next((loss for loss in losses if not math.isfinite(loss.item())), None)
    if bad is None or id(bad) not in recorded._ids:
        return None
    kind = "nan" if bool(bad.isnan()) else "inf"
    cause = forward_cause(result, recorded._name(bad), kind)
    return (
        None
        if cause is None
        else cause._replace(symptom=f"the loss is {kind}", status="nan", kind=kind)
    )


def read(content: bytes, report: StepReport, parameters: list[Any], level: str) -> record:
    """Return the child's record in the parent; the parameters can be asked about as tensors."""
    recording = record.from_bytes(content, level)
    recording.bind(parameters, report.ids)
    return recording


def decoded(text: bytes) -> StepReport:
    return StepReport(*json.loads(text))
