"""The steps of a training loop in a run.

A step lies between two updates by one optimiser or, where no optimiser is used, between two
backward passes that one source line calls on different graphs. If each update or pass ran in its
own iteration of a loop, the step is that iteration. A run with a single update or pass has no
steps.
"""

from __future__ import annotations

from gradtrace.annotations import Any, NamedTuple, Sequence, TypeVar
from gradtrace.engine.data.state import Scope
from gradtrace.trace.keeper import Keeper, Mark

T = TypeVar("T", bound=Any)


class StepCalls(NamedTuple):
    """The recorded calls and the passes of a step, each as a range (first, end)."""

    calls: tuple[int, int]
    passes: tuple[int, int]
    origin: int  # of the update or the pass that ends it
    variables: str


def steps_of(keeper: Keeper, scopes: Sequence[Scope | None]) -> list[StepCalls]:
    """Return the steps of a run; `scopes` has the scope of each recorded call."""
    updates = repeated(keeper.updates)
    ends = updates
    if not updates and not accumulate(keeper.updates, len(keeper.passes)):
        ends = separate(repeated([mark for mark in keeper.passes if mark.stores]))
    if len(ends) < 2:
        return []
    iterations = [
        iteration(mark.scope, keeper.passes[mark.passes - 1 : mark.passes]) for mark in ends
    ]
    spans = by_iteration(iterations, scopes) or between(ends)
    steps = []
    done = 0
    for mark, inner, calls in zip(ends, iterations, spans, strict=True):
        until = mark.passes + (not updates)
        if mark is ends[-1]:
            until = max(until, sum(pass_mark.calls <= calls[1] for pass_mark in keeper.passes))
        loop = None if inner is None else inner.parent
        between_loops = [
            i for i in range(done, until - 1) if not is_within(keeper.passes[i].scope, loop)
        ]
        first = between_loops[-1] + 1 if between_loops else done
        variables = ", ".join(filter(None, (s.counter for s in reversed(chain_of(inner)))))
        steps.append(StepCalls(calls, (first, until), mark.origin, variables))
        done = until
    return steps


def is_within(scope: Any, loop: Scope | None) -> bool:
    """Whether a scope is in a loop; always if there is none."""
    while scope is not None and scope is not loop:
        scope = scope.parent
    return scope is loop or loop is None


def repeated(marks: list[T]) -> list[T]:
    """Return the updates or passes that end the steps, of those that have an `origin`."""
    place = ending_place([mark.origin for mark in marks])
    return [mark for mark in marks if mark.origin == place]


def accumulate(updates: Sequence[Any], passes: int) -> bool:
    """Whether all passes of a run came before its updates, for which they add up gradients."""
    return bool(updates) and updates[0].passes >= passes


def ending_place(places: Sequence[int]) -> int | None:
    """Return the place whose updates end the steps: of several optimisers, that of the last one
    called before the first is called again, or of one that is called less often in between (a GAN's
    generator). None if no place repeats.
    """
    seen: list[int] = []
    for place in places:
        if place in seen:
            break
        seen.append(place)
    else:
        return None
    until = max(i for i, place in enumerate(places) if place == seen[-1])
    rarer = [
        place
        for place in dict.fromkeys(places[:until])
        if place not in seen and places.count(place) > 1
    ]
    return rarer[-1] if rarer else seen[-1]


def separate(passes: list[Mark]) -> list[Mark]:
    """Return the passes; [] if two of them began at one node, since passes over one graph are not
    steps of a training loop.
    """
    roots = [id(node) for mark in passes for node, _ in mark.roots or ()]
    return passes if len(set(roots)) == len(roots) else []


def iteration(scope: Any, passes: Sequence[Mark] = ()) -> Scope | None:
    """Return the innermost iteration of a loop that contains `scope` and the last of the passes; if
    none contains the pass, the innermost one. A loop that only calls the optimisers' steps is not
    the training loop.
    """
    around = [ancestor for ancestor in chain_of(scope) if ancestor.kind == "pass"]
    ran = {id(ancestor) for ancestor in chain_of(passes[-1].scope)} if passes else set()
    return next(
        (ancestor for ancestor in around if id(ancestor) in ran), around[0] if around else None
    )


def chain_of(scope: Any) -> list[Scope]:
    """Return a scope and the scopes around it, innermost first."""
    chain = []
    while scope is not None:
        chain.append(scope)
        scope = scope.parent
    return chain


def between(ends: list[Mark]) -> list[tuple[int, int]]:
    """Return the range of calls of each step, from the end of the step before."""
    return [
        (start, mark.calls)
        for start, mark in zip([0, *(mark.calls for mark in ends)], ends, strict=False)
    ]


def by_iteration(
    iterations: list[Scope | None], scopes: Sequence[Scope | None]
) -> list[tuple[int, int]]:
    """Return the range of calls in each iteration; [] if the iterations are not one for each
    step.
    """
    if None in iterations or len({id(inner) for inner in iterations}) < len(iterations):
        return []
    number = {id(inner): i for i, inner in enumerate(iterations)}
    step_by_scope: dict[int, int | None] = {}  # by scope: which step it is part of
    calls_by_step: list[list[int]] = [[] for _ in iterations]
    for call, scope in enumerate(scopes):
        step = step_of(scope, number, step_by_scope)
        if step is not None:
            calls_by_step[step].append(call)
    spans = []
    done = 0
    for calls in calls_by_step:
        spans.append((calls[0], calls[-1] + 1) if calls else (done, done))
        done = spans[-1][1]
    return spans


def step_of(scope: Any, number: dict[int, int], steps: dict[int, int | None]) -> int | None:
    """Return the step that a call in this scope is part of."""
    chain = []
    while scope is not None and id(scope) not in steps:
        if id(scope) in number:
            steps[id(scope)] = number[id(scope)]
            break
        chain.append(scope)
        scope = scope.parent
    step = None if scope is None else steps[id(scope)]
    for inner in chain:
        steps[id(inner)] = step
    return step
