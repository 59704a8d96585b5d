"""erf and erfc against the C library's, which are themselves off by up to an ulp."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import gradtrace as torch
from gradtrace.ops.special import gamma_incomplete

AT = np.concatenate(
    [
        np.random.default_rng(0).uniform(-7, 7, 20_000),
        np.random.default_rng(1).uniform(-28, 28, 5_000),
        [0.0, 5e-324, 1e-300, 0.25, 0.5, 0.84375, 1.25, 1 / 0.35, 28.0],
    ]
)


@pytest.mark.parametrize(
    ("function", "exact", "ulps"), [(torch.erf, math.erf, 2), (torch.erfc, math.erfc, 4)]
)
def test_to_the_last_digits(function: Any, exact: Any, ulps: int) -> None:
    expected = np.array([exact(x) for x in AT])
    wrong = np.abs(function(torch.tensor(AT)).array - expected) / np.spacing(np.abs(expected))
    assert wrong.max() <= ulps


def test_at_the_ends() -> None:
    ends = torch.tensor([math.inf, -math.inf, math.nan, -0.0])
    assert str(torch.erf(ends)) == "tensor([ 1., -1., nan, -0.])"
    assert str(torch.erfc(ends)) == "tensor([0., 2., nan, 1.])"


def test_numbers_and_arrays_agree() -> None:
    for x in (-2.5, 0.1, 0.9, 2.0, 5.0):
        number = torch.erf(torch.tensor(x, dtype=torch.float64))
        assert math.isclose(
            number.item(), torch.erf(torch.tensor([x], dtype=torch.float64)).item(), rel_tol=4e-16
        )


def test_a_fraction_ends_for_many_elements_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    dice = np.random.default_rng(0)
    a, x = dice.uniform(0.1, 9, 2_000), dice.uniform(1, 20, 2_000)
    alone = [
        torch.igammac(torch.tensor(p), torch.tensor(q)).item()
        for p, q in zip(a[:50], x[:50], strict=True)
    ]
    terms: list[int] = []

    def counted(*bounds: int) -> Any:
        for k in range(*bounds):
            terms.append(k)
            yield k

    monkeypatch.setattr(gamma_incomplete, "range", counted, raising=False)
    together = torch.igammac(torch.tensor(a), torch.tensor(x)).array
    assert max(terms) < 400  # each element reaches its last digit after another number of terms
    assert together[:50] == pytest.approx(alone, rel=1e-13)
    total = together + torch.igamma(torch.tensor(a), torch.tensor(x)).array
    assert total == pytest.approx(1, rel=1e-13)
