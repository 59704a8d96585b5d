"""Checksums and sketches: what a record can say of two tensors whose elements it did not keep."""

import math

import numpy as np
import pytest

from gradtrace.trace.array_summary import summarize
from gradtrace.trace.sketches import checksum_of, equal_bits, relative_difference, sketch_of
from gradtrace.trace.values import Value, frozen, summarized


def summary(array):
    return summarized(summarize(array))


def moved(array, relative, seed=1):
    """An array whose relative difference from another is as given, up to rounding."""
    step = np.random.default_rng(seed).standard_normal(array.shape)
    step *= relative * np.linalg.norm(array) / np.linalg.norm(step)
    return (array.astype(np.float64) + step).astype(array.dtype)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("relative", [1e-6, 1e-3, 0.1])
@pytest.mark.parametrize("shape", [(1100,), (64, 64), (40, 50, 60), (1000, 300)])
def test_the_relative_difference_is_estimated_to_ten_percent(shape, relative):
    array = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    ratios = []
    for seed in range(40):
        other = moved(array, relative, seed)
        exact = relative_difference(frozen(array), frozen(other))
        ratios.append(relative_difference(summary(array), summary(other)) / exact)
        assert relative_difference(frozen(array), summary(other)) / exact == pytest.approx(
            ratios[-1]
        )
    assert np.mean(ratios) == pytest.approx(1, abs=0.05) and np.std(ratios) < 0.13


@pytest.mark.parametrize("place", [np.s_[:, 17], np.s_[5], np.s_[8:16], np.s_[:, 64:128], np.s_[:]])
def test_a_difference_in_a_part_of_a_tensor_is_estimated_too(place):
    ratios = []
    for seed in range(40):
        array = np.random.default_rng(seed).standard_normal((96, 256))
        other = array.copy()
        other[place] += np.random.default_rng(seed + 99).standard_normal(other[place].shape)
        ratios.append(
            relative_difference(summary(array), summary(other))
            / relative_difference(frozen(array), frozen(other))
        )
    assert np.mean(ratios) == pytest.approx(1, abs=0.05) and np.std(ratios) < 0.15


def test_one_element_shows_with_its_whole_size():
    array = np.random.default_rng(0).standard_normal((300, 400))
    other = array.copy()
    other[123, 45] += 1
    assert relative_difference(summary(array), summary(other)) == pytest.approx(
        1 / np.linalg.norm(other), rel=1e-6
    )


def test_the_order_is_part_of_a_sketch():
    array = np.random.default_rng(0).standard_normal((60, 40))
    assert sketch_of(array.T) == sketch_of(np.ascontiguousarray(array.T)) != sketch_of(array)
    assert checksum_of(array.T) == checksum_of(np.ascontiguousarray(array.T)) != checksum_of(array)
    assert relative_difference(summary(array), summary(array.T)) > 1
    assert relative_difference(summary(array), frozen(array.reshape(-1))) == 0


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64", "uint8", "bool"])
def test_a_checksum_sees_every_bit_and_every_place(dtype):
    array = np.maximum(np.random.default_rng(0).standard_normal(5001) * 3, 0).astype(dtype)
    known = {checksum_of(array)}
    bits = array.view(np.uint8)
    for octet in range(0, bits.size, 61):
        for bit in (0, 7) if dtype != "bool" else (0,):
            bits[octet] ^= 1 << bit
            known.add(checksum_of(array))
            bits[octet] ^= 1 << bit
    assert len(known) == 1 + len(range(0, bits.size, 61)) * (2 if dtype != "bool" else 1)
    assert checksum_of(array[::-1]) != checksum_of(array) == checksum_of(array.copy())


@pytest.mark.parametrize("count", [1, 2, 8, 336, 671, 1340, 2680, 65536])
def test_a_checksum_sees_signs(count):
    array = np.random.default_rng(0).standard_normal(count)
    assert checksum_of(array) != checksum_of(-array)
    assert checksum_of(np.zeros(count)) != checksum_of(-np.zeros(count))
    assert checksum_of(np.zeros(count)) != checksum_of(np.zeros(count + 1))


def test_known_numbers():
    """They must not depend on the version, the machine or the library."""
    array = np.arange(70_000, dtype=np.float64) % 17 - 8
    assert checksum_of(array) == 4246018070411316976
    assert sketch_of(array)[:6] == (-239, 113, 81, 238, -125, -22)


def test_numbers_that_are_not_finite():
    array = np.random.default_rng(0).standard_normal((40, 50))
    bad = array.copy()
    bad[3, 4], bad[5, 6] = math.nan, math.inf
    assert relative_difference(summary(bad), summary(bad.copy())) == 0
    assert relative_difference(summary(bad), summary(array)) == math.inf
    assert relative_difference(frozen(bad), frozen(array)) == math.inf
    assert relative_difference(frozen(bad), frozen(bad.copy())) == 0
    other = moved(np.where(np.isfinite(bad), bad, 0), 1e-3)
    other[~np.isfinite(bad)] = bad[~np.isfinite(bad)]
    assert relative_difference(summary(bad), summary(other)) == pytest.approx(1e-3, rel=0.4)
    assert relative_difference(frozen(bad), frozen(other)) == pytest.approx(1e-3, rel=1e-2)
    large = np.full((30, 50), 1e308)
    assert (
        np.isfinite(sketch_of(large)).all()
        and np.isfinite(sketch_of(large.astype(np.float32) * 0 + 3e38)).all()
    )


def test_what_is_not_known():
    array = np.ones((40, 50))
    unknown = summarized(summarize(array)._replace(checksum=None, sketch=None))
    assert (
        relative_difference(unknown, summary(array)) is None
        and equal_bits(unknown, summary(array)) is None
    )
    assert relative_difference(summary(array), summary(np.ones((40, 51)))) is None
    assert equal_bits(summary(array), summary(array.astype(np.float32))) is False
    assert equal_bits(summary(array), frozen(array)) is True
    assert (
        equal_bits(frozen(1.5), frozen(1.5)) is True
        and equal_bits(frozen(0.0), frozen(-0.0)) is False
    )
    assert (
        relative_difference(frozen(2.0), frozen(1.0)) == 0.5
        and relative_difference(frozen(0.0), frozen(0.0)) == 0
    )


def test_a_bfloat16_is_compared_by_its_own_bits():
    array = np.arange(2000, dtype=np.float32)
    bits = (array.view(np.uint32) >> 16).astype(np.uint16)
    kept = summarize(array)._replace(dtype="bfloat16", checksum=checksum_of(bits))
    whole = Value((2000,), "bfloat16", (bits.astype(np.uint32) << 16).view(np.float32))
    assert equal_bits(summarized(kept), whole) is True
