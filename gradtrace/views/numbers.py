"""Format numbers: short for a cell or a node, in full for files, and JSON-safe.

    short(value)      "6"   "[1, 2.5]"   "(64, 128)  -0.31..0.42  mean 0.0012"
    full(value)       "6.0" "[1.0, 2.5]"                       reads back to the same number
    jsonable(data)    6.0   [1.0, "NaN"]   {"shape": [2, 3]}   strict JSON: no bare NaN or Infinity
    sparkline(value)  "▁▃▅█"

All take a trace `Value`; `jsonable` takes records and lists of them too. Scalars are formatted
without numpy, so that scalar programs run without importing it.
"""

from __future__ import annotations

import math
from itertools import pairwise

from gradtrace.annotations import Any, NamedTuple
from gradtrace.trace import fields
from gradtrace.trace.record import HookRun, Span, Value
from gradtrace.trace.values import remembered

BLOCKS = "▁▂▃▄▅▆▇█"
NOT_FINITE = "×"
SMALL = 6  # elements of an array still written out in a cell
CELL = 36  # characters of such a text
UNITS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
NEXT = 0.9995  # of a unit: 999,600 is 1 M


class Stats(NamedTuple):
    """The smallest, largest and mean finite element (None if there are none), and the number of NaN
    and infinities.
    """

    total: int
    low: float | None
    high: float | None
    mean: float | None
    nan: int
    inf: int


def number(x: float, digits: int = 6) -> str:
    """Return a number with `digits` significant digits: "6", "0.333333", "1e6", "-inf", "True"."""
    if isinstance(x, int):  # a bool is one
        return str(x)
    text = format(x, f".{digits}g")
    if "e" not in text:
        return text
    mantissa, exponent = text.split("e")
    return f"{mantissa}e{int(exponent)}"


def count(x: int) -> str:
    """Return a count that can be large with three digits and a unit: "4.09 G"; "" for 0."""
    for unit, letter in UNITS:
        if x >= unit * NEXT:
            return f"{number(x / unit, 3)} {letter}"
    return str(x) if x else ""


def shape(value: Value) -> str:
    """Return a value's shape: "()", "(3,)", "(3, 4)"."""
    return str(tuple(value.shape))


@remembered
def stats(value: Value) -> Stats:
    """Return range, mean and the number of NaN and Inf of a value of any shape (also empty)."""
    if not value.shape and value.is_whole:
        return _scalar_stats(value.data)
    if not value.is_whole:
        kept = value.summary
        return Stats(value.numel, kept.minimum, kept.maximum, kept.mean, kept.nan, kept.inf)
    data = value.data
    if not data.size:
        return Stats(0, None, None, None, 0, 0)
    low = data.min().item()
    high = data.max().item()
    nan = inf = 0
    # NaN and inf show in one of them
    if data.dtype.kind == "f" and not abs(low) < math.inf > abs(high):
        nan = int((data != data).sum())
        inf = int((abs(data) == math.inf).sum())
        data = data[abs(data) < math.inf]
        if not data.size:
            return Stats(value.numel, None, None, None, nan, inf)
        low = data.min().item()
        high = data.max().item()
    # float32 sums of large arrays lose the last digits shown, so the mean is taken in float64
    return Stats(value.numel, low, high, data.sum(dtype="float64").item() / data.size, nan, inf)


def _scalar_stats(x: Any) -> Stats:
    if x != x:
        return Stats(1, None, None, None, 1, 0)
    if abs(x) == math.inf:
        return Stats(1, None, None, None, 0, 1)
    return Stats(1, x, x, float(x), 0, 0)


def elements(value: Value, digits: int = 4) -> str:
    """Return the elements as a nested list: "[[1, 2], [3, 4]]"."""
    if not value.shape:
        return number(value.data, digits)
    return _nested(value.data.tolist(), digits)


def _nested(items: Any, digits: int) -> str:
    if isinstance(items, list):
        return "[" + ", ".join(_nested(item, digits) for item in items) + "]"
    return number(items, digits)


def summary(value: Value) -> str:
    """Return range, mean and the bad elements: "-0.31..0.42  mean 0.0012  2 NaN", "all 1"; for
    booleans "3 of 8 True".
    """
    facts = stats(value)
    if value.dtype == "bool" and value.shape and value.numel:
        return f"{value.numel - value.zeros} of {value.numel} True" if value.is_measured else ""
    parts = []
    if facts.low is not None and facts.low == facts.high and not facts.nan and not facts.inf:
        return f"all {number(facts.low, 4)}"
    if facts.low is not None and facts.high is not None and facts.mean is not None:
        parts += [
            f"{number(facts.low, 4)}..{number(facts.high, 4)}",
            f"mean {number(facts.mean, 4)}",
        ]
    parts += [f"{facts.nan} NaN"] if facts.nan else []
    parts += [f"{facts.inf} Inf"] if facts.inf else []
    return "  ".join(parts) or ("" if value.numel else "empty")


def hook_text(hook: HookRun) -> str:
    """Return what a hook made of a gradient: "hook clip: 1 → 10"."""
    return f"hook {hook.name}: {short(hook.before) or 'none'} → {short(hook.after) or 'none'}"


def short(value: Value | None, small: int = SMALL, width: int = CELL) -> str:
    """Return one line for a cell: a scalar with 6 digits, the elements of a small array, or a large
    one's shape, range and mean.
    """
    if value is None:
        return ""
    if not value.shape and value.is_whole:
        return number(value.data)
    if 0 < value.numel <= small and value.is_whole:
        text = elements(value)
        if len(text) <= width:
            return text
    return f"{shape(value)}  {summary(value)}".rstrip()


def full(value: Value) -> str:
    """Return every element with all digits, so that reading the text gives the same number: "5.0",
    "[[1.0, nan], [-inf, 2.0]]".

    If only a summary was kept, return the shape and the range; "meta" for a tensor of that device.
    """
    if value.is_meta:
        return "meta"
    if not value.is_whole:
        return short(value)
    data = value.data if not value.shape else value.data.tolist()
    return _full(data)


def _full(data: Any) -> str:
    if isinstance(data, list):
        return "[" + ", ".join(map(_full, data)) + "]"
    return repr(data)


def jsonable(data: Any) -> Any:
    """Return data as JSON can hold it, at any depth: a value as nested lists, a record as an
    object, a place in the program as its line, NaN and infinities as the strings "NaN", "Infinity"
    and "-Infinity".

    A value of which only a summary was kept becomes an object with its facts: {"summary": {"shape":
    [64, 128], ...}}. Facts that are not known, such as those of a tensor on the device "meta", are
    null.
    """
    if isinstance(data, float):
        return fields.number(data)
    if isinstance(data, Value):
        if data.kept is not None:
            facts: dict[str, Any] = jsonable(data.kept)
            if not data.is_measured:
                facts = {
                    **dict.fromkeys(facts),
                    "shape": data.shape,
                    "dtype": data.dtype,
                    "device": data.kept.device,
                }
            return {
                "summary": {
                    name: fact for name, fact in facts.items() if name not in ("checksum", "sketch")
                }
            }
        return jsonable(data.data if not data.shape else data.data.tolist())
    if isinstance(data, Span):
        return data.line
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return {
            ("line" if name == "span" else name): jsonable(getattr(data, name))
            for name in data._fields
        }
    if isinstance(data, dict):
        return {key: jsonable(item) for key, item in data.items()}
    if isinstance(data, (list, tuple)):
        return [jsonable(item) for item in data]
    return data


@remembered
def sparkline(value: Value, width: int = 16) -> str:
    """Return the elements in order as block characters, at most `width`, each for the mean of a
    stretch of elements.

    A stretch with a NaN or an infinity is shown as ×. Equal elements give a line at half height. If
    only a summary was kept, its histogram is shown.
    """
    if not value.shape or not value.numel:
        return ""
    if value.kept is not None:
        if not value.kept.histogram:
            return ""
        return "".join(
            _block(float(n), 0.0, float(max(value.kept.histogram)))
            for n in value.kept.histogram[:width]
        )
    flat = value.data.reshape(-1)
    columns = min(width, flat.size)
    edges = [flat.size * i // columns for i in range(columns + 1)]
    means = [float(flat[a:b].mean(dtype="float64")) for a, b in pairwise(edges)]
    finite = [m for m in means if math.isfinite(m)]
    low = min(finite, default=0.0)
    high = max(finite, default=0.0)
    return "".join(_block(m, low, high) for m in means)


def _block(x: float, low: float, high: float) -> str:
    if not math.isfinite(x):
        return NOT_FINITE
    span = high / 2 - low / 2  # halves first: high - low may overflow although both are finite
    if span <= 0:
        return BLOCKS[3]
    share = (x / 2 - low / 2) / span
    return BLOCKS[min(7, int(share * 8))]
