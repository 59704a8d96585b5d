"""The capsule of a step that somebody has asked for, while a guard is at work: by
`gt.capsule("now")` or a signal.

The process itself writes it, not a copy as after a bad step: so it also works on a GPU and in
distributed training.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any

import torch

from gradtrace.torch import private
from gradtrace.torch.capsule import asking, numbers, sums_of
from gradtrace.torch.capsule_file import Tensors, write
from gradtrace.torch.guard_capsule import CapsuleFile, failure, state_of
from gradtrace.torch.recording import name_for, rank
from gradtrace.torch.repetition import with_closure

if TYPE_CHECKING:
    from gradtrace.torch.guard import StepGuard


class Roots:
    """A context that notes the single numbers of which gradients are computed, as texts with all
    their bits.
    """

    def __init__(self) -> None:
        self.values: list[str] = []

    def __enter__(self) -> None:
        self.original = getattr(torch.autograd, private.ENGINE)

        @private.modeless
        def note_roots(outputs: Any) -> None:
            for root in roots_among(outputs):
                self.note(root)

        @functools.wraps(self.original)
        def noted(outputs: Any, *args: Any, **kwargs: Any) -> Any:
            with suppress(Exception):  # a tensor in a transform has no number
                note_roots(outputs)
            return self.original(outputs, *args, **kwargs)

        setattr(torch.autograd, private.ENGINE, noted)

    def __exit__(self, *error: object) -> None:
        setattr(torch.autograd, private.ENGINE, self.original)

    def note(self, root: Any) -> None:
        self.values.append(float(root.detach()).hex())


def roots_among(outputs: Any) -> list[Any]:
    """Return the single real numbers among the roots of a backward pass, which may also be edges of
    the graph.
    """
    roots = (outputs,) if isinstance(outputs, torch.Tensor) else outputs
    return [
        root
        for root in roots
        if isinstance(root, torch.Tensor) and root.dim() == 0 and not root.is_complex()
    ]


class ScaledSteps:
    """A context in which the steps of GradScalers call a function before they divide the gradients
    by the scale.
    """

    def __init__(self, before: Callable[[], None]) -> None:
        self.before = before

    def __enter__(self) -> None:
        self.original = torch.amp.GradScaler.step
        before = self.before
        original = self.original

        @functools.wraps(original)
        def step(scaler: Any, *args: Any, **kwargs: Any) -> Any:
            if scaler.is_enabled():
                before()
            return original(scaler, *args, **kwargs)

        torch.amp.GradScaler.step = step  # type: ignore[method-assign, assignment]

    def __exit__(self, *error: object) -> None:
        torch.amp.GradScaler.step = self.original  # type: ignore[method-assign]


class AskedCapsule:
    """A context for one call of a guarded step, whose capsule is written when it ends. `result` is
    what it returned.
    """

    def __init__(self, guard: StepGuard, args: Any, kwargs: Any) -> None:
        asking.is_waiting = False
        self.guard = guard
        self.args = args
        self.kwargs = kwargs
        self.result: Any = None
        self.reason = ""  # why there is none
        self.file: CapsuleFile | None = None
        self.document: dict[str, Any] = {}
        self.tensors = Tensors()
        self.model: Any = None
        self.sums: dict[str, str] = {}  # of the gradients before the first update
        self.roots = Roots()
        self.replaced = ExitStack()

    def __enter__(self) -> AskedCapsule:
        try:
            self.replaced.callback(self.drop)
            self.attempt(self.begin)
            self.replaced.enter_context(private.OptimizerHooks(self.before_update))
            self.replaced.enter_context(self.roots)
            self.replaced.enter_context(ScaledSteps(lambda: self.attempt(self.note)))
            return self
        except BaseException:
            self.replaced.close()
            raise

    def __exit__(self, kind: Any, error: Any, tb: Any) -> None:
        with self.replaced:  # a file that has its name by then is not dropped
            if error is not None:
                cause = (
                    "the loop was left in it"
                    if kind is GeneratorExit
                    else f"it ended with {kind.__name__}"
                )
                self.reason = self.reason or cause
            self.attempt(self.write)
        if self.reason:
            self.guard.write([f"no capsule of this step was written, since {self.reason}"])

    def drop(self) -> None:
        if self.file is not None:
            self.file.drop()

    def attempt(self, work: Callable[[], None]) -> None:
        """Call a function unless one before it has failed; the training goes on without a
        capsule.
        """
        self.reason = self.reason or failure(work)

    def begin(self) -> None:
        guard = self.guard
        self.file = CapsuleFile(guard.folder or ".", name_for(guard.label(), rank()))
        self.document, parts = state_of(guard, self.tensors, self.args, self.kwargs, self.file)
        self.model = parts.model

    def before_update(self, optimizer: Any, args: Any, kwargs: Any) -> Any:
        """Note the gradients that an update will use; if it has a closure, they exist only after
        that.
        """
        replaced = with_closure(args, kwargs, self.noting)
        if replaced is None:
            self.attempt(self.note)
        return replaced

    def noting(self, closure: Any) -> Any:
        def closed(*args: Any, **kwargs: Any) -> Any:
            loss = closure(*args, **kwargs)
            self.attempt(self.note)
            return loss

        return closed

    def note(self) -> None:
        if self.model is not None and not self.sums:
            self.sums = sums_of(self.model, {})

    def write(self) -> None:
        assert self.file is not None
        self.note()
        self.document.update(
            gradient_sums=self.sums, roots=self.roots.values, results=numbers(self.result)
        )
        write(self.document, self.tensors, self.file.stream)
        self.guard.write([self.file.keep()])
