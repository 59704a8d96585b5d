"""What a recorded run notes beside its operator calls: where in the program each was called, and each backward step.

`state.scope` is a chain of Scopes: the modules, functions and loop passes that are being run, innermost first. It is
kept only while `state.recorder` is set. `state.watcher`, when set, is told what else happens, above all every backward
pass node by node; setting it makes backward run in PyTorch's exact order, and changes no result.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Callable, Protocol, TypeVar
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
    """Who looks on at a run. Gradients are raw data or Tensors; it copies what it keeps, and changes nothing."""

    def called(self, name: str, args: tuple[Any, ...], out: Any, origin: int) -> None:
        """An operator has run (told by the language's recorder)."""

    def begins(self, leaf: Any) -> None:
        """A tensor begins to require grad."""

    def escapes(self, how: str, tensor: Any, out: Any) -> None:
        """A value leaves the graph without an operator: by "item", "tolist", "data", "numpy", "detach_"."""

    def changes(self, how: str, tensor: Any) -> None:
        """A tensor is changed without an operator: by a "step" of an optimiser, "data" set, "frozen" (its requires_grad
        is turned off); or its gradient is "cleared" or "assigned"."""

    def starts(self, outputs: tuple[Any, ...], vectors: Any) -> None:
        """backward or autograd.grad is called on these tensors, with their vectors (or None)."""

    def began(self, roots: list[Any], keep: bool, create_graph: bool, wanted: list[Any] | None, stores: bool) -> None:
        """A backward pass begins at `roots` of (node, output number, gradient)."""

    def ended(self, error: BaseException | None) -> None:
        """It is over, by an error or not."""

    def enters(self, node: Any, gradient: Any) -> None:
        """A node's turn has come; `gradient` is what has gathered for it (None, or a dict by output number)."""

    def hooked(self, kind: str, hook: Any, before: Any, after: Any) -> None:
        """A hook has run: "tensor", "pre", "post", "accumulated" (after), or "retain": the gradient was kept."""

    def runs(self, node: Any, gradient: Any) -> None:
        """The node's rules are about to run on `gradient`."""

    def sends(self, index: int, value: Any) -> None:
        """The node sends `value` along its edge `index`, in the shape and dtype in which it arrives."""

    def leaves(self, node: Any, released: bool) -> None:
        """Its turn is over; with `released` what it had saved is about to be dropped."""


def within(kind: str, what: Any, call: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    """`call(*args, **kwargs)` with one more scope around it."""
    outer = state.scope
    state.scope = Scope(outer, kind, what)
    try:
        return call(*args, **kwargs)
    finally:
        state.scope = outer
