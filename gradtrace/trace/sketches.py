"""Compare the contents of two tensors of which the elements were not kept, by checksums and
sketches.

`array_sketch.py` says what these are. A tensor that was kept whole is compared with a summary by
the sketch of its elements.
"""

from __future__ import annotations

from gradtrace.annotations import Any
from gradtrace.engine.data.lazy import np
from gradtrace.trace.array_sketch import checksum_of, sketch_of
from gradtrace.trace.array_summary import Summary, norm_of
from gradtrace.trace.values import INFINITY, Value

__all__ = ["checksum_of", "equal_bits", "least_difference", "relative_difference", "sketch_of"]
COUNTED = 16_384  # elements up to which a record of PyTorch counts zeros; of more it estimates them
SLACK = {"float64": 1e-12}  # of the sums in statistics, relative to the norm
OTHER_SLACK = 1e-5
SMALLEST = 5e-324


def relative_difference(a: Value, b: Value) -> float | None:
    """Return |a - b| / max(|a|, |b|), the Euclidean norms over all elements: 0.0 if both are equal.

    It is exact if both are whole; otherwise it is estimated from sketches, with a standard
    deviation of 9 %. Elements are paired in row-major order, so the shapes need not agree. None if
    the number of elements differs, or nothing is known of the elements of one of them. A NaN equals
    a NaN, and an infinity one of its sign; the result is infinity if the two differ in these (of a
    summary only their numbers are known). The norms are those of the finite elements.
    """
    if a.numel != b.numel:
        return None
    if a.is_whole and b.is_whole:
        return difference(flat(a), flat(b))
    if equal_bits(a, b):
        return 0.0
    first = parts_of(a)
    second = parts_of(b)
    if first is None or second is None:
        return None
    (sketch, norm, *bad), (other_sketch, other_norm, *other_bad) = first, second
    if bad != other_bad:
        return INFINITY
    apart = norm_of(np.subtract(sketch, other_sketch))
    return ratio(apart, max(norm, other_norm))


def equal_bits(a: Value, b: Value) -> bool | None:
    """Whether two tensors of one shape and dtype are equal to the bit; None if that is not
    known.
    """
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    first = bits_of(a)
    second = bits_of(b)
    if first is None or second is None:
        return False if least_difference(a, b) else None
    return first == second


def least_difference(a: Value, b: Value) -> float | None:
    """Return what |a - b| / max(|a|, |b|) is at least, by the statistics of two tensors of as many
    elements: 0.0 if these agree. None if of one of them no statistics are known.

    Neither the lengths, nor the sums divided by the square root of the number of elements, nor the
    extremes of two tensors are farther apart than the tensors. A sum may be rounded otherwise where
    it was computed otherwise.
    """
    if a.numel != b.numel or not a.is_measured or not b.is_measured:
        return None
    first = a.summary
    second = b.summary
    if (first.nan, first.inf) != (second.nan, second.inf):
        return INFINITY
    size = max(first.norm, second.norm)
    if not size or size == INFINITY or first.mean is None or second.mean is None:
        return 0.0 if first.norm == second.norm else None
    slack = max(SLACK.get(value.dtype, OTHER_SLACK) for value in (a, b))
    root = (a.numel - first.nan - first.inf) ** 0.5
    sums = max(abs(first.norm - second.norm), root * abs(first.mean - second.mean))
    extremes = max(
        abs(float(x or 0) - float(y or 0))
        for x, y in zip(ends_of(first), ends_of(second), strict=True)
    )
    differs_in_zeros = a.numel <= COUNTED and first.zeros != second.zeros
    apart = max(
        sums if sums > slack * size else 0.0, extremes, SMALLEST if differs_in_zeros else 0.0
    )
    return min(apart / size, 1.0) or (SMALLEST if apart else 0.0)


def ends_of(summary: Summary) -> tuple[Any, Any]:
    return summary.minimum, summary.maximum


def flat(value: Value) -> Any:
    return np.asarray(value.elements).reshape(-1).astype(np.float64)


def difference(a: Any, b: Any) -> float:
    """Return the relative difference of two arrays of float64."""
    with np.errstate(all="ignore"):
        finite = np.isfinite(a) & np.isfinite(b)
        if not ((a == b) | ((a != a) & (b != b)) | finite).all():
            return INFINITY
        a = np.where(finite, a, 0)
        b = np.where(finite, b, 0)
        return ratio(norm_of(a / 2 - b / 2) * 2, max(norm_of(a), norm_of(b)))


def ratio(apart: float, size: float) -> float:
    return apart / size if apart else 0.0


def parts_of(value: Value) -> tuple[Any, float, int, int] | None:
    """Return the sketch, the norm of the finite elements, and the numbers of NaN and infinities;
    None if unknown.
    """
    if not value.is_whole:
        kept = value.summary
        return None if kept.sketch is None else (kept.sketch, kept.norm, kept.nan, kept.inf)
    data = flat(value)
    finite = np.isfinite(data)
    nan = int(np.isnan(data).sum())
    return (
        sketch_of(np.asarray(value.elements)),
        norm_of(data[finite]),
        nan,
        int((~finite).sum()) - nan,
    )


def bits_of(value: Value) -> int | None:
    """Return the checksum of a tensor, of a single number too."""
    if not value.is_whole:
        return value.summary.checksum
    array = np.asarray(value.elements)
    if value.dtype == "bfloat16":
        return checksum_of((array.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16))
    return checksum_of(array.astype(value.dtype))
