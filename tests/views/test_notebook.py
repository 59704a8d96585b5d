"""`gradtrace.draw`: a tensor's graph or a Trace, shown by a notebook and saved in any format."""

import pytest
import trace_samples as samples

import gradtrace
from gradtrace.errors import UsageError


def graph():
    w = gradtrace.tensor([1.0, 2.0], requires_grad=True)
    x = gradtrace.tensor([3.0, 4.0])
    return w, (w * x).sin().sum()


def test_a_tensor_shows_its_functions():
    w, loss = graph()
    picture = gradtrace.draw(loss, names={"w": w, "loss": loss})
    assert str(picture).splitlines() == [
        "SumBackward0   of loss",
        "← SinBackward0",
        "← MulBackward0",
        "← w   AccumulateGrad",
    ]
    assert "MulBackward0" in picture.svg() and repr(picture) == str(picture)


def test_a_notebook_gets_a_drawing_and_text():
    bundle = gradtrace.draw(graph()[1])._repr_mimebundle_()
    assert set(bundle) == {"image/svg+xml", "text/plain"} and "<svg" in bundle["image/svg+xml"]


def test_it_saves_itself(tmp_path):
    w, loss = graph()
    loss.backward()
    for suffix in ("svg", "html", "mmd", "json"):
        gradtrace.draw(loss, names={"w": w}).save(tmp_path / f"g.{suffix}")
        assert (tmp_path / f"g.{suffix}").stat().st_size > 100
    with pytest.raises(UsageError, match="cannot tell what to draw"):
        gradtrace.draw(loss).save(tmp_path / "g.jpg")


def test_a_trace_in_every_style():
    assert str(gradtrace.draw(samples.notes())).startswith("y   6")
    assert "MulBackward0   of y" in str(gradtrace.draw(samples.notes(), style="autograd"))
    assert "rankdir=TB" not in gradtrace.draw(samples.notes(), direction="down").svg()


def test_what_it_refuses():
    with pytest.raises(TypeError, match="a tensor or a Trace, not int"):
        gradtrace.draw(3)
    with pytest.raises(UsageError, match="unknown theme"):
        gradtrace.draw(samples.notes(), theme="x")
    with pytest.raises(TypeError):
        gradtrace.draw(samples.notes(), colour="red")
