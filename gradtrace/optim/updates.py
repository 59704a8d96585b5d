"""In-place updates of parameters by optimisers, which work on arrays and increase the version
counter.

An optimiser works on the arrays of its tensors, not through recorded operators: a step has no
history, and recording would take half of a training loop's time. The formulas round like PyTorch's
kernels, operation by operation. In a differentiable step, where gradients are recorded
(`ElementwiseOptimizer.step`), they work on the tensors themselves.
"""

from __future__ import annotations

from typing import Any

from gradtrace.engine.data import dtypes
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.state import state as modes
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.operators.namespace import ARRAY, TRACED
from gradtrace.engine.operators.rounding import LARGE, blend, multiply_add

PLAIN = {float, int, bool, type(None), list, tuple}
Array = Any  # in a differentiable step a tensor


class _Functions:
    """The operators, by the names of their records, for what `writable` returns."""

    def __getattr__(self, name: str) -> Any:
        return getattr(TRACED if modes.grad_enabled else ARRAY, name)


xp = _Functions()


def writable(tensor: Tensor) -> Array:
    """Return what a formula changes in place: the tensor's array, or in a differentiable step the
    tensor.
    """
    return tensor if modes.grad_enabled else tensor.array


def values(tensor: Tensor) -> Array:
    """Return what a formula reads of a tensor: like `writable`, but data that are a Python number
    become an array that does not share them.
    """
    return tensor if modes.grad_enabled else np.asarray(tensor._data)


def copied(array: Array) -> Array:
    """Return a copy of a tensor, because an operation may save it for backward before the step
    changes it. Arrays are returned unchanged.
    """
    return array.clone() if isinstance(array, Tensor) else array


def begin(tensor: Tensor) -> Array:
    """Announce a write to a parameter, and return its values; pass them to `commit` afterwards."""
    if not modes.grad_enabled:
        modes.planner.read(tensor)
        modes.keeper.before_write(tensor)
    return values(tensor)


def commit(tensor: Tensor, array: Array, writes: int = 1) -> None:
    """Make the updated array the tensor's data and count `writes` in-place changes."""
    if array is tensor:
        return
    if type(tensor._data) is float:
        tensor._data = float(array)
    tensor.counter().n += writes
    modes.watcher.changes("step", tensor)


def gradient(param: Tensor, group: dict[str, Any]) -> Array:
    """Return the parameter's gradient, negated for `maximize`, with the group's weight decay
    added.
    """
    grad = param.grad
    assert grad is not None
    # The planner must see the read: operations on arrays do not become steps of its plan.
    modes.planner.read(grad)
    array = values(grad)
    if group["maximize"]:
        array = -array
    decay = group.get("weight_decay", 0)
    if decay != 0 and not group.get("decoupled_weight_decay"):
        array = plus_product(array, decay, copied(values(param)))
    return array


def zeros_like(param: Tensor, value: float = 0.0) -> Tensor:
    """Return a state tensor of the parameter's shape and dtype."""
    return Tensor._wrap(np.full_like(np.asarray(param._data), value))


def counter_tensor(value: float = 0.0) -> Tensor:
    """Return a 0-d state tensor such as `step`, float32 unless the default dtype is float64."""
    wide = dtypes.get_default_dtype() is dtypes.float64
    return Tensor._wrap(np.array(value, np.float64 if wide else np.float32))


def advance(state: dict[str, Any]) -> float:
    """Increment the step count in `state["step"]` and return it."""
    if not isinstance(state["step"], Tensor):
        raise RuntimeError(
            "API has changed, `state_steps` argument must contain a list of singleton tensors"
        )
    step = state["step"].array
    step += 1
    return float(step)


def subtract_product(array: Array, rate: Any, direction: Array) -> None:
    """Update array -= rate * direction, in place."""
    if isinstance(array, Tensor):
        array.add_(-rate * copied(direction))
    elif array.size > LARGE:
        np.subtract(array, float(rate) * direction, out=array)
    else:
        array[...] = multiply_add(array, -float(rate), direction)


def scalar(value: Any) -> Any:
    """Return a hyperparameter as a number; it may be a tensor of one element."""
    if type(value) in (float, int):
        return value
    return value.item() if isinstance(value, Tensor) else dtypes.python_number(value)


def with_numbers(group: dict[str, Any]) -> dict[str, Any]:
    """Return a group with its tensors of one element as numbers; in a differentiable step, as 0-d
    tensors.
    """
    if PLAIN.issuperset(map(type, group.values())):
        return group
    as_number = Tensor.squeeze if modes.grad_enabled else Tensor.item
    return {k: as_number(v) if isinstance(v, Tensor) else scalar(v) for k, v in group.items()}


def plus_product(a: Array, x: Any, y: Array) -> Array:
    """Return a + x * y."""
    return a + x * y if isinstance(a, Tensor) else multiply_add(a, x, y)


def lerp(start: Array, end: Array, weight: float) -> None:
    """Update start += weight * (end - start), in place."""
    if isinstance(start, Tensor):
        start.lerp_(end, weight)
    else:
        start[...] = blend(start, end, weight)


def decay_square(average: Array, grad: Array, beta: float) -> None:
    """Update average = beta * average + (1 - beta) * grad^2, in place."""
    average *= beta
    average[...] = plus_product(average, (1 - beta) * grad, grad)


def add_quotient(target: Array, numerator: Array, denominator: Array, factor: float = 1.0) -> None:
    """Update target += factor * numerator / denominator, in place."""
    target += factor * copied(numerator) / denominator
