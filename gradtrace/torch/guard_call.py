"""One call of a guarded step: what is checked in it, and what happens after a check has failed."""

from __future__ import annotations

import functools
import math
import sys
import time
import weakref
from typing import TYPE_CHECKING, Any

import torch

from gradtrace.torch import private, repetition
from gradtrace.torch.finite import all_finite, facts, losses_of
from gradtrace.torch.guard_capsule import CapsuleFile, CapsuleWriter
from gradtrace.torch.guard_losses import StepLosses
from gradtrace.torch.passes import text_of
from gradtrace.torch.reach import Reach, is_drawn_from, is_pool
from gradtrace.torch.repetition import BadStep, NotFinite, parameters_of, with_closure
from gradtrace.torch.state import State

if TYPE_CHECKING:
    from gradtrace.torch.forked import Child
    from gradtrace.torch.guard import StepGuard

# the parent waits for the child so long, and so many times as long as the step took
SECONDS, TIMES = 60, 20


class WatchedCall:
    """One call of a guarded step: the optimisers' steps in it, whose gradients are checked before
    each.
    """

    def __init__(self, guard: StepGuard, before: State, args: Any, kwargs: Any) -> None:
        self.guard = guard
        self.before = before
        self.args = args
        self.kwargs = kwargs
        self.begun = 0.0
        self.good = 0  # updates with finite gradients
        self.updated: set[int] = set()  # their parameters, by id
        # by id of a gradient that was finite: its weak reference and version
        self.finite: dict[int, Any] = {}
        self.fault: Any = None
        self.child: Child | None = None  # in the child: itself
        self.capsule: CapsuleWriter | None = None  # in the child
        self.losses = StepLosses(guard.levels)

    def run(self) -> Any:
        self.before.save((*self.args, *self.kwargs.values()))
        self.begun = time.monotonic()
        with private.OptimizerHooks(self.check), self.losses:
            result = self.guard.step(*self.args, **self.kwargs)
        if self.fault is None:
            self.check_end(result)
        return result

    # ---- checks

    def check(self, optimizer: Any, args: Any, kwargs: Any) -> Any:
        """Check the gradients that an update will use; if it has a closure, they exist only after
        that.
        """
        if self.child is not None:  # the program's handlers have caught the exception
            raise NotFinite
        parameters = parameters_of(optimizer)
        good = self.good
        replaced = None
        if self.fault is None:
            replaced = with_closure(args, kwargs, functools.partial(self.checked, parameters, good))
            # its GradScaler looks for infinite gradients
            is_scaled = hasattr(optimizer, "found_inf")
            if replaced is not None or self.check_gradients(
                [] if is_scaled else parameters, good, 0
            ):
                self.good += 1
        self.updated.update(map(id, parameters))
        return replaced

    def checked(self, parameters: list[Any], good: int, closure: Any) -> Any:
        """Return a closure after which the gradients are checked. LBFGS calls it several times in a
        step.
        """
        calls = 0

        def closed(*args: Any, **kwargs: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls > 1 and self.fault is None:
                self.before.at_call.save([])
            loss = closure(*args, **kwargs)
            if self.fault is None:
                self.check_gradients(parameters, good, calls)
            return loss

        return closed

    @private.modeless
    def check_gradients(self, parameters: list[Any], good: int, call: int) -> bool:
        grads = [g for p in parameters if (g := p.grad) is not None]
        if not all_finite(grads):
            self.report(BadStep("a gradient is not finite", parameters, self.updated, good, call))
            return False
        self.finite.update(
            zip(map(id, grads), zip(map(weakref.ref, grads), private.versions_of(grads)))
        )
        if call > 1:
            self.losses.judged = len(self.losses.losses)
        else:
            self.check_losses(parameters, good, call)
        return True

    def check_losses(
        self, parameters: list[Any], good: int, call: int = 0, result: Any = None
    ) -> None:
        """Check that no loss since the last time is far above those of the steps before."""
        problem = self.losses.far()
        if problem:
            self.report(
                BadStep(problem, parameters, self.updated, good, call, result, is_finite=True)
            )

    @private.modeless
    def check_end(self, result: Any) -> None:
        """Check the losses, the gradients that no check before an update has seen, and updates
        without an optimiser.
        """
        before = self.before
        parameters = self.before.checked()
        problem = ""
        if not all(math.isfinite(loss.item()) for loss in losses_of(result)):
            problem = "the loss is not finite"
        # a GradScaler looks for infinite gradients itself, and skips the update
        elif not before.numbers.scalers and not all_finite(self.unseen(parameters)):
            problem = "a gradient is not finite"
        elif not all_finite([p.detach() for p in before.by_hand.changing.values()]):
            problem = "a parameter is not finite"
        if problem:
            self.report(BadStep(problem, parameters, self.updated, self.good, result=result))
        elif not self.updated:  # else the state before the update is not known any more
            self.check_losses(parameters, self.good, result=result)

    def unseen(self, parameters: list[Any]) -> list[Any]:
        """Return the gradients of parameters that no check before an update has seen as they are
        now.
        """
        grads = [g for p in parameters if (g := p.grad) is not None]
        if not self.finite:
            return grads
        versions = private.versions_of(grads)
        nothing: Any = (None, -1)  # no tensor has this version
        checks = [self.finite.get(id(g), nothing) for g in grads]
        return [
            g
            for g, now, (ref, then) in zip(grads, versions, checks)
            if now != then or ref() is not g
        ]

    # ---- the answer

    def report(self, fault: BadStep) -> None:
        """Have the step repeated. A failure of that is not one of the program."""
        self.fault = fault
        self.guard.left -= not fault.is_finite
        try:
            self.ask_child(fault)
        except Exception as error:
            self.guard.tell([], f"{fault.problem}; looking for the reason failed: {text_of(error)}")
        if fault.is_finite and self.child is None:
            self.fault = None  # the step is good so far, and its rest is checked

    def ask_child(self, fault: BadStep) -> None:
        """Fork, and print the child's answer. The child goes on to repeat the step."""
        guard = self.guard
        reach = guard.reach(self.args, self.kwargs)
        remark = "" if fault.is_finite else facts(fault.result, reach.named_parameters())
        remark = remark and f" What is known without it: {remark}."
        reason = hindrance(reach) or self.unreadable()
        file = None
        missing = "it was not repeated"
        child = None
        if not reason:
            file, missing = self.capsule_file()
            try:
                child = forked().fork(-1 if file is None else file.stream.fileno())
            except OSError as error:
                reason = missing = f"the process cannot fork ({error})"
        if child is not None and not child.pid:
            self.child = child
            self.prepare_repetition(fault, file)
            return
        try:
            if child is None:
                guard.tell(
                    [], f"{fault.problem}; this step was not repeated, since {reason}.{remark}"
                )
            else:
                missing = self.receive(child, fault.problem, remark) or missing
            self.end_capsule(file, missing)
        finally:
            if file is not None:
                file.drop()

    def unreadable(self) -> str:
        """Say which generator's state cannot be restored; "" if each one's can."""
        generator = self.before.numbers.unreadable or self.before.at_call.unreadable
        return (
            generator and f"the state of a generator of random numbers cannot be read ({generator})"
        )

    def capsule_file(self) -> tuple[CapsuleFile | None, str]:
        """Return the file for a capsule, if one is wanted, or why there is none."""
        if self.guard.folder is None:
            return None, ""
        try:
            return CapsuleFile(self.guard.folder, self.guard.label()), ""
        except OSError as error:
            return None, text_of(error)

    def end_capsule(self, file: CapsuleFile | None, missing: str) -> None:
        """Say where the capsule is that a child has written, or why there is none."""
        if self.guard.folder is None:
            return
        told = f"no capsule of this step was written, since {missing}"
        if file is not None and not missing:
            try:
                told = file.keep()
            except OSError as error:
                told = f"no capsule of this step was written, since {text_of(error)}"
        self.guard.write([told])

    def prepare_repetition(self, fault: BadStep, file: CapsuleFile | None) -> None:
        """Leave the step, in the child; it is repeated when it has ended."""
        try:
            self.keep_fault(fault, file)
        finally:
            raise NotFinite  # also after an error, for the child must not go on with the training

    def keep_fault(self, fault: BadStep, file: CapsuleFile | None) -> None:
        """Keep what the repetition is compared with."""
        repetition.settle_in()
        self.fault = fault._replace(wanted=repetition.copies_of(fault.parameters))
        self.before.numbers.gradients.note_lost()
        if file is not None:
            pairs = [*repetition.copies_of(self.before.parameters), *self.fault.wanted]
            self.capsule = CapsuleWriter(file, {id(p): grad for p, grad in pairs})
            if fault.good or fault.call > 1:
                self.capsule.reason = "an update came before the bad one in it"

    def receive(self, child: Child, problem: str, remark: str) -> str:
        """Print the answer of a child, and keep its record; return why no capsule was written."""
        guard = self.guard
        limit = SECONDS + TIMES * (time.monotonic() - self.begun)
        try:
            answer = child.receive(limit)
            ending = "ended early"
        except TimeoutError:
            answer = None
            ending = (
                f"gave no answer within {limit:.0f} s; a lock of another thread may be the reason"
            )
        if answer is None:
            guard.tell(
                [], f"{problem}; repeating this step in a copy of the process {ending}.{remark}"
            )
            return f"the repetition {ending}"
        report = repetition.decoded(answer[0])
        if answer[1]:
            guard.recorded = repetition.read(answer[1], report, self.before.parameters, guard.level)
        end = "without success" if report.failed else "where everything was finite"
        remark = f":\n{report.answer}" if report.answer else f", {end}.{remark}"
        guard.tell(report.notes, f"{problem}; this step was repeated under a recorder{remark}")
        return report.no_capsule


def forked() -> Any:
    """Return the module that forks; it is imported when it is needed, for Windows does not have
    what it imports.
    """
    from gradtrace.torch import forked

    return forked


def hindrance(reach: Reach) -> str:
    """Say why a step cannot be repeated in a forked child; "" if it can."""
    if sys.platform != "linux":
        return "this system cannot copy a process with its threads"
    kind = private.accelerator()
    if kind:
        return (
            f"PyTorch can use {kind} here, and its threads for that are lost in a copy of the "
            "process"
        )
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return "a process of a distributed training cannot be copied"
    device = next(
        (leaf.device.type for leaf in reach.leaves() if not (leaf.is_cpu or leaf.is_meta)), ""
    )
    if device:
        return f"it computes on {device}, which a copy of the process cannot use"
    pool = reach.named_one(is_pool)
    if pool:
        return f"it uses the threads of {pool}, which are lost in a copy of the process"
    iterator = reach.named_one(is_drawn_from)
    return (
        f"it takes values from {iterator}, which is an iterator and cannot be copied"
        if iterator
        else ""
    )
