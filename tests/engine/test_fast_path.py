"""The common call of an operator once it is called often: everything that can happen to a graph made by it."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gradtrace as torch
from gradtrace.engine.calls.call import OFTEN

ROOT = Path(__file__).parents[2]
SHAPES: list[tuple[int, ...]] = [(), (3,)]
OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "pow": lambda a, b: a**b,
    "atan2": lambda a, b: torch.atan2(a, b),
    "with numbers": lambda a, b: 2 - (3 * a + 1) / 2 + b * 0.5 - 1,
    "power": lambda a, b: a**2 + b**3 + a**0 + 2**a + a**-1,
    "reciprocal": lambda a, b: 1 / a + b.reciprocal(),
    "same operand": lambda a, b: a * a + b / b + (a + a),
    "functions": lambda a, b: (
        a.sin() + b.tanh() + a.exp() + b.log() + a.sqrt() + abs(b) + (-a).sigmoid() + b.cos()
    ),
}


def tensor(value: float, shape: tuple[int, ...], requires_grad: bool = True) -> Any:
    return torch.full(shape, value, dtype=torch.float64, requires_grad=requires_grad)


@pytest.fixture(scope="module", autouse=True)
def called_often() -> None:
    for shape in SHAPES:
        a, b = tensor(0.5, shape), tensor(1.5, shape)
        for operation in OPERATIONS.values():
            for _ in range(OFTEN + 1):
                operation(a, b)


def results(operation: Callable[[Any, Any], Any], a: Any, b: Any) -> list[list[float]]:
    out = operation(a, b)
    (out.sum() if out.ndim else out).backward()
    return [torch.atleast_1d(t.detach()).tolist() for t in (out, a.grad, b.grad) if t is not None]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", OPERATIONS)
def test_gives_what_the_record_gives(name: str, shape: tuple[int, ...]) -> None:
    operation = OPERATIONS[name]
    common = results(operation, tensor(0.7, shape), tensor(1.3, shape))
    # A view is never on the common path.
    a, b = tensor(0.7, (1, *shape)), tensor(1.3, (1, *shape))
    slow = operation(a[0], b[0])
    (slow.sum() if slow.ndim else slow).backward()
    assert common[0] == pytest.approx(torch.atleast_1d(slow.detach()).tolist(), rel=1e-15)
    for got, leaf in zip(common[1:], (a, b), strict=True):
        assert got == pytest.approx(leaf.grad.reshape(-1).tolist(), rel=1e-15)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", OPERATIONS)
def test_any_order(name: str, shape: tuple[int, ...]) -> None:
    a, b = tensor(0.7, shape), tensor(1.3, shape)
    assert torch.autograd.gradcheck(OPERATIONS[name], (a, b))
    assert torch.autograd.gradgradcheck(OPERATIONS[name], (a, b))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("which", [0, 1])
def test_one_operand_without_gradient(shape: tuple[int, ...], which: int) -> None:
    for operation in OPERATIONS.values():
        a, b = tensor(0.7, shape, which == 0), tensor(1.3, shape, which == 1)
        out = operation(a, b)
        (out.sum() if shape else out).backward()
        both = tensor(0.7, shape), tensor(1.3, shape)
        whole = operation(*both)
        (whole.sum() if shape else whole).backward()
        assert (a, b)[which].grad.tolist() == both[which].grad.tolist()
        assert (a, b)[1 - which].grad is None


def test_beyond_what_floats_can_do() -> None:
    a = tensor(0.0, ())
    (1 / a).backward()
    assert a.grad.item() == -math.inf
    b = tensor(800.0, ())
    b.exp().backward()
    assert b.grad.item() == math.inf


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("change", [lambda t: t.mul_(2), lambda t: t.detach().mul_(2)])
def test_a_saved_tensor_changed_in_place_is_refused(shape: tuple[int, ...], change: Any) -> None:
    for operation in (
        lambda t: t * t,
        torch.sin,
        lambda t: t**2,
        lambda t: t / t,
        lambda t: t.exp(),
    ):
        a = tensor(0.5, shape)
        middle = a * 3
        out = operation(middle)
        change(out if out.grad_fn.name().startswith("Exp") else middle)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            out.backward(torch.ones_like(out))


@pytest.mark.parametrize("shape", SHAPES)
def test_a_leaf_changed_in_place_is_refused(shape: tuple[int, ...]) -> None:
    a = tensor(0.5, shape)
    out = a * a
    with torch.no_grad():
        a.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.backward(torch.ones_like(out))


def test_data_behind_autograds_back_counts() -> None:
    """As in PyTorch: `.data` has no version, and what was saved shows its storage."""
    a = tensor(0.5, ())
    middle = a * 1
    out = middle * middle
    middle.data.mul_(4)
    out.backward()
    assert a.grad.item() == 4.0


def test_detached_in_place_after_it_was_saved() -> None:
    a = tensor(0.5, ())
    middle = a * 3
    out = middle * middle
    middle.detach_()
    with pytest.raises(RuntimeError, match=r"detach_\(\)"):
        out.backward()


@pytest.mark.parametrize("shape", SHAPES)
def test_freed_after_backward(shape: tuple[int, ...]) -> None:
    for operation in (lambda t: t * t, torch.sin, torch.exp, lambda t: t * 2, lambda t: t**2):
        out = operation(tensor(0.5, shape))
        ones = torch.ones_like(out)
        out.backward(ones)
        with pytest.raises(RuntimeError, match="a second time"):
            out.backward(ones)
        out = operation(tensor(0.5, shape))
        out.backward(ones, retain_graph=True)
        out.backward(ones)
    out = tensor(0.5, shape) + 1
    out.backward(torch.ones_like(out))
    out.backward(torch.ones_like(out))  # nothing was saved


def test_what_a_node_shows() -> None:
    a, b = tensor(0.5, ()), tensor(1.5, ())
    middle = a * b
    out = middle / b
    assert type(out.grad_fn).__name__ == "DivBackward0" and out.grad_fn.name() == "DivBackward0"
    assert out.grad_fn is out.grad_fn
    (first, _), (second, _) = out.grad_fn.next_functions
    assert first is middle.grad_fn and first.name() == "MulBackward0"
    assert second.variable is b and first.next_functions[0][0].variable is a
    assert first._saved_self is a and first._saved_other is b
    saved = out.grad_fn._saved_self
    assert saved.item() == 0.75 and saved.grad_fn is middle.grad_fn
    power = a**2
    assert power.grad_fn._saved_self is a and power.grad_fn._saved_exponent == 2
    with pytest.raises(AttributeError):
        out.grad_fn._saved_nothing  # noqa: B018
    out.backward()
    with pytest.raises(RuntimeError, match="already been freed"):
        out.grad_fn._saved_self  # noqa: B018


def test_retained_and_hooked_in_the_midst() -> None:
    a = tensor(0.5, ())
    middle = a * 2
    middle.retain_grad()
    (middle * middle).backward()
    assert middle.grad.item() == 2.0 and a.grad.item() == 4.0
    seen = []
    middle = a * 2
    middle.register_hook(lambda g: seen.append(g.item()) or g * 10)
    (middle * middle).backward()
    assert seen == [2.0] and a.grad.item() == 44.0


def test_replaced_data_of_a_leaf() -> None:
    a = tensor(0.5, (3,))
    out = (a + 1).sum()
    a.data = torch.zeros(3, dtype=torch.float32)
    out.backward()
    assert a.grad.dtype == torch.float32


def test_long_branches_in_the_order_of_creation() -> None:
    a = tensor(0.5, ())
    left, right = a, a
    for _ in range(100):
        left, right = left * 1.01, right.sin()
    both = left * right + left + right
    both.backward(retain_graph=True)
    expected = a.grad.item()
    a.grad = None
    (gradient,) = torch.autograd.grad(both, a)
    assert gradient.item() == expected


WITHOUT_NUMPY = """
import sys
import gradtrace as torch

def slope(x):
    for _ in range(120):
        y = torch.sin(x * 2.0) * x + x ** 2 + 1 / x
        (g,) = torch.autograd.grad(y.sum() if x.ndim else y, x)
    return g

def scalar(x):
    for _ in range(120):
        y = torch.sin(x * 2.0) * x + x ** 2 + 1 / x
        y.backward()
    return x.grad.item() / 120

torch.set_default_dtype(torch.float64)
x = torch.tensor(0.7, requires_grad=True)
first = scalar(x)
assert "numpy" not in sys.modules
many = slope(torch.full((3,), 0.7, requires_grad=True))
assert all(abs(g - first) < 1e-12 for g in many.tolist()), (first, many)
few = torch.full((3,), 0.7, requires_grad=True)
y = (torch.sin(few * 2.0) * few + few ** 2 + 1 / few).sum()
y.backward()
assert few.grad.tolist() == many.tolist()
"""


def test_texts_made_before_numpy_is_loaded_are_made_anew_for_arrays() -> None:
    subprocess.run([sys.executable, "-c", WITHOUT_NUMPY], check=True, cwd=ROOT)
