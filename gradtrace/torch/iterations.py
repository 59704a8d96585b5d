"""The steps of a training loop in a recording.

A step ends with an update by an optimiser or, where none is used, with a backward pass. What the program calls after
that in the same iteration (an update by hand, a metric) belongs to the step too. A recording has no marks for
iterations, so they are found from the places of the calls: within the loop around the end of a step, a place further up
in the code means that the next iteration has begun.
"""

from __future__ import annotations

import dis
from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from gradtrace.torch.recorder import Recorder

EVERYWHERE = (0, 1 << 62)


class End(NamedTuple):
    """An update or a pass: how many calls and passes came before its end, and its place."""

    calls: int
    passes: int
    place: int


class Iteration(NamedTuple):
    """The calls and passes of a step, each as a range (first, end), and the place that ends it."""

    calls: tuple[int, int]
    passes: tuple[int, int]
    place: int


def iterations(rec: Recorder) -> list[Iteration]:
    """Return the steps of a training loop: between two updates, else between two passes from one place."""
    updates = repeated([End(*one) for one in rec.steps])
    passes = [End(one.until, one.number + 1, one.origin) for one in rec.passes if one.stores]
    ends = updates or separate(rec, repeated(passes))
    if len(ends) < 2:
        return []
    loop = Loop(rec, ends[0].place)
    found: list[Iteration] = []
    done = before = 0
    for one, following in zip(ends, [*ends[1:], End(len(rec.calls), len(rec.passes), 0)], strict=True):
        first = loop.start(done, one.calls)
        done = loop.end(one.calls, following.calls)
        until = len(rec.passes) if len(found) + 1 == len(ends) else one.passes
        found.append(Iteration((first, done), (before, until), one.place))
        before = until
    return found


def repeated(ends: list[End]) -> list[End]:
    """Return the updates or passes that end a step: of several places, the last one reached before the first
    repeats.
    """
    seen: list[int] = []
    for one in ends:
        if one.place in seen:
            return [each for each in ends if each.place == seen[-1]]
        seen.append(one.place)
    return []


def separate(rec: Recorder, ends: list[End]) -> list[End]:
    """Return the passes; [] if two of them began at one tensor: passes over one graph are not steps of a training
    loop.
    """
    roots = [entry.number for one in ends for entry in rec.passes[one.passes - 1].roots]
    return ends if len(set(roots)) == len(roots) else []


class Loop:
    """The loop around a place; where there is none, the whole function."""

    def __init__(self, rec: Recorder, place: int) -> None:
        self.rec = rec
        self.code, self.at = rec.places.instruction(place)
        around = [(low, high) for low, high in loops(self.code) if low <= self.at <= high]
        self.first, self.last = min(around, key=lambda one: one[1] - one[0], default=EVERYWHERE)
        self.inner = [one for one in loops(self.code) if one not in around]
        self.keys = [self.key(call.origin, call.scope) for call in rec.calls]
        self.updating = {id(one.call) for one in rec.changes if one.call is not None and is_update(one)}
        others = [(one.until, one.origin) for one in rec.passes]
        others += [(one.after, one.origin) for one in rec.changes] + [
            (after, place) for _, _, after, place, _ in rec.escapes
        ]
        outside = [i + 1 for i, key in enumerate(self.keys) if self.is_outside(key)]
        outside += [after for after, place in others if self.is_outside(self.key(place, None))]
        self.outside = sorted(outside)  # how many calls came before the end of what ran outside the loop

    def start(self, done: int, end: int) -> int:
        """Return the first call of an iteration that ends its step before the call `end`: after what ran outside."""
        before = bisect_left(self.outside, end)
        return max(done, self.outside[before - 1]) if before else done

    def end(self, first: int, limit: int) -> int:
        """Return the end of an iteration whose step ended before the call `first`."""
        last, before, i = first, self.at, first
        for i in range(first, limit):
            key = self.keys[i]
            if key is not None and (key < before or self.is_outside(key)):
                break
            if key is not None:
                last, before = i + 1, key
        else:
            i = limit
        # of calls in other functions, those up to the last update belong to this iteration
        for number in range(last, i):
            call = self.rec.calls[number]
            if call.fn is not None:
                break
            if id(call) in self.updating:
                last = number + 1
        return last

    def key(self, place: int, scope: int | None) -> int | None:
        """Return the instruction at which the loop's code makes a call, perhaps through modules; None if it does so
        through a function. All of an inner loop counts as its first instruction.
        """
        code, at = self.rec.places.instruction(place)
        while code is not self.code and scope is not None:
            outer = self.rec.scopes[scope]
            (code, at), scope = self.rec.places.instruction(outer.origin), outer.parent
        if code is not self.code:
            return None
        return min([at, *(low for low, high in self.inner if low <= at <= high)])

    def is_outside(self, key: int | None) -> bool:
        return key is not None and not self.first <= key <= self.last


def loops(code: Any) -> Sequence[tuple[int, int]]:
    """Return the first and the last instruction of each loop in a code object."""
    if code is None:
        return ()
    jumps = [one for one in dis.get_instructions(code) if one.opcode in dis.hasjrel and one.argval < one.offset]
    return [(one.argval, one.offset) for one in jumps]


def is_update(change: Any) -> bool:
    """Whether a write changes a gradient, or a leaf that requires one."""
    return change.of_grad or any(known.last.is_leaf and known.last.requires_grad for known in change.tensors)
