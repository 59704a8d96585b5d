"""Modules beyond what the recorded programs print: laziness, hooks' bookkeeping, copies, random layers."""

from __future__ import annotations

import copy
import functools
import pickle
import subprocess
import sys

import pytest

import gradtrace as torch
import gradtrace.nn as nn


def test_every_public_name_loads() -> None:
    for name in nn.__all__:
        assert getattr(nn, name) is not None, name
    with pytest.raises(AttributeError, match=r"module 'torch\.nn' has no attribute 'Nothing'"):
        nn.Nothing  # noqa: B018


def test_importing_nn_loads_no_layer_and_no_numpy() -> None:
    code = "import sys, gradtrace.nn; print([m for m in sys.modules if 'nn.modules' in m or m == 'numpy'])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
        == "[]\n"
    )


def test_results_of_parameters_are_plain_tensors() -> None:
    p = nn.Parameter(torch.tensor([1.0, 2.0]))
    for result in (p * 2, p.clone(), p.detach(), p.data, p[0], p.sum(), p.view(2, 1)):
        assert type(result) is torch.Tensor


def test_parameter_shares_the_storage_it_is_made_of() -> None:
    for values in ([1.0, 2.0], 3.0):
        base = torch.tensor(values, dtype=torch.float64)
        p = nn.Parameter(base)
        with torch.no_grad():
            p.mul_(2)
        assert base.tolist() == p.tolist()
        assert base._version == p._version == 1


def test_parameter_takes_attributes_and_pickles() -> None:
    p = nn.Parameter(torch.tensor([1.0, 2.0]), requires_grad=False)
    p.note = "kept"  # type: ignore[attr-defined]
    again = pickle.loads(pickle.dumps(p))
    assert p.note == "kept"  # type: ignore[attr-defined]
    assert type(again) is nn.Parameter
    assert again.tolist() == [1.0, 2.0]
    assert not again.requires_grad


def test_deepcopy_keeps_what_is_shared_and_separates_the_rest() -> None:
    shared = nn.Linear(2, 2)
    net = nn.Sequential(shared, nn.ReLU(), shared)
    again = copy.deepcopy(net)
    assert again[0] is again[2]
    assert again[0] is not net[0]
    with torch.no_grad():
        again[0].weight.fill_(9.0)
    assert not (net[0].weight == 9.0).any()


def test_removed_hooks_leave_the_quick_call() -> None:
    layer = nn.Linear(1, 1)
    handles = [
        layer.register_forward_hook(lambda m, a, o: None),
        layer.register_forward_pre_hook(lambda m, a: None),
        layer.register_full_backward_hook(lambda m, gi, go: None),
    ]
    for handle in handles:
        handle.remove()
        handle.remove()
    assert layer(torch.ones(1, 1)).grad_fn.name() == "AddmmBackward0"


def test_dropout_scales_what_it_keeps_and_rests_in_eval() -> None:
    torch.manual_seed(0)
    layer = nn.Dropout(0.25)
    x = torch.ones(10000)
    y = layer(x)
    kept = (y != 0).sum().item() / 10000
    assert abs(kept - 0.75) < 0.02
    assert abs(y.max().item() - 1 / 0.75) < 1e-6
    assert layer.eval()(x) is x


def test_linear_starts_as_pytorch_does() -> None:
    torch.manual_seed(0)
    layer = nn.Linear(100, 200)
    assert layer.weight.abs().max().item() <= 0.1
    assert abs(layer.weight.std().item() - 0.1 / 3**0.5) < 0.002
    assert layer.bias.abs().max().item() <= 0.1


def test_the_seed_decides_the_weights() -> None:
    torch.manual_seed(3)
    first = nn.Linear(4, 4).weight.tolist()
    torch.manual_seed(3)
    assert nn.Linear(4, 4).weight.tolist() == first
    assert nn.Linear(4, 4).weight.tolist() != first


def test_module_of_another_dtype() -> None:
    layer = nn.Linear(2, 2, dtype=torch.float64)
    assert layer.weight.dtype is torch.float64
    norm = nn.BatchNorm1d(2, dtype=torch.float64)
    assert norm.running_mean.dtype is torch.float64
    assert norm.num_batches_tracked.dtype is torch.int64


def test_batch_norm_loads_a_state_dict_without_its_counter() -> None:
    norm = nn.BatchNorm1d(2)
    old = {k: v for k, v in norm.state_dict().items() if k != "num_batches_tracked"}
    assert str(norm.load_state_dict(old)) == "<All keys matched successfully>"


def test_extra_state_travels_in_the_state_dict() -> None:
    class Counting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.calls = 0

        def get_extra_state(self) -> dict[str, int]:
            return {"calls": self.calls}

        def set_extra_state(self, state: dict[str, int]) -> None:
            self.calls = state["calls"]

    one, two = Counting(), Counting()
    one.calls = 5
    assert list(one.state_dict()) == ["_extra_state"]
    two.load_state_dict(one.state_dict())
    assert two.calls == 5


def test_unbatched_and_batched_recurrence_agree() -> None:
    torch.manual_seed(0)
    x = torch.randn(5, 3)
    for layer in (nn.RNN(3, 4), nn.GRU(3, 4, num_layers=2), nn.LSTM(3, 4, bidirectional=True)):
        alone = layer(x)[0]
        together = layer(x.unsqueeze(1))[0].squeeze(1)
        assert torch.allclose(alone, together)


def test_a_cell_is_one_step_of_its_layer() -> None:
    torch.manual_seed(0)
    x = torch.randn(1, 2, 3)
    for kind in ("RNN", "GRU", "LSTM"):
        layer, cell = getattr(nn, kind)(3, 4), getattr(nn, kind + "Cell")(3, 4)
        cell.load_state_dict({name.replace("_l0", ""): v for name, v in layer.state_dict().items()})
        step = cell(x[0])
        assert torch.allclose(layer(x)[0][0], step[0] if isinstance(step, tuple) else step)


def test_a_module_list_starts_as_with_plus_and_does_not_call_an_overridden_append():
    class Named(nn.ModuleList):
        def append(self, module):
            raise AssertionError("PyTorch does not call it")

        def extend(self, modules):
            self.begun = True
            return super().extend(modules)

    layers = Named([nn.ReLU(), nn.Tanh()])
    assert layers.begun and [name for name, _ in layers.named_children()] == ["0", "1"]


class Counted:
    """Counts its subclasses."""

    names: list[str] = []

    def __init_subclass__(cls, **keywords):
        super().__init_subclass__(**keywords)
        Counted.names.append(cls.__name__)


def test_a_class_after_a_layer_hears_of_its_subclasses():
    class Convolution(nn.Conv2d, Counted):
        pass

    class Padding(nn.ReflectionPad1d, Counted):
        pass

    assert Counted.names[-2:] == ["Convolution", "Padding"]


def test_a_layer_may_have_any_callable_as_its_constructor():
    class Made(nn.Module):
        __init__ = functools.partialmethod(lambda self, size: nn.Module.__init__(self), 3)

    assert repr(Made()) == "Made()"


def test_a_detached_copy_requires_no_grad():
    assert not torch.detach_copy(torch.ones(2, requires_grad=True)).requires_grad
