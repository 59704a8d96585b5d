"""The scopes of operator calls: the running modules, functions and loop iterations, as a chain in `state.scope`.

The innermost scope comes first. `state.scope` is set only while `state.recorder` is set.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Callable, TypeVar
from gradtrace.engine.data.state import state

T = TypeVar("T")


class Scope:
    """One call of a module or function, one loop, or one iteration of a loop.

    `kind` is "module", "function", "loop", "pass" or "backward"; `what` is the module, the function's name or the
    loop's origin; `count` is the number of iterations of a loop, or the number of this iteration.
    """

    __slots__ = ("count", "kind", "origin", "parent", "what")

    def __init__(self, parent: Scope | None, kind: str, what: Any, count: int = 0) -> None:
        self.parent = parent
        self.kind = kind
        self.what = what
        self.count = count
        self.origin = state.place()


def within(kind: str, what: object, call: Callable[..., T], *args: object, **kwargs: object) -> T:
    """Return `call(*args, **kwargs)`, run inside a new scope."""
    outer = state.scope
    state.scope = Scope(outer, kind, what)
    try:
        return call(*args, **kwargs)
    finally:
        state.scope = outer
