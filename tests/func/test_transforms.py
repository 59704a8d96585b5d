"""torch.func and torch.autograd.functional beyond the recorded programs: levels, agreement, structures."""

from __future__ import annotations

import gc
import weakref
from collections import OrderedDict, namedtuple

import pytest

import gradtrace as torch
from gradtrace import func
from gradtrace.autograd import functional
from gradtrace.func import pytree

X = torch.tensor([0.5, -1.5, 2.0], dtype=torch.float64)


def smooth(t: torch.Tensor) -> torch.Tensor:
    return (t.sin() * t.exp()).sum() + t[0] * t[1] ** 2 * t[2]


def test_every_public_name_loads() -> None:
    for name in func.__all__:
        assert callable(getattr(func, name))
    with pytest.raises(AttributeError, match=r"module 'torch\.func' has no attribute 'nothing'"):
        func.nothing  # noqa: B018


def test_both_interfaces_agree() -> None:
    gradient, jacobian, hessian = (
        func.grad(smooth)(X),
        func.jacrev(smooth)(X),
        func.hessian(smooth)(X),
    )
    assert torch.allclose(gradient, jacobian)
    assert torch.allclose(gradient, functional.jacobian(smooth, X))
    assert torch.allclose(hessian, functional.hessian(smooth, X))
    assert torch.allclose(hessian, hessian.t())
    v = torch.tensor([1.0, 2.0, -1.0], dtype=torch.float64)
    assert torch.allclose(functional.hvp(smooth, X, v)[1], hessian @ v)
    assert torch.allclose(functional.vhp(smooth, X, v)[1], v @ hessian)
    assert torch.allclose(func.jvp(smooth, (X,), (v,))[1], gradient @ v)
    assert torch.allclose(func.jvp(func.grad(smooth), (X,), (v,))[1], hessian @ v)


def test_nesting_to_the_fourth_order() -> None:
    fourth = func.grad(func.grad(func.grad(func.grad(torch.sin))))
    x = torch.tensor(0.7, dtype=torch.float64)
    assert abs(fourth(x).item() - x.sin().item()) < 1e-12


def test_results_have_history_only_for_outside_tensors() -> None:
    w = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    inside = func.grad(lambda t: (t**2).sum())(X)
    outside = func.grad(lambda t: (t**2 * w).sum())(X)
    assert not inside.requires_grad
    assert outside.requires_grad
    outside.sum().backward()
    assert w.grad is not None
    assert abs(w.grad.item() - 2 * X.sum().item()) < 1e-12
    with torch.no_grad():
        assert not func.grad(lambda t: (t**2 * w).sum())(X).requires_grad


def test_the_arguments_are_left_alone() -> None:
    x = X.clone().requires_grad_()
    func.grad(smooth)(x)
    func.jacrev(lambda t: t * 2)(x)
    functional.jacobian(smooth, x)
    assert x.grad is None
    assert x.is_leaf


def test_no_grad_inside_a_function_is_respected() -> None:
    def half(t: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            constant = t * 2
        return (t * constant).sum()

    assert torch.allclose(func.grad(half)(X), X * 2)
    with torch.no_grad():
        assert torch.allclose(func.grad(half)(X), X * 2)


def test_a_transform_leaves_nothing_behind() -> None:
    gc.disable()
    try:
        x = X.clone()
        dead = weakref.ref(x)
        func.grad(smooth)(x)
        func.hessian(smooth)(x)
        del x
        assert dead() is None
    finally:
        gc.enable()


def test_what_a_function_saw_is_freed_at_once() -> None:
    seen: list[weakref.ref[torch.Tensor]] = []

    def noted(t: torch.Tensor) -> torch.Tensor:
        y = t * 2
        seen.extend((weakref.ref(t), weakref.ref(y)))
        return (y**2).sum()

    w = torch.ones(3, dtype=torch.float64, requires_grad=True)
    gc.disable()
    try:
        func.grad(noted)(X)
        func.grad(lambda t: noted(t * w))(X)
        func.jacrev(noted)(X)
        func.hessian(noted)(X)
        func.vmap(func.grad(noted))(torch.stack([X, X]))
        func.jvp(noted, (X,), (X,))
        func.grad(noted)(w)
        assert [ref() for ref in seen if ref() is not None] == []
    finally:
        gc.enable()


Point = namedtuple("Point", "x y")


@pytest.mark.parametrize(
    "value",
    [
        1,
        [1, 2],
        (1, (2, 3)),
        {"a": 1, "b": [2, {"c": 3}]},
        Point(1, (2,)),
        OrderedDict(z=1, a=2),
        [],
        {},
        (1,),
    ],
)
def test_structures_come_apart_and_together(value: object) -> None:
    leaves, spec = pytree.flatten(value)
    again = pytree.unflatten(leaves, spec)
    assert again == value
    assert type(again) is type(value)


def test_structures_print_as_pytorchs() -> None:
    _, spec = pytree.flatten(({"a": 1, "b": [2, 3]}, 4))
    assert spec.outline() == "({'a': *, 'b': [*, *]}, *)"
    assert repr(pytree.flatten((1,))[1]) == "TreeSpec(tuple, None, [*])"
    assert repr(pytree.flatten({"a": 1, "b": 2})[1]) == "TreeSpec(dict, ['a', 'b'], [*,\n  *])"


def test_a_prefix_is_spread_over_a_structure() -> None:
    _, spec = pytree.flatten((1, {"a": 2, "b": 3}))
    assert pytree.broadcast(0, spec) == [0, 0, 0]
    assert pytree.broadcast((1, None), spec) == [1, None, None]
    assert pytree.broadcast((1, {"a": 2, "b": 3}), spec) == [1, 2, 3]
    assert pytree.broadcast((1, 2, 3), spec) is None
    assert pytree.broadcast([1, 2], spec) is None


def test_vmap_agrees_with_the_batched_operation() -> None:
    torch.manual_seed(0)
    a, b = torch.randn(4, 2, 3), torch.randn(4, 3, 5)
    assert torch.allclose(func.vmap(torch.mm)(a, b), torch.bmm(a, b), atol=1e-6)
    assert torch.allclose(func.vmap(torch.mm, in_dims=(0, None))(a, b[0]), a @ b[0], atol=1e-6)
    assert tuple(func.vmap(lambda m: m.t(), in_dims=2, out_dims=1)(a).shape) == (2, 3, 4)
    per_sample = func.vmap(func.grad(lambda w, x: (w * x).sum() ** 2), in_dims=(None, 0))(a[0], a)
    assert per_sample.shape == (4, 2, 3)


def test_vmap_over_no_samples() -> None:
    assert func.vmap(lambda t: t.sin().sum())(torch.zeros(0, 2)).shape == (0,)
    assert func.vmap(lambda t: (t, t.sum()), in_dims=1, out_dims=(1, 0))(torch.zeros(2, 0))[
        0
    ].shape == (2, 0)


def test_vmap_passes_ordinary_samples() -> None:
    """Values can be read, conditions depend on them, and samples are views that a function may change."""
    x = torch.tensor([[1.0, 2.0], [-3.0, 4.0]])
    assert func.vmap(lambda t: t * t[0].item())(x).tolist() == [[1.0, 2.0], [9.0, -12.0]]
    assert func.vmap(lambda t: t.sum() if t[0] > 0 else -t.sum())(x).tolist() == [3.0, -1.0]
    func.vmap(lambda t: t.add_(1))(x)
    assert x.tolist() == [[2.0, 3.0], [-2.0, 5.0]]


def test_samples_draw_as_the_randomness_says() -> None:
    x = torch.zeros(3)
    with pytest.raises(
        RuntimeError, match="called random operation while in randomness error mode"
    ):
        func.vmap(lambda t: t + torch.rand(()))(x)
    torch.manual_seed(0)
    one, after = torch.rand(()), torch.rand(())
    torch.manual_seed(0)
    assert (
        func.vmap(lambda t: t + torch.rand(()), randomness="same")(x).tolist() == [one.item()] * 3
    )
    assert torch.rand(()) == after
    torch.manual_seed(0)
    rows = func.vmap(lambda t: t + torch.rand(()), randomness="different")(x)
    torch.manual_seed(0)
    assert torch.equal(rows, torch.stack([torch.rand(()) for _ in range(3)]))


def test_nested_and_differentiated_maps() -> None:
    a = torch.arange(6.0).reshape(2, 3).requires_grad_()
    b = torch.arange(4.0)
    outer = func.vmap(
        func.vmap(lambda s, t: s * t, in_dims=(0, None)), in_dims=(None, 0), out_dims=2
    )
    assert torch.equal(outer(a, b), a[..., None] * b)
    (slope,) = torch.autograd.grad(func.vmap(func.grad(lambda t: (t**3).sum()))(a).sum(), a)
    assert torch.equal(slope, 6 * a)
    jacobian = func.jacrev(func.vmap(lambda t: t**2))(a.detach())
    assert jacobian.shape == (2, 3, 2, 3)
    assert torch.equal(jacobian.reshape(6, 6), torch.diag(2 * a.detach().reshape(-1)))
    assert torch.equal(
        func.vmap(func.jacfwd(torch.sin))(a.detach())[1], torch.diag(a[1].detach().cos())
    )


def test_out_dims_of_none_is_for_what_all_samples_share() -> None:
    x = torch.tensor([1.0, 2.0])
    assert func.vmap(lambda t: torch.ones(3), out_dims=None)(x).shape == (3,)
    with pytest.raises(ValueError, match="can not return a BatchedTensor when out_dim is None"):
        func.vmap(lambda t: t, out_dims=None)(x)


def test_functional_call_puts_parameters_back_after_an_error() -> None:
    layer = torch.nn.Linear(2, 1)
    weight = layer.weight
    with pytest.raises(RuntimeError):
        func.functional_call(layer, {"weight": torch.ones(1, 5)}, (torch.ones(1, 2),))
    assert layer.weight is weight


def test_stack_module_state_wants_models_of_one_kind() -> None:
    linear, relu = torch.nn.Linear(1, 1), torch.nn.ReLU()
    with pytest.raises(RuntimeError, match="at least one model"):
        func.stack_module_state([])
    with pytest.raises(RuntimeError, match="same class"):
        func.stack_module_state([linear, relu])
    with pytest.raises(RuntimeError, match="training/eval mode"):
        func.stack_module_state([linear, torch.nn.Linear(1, 1).eval()])
