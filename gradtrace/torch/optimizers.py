"""Record the parameters of each optimiser, and its number of steps."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from gradtrace.torch import private
from gradtrace.torch.sharded import whole
from gradtrace.trace import events

if TYPE_CHECKING:
    from gradtrace.torch.recorder import Recorder


class Held(events.Held):
    """One optimiser. Its tensors are read at each step, since the program may add some."""

    def __init__(self, optimizer: Any, origin: int) -> None:
        super().__init__(optimizer, origin)
        self.end: tuple[int, int, int] | None = None  # of its last step, as in `Recorder.steps`
        self.ref = weakref.ref(optimizer)
        self.refs: list[weakref.ref[Any]] = []  # to its tensors; `tensors` has those in the record

    def read(self, optimizer: Any) -> None:
        """Note the tensors that the optimiser holds now."""
        groups = optimizer.param_groups
        self.refs = [weakref.ref(parameter) for group in groups for parameter in group["params"]]
        self.count = len(self.refs)
        rate = groups[0].get("lr") if groups else None
        if self.lr is None and isinstance(rate, (int, float)):
            self.lr = float(rate)
        if groups and not self.options:
            self.read_options(groups[0])


def watched_init(rec: Recorder, original: Any) -> Any:
    """Return an Optimizer.__init__ that notes where the program made the optimiser."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        with private.without_torch_function(), private.without_torch_dispatch():
            try:
                note(rec, self, rec.places.here_and_lead(2)).read(self)
            except Exception as error:
                rec.problem(f"an optimiser ({type(error).__name__})")

    return __init__


def note(rec: Recorder, optimizer: Any, origin: int = 0) -> Held:
    """Return the notes about an optimiser; if it was made before the recording, they begin with its
    first step.
    """
    notes = rec.optimisers.get(id(optimizer))
    if notes is None or notes.ref() is not optimizer:
        notes = rec.optimisers[id(optimizer)] = Held(optimizer, origin)
    return notes


def stepped(rec: Recorder, optimizer: Any, end: tuple[int, int, int], idle: bool) -> bool:
    """Count a step, which is idle if no tensor has a gradient. Return whether it ends an iteration:
    of several optimisers that take their steps in a row at one place, only the first one's does.
    """
    held = note(rec, optimizer)
    is_first = held.end == end or end not in rec.steps[-1:]
    held.end = end
    held.read(optimizer)
    held.add_step(optimizer, end[2], idle)
    return is_first


def end(rec: Recorder) -> None:
    """Find the optimisers' tensors in the record, while they exist."""
    for held in rec.optimisers.values():
        tensors = [whole(rec, tensor) for ref in held.refs if (tensor := ref()) is not None]
        held.tensors = [
            identity.last for identity in map(rec.find, tensors) if identity is not None
        ]
