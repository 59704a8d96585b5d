"""Values and gradients at ties, kinks, zeros, infinities and nan are PyTorch's; see special_points.py.

nan, inf, -inf and the sign of zero agree exactly. Other numbers agree within TOLERANCE * (|x| + 0.1), with 1e-12 in
float64 and 2e-6 in float32, where the libraries under PyTorch and numpy round the last digits differently; LOOSE names
the few further off.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import gradtrace as torch
from tests.ops import special_points as points
from tests.ops import special_record

ENTRIES = [
    {"expression": text, "leaves": leaves, "float64": exact, "float32": rounded}
    for (text, exact, rounded), (_, leaves) in zip(
        special_record.read(points.RECORDED.read_text(encoding="utf-8")),
        points.every_entry(),
        strict=True,
    )
]
TOLERANCE = {"float64": 1e-12, "float32": 2e-6}
# torch.polygamma(1, ...) is good to nine digits only; in float32 tanh's powers cancel.
LOOSE: dict[str, float] = {
    "torch.digamma(x)": 1e4,
    "torch.polygamma(1, x.abs() + 1)": 1e4,
    "F.gelu(x, approximate='tanh')": 10,
    "F.layer_norm(x, (3,))": 10,
}


def differences(found: Any, expected: Any, tolerance: float) -> list[str]:
    """What differs, number by number."""
    if (found is None) != (expected is None):
        return [f"{found} instead of {expected}"]
    if found is None:
        return []
    a, b = np.array(found, np.float64), np.array(expected, np.float64)
    if a.shape != b.shape:
        return [f"{found} instead of {expected}"]
    a, b = a.reshape(-1), b.reshape(-1)
    with np.errstate(all="ignore"):
        close = (a == b) & (np.signbit(a) == np.signbit(b)) | (np.isnan(a) & np.isnan(b))
        near = np.abs(a - b) <= tolerance * (np.abs(b) + 0.1)
        close |= np.isfinite(a) & np.isfinite(b) & ((a != 0) | (b != 0)) & near
    return [f"at {i}: {a[i]!r} instead of {b[i]!r}" for i in np.flatnonzero(~close)]


def compare(text: str, found: Any, expected: Any, dtype: str) -> list[str]:
    if isinstance(found, str) or isinstance(expected, str):
        return [] if found == expected else [f"{found} instead of {expected}"]
    tolerance = LOOSE.get(text, 1) * TOLERANCE[dtype]
    told = []
    for part, ours, theirs in zip(("value", "gradient"), found, expected, strict=True):
        if len(ours) != len(theirs):
            told.append(f"{len(ours)} instead of {len(theirs)} of {part}")
            continue
        for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            told += [f"{part} {i} {line}" for line in differences(a, b, tolerance)]
    return told


def by_expression() -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for entry in ENTRIES:
        found.setdefault(entry["expression"], []).append(entry)
    return found


GROUPS = by_expression()


@pytest.mark.parametrize("dtype", points.DTYPES)
@pytest.mark.parametrize("text", GROUPS)
def test_at_special_points(text: str, dtype: str) -> None:
    told = []
    for entry in GROUPS[text]:
        found = points.evaluate(torch, text, entry["leaves"], dtype)
        told += [f"{entry['leaves']}: {line}" for line in compare(text, found, entry[dtype], dtype)]
    assert told == []


@pytest.mark.parametrize("text", [*points.OF_UNARY, *points.OF_PAIRS])
def test_of_single_numbers(text: str) -> None:
    """A float64 scalar is a Python float inside, with kernels and rules of its own."""
    entry = GROUPS[text][0]
    values, gradients = entry["float64"]
    told = []
    for i in range(len(entry["leaves"]["x"])):
        leaves = {name: several[i] for name, several in entry["leaves"].items()}
        expected = [[v[i] for v in values], [None if g is None else g[i] for g in gradients]]
        found = points.evaluate(torch, text, leaves, "float64")
        told += [f"{leaves}: {line}" for line in compare(text, found, expected, "float64")]
    assert told == []


def test_the_record_is_of_these_entries() -> None:
    assert [entry["expression"] for entry in ENTRIES] == [text for text, _ in points.every_entry()]


def test_the_record_is_read_as_it_was_written() -> None:
    some = [{"expression": "f(x)", "float64": results, "float32": results} for results in (
        [[[0.0, -0.0, math.nan, -math.inf, 2.5]], [[1.0, 1.0, 1.0, 1.0, 0.5]]],
        [[3.0, [1, 2], [[True], [False]]], [None, [0.25]]],
        "RuntimeError",
    )]  # fmt: skip
    read = list(special_record.read(special_record.write(some)))
    assert repr([[*one.values()] for one in some]) == repr([list(one) for one in read])
