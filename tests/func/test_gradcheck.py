"""gradcheck itself: what it must catch, and that it leaves its inputs as they were."""

from __future__ import annotations

from typing import Any

import pytest

import gradtrace as torch
from gradtrace.autograd import Function, gradcheck, gradgradcheck
from gradtrace.func.gradcheck import GradcheckError


def double(values: Any) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


class SometimesWrong(Function):
    """The identity whose gradient differs from call to call."""

    calls = 0

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 1

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
        SometimesWrong.calls += 1
        return g * (1 + 1e-9 * SometimesWrong.calls)


class NeedsGradient(Function):
    """A Function that cannot do without a gradient."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    @staticmethod
    def backward(ctx: Any, g: Any, h: Any) -> Any:
        if g is None and h is None:
            raise RuntimeError("no gradient")
        return (0 if g is None else g * 2) + (0 if h is None else h * 3)


class NotMultiplied(Function):
    """A gradient that ignores the incoming one."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
        return torch.where(g == 0, 1e-8, 2 * g)


@pytest.mark.parametrize("fast", [False, True])
def test_a_nondeterministic_backward_is_caught(fast: bool) -> None:
    with pytest.raises(GradcheckError, match="Backward is not reentrant"):
        gradcheck(SometimesWrong.apply, double([1.0, 2.0]), fast_mode=fast)
    assert gradcheck(
        SometimesWrong.apply, double([1.0, 2.0]), fast_mode=fast, nondet_tol=1e-3, atol=1e-3
    )


def test_a_gradient_that_ignores_the_incoming_one_is_caught() -> None:
    with pytest.raises(GradcheckError, match="backward not multiplied by grad_output"):
        gradcheck(NotMultiplied.apply, double([1.0, 2.0]))


def test_a_backward_that_cannot_take_none_is_caught() -> None:
    with pytest.raises(
        GradcheckError, match="Expected backward function to handle undefined output grads"
    ):
        gradcheck(NeedsGradient.apply, double([1.0]))
    assert gradcheck(NeedsGradient.apply, double([1.0]), check_undefined_grad=False)


@pytest.mark.parametrize("values", [0.3, [0.3, -1.2], [[0.3, -1.2], [2.0, 0.1]]])
@pytest.mark.parametrize("fast", [False, True])
def test_inputs_come_back_as_they_were(values: Any, fast: bool) -> None:
    x = double(values)
    assert gradcheck(lambda t: (t**3).sum(), x, fast_mode=fast)
    assert gradgradcheck(lambda t: (t**3).sum(), x, fast_mode=fast)
    assert x.tolist() == values
    assert x.grad is None
    assert x._version == 0


def test_fast_mode_tells_both_numbers_and_the_slow_jacobians() -> None:
    class Wrong(Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
            return g * 3

    with pytest.raises(GradcheckError) as caught:
        gradcheck(Wrong.apply, double([1.0, 2.0]), fast_mode=True)
    text = str(caught.value)
    assert text.startswith("Jacobian mismatch for output 0 with respect to input 0,\nnumerical:")
    assert "The max per-element difference (slow mode) is: " in text
    assert "tensor([[2.0000, 0.0000],\n        [0.0000, 2.0000]], dtype=torch.float64)" in text


def test_float32_inputs_are_warned_about() -> None:
    x = torch.tensor([1.0], requires_grad=True)
    with pytest.warns(
        UserWarning, match="Input #0 requires gradient and is not a double precision"
    ):
        assert gradcheck(lambda t: t * 2, x, eps=1e-2, atol=1e-2)


def test_an_empty_input_has_nothing_to_disagree_on() -> None:
    assert gradcheck(lambda t: t * 2, double([]))
