"""Expansion to a common shape: expand, broadcast_to, broadcast_tensors, atleast_1d and similar
functions.
"""

from __future__ import annotations

from gradtrace.annotations import Any, Callable, Sequence
from gradtrace.engine.data.describe import Size
from gradtrace.engine.data.node import tensor_type_name
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.operators.broadcast import broadcast
from gradtrace.ops.api import given_sizes, public, sizes
from gradtrace.ops.shape.views import expand, unsqueeze, view


@public("expand", forms="mc")
def expanded(self: Tensor, *size: int | Sequence[int], **named: object) -> Tensor:
    """Expand dims of size 1 as a view; -1 keeps a size (Tensor.expand)."""
    shape = sizes(given_sizes(size, {k: v for k, v in named.items() if k != "implicit"}, "size"))
    lead = len(shape) - self.ndim
    if lead < 0:
        kind = tensor_type_name(self.dtype.np)
        raise RuntimeError(
            f"expand({kind}{{{list(self.shape)}}}, size={list(shape)}): the number of sizes provided ({len(shape)}) "
            f"must be greater or equal to the number of dimensions in the tensor ({self.ndim})"
        )
    full = []
    for i, n in reversed(tuple(enumerate(shape))):  # errors name the last dim that does not fit
        have = self.shape[i - lead] if i >= lead else 1
        if n == -1 and i < lead:
            raise RuntimeError(
                f"The expanded size of the tensor ({n}) isn't allowed in a leading, non-existing dimension {i}"
            )
        if n != -1 and have not in (1, n):
            raise RuntimeError(
                f"The expanded size of the tensor ({n}) must match the existing size ({have}) at non-singleton "
                f"dimension {i}.  Target sizes: {list(shape)}.  Tensor sizes: {list(self.shape)}"
            )
        full.append(have if n == -1 else n)
    return expand(self, tuple(reversed(full)))


@public()
def broadcast_to(input: Tensor, *size: int | Sequence[int], **named: object) -> Tensor:
    """Expand to a shape (torch.broadcast_to)."""
    return expanded(input, *given_sizes(size, named, "size"))


@public(forms="m")
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """Expand to the shape of `other` (Tensor.expand_as)."""
    return expanded(self, tuple(other.shape))


@public(forms="f")
def broadcast_shapes(*shapes: int | Sequence[int]) -> Size:
    """Return the shape that several shapes broadcast to; RuntimeError if there is none
    (torch.broadcast_shapes).
    """
    result: tuple[int, ...] = ()
    most = max((len(s) for s in shapes if isinstance(s, (tuple, list))), default=0)
    for k, shape in enumerate(shapes):
        if not isinstance(shape, (int, tuple, list)):
            raise RuntimeError(
                f"Input shapes should be of type ints, a tuple of ints, or a list of ints, got {shape}"
            )
        sizes = (shape,) if isinstance(shape, int) else tuple(shape)
        if min(sizes, default=0) < 0:
            raise ValueError("Attempting to broadcast a dimension with negative length!")
        for i in range(1, min(len(sizes), len(result)) + 1):
            if sizes[-i] != result[-i] and 1 not in (sizes[-i], result[-i]):
                padded = [*(most - len(result)) * [1], *result]
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {sizes[-i]} at -{i}! Mismatching argument at index "
                    f"{k} had {sizes}; but expected shape should be broadcastable to {padded}"
                )
        result = broadcast(result, sizes)
    return Size(result)


def only_tensors(values: Sequence[object]) -> None:
    for i, value in enumerate(values):
        if not isinstance(value, Tensor):
            raise TypeError(
                f"expected Tensor as element {i} in argument 0, but got {type(value).__name__}"
            )


@public(forms="f")
def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Expand each tensor to the common shape (torch.broadcast_tensors)."""
    only_tensors(tensors)
    shape: tuple[int, ...] = ()
    for t in tensors:
        shape = broadcast(shape, tuple(t.shape))
    return tuple(t if tuple(t.shape) == shape else expand(t, shape) for t in tensors)


@public(forms="f")
def atleast_1d(*tensors: Tensor | Sequence[Tensor]) -> Any:
    """Reshape 0-d tensors to (1,) (torch.atleast_1d)."""
    return map_tensors(lambda t: view(t, (1,)) if t.ndim == 0 else t, tensors)


def map_tensors(change: Callable[[Tensor], Tensor], tensors: tuple[Any, ...]) -> Any:
    """Apply a function to a single tensor, or return a tuple for several, given separately or as a
    sequence.
    """
    if len(tensors) == 1 and isinstance(tensors[0], Tensor):
        return change(tensors[0])
    return tuple(change(t) for t in (tensors[0] if len(tensors) == 1 else tensors))


@public(forms="f")
def atleast_2d(*tensors: Tensor | Sequence[Tensor]) -> Any:
    """Reshape tensors of fewer than two dims to (1, n) (torch.atleast_2d)."""

    def reshaped(tensor: Tensor) -> Tensor:
        if tensor.ndim == 0:
            return view(tensor, (1, 1))
        return unsqueeze(tensor, 0) if tensor.ndim == 1 else tensor

    return map_tensors(reshaped, tensors)
