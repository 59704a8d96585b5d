"""`gradtrace.draw`: a tensor's graph or a Trace, shown by a notebook and saved in any format."""

import html
import json
import re

import pytest
import trace_samples as samples

import gradtrace
from gradtrace.errors import UsageError


def graph():
    w = gradtrace.tensor([1.0, 2.0], requires_grad=True)
    x = gradtrace.tensor([3.0, 4.0])
    return w, (w * x).sin().sum()


def test_a_tensor_shows_its_operations_and_what_is_known_of_them():
    w, loss = graph()
    picture = gradtrace.draw(loss, names={"w": w, "loss": loss})
    assert str(picture).splitlines() == [
        "loss   1.13048   SumBackward0",
        "← sin   (2,)   SinBackward0",  # nobody saved its result
        "← mul   [3, 8]  (2,)   MulBackward0",
        "├─ w   [1, 2]  (2,)   leaf",
        "└─ constant   [3, 4]  (2,)   constant",
    ]
    assert "MulBackward0" in picture.svg() and repr(picture) == str(picture)
    assert (
        str(gradtrace.draw(loss, names={"w": w}, style="autograd")).splitlines()[-1]
        == "← w   AccumulateGrad"
    )


def test_names_are_the_callers():
    w = gradtrace.tensor(1.0, requires_grad=True)
    doubled = w * 2
    other = w * 3
    assert other is not None  # it is not a part of the graph
    assert str(gradtrace.draw(doubled)) == "doubled   2   MulBackward0\n← w   1   leaf"
    net = gradtrace.nn.Linear(2, 1)
    out = net(gradtrace.ones(1, 2))
    assert {"net.weight", "net.bias", "out"} <= set(re.findall(r"[\w.]+", str(gradtrace.draw(out))))


def test_after_backward_nothing_is_guessed():
    w, loss = graph()
    loss.backward()
    assert w.grad is not None and str(gradtrace.draw(loss)).splitlines() == [
        "loss   1.13048   SumBackward0",
        "← sin   (2,)   SinBackward0",
        "← mul   (2,)   MulBackward0",
        "← w   [1, 2]  (2,)   leaf   grad [-2.97, -0.582]",
    ]


def test_operands_of_many_kinds():
    w = gradtrace.tensor([1.0, 2.0], requires_grad=True)
    v = gradtrace.tensor([3.0, 4.0], requires_grad=True)
    mask = gradtrace.tensor([True, False])
    y = (
        gradtrace.cat([w, gradtrace.ones(2), v])[1:].sum()
        + gradtrace.where(mask, w, v).sum()
        + w.chunk(2)[1].sum()
    )
    y = (
        y
        + (2 - w).sum()
        + (w**2).sum()
        + gradtrace.stack([w, v])[0][gradtrace.tensor([0, 1])].sum()
    )
    b = w * 1
    b[0] = 5.0
    y = y + b.sum() + (w + gradtrace.ones(2)).sum()  # an operand that nothing keeps
    for style in ("data", "function", "autograd"):
        assert "<svg" in gradtrace.draw(y, style=style).svg()
    text = gradtrace.draw(y, style="function").svg()
    for part in ("mask", "split", "not kept", "CopySlices", "2"):
        assert part in text


def test_a_pass_for_the_player_leaves_no_trace():
    w, loss = graph()
    w.grad = gradtrace.tensor([7.0, 8.0])
    before = w.grad
    page = gradtrace.page(loss)
    assert w.grad is before and w.grad.tolist() == [7.0, 8.0]
    assert [m["kind"] for m in story_of(page)].count("backward") == 4
    loss.backward()  # it was not freed
    assert w.grad.tolist() == pytest.approx([7 - 2.9699774, 8 - 0.5820001])
    assert "backward" not in [m["kind"] for m in story_of(gradtrace.page(loss))]


def test_hooks_do_not_run_for_a_page():
    w, loss = graph()
    seen = []
    w.register_hook(seen.append)
    assert "backward" not in [m["kind"] for m in story_of(gradtrace.page(loss))] and seen == []


def story_of(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page.text, re.DOTALL)[1])["story"]


def test_a_page_is_one_frame_that_fetches_nothing(tmp_path):
    page = gradtrace.page(graph()[1])
    bundle = page._repr_mimebundle_()
    assert bundle["text/html"].startswith("<iframe") and "srcdoc=" in bundle["text/html"]
    assert bundle["text/html"].count('"') == bundle["text/html"].split("srcdoc=")[0].count('"') + 2
    page.save(tmp_path / "p.html")
    assert (tmp_path / "p.html").read_text() == page.text


@pytest.mark.parametrize(
    "make, sentence",
    [
        (lambda w: (w, None), "tensor.grad is None: no backward has reached tensor"),
        (
            lambda w: (w, w * 2),
            "tensor.grad is None: the loss depends on it, but backward was not called.",
        ),
        (lambda w: (w, w.detach() * 2), "tensor.grad is None: the loss does not depend on tensor"),
        (lambda w: (w.detach(), None), "tensor.grad is None: tensor does not require grad."),
        (
            lambda w: (w * 2, None),
            "tensor is a non-leaf, and backward keeps gradients only for leaf tensors",
        ),
        (lambda w: (backward(w, w * 2), None), "tensor.grad is 2."),
        (lambda w: (backward(w, w * 0), None), "tensor.grad is zero"),
        (
            lambda w: (backward(w, (w - 1).sqrt() * 0), None),
            "tensor.grad is not finite in 1 of 1 elements.",
        ),
    ],
)
def test_why_after_the_fact(make, sentence):
    tensor, loss = make(gradtrace.tensor(1.0, requires_grad=True))
    assert sentence in " ".join(str(gradtrace.why(tensor, loss)).split())


def backward(w, loss):
    loss.backward()
    return w


def test_stats_and_steps_of_a_tensor():
    w, loss = graph()
    assert "MulBackward0" in str(gradtrace.steps(loss)) and "w.grad = [-2.97, -0.582]" in str(
        gradtrace.steps(loss)
    )
    assert "3 operations, 5 tensors" in str(gradtrace.stats(loss))
    assert w.grad is None
    assert gradtrace.stats(loss)._repr_mimebundle_()["text/html"].startswith("<pre")


def test_a_notebook_gets_a_drawing_and_text():
    bundle = gradtrace.draw(graph()[1])._repr_mimebundle_()
    assert (
        set(bundle) == {"text/html", "image/svg+xml", "text/plain"}
        and "<svg" in bundle["image/svg+xml"]
    )
    assert (
        bundle["text/html"].startswith('<img src="data:image/svg')
        and "max-width:100%" in bundle["text/html"]
    )


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
    for function in (
        gradtrace.draw,
        gradtrace.page,
        gradtrace.stats,
        gradtrace.steps,
        gradtrace.why,
    ):
        with pytest.raises(TypeError, match=rf"{function.__name__}\(\) takes a tensor.*, not int"):
            function(3)
    with pytest.raises(UsageError, match="unknown theme"):
        gradtrace.draw(samples.notes(), theme="x")
    with pytest.raises(TypeError):
        gradtrace.draw(samples.notes(), colour="red")


def shown(picture):
    """The texts of a picture, in order."""
    found = re.findall(r">([^<>]+)</text>", picture.svg())
    return [html.unescape(text).replace("\xa0", " ").strip() for text in found]


def test_a_live_network_is_folded_by_its_modules():
    linear, relu = gradtrace.nn.Linear, gradtrace.nn.ReLU
    mlp = gradtrace.nn.Sequential(linear(4, 8), relu(), linear(8, 8), relu(), linear(8, 2))
    y = (mlp(gradtrace.ones(5, 4)) ** 2).mean()
    texts = shown(gradtrace.draw(y))
    assert {"mlp", "Sequential", "mlp.0", "mlp.4", "Linear", "Linear 8 → 2", "relu"} <= set(texts)
    assert not {"addmm", "t", "mlp.0.weight"} & set(texts)
    assert "mlp.0.weight" in shown(gradtrace.draw(y, depth=9))


def test_a_live_module_that_is_called_twice_is_two_boxes():
    shared, other = gradtrace.nn.Linear(3, 3), gradtrace.nn.Linear(3, 3)
    y = shared(other(shared(gradtrace.ones(2, 3)))).sum()
    texts = shown(gradtrace.draw(y))
    assert texts.count("shared") == 2 and texts.count("other") == 1


def test_a_live_cell_takes_its_steps_in():
    cell = gradtrace.nn.RNNCell(2, 3)
    h = gradtrace.zeros(1, 3)
    for _ in range(3):
        h = cell(gradtrace.ones(1, 2), h)
    assert shown(gradtrace.draw(h)).count("cell") == 1
