"""Lazy layers, and parameters without a shape."""

import copy

import pytest

import gradtrace as gt
from gradtrace import nn
from gradtrace.nn.parameter import UninitializedParameter, is_lazy


def test_using_a_parameter_without_shape_is_an_error():
    param = UninitializedParameter(dtype=gt.float64)
    assert param.dtype is gt.float64 and param.requires_grad and param.is_leaf
    for use in (
        lambda: gt.add(param, 1),
        lambda: param + param,
        lambda: gt.empty_like(param),
        lambda: param.sum(),
    ):
        with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter"):
            use()
    with pytest.raises(RuntimeError, match="shape of an uninitialized parameter"):
        assert param.shape
    with pytest.raises(RuntimeError, match="share memory on an uninitialized parameter"):
        nn.LazyLinear(2).share_memory()
    copied = copy.deepcopy(param)
    assert type(copied) is UninitializedParameter and copied.dtype is gt.float64


@pytest.mark.parametrize(
    ("lazy", "ordinary", "shape"),
    [
        (lambda: nn.LazyLinear(3), lambda: nn.Linear(2, 3), (5, 2)),
        (lambda: nn.LazyConv2d(3, 2), lambda: nn.Conv2d(2, 3, 2), (1, 2, 4, 4)),
        (nn.LazyBatchNorm1d, lambda: nn.BatchNorm1d(2), (5, 2)),
    ],
)
def test_a_state_gives_a_lazy_layer_its_shapes(lazy, ordinary, shape):
    source, target = ordinary(), lazy()
    target.load_state_dict(source.state_dict())
    assert not any(map(is_lazy, target.parameters()))
    x = gt.randn(*shape)
    assert (
        gt.equal(target(x), source(x))
        and type(target) is type(source)
        and repr(target) == repr(source)
    )
    with pytest.raises(RuntimeError, match="shape of an uninitialized parameter"):
        source.load_state_dict(lazy().state_dict())
    another = lazy()
    another.load_state_dict(lazy().state_dict())
    assert all(map(is_lazy, another.parameters()))


def test_an_optimizer_made_before_the_first_call_updates_the_parameters():
    layer = nn.LazyLinear(1, bias=False)
    optimizer = gt.optim.SGD(layer.parameters(), lr=0.5)
    layer(gt.ones(1, 2)).backward()
    before = layer.weight.detach().clone()
    optimizer.step()
    assert gt.equal(layer.weight, before - 0.5)
    with pytest.raises(ValueError, match="uninitialized parameter"):
        gt.optim.Adagrad(nn.LazyLinear(1).parameters())


@pytest.mark.parametrize("norm", [nn.utils.weight_norm, nn.utils.spectral_norm])
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_norm_of_a_weight_needs_a_shape(norm):
    with pytest.raises(ValueError, match="can't have uninitialized parameters"):
        norm(nn.LazyLinear(3))


def test_no_device_but_the_cpu_and_no_complex_numbers():
    x = gt.ones(2)
    assert (gt.cuda.is_available(), gt.cuda.device_count(), x.is_conj(), x.is_neg()) == (
        False,
        0,
        False,
        False,
    )


def test_a_materialized_parameter_has_the_asked_dtype_and_a_refused_shape_changes_nothing():
    param = UninitializedParameter(requires_grad=False)
    with pytest.raises(RuntimeError):
        param.materialize((-1,))
    param.materialize((2, 1), "cpu", gt.float64)
    assert type(param) is nn.Parameter and param.shape == (2, 1) and param.dtype is gt.float64
    assert not param.requires_grad and not hasattr(param, "materialize")


def test_the_error_for_an_input_of_another_dimension_has_its_size():
    with pytest.raises(RuntimeError, match=r"got input of size: torch\.Size\(\[3\]\)"):
        nn.LazyConv1d(2, 1)(gt.ones(3))


def test_a_lazy_layer_goes_to_a_device_and_a_dtype():
    layer = nn.Sequential(nn.LazyLinear(3), nn.ReLU()).to("cpu").to(gt.float64)
    assert layer(gt.ones(2, 4, dtype=gt.float64)).dtype is gt.float64
