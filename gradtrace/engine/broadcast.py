"""The broadcast shape of operands, and PyTorch's error for shapes that do not broadcast."""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Iterable

if TYPE_CHECKING:
    from gradtrace.engine.types import Shape


def refuse_mismatch(raws: Iterable[object]) -> None:
    """RuntimeError if the shapes of the operands do not broadcast."""
    shape: Shape = ()
    for raw in raws:
        if hasattr(raw, "shape"):
            shape = broadcast(shape, tuple(raw.shape))


def broadcast(a: Shape, b: Shape) -> Shape:
    """Return the common shape of two shapes (https://pytorch.org/docs/stable/notes/broadcasting.html)."""
    n = max(len(a), len(b))
    found = []
    for i in reversed(range(n)):
        m, k = size(a, i - n), size(b, i - n)
        if m != k and 1 not in (m, k):
            raise RuntimeError(
                f"The size of tensor a ({m}) must match the size of tensor b ({k}) at non-singleton dimension {i}"
            )
        found.append(k if m == 1 else m)
    return tuple(reversed(found))


def size(shape: Shape, i: int) -> int:
    return shape[i] if -i <= len(shape) else 1
