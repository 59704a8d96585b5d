"""`grad_fn(*gradients)`, which computes one node's derivative outside of a backward pass, and `_input_metadata`."""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any
from gradtrace.engine.backward import run_rules
from gradtrace.engine.describe import Size, device
from gradtrace.engine.dtypes import float64, from_np
from gradtrace.engine.hooks import as_tensor
from gradtrace.engine.node import Node, named
from gradtrace.engine.state import state, using
from gradtrace.engine.tensor import Tensor

if TYPE_CHECKING:
    from gradtrace.engine.types import NumpyDtype, Shape


class InputMetadata:
    """The shape, dtype and device that a node expects of the gradient of one of its outputs."""

    is_nested_tensor = is_cpp_nested_tensor = False

    def __init__(self, shape: Shape, dtype: NumpyDtype | None) -> None:
        self.shape = Size(shape)
        self.dtype = float64 if dtype is None else from_np(dtype)
        self.device = device("cpu")

    def __repr__(self) -> str:
        return f"<torch._C._autograd._InputMetadata object at {id(self):#x}>"


def input_metadata(node: Node) -> tuple[InputMetadata, ...]:
    """Return the value of `grad_fn._input_metadata`: an InputMetadata for each output."""
    several = type(node.shape) is list
    pairs = zip(node.shape, node.dtype, strict=True) if several else ((node.shape, node.dtype),)
    return tuple(InputMetadata(shape, dtype) for shape, dtype in pairs)


def call_node(node: Node, gradients: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Return a tuple of the gradient (or None) of each input; for a single input, the gradient itself.

    TypeError for a wrong number of gradients, or for one that is neither a tensor nor None.
    """
    if options:
        raise TypeError("keyword arguments are not supported")
    several = type(node.shape) is list
    count = len(node.shape) if several else 1
    if len(gradients) != count:
        raise TypeError(f"expected {count} arguments, got {len(gradients)} instead")
    for number, gradient in enumerate(gradients):
        if gradient is not None and not isinstance(gradient, Tensor):
            raise TypeError(f"argument {number} is not a Variable")
    if all(gradient is None for gradient in gradients):
        found: Any = [None] * len(node.next)
    else:
        found = results(named(node), gradients, several)
    return found[0] if len(found) == 1 else tuple(found)


def results(node: Node, gradients: tuple[Any, ...], several: bool) -> list[Any]:
    given: Any = gradients[0]
    if several:
        given = {number: g for number, g in enumerate(gradients) if g is not None}
    if node.op is None:
        with using(grad_enabled=state.grad_enabled):
            return list(node.derive(given))
    found = run_rules(node, given)
    return [None if g is None or target is None else as_tensor(g) for g, target in zip(found, node.next, strict=True)]
