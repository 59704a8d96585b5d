"""jacrev, jacfwd, hessian: all derivatives of all outputs with respect to all inputs.

jacrev computes one vjp for each output element (row); jacfwd one jvp for each input element (column).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from gradtrace.engine import Tensor
from gradtrace.func.levels import Argnums, Running, pick
from gradtrace.func.pytree import flatten, torch_function, unflatten
from gradtrace.func.transforms import pushforward, vjp_of_arguments, wrapping


def jacrev(
    func: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """Return a function that computes the Jacobian of `func`: for each output and input, output.shape + input.shape."""
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    def wrapper(*args: Any) -> Any:
        output, backward, aux = vjp_of_arguments(func, args, argnums, has_aux)
        outputs, output_spec = flatten(output)
        inputs, input_spec = flatten(pick(args, argnums))
        rows = [
            _parts(lambda g: backward(unflatten(g, output_spec)), outputs, i, inputs, 0) for i in range(len(outputs))
        ]
        per_output = [unflatten(row, input_spec) for row in rows]
        result = unflatten(per_output, output_spec)
        return (result, aux) if has_aux else result

    return wrapping(func, wrapper)


def _parts(
    derivative: Callable[[list[Tensor]], Any], own: list[Tensor], index: int, others: list[Tensor], dim: int
) -> list[Tensor]:
    """Return the Jacobians between tensor `index` of `own` and each of `others`.

    `derivative` is called for each of its elements; the results are rows (`dim` is 0) or columns (-1).
    """
    zeros, stack = torch_function("zeros"), torch_function("stack")
    found = [flatten(derivative(unit))[0] for unit in _units(own, index)]
    parts = []
    for k, x in enumerate(others):
        shape = own[index].shape + x.shape if dim == 0 else x.shape + own[index].shape
        parts.append(stack([one[k] for one in found], dim).view(shape) if found else zeros(shape, dtype=x.dtype))
    return parts


def _units(tensors: list[Tensor], index: int) -> Iterator[list[Tensor]]:
    """Yield for each element of tensor `index` a list of zeros like the tensors, in which this element is one."""
    zeros, target = torch_function("zeros"), tensors[index]
    still = [zeros(t.shape, dtype=t.dtype) for t in tensors]
    for j in range(target.numel()):
        unit = zeros(target.numel(), dtype=target.dtype)
        unit[j] = 1
        yield [*still[:index], unit.view(target.shape), *still[index + 1 :]]


def jacfwd(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Callable[..., Any]:
    """Like `jacrev`, but compute the Jacobian by columns. `func` may also return integers, with zero derivatives."""

    def wrapper(*args: Any) -> Any:
        with Running():  # PyTorch runs a vmap over the columns, which shows in the printed level numbers
            output, push, aux = pushforward(func, args, argnums, has_aux)
        outputs, output_spec = flatten(output)
        inputs, input_spec = flatten(pick(args, argnums))
        columns = [_parts(push, inputs, i, outputs, -1) for i in range(len(inputs))]
        per_output = [unflatten([column[k] for column in columns], input_spec) for k in range(len(outputs))]
        result = unflatten(per_output, output_spec)
        return (result, aux) if has_aux else result

    return wrapping(func, wrapper)


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """Return a function that computes the Hessian of `func`, the Jacobian of its Jacobian."""
    return jacfwd(jacrev(func, argnums), argnums)
