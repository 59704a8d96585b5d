"""The same seed gives the numbers of PyTorch's CPU generator, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradtrace as gt
from tests.ops import random_cases

RECORDED = random_cases.recorded()
CASES: dict[str, list[Any]] = {}
for _case in random_cases.cases():
    CASES.setdefault(_case[0], []).append(_case)


@pytest.mark.parametrize("text", CASES)
def test_numbers_are_pytorchs(text: str) -> None:
    found = {random_cases.label(case): random_cases.checksums(gt, case) for case in CASES[text]}
    assert found == {label: RECORDED[label] for label in found}


def test_every_recorded_case_is_tried() -> None:
    assert {random_cases.label(case) for case in random_cases.cases()} == set(RECORDED)


def test_normal_numbers_of_a_large_array() -> None:
    """The last 16 of 1,000,003 are made again, so those before them are the same as in a shorter array."""
    gt.manual_seed(1)
    long = gt.randn(1_000_003)
    gt.manual_seed(1)
    short = gt.randn(1_000_000)
    assert gt.equal(long[:999_987], short[:999_987])
    assert abs(float(long.mean())) < 0.01 and abs(float(long.std()) - 1) < 0.01


def test_a_state_continues_the_stream() -> None:
    generator = gt.Generator().manual_seed(3)
    gt.randn(3, generator=generator)
    before = generator.get_state()
    first = gt.randn(5, generator=generator)
    other = gt.Generator()
    other.set_state(before)
    assert other.initial_seed() == 3
    assert gt.equal(first, gt.randn(5, generator=other))
    assert gt.equal(gt.rand(7, generator=generator.clone_state()), gt.rand(7, generator=other))


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (
            gt.zeros(5, dtype=gt.uint8),
            "Expected a CPUGeneratorImplState of size 5056 but found the input RNG state",
        ),
        (gt.zeros(5056, dtype=gt.uint8), "Invalid mt19937 state"),
    ],
)
def test_a_wrong_state_is_refused(state: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        gt.set_rng_state(state)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gt.rand(2, dtype=gt.int64), "\"check_uniform_bounds\" not implemented for 'Long'"),
        (
            lambda: gt.zeros(2).uniform_(1, 0),
            r"uniform_ expects to return a \[from, to\) range, but found from=1 > to=0",
        ),
        (lambda: gt.zeros(2).normal_(0, -1.5), "normal expects std >= 0.0, but found std -1.5"),
        (lambda: gt.zeros(2).bernoulli_(2), r"bernoulli_ expects p to be in \[0, 1\], but got p=2"),
        (
            lambda: gt.zeros(2).exponential_(0),
            "exponential_ expects lambda > 0.0, but found lambda=0",
        ),
        (
            lambda: gt.zeros(2, dtype=gt.int64).cauchy_(),
            "Cauchy distribution is a continuous probability",
        ),
        (
            lambda: gt.zeros(2).geometric_(1.5),
            r"geometric_ expects p to be in \(0, 1\), but got p=1.5",
        ),
        (
            lambda: gt.zeros(2, dtype=gt.uint8).random_(0, 300),
            "to - 1 is out of bounds for unsigned char",
        ),
        (
            lambda: gt.multinomial(gt.tensor([1.0, -2.0]), 1, True),
            "probability tensor contains either",
        ),
        (
            lambda: gt.multinomial(gt.tensor([1.0, 2.0]), 3),
            "cannot sample n_sample > prob_dist.size",
        ),
        (
            lambda: gt.poisson(gt.tensor([-1.0])),
            "invalid Poisson rate, expected rate to be non-negative",
        ),
        (lambda: gt.bernoulli(gt.tensor([2.0])), "Expected p_in >= 0 && p_in <= 1 to be true"),
    ],
)
def test_wrong_arguments(call: Any, message: str) -> None:
    with pytest.raises((RuntimeError, NotImplementedError), match=message):
        call()


def test_counts_that_no_integer_holds() -> None:
    assert gt.binomial(gt.tensor([np.inf]), gt.tensor([0.3])).isnan().all()
    assert float(gt.poisson(gt.tensor([np.inf]))) < 0  # as C casts it
