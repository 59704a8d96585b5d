"""torch._C: the few private names of PyTorch that libraries and its own tests of autograd use.

They query the running backward pass, make nodes that fail or drop a gradient on purpose, and access saved tensors.
"""

from __future__ import annotations

import weakref
from heapq import heappop, heappush
from math import inf

from gradtrace.annotations import Any
from gradtrace.engine import Function, Tensor, is_grad_enabled
from gradtrace.engine.calls.function import delayed_error
from gradtrace.engine.data.modes import set_multithreading_enabled
from gradtrace.engine.data.node import AccumulateGrad, Node
from gradtrace.engine.data.state import state
from gradtrace.engine.reverse.saved_hooks import OwnSavedTensor, SavedTensor

__all__ = ["is_grad_enabled"]

OUTSIDE = "{} should only be called during the backward pass"


def _current_autograd_node() -> Node | None:
    """Return the node at work in the running backward pass; None outside of one."""
    return None if state.running is None else state.running.node


def _current_graph_task_id() -> int:
    """Return the number of the running backward pass, -1 outside of one."""
    return -1 if state.running is None else int(state.running.number)


def _will_engine_execute_node(node: Node) -> bool:
    """Return whether the running pass runs this node. RuntimeError outside of a pass, or for what is not a node."""
    if not isinstance(node, Node):
        raise RuntimeError("_will_engine_execute_node expects an grad_fn, but got " + type(node).__name__)
    if state.running is None:
        raise RuntimeError("_get_should_execute_nodes: " + OUTSIDE.format("this"))
    return state.running.will_run(node)


def _current_graph_task_execution_order() -> list[Node]:
    """Return the nodes that the running pass has still to run, in their order; multithreading must be off."""
    if state.running is None:
        raise RuntimeError(OUTSIDE.format("_current_graph_task_execution_order"))
    if set_multithreading_enabled.enabled:
        raise RuntimeError(
            "get_current_graph_task_execution_order expects the current backward to be executed with multithreading "
            "disabled, e.g. by running:\n\n>>> with torch.autograd.set_multithreading_enabled(False):\n...     "
            "torch.autograd.grad(...)\n"
        )
    return remaining(state.running)


def remaining(running: Any) -> list[Node]:
    """Return the nodes that a backward pass has still to run, in order, starting with the node that runs now."""
    waiting, ready, order = dict(running.waiting), list(running.heap), []
    heappush(ready, priority(running, running.node))
    while ready:
        node = heappop(ready)[-1]
        order.append(node)
        for target in node.next:
            if target is None:
                continue
            waiting[target] -= 1
            if not waiting[target] and running.is_needed(target):
                heappush(ready, priority(running, target))
    return order


def priority(running: Any, node: Node) -> tuple[float, int, Node]:
    """Return the sort key of a node in the queue of ready nodes: leaves first, then the newest node."""
    return (-inf if node.is_accumulator else -node.seq, running.ticket(), node)


class _WeakTensorRef:
    """A weak reference to a tensor."""

    def __init__(self, tensor: Tensor) -> None:
        self._reference = weakref.ref(tensor)

    def expired(self) -> bool:
        return self._reference() is None


class _Undefined(Function):
    """The identity function, whose backward has no gradient."""

    @staticmethod
    def forward(ctx: Any, *tensors: Tensor) -> Any:
        views = tuple(t.view_as(t) for t in tensors)
        return views if len(views) > 1 else views[0]

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return (None,) * len(gradients)


class _functions:
    """Nodes that are made by hand."""

    AccumulateGrad = AccumulateGrad

    class UndefinedGrad:
        """The identity function whose backward returns None: `UndefinedGrad()(*tensors)`."""

        def __call__(self, *tensors: Tensor) -> Any:
            return _Undefined.apply(*tensors)

    class DelayedError(Node):
        """The identity function whose backward raises RuntimeError: `DelayedError(message, count)(*tensors)`."""

        def __init__(self, message: str | bytes, num_inputs: int) -> None:
            self._message = message.decode() if isinstance(message, bytes) else message

        def __call__(self, *tensors: Tensor) -> Any:
            found = delayed_error(self._message, tensors)
            return found if len(found) > 1 else found[0]


class _autograd:
    """Saved tensors and version counters."""

    SavedTensor = SavedTensor

    @staticmethod
    def _make_saved_tensor(tensor: Tensor, is_output: bool) -> OwnSavedTensor:
        return OwnSavedTensor(tensor, is_output)

    @staticmethod
    def _saved_tensors_hooks_is_enabled() -> bool:
        return state.no_saved_hooks is None

    @staticmethod
    def _unsafe_set_version_counter(tensors: tuple[Tensor, ...], versions: tuple[int, ...]) -> None:
        """Set the version of each tensor. RuntimeError for a negative one."""
        for tensor, version in zip(tensors, versions, strict=True):
            if version < 0:
                raise RuntimeError(f"Cannot set a version_counter to a value below 0: {version}")
            tensor.counter().n = version
