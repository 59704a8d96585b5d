"""A network reads like a page: flat boxes in a column, few breaks, and no skip connection, branch or loop is cut."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODELS = ROOT / "docs" / "models"
PAGE = 838  # pixels: the width of README on GitHub
POINT = 4 / 3  # pixels

SKIPS = """
import torch
import torch.nn as nn
import torch.nn.functional as F

class Block(nn.Module):
    def __init__(self, act):
        super().__init__()
        self.one, self.two, self.act = nn.Linear(8, 8), nn.Linear(8, 8), act

    def forward(self, x):
        return self.act(self.two(self.act(self.one(x))) + x)

torch.manual_seed(0)
b1, b2, b3, b4 = Block(F.relu), Block(F.gelu), Block(torch.tanh), Block(F.silu)
x = torch.randn(5, 8)
loss = b4(b3(b2(b1(x)))).mean()
loss.backward()
"""
CELL = """
import torch
W = torch.ones(4, 4, requires_grad=True)
xs = torch.ones(6, 4)
h = torch.zeros(4)
for x in xs:
    h = torch.tanh(W @ h + x)
loss = h.pow(2).sum()
loss.backward()
"""
INDEXED = CELL.replace("for x in xs:", "for t in range(6):").replace("+ x)", "+ xs[t])")


def graph(tmp_path, program, *options, suffix="svg"):
    """The command's picture of a program (text, or a file of docs/models), and what it said."""
    source = program
    if not isinstance(program, Path):
        source = tmp_path / "program.py"
        source.write_text(program, encoding="utf-8")
    file = tmp_path / f"g.{suffix}"
    command = [sys.executable, "-m", "gradtrace", "graph", str(source), *options, "-o", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    return file.read_bytes(), done.stderr


def svg_of(*arguments, **more):
    return graph(*arguments, **more)[0].decode()


def words(svg):
    return [word.replace("\xa0", " ").strip() for word in re.findall(r">([^<>]+)</text>", svg)]


def size(svg):
    return tuple(
        map(float, re.search(r'<svg width="([\d.]+)pt" height="([\d.]+)pt"', svg).groups())
    )


def smallest(svg):
    return min(map(float, re.findall(r'font-size="([\d.]+)"', svg)))


def boxes(svg):
    """The rectangle around each node, by key: left, top, right, bottom."""
    found = {}
    for key, body in re.findall(
        r'<g id="([tgfo]\d+)" class="node">(.*?)</g>\n</g>', svg, re.DOTALL
    ):
        numbers = re.findall(r' (?:points|d)="([^"]+)"', body)[0]
        pairs = [tuple(map(float, pair)) for pair in re.findall(r"(-?[\d.]+),(-?[\d.]+)", numbers)]
        across, down = zip(*pairs, strict=True)
        found[key] = (min(across), min(down), max(across), max(down))
    return found


def breaks(svg):
    return sum(word.endswith("▸") for word in words(svg))


@pytest.mark.parametrize("name", ["mlp", "lenet", "resnet_block", "encoder_layer", "lstm", "vae"])
def test_the_models_are_in_one_piece_and_readable(tmp_path, name):
    svg = svg_of(tmp_path, MODELS / f"{name}.py")
    width, height = size(svg)
    assert breaks(svg) == 0
    assert smallest(svg) * min(1600 / width, 900 / height) >= 10.5


def test_a_chain_is_one_column_of_flat_boxes(tmp_path):
    svg = svg_of(tmp_path, MODELS / "lenet.py")
    column = [box for key, box in boxes(svg).items() if box[2] - box[0] > 400]
    assert len(column) == 12
    assert len({round((left + right) / 2) for left, _, right, _ in column}) == 1
    assert all(right - left > 10 * (bottom - top) for left, top, right, bottom in column)
    assert {"fc1", "Linear 400 → 120", "(4, 120)", "|grad| 0.51", "flatten"} <= set(words(svg))
    assert "view" not in words(svg)


def test_the_readme_figure_has_text_of_twelve_pixels(tmp_path):
    shown = re.search(
        r"\]\(docs/gallery/models/(\w+)_data\.svg\)",
        (ROOT / "README.md").read_text(encoding="utf-8"),
    )
    svg = svg_of(tmp_path, MODELS / f"{shown[1]}.py")
    width, height = size(svg)
    on_page = min(1.0, PAGE / (width * POINT))
    on_slide = min(1600 / width, 900 / height)
    assert smallest(svg) * POINT * on_page >= 12 and smallest(svg) * on_slide >= 12


def test_a_break_is_outside_of_modules_and_cuts_no_skip_connection(tmp_path):
    svg = svg_of(tmp_path, SKIPS)
    assert breaks(svg) == 1
    assert "continued" not in words(svg)
    middle = [box for key, box in boxes(svg).items()]
    ends = re.findall(r'<g id="(\w+)r1" class="node">', svg)
    assert len(ends) == 1
    left_of = {key: box[2] for key, box in boxes(svg).items()}
    gap = max(right for right in left_of.values() if right <= left_of[ends[0]] + 1)
    crossing = [
        (a, b)
        for a, b in re.findall(r"<title>([tgo]\d+)&#45;&gt;([tgo]\d+)</title>", svg)
        if boxes(svg)[a][2] <= gap < boxes(svg)[b][0]
    ]
    assert middle and crossing == []


@pytest.mark.parametrize("program", [CELL, INDEXED], ids=["items", "indices"])
def test_a_cell_that_repeats_is_drawn_once_with_the_name_that_it_passes_on(tmp_path, program):
    svg = svg_of(tmp_path, program)
    shown = words(svg)
    assert "passes 0–5" in shown and any(word.removeprefix("→").strip() == "h" for word in shown)
    assert any(word.startswith("6 passes of ") for word in shown)
    assert not any("#" in word or "torch.tanh" in word for word in shown)


def test_the_legend_explains_the_signs(tmp_path):
    said = " ".join(words(svg_of(tmp_path, MODELS / "encoder_layer.py")))
    assert (
        "elements in order, smallest … largest · |grad| norm of the gradient" in said
        and "×N: N times" in said
    )
    plain = " ".join(
        words(
            svg_of(tmp_path, "import torch\nx = torch.tensor(2.0, requires_grad=True)\ny = x * 3\n")
        )
    )
    assert "elements in order" not in plain and "|grad|" not in plain


@pytest.mark.parametrize("style", ["data", "function", "autograd"])
def test_no_words_on_borders(tmp_path, style):
    program = "import torch\nx = torch.ones(4, requires_grad=True)\ns, i = x.sort()\ny = (s - x).sum()\ny.backward()\n"
    assert not {"left", "right", "output 1"} & set(
        words(svg_of(tmp_path, program, "--style", style))
    )


def test_folding_that_hides_nothing_is_not_told(tmp_path):
    assert "folded into" not in graph(tmp_path, MODELS / "resnet_block.py")[1]
    assert "10 operations, folded into 7" in graph(tmp_path, MODELS / "mlp.py")[1]


@pytest.mark.parametrize("suffix", ["svg", "png", "pdf", "dot"])
def test_every_format_of_a_column(tmp_path, suffix):
    starts = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF", "dot": b"digraph"}
    content, _ = graph(tmp_path, MODELS / "lenet.py", suffix=suffix)
    assert content.startswith(starts[suffix])
