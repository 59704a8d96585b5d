"""A summary of an array that is too large to be kept whole: shape, range and distribution."""

from __future__ import annotations

from math import isfinite

from gradtrace.annotations import TYPE_CHECKING, Any, NamedTuple
from gradtrace.engine.data.lazy import np
from gradtrace.engine.operators.rounding import dot_product

if TYPE_CHECKING:
    from gradtrace.engine.data.types import Array

BINS = 16
NAMES: dict[Any, str] = {}  # cache: numpy builds the name on each access, which is slow


class Summary(NamedTuple):
    """Facts about the elements of one array.

    `minimum`, `maximum` and `mean` are None where no element is finite. These, `absolute` (the mean
    of the absolute elements), `norm` and `histogram` (equal bins from minimum to maximum) describe
    the finite elements; `zeros`, `nan` and `inf` count elements. In a bool array True counts as 1.
    `histogram` is () if it was not computed. Without a minimum, NaN and Inf only shape and dtype
    are known. `checksum` and `sketch` are those of `array_sketch.py`; None if they were not
    computed.
    """

    shape: tuple[int, ...]
    dtype: str
    device: str
    minimum: float | int | None
    maximum: float | int | None
    mean: float | None
    absolute: float
    norm: float
    zeros: int
    nan: int
    inf: int
    histogram: tuple[int, ...]
    checksum: int | None = None
    sketch: tuple[float, ...] | None = None


def unmeasured(shape: tuple[int, ...], dtype: str, device: str) -> Summary:
    """Return the Summary of elements of which nothing is known."""
    return Summary(shape, dtype, device, None, None, None, 0.0, 0.0, 0, 0, 0, ())


def summarize(array: Array) -> Summary:
    """Return the Summary of an array of at least one dimension."""
    summary = statistics(array)
    return sketched(summary, array) if summary.device == "cpu" else summary


def sketched(summary: Summary, array: Array) -> Summary:
    """Return a Summary with the checksum and the sketch of its array."""
    from gradtrace.trace.array_sketch import checksum_of, sketch_of

    return summary._replace(checksum=checksum_of(array), sketch=sketch_of(array))


def statistics(array: Array) -> Summary:
    """Return the Summary of an array without checksum and sketch."""
    shape = tuple(array.shape)
    name = name_of(array.dtype)
    if not array.size:
        return Summary(shape, name, "cpu", None, None, None, 0.0, 0.0, 0, 0, 0, (0,) * BINS)
    floats = array.dtype.kind == "f"
    # in the order of memory, so as not to copy a transpose
    finite, nan, inf = array.reshape(-1, order="A"), 0, 0
    low = np.minimum.reduce(finite)
    high = np.maximum.reduce(finite)
    if floats and not (isfinite(low) and isfinite(high)):
        nan = int(np.isnan(finite).sum())
        inf = int(np.isinf(finite).sum())
        finite = finite[np.isfinite(finite)]
        if not finite.size:
            return Summary(shape, name, "cpu", None, None, None, 0.0, 0.0, 0, nan, inf, (0,) * BINS)
        low = finite.min()
        high = finite.max()
    zeros = array.size - int(np.count_nonzero(array))
    wide = finite.astype(np.float64)
    mean = float(add(wide)) / wide.size
    absolute = float(add(np.abs(wide))) / wide.size
    norm = float(dot_product(wide, wide)) ** 0.5
    if not isfinite(norm) or not norm:  # the squares overflow, or vanish
        largest = float(max(abs(low), abs(high))) or 1.0
        part = wide / largest
        mean = largest * float(part.mean())
        absolute = largest * float(np.abs(part).mean())
        norm = largest * float(dot_product(part, part)) ** 0.5
    counts = histogram(wide, float(low), float(high))
    return Summary(
        shape, name, "cpu", low.item(), high.item(), mean, absolute, norm, zeros, nan, inf, counts
    )


def relative_size(size: float, scale: float) -> float:
    """Return `size / scale`; for a scale of 0 infinity, or 0 if the size is 0 too."""
    if scale:
        return size / scale
    return float("inf") if size else 0.0


def norm_of(raw: Any) -> float:
    """Return the Euclidean length of raw data; the squares of large numbers do not overflow."""
    if not getattr(raw, "shape", ()):
        return abs(float(raw))
    data = raw.astype("float64", copy=False).reshape(-1, order="A")
    squares = float(dot_product(data, data))
    if squares > 1e-300 and isfinite(squares):
        return float(squares**0.5)
    largest = float(abs(data).max()) if data.size else 0.0
    if not largest or not isfinite(largest):
        return largest
    scaled = data / largest
    return largest * float(dot_product(scaled, scaled) ** 0.5)


def add(array: Array) -> float:
    return np.add.reduce(array)  # what array.sum() does, without its checks


def histogram(wide: Array, low: float, high: float) -> tuple[int, ...]:
    """Return the number of elements in each of BINS equal bins; the first bin has all if all
    elements are equal.
    """
    half = high / 2 - low / 2  # halves, since high - low may overflow although both are finite
    if not half:
        return (wide.size, *(0,) * (BINS - 1))
    places = wide * 0.5
    places -= low / 2
    places *= BINS / half
    # the maximum falls into a bin of its own
    counts = np.bincount(places.astype(np.intp), minlength=BINS).tolist()
    return (*counts[: BINS - 1], sum(counts[BINS - 1 :]))


def name_of(dtype: Any) -> str:
    """Return the name of a numpy dtype, such as "float64"."""
    name = NAMES.get(dtype)
    if name is None:
        name = NAMES[dtype] = dtype.name
    return name
