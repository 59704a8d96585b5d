"""Graphs are long, and gone when they are dropped: no recursion, no reference cycles."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import gradtrace as torch
from gradtrace.engine.data.node import Node

MILLION = 1_000_000


@pytest.fixture
def without_collector() -> Iterator[None]:
    """Only reference counting frees anything here."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def ours_in_cycles() -> list[Any]:
    """Tensors and nodes that only the collector would free; what pytest leaves in cycles does not count."""
    gc.set_debug(gc.DEBUG_SAVEALL)
    gc.collect()
    found = [
        o for o in gc.garbage if issubclass(type(o), (torch.Tensor, Node))
    ]  # not isinstance: there may be dead weak proxies
    gc.garbage.clear()
    gc.set_debug(0)
    return found


def chain(x: Any, operations: int) -> Any:
    """Operations that keep their inputs, their result, or nothing."""
    y = x
    for _ in range(operations // 4):
        y = y * x
        y = y + 0.25
        y = y.tanh()
        y = y * y
    return y


@pytest.mark.slow
@pytest.mark.usefixtures("without_collector")
def test_a_million_operations_forward_backward_and_freed() -> None:
    x = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    y = chain(x, MILLION)
    first, last = weakref.ref(chain_start(y)), weakref.ref(y.grad_fn)
    y.backward()
    assert x.grad is not None and float(x.grad) == float(x.grad)
    del y
    assert last() is None and first() is None
    assert not ours_in_cycles()


@pytest.mark.usefixtures("without_collector")
@pytest.mark.slow
def test_a_million_operations_dropped_before_backward() -> None:
    x = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    y = chain(x, MILLION)
    first = weakref.ref(chain_start(y))
    del y
    assert first() is None
    assert not ours_in_cycles()


def chain_start(y: Any) -> Any:
    """The node farthest from the root along the first edges."""
    node = y.grad_fn
    while node.next and node.next[0] is not None and node.next[0].next:
        node = node.next[0]
    return node


def test_a_million_operations_on_arrays() -> None:
    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    y = x
    for _ in range(200_000):
        y = y + 1
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        out = x * 2
        ctx.save_for_backward(x, out)
        return out

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 2


def changed_in_place(x: Any) -> Any:
    y = x * 3
    y[0].mul_(2)
    y.add_(x)
    return y


GRAPHS: dict[str, Callable[[Any], Any]] = {
    "saved inputs": lambda x: (x * x).sum(),
    "saved result": lambda x: x.exp().tanh().sum(),
    "views": lambda x: x.reshape(2, 1).T.sum(),
    "in place": lambda x: changed_in_place(x).sum(),
    "custom function": lambda x: Double.apply(x).sum(),
    "several outputs": lambda x: sum(part.sum() for part in (x * 2).split(1)),
    "matmul": lambda x: x @ x,
    "reduction": lambda x: x.std() + x.prod() + x.logsumexp(0),
    "indexing": lambda x: x[torch.tensor([0, 1, 1])].sum(),
    "retained": lambda x: retained(x),
    "hooked": lambda x: hooked(x),
}


def retained(x: Any) -> Any:
    y = x * 2
    y.retain_grad()
    return y.sum()


def hooked(x: Any) -> Any:
    y = x * 2
    y.register_hook(lambda g: g * 2)
    return y.sum()


@pytest.mark.usefixtures("without_collector")
@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("name", GRAPHS)
def test_no_reference_cycles(name: str, create_graph: bool) -> None:
    x = torch.tensor([0.5, 1.5], dtype=torch.float64, requires_grad=True)
    GRAPHS[name](x).backward()  # what loads on first use may make cycles once
    gc.collect()
    y = GRAPHS[name](x)
    node = weakref.ref(y.grad_fn)
    (gradient,) = torch.autograd.grad(y, x, create_graph=create_graph)
    del y, gradient
    assert node() is None
    assert not ours_in_cycles()
