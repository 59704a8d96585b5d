"""jacrev, jacfwd, hessian: all derivatives of all outputs with respect to all inputs.

jacrev computes one vjp for each output element (row); jacfwd one jvp for each input element
(column).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from gradtrace.engine import Tensor
from gradtrace.func.batching import refused_draws
from gradtrace.func.levels import Argnums, pick
from gradtrace.func.pytree import TreeSpec, flatten, torch_function, unflatten
from gradtrace.func.transforms import pushforward, vjp_of_arguments, wrapping


def jacrev(
    func: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """Return a function that computes the Jacobian of `func`: for each output and input,
    output.shape + input.shape.
    """
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    def wrapper(*args: Any) -> Any:
        output, backward, aux = vjp_of_arguments(func, args, argnums, has_aux)
        outputs, output_spec = flatten(output)
        inputs, input_spec = flatten(pick(args, argnums))
        per_output = [
            unflatten(_rows(backward, outputs, output_spec, i, inputs), input_spec)
            for i in range(len(outputs))
        ]
        result = unflatten(per_output, output_spec)
        return (result, aux) if has_aux else result

    return wrapping(func, wrapper)


def _rows(
    backward: Callable[..., Any],
    outputs: list[Tensor],
    spec: TreeSpec,
    index: int,
    inputs: list[Tensor],
) -> list[Tensor]:
    """Return the Jacobian of output `index` with respect to each input, by one vjp for each of its
    elements.
    """
    rows = [
        flatten(backward(unflatten(cotangents, spec)))[0] for cotangents in _units(outputs, index)
    ]
    return [_joined(rows, k, 0, outputs[index].shape + x.shape, x) for k, x in enumerate(inputs)]


def _joined(rows: list[list[Tensor]], k: int, dim: int, shape: Any, like: Tensor) -> Any:
    """Stack entry `k` of each list in `rows` along `dim`, and view the result in `shape`; zeros
    for no list.
    """
    if not rows:
        return torch_function("zeros")(shape, dtype=like.dtype, device=like.device)
    return torch_function("stack")([row[k] for row in rows], dim).view(shape)


def _units(tensors: list[Tensor], index: int) -> Iterator[list[Tensor]]:
    """Yield, for each element of tensor `index`, zero tensors of the same shapes in which only this
    element is 1.
    """
    zeros = torch_function("zeros")
    target = tensors[index]
    zero_tensors = [zeros(t.shape, dtype=t.dtype, device=t.device) for t in tensors]
    for j in range(target.numel()):
        unit = zeros(target.numel(), dtype=target.dtype, device=target.device)
        unit[j] = 1
        unit_tensors = [*zero_tensors]
        unit_tensors[index] = unit.view(target.shape)
        yield unit_tensors


def jacfwd(
    func: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
) -> Callable[..., Any]:
    """Like `jacrev`, but compute the Jacobian by columns. `func` may also return integers, with
    zero derivatives.
    """

    def wrapper(*args: Any) -> Any:
        with refused_draws(randomness):
            output, push, aux = pushforward(func, args, argnums, has_aux)
        outputs, output_spec = flatten(output)
        inputs, input_spec = flatten(pick(args, argnums))
        columns = [_columns(push, outputs, inputs, i) for i in range(len(inputs))]
        per_output = [
            unflatten([column[k] for column in columns], input_spec) for k in range(len(outputs))
        ]
        result = unflatten(per_output, output_spec)
        return (result, aux) if has_aux else result

    return wrapping(func, wrapper)


def _columns(
    push: Callable[[list[Tensor]], Any], outputs: list[Tensor], inputs: list[Tensor], index: int
) -> list[Tensor]:
    """Return the Jacobian of each output with respect to input `index`, by one push for each of its
    elements.
    """
    columns = [flatten(push(tangents))[0] for tangents in _units(inputs, index)]
    return [
        _joined(columns, k, -1, out.shape + inputs[index].shape, out)
        for k, out in enumerate(outputs)
    ]


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """Return a function that computes the Hessian of `func`, the Jacobian of its Jacobian."""
    return jacfwd(jacrev(func, argnums), argnums)
