"""Sentences of `why` that were false of the run: zeros that "cancel out", finite results that are "not finite"."""

import pytest

DEAD = """import torch
b = torch.tensor([-5.0, -5.0], requires_grad=True)
x = torch.ones(2, 2)
torch.relu(x + b).sum().backward()
"""
EXACT_ZERO = """import torch
x = torch.tensor([0.1, 0.2], requires_grad=True)
z = ((x + 1) - 1 - x).sum()
z.backward()
"""
EXACT_INFINITY = """import torch
x = torch.tensor([0.1, 0.2], requires_grad=True)
z = (1 / ((x + 1) - 1 - x)).sum()
z.backward()
"""
PARTLY = """import torch
x = torch.tensor([0.1, 3.0], requires_grad=True)
y = 1 / torch.stack([((x + 1) - 1 - x)[0], x[1]])
y.sum().backward()
"""
OVERFLOW = """import torch
x = torch.tensor([100.0, 2.0], requires_grad=True)
z = (x.exp() * 1e-20).sum()
z.backward()
"""


@pytest.fixture
def why(by_engine):
    """why(text, ...) -> the answer about a program on one line, with one engine or the other."""
    return lambda text, *rest: " ".join(by_engine("why", text, *rest).split())


def test_zeros_behind_a_dead_relu_do_not_cancel_out(why):
    answer = why(DEAD)
    assert "b.grad is 0: relu on line 4 lets nothing back" in answer and "cancel" not in answer


@pytest.mark.parametrize("text", [EXACT_ZERO, EXACT_INFINITY])
def test_a_finite_result_is_not_called_infinite(why, text):
    assert "is not finite" not in why(text, "--precision")


def test_an_element_that_only_errors_keep_finite_is_called_so(why):
    assert "is not finite" not in why(PARTLY, "--precision")


def test_an_infinite_result_is_still_called_so(why):
    assert "z is not finite: on line 3, 1 of 2 elements of x.exp() overflow" in why(
        OVERFLOW, "--precision"
    )
