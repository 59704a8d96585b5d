"""Compute Jacobians and Hessians of live tensors with the engine, and return them as Values.

Every gradient is taken with retain_graph over the same graph, so none of its saved values may have
been freed before.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Sequence
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.reverse.gradients import grad
from gradtrace.trace.record import Value
from gradtrace.trace.values import frozen


def jacobian(output: Tensor, inputs: Sequence[Tensor], create_graph: bool = False) -> list[Any]:
    """Return for each input a Tensor of shape (output.numel(), *input.shape): the gradients of the
    output's elements.
    """
    size = output.numel()
    if not output.requires_grad:
        return [Tensor._wrap(np.zeros((size, *t.shape), t.dtype.np)) for t in inputs]
    unit = np.eye(size, dtype=output.dtype.np).reshape(size, *output.shape)
    return list(
        grad(
            [output],
            list(inputs),
            [Tensor._wrap(unit)],
            retain_graph=True,
            create_graph=create_graph,
            is_grads_batched=True,
            materialize_grads=True,
        )
    )


def jacobian_values(output: Tensor, inputs: Sequence[Tensor]) -> list[Value]:
    """Return the blocks as matrices: a row for each element of the output, a column for each of the
    input.
    """
    return [matrix(block, output.numel()) for block in jacobian(output, inputs)]


def matrix(block: Tensor, rows: int) -> Value:
    array = np.asarray(block._data)
    return (
        frozen(array.reshape(rows, -1))
        if array.size
        else Value((rows, 0), block.dtype.name, np.zeros((rows, 0)))
    )


def hessian(output: Tensor, inputs: Sequence[Tensor]) -> Value:
    """Return the second derivatives of one number by all elements of all inputs, as one square
    matrix.
    """
    sizes = [t.numel() for t in inputs]
    first = grad([output], list(inputs), create_graph=True, materialize_grads=True)
    rows = [jacobian_values(g, inputs) for g in first]
    blocks = [
        [np.asarray(block.data, float).reshape(n, m) for block, m in zip(row, sizes, strict=True)]
        for row, n in zip(rows, sizes, strict=True)
    ]
    return frozen(np.ascontiguousarray(np.block(blocks)))
