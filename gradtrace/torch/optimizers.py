"""Record the parameters of each optimiser, and its number of steps."""

from __future__ import annotations

import weakref
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Any

from gradtrace.torch import private
from gradtrace.torch.sharded import whole
from gradtrace.trace import events
from gradtrace.trace.events import HeldGroup, options_of, rate_of

if TYPE_CHECKING:
    from gradtrace.torch.recorder import Recorder


class Held(events.Held):
    """One optimiser. Its tensors are read at each step, since the program may add some."""

    def __init__(self, optimizer: Any, origin: int) -> None:
        super().__init__(optimizer, origin)
        self.end: tuple[int, int, int] | None = None  # of its last step, as in `Recorder.steps`
        self.ref = weakref.ref(optimizer)
        # to its tensors; the groups have those in the record
        self.refs: list[weakref.ref[Any]] = []
        self.ids: list[int] = []  # of its tensors at its last step
        self.identities: list[Any] = []  # then; None for a tensor that was not recorded

    def read(self, optimizer: Any) -> None:
        """Note the tensors that the optimiser holds now."""
        groups = optimizer.param_groups
        self.refs = [weakref.ref(parameter) for group in groups for parameter in group["params"]]
        self.count = len(self.refs)
        self.groups += map(HeldGroup, groups[len(self.groups) :])
        for held, group in zip(self.groups, groups, strict=False):
            held.count = len(group["params"])
        if self.lr is None and groups:
            self.lr = rate_of(groups[0])
        if groups and not self.options:
            self.options = options_of(groups[0])


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
    if notes is not None and notes.ref() is not optimizer:  # of one that is gone
        rec.optimisers[-len(rec.optimisers)] = notes
        notes = None
    if notes is None:
        rec.frame_variables.forget()
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
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    ids = list(map(id, parameters))
    if ids != held.ids:
        held.ids = ids
        held.identities = [rec.find(whole(rec, parameter)) for parameter in parameters]
    held.add_step(optimizer, (rec.at, rec.turns, idle, end[2]))
    return is_first


def end(rec: Recorder) -> None:
    """Find the optimisers' tensors in the record; those that are gone by their last step."""
    for held in rec.optimisers.values():
        tensors = zip_longest((ref() for ref in held.refs), held.identities)
        for group in held.groups:
            identities = [
                former if tensor is None else rec.find(whole(rec, tensor))
                for tensor, former in islice(tensors, group.count)
            ]
            group.tensors = [identity.last for identity in identities if identity is not None]
