"""The range and precision of the floating-point dtypes."""

from __future__ import annotations

from gradtrace.trace.record import Value

LARGEST = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38, "float32": 3.4028234663852886e38}
LARGEST["float64"] = 1.7976931348623157e308
SMALLEST = {"float16": 2.0**-24, "bfloat16": 2.0**-133, "float32": 2.0**-149, "float64": 2.0**-1074}
SHORT = ("float16", "bfloat16")  # what autocast and .half() compute in


def magnitude(value: Value | None) -> float | None:
    """Return the largest absolute value of the elements; None if there are none, or one is not finite."""
    if value is None or not value.is_float or not value.all_finite:
        return None
    low, high = value.summary.minimum, value.summary.maximum
    return None if low is None or high is None else max(abs(float(low)), abs(float(high)))
