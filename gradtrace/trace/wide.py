"""Arithmetic of the error measurements: wider types, norms, and one result compared with two wider
ones.

float16 and float32 are compared in float64. float64 is compared in numpy's long double, which has
64 bits of precision on x86 and the same 53 as float64 on some other machines; there float64 cannot
be measured.
"""

from __future__ import annotations

from itertools import pairwise

from gradtrace.annotations import Any, Sequence
from gradtrace.engine.data.lazy import np
from gradtrace.engine.operators.op import Op
from gradtrace.trace.array_summary import relative_size
from gradtrace.trace.wide_special import KERNELS

Array = Any
TRIED = 7  # numbers on which a kernel's precision is tried
_has_wide_kernel: dict[str, bool] = {}  # by record name


def wide_dtype(dtype: Any) -> Any:
    """Return the dtype to compare a floating dtype with; any other dtype unchanged."""
    if dtype.kind != "f":
        return dtype
    return np.dtype(np.float64 if dtype.itemsize < 8 else np.longdouble)


def can_measure(dtype: Any) -> bool:
    """Return whether a wider type than this floating dtype exists on this machine."""
    return bool(np.finfo(wide_dtype(dtype)).nmant > np.finfo(dtype).nmant)


def rounding(dtype: Any) -> float:
    """Return half the distance from 1 to the next number of a floating dtype."""
    return float(np.finfo(dtype).eps) / 2


def widened(value: Any) -> Any:
    """Return raw data in the wider type: a float or an array; any other value unchanged."""
    if type(value) is float:
        return np.asarray(value, np.longdouble)
    if isinstance(value, (np.ndarray, np.generic)):
        return np.asarray(value).astype(wide_dtype(value.dtype))
    return value


def widened_plain(value: Any) -> Any:
    """Return a plain argument: a dtype as its wider one, any other value unchanged."""
    return wide_dtype(value) if isinstance(value, np.dtype) else value


def kernel_of(record: Op, raws: Sequence[Any]) -> Any:
    """Return the kernel that computes arrays in their own precision."""
    is_long = record.name in KERNELS and raws[0].dtype == np.longdouble
    return KERNELS[record.name] if is_long else record.kernel


def has_wide_kernel(record: Op, plain: Sequence[Any]) -> bool:
    """Return whether a record's kernel computes long doubles in their own precision.

    Some kernels of special functions compute in float64 whatever they get. They are found by a try
    on numbers that float64 does not have: if all results are numbers of float64, and not integers,
    the kernel rounds to it.
    """
    if record.kind != "elementwise" or record.name in KERNELS:
        return True
    is_wide = _has_wide_kernel.get(record.name)
    if is_wide is None:
        trial = np.sqrt(np.arange(2, 2 + TRIED).astype(np.longdouble)) / 4
        try:
            out = np.asarray(record.kernel(*[trial] * record.arity, *plain))
        except Exception:
            # these arguments do not fit the trial: the call itself shows what the kernel does
            return True
        fractions = (
            out[np.isfinite(out) & (out != np.rint(out))] if out.dtype.kind == "f" else out[:0]
        )
        is_wide = not fractions.size or bool((fractions != fractions.astype(np.float64)).any())
        _has_wide_kernel[record.name] = is_wide
    return is_wide


def norm(x: Array) -> float:
    """Return the Euclidean norm of the finite elements, without overflow."""
    x = np.abs(x[np.isfinite(x)])
    largest = x.max(initial=0)
    return float(largest * np.sqrt(np.square(x / largest).sum())) if largest else 0.0


def magnitude(x: Array) -> float:
    """Return the largest finite magnitude."""
    x = np.abs(x[np.isfinite(x)])
    return float(x.max(initial=0))


def difference(a: Array, b: Array) -> Array:
    """Return a - b; 0 where both are equal, also inf or nan, and inf where only one of them is
    finite.
    """
    same = (a == b) | ((a != a) & (b != b))
    return np.where(same, 0, np.where(np.isfinite(a) & np.isfinite(b), a - b, np.inf))


def relative(error: Array, size: float) -> float:
    """Return the norm of an error by the norm `size` of the right result; inf for an error that is
    not finite.
    """
    if not np.isfinite(error).all():
        return float("inf")
    return relative_size(norm(error), size)


def share(part: Array, whole: Array) -> float:
    """Return the projection <part, whole> / <whole, whole>; 1 or 0 if something is not finite."""
    if not (np.isfinite(part).all() and np.isfinite(whole).all()):
        return float(not np.isfinite(part).all())
    largest = np.abs(whole).max(initial=0)
    if not largest:
        return 0.0
    scaled = whole / largest
    return float((part / largest * scaled).sum() / np.square(scaled).sum())


def is_rounded_sum(a: Any, b: Any, result: Any) -> bool:
    """Return whether a + b or a - b (or b - a) was rounded to be `result`; False if something is
    not finite.
    """
    sums = ((result - a == b) & (result - b == a), (a - result == b) & (result + b == a))
    exact = sums[0] | sums[1] | ((result - b == -a) & (result + a == b))
    return bool((~exact & (result - result == 0)).any())


def errors(result: Array, stages: Sequence[Array]) -> dict[str, Any]:
    """Return the numbers of a Measured row, by field name, and the shares of the inputs as
    "shares".

    `stages` are the operation's wide results: from the shadows of all inputs, then with the actual
    value of one more input each, up to that of all actual inputs.
    """
    actual = widened(result)
    shadow = np.asarray(stages[0])
    local = np.asarray(stages[-1])
    unit = rounding(result.dtype)
    size = norm(shadow)
    whole = difference(actual, shadow)
    parts = [difference(np.asarray(b), np.asarray(a)) for a, b in pairwise(stages)]
    magnitudes = np.abs(local[np.isfinite(local) & (local != 0)])
    tiny = np.finfo(result.dtype).tiny
    finite = np.isfinite(local)
    ones = np.abs(actual) == 1
    return {
        "dtype": result.dtype.name,
        "elements": int(result.size),
        "norm": size,
        "added": relative(difference(actual, local), size) / unit,
        "inherited": relative(difference(local, shadow), size) / unit,
        "error": relative(whole, size) / unit,
        "overflowed": int((finite & ~np.isfinite(actual)).sum()),
        "underflowed": int((finite & (local != 0) & (actual == 0) & (np.abs(local) < tiny)).sum()),
        "subnormal": int(((actual != 0) & (np.abs(actual) < tiny)).sum()),
        "saturated": int((ones & (np.abs(local) != 1)).sum()),
        "largest": float(magnitudes.max(initial=0)),
        "smallest": float(magnitudes.min()) if magnitudes.size else 0.0,
        "shares": [share(part, whole) for part in parts],
        "room": float(np.finfo(result.dtype).max) / (magnitude(shadow) or 1e-300),
    }
