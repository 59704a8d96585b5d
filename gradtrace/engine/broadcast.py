"""Shapes that do not broadcast, refused in PyTorch's words."""

from __future__ import annotations

from gradtrace.annotations import Any


def refuse_mismatch(raws: list[Any]) -> None:
    """RuntimeError if the shapes of the operands do not broadcast; each is held against what those before it give."""
    shape: tuple[int, ...] = ()
    for raw in raws:
        if hasattr(raw, "shape"):
            shape = broadcast(shape, tuple(raw.shape))


def broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """The common shape of two (https://pytorch.org/docs/stable/notes/broadcasting.html)."""
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


def size(shape: tuple[int, ...], i: int) -> int:
    return shape[i] if -i <= len(shape) else 1
