"""What a recorded run notes beside its operator calls: where in the program each was called, and each backward step.

`state.scope` is a chain of Scopes: the modules, functions and loop passes that are being run, innermost first. It is
kept only while `state.recorder` is set. `state.watcher`, when set, sees every backward pass node by node; setting it
makes backward run in PyTorch's exact order, and changes no result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from gradtrace.engine.state import state

T = TypeVar("T")


class Scope:
    """One call of a module or function, one loop, or one pass of a loop.

    `kind` is "module", "function", "loop", "pass" or "backward"; `what` is the module, the function's name or the
    loop's origin; `count` is how many passes a loop has made, and of a pass which it is.
    """

    __slots__ = ("count", "kind", "origin", "parent", "what")

    def __init__(self, parent: Scope | None, kind: str, what: Any, count: int = 0) -> None:
        self.parent = parent
        self.kind = kind
        self.what = what
        self.count = count
        self.origin = state.origin


class Watcher(Protocol):
    """Who looks on at backward."""

    def begin(self) -> None:
        """A pass begins."""

    def step(self, node: Any, gradient: Any, results: Any, freed: bool) -> None:
        """`node` got `gradient` and sends `results`, one for each of its edges; its saved values go if `freed`.

        It is called before they go.
        """


def within(kind: str, what: Any, call: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    """`call(*args, **kwargs)` with one more scope around it."""
    outer = state.scope
    state.scope = Scope(outer, kind, what)
    try:
        return call(*args, **kwargs)
    finally:
        state.scope = outer
