"""What observes a recorded run: the scopes of operator calls, and the interfaces of a watcher and of a keeper.

`state.scope` is a chain of Scopes: the running modules, functions and loop iterations, innermost first. It is set only
while `state.recorder` is set. `state.watcher`, when set, receives the other events of a run, mainly those of backward
passes. Setting it makes backward run in PyTorch's exact order and does not change results. `state.keeper`, when set,
keeps the values that are about to be overwritten.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Callable, Protocol, TypeVar
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


class Watcher(Protocol):
    """An observer of a run. It gets gradients as raw data or Tensors; it must not change anything.

    A `tensor` or `leaf` is a Tensor, a `node` is a Node: this file is below theirs.
    """

    def called(self, name: str, args: tuple[Any, ...], out: object, origin: int) -> None:
        """Called after an operator has run, by the run's recorder."""

    def begins(self, leaf: Any) -> None:
        """Called when a tensor begins to require grad."""

    def escapes(self, how: str, tensor: Any, out: Any | None) -> None:
        """Called when a value leaves the graph without an operator: by "item", "tolist", "data", "numpy", "detach_"."""

    def changes(self, how: str, tensor: Any) -> None:
        """Called when a tensor is changed without an operator. `how` says by what.

        It is "step" (of an optimiser), "data" (assigned), "frozen" (requires_grad turned off), or "cleared" or
        "assigned" for its gradient.
        """

    def optimises(self, optimiser: object, tensors: list[Any]) -> None:
        """Called when an optimiser gets tensors to update."""

    def stepped(self, optimiser: object) -> None:
        """Called after an optimiser's step()."""

    def scaled(self, optimiser: object, scale: float, skipped: bool) -> None:
        """Called when a GradScaler is about to step, or to skip the step, with its unscaled gradients."""

    def starts(self, outputs: tuple[Any, ...], vectors: object) -> None:
        """Called when backward or autograd.grad starts on these tensors, with their vectors (or None)."""

    def began(self, roots: list[Any], keep: bool, create_graph: bool, wanted: list[Any] | None, stores: bool) -> None:
        """Called when a backward pass begins at `roots`, each a (node, output number, gradient)."""

    def ended(self, error: BaseException | None) -> None:
        """Called when the backward pass has ended, with its error or None."""

    def enters(self, node: Any, gradient: object) -> None:
        """Called before the hooks and rules of a node, with its accumulated gradient (or None, or a dict by output)."""

    def hooked(self, kind: str, hook: object, before: object, after: object) -> None:
        """Called after a hook of this kind: "tensor", "pre", "post", "accumulated", or "retain" (retain_grad)."""

    def runs(self, node: Any, gradient: object) -> None:
        """Called just before the rules of a node run on `gradient`."""

    def sends(self, index: int, value: object) -> None:
        """Called when the node sends `value` along its edge `index`, in the shape and dtype of the target."""

    def leaves(self, node: Any, released: bool) -> None:
        """Called after the rules of a node; if `released`, its saved values are dropped next."""


class WriteWatcher(Protocol):
    """An observer that copies what is about to be overwritten (`trace.keeper.Keeper`)."""

    def before_write(self, tensor: Any) -> None:
        """Called before a tensor is changed in place."""

    def before_array_write(self, array: Any) -> None:
        """Called before an array that a tensor may share is changed in place."""

    def passed(self, roots: list[Any], stores: bool) -> None:
        """Called when a backward pass begins at `roots`, each a (node, output number, gradient)."""

    def stepped(self, optimiser: object) -> None:
        """Called after an optimiser has updated its parameters."""


def within(kind: str, what: object, call: Callable[..., T], *args: object, **kwargs: object) -> T:
    """Return `call(*args, **kwargs)`, run inside a new scope."""
    outer = state.scope
    state.scope = Scope(outer, kind, what)
    try:
        return call(*args, **kwargs)
    finally:
        state.scope = outer
