"""Call hooks during backward: a tensor's hooks before its node runs, a node's hooks before and after it runs.

A pass carries gradients as raw data, or as Tensors when it is recorded; hooks always get Tensors. The result of a hook
is checked as in PyTorch: a hook may change the values of a gradient, not its size or type.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any, Callable
from gradtrace.engine.checks import check_hook_result, check_hook_results
from gradtrace.engine.node import AccumulateGrad, Hooks, Node
from gradtrace.engine.op import records
from gradtrace.engine.state import state
from gradtrace.engine.tensor import Tensor

if TYPE_CHECKING:
    from gradtrace.engine.types import Gradient, Hook, NodeGradient


def as_tensor(gradient: Gradient) -> Tensor:
    return gradient if isinstance(gradient, Tensor) else Tensor._wrap(gradient)


def own_copy(gradient: Gradient) -> Tensor:
    return as_tensor(gradient if isinstance(gradient, (Tensor, float)) else gradient.copy())


# ---- hooks of tensors


def tensor_hooks(node: Node, gradient: Any) -> Any:
    """Run the hooks of a node's output tensors, store gradients for retain_grad, and return the gradient."""
    if isinstance(node, AccumulateGrad):
        extra = node.variable._x
        hooks = extra.hooks if extra is not None else None
        return call_tensor_hooks(hooks, gradient) if hooks else gradient
    assert node.hooks is not None
    if node.outputs == 1:
        return one_tensor_hooks(node.hooks, 0, gradient)
    slots = dict.fromkeys(node.hooks.tensor_pre) | (gradient or {})  # hooks see None for what has no gradient
    found = {number: one_tensor_hooks(node.hooks, number, g) for number, g in slots.items()}
    return {number: g for number, g in found.items() if g is not None} or None


def one_tensor_hooks(hooks: Hooks, number: int, gradient: Gradient) -> Gradient:
    if number in hooks.tensor_pre:
        gradient = call_tensor_hooks(hooks.tensor_pre[number], gradient)
    if number in hooks.retains and gradient is not None:
        tensor = hooks.retains[number]()
        if tensor is not None:
            extra = tensor.extra()
            first = extra.grad is None
            kept = records["clone"](gradient) if first and isinstance(gradient, Tensor) else own_copy(gradient)
            extra.grad = kept if first else extra.grad + kept
            if state.watcher is not None:
                state.watcher.hooked("retain", None, None, gradient)
    return gradient


def call_tensor_hooks(hooks: dict[int, Hook], gradient: Gradient) -> Gradient:
    for hook in list(hooks.values()):
        current = gradient if gradient is None else as_tensor(gradient)
        returned = hook(current)
        answer = current if returned is None else returned
        check_hook_result(hook, current, answer)
        if state.watcher is not None:
            state.watcher.hooked("tensor", hook, current, answer)
        gradient = answer if answer is None or isinstance(gradient, Tensor) else answer._data
    return gradient


# ---- hooks of nodes


def node_hooks(
    node: Node, hooks: Hooks, gradient: NodeGradient, apply: Callable[[Node, Any], Any]
) -> tuple[Gradient | None, ...]:
    """Run a node with its pre hooks before it and its post hooks after it."""
    incoming = gradients_of(node, gradient)
    for hook in list(hooks.pre.values()):
        incoming = checked("pre", hook, incoming, hook(incoming))
    traced = any(isinstance(g, Tensor) for g in (gradient.values() if type(gradient) is dict else (gradient,)))
    if hooks.pre:
        gradient = gradient_from(node, incoming, traced)
    outgoing = tuple(None if r is None else as_tensor(r) for r in apply(node, gradient))
    for hook in list(hooks.post.values()):
        outgoing = checked("post", hook, outgoing, hook(outgoing, incoming))
    return tuple(None if r is None else r if traced else r._data for r in outgoing)


def gradients_of(node: Node, gradient: Any) -> tuple[Tensor | None, ...]:
    """Return the incoming gradients as Tensors, one for each output."""
    if node.outputs == 1:
        return (None if gradient is None else as_tensor(gradient),)
    slots = gradient or {}
    return tuple(as_tensor(slots[i]) if i in slots else None for i in range(counted_outputs(node)))


def counted_outputs(node: Node) -> int:
    """Return the number of a node's outputs that can have a gradient: all but indices, which come last."""
    some = None if node.op is None else node.op.differentiable
    return len(node.shape) if some is None else max(some) + 1


def gradient_from(node: Node, incoming: tuple[Tensor | None, ...], traced: bool) -> NodeGradient:
    raw = [g if g is None or traced else g._data for g in incoming]
    return raw[0] if node.outputs == 1 else {i: g for i, g in enumerate(raw) if g is not None}


def checked(kind: str, hook: Hook, old: tuple[Any, ...], new: object) -> tuple[Any, ...]:
    """Return the result of a node hook, or `old` if it returned None; TypeError or RuntimeError if it is invalid."""
    if state.watcher is not None:
        state.watcher.hooked(kind, hook, old, old if new is None else new)
    return old if new is None else check_hook_results(hook, old, new)
