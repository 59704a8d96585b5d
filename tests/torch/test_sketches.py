"""Checksums and sketches in a record of PyTorch: the same numbers as those of numpy."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
gt = pytest.importorskip("gradtrace.torch")

from gradtrace.torch import sketches  # noqa: E402
from gradtrace.trace.sketches import checksum_of, equal_bits, relative_difference, sketch_of  # noqa: E402
from gradtrace.trace.values import frozen  # noqa: E402


@pytest.mark.parametrize("count", [1, 9, 1005, 2681, 64_320, 200_001])
@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "float16", "bfloat16", "int64", "int8", "bool"]
)
def test_another_device_computes_the_same(dtype, count):
    tensor = (torch.randn(count, generator=torch.Generator().manual_seed(0)) * 50).to(
        getattr(torch, dtype)
    )
    here, there = sketches.sketched(tensor), sketches.split(sketches.on_device(tensor))
    assert here[0] == there[0]
    np.testing.assert_allclose(here[1], there[1], rtol=1e-4, atol=1e-2)
    if dtype != "bfloat16":
        assert here == (checksum_of(tensor.numpy()), sketch_of(tensor.numpy()))


def test_values_and_gradients_have_sketches():
    def layer():
        torch.manual_seed(0)
        return torch.nn.Linear(64, 48)

    model = layer()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(32, 64)
    with gt.record(level="compare") as recorded:
        model(x).square().sum().backward()
        optimizer.step()
    first, last = (t for t in recorded.trace().tensors if t.value.shape == (48, 64))
    assert equal_bits(first.value, frozen(layer().weight.detach().numpy())) is True
    assert equal_bits(last.value, frozen(model.weight.detach().numpy())) is True
    assert equal_bits(last.grad or first.grad, frozen(model.weight.grad.numpy())) is True
    exact = relative_difference(
        frozen(layer().weight.detach().numpy()), frozen(model.weight.detach().numpy())
    )
    assert relative_difference(first.value, last.value) == pytest.approx(exact, rel=0.3)


def test_a_transposed_view_has_a_sketch_of_its_own():
    with gt.record(level="compare") as recorded:
        w = torch.randn(40, 50, requires_grad=True)
        v = w.t()
        u = w.view(50, 40)
    value = {name: recorded.trace().tensor(name).value for name in "wvu"}
    array = w.detach().numpy()
    assert (
        equal_bits(value["w"], frozen(array))
        is equal_bits(value["u"], frozen(array.reshape(50, 40)))
        is True
    )
    assert (
        equal_bits(value["v"], frozen(array.T)) is True
        and relative_difference(value["v"], frozen(array.T)) == 0
    )
    assert value["v"].summary.norm == value["w"].summary.norm
    assert v.shape == u.shape


def test_a_file_keeps_them(tmp_path):
    with gt.record(level="compare") as recorded:
        torch.randn(40, 50, requires_grad=True).exp().sum().backward()
    recorded.save(tmp_path / "run.gt")
    from gradtrace.trace.file import read

    with open(tmp_path / "run.gt", "rb") as stream:
        found = read("run.gt", stream).trace("all")
    wanted = [t.value.summary for t in recorded.trace().tensors]
    assert (
        [t.value.summary for t in found.tensors] == wanted
        and wanted[0].sketch
        and wanted[0].checksum
    )
