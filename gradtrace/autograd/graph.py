"""torch.autograd.graph: hooks on saved tensors, hooks on several gradients, and the types of nodes
and edges.

https://pytorch.org/docs/stable/autograd.html#torch.autograd.graph
"""

from __future__ import annotations

from gradtrace.annotations import Any, Callable, Iterable, Sequence
from gradtrace.engine.data.node import GradientEdge, RemovableHandle
from gradtrace.engine.data.node import Node as EngineNode
from gradtrace.engine.data.state import state, using
from gradtrace.engine.data.tensor import Tensor, gradient_edge
from gradtrace.lazy_names import attach

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",  # noqa: F822 - loaded when used
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]

MODES = ("all", "any")


class _NodesAreInstances(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, EngineNode)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return subclass is cls or issubclass(subclass, EngineNode)


class Node(metaclass=_NodesAreInstances):
    """The abstract class of all grad_fns, for isinstance and issubclass; no grad_fn inherits from
    it.
    """


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Return the edge that receives the gradient of `tensor`; RuntimeError if it does not require
    grad.
    """
    if not tensor.requires_grad:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require "
            "gradients"
        )
    node = gradient_edge(tensor)
    assert node is not None
    return GradientEdge(node, tensor._nr)


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Increment the version of one or several tensors that were changed in place without autograd's
    knowledge.
    """
    for target in (tensor,) if isinstance(tensor, Tensor) else tensor:
        if not target.is_inference():
            target.counter().n += 1


class _unsafe_preserve_version_counter:
    """Context after which the version counters of tensors are what they were: changes inside go
    unnoticed.
    """

    def __init__(self, tensors: Tensor | tuple[Tensor, ...]) -> None:
        self.tensors = (tensors,) if isinstance(tensors, Tensor) else tensors
        self.versions = [t._version for t in self.tensors]

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        for tensor, version in zip(self.tensors, self.versions, strict=True):
            tensor.counter().n = version


class saved_tensors_hooks:
    """Context manager: for each tensor saved for backward, store `pack_hook(tensor)` instead of the
    tensor.

    When the saved tensor is read, `unpack_hook` must turn the stored object into a tensor of the
    same content. If such contexts are nested, only the innermost is used.
    """

    def __init__(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]
    ) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        if state.no_saved_hooks is not None:
            raise RuntimeError(state.no_saved_hooks)
        state.set(saved_hooks=(*state.saved_hooks, (self.pack_hook, self.unpack_hook)))

    def __exit__(self, *exc: object) -> None:
        state.set(saved_hooks=state.saved_hooks[:-1])


class save_on_cpu(saved_tensors_hooks):
    """Context manager that stores saved tensors on the CPU. All tensors are there already, so it
    has no effect.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(
            lambda tensor: (tensor.device, tensor.cpu()), lambda packed: packed[1].to(packed[0])
        )


class disable_saved_tensors_hooks:
    """Context manager inside which entering `saved_tensors_hooks` raises a RuntimeError with this
    message.
    """

    def __init__(self, error_message: str) -> None:
        self.error_message = error_message

    def __enter__(self) -> None:
        if state.saved_hooks:
            raise RuntimeError(self.error_message)
        self._modes = using(no_saved_hooks=self.error_message)
        self._modes.__enter__()

    def __exit__(self, *exc: object) -> None:
        self._modes.__exit__(*exc)


class MultiHandle(RemovableHandle):
    """A handle that removes several hooks at once."""

    def __init__(self, handles: tuple[RemovableHandle, ...]) -> None:
        self.handles = handles

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[..., None], *, mode: str = "all"
) -> RemovableHandle:
    """Call `fn` once in each backward pass that computes gradients of `tensors`.

    With mode "all", call `fn(gradients)` when the last of these gradients is computed, with None
    for tensors that get none. With mode "any", call `fn(gradient)` with the first one computed.
    ValueError for another mode.
    """
    if mode not in MODES:
        raise ValueError(f"Expects mode to be one of {MODES} but got {mode}")
    if mode == "any":
        hook = first_of_pass(fn)
        return MultiHandle(tuple(t.register_hook(hook) for t in tensors if t.requires_grad))
    gather = Gather(fn, [gradient_edge(t) for t in tensors])
    return MultiHandle(tuple(t.register_hook(gather.hook(i)) for i, t in enumerate(tensors)))


def first_of_pass(fn: Callable[..., None]) -> Callable[[Tensor], None]:
    """Return a hook that calls `fn` with the first gradient that it gets in each backward pass."""
    last_pass: int | None = None

    def hook(gradient: Tensor) -> None:
        nonlocal last_pass
        if last_pass != state.running.number:
            last_pass = state.running.number
            fn(gradient)

    return hook


class Gather:
    """A collector of the gradients of several tensors; it calls `fn` when a backward pass has
    computed all of them.
    """

    def __init__(self, fn: Callable[..., None], nodes: list[EngineNode | None]) -> None:
        self.fn = fn
        self.nodes = nodes
        # The gradients of each pass, by the number of the pass and the index of the tensor.
        self.gradients: dict[int, dict[int, Tensor]] = {}

    def hook(self, index: int) -> Callable[[Tensor], None]:
        """Return the hook of tensor `index`."""

        def hook(gradient: Tensor) -> None:
            running = state.running
            gradients = self.gradients.setdefault(running.number, {})
            gradients[index] = gradient
            expected = sum(node is not None and running.will_run(node) for node in self.nodes)
            if len(gradients) == expected:
                self.fn([gradients.get(i) for i in range(len(self.nodes))])
                del self.gradients[running.number]

        return hook


# Loaded when used, because its module imports this one.
__getattr__, _names = attach(
    __name__,
    {"allow_mutation_on_saved_tensors": "gradtrace.autograd.mutation"},
    shown_as="torch.autograd.graph",
)
