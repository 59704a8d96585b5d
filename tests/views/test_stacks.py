"""Many leaves that go into one node are stacked: no leaf is lost, and the picture keeps its frame."""

import json
import re

import pytest
from click.testing import CliRunner

from gradtrace.cli.group import cli

JOINED = (
    "import torch\na = [torch.tensor([float(i), 1.], requires_grad=True) for i in range(200)]\n"
    "y = (torch.cat(a) ** 2).sum()\ny.backward()\n"
)
SUMMED = (
    "import torch\na = [torch.tensor(float(i), requires_grad=True) for i in range(200)]\n"
    "y = sum(v * v for v in a)\ny.backward()\n"
)


@pytest.fixture
def draw(tmp_path, monkeypatch):
    """draw(program, "g.svg", ...) -> the text of the picture."""
    monkeypatch.chdir(tmp_path)

    def graph(program, name, *args):
        (tmp_path / "p.py").write_text(program)
        result = CliRunner().invoke(
            cli, ["graph", "p.py", "-o", name, *args], prog_name="gradtrace"
        )
        assert result.exit_code == 0, result.stderr
        return (tmp_path / name).read_text()

    return graph


@pytest.mark.parametrize("style", ["data", "autograd"])
@pytest.mark.parametrize(("program", "high"), [(JOINED, 398), (SUMMED, 398)])
def test_leaves_are_stacked_with_the_range_of_their_gradients(draw, program, high, style):
    document = json.loads(draw(program, "g.json", "--style", style))
    (stack,) = [node for node in document["nodes"] if node.get("role") == "leaves"]
    assert (stack["label"], stack["copies"], stack["grad_range"]) == (
        "a[0] … a[199]",
        200,
        [0, high],
    )
    assert stack["text"] == "200 leaves"
    assert any(edge["source"] == stack["id"] for edge in document["edges"])


@pytest.mark.parametrize("style", ["data", "autograd"])
def test_a_picture_of_many_leaves_has_its_frame(draw, style):
    text = draw(JOINED, "g.svg", "--style", style)
    width, height = (int(x) for x in re.search(r'width="(\d+)pt" height="(\d+)pt"', text).groups())
    assert width <= 1200 and height <= 675
    assert "200 leaves" in text and "0 … 398" in text and "leaves, stacked" in text


def test_without_folding_every_leaf_is_drawn(draw):
    document = json.loads(draw(JOINED, "g.json", "--depth", "all"))
    assert sum(node.get("role") == "leaf" for node in document["nodes"]) == 200


def test_leaves_that_two_nodes_read_are_not_stacked(draw):
    program = JOINED.replace(
        "y = (torch.cat(a) ** 2).sum()", "y = torch.cat(a).sum() + torch.stack(a).sum()"
    )
    document = json.loads(draw(program, "g.json", "--depth", "2"))
    assert all(node.get("role") != "leaves" for node in document["nodes"])


@pytest.mark.parametrize("name", ["g.html", "g.mmd", "g.dot", "g.graphml"])
def test_every_format_has_the_stack(draw, name):
    text = draw(SUMMED, name)
    assert "200 leaves" in text or "a[199]" in text
