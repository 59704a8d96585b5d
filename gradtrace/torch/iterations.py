"""The steps of a training loop in a recording.

A step ends with an update by an optimiser or, where none is used, with a backward pass. What the
program calls after that in the same iteration (an update by hand, a metric) belongs to the step
too. A recording has no marks for iterations, so they are found from the places of the calls: within
the loop around the end of a step, an earlier instruction means that the next iteration has begun.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from gradtrace.program import syntax as ast
from gradtrace.program.instrument import counter_of
from gradtrace.torch.places import is_hidden, is_installed, text_of
from gradtrace.trace.frame_variables import OPTIMIZED, local_variables, reads_own_variables
from gradtrace.trace.labels import tree_of
from gradtrace.trace.training import StepCalls, accumulate, repeated

if TYPE_CHECKING:
    from gradtrace.torch.recorder import Recorder

LOOPS = (ast.For, ast.AsyncFor, ast.While)
REPEATING = (*LOOPS, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
Position = tuple[int, int]  # line and column
Span = tuple[Position, Position]


class End(NamedTuple):
    """An update or a pass that ends a step: how many calls and passes there are up to its end, and
    its place.
    """

    calls: int
    passes: int
    origin: int


def iterations(rec: Recorder) -> list[StepCalls]:
    """Return the steps of a training loop: between two updates, else between two passes from one
    place, unless all of these add up for one update; [] if fewer than two such ends were recorded.
    """
    passing = [
        End(event.until, i, event.origin) for i, event in enumerate(rec.passes, 1) if event.stores
    ]
    updates = [End(*step) for step in rec.steps]
    ends = repeated(updates)
    if not ends and not accumulate(updates, len(rec.passes)):
        ends = separate(rec, repeated(passing))
    if not ends:
        return []
    loop = Loop(rec, ends[0].origin)
    steps: list[StepCalls] = []
    done = passes = 0
    for end, following in zip(ends, [*ends[1:], None], strict=True):
        limit = len(rec.calls) if following is None else following.calls
        last = loop.end(end.calls, limit)
        until = end.passes if following else sum(event.at <= last for event in rec.passes)
        first = loop.start(done, end.calls, range(passes, until))
        passes += (
            sum(event.until <= first for event in rec.passes[passes : end.passes - 1])
            if first > done
            else 0
        )
        counters = [event.counters for event in rec.passes[passes:until] if event.stores]
        variables = counters[-1] if counters else ""
        steps.append(StepCalls((first, last), (passes, until), end.origin, variables))
        done = last
        passes = until
    return steps


def loop_variables(frame: Any) -> str:
    """Return the integers that the loops around the places of a call stack count by, outermost
    first: "epoch=0, i=3".
    """
    texts: list[str] = []
    while frame is not None:
        code = frame.f_code
        names = counter_names(code, frame.f_lasti) if is_own(code.co_filename) else ()
        if names and not reads_own_variables(code):
            variables = local_variables(frame) if code.co_flags & OPTIMIZED else frame.f_globals
            texts[:0] = [
                f"{name}={variables[name]}" for name in names if type(variables.get(name)) is int
            ]
        frame = frame.f_back
    return ", ".join(texts)


def is_own(name: str) -> bool:
    """Whether a file is the program's own."""
    return not (is_hidden(name) or is_installed(name))


@lru_cache(maxsize=256)
def counter_names(code: Any, at: int) -> list[str]:
    """Return the variables of the `for` loops around an instruction, outermost first."""
    mark = as_span([*code.co_positions()][at // 2])
    tree = None if mark is None else tree_of(text_of(code.co_filename))
    if mark is None or tree is None:
        return []
    loops = [n for n in ast.walk(tree) if isinstance(n, ast.For) and contains(n, mark)]
    return [name for loop in loops if (name := counter_of(loop)) is not None]


def separate(rec: Recorder, ends: list[End]) -> list[End]:
    """Return the passes; [] if two of them began at one tensor: passes over one graph are not steps
    of a training loop.
    """
    roots = [entry.id for end in ends for entry in rec.passes[end.passes - 1].roots]
    return ends if len(set(roots)) == len(roots) else []


class Loop:
    """The loop around a place; where there is none, the whole function."""

    def __init__(self, rec: Recorder, place: int) -> None:
        self.rec = rec
        self.code, self.at = rec.places.instruction(place)
        passes = map(rec.places.instruction, dict.fromkeys(event.origin for event in rec.passes))
        self.text = LoopText(self.code, self.at, [at for code, at in passes if code is self.code])
        self.keys = [self.key(call.origin, call.scope) for call in rec.calls]
        # calls that update leaves, and the number of the first record of one of these
        self.updating = {
            id(change.call): first_of(change)
            for change in rec.changed
            if change.call is not None and is_update(change)
        }
        others = [(event.until, event.origin) for event in rec.passes] + [
            (change.at, change.origin) for change in rec.changed
        ]
        others += [(escape.at, escape.origin) for escape in rec.escaped]
        outside = [i + 1 for i, key in enumerate(self.keys) if key == OUTSIDE]
        outside += [after for after, place in others if self.key(place, None) == OUTSIDE]
        # how many calls came before the end of what ran outside the loop
        self.outside = sorted(outside)

    def start(self, done: int, end: int, passes: range) -> int:
        """Return the first call of the iteration whose step ends before the call `end`. What ran
        outside the loop before it is left out; so are calls in other functions on which the step's
        passes do not depend.
        """
        before = bisect_left(self.outside, end)
        first = max(done, self.outside[before - 1]) if before else done
        own = next((i for i in range(first, end) if self.keys[i] is not None), end)
        return min([own, *(i for i in self.needed(passes, first) if i < own)])

    def needed(self, passes: range, first: int) -> set[int]:
        """Return the calls from `first` on that the results at which passes begin were computed
        by.
        """
        waiting = [entry for number in passes for entry in self.rec.passes[number].roots]
        calls: set[int] = set()
        while waiting:
            call = waiting.pop().call
            if call is not None and call.id >= first and call.id not in calls:
                calls.add(call.id)
                waiting += call.inputs.values()
        return calls

    def end(self, first: int, limit: int) -> int:
        """Return the end of an iteration whose step ended before the call `first`."""
        last = first
        before = self.at
        i = first
        for i in range(first, limit):
            key = self.keys[i]
            if key is not None and key < before:  # also OUTSIDE
                break
            if key is not None:
                last = i + 1
                before = key
        else:
            i = limit
        # of calls in other functions, those up to the last update of what was there before belong
        # to this iteration
        latest = self.rec.calls[first - 1].outputs[-1].id if first else 0
        for number in range(last, i):
            call = self.rec.calls[number]
            if call.fn is not None:
                break
            if self.updating.get(id(call), latest) < latest:
                last = number + 1
        return last

    def key(self, place: int, scope: Any) -> int | None:
        """Return the offset of the instruction at which the loop's code makes a call, itself or by
        calling a module; OUTSIDE if this is not in the loop, None if the call is made in another
        function.
        """
        code, at = self.rec.places.instruction(place)
        while code is not self.code and scope is not None:
            (code, at), scope = self.rec.places.instruction(scope.origin), scope.parent
        return self.text.key(at) if code is self.code else None


OUTSIDE = -2
START = -1  # of an iteration


class LoopText:
    """The text of the innermost loop around an instruction, or of its function. A loop that has
    none of the backward passes in the same function is not the one: `for optimizer in optimizers:
    optimizer.step()`.

    The jumps in the bytecode would not do: from Python 3.12 on, handlers of exceptions jump back
    too.
    """

    def __init__(self, code: Any, at: int, passes: list[int]) -> None:
        self.spans: list[Any] = [] if code is None else list(code.co_positions())
        self.keys: dict[int, int] = {}
        self.loop: Any = None
        self.inner: list[tuple[Span, int]] = []  # loops inside it, with their first instructions
        mark = self.span(at)
        tree = None if mark is None else tree_of(text_of(code.co_filename))
        if mark is None or tree is None:
            return
        around = [
            node
            for node in ast.walk(tree)
            if isinstance(node, LOOPS + FUNCTIONS) and contains(node, mark)
        ]
        runs = [span for place in passes if (span := self.span(place)) is not None and span != mark]
        full = [
            node
            for node in around
            if isinstance(node, LOOPS) and any(contains(node, span) for span in runs)
        ]
        innermost = max(full or around, key=start_of, default=None)
        self.loop = innermost if isinstance(innermost, LOOPS) else None
        for node in ast.walk(tree if innermost is None else innermost):
            if isinstance(node, REPEATING) and not contains(node, mark):
                inside = [
                    2 * i
                    for i, span in enumerate(map(as_span, self.spans))
                    if span and contains(node, span)
                ]
                self.inner += [(span_of(node), min(inside))] if inside else []

    def span(self, at: int) -> Span | None:
        return as_span(self.spans[at // 2]) if at // 2 < len(self.spans) else None

    def key(self, at: int) -> int:
        """Return the instruction's offset, as a place in the order of an iteration. All of an inner
        loop counts as its first instruction, the test of a `while` and the header of a `for` as the
        start.
        """
        offset = self.keys.get(at)
        if offset is None:
            offset = self.keys[at] = self._key(at)
        return offset

    def _key(self, at: int) -> int:
        span = self.span(at)
        if span is None:
            return at
        if self.loop is not None:
            if not contains(self.loop, span) or any(
                contains(node, span) for node in self.loop.orelse
            ):
                return OUTSIDE
            if contains(
                self.loop.test if isinstance(self.loop, ast.While) else self.loop.iter, span
            ):
                return START
        return min(
            [
                at,
                *(first for (low, high), first in self.inner if low <= span[0] and span[1] <= high),
            ]
        )


def as_span(positions: Any) -> Span | None:
    line, end_line, column, end_column = positions
    return None if line is None or column is None else ((line, column), (end_line, end_column))


def span_of(node: Any) -> Span:
    return (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)


def start_of(node: Any) -> Position:
    return node.lineno, node.col_offset


def contains(node: Any, span: Span) -> bool:
    low, high = span_of(node)
    return low <= span[0] and span[1] <= high


def first_of(change: Any) -> int:
    numbers: list[int] = [identity.first.id for identity in change.tensors]
    return min(numbers)


def is_update(change: Any) -> bool:
    """Whether a write changes a gradient, or a leaf that requires one."""
    return change.of_grad or any(
        identity.last.is_leaf and identity.last.requires_grad for identity in change.tensors
    )
