"""Backward passes nested in backward passes to any depth: after every NESTED levels a new thread gives a new stack.

PyTorch does the same (`MAX_DEPTH` of its engine). Only one of these threads ever runs: the others wait for it.
"""

from __future__ import annotations

import sys

from gradtrace.annotations import TYPE_CHECKING, Any
from gradtrace.engine import backward
from gradtrace.engine.state import state

if TYPE_CHECKING:
    from gradtrace.engine.backward import Root, Slot

NESTED = 20  # passes in one another on one stack: Python allows some 1,000 frames on each
RAISED = 2_000  # a recursion limit above this was raised, as the language does with its stack: it is enough


def run_backward(
    roots: list[Root],
    keep_graph: bool,
    create_graph: bool,
    wanted: list[Slot] | None = None,
    accumulate: bool = True,
) -> dict[Slot, Any]:
    """Call `backward.run_backward`, in a new thread if NESTED passes already run on this thread's stack."""
    if state.running is None or nested() % NESTED or sys.getrecursionlimit() > RAISED:
        return backward.run_backward(roots, keep_graph, create_graph, wanted, accumulate)
    import threading

    found: list[Any] = []

    def run() -> None:
        try:
            found.append(backward.run_backward(roots, keep_graph, create_graph, wanted, accumulate))
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if isinstance(found[0], BaseException):
        raise found[0]
    return found[0]


def nested() -> int:
    """Return the number of nested backward passes that are running."""
    depth, running = 0, state.running
    while running is not None:
        depth, running = depth + 1, running.outer
    return depth
