"""`backward` and `grad`, with every parameter that PyTorch's functions have; `grad_fn(*gradients)`
of one node.

https://pytorch.org/docs/stable/generated/torch.autograd.backward.html
https://pytorch.org/docs/stable/generated/torch.autograd.grad.html
"""

from __future__ import annotations

import math

from gradtrace.annotations import TYPE_CHECKING, Any, Iterable, Mapping, TypeVar
from gradtrace.engine.data.describe import Size, device
from gradtrace.engine.data.dtypes import float64, from_np
from gradtrace.engine.data.higher import higher
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.node import Edge, GradientEdge, Node, named
from gradtrace.engine.data.state import state, using
from gradtrace.engine.data.tensor import Tensor, gradient_edge
from gradtrace.engine.operators.namespace import TRACED
from gradtrace.engine.reverse.backward import run_backward
from gradtrace.engine.reverse.evaluate import run_rules
from gradtrace.engine.reverse.hooks import as_tensor, own_copy

if TYPE_CHECKING:
    from typing import overload

    from gradtrace.engine.data.gradient_types import Gradient, Inputs, Outputs, Vectors
    from gradtrace.engine.data.types import NumpyDtype, Shape

Key = TypeVar("Key")

CREATE_GRAPH_WARNING = (
    "Using backward() with create_graph=True will create a reference cycle between the parameter "
    "and its gradient which can cause a memory leak. We recommend using autograd.grad when "
    "creating the graph to avoid this. If you have to use this function, make sure to reset the "
    ".grad fields of your parameters to None after use to break the cycle and avoid the leak."
)
INSIDE_TRANSFORM = (
    "backward() called inside a functorch transform. This is not supported, please use "
    "functorch.grad or functorch.vjp instead or call backward() outside of functorch transforms."
)
NO_HISTORY = "element {} of tensors does not require grad and does not have a grad_fn"


def backward(
    tensors: Outputs,
    grad_tensors: Vectors = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Vectors = None,
    inputs: Inputs | None = None,
) -> None:
    """Add the gradients of `tensors` to the leaves they depend on (or to `inputs` only).

    `grad_tensors` are the vectors of the vector-Jacobian product, each with the shape of its
    tensor; None means 1 for a tensor of one element and raises RuntimeError for any other. Values
    saved for backward are freed unless `retain_graph` (default: `create_graph`). RuntimeError, with
    PyTorch's words, if the graph cannot be differentiated.
    """
    if state.levels:
        raise RuntimeError(INSIDE_TRANSFORM)
    if grad_variables is not None:
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to "
                "`backward()`. Please only use `grad_tensors`."
            )
        import warnings

        warnings.warn(
            "`grad_variables` is deprecated. Use `grad_tensors` instead.",
            FutureWarning,
            stacklevel=2,
        )
        grad_tensors = grad_variables
    targets = (
        None
        if inputs is None
        else as_tuple(inputs.values() if isinstance(inputs, Mapping) else inputs)
    )
    if targets == ():
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    outputs = as_tuple(tensors)
    if create_graph:
        import warnings

        warnings.warn(CREATE_GRAPH_WARNING, UserWarning, stacklevel=3)
    state.watcher.starts(outputs, grad_tensors)
    keep = create_graph or state.planning if retain_graph is None else retain_graph
    roots = root_gradients(outputs, grad_tensors, create_graph)
    wanted = None if targets is None else [input_slot(t, accumulate=True) for t in targets]
    run_backward(
        roots, keep, create_graph, None if wanted is None else [w for w in wanted if w is not None]
    )


if TYPE_CHECKING:

    @overload
    def grad(
        outputs: Outputs,
        inputs: dict[Key, Tensor],
        grad_outputs: Vectors = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        only_inputs: bool = True,
        allow_unused: bool | None = None,
        is_grads_batched: bool = False,
        materialize_grads: bool = False,
    ) -> dict[Key, Tensor]: ...

    @overload
    def grad(
        outputs: Outputs,
        inputs: Outputs,
        grad_outputs: Vectors = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        only_inputs: bool = True,
        allow_unused: bool | None = None,
        is_grads_batched: bool = False,
        materialize_grads: bool = False,
    ) -> tuple[Tensor, ...]: ...


def grad(
    outputs: Outputs,
    inputs: Any,
    grad_outputs: Vectors = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """Return the gradients of `outputs` with respect to `inputs` as a tuple, without changing any
    `.grad`.

    If the outputs do not depend on an input, raise RuntimeError, unless `allow_unused` (its
    gradient is None) or `materialize_grads` (zeros) is set. If `inputs` is a dict, return a dict.
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
            "allow_unused=False."
        )
    allow_unused = materialize_grads if allow_unused is None else allow_unused
    targets = as_tuple(inputs.values() if type(inputs) is dict else inputs)
    if not targets:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    state.watcher.starts(as_tuple(outputs), grad_outputs)
    keep = create_graph if retain_graph is None else retain_graph
    if is_grads_batched:
        check_batch(as_tuple(outputs), as_tuple(grad_outputs))
        results = batched(
            as_tuple(outputs), targets, as_tuple(grad_outputs), keep, create_graph, allow_unused
        )
    else:
        results = one_pass(as_tuple(outputs), targets, grad_outputs, keep, create_graph)
    if not allow_unused:
        for i, r in enumerate(results):
            if r is None:
                raise RuntimeError(
                    f"The differentiated Tensor at index {i} appears to not have been used in the "
                    "graph. Set allow_unused=True if this is the desired behavior."
                )
    if materialize_grads:
        if any(isinstance(t, Edge) for r, t in zip(results, targets, strict=True) if r is None):
            raise RuntimeError(
                "materialize_grads cannot be used when the given input is a GradientEdge"
            )
        pairs = zip(results, targets, strict=True)
        results = tuple(
            zeros_like(t, requires_grad=create_graph) if r is None else r for r, t in pairs
        )
    if state.recorder is not None and not create_graph and not state.planning:
        # With `create_graph` and in a static plan the operations of backward are recorded.
        read = tuple(t for t in (*as_tuple(outputs), *targets) if isinstance(t, Tensor))
        state.record("grad", read, tuple(r for r in results if r is not None))
    return dict(zip(inputs, results, strict=True)) if type(inputs) is dict else results


def one_pass(
    outputs: tuple[Any, ...],
    targets: tuple[Any, ...],
    grad_outputs: Vectors,
    keep: bool,
    create_graph: bool,
) -> tuple[Any, ...]:
    """Return the gradients of `targets` from one backward pass."""
    roots = root_gradients(outputs, grad_outputs, create_graph)
    slots = [input_slot(t, accumulate=False) for t in targets]
    wanted = [s for s in slots if s is not None]
    captured = run_backward(roots, keep, create_graph, wanted, accumulate=False)
    gradients = [None if s is None else captured.get(s) for s in slots]
    return tuple(None if g is None else own_copy(g) for g in gradients)


def check_batch(outputs: tuple[Any, ...], vectors: tuple[Any, ...]) -> None:
    """Raise PyTorch's errors unless each vector has its output's shape after a first dim of one
    size for all.
    """
    sizes = []
    for i, (out, vector) in enumerate(zip(outputs, vectors, strict=False)):
        if vector is None:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        if not vector.ndim:
            raise IndexError(
                "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or "
                "`tensor.item<T>()` in C++ to convert a 0-dim tensor to a number"
            )
        if tuple(vector.shape[1:]) != tuple(out.shape):
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output "
                "as the batch dimension. The sizes of the remaining dimensions are expected to "
                "match the shape of corresponding output, but a mismatch was detected: "
                f"grad_output[{i}] has a shape of {vector.shape[2:]} and output[{i}] has a shape "
                f"of {out.shape}. If you only want some tensors in `grad_output` to be considered "
                "batched, consider using vmap."
            )
        sizes.append(vector.shape[0])
    if len(set(sizes)) > 1:
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension"
        )


def batched(
    outputs: tuple[Any, ...],
    targets: tuple[Any, ...],
    vectors: tuple[Any, ...],
    keep: bool,
    create_graph: bool,
    allow_unused: bool,
) -> tuple[Any, ...]:
    """Run one pass for each entry of the vectors' first dim, and return the stacked gradients
    (is_grads_batched).
    """
    rows = []
    for i in range(len(vectors[0])):
        seeds = tuple(v[i] for v in vectors)
        rows.append(one_pass(outputs, targets, seeds, True, create_graph))
    if not keep:
        one_pass(outputs, targets, tuple(v[0] for v in vectors), False, False)
    stack = TRACED.stack  # loads its family
    return tuple(
        None if column[0] is None else stack(tuple(column), 0) for column in zip(*rows, strict=True)
    )


def as_tuple(values: Tensor | Edge | GradientEdge | Iterable[Any] | None) -> tuple[Any, ...]:
    """Return one value or several values as a tuple, with each GradientEdge converted to an
    Edge.
    """
    if values is None or isinstance(values, Tensor):
        return (values,)
    members: tuple[Any, ...] = (
        (values,) if isinstance(values, (Edge, GradientEdge)) else tuple(values)
    )
    if any(isinstance(value, GradientEdge) for value in members):
        return tuple(
            Edge(v.node, v.output_nr) if isinstance(v, GradientEdge) else v for v in members
        )
    return members


def zeros_like(t: Tensor, requires_grad: bool = False) -> Tensor:
    return Tensor._wrap(np.zeros(t.shape, t.dtype.np)).requires_grad_(requires_grad)


def input_slot(t: Tensor | Edge, accumulate: bool) -> tuple[Node, int] | None:
    """Return the (node, output number) that receives an input's gradient; None if no graph can
    contain the input.
    """
    if isinstance(t, Edge):
        assert t.function is not None
        return t.function, t.input_nr
    if not t.requires_grad:
        if accumulate:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    if accumulate:
        t.retain_grad()
    node = gradient_edge(t)
    return None if node is None else (node, t._nr)


def root_gradients(
    outputs: tuple[Any, ...], vectors: Vectors, create_graph: bool
) -> list[tuple[Node, int, Any]]:
    """Return (node, output number, gradient) for each output; the default gradient is 1."""
    gradients = (None,) * len(outputs) if vectors is None else as_tuple(vectors)
    gradients = gradients[: len(outputs)]  # of more vectors than outputs PyTorch takes the first
    if len(gradients) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(gradients)} gradients")
    checked = [
        first_gradient(out, g, i) for i, (out, g) in enumerate(zip(outputs, gradients, strict=True))
    ]
    roots = []
    for i, (out, g) in enumerate(zip(outputs, checked, strict=True)):
        node, number = out if isinstance(out, Edge) else (gradient_edge(out), out._nr)
        if node is None or g is None:
            raise RuntimeError(NO_HISTORY.format(i))
        if create_graph or state.planning:  # a static plan records the steps of backward too
            g = as_tensor(g)
        elif isinstance(g, Tensor):
            g = g._data
        roots.append((node, number, g))
    return roots


def first_gradient(out: Tensor | Edge, g: object, i: int) -> Gradient | None:
    """Return the starting gradient of output `i`: `g` after a check of its shape; by default 1, for
    one element.
    """
    if isinstance(g, Tensor):
        target = out.function if isinstance(out, Edge) else out
        shape = () if target is None else target.shape
        if tuple(g.shape) != tuple(shape):
            raise RuntimeError(
                f"Mismatch in shape: grad_output[{i}] has a shape of {g.shape} and output[{i}] has "
                f"a shape of {shape}."
            )
        return g
    if g is not None:
        raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
    if isinstance(out, Edge):
        if out.function is None:
            return None
        of_several = type(out.function.shape) is list
        shape = out.function.shape[out.input_nr] if of_several else out.function.shape
        if math.prod(shape) != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        return np.ones(shape)
    if not out.requires_grad:
        return None
    if out.numel() != 1:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    if type(out._data) is float:
        return 1.0
    ones = np.empty_like(out._data)
    ones.fill(1)
    return ones


# ---- one node, outside of a pass


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
    """Return a tuple of the gradient (or None) of each input; for a single input, the gradient
    itself.

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
        input_gradients: Any = [None] * len(node.next)
    else:
        input_gradients = results_of(named(node), gradients, several)
    return input_gradients[0] if len(input_gradients) == 1 else tuple(input_gradients)


def results_of(node: Node, gradients: tuple[Any, ...], several: bool) -> list[Any]:
    incoming: Any = gradients[0]
    if several:
        incoming = {number: g for number, g in enumerate(gradients) if g is not None}
    if node.op is None:
        with using(grad_enabled=state.grad_enabled):
            return list(node.derive(incoming))
    derived = run_rules(node, incoming)
    return [
        None if g is None or target is None else as_tensor(g)
        for g, target in zip(derived, node.next, strict=True)
    ]


higher.update(backward=backward, call_node=call_node, input_metadata=input_metadata)
