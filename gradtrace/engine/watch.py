"""The scopes of operator calls in a recorded run, and the interface of observers of backward passes.

`state.scope` is a chain of Scopes: the running modules, functions and loop iterations, innermost first. It is set only
while `state.recorder` is. `state.watcher`, when set, receives other events, above all those of every node in a backward
pass. Setting it makes backward run in PyTorch's exact order and does not change results.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any, Callable, Protocol, TypeVar
from gradtrace.engine.state import state

if TYPE_CHECKING:
    from gradtrace.engine.node import Node
    from gradtrace.engine.tensor import Tensor

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
        self.origin = state.origin


class Watcher(Protocol):
    """An observer of a run. Gradients are raw data or Tensors. It copies what it keeps and changes nothing."""

    def called(self, name: str, args: tuple[Any, ...], out: object, origin: int) -> None:
        """An operator has run (told by the language's recorder)."""

    def begins(self, leaf: Tensor) -> None:
        """Called when a tensor begins to require grad."""

    def escapes(self, how: str, tensor: Tensor, out: Tensor | None) -> None:
        """A value leaves the graph without an operator: by "item", "tolist", "data", "numpy", "detach_"."""

    def changes(self, how: str, tensor: Tensor) -> None:
        """A tensor is changed without an operator: by a "step" of an optimiser, "data" set, "frozen" (its requires_grad
        is turned off); or its gradient is "cleared" or "assigned"."""

    def optimises(self, optimiser: object, tensors: list[Tensor]) -> None:
        """An optimiser has been given tensors to update."""

    def stepped(self, optimiser: object) -> None:
        """An optimiser's step() has run."""

    def starts(self, outputs: tuple[Any, ...], vectors: object) -> None:
        """Called when backward or autograd.grad starts on these tensors, with their vectors (or None)."""

    def began(self, roots: list[Any], keep: bool, create_graph: bool, wanted: list[Any] | None, stores: bool) -> None:
        """A backward pass begins at `roots` of (node, output number, gradient)."""

    def ended(self, error: BaseException | None) -> None:
        """The backward pass has ended, with this error or without one."""

    def enters(self, node: Node, gradient: object) -> None:
        """A node is next; `gradient` is its accumulated gradient (None, or a dict by output number)."""

    def hooked(self, kind: str, hook: object, before: object, after: object) -> None:
        """A hook has run: "tensor", "pre", "post", "accumulated" (after), or "retain": the gradient was kept."""

    def runs(self, node: Node, gradient: object) -> None:
        """The node's rules are about to run on `gradient`."""

    def sends(self, index: int, value: object) -> None:
        """The node sends `value` along its edge `index`, in the shape and dtype in which it arrives."""

    def leaves(self, node: Node, released: bool) -> None:
        """The node is done; if `released`, its saved values are about to be dropped."""


def within(kind: str, what: object, call: Callable[..., T], *args: object, **kwargs: object) -> T:
    """Return `call(*args, **kwargs)`, run inside a new scope."""
    outer = state.scope
    state.scope = Scope(outer, kind, what)
    try:
        return call(*args, **kwargs)
    finally:
        state.scope = outer
