"""Every operator under vmap: the same values, dtypes and gradients as a loop over the samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradtrace as torch
from gradtrace.autograd import forward_ad
from gradtrace.func import grad, pytree, vmap
from tests.ops import cases

SIZE = 3


CASES = {name: several for name, several in cases.CASES.items() if "dropout" not in name and name != "to_sparse"}


def batches(arrays: list[Any]) -> list[tuple[list[torch.Tensor], list[int | None]]]:
    """Arguments and the dims that count samples: in front in all, in one of several, and last."""
    full = [torch.tensor(np.stack([a * (1 + 0.05 * k) for k in range(SIZE)])) for a in map(np.asarray, arrays)]
    every: list[list[int | None]] = [[0] * len(full)]
    if len(full) > 1:
        every += [[0] + [None] * (len(full) - 1), [None] * (len(full) - 1) + [0]]
    found = [([x if d == 0 else x[0] for x, d in zip(full, dims, strict=True)], dims) for dims in every]
    return [*found, ([x.movedim(0, -1) for x in full], [-1] * len(full))]


def looped(function: Any, args: list[torch.Tensor], dims: list[int | None]) -> list[Any]:
    results = [
        function(*(x if d is None else x.select(d, k) for x, d in zip(args, dims, strict=True))) for k in range(SIZE)
    ]
    columns = zip(*(pytree.flatten(r)[0] for r in results), strict=True)
    return [torch.stack(list(c)) if isinstance(c[0], torch.Tensor) else c[0] for c in columns]


def gradients(outputs: list[Any], args: list[torch.Tensor]) -> list[Any]:
    smooth = [t for t in outputs if isinstance(t, torch.Tensor) and t.requires_grad]
    if not smooth:
        return []
    return list(torch.autograd.grad(sum((t * t.detach().cos()).sum() for t in smooth), args, allow_unused=True))


def same(a: Any, b: Any) -> bool:
    if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor):
        return a is None and b is None
    close = np.allclose(a.detach().numpy(), b.detach().numpy(), 1e-5, 1e-7, equal_nan=True)
    return a.dtype is b.dtype and a.shape == b.shape and close


@pytest.mark.parametrize("name", CASES)
def test_a_batch_is_a_loop_over_samples(name: str) -> None:
    for function, *arrays in CASES[name]:
        for args, dims in batches(arrays):
            wanted_args, found_args = ([a.detach().clone().requires_grad_() for a in args] for _ in range(2))
            try:
                wanted = looped(function, wanted_args, dims)
            except (RuntimeError, ValueError, IndexError):
                continue  # the last dim of another argument does not fit
            found = pytree.flatten(vmap(function, in_dims=tuple(dims))(*found_args))[0]
            assert all(map(same, wanted, found)), dims
            assert all(map(same, gradients(wanted, wanted_args), gradients(found, found_args))), dims


def weighed(function: Any) -> Any:
    """A scalar function with the derivatives of all results of `function` in it."""

    def scalar(*args: torch.Tensor) -> Any:
        outs = pytree.flatten(function(*args))[0]
        smooth = [t for t in outs if isinstance(t, torch.Tensor) and t.is_floating_point()]
        return sum(((t * t.detach().cos()).sum() for t in smooth), torch.zeros(()))

    return scalar


# Their backward operators have no derivative, as in PyTorch; forward derivatives go through it.
DERIVED_ONCE = {"cdist", "nn.functional.scaled_dot_product_attention"}


@pytest.mark.parametrize("name", CASES)
def test_nested_and_differentiated(name: str) -> None:
    """vmap in vmap, vmap of grad, and a dual tensor's tangent agree with loops."""
    for function, *arrays in CASES[name]:
        args, _ = batches(arrays)[0]
        pairs = [torch.stack([a, a * 1.02]) for a in args]
        try:
            wanted = [looped(function, [p[j] for p in pairs], [0] * len(pairs)) for j in range(2)]
        except (RuntimeError, ValueError, IndexError):
            continue
        found = pytree.flatten(vmap(vmap(function))(*pairs))[0]
        for j in range(2):
            rows = [t[j] if isinstance(t, torch.Tensor) else t for t in found]
            assert all(same(a, b) for a, b in zip(wanted[j], rows, strict=True) if isinstance(a, torch.Tensor))
        scalar = weighed(function)
        if not args[0].is_floating_point():
            continue
        by_hand = torch.stack([grad(scalar)(*(a[k] for a in args)) for k in range(SIZE)])
        assert same(by_hand, vmap(grad(scalar))(*args))
        if name in DERIVED_ONCE:
            continue
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(args[0][0].clone(), torch.ones_like(args[0][0]))
            tangent = forward_ad.unpack_dual(scalar(dual, *(a[0] for a in args[1:]))).tangent
        assert np.allclose(0.0 if tangent is None else tangent.item(), by_hand[0].sum().item(), 1e-4, 1e-6)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_unpooling_takes_the_indices_of_each_sample(n: int) -> None:
    """As in PyTorch, the indices of max_unpool1d, 2d and 3d may be batched too."""
    image = torch.arange(SIZE * 2 * 4**n, dtype=torch.float64).sin().reshape(SIZE, 2, *(4,) * n)
    pool, unpool = (getattr(torch.nn.functional, f"max_{name}{n}d") for name in ("pool", "unpool"))
    values, indices = pool(image, 2, return_indices=True)
    found = vmap(lambda v, i: unpool(v, i, 2))(values, indices)
    assert torch.equal(found, unpool(values, indices, 2))
