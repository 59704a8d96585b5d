"""Parametrised tensors: what may be registered, assignment through right inverses, transfer to another module."""

import pytest

import gradtrace as torch
from gradtrace import nn
from gradtrace.nn.utils import parametrize


def made(forward, right_inverse=None):
    """A module of these functions."""
    names = {"forward": lambda self, *xs: forward(*xs)}
    if right_inverse is not None:
        names["right_inverse"] = lambda self, *xs: right_inverse(*xs)
    return type("Made", (nn.Module,), names)()


def doubled():
    return made(lambda x: 2.0 * x, lambda x: 0.5 * x)


def test_assignment_sets_the_original_through_the_right_inverses():
    layer = nn.Linear(2, 2)
    parametrize.register_parametrization(layer, "weight", doubled())
    layer.weight = torch.ones(2, 2)
    assert layer.parametrizations.weight.original.tolist() == [[0.5, 0.5]] * 2
    assert layer.weight.tolist() == [[1.0, 1.0]] * 2
    parametrize.register_parametrization(layer, "weight", made(lambda x: x + 1))
    with pytest.raises(RuntimeError, match="does not implement right_inverse"):
        layer.weight = torch.ones(2, 2)


def test_a_further_parametrization_is_applied_to_the_value_so_far():
    layer = nn.Linear(2, 2)
    before = layer.weight.detach().clone()
    for _ in range(2):
        parametrize.register_parametrization(
            layer, "weight", made(lambda x: 3.0 * x, lambda x: x / 3.0)
        )
    assert torch.allclose(layer.weight, 3 * before)


@pytest.mark.parametrize(
    ("forward", "right_inverse", "message"),
    [
        (lambda x: 2, None, "must return a tensor"),
        (lambda x: x.bool(), None, "may not change the dtype"),
        (lambda x: x[:1], None, "may not change the shape"),
        (lambda x, y: x[:1], lambda x: (x, x), "may not change the shape"),
        (lambda x: x, lambda x: None, "must return a Tensor or a Sequence of tensors"),
        (lambda x, y: x, lambda x: (x, None), "element 1 of the sequence with type NoneType"),
        (
            lambda x: x.float(),
            lambda x: x.bool(),
            "outputs one tensor, it may not change the dtype",
        ),
    ],
)
def test_what_the_first_parametrization_may_not_do(forward, right_inverse, message):
    layer = nn.Linear(2, 2)
    with pytest.raises(ValueError, match=message):
        parametrize.register_parametrization(layer, "weight", made(forward, right_inverse))
    assert not parametrize.is_parametrized(layer)


@pytest.mark.parametrize(
    ("forward", "right_inverse", "message"),
    [
        (lambda x: (x, x), None, "must return a tensor"),
        (lambda x: x.bool(), None, "may not change the dtype"),
        (lambda x: x[:1], None, "may not change the shape"),
        (lambda x: x, lambda x: (x, x), "parametrization.right_inverse must return a tensor"),
        (lambda x: x, lambda x: x.bool(), "must have the same dtype as module.weight"),
        (lambda x: x, lambda x: x[:1], "must have the same shape as module.weight"),
    ],
)
def test_what_a_further_parametrization_may_not_do(forward, right_inverse, message):
    layer = nn.Linear(2, 2)
    parametrize.register_parametrization(layer, "weight", doubled())
    with pytest.raises(ValueError, match=message):
        parametrize.register_parametrization(layer, "weight", made(forward, right_inverse))
    assert len(layer.parametrizations.weight) == 1


def test_a_parameter_stays_the_same_object_with_its_parametrized_value():
    layer = nn.Linear(2, 2)
    weight = layer.weight
    parametrize.register_parametrization(layer, "weight", made(lambda x: x * 0))
    parametrize.remove_parametrizations(layer, "weight")
    assert layer.weight is weight and weight.tolist() == [[0.0, 0.0]] * 2


def test_transfer_gives_another_module_the_same_originals():
    source, target = nn.Linear(2, 2), nn.Linear(2, 2)
    parametrize.register_parametrization(source, "weight", doubled())
    parametrize.register_parametrization(
        source, "bias", made(lambda x, y: x + y, lambda x: (x / 2, x / 2)))  # fmt: skip
    assert parametrize.transfer_parametrizations_and_params(source, target, "weight") is target
    assert torch.equal(target.weight, source.weight) and not parametrize.is_parametrized(
        target, "bias"
    )
    bare = nn.Module()
    parametrize.transfer_parametrizations_and_params(source, bare)
    assert bare.parametrizations.bias.original1 is source.parametrizations.bias.original1
    assert (
        torch.equal(bare.bias, source.bias)
        and parametrize.type_before_parametrizations(bare) is nn.Module
    )


def test_a_buffer_stays_a_buffer():
    layer = nn.BatchNorm1d(2)
    parametrize.register_parametrization(layer, "running_mean", made(lambda x: x + 1))
    parametrize.remove_parametrizations(layer, "running_mean")
    assert (
        "running_mean" in layer.state_dict() and layer.double().running_mean.dtype is torch.float64
    )
    assert layer.running_mean.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("trained", [False, True])
def test_a_tensor_of_several_originals_is_trained_if_any_of_them_was(trained):
    layer = nn.Linear(2, 2)
    layer.weight.requires_grad_(trained)
    parametrize.register_parametrization(
        layer, "weight", made(lambda x, y: x + y, lambda x: (x / 2, x / 2))
    )
    parametrize.remove_parametrizations(layer, "weight")
    assert (
        layer.weight.requires_grad is trained and isinstance(layer.weight, nn.Parameter) is trained
    )
