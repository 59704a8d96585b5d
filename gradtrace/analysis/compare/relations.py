"""How two values that differ are related: a factor, a sign, another order, a mask."""

from __future__ import annotations

from gradtrace.annotations import Any
from gradtrace.engine.data.lazy import np
from gradtrace.engine.operators.rounding import dot_product
from gradtrace.trace.array_summary import norm_of
from gradtrace.trace.values import Value

CLOSE = 1e-4
FEW = 0.5  # of the elements: a mask leaves that many as they are


def relation(a: Value | None, b: Value | None) -> str:
    """Return the relation of two values in words; "" if none is known."""
    if (
        a is None
        or b is None
        or not a.numel
        or a.numel != b.numel
        or not (a.all_finite and b.all_finite)
    ):
        return of_infinite(a, b)
    if not a.is_whole or not b.is_whole:
        return of_statistics(a, b)
    first, second = (np.asarray(value.elements, "float64") for value in (a, b))
    factor = (
        close_to_multiple(first.reshape(-1), second.reshape(-1)) if a.shape == b.shape else None
    )
    if factor is not None and a.numel > 1:
        return "B = -A" if abs(factor + 1) < CLOSE else f"B = A * {factor:.6g}"
    return order(first, second) or (masked(first, second) if a.shape == b.shape else "")


def close_to_multiple(first: Any, second: Any) -> float | None:
    """Return c where second = c * first; None if no number does that."""
    squares = float(dot_product(first, first))
    if not squares or first.size < 2:
        return None
    factor = float(dot_product(first, second)) / squares
    return factor if factor and norm_of(second - factor * first) < CLOSE * norm_of(second) else None


def order(first: Any, second: Any) -> str:
    """Return "the transposed of A's" and the like, of arrays with the same numbers in another
    order.
    """
    if first.size < 2:
        return ""
    if first.ndim >= 2:
        turned = np.swapaxes(first, -1, -2)
        if turned.size == second.size and same(turned.reshape(-1), second.reshape(-1)):
            return "B is the transposed of A"
    if same(np.sort(first, None), np.sort(second, None)):
        return "the same numbers in another order"
    return ""


def same(first: Any, second: Any) -> bool:
    return norm_of(first - second) < CLOSE * max(norm_of(first), 1e-300)


def masked(first: Any, second: Any) -> str:
    """Return a sentence if some elements are 0 in one array alone, and most of the others are
    equal.
    """
    equal = np.isclose(first, second, rtol=CLOSE, atol=0)
    for name, ours, theirs in (("A", first, second), ("B", second, first)):
        zero = (ours == 0) & (theirs != 0)
        if zero.any() and (equal | zero).all():
            return f"{int(zero.sum())} of {first.size} elements are 0 in {name} alone: a mask"
    if not equal.all() and equal.mean() >= FEW:
        return f"{int((~equal).sum())} of {first.size} elements differ"
    return ""


def of_infinite(a: Value | None, b: Value | None) -> str:
    """Return which of two values is not finite."""
    if a is None or b is None or a.all_finite == b.all_finite:
        return ""
    bad, name = (b, "B") if a.all_finite else (a, "A")
    return f"{name} has {'NaN' if bad.has_nan else 'infinity'}"


def of_statistics(a: Value, b: Value) -> str:
    """Return the relation that the statistics show."""
    first = a.summary
    second = b.summary
    if not first.norm or not second.norm or None in (first.mean, second.mean):
        return ""
    pairs = [(float(x or 0), float(y or 0)) for x, y in zip(ends(first), ends(second), strict=True)]
    ratio = second.norm / first.norm
    if None in (first.sketch, second.sketch) and abs(ratio - 1) >= CLOSE:
        return multiple_by_statistics(pairs, ratio)
    if abs(ratio - 1) < CLOSE:
        if first.sketch is not None and second.sketch is not None and a.shape == b.shape:
            factor = close_to_multiple(np.asarray(first.sketch), np.asarray(second.sketch))
            if factor is not None:
                return "B = -A"
        if all(abs(x - y) < CLOSE * first.norm / a.numel**0.5 for x, y in pairs):
            if a.shape != b.shape and sorted(a.shape) == sorted(b.shape):
                return "the same statistics with the dims in another order"
            return "the same numbers in another order, by their statistics"
        return multiple_by_statistics(pairs, ratio) if None in (first.sketch, second.sketch) else ""
    if first.sketch is not None and second.sketch is not None and a.shape == b.shape:
        factor = close_to_multiple(np.asarray(first.sketch), np.asarray(second.sketch))
        return "" if factor is None else f"B = A * {factor:.6g}"
    return ""


def multiple_by_statistics(pairs: list[tuple[float, float]], ratio: float) -> str:
    """Return the factor that ranges and means have as well as the norms; "" if they have not."""
    close = CLOSE * abs(ratio) * max(abs(x) for x, _ in pairs[:2])
    if all(abs(y - ratio * x) <= close for x, y in pairs):
        return f"B = A * {ratio:.6g}, by their statistics"
    turned = [(pairs[1][0], pairs[0][1]), (pairs[0][0], pairs[1][1]), pairs[2]]
    if all(abs(y + ratio * x) <= close for x, y in turned):
        return f"B = A * {-ratio:.6g}, by their statistics"
    return ""


def ends(summary: Any) -> tuple[Any, ...]:
    return summary.minimum, summary.maximum, summary.mean
