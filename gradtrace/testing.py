"""torch.testing: comparing tensors within tolerances
(https://pytorch.org/docs/stable/testing.html).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gradtrace.engine.data import dtypes
from gradtrace.engine.data.lazy import np
from gradtrace.engine.data.tensor import Tensor
from gradtrace.ops.create.factories import as_tensor

__all__ = ["assert_allclose", "assert_close"]

# The default rtol and atol of each dtype, and of those that are not listed.
TOLERANCES = {
    dtypes.float16: (1e-3, 1e-5),
    dtypes.float32: (1.3e-6, 1e-5),
    dtypes.float64: (1e-7, 1e-7),
}
EXACT = (0.0, 0.0)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_dtype: bool = True,
    msg: Any = None,
    **ignored: Any,
) -> None:
    """Raise AssertionError unless tensors, numbers, or sequences and mappings of them are close.

    Close means |actual - expected| <= atol + rtol * |expected|. The default tolerances depend on
    the dtype; pass both tolerances or neither.
    """
    if (rtol is None) != (atol is None):
        missing = "atol" if atol is None else "rtol"
        raise ValueError(
            f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}."
        )
    text = difference(actual, expected, rtol, atol, equal_nan, check_dtype)
    if text:
        raise AssertionError(msg(text) if callable(msg) else msg or text)


assert_allclose = assert_close


def difference(
    actual: Any,
    expected: Any,
    rtol: float | None,
    atol: float | None,
    equal_nan: bool,
    check_dtype: bool,
) -> str:
    """Return what differs, in PyTorch's words; "" if nothing does."""
    options = (rtol, atol, equal_nan, check_dtype)
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        if actual.keys() != expected.keys():
            return "The keys of the mappings do not match"
        pairs: Any = [(key, actual[key], expected[key]) for key in actual]
        return first_difference(pairs, options)
    if isinstance(actual, Sequence) and isinstance(expected, Sequence):
        if len(actual) != len(expected):
            return f"The length of the sequences mismatch: {len(actual)} != {len(expected)}"
        return first_difference(
            [(i, *pair) for i, pair in enumerate(zip(actual, expected, strict=True))], options
        )
    a = tensor_of(actual)
    b = tensor_of(expected)
    if a.shape != b.shape:
        return f"The values for attribute 'shape' do not match: {a.shape} != {b.shape}."
    if check_dtype and a.dtype is not b.dtype:
        return f"The values for attribute 'dtype' do not match: {a.dtype} != {b.dtype}."
    return difference_of_arrays(a, b, *tolerances(a.dtype, b.dtype, rtol, atol), equal_nan)


def tensor_of(value: Any) -> Tensor:
    """Return a tensor or number as a tensor; a float has the dtype float64."""
    return as_tensor(value, dtypes.float64 if isinstance(value, float) else None)


def first_difference(pairs: list[Any], options: Any) -> str:
    """Return the first difference of triples (key, actual, expected), with its key; "" if none."""
    for key, actual, expected in pairs:
        text = difference(actual, expected, *options)
        if text:
            return f"{text}\n\nThe failure occurred for item [{key!r}]"
    return ""


def tolerances(
    a: dtypes.dtype, b: dtypes.dtype, rtol: float | None, atol: float | None
) -> tuple[float, float]:
    """Return rtol and atol: those given, else the larger defaults of the two dtypes."""
    if rtol is not None and atol is not None:
        return rtol, atol
    of_a = TOLERANCES.get(a, EXACT)
    of_b = TOLERANCES.get(b, EXACT)
    return max(of_a[0], of_b[0]), max(of_a[1], of_b[1])


def difference_of_arrays(a: Tensor, b: Tensor, rtol: float, atol: float, equal_nan: bool) -> str:
    """Return what differs between two tensors of the same shape, in PyTorch's words; "" if nothing
    does.
    """
    kind = np.result_type(a.dtype.np, b.dtype.np)
    x, y = (t.detach().array.astype(np.int64 if kind.kind == "b" else kind) for t in (a, b))
    wrong = ~np.isclose(x.astype(np.float64), y.astype(np.float64), rtol, atol, equal_nan=equal_nan)
    if not np.any(wrong):
        return ""
    apart = np.abs(x - y)
    ratio = np.true_divide(
        apart, np.abs(y), dtype=kind if kind.kind == "f" else np.float32, casting="unsafe"
    )
    if not a.ndim:
        return (
            f"Scalars are not {'close' if rtol or atol else 'equal'}!\n\nExpected {b.item()} but "
            f"got {a.item()}.\n"
            f"Absolute difference: {apart.item()}{allowed(atol)}\nRelative difference: "
            f"{ratio.item()}{allowed(rtol)}"
        )
    lines = [
        f"Tensor-likes are not {'close' if rtol or atol else 'equal'}!",
        "",
        f"Mismatched elements: {int(wrong.sum())} / {wrong.size} ({wrong.mean():.1%})",
    ]
    for name, values, limit in (("absolute", apart, atol), ("relative", ratio, rtol)):
        place = np.unravel_index(np.argmax(np.where(wrong, values, -1)), values.shape)
        index = tuple(int(i) for i in place)
        lines.append(
            f"Greatest {name} difference: {values[index].item()} at index {index}{allowed(limit)}"
        )
    return "\n".join(lines)


def allowed(limit: float) -> str:
    return f" (up to {limit} allowed)" if limit else ""
