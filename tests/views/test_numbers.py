"""Numbers as text: short, full, JSON-safe, sparkline."""

import json
import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trace_samples import value

from gradtrace.trace.record import Value
from gradtrace.views import numbers


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (6.0, "6"),
        (1 / 3, "0.333333"),
        (1e6, "1e6"),
        (1e-5, "1e-5"),
        (-2.5, "-2.5"),
        (123456789, "123456789"),
        (True, "True"),
        (math.nan, "nan"),
        (-math.inf, "-inf"),
        (0.0, "0"),
    ],
)
def test_number(x, text):
    assert numbers.number(x) == text


def test_short_scalars_and_small_arrays_are_written_out():
    assert numbers.short(value(6.0)) == "6"
    assert numbers.short(value([1, 2.5])) == "[1, 2.5]"
    assert numbers.short(value([[1, 2], [3, 4]])) == "[[1, 2], [3, 4]]"
    assert numbers.short(None) == ""


def test_short_large_arrays_are_summed_up():
    assert numbers.short(value(np.arange(101.0))) == "(101,)  0..100  mean 50"
    assert numbers.short(value(np.zeros((0, 3)))) == "(0, 3)  empty"
    data = np.arange(10.0)
    data[3], data[4], data[5] = math.nan, math.inf, -math.inf
    assert numbers.short(value(data)) == "(10,)  0..9  mean 4.714  1 NaN  2 Inf"


def test_stats_when_nothing_is_finite():
    assert numbers.stats(value([math.nan] * 3)) == numbers.Stats(3, None, None, None, 3, 0)
    assert numbers.stats(value(math.inf)) == numbers.Stats(1, None, None, None, 0, 1)


def test_integers_and_booleans():
    assert numbers.short(value([1, 2], "int64")) == "[1, 2]"
    assert numbers.full(value([True, False], "bool")) == "[True, False]"
    assert numbers.short(value(np.ones(20), "bool")) == "(20,)  20 of 20 True"
    assert numbers.short(value(np.ones(20))) == "(20,)  all 1"


@given(st.lists(st.floats(), min_size=1, max_size=5))
def test_full_reads_back(data):
    text = numbers.full(value(data))
    back = eval(text, {"nan": math.nan, "inf": math.inf})
    assert all(a == b or (a != a and b != b) for a, b in zip(data, back, strict=True))


@given(st.recursive(st.floats() | st.integers() | st.text(), st.lists))
def test_json_is_strict(data):
    text = json.dumps(numbers.jsonable(data), allow_nan=False)
    assert json.loads(text, parse_constant=pytest.fail) == numbers.jsonable(data)


def test_jsonable():
    assert numbers.jsonable(value([1.0, math.nan, math.inf, -math.inf])) == [
        1.0,
        "NaN",
        "Infinity",
        "-Infinity",
    ]
    assert numbers.jsonable(value(math.nan)) == "NaN"
    assert numbers.jsonable(None) is None


def test_sparkline():
    assert numbers.sparkline(value([0, 1, 2, 3, 4, 5, 6, 7])) == "▁▂▃▄▅▆▇█"
    assert numbers.sparkline(value([1.0, 1.0])) == "▄▄"
    assert numbers.sparkline(value([0.0, math.nan, 1.0])) == "▁×█"
    assert numbers.sparkline(value(2.0)) == ""
    assert numbers.sparkline(value([1e308, -1e308])) == "█▁"
    assert len(numbers.sparkline(value(np.arange(1000.0)), 16)) == 16


def test_values_are_equal_by_contents():
    assert value([1.0, math.nan]) == value([1.0, math.nan])
    assert value([1.0, 2.0]) != value([1.0, 3.0])
    assert Value((), "float64", math.nan) == Value((), "float64", math.nan)
    assert value(1.0) != value([1.0])


def test_scalars_need_no_numpy():
    code = (
        "import sys; from gradtrace.views import numbers; from gradtrace.trace.record import Value;"
        "v = Value((), 'float64', 2.5);"
        "print(numbers.short(v), numbers.full(v), numbers.jsonable(v), numbers.stats(v).mean, 'numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "2.5 2.5 2.5 2.5 False\n"
