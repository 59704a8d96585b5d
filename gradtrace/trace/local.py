"""Local derivatives: of one node's output by each of its inputs, from the node's own rules.

For a pointwise operator a local derivative is a number for each element, in the output's shape; for
any operator whose result is a single number, one for each element of the input. Both are computed
by one call of the rules with ones for the gradient.
"""

from __future__ import annotations

from gradtrace.annotations import Any
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.node import Node
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.operators.broadcast import unbroadcast_and_cast
from gradtrace.engine.reverse.evaluate import derive, run_rules
from gradtrace.trace.values import Value, frozen


def is_pointwise(node: Node) -> bool:
    """Whether each element of the node's output depends only on the inputs' elements at the same
    place.
    """
    return node.op is not None and node.op.kind == "elementwise"


def local_derivatives(node: Node) -> list[Value | None]:
    """Return a derivative for each edge, None where it is not one number for each element. The node
    must not be freed. None for a node with saved-tensor hooks: to run them once more would change
    the program.
    """
    shape = node.shape
    if node.op is None or node.is_accumulator or node.outputs != 1 or has_hooks(node):
        return [None] * len(node.next)
    single = not shape or all(size == 1 for size in shape)
    pointwise = is_pointwise(node)
    if not (single or pointwise):
        return [None] * len(node.next)
    try:
        results = run_rules(node, ones(shape, node.dtype))
    except Exception:  # a rule that refuses will be told by the pass itself
        return [None] * len(node.next)
    return [
        None if r is None or target is None else spread(r, shape if pointwise else None)
        for r, target in zip(results, node.next, strict=False)
    ]


def has_hooks(node: Node) -> bool:
    """Whether hooks of the program unpack what the node has saved."""
    return node.extras is not None and node.extras.unpack is not None


LARGEST = 4_000_000  # elements of a matrix that is made


def jacobians(node: Node) -> list[Value | None]:
    """Return for each edge the matrix of the derivatives of the node's output by that input, both
    flattened.

    The rows are computed one by one with the node's own rules; None where the node has several
    outputs, or the matrix would be too large. For a Function of the program this calls its backward
    once for each element of the output.
    """
    size = 1
    for n in node.shape if node.outputs == 1 else (0,):
        size *= n
    # a Function of the program with one output
    if node.op is None and node.outputs == 0 and len(node.shape) == 1:
        size = int(np.prod(node.shape[0]))
    if not size or node.is_accumulator or has_hooks(node):
        return [None] * len(node.next)
    rows: list[list[Any]] = [[] for _ in node.next]
    for k in range(size):
        sent = derive(node, unit(node, k))
        for i, target in enumerate(node.next):
            if target is None or sent[i] is None or (rows[i] and rows[i][0].size * size > LARGEST):
                continue
            number = node.output_nrs[i] if node.output_nrs else 0
            rows[i].append(
                np.asarray(
                    unbroadcast_and_cast(raw(sent[i]), target, number, node, i), float
                ).reshape(-1)
            )
    return [frozen(np.stack(of_input)) if len(of_input) == size else None for of_input in rows]


def unit(node: Node, k: int) -> Any:
    """Return a gradient that is 1 at element k of the output and 0 elsewhere, in the form that the
    node's rule takes.
    """
    custom = node.op is None and node.outputs == 0
    shape, dtype = (node.shape[0], node.dtype[0]) if custom else (node.shape, node.dtype)
    if dtype is None:
        return {0: 1.0} if custom else 1.0
    gradient = np.zeros(shape, dtype)
    gradient.reshape(-1)[k] = 1
    return {0: gradient} if custom else gradient


def raw(gradient: Any) -> Any:
    return gradient._data if isinstance(gradient, Tensor) else gradient


def ones(shape: Any, dtype: Any) -> Any:
    return 1.0 if dtype is None else np.ones(shape, dtype)


def spread(raw: Any, shape: Any) -> Value:
    """Return a rule's result as a Value, broadcast to the output's shape if one is given."""
    if shape and getattr(raw, "shape", ()) != shape:
        raw = np.broadcast_to(raw, shape)
    return frozen(raw)
