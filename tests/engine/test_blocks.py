"""Backward by blocks on large arrays gives the very numbers that whole arrays give; sin and cos there are numpy's
within one unit in the last place."""

import gc

import numpy as np
import pytest

import gradtrace as gt
from gradtrace.engine.data.dtypes import LARGE
from gradtrace.engine.data.state import state
from gradtrace.engine.operators import trigonometry
from gradtrace.engine.reverse import blocks


@pytest.fixture(autouse=True)
def no_observers(monkeypatch):
    """Graphs with hooks that other tests of this process keep alive would make every pass an ordered one."""
    gc.collect()
    monkeypatch.setattr(state, "live_observers", 0)


SIZE = LARGE + 5000  # no multiple of a block


def leaf(seed, shape=(SIZE,), dtype=np.float64, low=0.2, high=1.5):
    values = np.random.default_rng(seed).uniform(low, high, shape).astype(dtype)
    return gt.tensor(values, requires_grad=True)


def chain(w, b):
    a = gt.sin(w * b + 0.25) - w
    a = gt.tanh(a) * b
    return gt.exp(-a) / 2.5 + gt.relu(a - 0.1) ** 2 + gt.cos(a)


def branches(w, b):
    shared = w * b
    return (shared.sqrt() + shared) * (shared / b) - gt.maximum(w, b) * 2 + b.abs().log()


def through_others(w, b):
    total = (w * b).cumsum(0)
    return (total.sin() * w + total.clamp(1.0, 50.0)) * b.mean()


def one_number(w, b):
    scale = b.sum() / SIZE
    return (w * scale + scale).tanh()


def one_small(w, b):
    scale = b[:1]
    for _ in range(60):  # the common way of small operations is taken after some calls
        scale = gt.tanh(scale * 1.01 + 0.5)
    return (w * scale + scale).tanh()


PROGRAMS = [chain, branches, through_others, one_number, one_small]


def gradients(program, dtype=np.float64, prepare=lambda w, b, y: None):
    w, b = leaf(1, dtype=dtype), leaf(2, dtype=dtype)
    y = program(w, b)
    prepare(w, b, y)
    y.backward(gt.tensor(np.random.default_rng(3).normal(size=y.shape).astype(dtype)))
    return w.grad.numpy(), b.grad.numpy()


def without_blocks(monkeypatch):
    monkeypatch.setattr(blocks, "run_stretch", lambda *_: False)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_same_bits_as_without_blocks(program, dtype, monkeypatch):
    found = gradients(program, dtype)
    without_blocks(monkeypatch)
    for ours, whole in zip(found, gradients(program, dtype), strict=True):
        np.testing.assert_array_equal(ours, whole)


def test_the_same_bits_as_with_a_hook(monkeypatch):
    """A hook sees each gradient whole, so that pass takes the exact order of nodes and no blocks."""
    seen = []
    hooked = gradients(
        chain, prepare=lambda w, b, y: y.register_hook(lambda g: seen.append(g.shape))
    )
    assert seen == [(SIZE,)]
    for ours, whole in zip(gradients(chain), hooked, strict=True):
        np.testing.assert_array_equal(ours, whole)


def test_the_blocks_are_used():
    ran = []
    original = blocks.run_blocks
    try:
        blocks.run_blocks = lambda steps, *rest: (ran.append(len(steps)), original(steps, *rest))
        gradients(chain)
    finally:
        blocks.run_blocks = original
    assert ran and max(ran) >= 10


def test_a_second_backward_adds_and_a_freed_graph_is_refused():
    w, b = leaf(1), leaf(2)
    y = chain(w, b)
    y.sum().backward(retain_graph=True)
    once = w.grad.clone()
    y.sum().backward()
    np.testing.assert_array_equal(w.grad.numpy(), (once + once).numpy())
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.sum().backward()


def test_what_was_changed_in_place_is_refused():
    w = leaf(1)
    x = w * 2
    y = x.sin() * x.exp()
    with gt.no_grad():
        x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    assert w.grad is None


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_the_kept_derivative_is_the_computed_one(name, monkeypatch):
    def gradient():
        w = leaf(3, low=-9, high=9)
        y = getattr(w * 1.5, name)()
        (first,) = gt.autograd.grad(y.sum(), w, retain_graph=True)
        (second,) = gt.autograd.grad(y.sum(), w)
        assert gt.equal(first, second)
        return first.numpy()

    kept = gradient()
    monkeypatch.setattr(blocks, "slope_of", lambda node, argument: None)
    assert kept.tobytes() == gradient().tobytes()


@pytest.mark.parametrize("write", [
    lambda y: y.data.mul_(2), lambda y: y.data.neg_(), lambda y: y.data.copy_(y.detach().flip(0)),
    lambda y: np.ndarray.__setitem__(y.detach().numpy(), 70_000, 3.0), lambda y: y.data[5:6].add_(1e-3),
])  # fmt: skip
def test_a_kept_derivative_of_what_was_changed_unseen_is_not_used(write):
    w = leaf(4)
    y = w * 1
    z = y.sin()
    write(y)
    z.backward(gt.ones_like(z))
    assert np.allclose(w.grad.numpy(), np.cos(y.detach().numpy()), rtol=1e-15, atol=1e-15)


def test_a_kept_derivative_is_let_go_with_the_graph():
    w = leaf(5)
    z = (w * 1).sin()
    node = z.grad_fn
    assert node.extras.slope is not None
    z.sum().backward()
    assert node.extras.slope is None


def test_leaves_do_not_share_their_gradients():
    w, b = leaf(1), leaf(2)
    (w + b).sum().backward()
    w.grad.zero_()
    assert b.grad.sum().item() == SIZE


@pytest.mark.parametrize("span", [(-0.7, 0.7), (-10, 10), (-6000, 6000), (-1e9, 1e9), (0, 1e-300)])
def test_sin_and_cos_are_numpys_within_one_unit_in_the_last_place(span):
    x = np.random.default_rng(0).uniform(*span, 200_000)
    turns = np.arange(-2000, 2000) * (np.pi / 2)
    x[: turns.size * 2 : 2] = turns  # near the zeros every bit of the reduction counts
    x[1 : turns.size * 2 : 2] = np.nextafter(turns, np.inf)
    for name in ("sin", "cos"):
        ours, numpys = getattr(trigonometry, name)(x), getattr(np, name)(x)
        assert np.abs(ours.view(np.int64) - numpys.view(np.int64)).max() <= 1


def test_sin_and_cos_of_what_is_no_angle():
    x = np.ones(20_000)
    x[:6] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e300]
    with np.errstate(all="ignore"):
        for name in ("sin", "cos"):
            ours, numpys = getattr(trigonometry, name)(x)[:6], getattr(np, name)(x)[:6]
            np.testing.assert_array_equal(ours, numpys)
            np.testing.assert_array_equal(np.signbit(ours[:2]), np.signbit(numpys[:2]))


def test_layouts_that_are_no_block_are_numpys_own():
    x = np.random.default_rng(0).uniform(-3, 3, (400, 500)).T
    assert np.array_equal(trigonometry.sin(x), np.sin(x))
    assert np.array_equal(trigonometry.cos(x), np.cos(x))
