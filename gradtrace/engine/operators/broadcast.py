"""Broadcasting: errors with PyTorch's words for shapes that do not broadcast, and sums that undo it
for gradients.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any, Iterable
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.node import AccumulateGrad, Node
from gradtrace.engine.data.tensor import Tensor
from gradtrace.engine.operators.namespace import TRACED
from gradtrace.engine.operators.op import records

if TYPE_CHECKING:
    from gradtrace.engine.data.types import Shape


def refuse_mismatch(raws: Iterable[object]) -> None:
    """Raise RuntimeError if the shapes of the operands do not broadcast."""
    shape: Shape = ()
    for raw in raws:
        if hasattr(raw, "shape"):
            shape = broadcast(shape, tuple(raw.shape))


def broadcast(a: Shape, b: Shape) -> Shape:
    """Return the shape that two shapes broadcast to
    (https://pytorch.org/docs/stable/notes/broadcasting.html).
    """
    n = max(len(a), len(b))
    sizes = []
    for i in reversed(range(n)):
        m = size(a, i - n)
        k = size(b, i - n)
        if m != k and 1 not in (m, k):
            raise RuntimeError(
                f"The size of tensor a ({m}) must match the size of tensor b ({k}) at "
                f"non-singleton dimension {i}"
            )
        sizes.append(k if m == 1 else m)
    return tuple(reversed(sizes))


def check_takes(shape: Shape, operand_shape: Shape) -> None:
    """Raise RuntimeError unless `operand_shape` broadcasts to `shape` itself, as writing into a
    tensor needs.
    """
    full = broadcast(shape, operand_shape)
    if full != shape:
        raise RuntimeError(
            f"output with shape {list(shape)} doesn't match the broadcast shape {list(full)}"
        )


def size(shape: Shape, i: int) -> int:
    return shape[i] if -i <= len(shape) else 1


# ---- an edge: broadcasting and casts undone


def unbroadcast_and_cast(g: Any, target: Node, number: int, source: Node | None, index: int) -> Any:
    """Return the gradient in the shape and dtype of output `number` of `target`, to which it
    belongs.
    """
    shape = target.shape
    dtype = target.dtype
    if target.outputs != 1:
        shape = shape[number]
        dtype = dtype[number]
    if isinstance(g, Tensor):
        return unbroadcast_tensor(
            g, shape, g._data.dtype if takes_any_dtype(target) else dtype, source, index
        )
    if type(g) is float:
        if dtype is None:
            return g
        g = np.asarray(g)
    elif type(g) is not np.ndarray:
        if dtype is None:
            return float(g)
        g = np.asarray(g)
    if g.shape != shape:
        g = sum_to(g, shape, source, index)
    if dtype is None:
        return float(g)
    return g if g.dtype is dtype or takes_any_dtype(target) else g.astype(dtype)


def takes_any_dtype(target: Node) -> bool:
    """Return whether a node belongs to a leaf whose `grad_dtype` is None, which takes gradients of
    any dtype.
    """
    return isinstance(target, AccumulateGrad) and target.takes_any_dtype


def unbroadcast_tensor(
    g: Tensor, shape: Any, dtype: Any, source: Node | None, index: int
) -> Tensor:
    if g.shape != shape:
        refuse_if_not_broadcast(g.shape, shape, source, index)
        g = sum_tensor_to(g, tuple(shape))
    wanted = np.float64 if dtype is None else dtype
    return g if g.dtype.np == wanted else records["cast"](g, np.dtype(wanted))


def sum_tensor_to(g: Tensor, shape: tuple[int, ...]) -> Any:
    """Sum a Tensor to `shape` over the dims that broadcasting expanded, in PyTorch's steps."""
    if not shape:
        return TRACED.sum(g)
    lead = g.ndim - len(shape)
    dims = (
        *range(lead),
        *(i + lead for i, n in enumerate(shape) if n == 1 and g.shape[i + lead] != 1),
    )
    if dims:
        g = TRACED.sum_dim(g, dims, True)
    return TRACED.view(g, shape) if lead else g


def sum_to(g: Any, shape: Any, source: Node | None = None, index: int = 0) -> Any:
    """Sum an array to `shape` over the dims that broadcasting expanded: the transpose of
    broadcasting.
    """
    if g.ndim == 2 and g.shape[1:] == shape:  # a row added to each row, as a bias
        return np.add.reduce(g, 0)
    refuse_if_not_broadcast(g.shape, shape, source, index)
    lead = g.ndim - len(shape)
    dims = tuple(range(lead)) + tuple(
        i + lead for i, n in enumerate(shape) if n == 1 and g.shape[i + lead] != 1
    )
    return g.sum(axis=dims, keepdims=True).reshape(shape)


def refuse_if_not_broadcast(got: Any, shape: Any, source: Node | None, index: int) -> None:
    lead = len(got) - len(shape)
    if lead >= 0 and all(n in (1, got[i + lead]) for i, n in enumerate(shape)):
        return
    who = "" if source is None else f"Function {source.name()} returned an "
    raise RuntimeError(
        f"{who}invalid gradient at index {index} - got {list(got)} but expected shape compatible "
        f"with {list(shape)}"
    )
