"""The fast order of backward gives what PyTorch's exact order gives, to the last bit; live hooks decide which it is."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradtrace as torch
from gradtrace.engine.data.state import state
from gradtrace.engine.reverse.backward import passes_run


@pytest.fixture(autouse=True)
def no_observers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Graphs with hooks that other tests of this process keep alive would make every pass an ordered one."""
    gc.collect()
    monkeypatch.setattr(state, "live_observers", 0)


@contextmanager
def order(ordered: bool) -> Iterator[None]:
    """Passes inside take the fast order, or the exact one because of a hook on an unrelated tensor."""
    before = dict(passes_run)
    other = torch.ones(2, requires_grad=True)
    handle = other.register_hook(lambda g: g) if ordered else None
    yield
    if handle is not None:
        handle.remove()
    assert (passes_run["ordered"] > before["ordered"]) is ordered
    assert (passes_run["fast"] > before["fast"]) is not ordered


SHAPES = [(), (3,), (2, 3), (1, 3)]
BINARY = [
    lambda a, b: a + b,
    lambda a, b: a * b,
    lambda a, b: a - b,
    lambda a, b: a / (b * b + 1),
    lambda a, b: torch.maximum(a, b),
    lambda a, b: torch.where(a > b, a, b),
]
UNARY = [
    lambda a: a.sin(),
    lambda a: a.tanh(),
    lambda a: -a,
    lambda a: a * 0.5,
    lambda a: (a * 0.1).exp(),
    lambda a: a.relu(),
    lambda a: a.sum(),
    lambda a: a.reshape(-1),
    lambda a: a.clone(),
]
STEP = st.tuples(
    st.integers(0, len(BINARY) + len(UNARY) - 1), st.integers(0, 99), st.integers(0, 99)
)


def build(leaves: list[Any], steps: list[tuple[int, int, int]]) -> Any:
    """The sum of everything that the steps make: each takes earlier results, so parts are shared."""
    made = list(leaves)
    for operation, i, j in steps:
        a, b = made[i % len(made)], made[j % len(made)]
        if operation >= len(BINARY):
            function = UNARY[operation - len(BINARY)]
            made.append(function(a))
        elif broadcasts(a.shape, b.shape):
            made.append(BINARY[operation](a, b))
    return sum(t.sum() for t in made[len(leaves) :]) + made[0].sum()


def broadcasts(a: Any, b: Any) -> bool:
    return all(m == n or 1 in (m, n) for m, n in zip(reversed(a), reversed(b), strict=False))


def make_leaves(shapes: list[int], dtype: Any) -> list[Any]:
    torch.manual_seed(0)
    return [torch.randn(SHAPES[s], dtype=dtype).requires_grad_() for s in shapes]


@settings(max_examples=150)
@given(
    shapes=st.lists(st.integers(0, len(SHAPES) - 1), min_size=1, max_size=4),
    steps=st.lists(STEP, max_size=25),
    single=st.booleans(),
)
def test_both_ways_agree(
    shapes: list[int], steps: list[tuple[int, int, int]], single: bool
) -> None:
    dtype = torch.float32 if single else torch.float64
    short = make_leaves(shapes, dtype)
    full = make_leaves(shapes, dtype)
    for leaves, watched in ((short, False), (full, True)):
        with order(watched):
            build(leaves, steps).backward()
    for a, b in zip(short, full, strict=True):
        assert (a.grad is None) == (b.grad is None)
        if a.grad is not None:
            assert a.grad.dtype is a.dtype and a.grad.shape == a.shape
            assert a.grad.tolist() == b.grad.tolist() or torch.equal(a.grad.isnan(), b.grad.isnan())


@pytest.mark.parametrize("watched", [False, True])
def test_after_an_error_leaves_have_what_they_got_before_it(watched: bool) -> None:
    first = torch.tensor(2.0, requires_grad=True)
    second = torch.tensor(3.0, requires_grad=True)
    broken = second * second
    broken.backward()
    second.grad = None
    root = broken + first * 2 + second
    with (
        order(watched),
        pytest.raises(RuntimeError, match="backward through the graph a second time"),
    ):
        root.backward()
    assert first.grad.item() == 2.0  # complete before the node that failed
    assert second.grad is None  # would have got more from it


def test_gradients_of_two_leaves_do_not_share_memory() -> None:
    a, b = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    (a + b).sum().backward()
    a.grad.mul_(5)
    assert b.grad.tolist() == [1.0, 1.0, 1.0]


def test_a_given_gradient_is_not_taken_over() -> None:
    a, g = torch.ones(3, requires_grad=True), torch.ones(3)
    (a * 1).backward(g)
    a.grad.mul_(5)
    b = torch.ones(3, requires_grad=True)
    b.clone().backward(g)
    b.grad.mul_(7)
    assert g.tolist() == [1.0, 1.0, 1.0]


def test_the_gradient_of_a_gradient_buffer_stays() -> None:
    """Accumulation is in place: an alias of `.grad` sees the second pass."""
    a = torch.ones(3, requires_grad=True)
    (a * 2).sum().backward()
    alias = a.grad
    (a * 3).sum().backward()
    assert alias is a.grad and alias.tolist() == [5.0, 5.0, 5.0]


def graph() -> Any:
    x = torch.ones(2, requires_grad=True)
    return (x * 2).sin().sum()


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 2


def hook_on_a_leaf() -> Any:
    x = torch.ones(2, requires_grad=True)
    return x, x.register_hook(lambda g: g)


def hook_on_a_result() -> Any:
    y = torch.ones(2, requires_grad=True) * 2
    return y, y.register_hook(lambda g: g)


def hook_on_a_node() -> Any:
    y = torch.ones(2, requires_grad=True) * 2
    return y, y.grad_fn.register_hook(lambda inputs, outputs: None)


def hook_after_accumulation() -> Any:
    x = torch.ones(2, requires_grad=True)
    return x, x.register_post_accumulate_grad_hook(lambda p: None)


def retained() -> Any:
    y = torch.ones(2, requires_grad=True) * 2
    y.retain_grad()
    return (y,)


def custom_function() -> Any:
    return (Double.apply(torch.ones(2, requires_grad=True)),)


def packed() -> Any:
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        return (torch.ones(2, requires_grad=True).sin(),)


@pytest.mark.parametrize(
    "observe",
    [
        hook_on_a_leaf,
        hook_on_a_result,
        hook_on_a_node,
        hook_after_accumulation,
        retained,
        custom_function,
        packed,
    ],
)
def test_the_fast_order_is_back_when_the_last_observer_is_gone(observe: Any) -> None:
    alive = observe()
    with order(True):
        graph().backward()
    if len(alive) == 2:  # a handle
        alive[1].remove()
        with order(False):
            graph().backward()
    del alive
    with order(False):
        graph().backward()
