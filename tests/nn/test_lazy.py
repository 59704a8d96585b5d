"""Lazy layers, the mixin that makes a module lazy, and parameters and buffers without a shape."""

import copy

import pytest

import gradtrace as gt
from gradtrace import nn
from gradtrace.nn.modules.lazy import LazyModuleMixin
from gradtrace.nn.parameter import UninitializedBuffer, UninitializedParameter


class LazyScale(LazyModuleMixin, nn.Module):
    """Multiplies by a parameter of the size of its first input."""

    def __init__(self):
        super().__init__()
        self.scale = UninitializedParameter()
        self.offset = UninitializedBuffer()

    def initialize_parameters(self, input):
        for tensor in (self.scale, self.offset):
            if isinstance(tensor, (UninitializedParameter, UninitializedBuffer)):
                tensor.materialize(input.shape[-1:])
        with gt.no_grad():
            self.scale.fill_(2.0)
            self.offset.fill_(1.0)

    def forward(self, input):
        return input * self.scale + self.offset


def test_a_module_of_the_user_initializes_its_parameters_once():
    module = LazyScale()
    assert module.has_uninitialized_params()
    assert repr(module.scale) == "<UninitializedParameter>" and repr(module.offset) == "<UninitializedBuffer>"
    assert module(gt.ones(2, 3)).tolist() == [[3.0] * 3] * 2
    with gt.no_grad():
        module.scale.zero_()
    assert module(gt.ones(2, 3)).tolist() == [[1.0] * 3] * 2
    assert type(module.scale) is nn.Parameter and not module.has_uninitialized_params()


def test_a_module_that_leaves_a_parameter_without_shape_is_refused():
    class Forgetful(LazyScale):
        def initialize_parameters(self, input):
            self.scale.materialize((1,))

    with pytest.raises(RuntimeError, match="module Forgetful has not been fully initialized"):
        Forgetful()(gt.ones(2))


def test_hooks_run_after_the_parameters_are_initialized():
    module, seen = LazyScale(), []
    module.register_forward_pre_hook(lambda m, args: seen.append(tuple(m.scale.shape)))
    module(gt.ones(4))
    assert seen == [(4,)]


def test_using_a_parameter_without_shape_is_an_error():
    param = UninitializedParameter(dtype=gt.float64)
    assert param.dtype is gt.float64 and param.requires_grad and param.is_leaf
    for use in (lambda: gt.add(param, 1), lambda: param + param, lambda: gt.empty_like(param), lambda: param.sum()):
        with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter"):
            use()
    with pytest.raises(RuntimeError, match="shape of an uninitialized parameter"):
        assert param.shape
    with pytest.raises(RuntimeError, match="share memory on an uninitialized parameter"):
        LazyScale().share_memory()
    copied = copy.deepcopy(param)
    assert type(copied) is UninitializedParameter and copied.dtype is gt.float64


@pytest.mark.parametrize(
    ("lazy", "ordinary", "shape"),
    [
        (lambda: nn.LazyLinear(3), lambda: nn.Linear(2, 3), (5, 2)),
        (lambda: nn.LazyConv2d(3, 2), lambda: nn.Conv2d(2, 3, 2), (1, 2, 4, 4)),
        (lambda: nn.LazyConvTranspose1d(3, 2), lambda: nn.ConvTranspose1d(2, 3, 2), (1, 2, 4)),
        (nn.LazyBatchNorm1d, lambda: nn.BatchNorm1d(2), (5, 2)),
        (nn.LazyInstanceNorm1d, lambda: nn.InstanceNorm1d(2, affine=True, track_running_stats=True), (1, 2, 4)),
    ],
)
def test_a_state_gives_a_lazy_layer_its_shapes(lazy, ordinary, shape):
    source, target = ordinary(), lazy()
    target.load_state_dict(source.state_dict())
    assert not target.has_uninitialized_params()
    x = gt.randn(*shape)
    assert gt.equal(target(x), source(x)) and type(target) is type(source) and repr(target) == repr(source)
    with pytest.raises(RuntimeError, match="shape of an uninitialized parameter"):
        source.load_state_dict(lazy().state_dict())
    another = lazy()
    another.load_state_dict(lazy().state_dict())
    assert another.has_uninitialized_params()


def test_output_size_of_the_first_call():
    assert nn.LazyConvTranspose1d(3, 2, stride=2)(gt.ones(1, 2, 4), output_size=(9,)).shape == (1, 3, 9)


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
    assert (gt.cuda.is_available(), gt.cuda.device_count(), x.is_conj(), x.is_neg()) == (False, 0, False, False)


def test_a_materialized_parameter_has_the_asked_dtype_and_a_refused_shape_changes_nothing():
    param = UninitializedParameter(requires_grad=False)
    with pytest.raises(RuntimeError):
        param.materialize((-1,))
    param.materialize((2, 1), "cpu", gt.float64)
    assert type(param) is nn.Parameter and param.shape == (2, 1) and param.dtype is gt.float64
    assert not param.requires_grad and not hasattr(param, "materialize")


@pytest.mark.parametrize(
    "name", ["requires_grad_", "register_hook", "register_post_accumulate_grad_hook", "retain_grad"]
)
def test_what_a_parameter_without_shape_refuses(name):
    with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter"):
        getattr(UninitializedParameter(), name)(*([] if name[-5:] in ("grad_", "_grad") else [print]))


@pytest.mark.parametrize("kind", [nn.LazyInstanceNorm1d, nn.LazyInstanceNorm2d, nn.LazyInstanceNorm3d])
def test_lazy_instance_norm_learns_and_tracks_by_default(kind):
    layer = kind()
    assert layer.affine and layer.track_running_stats
    layer(gt.randn(1, 2, *[3] * (int(kind.__name__[-2]))))
    assert set(layer.state_dict()) == {"weight", "bias", "running_mean", "running_var", "num_batches_tracked"}
    plain = kind(1e-3, 0.2, False, False, dtype=gt.float64)
    assert plain.eps == 1e-3 and plain.momentum == 0.2 and not plain.state_dict()


def test_the_error_for_an_input_of_another_dimension_has_its_size():
    with pytest.raises(RuntimeError, match=r"got input of size: torch\.Size\(\[3\]\)"):
        nn.LazyConv1d(2, 1)(gt.ones(3))


@pytest.mark.parametrize(
    ("args", "kwargs", "on"),
    [
        ((), {}, (True, True)),
        ((1e-3, 0.2), {}, (True, True)),
        ((1e-3, 0.2, False), {}, (False, True)),
        ((1e-3, 0.2, True, False), {}, (True, False)),
        ((), {"affine": False}, (False, True)),
        ((1e-3,), {"track_running_stats": False}, (True, False)),
    ],
)
def test_lazy_instance_norms_have_the_defaults_of_batch_norms(
    args: tuple[object, ...], kwargs: dict[str, object], on: tuple[bool, bool]
) -> None:
    layer = nn.LazyInstanceNorm1d(*args, **kwargs)
    layer(gt.ones(2, 3, 4))
    assert (layer.affine, layer.track_running_stats) == on
    assert (layer.weight is not None, layer.running_mean is not None) == on


def test_a_lazy_layer_goes_to_a_device_and_a_dtype():
    layer = nn.Sequential(nn.LazyLinear(3), nn.ReLU()).to("cpu").to(gt.float64)
    assert layer(gt.ones(2, 4, dtype=gt.float64)).dtype is gt.float64
