"""Custom Functions: what users keep in ctx must not meet what the engine keeps there."""

from __future__ import annotations

from typing import Any

import pytest

import gradtrace as torch

NAMES = [
    "a",
    "args",
    "b",
    "call",
    "derive",
    "dtype",
    "extras",
    "freed",
    "function",
    "hooks",
    "kept",
    "layout",
    "name",
    "next",
    "nrs",
    "op",
    "origin",
    "out",
    "outputs",
    "plan",
    "rare",
    "release",
    "seq",
    "shape",
    "spec",
]


@pytest.mark.parametrize("setup", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_any_name_can_be_kept_in_ctx(name: str, setup: bool) -> None:
    seen = []

    def keep(ctx: Any) -> None:
        setattr(ctx, name, "mine")
        ctx.factor = 3

    class Times(torch.autograd.Function):
        if setup:

            @staticmethod
            def forward(x: Any) -> Any:
                return x * 3

            @staticmethod
            def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
                keep(ctx)
        else:

            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:  # type: ignore[misc]
                keep(ctx)
                return x * 3

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            seen.append(getattr(ctx, name))
            return g * ctx.factor

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = Times.apply(x)
    (y * y).sum().backward()
    assert seen == ["mine"]
    assert x.grad.tolist() == [18.0, 36.0]
    assert y.grad_fn.factor == 3
