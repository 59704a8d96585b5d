"""Pictures are laid out for a frame: of twelve models, from the notes' example to a GPT, the text stays readable."""

import re
from pathlib import Path

import pytest

from gradtrace.errors import UsageError
from gradtrace.program.parse import parse
from gradtrace.program.run import run as run_program
from gradtrace.trace.capture import capture
from gradtrace.trace.keeper import Keeper
from gradtrace.trace.steps import Watch
from gradtrace.views import arrange, dot, dot_legend, frame, image
from gradtrace.views.dot import DotOptions

MODELS = sorted((Path(__file__).resolve().parents[2] / "docs" / "models").iterdir())
WIDTH, HEIGHT = 1600, 900
STYLES = [
    "data",
    *(pytest.param(style, marks=pytest.mark.slow) for style in ("function", "autograd")),
]
READABLE = 10.5  # pixels


def traced(text):
    run = run_program(parse(text, name="s.py"), record=Keeper)
    root = run.root
    if getattr(root, "requires_grad", False) and ".backward(" not in text:
        root.backward()
    return capture(run)


def drawn(trace, **options):
    """The picture as SVG, its size in points, and what was drawn how."""
    fit = options.pop("fit", "16:9")
    direction = options.pop("direction", None)
    model, look = arrange.arrange(trace, DotOptions(**options), fit, direction=direction)
    svg = image.render(dot.text_of(model, look), "svg").decode()
    size = tuple(
        map(float, re.search(r'<svg width="([\d.]+)pt" height="([\d.]+)pt"', svg).groups())
    )
    return svg, size, model, look


def smallest(svg, size):
    """Pixels of the smallest text of a picture that fills a frame of 1,600 by 900."""
    share = min(WIDTH / size[0], HEIGHT / size[1])
    return share * min(map(float, re.findall(r'font-size="([\d.]+)"', svg)))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
@pytest.mark.parametrize(
    "style", ["data", *(pytest.param(s, marks=pytest.mark.slow) for s in ("function", "autograd"))]
)
def test_the_text_of_a_default_picture_is_readable(path, style):
    svg, size, _, _ = drawn(traced(path.read_text()), style=style)
    assert smallest(svg, size) >= READABLE


def test_there_are_twelve_models():
    assert len(MODELS) == 12


MLP = """
import torch
from torch import nn
torch.manual_seed(0)
mlp = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4))
x = torch.ones(5, 8)
loss = mlp(x).pow(2).mean()
loss.backward()
"""


def test_a_network_is_a_box_for_each_layer_with_its_result_in_it():
    trace = traced(MLP)
    svg, _, model, _ = drawn(trace)
    assert [group.name for group in model.groups] == [f"mlp.{i}" for i in range(5)]
    assert [trace.tensors[t].label for t in model.results.values()][:4] == [
        f"mlp.{i} output" for i in range(4)
    ]
    words = re.findall(r">([^<>]+)</text>", svg)
    assert {"mlp.0", "Linear 8 → 16", "ReLU"} <= {word.replace("\xa0", " ") for word in words}
    assert any(word.startswith("|grad| ") for word in words)
    assert not any("addmm" in word or "weight" in word for word in words)


def test_what_goes_on_in_another_column_has_the_same_number_at_both_ends():
    svg, _, model, look = drawn(traced(DEEP))
    rows = set(look.rows.values())
    assert len(rows) > 1
    words = re.findall(r">([^<>]+)</text>", svg)
    ends = {word[0] for word in words if word.endswith("▸")}
    starts = {word.split()[1] for word in words if word.startswith("▸ ")}
    assert ends == starts and ends
    assert {look.rows[node.key] for node in model.nodes} == rows


DEEP = """
import torch
from torch import nn
torch.manual_seed(0)
layers = []
for i in range(12):
    layers += [nn.Linear(8, 8), nn.Tanh() if i % 2 else nn.ReLU()]
net = nn.Sequential(*layers)
loss = net(torch.ones(5, 8)).pow(2).mean()
loss.backward()
"""


def test_a_frame_that_is_broken_is_drawn_as_continued():
    svg, _, _, look = drawn(traced(DEEP))
    words = [word.strip() for word in re.findall(r">([^<>]+)</text>", svg)]
    assert max(look.rows.values()) == 1
    assert words.count("net") == 2 and words.count("continued") == 1


@pytest.mark.parametrize("fit", ["16:9", "4:3", "A4", "800x1200"])
def test_every_frame(fit):
    trace = traced((Path(MODELS[0]).parent / "lenet.py").read_text())
    limit = frame.frame_of(fit, 9)
    _, size, _, _ = drawn(trace, fit=fit)
    assert size[0] <= limit.width * 1.1 and size[1] <= limit.height * 1.1


def test_no_frame_is_as_large_as_it_gets():
    _, size, model, look = drawn(traced(MLP), fit="none")
    assert not model.groups and not look.rows and size[0] > 1500


@pytest.mark.parametrize("fit", ["16x", "5x5", "00x00", "0800x600", "८००x६००"])
def test_an_unknown_frame(fit):
    with pytest.raises(UsageError, match=f"unknown frame '{fit}'"):
        drawn(traced(MLP), fit=fit)


def test_a_direction_that_was_asked_for_stays():
    assert "rankdir=TB" in dot.text_of(*drawn(traced(MLP), direction="down")[2:])


def test_a_transposed_weight_is_a_mark_on_the_edge():
    trace = traced(
        "import torch\nw = torch.ones(2, 3, requires_grad=True)\nx = torch.ones(1, 3)\ny = (x @ w.T).sum()\n"
    )
    model, look = arrange.arrange(trace, DotOptions())
    assert [
        trace.operations[node.record].name for node in model.nodes if node.kind == "operation"
    ] == ["mm", "sum"]
    text = dot.text_of(model, look)
    assert re.search(r"t\d -> o\d \[.*>\&#160;T<|t\d -> o\d \[.*T<", text)
    detailed, look = arrange.arrange(trace, DotOptions(detail=True), "none")
    assert any(
        node.kind == "operation" and trace.operations[node.record].name == "permute"
        for node in detailed.nodes
    )


def test_what_holds_of_most_nodes_is_said_once():
    trace = traced(
        "import torch\nx = torch.tensor(2.0, requires_grad=True)\ny = x * 2\nz = y * 3\n"
    )
    svg = drawn(trace)[0]
    words = re.findall(r">([^<>]+)</text>", svg)
    assert "None" not in words and words.count("no grad line: grad is None") == 1
    detailed = re.findall(r">([^<>]+)</text>", drawn(trace, detail=True, fit="none")[0])
    assert detailed.count("None") == 2


@pytest.mark.sampled(4)
@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_the_legend_takes_a_tenth_at_most(path):
    svg, size, _, _ = drawn(traced(path.read_text()))
    words = re.findall(
        r'font-size="([\d.]+)"[^>]*>([^<>]*(?:leaf|computed|output|folded|constant|no grad line)[^<>]*)<',
        svg,
    )
    area = sum(dot_legend.area([word], float(points)) for points, word in words)
    assert 0 < area <= 0.12 * size[0] * size[1]


def test_local_derivatives_on_the_edges_count():
    watch = Watch()
    text = "torch.sin(x * w) * torch.exp(w) + x**2"
    program = "import torch\nx, w = (torch.tensor(i, requires_grad=True) for i in (2., 1.))\n"
    program += f"y = {text}\ny.backward()\n"
    run = run_program(parse(program, name="s.py"), record=Keeper, watcher=watch)
    svg, size, _, _ = drawn(capture(run, watch=watch), derivatives=True)
    assert svg.count("∂") >= 6
    assert smallest(svg, size) >= READABLE
