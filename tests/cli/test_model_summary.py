"""`gradtrace stats --summary`: layers, parameters and multiply-accumulates of a model, on both engines."""

import json

import pytest

ZOO = """\
import torch
from torch import nn
import torch.nn.functional as F

class Zoo(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(10, 8)
        self.linear = nn.Linear(8, 16)
        self.conv = nn.Conv2d(3, 6, 3, padding=1, groups=3)
        self.up = nn.ConvTranspose2d(6, 4, 2, stride=2)
        self.lstm = nn.LSTM(8, 5, 2, batch_first=True, bidirectional=True)
        self.cell = nn.GRUCell(8, 3)
        self.attention = nn.MultiheadAttention(16, 4, batch_first=True)
        self.pair = nn.Bilinear(3, 4, 5)
        self.tied = nn.Linear(8, 10, bias=False)
        self.tied.weight = self.embedding.weight
        self.idle = nn.Linear(7, 1)

    def forward(self, image, tokens):
        e = self.embedding(tokens)
        x = self.linear(e)
        parts = [
            self.up(self.conv(image)),
            self.lstm(e)[0],
            self.cell(e[:, 0]),
            self.attention(x, x, x)[0],
            self.pair(torch.ones(2, 3), torch.ones(2, 4)),
            F.scaled_dot_product_attention(x, x, x),
            torch.einsum("bij,bkj->bik", x, x),
            x @ x.transpose(1, 2),
            self.tied(e),
        ]
        return sum(part.mean() for part in parts)

net = Zoo()
for p in net.pair.parameters():
    p.requires_grad_(False)
optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1)
for step in range(2):
    loss = net(torch.randn(2, 3, 4, 4), torch.randint(0, 10, (2, 6)))
    loss.backward()
    optimizer.step()
"""
# by hand: rows times inner dimension times outputs
PRODUCTS = {
    "net.linear": 12 * 8 * 16,
    "net.conv": 6 * 4 * 4 * 2 * 9,
    "net.up": 2 * 6 * 4 * 4 * 4 * 4,
    "net.lstm": 12 * 2 * (20 * 8 + 20 * 5 + 20 * 10 + 20 * 5),
    "net.cell": 2 * (9 * 8 + 9 * 3),
    "net.attention": 12 * (48 * 16 + 16 * 16) + 2 * 4 * 6 * 6 * (4 + 4),
    "net.pair": 2 * 5 * 3 * 4,
    "net.tied": 12 * 8 * 10,
    "net": 12 * 6 * (16 + 16) + 2 * 6 * 6 * 16 + 2 * 6 * 6 * 16,
}
ENGINES = [(), pytest.param(("--engine", "torch"), marks=pytest.mark.slow)]


@pytest.mark.parametrize("engine", ENGINES)
def test_counts_of_a_model(answer, here, engine):
    if engine:
        pytest.importorskip("torch")
    (here / "zoo.py").write_text(ZOO)
    summary = json.loads(answer("stats", "zoo.py", "--summary", "--format", "json", *engine))
    layers = {layer["name"]: layer for layer in summary["layers"]}
    counts = {name: layer["multiplications"] for name, layer in layers.items()}
    assert {name: number for name, number in counts.items() if number} == PRODUCTS
    assert summary["multiplications"] == sum(PRODUCTS.values())
    assert layers["net.embedding"]["parameters"] == 80
    assert layers["net.tied"]["parameters"] == 0  # shared: counted where it is read first
    assert layers["not used here"]["parameters"] == 8
    assert layers["net.pair"]["parameters"] == 65
    assert layers["net.pair"]["trainable"] == 0
    assert layers["net.lstm"]["output"] == [2, 6, 10]
    assert summary["parameters"] == 80 + 144 + 60 + 100 + 1280 + 117 + 1088 + 65 + 8
    assert summary["parameters"] - summary["trainable"] == 65
    assert summary["step"] == 1


def test_the_table(answer, here):
    (here / "zoo.py").write_text(ZOO)
    text = answer("stats", "zoo.py", "--summary")
    row = next(line for line in text.splitlines() if "linear Linear" in line)
    assert row.split() == ["linear", "Linear", "(2,", "6,", "16)", "144", "1.54", "k"]
    assert "2,942 parameters (11.8 kB), 65 of them frozen" in text


def test_a_formula_has_no_layers(answer):
    values = ("-s", "w=[[1,2],[3,4]]", "-s", "x=[1,1]")
    text = answer("stats", "w @ x", *values, "--summary")
    assert "outside of modules" in text
    assert "4 multiply-accumulates" in text


def test_it_counts_one_run(refusal):
    code, message = refusal("stats", "x*2", "--x", "1", "--summary", "--anomaly")
    assert code == 2
    assert "--summary counts the layers of one run" in message


SHAPES = """\
import torch
from torch import nn
lstm = nn.LSTM(3, 4)
attention = nn.MultiheadAttention(4, 2)
scale = nn.Parameter(torch.ones(4))
x = torch.ones(5, 2, 3)
states, _ = lstm(x)
mixed, weights = attention(states, states, states)
loss = (mixed * scale).sum()
loss.backward()
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_outputs_are_what_others_read(answer, here, engine):
    if engine:
        pytest.importorskip("torch")
    (here / "shapes.py").write_text(SHAPES)
    summary = json.loads(answer("stats", "shapes.py", "--summary", "--format", "json", *engine))
    layers = {layer["name"]: layer for layer in summary["layers"]}
    assert layers["lstm"]["output"] == layers["attention"]["output"] == [5, 2, 4]
    assert layers["outside of modules"]["parameters"] == 4
    assert summary["input"] == [5, 2, 3]
    assert summary["output_bytes"] == 2 * 4 * 5 * 2 * 4


@pytest.mark.parametrize("engine", ENGINES)
def test_a_picture_has_the_counts_of_its_layers_and_in_all(answer, here, engine):
    if engine:
        pytest.importorskip("torch")
    (here / "zoo.py").write_text(ZOO)
    text = answer("graph", "zoo.py", *engine)
    assert "net.linear\\nLinear\\n144 parameters · 1.54 k multiply-adds" in text
    assert "65 parameters (frozen) · 120 multiply-adds" in text
    # the layer that nothing calls has 8 of the 2,942
    total = f"{sum(PRODUCTS.values()) / 1000:.3g} k"
    assert f"2,934 parameters (65 frozen) · {total} multiply-adds" in text
