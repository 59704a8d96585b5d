"""Call hooks during backward: a tensor's hooks before its node runs, a node's hooks before and
after it runs.

A pass carries gradients as raw data, or as Tensors when it is recorded; hooks always get Tensors.
The result of a hook is checked as in PyTorch: a hook may change the values of a gradient, not its
size or type.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any, Callable
from gradtrace.engine.data.node import AccumulateGrad, Hooks, Node
from gradtrace.engine.data.state import state
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.operators.op import records

if TYPE_CHECKING:
    from gradtrace.engine.data.dtypes import dtype
    from gradtrace.engine.data.gradient_types import Gradient, NodeGradient
    from gradtrace.engine.data.types import Hook


def as_tensor(gradient: Gradient) -> Tensor:
    return gradient if isinstance(gradient, Tensor) else Tensor._wrap(gradient)


def own_copy(gradient: Gradient) -> Tensor:
    return as_tensor(gradient if isinstance(gradient, (Tensor, float)) else gradient.copy())


# ---- hooks of tensors


def tensor_hooks(node: Node, gradient: Any) -> Any:
    """Run the hooks of a node's output tensors, store gradients for retain_grad, and return the
    gradient.
    """
    if isinstance(node, AccumulateGrad):
        extra = node.variable._x
        hooks = extra.hooks if extra is not None else None
        return call_tensor_hooks(hooks, gradient) if hooks else gradient
    assert node.hooks is not None
    if node.outputs == 1:
        return one_tensor_hooks(node.hooks, 0, gradient)
    # hooks see None for what has no gradient
    slots = dict.fromkeys(node.hooks.tensor_pre) | (gradient or {})
    gradients = {number: one_tensor_hooks(node.hooks, number, g) for number, g in slots.items()}
    return {number: g for number, g in gradients.items() if g is not None} or None


def one_tensor_hooks(hooks: Hooks, number: int, gradient: Gradient) -> Gradient:
    if number in hooks.tensor_pre:
        gradient = call_tensor_hooks(hooks.tensor_pre[number], gradient)
    if number in hooks.retains and gradient is not None:
        tensor = hooks.retains[number]()
        if tensor is not None:
            extra = tensor.extra()
            first = extra.grad is None
            kept = (
                records["clone"](gradient)
                if first and isinstance(gradient, Tensor)
                else own_copy(gradient)
            )
            extra.grad = kept if first else extra.grad + kept
            state.watcher.hooked("retain", "retain_grad", None, gradient)
    return gradient


def call_tensor_hooks(hooks: dict[int, Hook], gradient: Gradient) -> Gradient:
    for hook in list(hooks.values()):
        current = gradient if gradient is None else as_tensor(gradient)
        returned = hook(current)
        answer = current if returned is None else returned
        check_hook_result(hook, current, answer)
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
    traced = any(
        isinstance(g, Tensor)
        for g in (gradient.values() if type(gradient) is dict else (gradient,))
    )
    if hooks.pre:
        gradient = gradient_from(node, incoming, traced)
    results = list(apply(node, gradient))
    places = range(len(results)) if node.shown is None else node.shown
    outgoing = tuple(None if results[i] is None else as_tensor(results[i]) for i in places)
    for hook in list(hooks.post.values()):
        outgoing = checked("post", hook, outgoing, hook(outgoing, incoming))
    for i, r in zip(places, outgoing, strict=True):
        results[i] = r if r is None or traced else r._data
    return tuple(results)


def gradients_of(node: Node, gradient: Any) -> tuple[Tensor | None, ...]:
    """Return the incoming gradients as Tensors, one for each output."""
    if node.outputs == 1:
        return (None if gradient is None else as_tensor(gradient),)
    slots = gradient or {}
    return tuple(as_tensor(slots[i]) if i in slots else None for i in range(counted_outputs(node)))


def counted_outputs(node: Node) -> int:
    """Return the number of a node's outputs that can have a gradient: all but indices, which come
    last.
    """
    some = None if node.op is None else node.op.differentiable
    return len(node.shape) if some is None else max(some) + 1


def gradient_from(node: Node, incoming: tuple[Tensor | None, ...], traced: bool) -> NodeGradient:
    raw = [g if g is None or traced else g._data for g in incoming]
    return raw[0] if node.outputs == 1 else {i: g for i, g in enumerate(raw) if g is not None}


def checked(kind: str, hook: Hook, old: tuple[Any, ...], new: object) -> tuple[Any, ...]:
    """Return the result of a node hook, or `old` if it returned None; TypeError or RuntimeError if
    it is invalid.
    """
    state.watcher.hooked(kind, hook, old, old if new is None else new)
    return old if new is None else check_hook_results(hook, old, new)


# ---- what hooks return


def check_hook_result(hook: Hook, before: Tensor, after: object) -> None:
    """Raise TypeError or RuntimeError if a hook's result is not a tensor of the same type and
    size.
    """
    if after is before:
        return
    if before is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    if not isinstance(after, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(after).__name__}'")
    if after.dtype is not before.dtype:
        raise RuntimeError(
            f"hook '{hook_name(hook)}' has changed the type of value (was "
            f"{type_name(before.dtype)} got {type_name(after.dtype)})"
        )
    if after.shape != before.shape:
        raise RuntimeError(f"hook '{hook_name(hook)}' has changed the size of value")


def check_hook_results(hook: Hook, old: tuple[Any, ...], new: object) -> tuple[Any, ...]:
    """Return the result of a node's hook as a tuple; raise an error if it cannot replace the
    gradients `old`.
    """
    if not isinstance(new, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(new).__name__}'")
    if len(new) != len(old):
        raise RuntimeError(
            f"hook '{hook_name(hook)}' has returned an incorrect number of values (got {len(new)}, "
            f"but expected {len(old)})"
        )
    for before, after in zip(old, new, strict=True):
        if after is None:
            continue
        if before is None:
            raise RuntimeError("can't replace a None gradient with a non-None value")
        check_hook_result(hook, before, after)
    return new


def hook_name(hook: Hook) -> str:
    return getattr(hook, "__name__", "<unknown>")


def type_name(dtype: dtype) -> str:
    return f"torch.{dtype.scalar_type}Tensor"
